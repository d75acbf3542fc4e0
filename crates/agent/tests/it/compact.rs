//! Compaction: order of the cuts, and properties of every result.

use std::sync::Arc;

use proptest::prelude::*;
use quillet_agent::compact::{self, Conversation};
use quillet_agent::{AgentError, CompactionReport, RunLimits, Window};
use quillet_core::chat::Bytes4;
use quillet_core::{Message, Role, ToolCall};

/// The window of gpt-4: 8,192 tokens, of which 4,096 are reserved for output. Of the other 4,096
/// tokens, compaction is triggered at 90 % (3,686) and cuts to 70 % (2,867).
pub(crate) const GPT_4: Window = Window {
    context: 8192,
    output: 4096,
    known: true,
};

pub(crate) fn conversation(history: Vec<Message>, input: Vec<Message>) -> Conversation {
    Conversation::new(Arc::new(Bytes4), "Be brief.".to_owned(), history, input)
}

pub(crate) fn fit(conversation: &mut Conversation) -> Result<Option<CompactionReport>, AgentError> {
    compact::compact_to_target(conversation, GPT_4, &RunLimits::default())
}

pub(crate) fn words(count: usize) -> String {
    (0..count).map(|n| format!("word{n} ")).collect()
}

pub(crate) fn user(text: &str) -> Message {
    Message::new(Role::User, text)
}

pub(crate) fn says(text: &str) -> Message {
    Message::new(Role::Assistant, text)
}

pub(crate) fn calls(ids: &[&str]) -> Message {
    let mut message = says("");
    message.tool_calls = ids
        .iter()
        .map(|id| ToolCall {
            id: (*id).to_owned(),
            name: "search".to_owned(),
            arguments: "{}".to_owned(),
        })
        .collect();
    message
}

/// Asserts the rules that every provider has for a conversation.
pub(crate) fn assert_valid(messages: &[Message]) {
    let mut waiting: Vec<&str> = Vec::new();
    let mut spoken = messages.iter().filter(|m| m.role != Role::System);
    assert!(
        spoken.next().is_none_or(|m| m.role == Role::User),
        "starts with a user"
    );
    for message in messages {
        if message.role == Role::Tool {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let place = waiting.iter().position(|open| *open == id);
            waiting.remove(place.expect("every result has its call"));
            continue;
        }
        assert!(waiting.is_empty(), "every call has its result: {waiting:?}");
        waiting = message.tool_calls.iter().map(|c| c.id.as_str()).collect();
    }
    assert!(waiting.is_empty(), "every call has its result: {waiting:?}");
}

fn assert_near(report: &CompactionReport) {
    assert!(report.tokens_after <= report.target, "{report:?}");
    assert!(
        report.tokens_after * 100 >= report.target * 85,
        "{report:?}"
    );
}

#[test]
fn a_conversation_below_the_trigger_is_left_alone() {
    let mut short = conversation(vec![user("a"), says("b")], vec![user("c")]);
    let before = short.messages();
    assert_eq!(fit(&mut short).unwrap(), None);
    assert_eq!(short.messages(), before);
}

#[test]
fn forty_turns_lose_their_middle() {
    let mut history = Vec::new();
    for _ in 0..40 {
        history.push(user(&words(60)));
        history.push(says(&words(60)));
    }
    let mut long = conversation(history.clone(), vec![user("And now?")]);
    let report = fit(&mut long).unwrap().unwrap();
    assert_near(&report);
    assert_eq!(report.strategies, ["middle"]);
    let messages = long.messages();
    assert_valid(&messages);
    assert_eq!(messages[1..3], history[..2]);
    assert_eq!(messages.last(), Some(&user("And now?")));
}

#[test]
fn twenty_rounds_keep_their_pairs_whole() {
    let mut long = conversation(Vec::new(), vec![user("Look it up.")]);
    for round in 0..20 {
        let id = format!("call_{round}");
        long.push(calls(&[&id]));
        long.push(Message::tool(&id, words(150)));
    }
    let report = fit(&mut long).unwrap().unwrap();
    assert_near(&report);
    assert_valid(&long.messages());
    assert_eq!(long.messages()[1].role, Role::User);
}

#[test]
fn a_long_attachment_is_not_cut_to_nothing() {
    let text = format!(
        "What is in it?\n<attachment>[Attachment 1 - a.txt]\n{}</attachment>",
        words(9000)
    );
    let mut long = conversation(Vec::new(), vec![user(&text)]);
    let report = fit(&mut long).unwrap().unwrap();
    assert_near(&report);
    assert!(
        long.messages()[1]
            .content
            .to_string()
            .starts_with("What is in it?\n<attachment>")
    );
}

#[test]
fn a_long_question_is_cut_to_the_target_and_not_below() {
    let mut long = conversation(vec![user("a"), says("b")], vec![user(&words(9000))]);
    let report = fit(&mut long).unwrap().unwrap();
    assert_near(&report);
    assert_valid(&long.messages());
}

/// A turn of a random conversation.
#[derive(Clone, Debug)]
enum Step {
    User(usize),
    Assistant(usize),
    /// Length of the text and of each result; `None` for a missing result.
    Calls(usize, Vec<Option<usize>>),
    /// A result without a call.
    Orphan(usize),
    System(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![6 => 0..80usize, 2 => 0..900usize, 1 => 0..6000usize];
    prop_oneof![
        4 => size.clone().prop_map(Step::User),
        4 => size.clone().prop_map(Step::Assistant),
        3 => (0..60usize, prop::collection::vec(prop::option::weighted(0.9, size.clone()), 1..4))
            .prop_map(|(text, results)| Step::Calls(text, results)),
        1 => size.prop_map(Step::Orphan),
        1 => (0..10usize).prop_map(Step::System),
    ]
}

fn history(steps: &[Step]) -> Vec<Message> {
    let mut messages = vec![user("Hello")];
    for (number, step) in steps.iter().enumerate() {
        match step {
            Step::User(size) => messages.push(user(&words(*size))),
            Step::Assistant(size) => messages.push(says(&words(*size))),
            Step::System(size) => messages.push(Message::new(Role::System, words(*size))),
            Step::Orphan(size) => messages.push(Message::tool("nobody", words(*size))),
            Step::Calls(text, results) => {
                let id = |result| format!("call_{number}_{result}");
                let ids: Vec<String> = (0..results.len()).map(id).collect();
                let mut turn = calls(&ids.iter().map(String::as_str).collect::<Vec<_>>());
                turn.content = words(*text).into();
                messages.push(turn);
                for (id, size) in ids.iter().zip(results) {
                    messages.extend(size.map(|size| Message::tool(id, words(size))));
                }
            }
        }
    }
    messages
}

fn whole_rounds(steps: Vec<Step>) -> Vec<Step> {
    let whole = |step| match step {
        Step::Calls(text, results) => {
            let results = results.into_iter().map(|size| Some(size.unwrap_or(5)));
            Some(Step::Calls(text, results.collect()))
        }
        Step::Assistant(size) => Some(Step::Assistant(size)),
        _ => None,
    };
    steps.into_iter().filter_map(whole).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn whatever_was_said_the_result_is_valid_and_fits(
        before in prop::collection::vec(step(), 0..60),
        since in prop::collection::vec(step(), 0..30),
        known in any::<bool>(),
        context in 8_000..30_000u64,
    ) {
        let window = Window { context, output: 1_000, known };
        let question = user("What does all of that mean?");
        let mut talk = conversation(history(&before), vec![question.clone()]);
        // A running agent only adds turns of the model and one result per call.
        for message in history(&whole_rounds(since)).into_iter().skip(1) {
            talk.push(message);
        }
        let whole = talk.messages();
        let report = compact::compact_to_target(&mut talk, window, &RunLimits::default()).unwrap();
        let messages = talk.messages();
        assert_valid(&messages);
        prop_assert!(messages.iter().any(|m| *m == question || m.content.to_string().contains("What does all of that mean?")));
        prop_assert!(talk.tokens() <= compact::available(window));
        let counted: u64 = messages.iter().map(|m| quillet_core::chat::TokenCounter::count_message(&Bytes4, m)).sum();
        prop_assert!(counted <= talk.tokens() + 8, "{counted} {}", talk.tokens());
        match report {
            None => prop_assert_eq!(&messages, &whole),
            Some(report) => {
                prop_assert!(report.tokens_after <= report.target, "{:?}", report); prop_assert!(report.tokens_after*100 >= report.target*85, "{:?} {:?}", report, messages.iter().map(|m| (m.role.as_str(), m.content.to_string().len(), m.tool_calls.len())).collect::<Vec<_>>());
                prop_assert!(report.tokens_after < report.tokens_before);
                prop_assert_eq!(report.tokens_after, talk.tokens());
            }
        }
        let again = compact::compact_to_target(&mut talk, window, &RunLimits::default()).unwrap();
        prop_assert_eq!(again, None);
        prop_assert_eq!(talk.messages(), messages);
    }
}
