//! Concurrency, order and errors of calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quillet_agent::{AgentEvent, AgentOutcome, EndReason};
use quillet_core::chat::{FinishReason, TokenCounter};
use quillet_core::tool::{Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, ContentPart, Map, MediaUrl, MessageContent, Value};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::time::sleep;

use crate::scripted::{
    Answer, Scripted, asked, brief, call, calls, echo, finish, finished, history, last_words, says,
    text, tool, tool_with,
};

/// Makes one call in the first turn. Returns the events and the result as the model reads it.
async fn answer_to(
    name: &str,
    arguments: &str,
    tools: Vec<Arc<dyn Tool>>,
) -> (Vec<AgentEvent>, String) {
    let model = Scripted::new(vec![calls(&[("a", name, arguments)]), last_words("ok")]);
    let (events, outcome) = finished(asked(&model, tools)).await;
    assert_eq!(outcome.text, "ok");
    let read = model.asked()[1].messages.last().expect("a result").clone();
    assert_eq!(read.tool_call_id.as_deref(), Some("a"));
    let error = format!("{}{}", if read.is_error { "!" } else { "" }, read.content);
    (events, error)
}

/// A tool whose result for the model has three pictures.
#[derive(Debug)]
struct Camera(Arc<dyn Tool>);

impl Tool for Camera {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        self.0.call(arguments, context)
    }

    fn call_for_model<'a>(
        &'a self,
        _: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let image = MediaUrl {
            url: "data:image/png;base64,AAAA".to_owned(),
            detail: None,
        };
        Box::pin(std::future::ready(Ok(ToolAnswer {
            value: "see".into(),
            images: vec![image; 3],
        })))
    }
}

#[tokio::test]
async fn pictures_of_a_result_are_shown_as_far_as_the_model_takes_them() {
    for (limit, said) in [
        (
            0,
            "see\n[3 pictures are not shown: this model does not accept pictures]",
        ),
        (2, "see\n[1 more pictures are not shown: the limit is 2]"),
        (3, "see"),
    ] {
        let first = calls(&[("a", "echo", r#"{"q":"x"}"#)]);
        let model = Scripted::new(vec![first, last_words("ok")]);
        let mut run = asked(&model, vec![Arc::new(Camera(echo("echo")))]);
        run.limits.result_images = limit;
        finished(run).await;
        let read = model.asked()[1].messages.last().expect("a result").clone();
        let (text, images) = match read.content {
            MessageContent::Text(text) => (text, 0),
            MessageContent::Parts(parts) => match &parts[0] {
                ContentPart::Text { text } => (text.clone(), parts.len() - 1),
                other => panic!("{other:?}"),
            },
        };
        assert_eq!((text.as_str(), images), (said, limit));
    }
}

#[tokio::test]
async fn calls_of_a_turn_run_side_by_side_and_keep_their_order() {
    let together = Arc::new(Barrier::new(3));
    let meeting = move |arguments: quillet_core::Map| {
        let together = together.clone();
        async move {
            together.wait().await;
            Ok(arguments.get("q").cloned().unwrap_or_default())
        }
    };
    let given = [
        ("a", "meet", r#"{"q":"1"}"#),
        ("b", "meet", r#"{"q":"2"}"#),
        ("c", "meet", r#"{"q":"3"}"#),
    ];
    let model = Scripted::new(vec![calls(&given), last_words("ok")]);
    let (events, outcome) = finished(asked(&model, vec![tool("meet", meeting)])).await;
    assert_eq!(
        brief(&events)[..3],
        ["start a meet", "start b meet", "start c meet"]
    );
    assert_eq!(
        history(&outcome.messages),
        [
            "assistant calls a,b,c",
            "tool a 1",
            "tool b 2",
            "tool c 3",
            "assistant ok"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn events_come_as_calls_end_and_results_in_the_order_of_the_calls() {
    let sleeper = tool("sleep", |arguments| async move {
        let millis = arguments.get("n").cloned();
        if let Some(Value::Int(millis)) = millis {
            sleep(Duration::from_millis(millis.unsigned_abs())).await;
        }
        Ok(arguments.get("q").cloned().unwrap_or_default())
    });
    let given = [
        ("a", "sleep", r#"{"q":"slow","n":30}"#),
        ("b", "sleep", r#"{"q":"fast","n":10}"#),
    ];
    let model = Scripted::new(vec![calls(&given), last_words("ok")]);
    let begun = tokio::time::Instant::now();
    let (events, outcome) = finished(asked(&model, vec![sleeper])).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(30));
    assert_eq!(brief(&events)[2..4], ["done b", "done a"]);
    let AgentEvent::ToolDone { took, .. } = &events[3] else {
        panic!("{:?}", events[3]);
    };
    assert_eq!(*took, Duration::from_millis(30));
    assert_eq!(
        history(&outcome.messages)[1..3],
        ["tool a slow", "tool b fast"]
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_at_once_than_may() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counting = {
        let (now, most) = (now, most.clone());
        tool("count", move |_| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(10)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(Value::Null)
            }
        })
    };
    let given: Vec<(String, String)> = (0..7)
        .map(|n| (format!("c{n}"), format!(r#"{{"q":"{n}"}}"#)))
        .collect();
    let given: Vec<(&str, &str, &str)> = given
        .iter()
        .map(|(id, arguments)| (id.as_str(), "count", arguments.as_str()))
        .collect();
    let model = Scripted::new(vec![calls(&given), last_words("ok")]);
    let mut run = asked(&model, vec![counting]);
    run.limits.concurrent_calls = 3;
    let begun = tokio::time::Instant::now();
    let (events, _) = finished(run).await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert_eq!(begun.elapsed(), Duration::from_millis(30));
    // A call beyond the concurrency limit has not started, so it has no start event yet.
    assert_eq!(
        brief(&events)[..5],
        [
            "start c0 count",
            "start c1 count",
            "start c2 count",
            "done c0",
            "start c3 count"
        ]
    );
}

#[tokio::test]
async fn bad_calls_are_not_made_and_the_model_is_told_why() {
    let never = || {
        tool("search", |_| async {
            panic!("a bad call was made");
        })
    };
    let cases = [
        (
            "search",
            r#"{"q": "x"#,
            "not a valid JSON object: EOF while parsing a string at line 1 column 8",
        ),
        ("search", r#"{"q": x}"#, "expected value at line 1 column 7"),
        (
            "search",
            r#"["x"]"#,
            "invalid type: sequence, expected a map at line 1 column 0",
        ),
        (
            "search",
            r#"{"q": 1}"#,
            r#"at /q: value is not of type "string""#,
        ),
        (
            "search",
            r#"{"q": "x", "n": 0}"#,
            "at /n: value is less than the minimum of 1",
        ),
        ("search", "", r#""q" is a required property"#),
        ("search", r#"{"q": "x", "z": 1}"#, "'z' was unexpected"),
        (
            "serach",
            r#"{"q": "x"}"#,
            r#"There is no tool "serach". Did you mean "search"?"#,
        ),
        (
            "weather",
            "{}",
            r#"There is no tool "weather". Tools are: search."#,
        ),
    ];
    for (name, arguments, why) in cases {
        let (events, read) = answer_to(name, arguments, vec![never()]).await;
        assert!(
            read.starts_with('!') && read.contains(why),
            "{arguments}: {read}"
        );
        assert_eq!(
            brief(&events)[..2],
            [format!("start a {name}"), "failed a".to_owned()]
        );
    }
}

#[tokio::test]
async fn a_schema_that_is_no_use_holds_nobody_back() {
    let cases = [
        (json!(null), true),
        (json!({"type": 7}), true),
        (json!({"$ref": "https://schemas.invalid/x.json"}), true),
        (json!({"$ref": "#"}), true),
        (
            json!({"properties": {"q": {"type": "string", "pattern": "("}}}),
            true,
        ),
        // These patterns cause catastrophic backtracking, so matching would take exponential time.
        (
            json!({"properties": {"q": {"pattern": r"^(?=a)(a|aa)+\1$"}}}),
            false,
        ),
        (json!({"properties": {"q": {"pattern": "^(a+)+$"}}}), false),
    ];
    let arguments = json!({"q": format!("{}b", "a".repeat(200))}).to_string();
    for (parameters, made) in cases {
        let given = tool_with("t", parameters.clone(), |_| async {
            Ok(Value::from("made"))
        });
        let (_, read) = answer_to("t", &arguments, vec![given]).await;
        assert_eq!(read == "made", made, "{parameters}: {read}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_fail_break_down_or_never_return_are_answered() {
    let failing = tool("fail", |_| async {
        Err(ToolError {
            kind: ToolErrorKind::Remote,
            message: "https://inner/ said 500".to_owned(),
            for_model: "the search is down".to_owned(),
        })
    });
    let panicking = tool("panic", |_| async { panic!("with a secret") });
    let endless = tool("hang", |_| std::future::pending());
    let cases = [
        (failing, "!the search is down"),
        (panicking, "!The tool broke down in the middle of the call"),
        (
            endless,
            "!The call took longer than the limit on call_time (60s)",
        ),
    ];
    for (tool, why) in cases {
        let name = tool.spec().name.clone();
        let (events, read) = answer_to(&name, r#"{"q":"x"}"#, vec![tool]).await;
        assert!(read.starts_with(why), "{read}");
        let AgentEvent::ToolDone { error, output, .. } = &events[1] else {
            panic!("{events:?}");
        };
        assert!(why.contains(&error.as_deref().unwrap_or_default()[..10]));
        assert_eq!(*output, Value::Null);
        assert!(!read.contains("secret") && !read.contains("inner"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_does_not_hold_up_the_run() {
    let blocking = tool("block", |_| async {
        std::thread::sleep(Duration::from_millis(300));
        Ok(Value::Null)
    });
    let model = Scripted::new(vec![calls(&[("a", "block", r#"{"q":"x"}"#)])]);
    let mut run = asked(&model, vec![blocking]);
    run.cancelled = Box::pin(sleep(Duration::from_millis(20)));
    let (events, outcome) = finished(run).await;
    assert!(matches!(outcome.ending, EndReason::Cancelled));
    assert_eq!(brief(&events), ["start a block", "failed a"]);
}

#[tokio::test]
async fn long_results_are_cut_for_the_model_alone() {
    let long = tool("long", |_| async {
        let line = "0123456789 ünïcode\n";
        Ok(Value::from(format!("{}the end", line.repeat(100_000))))
    });
    let model = Scripted::new(vec![
        calls(&[("a", "long", r#"{"q":"x"}"#)]),
        last_words("ok"),
    ]);
    let mut run = asked(&model, vec![long]);
    run.limits.result_tokens = 100;
    let (events, outcome) = finished(run).await;
    let AgentEvent::ToolDone {
        output, for_model, ..
    } = &events[1]
    else {
        panic!("{events:?}");
    };
    assert_eq!(output.as_str().map(str::len), Some(2_100_007));
    assert_eq!(outcome.messages[1].content, for_model.as_str());
    let (begin, rest) = for_model.split_once("\n[… ").expect("a note");
    let (note, end) = rest.split_once(" …]\n").expect("its end");
    assert!(note.ends_with("of 1900007 characters left out: the limit on result_tokens is 100"));
    assert!(begin.starts_with("0123456789 ünïcode\n") && end.ends_with("the end"));
    // The counter assumes four bytes per token.
    assert!(
        (380..=400).contains(&(begin.len() + end.len())),
        "{for_model}"
    );
}

/// Counts four bytes per token, and records the total number of bytes counted.
#[derive(Debug, Default)]
struct Watching(AtomicUsize);

impl TokenCounter for Watching {
    fn count_text(&self, text: &str) -> u64 {
        self.0.fetch_add(text.len(), Ordering::SeqCst);
        text.len().div_ceil(4) as u64
    }
}

#[tokio::test]
async fn megabytes_of_a_result_are_not_counted_to_cut_them() {
    let long = tool("long", |_| async {
        Ok(Value::from("x y ".repeat(500_000)))
    });
    let model = Scripted::new(vec![
        calls(&[("a", "long", r#"{"q":"x"}"#)]),
        last_words("ok"),
    ]);
    let counter = Arc::new(Watching::default());
    let mut run = asked(&model, vec![long]);
    run.limits.result_tokens = 10_000;
    run.counter = counter.clone();
    let (_, outcome) = finished(run).await;
    assert!(outcome.messages[1].content.to_string().len() < 41_000);
    let counted = counter.0.load(Ordering::SeqCst);
    assert!(counted < 300_000, "{counted} bytes were counted");
}

#[tokio::test]
async fn a_result_that_just_fits_is_whole() {
    for length in [0, 1, 399, 400] {
        let long = tool("long", move |_| async move {
            Ok(Value::from("x".repeat(length)))
        });
        let model = Scripted::new(vec![
            calls(&[("a", "long", r#"{"q":"x"}"#)]),
            last_words("ok"),
        ]);
        let mut run = asked(&model, vec![long]);
        run.limits.result_tokens = 100;
        let (_, outcome) = finished(run).await;
        assert_eq!(outcome.messages[1].content, "x".repeat(length).as_str());
    }
}

#[tokio::test]
async fn results_that_are_no_text_are_read_as_json() {
    let answers = tool("json", |_| async {
        Ok(quillet_core::json::parse(r#"{"a": [1, 2.5, null]}"#).expect("JSON"))
    });
    let (_, read) = answer_to("json", r#"{"q":"x"}"#, vec![answers]).await;
    assert_eq!(read, r#"{"a":[1,2.5,null]}"#);
}

#[tokio::test]
async fn equal_calls_of_one_turn_are_made_three_times() {
    let many = (0..5).map(|n| call(n, &format!("c{n}"), "echo", r#"{"q":"x"}"#));
    let answer = says(many.chain([finish(FinishReason::ToolCalls)]).collect());
    let model = Scripted::new(vec![answer, last_words("ok")]);
    let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
    let read = history(&outcome.messages);
    let made: Vec<bool> = read[1..6].iter().map(|line| !line.contains('!')).collect();
    assert_eq!(made, [true, true, true, false, false]);
    assert!(read[4].contains("was made 3 times in a row"), "{}", read[4]);
}

#[tokio::test]
async fn a_turn_may_not_make_any_number_of_calls() {
    let many = (0..20_000).map(|n| call(n, &format!("c{}", n % 10_000), "echo", r#"{"q":"x"}"#));
    let answer = says(many.chain([finish(FinishReason::ToolCalls)]).collect());
    let model = Scripted::new(vec![answer, last_words("ok")]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.limits.repeated_calls = 0;
    run.limits.turn_calls = 2;
    run.limits.compaction = false;
    let (_, outcome) = finished(run).await;
    assert_every_call_has_its_result(&outcome);
    let results = &history(&outcome.messages)[1..4];
    assert_eq!(results[..2], ["tool c0 [x]", "tool c1 [x]"]);
    let refused =
        "tool c2 !The call was not made: a turn may make 2 calls, and this one makes more.";
    assert_eq!(results[2], refused);
}

/// A turn whose last call was truncated by the limit on output tokens.
fn cut_turn() -> Answer {
    says(vec![
        call(0, "a", "echo", r#"{"q":"x"}"#),
        call(1, "b", "echo", r#"{"q":"lon"#),
        finish(FinishReason::Length),
    ])
}

#[tokio::test]
async fn a_call_cut_by_the_limit_on_tokens_is_never_made() {
    let cases = [r#"{"q":"lon"#, "", "{"];
    for cut in cases {
        let first = says(vec![
            call(0, "a", "echo", r#"{"q":"x"}"#),
            call(1, "b", "echo", cut),
            finish(FinishReason::Length),
        ]);
        let model = Scripted::new(vec![first, last_words("ok")]);
        let (events, outcome) = finished(asked(&model, vec![echo("echo")])).await;
        let results = &history(&outcome.messages)[1..3];
        assert_eq!(results[0], "tool a [x]");
        assert!(
            results[1].starts_with("tool b !The call was cut by the limit"),
            "{results:?}"
        );
        assert!(brief(&events).contains(&"failed b".to_owned()));
        assert_eq!(outcome.text, "ok");
    }
}

#[tokio::test]
async fn a_turn_that_was_cut_after_whole_calls_goes_on() {
    let first = says(vec![
        call(0, "a", "echo", r#"{"q":"x"}"#),
        finish(FinishReason::Length),
    ]);
    let model = Scripted::new(vec![first, last_words("ok")]);
    let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
    assert_eq!(
        history(&outcome.messages)[1..],
        ["tool a [x]", "assistant ok"]
    );
}

#[tokio::test]
async fn calls_that_are_cut_again_and_again_end_the_run() {
    let model = Scripted::new((0..9).map(|_| cut_turn()).collect());
    let mut run = asked(&model, vec![echo("echo")]);
    run.limits.repeated_calls = 0;
    let (_, outcome) = finished(run).await;
    assert!(matches!(
        outcome.ending,
        EndReason::Finished(FinishReason::Length)
    ));
    assert_eq!(outcome.model_calls, 4);
    assert_every_call_has_its_result(&outcome);
}

/// Asserts that every call in the history has one result, right after its turn.
pub(crate) fn assert_every_call_has_its_result(outcome: &AgentOutcome) {
    let mut open: Vec<&str> = Vec::new();
    for message in &outcome.messages {
        match &message.tool_call_id {
            Some(id) => {
                let place = open.iter().position(|other| other == id);
                open.remove(place.expect("a result has its call"));
            }
            None => {
                assert!(open.is_empty(), "calls without a result: {open:?}");
                open = message
                    .tool_calls
                    .iter()
                    .map(|call| call.id.as_str())
                    .collect();
            }
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}

#[tokio::test]
async fn calls_of_turns_that_a_filter_ended_are_not_made() {
    let reasons = [
        FinishReason::ContentFilter,
        FinishReason::Refusal,
        FinishReason::Error,
    ];
    for reason in reasons {
        let first = says(vec![
            text("no"),
            call(0, "a", "echo", r#"{"q":"x"}"#),
            finish(reason),
        ]);
        let model = Scripted::new(vec![first]);
        let (events, outcome) = finished(asked(&model, vec![echo("echo")])).await;
        assert_eq!(brief(&events), ["text no"]);
        assert!(matches!(outcome.ending, EndReason::Finished(why) if why == reason));
        assert_every_call_has_its_result(&outcome);
    }
}

#[tokio::test]
async fn sources_of_results_are_numbered_and_kept_once() {
    let from = tool("from", |arguments| async move {
        let sources = match arguments.get("q").and_then(Value::as_str) {
            Some("x") => {
                r#"{"sources": [{"index": 9, "title": "A", "kb_id": 7}, {"title": "B", "kb_id": 7}]}"#
            }
            _ => {
                r#"{"sources": [{"title": "B", "kb_id": 7}, {"title": "B", "url": "https://b/"}, 5, {}]}"#
            }
        };
        Ok(quillet_core::json::parse(sources).expect("JSON"))
    });
    let given = [("a", "from", r#"{"q":"x"}"#), ("b", "from", r#"{"q":"y"}"#)];
    let model = Scripted::new(vec![
        calls(&given[..1]),
        calls(&given[1..]),
        last_words("ok"),
    ]);
    let (events, outcome) = finished(asked(&model, vec![from])).await;
    let numbered: Vec<(u64, &str)> = outcome
        .sources
        .iter()
        .map(|source| (source.index, source.title.as_str()))
        .collect();
    assert_eq!(numbered, [(1, "A"), (2, "B"), (3, "B")]);
    let AgentEvent::ToolDone { sources, .. } = &events[3] else {
        panic!("{events:?}");
    };
    assert_eq!(sources.iter().map(|s| s.index).collect::<Vec<_>>(), [2, 3]);
}
