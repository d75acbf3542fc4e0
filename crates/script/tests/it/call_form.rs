//! Constraints on answers: choices, schemas, formats, thinking.

use quillet_core::{Message, Role, json};
use quillet_script::answer::ChoiceConstraint;
use quillet_script::call::{CallError, Constraint, ModelAnswer, ModelCall, NoCallObserver, ask};
use quillet_script::host::ModelCapabilities;
use quillet_script::run::EnforcedBy;
use quillet_script::{ErrorKind, call};

use crate::call::{Watcher, asking, parameters};
use crate::call_models::{Rule, Scripted};

const SCHEMA: ModelCapabilities = ModelCapabilities {
    tools: false,
    json_schema: true,
    json_object: true,
    logit_bias: false,
    continues: false,
};

fn fruits() -> ChoiceConstraint {
    ChoiceConstraint::one_of(["苹果", "香蕉", "橙子"].map(str::to_owned).to_vec())
}

async fn choose(
    reply: &[(&str, &str)],
    abilities: ModelCapabilities,
) -> (Result<ModelAnswer, CallError>, usize) {
    let model = Scripted::new(reply.iter().map(|(pattern, text)| Rule::say(pattern, text)));
    let mut asked = asking(&model, "选一个水果", "{}");
    asked.model.abilities = abilities;
    asked.constraint = Some(Constraint::Choice(fruits()));
    let answer = ask(asked, &NoCallObserver).await;
    (answer, model.asked().len())
}

#[tokio::test]
async fn a_choice_is_kept_by_whoever_can() {
    let provider = (SCHEMA, EnforcedBy::Provider, r#"{"answer": "香蕉"}"#);
    let words = (ModelCapabilities::default(), EnforcedBy::Check, " 香蕉。");
    for (abilities, by, reply) in [provider, words] {
        let (answer, requests) = choose(&[("水果", reply)], abilities).await;
        let answer = answer.unwrap();
        assert_eq!((answer.content.as_str(), requests), ("香蕉", 1));
        let enforced = answer.enforced.unwrap();
        assert_eq!(
            (enforced.by, enforced.repairs, enforced.kept),
            (by, 0, true)
        );
        assert_eq!(enforced.constraint, "choice");
    }
}

#[tokio::test]
async fn a_wrong_choice_is_asked_for_twice_more() {
    let late = [("西瓜.*桃", "橙子"), ("梨.*user", "西瓜 桃"), (".", "梨")];
    let (answer, requests) = choose(&late, ModelCapabilities::default()).await;
    let answer = answer.unwrap();
    assert_eq!((answer.content.as_str(), requests), ("橙子", 3));
    assert_eq!(answer.enforced.unwrap().repairs, 2);
    let (answer, requests) = choose(&[(".", "梨")], ModelCapabilities::default()).await;
    let error = answer.unwrap_err();
    assert_eq!((error.kind, requests), (ErrorKind::Output, 3));
    assert_eq!(error.partial.as_deref(), Some("梨"));
}

#[tokio::test]
async fn a_random_choice_asks_nobody() {
    let model = Scripted::new([]);
    let mut asked = asking(&model, "x", "{}");
    asked.constraint = Some(Constraint::Choice(ChoiceConstraint {
        random: true,
        ..fruits()
    }));
    let answer = ask(asked, &NoCallObserver).await.unwrap();
    assert!(fruits().options.contains(&answer.content));
    assert!(model.asked().is_empty());
}

/// Calls the scripted model with these settings, output and rules. Returns the value or the error,
/// and the number of requests.
async fn form(
    settings: &str,
    output: &str,
    rules: &[(&str, &str)],
    abilities: ModelCapabilities,
) -> (String, std::sync::Arc<Scripted>) {
    let model = Scripted::new(rules.iter().map(|(pattern, text)| Rule::say(pattern, text)));
    let mut asked = asking(&model, "give", settings);
    asked.model.abilities = abilities;
    let output = (!output.is_empty()).then(|| json::parse(output).unwrap());
    asked.constraint = asked.settings.constraint(output.as_ref());
    let said = match ask(asked, &NoCallObserver).await {
        Ok(answer) => match answer.value {
            Some(value) => json::to_string(&value),
            None => format!("text {}", answer.content),
        },
        Err(error) => format!("! {error}"),
    };
    (said, model)
}

const AA: &str =
    r#"{"type": "object", "properties": {"aa": {"type": "number"}, "bb": {"type": "string"}}}"#;
const BOTH: &str = r#"{"type": "object", "properties": {"aa": {"type": "int"}, "bb": {}}, "required": ["aa", "bb"]}"#;

#[tokio::test]
async fn answers_are_read_in_the_form_that_is_asked_for() {
    let none = ModelCapabilities::default();
    let format = |name: &str| format!(r#"{{"response_format": {{"type": "{name}"}}}}"#);
    let strict = r#"{"response_format": {"type": "json"}, "strictOutput": true}"#;
    for (settings, output, rules, expected, requests) in [
        (
            format("json"),
            AA,
            &[("give", r#"{"aa":1,"bb":"x"}"#)][..],
            r#"{"aa":1,"bb":"x"}"#,
            1,
        ),
        (
            format("json"),
            AA,
            &[("give", "```json\n{\"aa\":1}\n```")],
            r#"{"aa":1}"#,
            1,
        ),
        (
            format("json"),
            r#"{"type": "number"}"#,
            &[("give", "8")],
            "8",
            1,
        ),
        (
            format("yaml"),
            AA,
            &[("give", "aa: 1\nbb: two")],
            r#"{"aa":1,"bb":"two"}"#,
            1,
        ),
        (
            format("nobj"),
            AA,
            &[("give", "aa is 1\nbb is two")],
            r#"{"aa":1,"bb":"two"}"#,
            1,
        ),
        // Repaired.
        (
            format("json"),
            AA,
            &[("cannot be used", r#"{"aa":2}"#), ("give", "not json")],
            r#"{"aa":2}"#,
            2,
        ),
        (
            format("json"),
            BOTH,
            &[
                ("is a required property", r#"{"aa":2,"bb":1}"#),
                ("give", r#"{"aa":1}"#),
            ],
            r#"{"aa":2,"bb":1}"#,
            2,
        ),
        // The answer is not repaired: it is returned as text or is an error.
        (
            format("json"),
            BOTH,
            &[("give", r#"{"aa":1}"#)],
            r#"{"aa":1}"#,
            2,
        ),
        (
            strict.to_owned(),
            BOTH,
            &[("give", r#"{"aa":1}"#)],
            "! the answer does not match output: \"bb\" is a required property",
            2,
        ),
        (
            format("json"),
            AA,
            &[("give", "not json")],
            "! the answer does not have the requested form: invalid JSON: expected ident at line 1 column 2 of the answer",
            2,
        ),
        (
            r#"{"response_format": "json", "forceJson": false}"#.to_owned(),
            AA,
            &[("give", "not json")],
            "text not json",
            1,
        ),
        (
            r#"{"forceJson": true}"#.to_owned(),
            "",
            &[("give", "[1]")],
            "[1]",
            1,
        ),
        (format("json"), "", &[("give", "[1]")], "[1]", 1),
        (format("json"), "", &[("give", "words")], "text words", 1),
        ("{}".to_owned(), AA, &[("give", "words")], "text words", 1),
    ] {
        let (said, model) = form(&settings, output, rules, none).await;
        assert_eq!(said, expected, "{settings} {output} {rules:?}");
        assert_eq!(
            model.asked().len(),
            requests,
            "{settings} {output} {rules:?}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_keeps_to_schemas_is_given_one() {
    let json = r#"{"response_format": {"type": "json"}}"#;
    let rules = [("give", r#"{"answer": 8}"#)];
    let (said, model) = form(json, r#"{"type": "int"}"#, &rules, SCHEMA).await;
    assert_eq!(said, "8");
    let sent = model.asked()[0].options.clone();
    let schema = sent.json_schema().unwrap();
    assert_eq!(schema.schema["properties"]["answer"]["type"], "integer");
    assert_eq!(schema.strict, Some(true));

    let object_only = ModelCapabilities {
        json_schema: false,
        ..SCHEMA
    };
    let (_, model) = form(json, AA, &[("give", r#"{"aa": 1}"#)], object_only).await;
    let sent = model.asked()[0].options.response_format.clone().unwrap();
    assert_eq!(sent["type"], "json_object");
    assert!(model.text_of(0).contains("JSON") && model.text_of(0).contains("\"aa\""));
}

#[tokio::test]
async fn what_stands_around_an_answer_is_read_with_it_unless_told_otherwise() {
    for (scope, expected) in [("message", r#"{"aa":1}"#), ("response", "! the answer")] {
        let model = Scripted::new([Rule::say(".", "\"aa\": 1")]);
        let settings =
            format!(r#"{{"response_format": {{"type": "json", "conversionScope": "{scope}"}}}}"#);
        let mut asked = asking(&model, "give", &settings);
        asked.messages.push(Message::new(Role::Assistant, "{"));
        asked.suffix = "}".to_owned();
        let output = json::parse(AA).unwrap();
        asked.constraint = asked.settings.constraint(Some(&output));
        let said = match ask(asked, &NoCallObserver).await {
            Ok(answer) => json::to_string(&answer.value.unwrap()),
            Err(error) => format!("! {error}"),
        };
        assert!(said.starts_with(expected), "{said}");
    }
}

#[tokio::test]
async fn a_value_that_the_limit_cut_says_what_to_raise() {
    let model = Scripted::new([Rule::end(
        ".",
        "{\"aa\": ",
        quillet_core::chat::FinishReason::Length,
    )]);
    let mut asked = asking(&model, "give", r#"{"response_format": {"type": "json"}}"#);
    asked.constraint = asked.settings.constraint(Some(&json::parse(AA).unwrap()));
    let error = ask(asked, &NoCallObserver).await.unwrap_err();
    assert!(error.to_string().contains("max_tokens"), "{error}");
    assert_eq!(model.asked().len(), 1);
}

#[tokio::test]
async fn a_schema_that_is_none_is_the_scripts_error() {
    let (said, model) = form(
        r#"{"response_format": "json"}"#,
        r#"{"type": "strng"}"#,
        &[],
        ModelCapabilities::default(),
    )
    .await;
    assert!(
        said.starts_with("! invalid output schema: unknown type \"strng\""),
        "{said}"
    );
    assert!(model.asked().is_empty());
}

async fn thought(
    settings: &str,
    reply: &str,
) -> (ModelAnswer, Vec<String>, std::sync::Arc<Scripted>) {
    let model = Scripted::new([Rule::say(".", reply)]);
    let watcher = Watcher::default();
    let answer = ask(asking(&model, "q1", settings), &watcher).await.unwrap();
    (answer, watcher.0.into_inner().unwrap(), model)
}

#[tokio::test]
async fn a_model_is_told_to_think_and_its_answer_is_shown_alone() {
    let settings = r#"{"shouldThink": {"mode": "deep", "thinkTag": ["<think>", "</think>"]}}"#;
    let reply = "<think>ponder hard</think>The answer is 4";
    let (answer, told, model) = thought(settings, reply).await;
    assert_eq!(answer.content, "The answer is 4");
    assert_eq!(answer.thinking.as_deref(), Some("ponder hard"));
    assert_eq!(answer.original, reply);
    assert!(model.text_of(0).contains("<think>"));
    let shown = |prefix: &str| -> String {
        told.iter()
            .filter_map(|line| line.strip_prefix(prefix))
            .collect()
    };
    assert_eq!(
        (shown("think:"), shown("0:")),
        ("ponder hard".into(), "The answer is 4".into())
    );

    let hidden = r#"{"shouldThink": {"mode": "first", "visible": false}}"#;
    let (answer, told, _) = thought(hidden, "Think: no\nAnswer: 4").await;
    assert_eq!(
        (answer.content.as_str(), answer.thinking.as_deref()),
        ("4", Some("no"))
    );
    assert!(
        told.iter().all(|line| !line.starts_with("think:")),
        "{told:?}"
    );
}

#[tokio::test]
async fn depth_lets_a_model_look_again() {
    let settings = r#"{"shouldThink": {"mode": "last", "depth": 3, "steps": 2}}"#;
    let (answer, told, model) = thought(settings, "4\nThink: sums").await;
    assert_eq!(answer.content, "4");
    assert_eq!(answer.thinking.as_deref(), Some("sums\n\nsums\n\nsums"));
    assert_eq!(model.asked().len(), 3);
    assert_eq!(
        told.iter().filter(|line| line.starts_with("Again")).count(),
        2
    );
    assert!(model.text_of(0).contains("at most 2 numbered steps"));
}

#[tokio::test]
async fn an_answer_that_goes_round_in_circles_is_ended_where_it_streams() {
    let reply = format!("Well, {}", "and so on ".repeat(200));
    for (settings, warned) in [
        ("{}", true),
        (r#"{"minTailRepeatCount": 0}"#, false),
        (r#"{"stream": false}"#, false),
    ] {
        let (answer, _, _) = thought(settings, &reply).await;
        assert_eq!(answer.warnings.len(), usize::from(warned), "{settings}");
        assert_eq!(answer.content.len() < reply.len(), warned, "{settings}");
    }
}

#[tokio::test]
async fn a_dry_call_tells_its_request_and_asks_nobody() {
    let model = Scripted::new([]);
    let watcher = Watcher::default();
    let asked = ModelCall {
        dry: true,
        ..asking(&model, "x", "{}")
    };
    let answer = ask(asked, &watcher).await.unwrap();
    assert_eq!(answer, ModelAnswer::default());
    assert_eq!(watcher.0.into_inner().unwrap(), ["request"]);
    assert!(model.asked().is_empty());
}

#[test]
fn settings_that_stand_outside_of_parameters_are_read_like_the_others() {
    for name in call::OUTSIDE_PARAMETERS {
        let text = format!(r#"{{"{name}": 7}}"#);
        let (read, warnings) = call::CallSettings::read(&parameters(&text));
        let changed = read != call::CallSettings::default();
        assert!(changed || !warnings.is_empty(), "{name} is not read");
    }
}

/// A truncated answer may still be valid: a number without its last digits, an option that is the
/// prefix of another, or an object before trailing text.
#[tokio::test]
async fn what_did_not_end_by_itself_is_read_as_no_value() {
    use quillet_core::chat::FinishReason::{ContentFilter, Error, Length, Pause, Refusal, Stop};
    let schema = |text: &str| json::parse(text).unwrap();
    let number = schema(r#"{"type": "number"}"#);
    let list = schema(r#"{"type": "array", "items": {"type": "string"}}"#);
    let object = schema(AA);
    for (settings, output, text) in [
        (
            r#"{"response_format": {"type": "json"}}"#,
            Some(&number),
            "12",
        ),
        (
            r#"{"response_format": {"type": "json"}}"#,
            Some(&object),
            r#"{"aa": 1}"#,
        ),
        (r#"{"response_format": {"type": "json"}}"#, None, "12"),
        (
            r#"{"response_format": {"type": "yaml"}}"#,
            Some(&list),
            "- one\n- tw",
        ),
        (
            r#"{"response_format": {"type": "yaml"}}"#,
            Some(&object),
            "aa: 1\nbb: tw",
        ),
    ] {
        for reason in [Stop, Length, ContentFilter, Refusal, Pause, Error] {
            let model = Scripted::new([Rule::end(".", text, reason)]);
            let mut asked = asking(&model, "give", settings);
            asked.constraint = asked.settings.constraint(output);
            let value = ask(asked, &NoCallObserver)
                .await
                .ok()
                .and_then(|answer| answer.value);
            assert_eq!(
                value.is_some(),
                reason == Stop,
                "{settings} {text} {reason}"
            );
        }
    }
    let options = ["North", "North-East"].map(str::to_owned).to_vec();
    for reason in [Stop, Length] {
        let model = Scripted::new([Rule::end(".", "North", reason)]);
        let mut asked = asking(&model, "where", "{}");
        asked.constraint = Some(Constraint::Choice(ChoiceConstraint::one_of(
            options.clone(),
        )));
        let answer = ask(asked, &NoCallObserver).await;
        assert_eq!(answer.is_ok(), reason == Stop, "{answer:?}");
    }
}

#[tokio::test]
async fn a_text_that_was_cut_is_kept_and_said_to_be() {
    let model = Scripted::new([Rule::end(
        ".",
        "Once upon a",
        quillet_core::chat::FinishReason::Length,
    )]);
    let answer = ask(asking(&model, "tell", "{}"), &NoCallObserver)
        .await
        .unwrap();
    assert_eq!(answer.content, "Once upon a");
    assert!(
        answer
            .warnings
            .iter()
            .any(|warning| warning.contains("max_tokens")),
        "{answer:?}"
    );
}
