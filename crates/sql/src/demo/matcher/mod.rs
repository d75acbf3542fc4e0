//! A model that is none: it answers the two prompts of the chain out of words that the question has
//! in common with names and comments, so that the demo, and any other database, can be tried
//! without a network.
//!
//! Which tables: all that share a word with the question, best first. Which query: how many rows, a
//! sum, average, maximum or minimum of the number that fits best, `by` what is asked for,
//! along declared foreign keys, or a list. It knows no table and understands no sentence.

mod intent;
mod joins;
mod plan;
mod schema;
mod vocabulary;
mod write;

use futures_util::stream;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, Usage,
};
use quillet_core::{BoxFuture, Message, Role};
use serde_json::json;

use intent::Intent;
use schema::PromptTable;
use vocabulary::{common, words};

/// Most tables that are chosen.
const MOST_TABLES: usize = 8;
/// How the prompt goes on behind the schema where something was asked before.
const EARLIER: &str = "\n\nEarlier Requests, which this one may go on from:\n";
/// How the prompt goes on where a query comes back with an error.
const AGAIN: &str = "\n\nThis answer was given before and cannot be used:";

/// Chooses tables and writes queries by comparing words, and says so in every explanation. It is
/// what answers questions to databases where the model `mock` is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordMatcher;

impl ChatModel for WordMatcher {
    fn describe(&self) -> String {
        "the mock, which matches words".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(async move {
            let read = request.messages.iter();
            let read = read.map(|message| tokens(&message.content.to_string()));
            let text = answer(&request.messages).unwrap_or_else(|| {
                unwritten("The built-in mock model knows only the prompts of the program itself.")
            });
            let events = [
                ChatEvent::Start {
                    id: "mock".to_owned(),
                    model: "mock".to_owned(),
                    created: 0,
                },
                ChatEvent::Usage(Usage {
                    input_tokens: read.sum(),
                    output_tokens: tokens(&text),
                    ..Usage::default()
                }),
                ChatEvent::Text { choice: 0, text },
                ChatEvent::Finish {
                    choice: 0,
                    reason: FinishReason::Stop,
                    raw: FinishReason::Stop.as_str().to_owned(),
                },
            ];
            Ok(Box::pin(stream::iter(events.map(Ok))) as ChatStream)
        })
    }
}

/// Its tokens are words.
fn tokens(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// The answer, if the last message is one of the two prompts.
fn answer(messages: &[Message]) -> Option<String> {
    let last = messages
        .iter()
        .rfind(|message| message.role == Role::User)?;
    let text = last.content.to_string();
    if let Some(list) = text.strip_prefix("Available Tables:\n") {
        let (list, rest) = list.rsplit_once("\n\nUser Query: ")?;
        let question = rest.split("\n\nReturn a JSON array").next()?;
        return Some(chosen(list, question));
    }
    let (schema, rest) = text
        .strip_prefix("Schema Information:\n")?
        .split_once("\n\nUser Request:\n")?;
    let question = rest.split(AGAIN).next()?;
    let (schema, earlier) = schema.split_once(EARLIER).unwrap_or((schema, ""));
    let system = messages.iter().find(|message| message.role == Role::System);
    let system = system
        .map(|message| message.content.to_string())
        .unwrap_or_default();
    Some(written(schema, earlier, question, &system))
}

/// The names of the tables that share words with a question, as a JSON array.
fn chosen(list: &str, question: &str) -> String {
    let asked = words(question);
    let tables = schema::tables(list);
    let mut fitting: Vec<(usize, &PromptTable)> = tables
        .iter()
        .map(|table| {
            (
                2 * common(&table.named, &asked) + common(&table.told, &asked),
                table,
            )
        })
        .filter(|(score, _)| *score > 0)
        .collect();
    // Of equals the first one stays the first.
    fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let names = fitting
        .iter()
        .take(MOST_TABLES)
        .map(|(_, table)| table.name.as_str());
    json!(names.collect::<Vec<_>>()).to_string()
}

/// A query and what it does, as a JSON object.
fn written(schema: &str, earlier: &str, question: &str, system: &str) -> String {
    let tables = schema::tables(schema);
    let mut intent = Intent::of(question);
    let mut plan = plan::plan(&tables, &intent);
    // "And only Berlin?" shares no word with a table; the question that it goes on from does.
    let before = earlier
        .lines()
        .rev()
        .filter_map(|line| line.strip_prefix("- "));
    for before in before {
        if plan.is_some() {
            break;
        }
        intent = Intent::of(&format!("{before} {question}"));
        plan = plan::plan(&tables, &intent);
    }
    match plan {
        Some(plan) => {
            let (sql, explanation) = write::write(&plan, &intent, &write::WriteOptions::of(system));
            json!({ "sql": sql, "explanation": explanation }).to_string()
        }
        None => unwritten("The mock model found no table that shares a word with the question."),
    }
}

fn unwritten(explanation: &str) -> String {
    json!({ "sql": null, "explanation": explanation }).to_string()
}
