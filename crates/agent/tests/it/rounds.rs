//! Order of rounds, and the events that end them: the limit, client calls, a silent exit and
//! skills.

use quillet_agent::{AgentEvent, EndReason, Skill, Skills};
use quillet_core::chat::{ChatRequest, FinishReason, ModelErrorKind, ToolChoice, ToolOffer};
use quillet_core::{Message, Role};
use serde_json::json;

use crate::calls::assert_every_call_has_its_result;
use crate::scripted::{
    Answer, Scripted, asked, brief, call, calls, echo, finish, finished, history, last_words,
    model_error, says, text,
};

fn nth_call(n: usize) -> Answer {
    calls(&[(&format!("c{n}"), "echo", &format!(r#"{{"q":"{n}"}}"#))])
}

fn offered(request: &ChatRequest) -> Vec<&str> {
    request
        .options
        .tools
        .iter()
        .filter_map(ToolOffer::name)
        .collect()
}

fn client_tool(name: &str) -> ToolOffer {
    ToolOffer::Function {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "required": ["x"]}),
        strict: None,
        extra: serde_json::Map::new(),
    }
}

#[tokio::test]
async fn after_the_last_round_the_model_answers_with_all_results_before_it() {
    let answers = (0..3).map(nth_call).chain([last_words("so far")]);
    let model = Scripted::new(answers.collect());
    let mut run = asked(&model, vec![echo("echo")]);
    run.limits.tool_rounds = 3;
    let (events, outcome) = finished(run).await;
    assert_eq!(brief(&events)[6..], ["limit 3", "text so far"]);
    assert!(outcome.tool_limit_reached);
    assert_eq!((outcome.model_calls, outcome.rounds), (4, 3));
    let requests = model.asked();
    let last = &requests[3];
    let results = history(&last.messages);
    assert_eq!(
        results[3..8],
        [
            "tool c0 [0]",
            "assistant calls c1",
            "tool c1 [1]",
            "assistant calls c2",
            "tool c2 [2]"
        ]
    );
    assert!(
        results[8].starts_with("user [系统通知] 达到工具调用限制。"),
        "{results:?}"
    );
    // The tools stay the same, so that the provider's prompt cache stays valid.
    assert_eq!(last.options.tools, requests[0].options.tools);
    assert_eq!(last.options.tool_choice, Some(ToolChoice::None));
    // The notice must not affect later turns, so the outcome does not contain it.
    assert!(
        outcome
            .messages
            .iter()
            .all(|message| message.role != Role::User)
    );
}

#[tokio::test]
async fn calls_after_the_limit_are_not_made() {
    let model = Scripted::new(vec![nth_call(0), nth_call(1)]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.limits.tool_rounds = 1;
    let (events, outcome) = finished(run).await;
    assert_eq!(brief(&events), ["start c0 echo", "done c0", "limit 1"]);
    assert!(matches!(
        outcome.ending,
        EndReason::Finished(FinishReason::ToolCalls)
    ));
    let results = history(&outcome.messages);
    assert_eq!(
        results[3],
        "tool c1 !The call was not made: the limit on tool calls is reached."
    );
}

#[tokio::test]
async fn a_run_without_rounds_makes_no_calls() {
    let model = Scripted::new(vec![last_words("ok")]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.limits.tool_rounds = 0;
    let (events, outcome) = finished(run).await;
    assert_eq!(brief(&events), ["text ok"]);
    assert!(!outcome.tool_limit_reached);
    assert_eq!(model.asked()[0].options.tool_choice, Some(ToolChoice::None));
}

#[tokio::test]
async fn what_every_request_begins_with_stays_the_same() {
    let answers = (0..4).map(nth_call).chain([last_words("ok")]);
    let model = Scripted::new(answers.collect());
    finished(asked(&model, vec![echo("echo"), echo("other")])).await;
    let requests = model.asked();
    for pair in requests.windows(2) {
        let [earlier, later] = pair else {
            unreachable!()
        };
        assert_eq!(later.messages[..earlier.messages.len()], earlier.messages);
        assert_eq!(later.options.tools, earlier.options.tools);
    }
}

#[tokio::test]
async fn a_choice_that_forces_a_call_holds_for_the_first_turn() {
    let cases = [
        (ToolChoice::Required, None),
        (ToolChoice::Named("echo".to_owned()), None),
        (ToolChoice::None, Some(ToolChoice::None)),
    ];
    for (choice, later) in cases {
        let model = Scripted::new(vec![nth_call(0), last_words("ok")]);
        let mut run = asked(&model, vec![echo("echo")]);
        run.options.tool_choice = Some(choice.clone());
        finished(run).await;
        let requests = model.asked();
        assert_eq!(requests[0].options.tool_choice, Some(choice));
        assert_eq!(requests[1].options.tool_choice, later);
    }
}

#[tokio::test]
async fn without_tools_nothing_is_said_about_tools() {
    let model = Scripted::new(vec![last_words("ok")]);
    let mut run = asked(&model, vec![]);
    run.options.tool_choice = Some(ToolChoice::Auto);
    run.options.parallel_tool_calls = Some(true);
    run.options.n = Some(3);
    finished(run).await;
    let options = &model.asked()[0].options;
    assert_eq!(*options, quillet_core::chat::ChatOptions::default());
}

#[tokio::test]
async fn a_paused_turn_goes_on() {
    let paused = says(vec![text("searching "), finish(FinishReason::Pause)]);
    let model = Scripted::new(vec![paused, last_words("found")]);
    let (_, outcome) = finished(asked(&model, vec![])).await;
    assert_eq!(outcome.text, "searching found");
    assert_eq!(
        history(&model.asked()[1].messages)[2..],
        ["assistant searching "]
    );
}

#[tokio::test]
async fn calls_of_the_client_end_the_run_after_its_own_are_made() {
    let turn = calls(&[
        ("a", "ask_user", r#"{"x":1}"#),
        ("b", "echo", r#"{"q":"x"}"#),
        ("c", "ask_user", "{}"),
    ]);
    let model = Scripted::new(vec![turn]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.client_tools = vec![client_tool("ask_user")];
    let (events, outcome) = finished(run).await;
    assert!(matches!(outcome.ending, EndReason::CallsRequired));
    assert_eq!(
        brief(&events),
        [
            "start b echo",
            "start c ask_user",
            "failed c",
            "done b",
            "required a ask_user"
        ]
    );
    let results = history(&outcome.messages);
    assert_eq!(results[..2], ["assistant calls a,b,c", "tool b [x]"]);
    assert!(
        results[2].contains(r#"tool c !The arguments do not fit"#),
        "{results:?}"
    );
    assert_eq!(results.len(), 3, "the client brings the result of a");
}

#[tokio::test]
async fn tools_that_the_provider_runs_are_offered_in_its_own_words() {
    let model = Scripted::new(vec![last_words("ok")]);
    let mut run = asked(&model, vec![echo("echo")]);
    let native = ToolOffer::Native(json!({"type": "web_search_20250305"}));
    run.client_tools = vec![native.clone(), client_tool("echo")];
    finished(run).await;
    let request = &model.asked()[0];
    assert_eq!(request.options.tools[1], native);
    assert_eq!(
        offered(request),
        ["echo"],
        "of two tools of one name the first counts"
    );
}

#[tokio::test]
async fn a_silent_exit_ends_the_run_without_another_turn() {
    let turn = says(vec![
        text("hm"),
        call(0, "a", "silent_exit", r#"{"reason":"nothing new"}"#),
        call(1, "b", "echo", r#"{"q":"x"}"#),
        finish(FinishReason::ToolCalls),
    ]);
    let model = Scripted::new(vec![turn]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.silent_exit = true;
    let (events, outcome) = finished(run).await;
    let EndReason::Silent { reason } = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!(reason, "nothing new");
    assert_eq!(
        brief(&events),
        [
            "text hm",
            "start a silent_exit",
            "done a",
            "start b echo",
            "done b"
        ]
    );
    assert_eq!(outcome.text, "hm");
    assert_every_call_has_its_result(&outcome);
}

#[tokio::test]
async fn a_silent_exit_has_to_be_allowed() {
    let model = Scripted::new(vec![calls(&[("a", "silent_exit", "{}")]), last_words("ok")]);
    let (events, _) = finished(asked(&model, vec![])).await;
    assert_eq!(brief(&events)[1], "failed a");
}

fn weather_skill() -> Skills {
    Skills {
        available: vec![Skill {
            name: "weather".to_owned(),
            description: "knows the weather".to_owned(),
            prompt: "Say it in one line.".to_owned(),
            tools: vec![echo("forecast")],
            folder: None,
        }],
        ..Skills::default()
    }
}

#[tokio::test]
async fn tools_of_a_skill_are_there_once_it_is_loaded() {
    let model = Scripted::new(vec![
        calls(&[
            ("a", "forecast", r#"{"q":"x"}"#),
            ("b", "load_skill", r#"{"skill_name":"weather"}"#),
        ]),
        calls(&[("c", "forecast", r#"{"q":"x"}"#)]),
        last_words("sun"),
    ]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.skills = weather_skill();
    let (events, outcome) = finished(run).await;
    assert_eq!(
        brief(&events),
        [
            "start a forecast",
            "failed a",
            "start b load_skill",
            "done b",
            "skill weather",
            "start c forecast",
            "done c",
            "text sun"
        ]
    );
    assert_eq!(outcome.loaded_skills, ["weather"]);
    let requests = model.asked();
    assert_eq!(offered(&requests[0]), ["echo", "load_skill"]);
    assert_eq!(offered(&requests[1]), ["echo", "load_skill", "forecast"]);
    let system = |n: usize| requests[n].messages[0].content.to_string();
    assert!(!system(0).contains("one line") && system(1).contains("one line"));
    let hint = &history(&outcome.messages)[1];
    assert!(
        hint.contains(r#"a tool of the skill "weather": load that first"#),
        "{hint}"
    );
}

#[tokio::test]
async fn a_skill_that_is_loaded_before_is_there_from_the_beginning() {
    let model = Scripted::new(vec![
        calls(&[("a", "load_skill", r#"{"skill_name":"wether"}"#)]),
        last_words("sun"),
    ]);
    let mut run = asked(&model, vec![]);
    run.skills = weather_skill();
    run.skills.loaded = vec!["weather".to_owned()];
    let (events, outcome) = finished(run).await;
    assert_eq!(
        brief(&events),
        ["start a load_skill", "failed a", "text sun"]
    );
    assert_eq!(offered(&model.asked()[0]), ["load_skill", "forecast"]);
    assert_eq!(outcome.loaded_skills, ["weather"]);
}

/// A conversation that exceeds its window and grows during the run.
#[tokio::test]
async fn a_conversation_is_cut_before_every_call_of_the_model() {
    let long = |n: usize| {
        let q = "word ".repeat(400);
        calls(&[(&format!("c{n}"), "echo", &format!(r#"{{"q":"{n} {q}"}}"#))])
    };
    let answers = (0..8).map(long).chain([last_words("ok")]);
    let model = Scripted::new(answers.collect());
    let mut run = asked(&model, vec![echo("echo")]);
    run.window.context = 6_000;
    run.window.output = 1_000;
    let (events, outcome) = finished(run).await;
    assert!(matches!(
        outcome.ending,
        EndReason::Finished(FinishReason::Stop)
    ));
    let cuts = events
        .iter()
        .filter(|event| matches!(event, AgentEvent::Compacted(_)));
    assert!(cuts.count() >= 1);
    for request in model.asked() {
        let counter = quillet_core::chat::Bytes4;
        let count = |message| quillet_core::chat::TokenCounter::count_message(&counter, message);
        let tokens: u64 = request.messages.iter().map(count).sum();
        assert!(tokens <= 5_000, "{tokens}");
        assert!(
            request
                .messages
                .iter()
                .any(|message| message.content == "hi")
        );
    }
    // The outcome has the original messages: only requests are compacted.
    assert_eq!(outcome.messages.len(), 17);
    assert!(outcome.messages[1].content.to_string().len() > 2_000);
}

fn long_history() -> Vec<Message> {
    let turn = |n: usize| {
        let role = [Role::User, Role::Assistant][n % 2];
        Message::new(role, format!("{n} {}", "word ".repeat(100)))
    };
    (0..40).map(turn).collect()
}

#[tokio::test]
async fn what_the_provider_finds_too_long_is_cut_by_a_quarter_and_sent_again() {
    let refuse = || Answer::Refuse(model_error(ModelErrorKind::ContextLength));
    let model = Scripted::new(vec![refuse(), refuse(), last_words("ok")]);
    let mut run = asked(&model, vec![]);
    run.history = long_history();
    let (events, outcome) = finished(run).await;
    assert_eq!(brief(&events), ["compacted", "compacted", "text ok"]);
    assert_eq!(outcome.model_calls, 3);
    let sizes: Vec<usize> = model.asked().iter().map(|r| r.messages.len()).collect();
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
}

#[tokio::test]
async fn after_three_quarters_the_run_ends_with_the_sizes() {
    let refuse = || Answer::Refuse(model_error(ModelErrorKind::ContextLength));
    let model = Scripted::new((0..4).map(|_| refuse()).collect());
    let mut run = asked(&model, vec![]);
    run.history = long_history();
    let (_, outcome) = finished(run).await;
    let EndReason::Failed(error) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!(error.code(), "context_length");
    assert!(
        error.to_string().contains("shortened by a quarter 3 times"),
        "{error}"
    );
    assert_eq!(outcome.model_calls, 4);
}

#[tokio::test]
async fn where_nothing_is_to_be_cut_the_providers_word_is_final() {
    let model = Scripted::new(vec![Answer::Refuse(model_error(
        ModelErrorKind::ContextLength,
    ))]);
    let mut run = asked(&model, vec![]);
    run.limits.compaction = false;
    let (_, outcome) = finished(run).await;
    assert!(
        matches!(&outcome.ending, EndReason::Failed(error) if error.code() == "context_length")
    );
    assert_eq!(outcome.model_calls, 1);
}

#[tokio::test]
async fn a_turn_goes_back_in_its_providers_own_words() {
    let native = quillet_core::NativeTurn {
        wire: "anthropic".to_owned(),
        model: None,
        content: json!([{"type": "thinking", "signature": "s"}]),
    };
    let turn = says(vec![
        call(0, "a", "echo", r#"{"q":"x"}"#),
        quillet_core::chat::ChatEvent::Native {
            choice: 0,
            turn: native.clone(),
        },
        finish(FinishReason::ToolCalls),
    ]);
    let model = Scripted::new(vec![turn, last_words("ok")]);
    let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
    assert_eq!(outcome.messages[0].native.as_ref(), Some(&native));
    assert_eq!(model.asked()[1].messages[2].native.as_ref(), Some(&native));
}
