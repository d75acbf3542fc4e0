//! Gemini answers that the transcripts and recordings do not cover.

use quillet_core::chat::{ChatEvent, FinishReason};
use quillet_llm::{Gemini, Protocol};
use serde_json::{Value, json};

use crate::transcripts::play;

fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": finish}]})
}

fn stream(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect()
}

#[test]
fn finish_reasons_are_understood() {
    let cases = [
        ("STOP", Ok(FinishReason::Stop)),
        ("MAX_TOKENS", Ok(FinishReason::Length)),
        ("RECITATION", Ok(FinishReason::ContentFilter)),
        ("PROHIBITED_CONTENT", Ok(FinishReason::ContentFilter)),
        ("MODEL_ARMOR", Ok(FinishReason::ContentFilter)),
        ("OTHER", Ok(FinishReason::Error)),
        ("A_NEW_ONE", Ok(FinishReason::Stop)),
        ("MALFORMED_FUNCTION_CALL", Err("malformed_tool_call")),
        ("UNEXPECTED_TOOL_CALL", Err("malformed_tool_call")),
        ("MISSING_THOUGHT_SIGNATURE", Err("invalid_request")),
    ];
    for (raw, expected) in cases {
        let body = stream(&[chunk(&json!([{"text": "x"}]), Some(raw))]);
        let outcome = play(&Gemini, &body);
        let reason = outcome.reply.choices[0].finish_reason;
        let met = outcome.error.map_or_else(
            || Ok(reason.unwrap()),
            |error| Err(error.kind.event_code().as_str()),
        );
        assert_eq!(met, expected, "{raw}");
    }
}

#[test]
fn a_blocked_prompt_is_the_filters_answer() {
    let body = stream(&[
        json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}),
    ]);
    let outcome = play(&Gemini, &body);
    assert!(outcome.error.is_none());
    let choice = &outcome.reply.choices[0];
    assert_eq!(choice.finish_reason, Some(FinishReason::ContentFilter));
    assert_eq!(choice.finish_raw, "SAFETY");
    assert_eq!(outcome.reply.usage.unwrap().input_tokens, 4);
}

#[test]
fn errors_are_seen_in_every_wrapping() {
    let error = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    let multi_line = serde_json::to_string_pretty(&error).unwrap();
    for body in [
        format!("data: {error}\n\n"),
        stream(&[chunk(&json!([{"text": "a"}]), None)]) + &multi_line,
        multi_line.clone(),
        format!("[{multi_line}]"),
    ] {
        let error = play(&Gemini, &body).error.unwrap();
        let met = (error.kind.event_code().as_str(), error.message.as_str());
        assert_eq!(met, ("overloaded", "busy"), "{body}");
    }
}

#[test]
fn a_refusal_says_what_it_is() {
    let quota = r#"{"@type": "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}"#;
    let key = r#"{"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}"#;
    let cases = [
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "",
            "context_length",
        ),
        (400, "INVALID_ARGUMENT", "API key not valid.", key, "auth"),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            "",
            "forbidden",
        ),
        (400, "INVALID_ARGUMENT", "bad", "", "invalid_request"),
        (403, "PERMISSION_DENIED", "no", "", "forbidden"),
        (404, "NOT_FOUND", "no model", "", "model_not_found"),
        (429, "RESOURCE_EXHAUSTED", "slow down", "", "rate_limit"),
        (429, "RESOURCE_EXHAUSTED", "no more today", quota, "quota"),
        (500, "INTERNAL", "oh", "", "server_error"),
        (503, "UNAVAILABLE", "busy", "", "overloaded"),
        (504, "DEADLINE_EXCEEDED", "late", "", "timeout"),
    ];
    for (status, code, message, detail, expected) in cases {
        let details = format!("[{detail}]");
        let details: Value = serde_json::from_str(&details).unwrap();
        let body = json!({"error": {"code": status, "status": code, "message": message, "details": details}});
        let refusal = Gemini.refusal(status, &body.to_string());
        assert_eq!(refusal.kind.event_code(), expected, "{message}");
        assert_eq!(
            (refusal.message.as_str(), refusal.code.as_deref()),
            (message, Some(code))
        );
    }
    assert_eq!(
        Gemini.refusal(502, "<html>").kind.event_code(),
        "server_error"
    );
    let listed = Gemini.refusal(503, r#"[{"error": {"code": 503, "message": "busy"}}]"#);
    assert_eq!(
        (listed.kind.event_code().as_str(), listed.message.as_str()),
        ("overloaded", "busy")
    );
}

#[test]
fn arguments_in_pieces_are_joined() {
    let piece = |call: Value, finish| chunk(&json!([{"functionCall": call}]), finish);
    let chunks = [
        chunk(
            &json!([{"functionCall": {"name": "look", "id": "c1", "willContinue": true}, "thoughtSignature": "c2ln"}]),
            None,
        ),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "New ", "willContinue": true}], "willContinue": true}),
            None,
        ),
        piece(
            json!({"partialArgs": [{"jsonPath": "$.city", "stringValue": "York"}], "willContinue": true}),
            None,
        ),
        piece(json!({}), None),
        piece(
            json!({"name": "look", "args": {"city": "Rome"}}),
            Some("STOP"),
        ),
    ];
    let outcome = play(&Gemini, &stream(&chunks));
    assert!(outcome.error.is_none());
    let choice = &outcome.reply.choices[0];
    let calls: Vec<&str> = choice
        .tool_calls
        .iter()
        .map(|call| call.arguments.as_str())
        .collect();
    assert_eq!(calls, [r#"{"city":"New York"}"#, r#"{"city":"Rome"}"#]);
    assert_eq!(choice.finish_reason, Some(FinishReason::ToolCalls));
    let native = &choice.native.as_ref().unwrap().content;
    let first = json!({"functionCall": {"name": "look", "id": "c1", "args": {"city": "New York"}}, "thoughtSignature": "c2ln"});
    assert_eq!(native[0], first);
}

#[test]
fn arguments_that_were_cut_are_never_whole() {
    let begun = chunk(
        &json!([{"functionCall": {"name": "rm", "willContinue": true,
            "partialArgs": [{"jsonPath": "$.path", "stringValue": "/tmp", "willContinue": true}]}}]),
        Some("MAX_TOKENS"),
    );
    let outcome = play(&Gemini, &stream(std::slice::from_ref(&begun)));
    let choice = &outcome.reply.choices[0];
    assert_eq!(choice.finish_reason, Some(FinishReason::Length));
    assert_eq!(choice.tool_calls[0].arguments_object(), None);
    assert!(choice.native.is_none());

    let mut stopped = begun;
    stopped["candidates"][0]["finishReason"] = json!("STOP");
    let outcome = play(&Gemini, &stream(&[stopped]));
    assert_eq!(
        outcome.error.unwrap().kind.event_code(),
        "malformed_tool_call"
    );
}

#[test]
fn what_has_no_common_word_is_kept() {
    let parts = json!([
        {"text": "Here: "},
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
        {"executableCode": {"language": "PYTHON", "code": "1+1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"text": "done"},
    ]);
    let body = chunk(&parts, Some("STOP")).to_string();
    let outcome = play(&Gemini, &body);
    let choice = &outcome.reply.choices[0];
    assert_eq!(choice.text, "Here: done");
    assert_eq!(choice.native.as_ref().unwrap().content, parts);
    let mut events = Vec::new();
    Gemini
        .decoder("model")
        .decode_body(body.as_bytes(), &mut events)
        .unwrap();
    let [.., ChatEvent::Native { .. }, ChatEvent::Finish { .. }] = events.as_slice() else {
        panic!("what is kept comes before the end: {events:?}");
    };
}

#[test]
fn a_list_of_chunks_is_an_answer_too() {
    let chunks = json!([
        chunk(&json!([{"text": "a"}]), None),
        chunk(&json!([{"text": "b"}]), Some("STOP"))
    ]);
    let outcome = play(&Gemini, &chunks.to_string());
    assert_eq!(outcome.reply.choices[0].text, "ab");
    assert!(outcome.error.is_none());
}
