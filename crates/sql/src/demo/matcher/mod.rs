//! A stand-in for a model, for trying the demo or any other database offline. It answers the two
//! prompts of the pipeline by comparing the question's words with names and comments.
//!
//! In phase 1 it selects all tables that share a word with the question, best match first. In phase
//! 2 it writes a count, sum, average, maximum or minimum of the best-matching number, grouped as
//! the question asks and joined along declared foreign keys, or a plain list. It has no knowledge
//! of the tables and no grammar.

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

/// Maximum number of selected tables.
const MOST_TABLES: usize = 8;
/// Prompt text that introduces earlier questions, after the schema.
const EARLIER: &str = "\n\nEarlier Requests, which this one may go on from:\n";
/// Prompt text that introduces a failed query.
const AGAIN: &str = "\n\nThis answer was given before and cannot be used:";

/// Selects tables and writes queries by comparing words, and says so in every explanation. It
/// answers questions to databases if the model is `mock`.
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

/// Counts words as tokens.
fn tokens(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Answers the last message if it is one of the two prompts.
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

/// Returns the names of the tables that share words with the question, as a JSON array.
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
    // The sort is stable, so ties keep their order.
    fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let names = fitting
        .iter()
        .take(MOST_TABLES)
        .map(|(_, table)| table.name.as_str());
    json!(names.collect::<Vec<_>>()).to_string()
}

/// Returns a query and its explanation as a JSON object.
fn written(schema: &str, earlier: &str, question: &str, system: &str) -> String {
    let tables = schema::tables(schema);
    let mut intent = Intent::of(question);
    let mut plan = plan::plan(&tables, &intent);
    // "And only Berlin?" shares no word with any table, but the previous question does.
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
