//! Checks that a passed-through answer is equivalent to a decoded one: for every recorded answer,
//! whole and split at every byte, and for answers composed of valid and unusual chunks.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use quillet_core::chat::{ChatEvent, ModelErrorKind, Reply};
use serde_json::Value;

use crate::decode::{AnswerLimits, DecodedChunk, ResponseDecoder};
use crate::protocol::{OpenAiChat, Protocol, read_wire};

/// The answer as a client sees it in the end.
#[derive(Debug, PartialEq)]
struct ClientView {
    reply: Reply,
    error: Option<ModelErrorKind>,
}

fn intake() -> ResponseDecoder {
    ResponseDecoder::new(OpenAiChat::default().decoder("m"), AnswerLimits::default())
}

/// Decodes the answer into events only.
fn read(pieces: &[&[u8]]) -> ClientView {
    let mut intake = intake();
    let mut events = Vec::new();
    let taken = pieces
        .iter()
        .try_for_each(|piece| intake.take(piece, &mut events));
    let is_done = intake.is_done();
    let ended = taken.and_then(|()| {
        if is_done {
            Ok(())
        } else {
            intake.end(&mut events)
        }
    });
    known(events, ended.err().map(|error| error.kind))
}

/// Decodes the answer with pass-through, followed by events where it ends, and also returns the
/// number of passed-through bytes.
fn passed(pieces: &[&[u8]]) -> (ClientView, usize) {
    let mut intake = intake().with_passthrough(true);
    let mut words = Vec::new();
    let mut events = Vec::new();
    let mut told = DecodedChunk::default();
    let mut is_turned = false;
    let mut ended = Ok(());
    for piece in pieces.iter().map(Some).chain([None]) {
        if ended.is_err() || (intake.is_done() && piece.is_none()) {
            break;
        }
        ended = match piece {
            Some(piece) => intake.read(piece, &mut told),
            None => intake.finish(&mut told),
        };
        assert!(
            told.words.is_empty() || events.is_empty(),
            "words after events"
        );
        words.append(&mut told.words);
        is_turned |= told.turn.take().is_some();
        assert!(
            words.is_empty() || told.events.is_empty() || is_turned,
            "events after words, untold"
        );
        events.append(&mut told.events);
    }
    let is_stream = words.starts_with(b"data: ");
    let mut heard = Vec::new();
    let mut client = self::intake();
    client
        .take(&words, &mut heard)
        .expect("a client can read what it is told");
    if !words.is_empty() && !is_stream {
        client.end(&mut heard).expect("a whole answer is whole");
    }
    heard.append(&mut events);
    let error = ended.err().map(|error| error.kind);
    (known(heard, error), words.len())
}

fn known(events: Vec<ChatEvent>, error: Option<ModelErrorKind>) -> ClientView {
    let mut reply = Reply::default();
    for event in events {
        reply.fold(event);
    }
    // Generated ids differ between the two results, so they are removed.
    if reply.id.starts_with("chatcmpl-") && reply.id.len() == 41 {
        reply.id.clear();
    }
    for call in reply
        .choices
        .iter_mut()
        .flat_map(|choice| &mut choice.tool_calls)
    {
        if call.id.starts_with("call_") && call.id.len() == 29 {
            call.id.clear();
        }
    }
    // Generated times differ too.
    reply.created = reply.created.min(1_790_000_000);
    ClientView { reply, error }
}

/// Compares an answer whole, byte by byte, and split in two at every `step`th byte.
fn compare(name: &str, body: &[u8], step: usize) -> usize {
    let expected = read(&[body]);
    let (found, words) = passed(&[body]);
    assert_eq!(found, expected, "{name}");
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(passed(&bytes).0, expected, "{name}, byte by byte");
    for cut in (0..body.len()).step_by(step) {
        let (first, second) = body.split_at(cut);
        assert_eq!(
            passed(&[first, second]).0,
            expected,
            "{name} in two at {cut}"
        );
        // Truncation must be detected in both modes.
        assert_eq!(passed(&[first]).0, read(&[first]), "{name} cut at {cut}");
    }
    words
}

fn beside(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn every_transcript_means_the_same_in_words() {
    let mut worded = 0;
    for entry in fs::read_dir(beside("../../conformance/providers/openai-chat")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sse") {
            let body = fs::read(&path).unwrap();
            worded += usize::from(compare(&path.display().to_string(), &body, 1) > 0);
        }
    }
    assert!(worded >= 3, "{worded} were told in words");
}

#[test]
fn every_recorded_answer_means_the_same_in_words() {
    let path = beside("../../../shared/vectors/exchanges/openai-chat.jsonl");
    let Ok(lines) = fs::read_to_string(path) else {
        println!("left out: the recorded exchanges are not beside the repository");
        return;
    };
    let mut worded = 0;
    for line in lines.lines() {
        let exchange: Value = serde_json::from_str(line).unwrap();
        if exchange["response"]["status"] != 200 {
            continue;
        }
        let body = exchange["response"]["body"].as_str().unwrap_or_default();
        // The recordings have the time 0, but every provider sends a real one.
        let body = body.replace("\"created\":0", "\"created\":7");
        // Splitting all recordings at every byte would take minutes.
        let step = (body.len() / 40).max(1);
        let words = compare(&exchange["id"].to_string(), body.as_bytes(), step);
        worded += usize::from(words > 0);
    }
    assert!(worded >= 20, "{worded} were told in words");
}

/// Chunks of streams, in the format of OpenAI and of other servers.
const PIECES: [&str; 22] = [
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"content":"h\u00e9\n"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":1,"delta":{"role":"assistant","refusal":"no"},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}}"#,
    "[DONE]",
    "null",
    r#"{"choices":[{"delta":{"content":"bare"}}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"again"},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}]}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"error":{"message":"no","code":429}}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"content":"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"eos"}],"usage":{"prompt_tokens":1}}"#,
    r#"{"id":"c","object":"chat.completion.chunk","created":7,"model":"x","choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}}]}"#,
];

proptest! {
    #[test]
    fn any_stream_means_the_same_in_words(
        picks in prop::collection::vec(0..PIECES.len(), 0..9),
        sizes in prop::collection::vec(1..90_usize, 1..20),
        with_first in any::<bool>(),
    ) {
        let picks = with_first.then_some(0).into_iter().chain(picks);
        let body: String = picks.map(|pick| format!("data: {}\n\n", PIECES[pick])).collect();
        let mut rest = body.as_bytes();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(passed(&pieces).0, read(&[body.as_bytes()]), "{}", body);
    }
}

#[test]
fn only_what_says_the_same_is_told_in_words() {
    let whole = |message: &str, more: &str| {
        format!(
            r#"{{"id":"c","object":"chat.completion","created":7,"model":"x","choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]{more}}}"#
        )
    };
    let said = r#"{"role":"assistant","content":"a"}"#;
    let usage = r#","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1}}"#;
    let cases = [
        (whole(said, ""), true),
        (whole(said, usage), true),
        (
            whole(r#"{"role":"assistant","content":null,"refusal":"no"}"#, ""),
            true,
        ),
        (
            whole(said, r#","system_fingerprint":"f","service_tier":null"#),
            true,
        ),
        (whole(r#"{"role":"assistant","content":null}"#, ""), false),
        (whole(r#"{"role":"assistant"}"#, ""), false),
        (whole(r#"{"content":"a"}"#, ""), false),
        (
            whole(r#"{"role":"assistant","content":"a","reasoning":"b"}"#, ""),
            false,
        ),
        (
            whole(
                r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
                "",
            ),
            false,
        ),
        (
            whole(
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
                "",
            ),
            false,
        ),
        (
            whole(
                said,
                r#","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":9}"#,
            ),
            false,
        ),
        (
            whole(
                said,
                r#","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_cache_hit_tokens":1}"#,
            ),
            false,
        ),
        (whole(said, r#","id":"twice""#), false),
        (whole(said, "").replace("\"stop\"", "null"), false),
        (whole(said, "").replace("\"stop\"", "\"eos\""), false),
        (whole(said, "").replace("\"index\":0", "\"index\":1"), false),
        (
            whole(said, "").replace("\"created\":7", "\"created\":0"),
            false,
        ),
        (
            whole(said, "").replace("\"id\":\"c\"", "\"id\":\"\""),
            false,
        ),
    ];
    for (body, expected) in cases {
        let words = compare(&body, body.as_bytes(), 1);
        assert_eq!(words > 0, expected, "{body}");
    }
}

/// Returns the encoded request body, and the passed-through body if pass-through is possible.
fn sent(wire: &OpenAiChat, body: &str) -> (Option<Value>, Option<Value>) {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let written = wire.read(&json).ok().and_then(|mut request| {
        if json.get("stream") != Some(&true.into()) {
            request.options.extra.insert("stream".into(), false.into());
        }
        let model = request.model.clone()?;
        wire.write(&model, &request).ok()
    });
    let worded = read_wire(body.as_bytes()).and_then(|request| {
        let model = request.model.clone()?;
        let body = wire.pass(&model, &request)?;
        Some(serde_json::from_slice(&body).expect("what is passed on is JSON"))
    });
    (written.map(plainly), worded.map(plainly))
}

/// Converts all numbers to the same kind.
fn plainly(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(plainly).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, value)| (name, plainly(value)))
                .collect()
        }
        other => other,
    }
}

fn wires() -> [OpenAiChat; 4] {
    let quiet = OpenAiChat {
        include_usage: false,
        ..OpenAiChat::default()
    };
    let at = |url| OpenAiChat::at(Some(url));
    [
        OpenAiChat::at(None),
        at("http://127.0.0.1:1/v1"),
        at("https://api.mistral.ai/v1"),
        quiet,
    ]
}

#[test]
fn every_recorded_question_is_passed_on_as_it_would_be_written() {
    let path = beside("../../../shared/vectors/exchanges/openai-chat.jsonl");
    let Ok(lines) = fs::read_to_string(path) else {
        println!("left out: the recorded exchanges are not beside the repository");
        return;
    };
    let mut worded = 0;
    for line in lines.lines() {
        let exchange: Value = serde_json::from_str(line).unwrap();
        let body = exchange["request"]["body"].as_str().unwrap_or_default();
        for wire in wires() {
            let (written, passed) = sent(&wire, body);
            worded += usize::from(passed.is_some());
            assert!(
                passed.is_none() || passed == written,
                "{}: {passed:?}\n{written:?}",
                exchange["id"]
            );
        }
    }
    assert!(worded >= 50, "{worded} were passed on");
}

#[test]
fn only_questions_that_would_be_written_alike_are_passed_on() {
    let said = r#""model":"m","messages":[{"role":"user","content":"a"}]"#;
    let with = |more: &str| format!("{{{said}{more}}}");
    let of = |messages: &str| format!(r#"{{"model":"m","messages":[{messages}]}}"#);
    let call = r#"{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    let tool =
        r#"{"type":"function","function":{"name":"f","parameters":{"type":"object","x":null}}}"#;
    let cases = [
        (with(""), true),
        (with(r#","stream":true"#), true),
        (
            with(r#","stream":false,"seed":7,"temperature":1,"stop":["a"]"#),
            true,
        ),
        (
            with(r#","stream":true,"stream_options":{"include_usage":true}"#),
            true,
        ),
        (
            with(&format!(r#","tools":[{tool}],"tool_choice":"auto""#)),
            true,
        ),
        (
            of(
                r#"{"role":"system","content":"\u00e9"},{"role":"assistant","content":"","name":"n"}"#,
            ),
            true,
        ),
        (
            of(&format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"c","content":"1"}}"#
            )),
            true,
        ),
        (with(r#","max_tokens":5"#), true),
        (with(r#","max_completion_tokens":5"#), false),
        (with(r#","max_tokens":5,"max_completion_tokens":6"#), false),
        (with(r#","stream":null"#), false),
        (with(r#","stream":1"#), false),
        (with(r#","seed":null"#), false),
        (with(r#","temperature":"hot""#), false),
        (with(r#","model":"other""#), false),
        (with(r#","thinking":{"type":"enabled"}"#), false),
        (with(r#","tools":[]"#), false),
        (with(r#","tools":[{"type":"web_search_20250305"}]"#), false),
        (with(r#","stream_options":{"include_usage":true}"#), false),
        (
            with(r#","stream":true,"stream_options":{"include_usage":false}"#),
            false,
        ),
        (of(r#"{"role":"user","content":null}"#), false),
        (of(r#"{"role":"user","content":"\ud800"}"#), false),
        (of(r#"{"role":"owner","content":"a"}"#), false),
        (of(r#"{"role":"tool","content":"a"}"#), false),
        (
            of(r#"{"role":"assistant","content":"a","reasoning_content":"b"}"#),
            false,
        ),
        (
            of(&format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{call}]}}"#
            )),
            false,
        ),
        (
            of(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#),
            false,
        ),
        (of(""), false),
        ("[]".to_owned(), false),
        (with("").replace('}', ""), false),
    ];
    let wire = OpenAiChat::at(Some("http://127.0.0.1:1/v1"));
    for (body, expected) in cases {
        let (_, passed) = sent(&wire, &body);
        assert_eq!(passed.is_some(), expected, "{body}");
        for wire in wires() {
            let (written, passed) = sent(&wire, &body);
            assert!(
                passed.is_none() || passed == written,
                "{body}: {passed:?} {written:?}"
            );
        }
    }
}
