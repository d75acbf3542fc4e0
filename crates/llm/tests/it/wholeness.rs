//! Classification of answers in every provider API: complete, truncated, refused, with or without
//! calls.

use quillet_core::chat::{FinishReason, ModelErrorKind};

use crate::transcripts::{Read, read, wire};

fn of(name: &str, body: &str) -> Read {
    let wire = wire(name).unwrap();
    let whole = read(&*wire, "m", body.as_bytes(), &[body.len()]);
    let bytes = read(&*wire, "m", body.as_bytes(), &[1]);
    // Calls and ids are not compared, because missing ids are generated.
    assert_eq!(whole.runs, bytes.runs, "{body}");
    assert_eq!(whole.reply.usage, bytes.reply.usage, "{body}");
    whole
}

/// Frames of a stream.
fn frames(events: &[&str]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

/// Expected result: the finish reason, or the kind of the error.
type Expected = Result<FinishReason, ModelErrorKind>;

#[track_caller]
fn same(read: &Read, expected: &Expected, about: &str) {
    let found = match &read.error {
        Some(error) => Err(error.kind),
        None => Ok(read.reply.choices[0].finish_reason.expect("a reason")),
    };
    assert_eq!(&found, expected, "{about}: {:?}", read.error);
}

const TEXT: &str = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"4"}}]}"#;
const STOP: &str = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const NO_REASON: &str = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":""}]}"#;
const USAGE: &str =
    r#"{"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#;
const DONE: &str = "[DONE]";

#[test]
fn a_chat_stream_is_whole_with_its_reason_and_its_cost_or_with_done() {
    use FinishReason::Stop;
    let cut = Err(ModelErrorKind::Cut);
    for (events, expected) in [
        (&[TEXT, STOP, USAGE, DONE][..], Ok(Stop)),
        (&[TEXT, STOP, DONE], Ok(Stop)),
        (&[TEXT, STOP, USAGE], Ok(Stop)),
        (&[TEXT, DONE], Ok(Stop)),
        (&[TEXT, NO_REASON, USAGE, DONE], Ok(Stop)),
        // These answers are truncated after their last text.
        (&[TEXT, STOP], cut),
        (&[TEXT, NO_REASON], cut),
        (&[TEXT, USAGE], cut),
        (&[TEXT], cut),
    ] {
        let body = frames(events);
        same(&of("openai-chat", &body), &expected, &body);
    }
    let half = frames(&[TEXT, STOP]) + "data: " + &USAGE[..40];
    same(&of("openai-chat", &half), &cut, &half);
}

#[test]
fn who_did_not_ask_what_it_costs_waits_for_no_answer() {
    let body = frames(&[TEXT, STOP]);
    let wire = quillet_llm::OpenAiChat {
        include_usage: false,
        ..quillet_llm::OpenAiChat::default()
    };
    let read = read(&wire, "m", body.as_bytes(), &[body.len()]);
    same(&read, &Ok(FinishReason::Stop), &body);
}

#[test]
fn every_cut_of_a_chat_stream_is_noticed_or_costs_nothing() {
    let body = frames(&[TEXT, STOP, USAGE, DONE]);
    let wire = wire("openai-chat").unwrap();
    for end in 1..body.len() {
        let read = read(&*wire, "m", &body.as_bytes()[..end], &[end]);
        let is_told = read.error.is_some() || read.reply.usage.is_some();
        assert!(is_told, "cut after {end} bytes: {:?}", &body[..end]);
    }
}

#[test]
fn a_call_without_name_and_arguments_is_none() {
    let old = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"4","function_call":{"name":"","arguments":""}}}]}"#;
    let new = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"4","tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"","arguments":""}}]}}]}"#;
    let null = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"4","tool_calls":[{"index":0,"function":{"name":null,"arguments":null}}]}}]}"#;
    for piece in [old, new, null] {
        for end in [STOP, NO_REASON] {
            let read = of("openai-chat", &frames(&[piece, end, DONE]));
            same(&read, &Ok(FinishReason::Stop), piece);
            let choice = &read.reply.choices[0];
            assert_eq!((choice.text.as_str(), choice.tool_calls.len()), ("4", 0));
        }
    }
    let whole = r#"{"id":"c","choices":[{"index":0,"message":{"content":"4","function_call":{"name":"","arguments":""}},"finish_reason":""}]}"#;
    let read = of("openai-chat", whole);
    same(&read, &Ok(FinishReason::Stop), whole);
    assert!(read.reply.choices[0].tool_calls.is_empty());
}

#[test]
fn a_call_whose_name_comes_after_its_id_is_one() {
    let body = frames(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function"}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"look"}}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        DONE,
    ]);
    let read = of("openai-chat", &body);
    same(&read, &Ok(FinishReason::ToolCalls), &body);
    let call = &read.reply.choices[0].tool_calls[0];
    let call = (
        call.id.as_str(),
        call.name.as_str(),
        call.arguments.as_str(),
    );
    assert_eq!(call, ("a", "look", "{}"));
}

#[test]
fn a_refusal_is_a_refusal_on_every_wire_that_says_so() {
    let chat = frames(&[
        r#"{"id":"c","choices":[{"index":0,"delta":{"refusal":"I can not."}}]}"#,
        STOP,
        DONE,
    ]);
    let chat_whole = r#"{"id":"c","choices":[{"index":0,"message":{"content":null,"refusal":"I can not."},"finish_reason":"stop"}]}"#;
    let item = r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I can not."}]}"#;
    let responses = frames(&[
        r#"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I can not."}"#,
        &format!(r#"{{"type":"response.completed","response":{{"id":"r","output":[{item}]}}}}"#),
    ]);
    let responses_whole = format!(r#"{{"id":"r","status":"completed","output":[{item}]}}"#);
    let anthropic = frames(&[
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    for (name, body) in [
        ("openai-chat", chat.as_str()),
        ("openai-chat", chat_whole),
        ("openai-responses", &responses),
        ("openai-responses", &responses_whole),
        ("anthropic", &anthropic),
    ] {
        same(&of(name, body), &Ok(FinishReason::Refusal), body);
    }
}

#[test]
fn a_response_that_is_not_complete_is_no_answer() {
    for status in ["queued", "in_progress", "cancelled"] {
        let body = format!(r#"{{"id":"r","status":"{status}","output":[]}}"#);
        let read = of("openai-responses", &body);
        same(&read, &Err(ModelErrorKind::Cut), &body);
        let error = read.error.unwrap();
        assert!(error.message.contains(status), "{error}");
    }
}

#[test]
fn pieces_of_one_path_are_one_text() {
    let piece = |text: &str, more: bool| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"read","partialArgs":[{{"jsonPath":"$.path","stringValue":"{text}"}}],"willContinue":{more}}}}}]}}}}]}}"#
        )
    };
    let end = r#"{"candidates":[{"finishReason":"STOP"}]}"#;
    let body = frames(&[&piece("a.t", true), &piece("xt", false), end]);
    let read = of("gemini", &body);
    same(&read, &Ok(FinishReason::ToolCalls), &body);
    let arguments = &read.reply.choices[0].tool_calls[0].arguments;
    assert_eq!(arguments, r#"{"path":"a.txt"}"#);
}

#[test]
fn an_answer_inside_another_is_not_taken_for_one() {
    let start = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}"#;
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I will"}}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let body = frames(&[start, block, start, block, end, stop]);
    let read = of("anthropic", &body);
    same(&read, &Err(ModelErrorKind::Cut), &body);
    // Before the first block, an answer may start again.
    let body = frames(&[start, start, block, end, stop]);
    same(&of("anthropic", &body), &Ok(FinishReason::Stop), &body);
}

#[test]
fn signs_of_life_in_place_of_an_event_hurt_no_answer() {
    let chat = frames(&["null", TEXT, "null", STOP, DONE]);
    let list = frames(&[&format!("[{TEXT},{STOP}]"), DONE]);
    let part = r#"{"candidates":[{"content":{"parts":[{"text":"4"}]},"finishReason":"STOP"}]}"#;
    let gemini = frames(&["null", part]);
    let gemini_list = frames(&[&format!("[{part}]")]);
    for (name, body) in [
        ("openai-chat", &chat),
        ("openai-chat", &list),
        ("gemini", &gemini),
        ("gemini", &gemini_list),
    ] {
        let read = of(name, body);
        same(&read, &Ok(FinishReason::Stop), body);
        assert_eq!(read.reply.choices[0].text, "4");
    }
}

#[test]
fn what_was_spent_is_known_although_the_answer_was_cut() {
    let anthropic = frames(&[
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":30,"cache_read_input_tokens":7,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I will"}}"#,
    ]);
    let gemini = frames(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"I will"}]}}],"usageMetadata":{"promptTokenCount":37,"candidatesTokenCount":1}}"#,
    ]);
    for (name, body) in [("anthropic", &anthropic), ("gemini", &gemini)] {
        let read = of(name, body);
        same(&read, &Err(ModelErrorKind::Cut), body);
        let usage = read.reply.usage.expect("what was spent");
        assert_eq!((usage.input_tokens, usage.output_tokens), (37, 1), "{name}");
    }
}
