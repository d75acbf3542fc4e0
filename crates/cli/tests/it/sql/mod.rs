//! `quillet sql`: the demo, files and servers, on terminals and in pipes, and with invalid input.

mod connections;
mod demo;
mod files;
mod measured;
mod mending;
mod mistakes;
mod page;
mod rows;
mod talk;

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use crate::ask::{borrowed, reach};
use crate::{Done, Place};

/// Runs a command with the demo database.
fn demo(place: &Place, args: &[&str]) -> Done {
    let mut all = vec!["sql"];
    all.extend(args);
    all.extend(["--db", "demo"]);
    place.run(&all)
}

/// Asks a database a question that the model answers with this query, and runs it.
fn ask(place: &Place, sql: &str, db: &str) -> Done {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text([sql])]));
    let env = reach(&provider);
    let question = ["sql", "how many rows?", "--db", db, "-m", "gpt-4o"];
    place.run_with(
        &[&question[..], &["--run", "-o", "csv"]].concat(),
        "",
        &borrowed(&env),
    )
}

/// Parses the output of a command as JSON.
#[track_caller]
fn json(done: &Done) -> serde_json::Value {
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.out).unwrap()
}
