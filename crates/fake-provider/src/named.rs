//! Replies selected by the model name, for benchmarks and clients without a script:
//!
//! | model | answer |
//! | --- | --- |
//! | `fake-text-N`, `fake-text-N-Mms` | N parts of text (at most 100,000), M ms before each |
//! | `fake-slow` | 20 parts, 100 ms before each |
//! | `fake-late` | 2 s before the head |
//! | `fake-reasoning` | reasoning with a signature, then text |
//! | `fake-tool`, `fake-tool-N` | N rounds (1) of calls of the first tool, then 20 parts of text |
//! | `fake-length`, `fake-filter` | text with this finish reason |
//! | `fake-fail-N` | status N, with the error body of the provider API |
//! | `fake-quota`, `fake-context` | exhausted quota; too long a conversation |
//! | `fake-reset`, `fake-reset-head`, `fake-reset-stream` | reset before the head, after it, late |
//! | `fake-cut`, `fake-cut-arguments` | a stream that ends inside its text or its arguments |
//! | `fake-bad-json`, `fake-bad-arguments` | an event, or arguments, with invalid JSON |
//! | `fake-error` | an error event in the stream |
//! | `fake-silent`, `fake-silent-stream` | silence before the head, or after two parts |
//! | `fake-drip` | one byte per millisecond |
//! | `fake-endless`, `fake-long-line` | 100 MB of events, or in one line |
//!
//! Any other name that starts with `fake-` is answered like `fake-text-3`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::fault::{ErrorResponse, InjectedFault};
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::turn::{Finish, ScriptedReply};

/// The maximum number of parts that a name can select.
const MOST_PIECES: usize = 100_000;

/// Returns the reply that the model name selects, if it starts with `fake-`.
pub(crate) fn turn(asked: &RecordedRequest) -> Option<ScriptedReply> {
    let name = asked.model.strip_prefix("fake-")?;
    let fault = match name {
        "reset" => InjectedFault::ResetBeforeHead,
        "reset-head" => InjectedFault::reset(0),
        "reset-stream" => InjectedFault::reset(2),
        "cut" => InjectedFault::cut(2),
        "bad-json" => InjectedFault::Malformed { after: 2 },
        "error" => InjectedFault::ErrorEvent { after: 2 },
        "silent" => InjectedFault::SilentBeforeHead,
        "silent-stream" => InjectedFault::Silent { after: 2 },
        "quota" => InjectedFault::Refuse(ErrorResponse::Quota),
        "context" => InjectedFault::Refuse(ErrorResponse::ContextLength),
        "endless" => InjectedFault::endless(),
        "long-line" => InjectedFault::LongLine { bytes: 100 << 20 },
        "drip" => InjectedFault::Drip {
            bytes: 1,
            pause: Duration::from_millis(1),
        },
        _ => return Some(sound(name, asked)),
    };
    Some(ScriptedReply::failing(fault))
}

/// Returns whether every request for this model gets the same response.
pub(crate) fn always_alike(model: &str) -> bool {
    model.starts_with("fake-text-") || model == "fake-slow"
}

fn sound(name: &str, asked: &RecordedRequest) -> ScriptedReply {
    let text = || ScriptedReply::text(["one ", "two ", "three"]);
    match name {
        "slow" => words(20).pause(Duration::from_millis(100)),
        "late" => text().delay(Duration::from_secs(2)),
        "reasoning" => ScriptedReply::new(Vec::new())
            .and_reasoning("I should ")
            .and_reasoning("think.")
            .and_text("42")
            .signature("c2lnbmF0dXJl"),
        "length" => text().finish(Finish::Length),
        "filter" => text().finish(Finish::ContentFilter),
        "bad-arguments" => ScriptedReply::call(first_tool(asked).0, ["{\"a\": ", "oops}"]),
        "cut-arguments" => tool(asked).fault(InjectedFault::CutInArguments),
        _ => with_number(name, asked).unwrap_or_else(text),
    }
}

fn with_number(name: &str, asked: &RecordedRequest) -> Option<ScriptedReply> {
    let (kind, rest) = name.split_once('-').unwrap_or((name, "1"));
    let (number, pause) = rest.split_once('-').unwrap_or((rest, "0ms"));
    let number: usize = number.parse().ok()?;
    let pause: u64 = pause.strip_suffix("ms")?.parse().ok()?;
    match kind {
        "text" => Some(words(number).pause(Duration::from_millis(pause))),
        "tool" if rounds(asked) < number => Some(tool(asked)),
        "tool" => Some(words(20)),
        "fail" => {
            let refusal = ErrorResponse::of_status(u16::try_from(number).ok()?);
            Some(ScriptedReply::failing(InjectedFault::Refuse(refusal)))
        }
        _ => None,
    }
}

/// Returns a reply with this many parts of text.
fn words(count: usize) -> ScriptedReply {
    let count = count.clamp(1, MOST_PIECES);
    ScriptedReply::text((0..count).map(|index| format!("word{index} ")))
}

/// Returns a call of the first tool with its arguments in two parts.
fn tool(asked: &RecordedRequest) -> ScriptedReply {
    let (name, schema) = first_tool(asked);
    let arguments = arguments(&schema).to_string();
    // Two parts, so that clients must join them.
    let middle = arguments.len() / 2;
    let pieces = [&arguments[..middle], &arguments[middle..]];
    let id = format!("call_{}", rounds(asked) + 1);
    ScriptedReply::new(Vec::new()).and_call(id, name, pieces)
}

/// Returns the name and schema of the first tool in the request, or `missing_tool`.
fn first_tool(asked: &RecordedRequest) -> (String, Value) {
    let body = asked.json();
    let places: [&str; 3] = match asked.wire {
        Some(ProviderApi::Gemini) => [
            "/tools/0/functionDeclarations/0",
            "/parametersJsonSchema",
            "/parameters",
        ],
        Some(ProviderApi::OpenAiChat) => ["/tools/0/function", "/parameters", "/parameters"],
        _ => ["/tools/0", "/input_schema", "/parameters"],
    };
    let tool = body.pointer(places[0]).cloned().unwrap_or_default();
    let name = tool["name"].as_str().unwrap_or("missing_tool").to_owned();
    let schema = tool.pointer(places[1]).or(tool.pointer(places[2]));
    (name, schema.cloned().unwrap_or_default())
}

/// Returns arguments with the required members of the schema.
fn arguments(schema: &Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let member = |name: &Value| {
        let name = name.as_str()?.to_owned();
        let value = match schema["properties"][&name]["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("Paris"),
        };
        Some((name, value))
    };
    Value::Object(required.iter().filter_map(member).collect::<Map<_, _>>())
}

/// Returns the number of assistant messages with tool calls in the conversation.
fn rounds(asked: &RecordedRequest) -> usize {
    let body = asked.json();
    let (list, called): (_, fn(&Value) -> bool) = match asked.wire {
        Some(ProviderApi::OpenAiChat) => ("messages", |message| message["tool_calls"].is_array()),
        Some(ProviderApi::OpenAiResponses) => ("input", |item| item["type"] == "function_call"),
        Some(ProviderApi::Anthropic) => ("messages", |message| {
            any(&message["content"], |block| block["type"] == "tool_use")
        }),
        _ => ("contents", |content| {
            any(&content["parts"], |part| part.get("functionCall").is_some())
        }),
    };
    let turns = body[list].as_array();
    turns.map_or(0, |turns| turns.iter().filter(|turn| called(turn)).count())
}

fn any(list: &Value, holds: impl Fn(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(holds))
}
