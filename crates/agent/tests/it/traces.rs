//! Traces of runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quillet_core::chat::{ChatEvent, FinishReason, ModelErrorKind};
use quillet_core::trace::{Span, SpanKind, Trace, TraceSink, Tracer};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::scripted::{
    Answer, Scripted, asked, call, echo, finish, finished, last_words, model_error, says, text,
    thought, tool, usage,
};

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Arc<Trace>>>);

impl TraceSink for Kept {
    fn record(&self, trace: Arc<Trace>) {
        self.0.lock().expect("nobody panicked").push(trace);
    }
}

/// Returns the spans of a run whose model may call `echo` and `hang`.
async fn spans(texts: bool, answers: Vec<Answer>, cancel_after: Option<u64>) -> Vec<Span> {
    let kept = Arc::new(Kept::default());
    let model = Scripted::new(answers);
    let hang = tool("hang", |_| std::future::pending());
    let mut run = asked(&model, vec![echo("echo"), hang]);
    run.options.temperature = Some(0.5);
    run.tracer = Tracer::new("0123456789abcdef0123456789abcdef", kept.clone(), texts);
    if let Some(millis) = cancel_after {
        run.cancelled = Box::pin(sleep(Duration::from_millis(millis)));
    }
    finished(run).await;
    let traces = kept.0.lock().expect("nobody panicked");
    assert_eq!(traces.len(), 1);
    traces[0].spans.clone()
}

fn a_call_and_an_answer() -> Vec<Answer> {
    let start = ChatEvent::Start {
        id: "r1".to_owned(),
        model: "m-2026".to_owned(),
        created: 0,
    };
    vec![
        says(vec![
            start,
            thought("hm"),
            call(0, "a", "echo", r#"{"q":"secret"}"#),
            usage(10, 5),
            finish(FinishReason::ToolCalls),
        ]),
        last_words("done"),
    ]
}

#[tokio::test]
async fn every_call_has_a_span_below_that_of_the_run() {
    let spans = spans(false, a_call_and_an_answer(), None).await;
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(
        names,
        ["invoke_agent", "chat m", "execute_tool echo", "chat m"]
    );
    let kinds: Vec<SpanKind> = spans.iter().map(|span| span.kind).collect();
    let expected = [
        SpanKind::Run,
        SpanKind::Model,
        SpanKind::Tool,
        SpanKind::Model,
    ];
    assert_eq!(kinds, expected);
    for span in &spans[1..] {
        assert_eq!(span.parent.as_ref(), Some(&spans[0].id));
        assert_eq!(span.error, None);
    }
    let cases: [(usize, &str, Value); 16] = [
        (0, "gen_ai.operation.name", json!("invoke_agent")),
        (0, "gen_ai.usage.input_tokens", json!(10)),
        (0, "quillet.ending", json!("stop")),
        (0, "quillet.model_calls", json!(2)),
        (1, "gen_ai.operation.name", json!("chat")),
        (1, "gen_ai.request.model", json!("m")),
        (1, "gen_ai.request.temperature", json!(0.5)),
        (1, "gen_ai.response.model", json!("m-2026")),
        (1, "gen_ai.response.id", json!("r1")),
        (1, "gen_ai.response.finish_reasons", json!(["tool_calls"])),
        (1, "gen_ai.usage.output_tokens", json!(5)),
        (1, "gen_ai.usage.reasoning.output_tokens", json!(1)),
        (1, "gen_ai.usage.cache_read.input_tokens", json!(2)),
        (2, "gen_ai.operation.name", json!("execute_tool")),
        (2, "gen_ai.tool.name", json!("echo")),
        (2, "gen_ai.tool.call.id", json!("a")),
    ];
    for (span, name, value) in cases {
        assert_eq!(spans[span].attributes.get(name), Some(&value), "{name}");
    }
    assert!(spans[1].attributes["gen_ai.response.time_to_first_chunk"].is_f64());
    let all = serde_json::to_string(&spans).expect("JSON");
    for secret in ["secret", "Be brief", "hm\"", "done\""] {
        assert!(!all.contains(secret), "{secret} is a text");
    }
}

#[tokio::test]
async fn texts_are_recorded_where_the_tracer_was_told_so() {
    let spans = spans(true, a_call_and_an_answer(), None).await;
    assert_eq!(
        spans[1].attributes["gen_ai.input.messages"],
        json!([
            {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
            {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        ])
    );
    assert_eq!(
        spans[1].attributes["gen_ai.output.messages"],
        json!([{"role": "assistant", "finish_reason": "tool_calls", "parts": [
            {"type": "reasoning", "content": "hm"},
            {"type": "tool_call", "id": "a", "name": "echo", "arguments": {"q": "secret"}},
        ]}])
    );
    assert_eq!(
        spans[2].attributes["gen_ai.tool.call.arguments"],
        r#"{"q":"secret"}"#
    );
    assert_eq!(spans[2].attributes["gen_ai.tool.call.result"], "[secret]");
    assert_eq!(
        spans[3].attributes["gen_ai.input.messages"][3],
        json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": "[secret]"}]})
    );
}

#[tokio::test(start_paused = true)]
async fn spans_say_why_there_is_no_more() {
    let bad_call = || {
        says(vec![
            call(0, "a", "echo", "{"),
            finish(FinishReason::ToolCalls),
        ])
    };
    let hang = || {
        says(vec![
            call(0, "a", "hang", r#"{"q":"x"}"#),
            finish(FinishReason::ToolCalls),
        ])
    };
    let broken = Answer::Stream(vec![Ok(text("par")), Err(model_error(ModelErrorKind::Cut))]);
    let refused = Answer::Refuse(model_error(ModelErrorKind::RateLimited));
    let cases: [(Vec<Answer>, Option<u64>, usize, &str); 6] = [
        (
            vec![bad_call(), last_words("ok")],
            None,
            2,
            "tool.arguments",
        ),
        (vec![hang(), last_words("ok")], None, 2, "tool.timeout"),
        (vec![hang()], Some(5), 2, "cancelled"),
        (vec![Answer::Hang(vec![])], Some(5), 1, "cancelled"),
        (vec![broken], None, 1, "stream_truncated"),
        (vec![refused], None, 1, "rate_limit"),
    ];
    for (answers, cancel_after, span, why) in cases {
        let spans = spans(false, answers, cancel_after).await;
        assert_eq!(spans[span].attributes["error.type"], why);
        assert!(spans[span].error.is_some());
    }
}
