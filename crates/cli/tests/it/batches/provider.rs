//! `quillet batch --provider-batch`: rows through the batch APIs of OpenAI and Anthropic, with a
//! fake provider that counts requests.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ReplyScript, ScriptedReply,
};

use super::{lines, row};
use crate::Place;
use crate::ask::{borrowed, reach};

const HELLO: (&str, &str) = ("s/prompts/hello.gotmpl", "Hello {{.variables.name}}!");
const ARGS: [&str; 6] = [
    "batch",
    "rows.jsonl",
    "-o",
    "out.jsonl",
    "--provider-batch",
    "--store=dir:s",
];

/// Replies depending on the request text, and rejects requests that contain `refuse me`.
fn echo() -> ReplyScript {
    ReplyScript::function(|asked| {
        let text = asked.text();
        if text.contains("refuse me") {
            return ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::Invalid));
        }
        ScriptedReply::text([if text.contains("Hello Ada!") {
            "to Ada"
        } else {
            "to somebody"
        }])
    })
}

fn of(place: &Place, name: &str) -> std::collections::BTreeMap<String, serde_json::Value> {
    lines(&fs::read_to_string(place.path().join(name)).unwrap_or_default())
}

/// Rows for both provider APIs and for a prompt, including rows without a response.
#[test]
fn rows_go_to_the_batch_api_of_their_provider() {
    let provider = FakeProvider::start(echo());
    let rows = [
        "{\"name\": \"Ada\"}\n".to_owned(),
        row("b", "claude-sonnet-4-5"),
        row("refuse me", "gpt-4o"),
        row("refuse me too", "claude-sonnet-4-5"),
        row("late", "fake-expired"),
        row("agent", "agent/any"),
        row("here", "mock"),
        row("nobody", "prompt/nobody"),
        row("c", "gpt-4o"),
    ];
    let place = Place::new().with(&[HELLO, ("rows.jsonl", &rows.concat())]);
    let mut around = reach(&provider);
    around.push(("QUILLET_MODEL", "gpt-4o".to_owned()));
    let args = [&ARGS[..], &["-m", "prompt/hello"]].concat();
    let done = place.run_with(&args, "", &borrowed(&around));
    assert_eq!(done.code, Some(1), "{done:?}");
    let (answered, failed) = (of(&place, "out.jsonl"), of(&place, "out.jsonl.errors"));
    assert_eq!(
        answered.keys().collect::<Vec<_>>(),
        ["b", "c", "row-1"],
        "{failed:?}"
    );
    let said =
        |id: &str| answered[id]["response"]["body"]["choices"][0]["message"]["content"].clone();
    assert_eq!(said("row-1"), "to Ada");
    assert_eq!(said("b"), "to somebody");
    assert_eq!(
        answered["row-1"]["response"]["body"]["usage"]["prompt_tokens"],
        12
    );
    let status = |id: &str| failed[id]["response"]["status_code"].clone();
    assert_eq!(status("refuse me"), 400, "{failed:?}");
    assert_eq!(status("refuse me too"), 400, "{failed:?}");
    assert_eq!(status("nobody"), 404);
    assert_eq!(failed["late"]["error"]["code"], "batch_expired");
    for (id, named) in [("agent", "the agent any"), ("here", "no batch API")] {
        let text = failed[id].to_string();
        assert!(text.contains(named), "{id}: {text}");
    }
    // The provider received three jobs (gpt-4o, fake-expired and Claude) and no single requests.
    assert_eq!(provider.batch_rows(), 6);
    let alone = provider.requests();
    let alone = alone
        .iter()
        .filter(|asked| asked.path.ends_with("/completions"));
    assert_eq!(alone.count(), 0);
}

/// The process is killed after the provider has accepted the rows, but before this is recorded. The
/// same command finds the job and does not submit the rows twice.
#[test]
fn what_was_handed_over_is_found_again() {
    for model in ["gpt-4o", "claude-sonnet-4-5"] {
        let script = echo().silent_first_batch(Duration::from_secs(600));
        let provider = FakeProvider::start(script);
        let text: String = (0..50).map(|n| row(&format!("row-{n}"), model)).collect();
        let place = Place::new().with(&[HELLO, ("rows.jsonl", &text)]);
        let around = reach(&provider);
        let mut command = place.command(&ARGS);
        command.envs(borrowed(&around)).stdin(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while provider.batch_rows() == 0 {
            assert!(
                began.elapsed() < Duration::from_secs(120),
                "{model}: nothing came"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let done = place.run_with(&ARGS, "", &borrowed(&around));
        assert_eq!(done.code, Some(0), "{model}: {done:?}");
        assert_eq!(of(&place, "out.jsonl").len(), 50);
        assert_eq!(provider.batch_rows(), 50, "{model}");
    }
}

/// Even if the command is repeatedly killed while it waits, it completes.
#[test]
fn it_goes_on_with_the_providers_batch() {
    let provider = FakeProvider::start(echo());
    let text: String = (0..200)
        .map(|n| row(&format!("row-{n}"), "gpt-4o"))
        .collect();
    let place = Place::new().with(&[HELLO, ("rows.jsonl", &text)]);
    let around = reach(&provider);
    let (mut killed, out) = (0, place.path().join("out.jsonl"));
    while !out.exists() {
        let mut command = place.command(&ARGS);
        command.envs(borrowed(&around)).stdin(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_millis(700 + 200 * killed);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        assert!(killed < 100, "it does not come to an end");
    }
    assert_eq!(of(&place, "out.jsonl").len(), 200);
    assert_eq!(provider.batch_rows(), 200);
}

/// If the provider rejects the batch or fails, every row has an error.
#[test]
fn a_provider_that_fails_is_told_in_every_row() {
    let provider = FakeProvider::start(echo());
    let text = row("a", "fake-batch-failed") + &row("b", "fake-batch-failed");
    let place = Place::new().with(&[HELLO, ("rows.jsonl", &text)]);
    let around = reach(&provider);
    let done = place.run_with(&ARGS, "", &borrowed(&around));
    assert_eq!(done.code, Some(1), "{done:?}");
    let failed = of(&place, "out.jsonl.errors");
    assert_eq!(failed.len(), 2);
    for line in failed.values() {
        assert!(
            line.to_string().contains("cannot be used in a batch"),
            "{line}"
        );
    }
    // The provider address has no server.
    let place = Place::new().with(&[
        HELLO,
        ("rows.jsonl", &row("a", "gpt-4o")),
        ("quillet.toml", "[batch]\nretries = 0\n"),
    ]);
    let away = [
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("OPENAI_API_KEY", "key-canary"),
    ];
    let done = place.run_with(&ARGS, "", &away);
    assert_eq!(done.code, Some(1), "{done:?}");
    let failed = of(&place, "out.jsonl.errors");
    assert!(
        failed["a"].to_string().contains("cannot connect"),
        "{failed:?}"
    );
}
