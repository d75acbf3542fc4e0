//! A stand-in for a model, for trying the demo offline. It answers the two prompts of the pipeline
//! from a file of questions to the demo shop with their queries.

use std::collections::HashSet;

use futures_util::stream;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, Usage,
};
use quillet_core::{BoxFuture, Role};
use serde_json::json;

/// Queries, each after its questions, which are comments.
const ANSWERS: &str = include_str!("answers.sql");

/// Answers recorded questions about the demo shop, and says so in every explanation. It answers
/// questions to databases if the model is `mock`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordedModel;

impl ChatModel for RecordedModel {
    fn describe(&self) -> String {
        "the mock, with recorded answers".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        // One token is one word.
        let tokens = |text: &str| text.split_whitespace().count() as u64;
        let last = request.messages.iter().rfind(|it| it.role == Role::User);
        let text = answer(&last.map(|it| it.content.to_string()).unwrap_or_default());
        let read = request.messages.iter().map(|it| it.content.to_string());
        let usage = Usage {
            input_tokens: read.map(|text| tokens(&text)).sum(),
            output_tokens: tokens(&text),
            ..Usage::default()
        };
        let start = ChatEvent::Start {
            id: "mock".to_owned(),
            model: "mock".to_owned(),
            created: 0,
        };
        let finish = ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::Stop,
            raw: FinishReason::Stop.as_str().to_owned(),
        };
        let text = ChatEvent::Text { choice: 0, text };
        let events = [start, ChatEvent::Usage(usage), text, finish];
        Box::pin(async { Ok(Box::pin(stream::iter(events.map(Ok))) as ChatStream) })
    }
}

/// Returns the recorded questions with their queries.
fn recorded() -> impl Iterator<Item = (&'static str, &'static str)> {
    ANSWERS.split(";\n").flat_map(|entry| {
        let (questions, sql) = entry.split_at(entry.find("SELECT").unwrap_or(0));
        let questions = questions.lines();
        questions.filter_map(move |line| Some((line.strip_prefix("-- ")?, sql)))
    })
}

/// Answers the prompt of phase 1 with the tables of the recorded query, and that of phase 2 with
/// the query. The answer to an unknown question names the closest ones.
fn answer(prompt: &str) -> String {
    let (list, asked) = prompt.rsplit_once("\n\nUser Query: ").unzip();
    let asked = asked.or_else(|| Some(prompt.rsplit_once("User Request:\n")?.1));
    let asked = asked.and_then(|it| it.split("\n\n").next());
    let question = normalized(asked.unwrap_or_default());
    let found = recorded().find(|(known, _)| normalized(known) == question);
    if list.is_some() {
        let words: Vec<&str> = found.map_or("", |it| it.1).split_whitespace().collect();
        let is_table = |it: &&[&str]| ["FROM", "JOIN"].contains(&it[0]);
        let tables = words.windows(2).filter(is_table);
        return json!(tables.map(|it| it[1]).collect::<Vec<_>>()).to_string();
    }
    if let Some((_, sql)) = found {
        let explanation = "The built-in mock model has this answer recorded.";
        return json!({ "sql": sql, "explanation": explanation }).to_string();
    }
    // Pairs of adjacent characters compare texts in any language.
    let pairs = |text: &str| -> HashSet<_> { text.chars().zip(text.chars().skip(1)).collect() };
    let asked = pairs(&question);
    let mut known: Vec<&str> = recorded().map(|it| it.0).collect();
    known.sort_by_cached_key(|known| {
        let known = pairs(&normalized(known));
        std::cmp::Reverse(1000 * known.intersection(&asked).count() / (known.len() + asked.len()))
    });
    let (count, closest) = (known.len(), known[..3].join("; "));
    let explanation = format!(
        "The built-in mock model has no answer to this question. It knows {count} questions to the demo shop; the closest are: {closest}"
    );
    json!({ "sql": null, "explanation": explanation }).to_string()
}

/// Returns a question without differences in case, white space and final punctuation.
fn normalized(question: &str) -> String {
    let question = question.trim_end_matches(|c| " \n.?!。？！".contains(c));
    let words: Vec<&str> = question.split_whitespace().collect();
    words.join(" ").to_lowercase()
}
