//! `quillet trace` with recorded runs.

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, reach};

fn shown(place: &Place, args: &[&str]) -> Value {
    let done = place.run(args);
    assert_eq!(done.code, Some(0), "{done:?}");
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn runs_are_listed_and_shown_without_their_texts() {
    let place = Place::new();
    place.run(&["trace", "show"]).fails(1, &["no traces yet"]);
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text([
        "secret answer",
    ])
    .spent(1_000_000, 0)]));
    let env = reach(&provider);
    place.run_with(
        &["ask", "secret question", "-m", "gpt-4o"],
        "",
        &borrowed(&env),
    );
    place.run(&["ask", "hi", "-m", "mock-fail-401"]);
    let all = shown(&place, &["trace", "list", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let failed = shown(&place, &["trace", "list", "--failed", "--json"]);
    assert_eq!(failed[0]["model"], "mock-fail-401");
    let found = shown(
        &place,
        &["trace", "list", "--model", "gpt", "-n", "1", "--json"],
    );
    let id = found[0]["id"].as_str().unwrap();
    let tree = place.run(&["trace", "show", &id[..8]]);
    for part in [
        "trace ",
        "invoke_agent",
        "chat gpt-4o",
        "1000000 in, 0 out",
        "cost  $2.500000",
    ] {
        assert!(tree.out.contains(part), "{part:?} is not in:\n{}", tree.out);
    }
    let whole = place.run(&["trace", "show", id, "--json"]);
    assert!(
        !tree.out.contains("secret") && !whole.out.contains("secret"),
        "{whole:?}"
    );
    let last = place.run(&["trace", "show"]);
    assert!(last.out.contains("failed: "), "{last:?}");
    place
        .run(&["trace", "show", "ffff"])
        .fails(1, &["unknown trace \"ffff\"", "trace list"]);
}

#[test]
fn texts_are_kept_where_they_are_switched_on_and_nothing_where_traces_are_off() {
    let place = Place::new();
    for (variable, value, kept) in [
        ("QUILLET_TRACE_TEXTS", "true", true),
        (
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
            "SPAN_ONLY",
            true,
        ),
        (
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
            "NO_CONTENT",
            false,
        ),
    ] {
        place.run_with(
            &["ask", "my question", "-m", "mock"],
            "",
            &[(variable, value)],
        );
        let last = place.run(&["trace", "show"]);
        assert_eq!(last.out.contains("my question"), kept, "{value}: {last:?}");
    }
    let off = [("QUILLET_TRACES", "off")];
    let before = shown(&place, &["trace", "list", "--json"]);
    place.run_with(&["ask", "hi", "-m", "mock"], "", &off);
    assert_eq!(shown(&place, &["trace", "list", "--json"]), before);
    place
        .run_with(&["trace", "list"], "", &off)
        .fails(2, &["traces are not stored"]);
}
