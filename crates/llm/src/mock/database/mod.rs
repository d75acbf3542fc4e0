//! Questions to databases: the answers to the two prompts of `quillet sql`, out of words that the
//! question has in common with names and comments, so that the whole chain runs without a network.
//!
//! Which tables: all that share a word with the question, best first. Which query: how many rows, a
//! sum, average, maximum or minimum of the number that fits best, `by` what is asked for,
//! along declared foreign keys, or a list. It knows no table and understands no sentence.

mod intent;
mod joins;
mod plan;
mod schema;
mod words;
mod write;

use quillet_core::{Message, Role};
use serde_json::json;

use intent::Intent;
use schema::Table;
use words::{common, words};

/// Most tables that are chosen.
const MOST_TABLES: usize = 8;
/// How the prompt goes on behind the schema where something was asked before.
const EARLIER: &str = "\n\nEarlier Requests, which this one may go on from:\n";
/// How the prompt goes on where a query comes back with an error.
const AGAIN: &str = "\n\nThis answer was given before and cannot be used:";

/// The answer, if the last message is one of the two prompts.
pub(super) fn answer(messages: &[Message]) -> Option<String> {
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
    let mut fitting: Vec<(usize, &Table)> = tables
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
    let answer = match plan {
        Some(plan) => {
            let (sql, explanation) = write::write(&plan, &intent, &write::Style::of(system));
            json!({ "sql": sql, "explanation": explanation })
        }
        None => {
            let explanation = "The mock model found no table that shares a word with the question.";
            json!({ "sql": null, "explanation": explanation })
        }
    };
    answer.to_string()
}
