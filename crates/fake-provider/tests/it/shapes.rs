//! Responses equal the recorded ones byte for byte in structure.

use std::fs;
use std::path::Path;

use quillet_fake_provider::{
    ErrorResponse, FakeProvider, Finish, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
    TokenUsage,
};
use serde_json::Value;

use crate::client::ask;

fn recorded(wire: ProviderApi, name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/providers");
    fs::read_to_string(root.join(wire.name()).join(format!("{name}.sse"))).unwrap()
}

fn check(wire: ProviderApi, name: &str, model: &str, turn: ScriptedReply) {
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let answer = ask(&provider, wire, model, true);
    assert_eq!(answer.body, recorded(wire, name), "{} {name}", wire.name());
}

#[test]
fn chat_completions() {
    let wire = ProviderApi::OpenAiChat;
    let model = "gpt-4o-2024-08-06";
    let text = ScriptedReply::text(["Hello", ", ", "world."]).spent(12, 4);
    check(wire, "text_basic", model, text);
    let calls = ScriptedReply::new(Vec::new())
        .and_call("call_a1", "get_weather", ["{\"ci", "ty\":\"Par", "is\"}"])
        .and_call("call_b2", "get_weather", ["{\"city\":", "\"Rome\"}"])
        .spent(80, 33);
    check(wire, "tools_parallel", model, calls);
    let cut_call = ScriptedReply::call("write_file", [r#"{"path":"a","content":"abc"#]);
    let provider = FakeProvider::start(ReplyScript::turns([cut_call.finish(Finish::Length)]));
    let body = ask(&provider, wire, model, true).body;
    assert!(body.contains(r#""finish_reason":"length""#), "{body}");
}

#[test]
fn responses() {
    let wire = ProviderApi::OpenAiResponses;
    let text = ScriptedReply::text(["Hi", " there", "!"]).spent(11, 5);
    check(wire, "text_basic", "gpt-5", text);
    let calls = ScriptedReply::new(Vec::new())
        .and_call("call_1", "get_weather", ["{\"city\"", ":\"Paris\"}"])
        .and_call("call_2", "get_time", ["{}"])
        .spent(60, 40);
    check(wire, "tools_parallel", "gpt-5", calls);
    let mut reasoning = ScriptedReply::new(Vec::new())
        .and_reasoning("**Plan**\n\n")
        .and_reasoning("think")
        .and_text("42")
        .signature("gAAAAABencrypted==");
    reasoning.spent = Some(TokenUsage {
        input: 30,
        output: 90,
        reasoning: 64,
        cached: 0,
    });
    check(wire, "reasoning_encrypted", "gpt-5", reasoning);
}

#[test]
fn messages() {
    let wire = ProviderApi::Anthropic;
    let model = "claude-sonnet-4-20250514";
    let text = ScriptedReply::text(["Hello", " there"]).spent(25, 6);
    check(wire, "text_basic", model, text);
    let thinking = ScriptedReply::new(Vec::new())
        .and_reasoning("I should")
        .and_reasoning(" look.")
        .and_text("Checking.")
        .and_call("toolu_1", "get_weather", ["{\"city\": \"S", "F\"}"])
        .signature("EqQBCkYIsig==")
        .spent(40, 70);
    check(wire, "thinking_tool", model, thinking);
}

/// The recorded responses report tokens in other steps, so the usage is not compared.
#[test]
fn generate_content() {
    let wire = ProviderApi::Gemini;
    let mut calls = ScriptedReply::new(Vec::new())
        .and_call("1", "get_weather", ["{\"city\":\"Paris\"}"])
        .and_call("2", "get_weather", ["{\"city\":\"Rome\"}"])
        .signature("c2lnLTE=");
    calls.spent = Some(TokenUsage {
        input: 50,
        output: 54,
        reasoning: 30,
        cached: 0,
    });
    let thoughts = ScriptedReply::new(Vec::new())
        .and_reasoning("**Thinking**\n")
        .and_reasoning("more")
        .and_text("Answer")
        .signature("c2lnLWZpbmFs");
    for (name, model, turn) in [
        (
            "text_basic",
            "gemini-2.5-flash",
            ScriptedReply::text(["Hello", " Gemini", "!"]),
        ),
        ("tools_parallel_sig", "gemini-3-pro", calls),
        ("thoughts", "gemini-2.5-flash", thoughts),
    ] {
        let provider = FakeProvider::start(ReplyScript::turns([turn]));
        let body = ask(&provider, wire, model, true).body;
        assert_eq!(
            without_usage(&body),
            without_usage(&recorded(wire, name)),
            "{name}"
        );
    }
}

fn without_usage(body: &str) -> Vec<String> {
    let lines = body.split("\r\n\r\n").filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let data = line.strip_prefix("data: ").unwrap();
            let mut event: Value = serde_json::from_str(data).unwrap();
            let usage = event.as_object_mut().unwrap().remove("usageMetadata");
            assert!(usage.is_some(), "{line}");
            event.to_string()
        })
        .collect()
}

#[test]
fn refusals_and_errors_in_the_middle() {
    let overloaded = InjectedFault::Refuse(ErrorResponse::Overloaded);
    let limited = InjectedFault::Refuse(ErrorResponse::RateLimited(None));
    let html = InjectedFault::Refuse(ErrorResponse::Html);
    for (wire, name, fault) in [
        (ProviderApi::Anthropic, "http_529", overloaded),
        (ProviderApi::OpenAiChat, "http_429", limited),
        (ProviderApi::OpenAiChat, "http_502_html", html),
    ] {
        let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::failing(fault)]));
        let answer = ask(&provider, wire, "gpt-4o", true);
        assert_eq!(answer.body.trim(), recorded(wire, name).trim(), "{name}");
    }
    for (wire, name) in [
        (ProviderApi::OpenAiChat, "error_midstream"),
        (ProviderApi::Anthropic, "error_overloaded"),
        (ProviderApi::Gemini, "error_midstream"),
    ] {
        let turn = ScriptedReply::text(["some"]).fault(InjectedFault::ErrorEvent { after: 1 });
        let provider = FakeProvider::start(ReplyScript::turns([turn]));
        let body = ask(&provider, wire, "m", true).body;
        let recorded = recorded(wire, name);
        let error = recorded
            .split("data: ")
            .find(|event| event.contains("error\":"));
        assert!(body.contains(error.unwrap().trim()), "{body}");
    }
}
