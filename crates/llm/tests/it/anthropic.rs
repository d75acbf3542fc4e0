//! Anthropic answers that the transcripts and recordings do not cover.

use quillet_core::chat::{ChatRequest, FinishReason};
use quillet_llm::{Anthropic, Protocol};
use serde_json::{Value, json};

use crate::transcripts::play;

#[test]
fn stop_reasons_and_odd_blocks_are_understood() {
    let cases = [
        ("pause_turn", FinishReason::Pause),
        ("refusal", FinishReason::Refusal),
        ("model_context_window_exceeded", FinishReason::Length),
        ("stop_sequence", FinishReason::Stop),
        ("a new one", FinishReason::Stop),
    ];
    for (raw, reason) in cases {
        let body = json!({"type": "message", "content": [], "stop_reason": raw, "usage": {}});
        let outcome = play(&Anthropic, &body.to_string());
        assert_eq!(
            outcome.reply.choices[0].finish_reason,
            Some(reason),
            "{raw}"
        );
        assert_eq!(outcome.reply.choices[0].finish_raw, raw);
    }
}

#[test]
fn a_refusal_says_what_it_is() {
    let cases = [
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            "context_length",
        ),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low",
            "quota",
        ),
        (400, "invalid_request_error", "bad", "invalid_request"),
        (401, "authentication_error", "no", "auth"),
        (402, "billing_error", "pay", "quota"),
        (403, "permission_error", "no", "forbidden"),
        (404, "not_found_error", "model: claude-x", "model_not_found"),
        (404, "not_found_error", "Not Found", "invalid_request"),
        (413, "request_too_large", "large", "context_length"),
        (429, "rate_limit_error", "slow", "rate_limit"),
        (500, "api_error", "oh", "server_error"),
        (504, "timeout_error", "late", "timeout"),
        (529, "overloaded_error", "busy", "overloaded"),
    ];
    for (status, code, message, expected) in cases {
        let body =
            json!({"type": "error", "error": {"type": code, "message": message}}).to_string();
        let refusal = Anthropic.refusal(status, &body);
        assert_eq!(refusal.kind.event_code(), expected, "{code}: {message}");
        assert_eq!(
            (refusal.message.as_str(), refusal.code.as_deref()),
            (message, Some(code))
        );
        let body = format!("event: error\ndata: {body}\n\n");
        let error = play(&Anthropic, &body).error.unwrap();
        assert_eq!(
            error.kind.event_code(),
            expected,
            "in a stream, {code}: {message}"
        );
    }
}

#[test]
fn without_a_body_the_status_decides() {
    let cases = [
        (302, "invalid_request"),
        (400, "invalid_request"),
        (401, "auth"),
        (402, "quota"),
        (403, "forbidden"),
        (408, "timeout"),
        (413, "context_length"),
        (429, "rate_limit"),
        (502, "server_error"),
        (504, "timeout"),
        (529, "overloaded"),
    ];
    for (status, expected) in cases {
        for body in ["", "<html>", "{}"] {
            let refusal = Anthropic.refusal(status, body);
            assert_eq!(refusal.kind.event_code(), expected, "{status} {body}");
        }
    }
}

#[test]
fn odd_streams_are_understood() {
    let stream = |events: &[Value]| -> String {
        let begin = json!({"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 3, "cache_read_input_tokens": 4}}});
        let end = [
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ];
        [begin]
            .iter()
            .chain(events)
            .chain(&end)
            .map(|event| format!("data: {event}\n\n"))
            .collect()
    };
    let begin =
        |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let call =
        |input: Value| begin(json!({"type": "tool_use", "id": "t", "name": "f", "input": input}));
    let stop = json!({"type": "content_block_stop", "index": 0});

    for (events, arguments) in [
        (vec![call(json!({})), stop.clone()], "{}"),
        (vec![call(json!({}))], "{}"),
        (vec![call(json!({"a": 1})), stop.clone()], r#"{"a":1}"#),
    ] {
        let outcome = play(&Anthropic, &stream(&events));
        assert_eq!(outcome.reply.choices[0].tool_calls[0].arguments, arguments);
        let usage = outcome.reply.usage.unwrap();
        assert_eq!(
            (
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens
            ),
            (7, 5, 4),
            "the start's counts stay"
        );
    }

    let cited = [
        begin(json!({"type": "text", "text": ""})),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"type": "char_location"}}}),
        stop,
    ];
    let outcome = play(&Anthropic, &stream(&cited));
    let native = &outcome.reply.choices[0].native.as_ref().unwrap().content;
    assert_eq!(
        native,
        &json!([{"type": "text", "text": "a", "citations": [{"type": "char_location"}]}])
    );
    let mut request = ChatRequest::default();
    request
        .messages
        .push(outcome.reply.choices[0].clone().into_message());
    request
        .options
        .extra
        .insert("prompt_caching".to_owned(), false.into());
    let body = Anthropic.write("claude-opus-4-6", &request).unwrap();
    assert_eq!(&body["messages"][0]["content"], native);
}
