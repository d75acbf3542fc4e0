//! Compares the result of a case with the expectation.

use serde_json::{Map as Object, Value as Json, json};

use quillet_core::Message;
use quillet_core::chat::ChatRequest;
use quillet_script::run::ScriptOutcome;
use quillet_script::{ScriptError, run::DialogueTurn};

use super::case::{CallCase, Case, TurnCase};
use super::model::{content_of, joined};

/// Result of a case.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) outcome: Result<ScriptOutcome, ScriptError>,
    pub(super) requests: Vec<ChatRequest>,
    pub(super) printed: Vec<String>,
    pub(super) tool_calls: Vec<CallCase>,
    pub(super) thinking: String,
    pub(super) said: Vec<(String, String)>,
    pub(super) rendered: usize,
}

/// Returns all differences, one sentence each; empty if the case passed.
pub(super) fn differences(case: &Case, ran: &Ran) -> Vec<String> {
    let mut found = Vec::new();
    match &ran.outcome {
        Ok(outcome) => returned(case, outcome, &mut found),
        Err(error) => failed(case, error, &mut found),
    }
    printed(case, ran, &mut found);
    requests(case, ran, &mut found);
    options(case, ran, &mut found);
    watched(case, ran, &mut found);
    found
}

/// Checks the events of a run.
fn watched(case: &Case, ran: &Ran, found: &mut Vec<String>) {
    let calls = &case.expect.tool_calls;
    if let Some(calls) = calls.as_ref().filter(|calls| **calls != ran.tool_calls) {
        found.push(format!(
            "tools called: {:?}, expected {calls:?}",
            ran.tool_calls
        ));
    }
    let thinking = case.expect.thinking.as_ref();
    if let Some(thinking) = thinking.filter(|thinking| **thinking != ran.thinking) {
        found.push(format!(
            "thinking: {:?}, expected {thinking:?}",
            ran.thinking
        ));
    }
    if let Some(said) = &case.expect.said {
        let wanted = said
            .iter()
            .map(|turn| (turn.role.clone(), turn.content.clone()));
        if !wanted.eq(ran.said.iter().cloned()) {
            found.push(format!("messages seen: {:?}, expected {said:?}", ran.said));
        }
    }
    let rendered = case
        .expect
        .rendered
        .filter(|wanted| *wanted != ran.rendered);
    if let Some(wanted) = rendered {
        found.push(format!(
            "{} requests rendered, expected {wanted}",
            ran.rendered
        ));
    }
}

/// Checks the result of a successful run.
fn returned(case: &Case, outcome: &ScriptOutcome, found: &mut Vec<String>) {
    let expect = &case.expect;
    let value = outcome.value.as_ref().map(to_json);
    let shown = value
        .as_ref()
        .map_or("undefined".to_owned(), Json::to_string);
    if expect.error || expect.error_code.is_some() || !expect.error_contains.is_empty() {
        found.push(format!("an error is expected, the result is {shown}"));
        return;
    }
    if let Some(result) = expect
        .result
        .as_ref()
        .filter(|wanted| !is(wanted, value.as_ref()))
    {
        found.push(format!("the result is {shown}, expected {result}"));
    }
    if !expect.result_in.is_empty() && !expect.result_in.iter().any(|one| is(one, value.as_ref())) {
        found.push(format!(
            "the result {shown} is none of {:?}",
            expect.result_in
        ));
    }
    let text = value.as_ref().map(text_of).unwrap_or_default();
    contains(
        "the result",
        &text,
        &expect.result_contains,
        &expect.result_excludes,
        found,
    );
    let warnings: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    contains(
        "the warnings",
        &warnings.join("\n"),
        &expect.warnings_contains,
        &[],
        found,
    );
    if let Some(count) = expect
        .warning_count
        .filter(|count| *count != warnings.len())
    {
        found.push(format!("{count} warnings are expected: {warnings:#?}"));
    }
    dialogue(case, outcome, found);
    if let Some(hidden) = &expect.hidden {
        let actual = to_json(&outcome.hidden.clone().into());
        if !same(&Json::Object(hidden.clone()), &actual) {
            found.push(format!(
                "hidden fields: {actual}, expected {}",
                json!(hidden)
            ));
        }
    }
    if let Some(enforced) = &expect.enforced {
        let actual: Vec<Json> = outcome
            .enforced
            .iter()
            .map(|enforced| json!(enforced))
            .collect();
        let fits = |(wanted, actual)| holds(wanted, actual);
        if enforced.len() != actual.len() || !enforced.iter().zip(&actual).all(fits) {
            found.push(format!(
                "constraints: {}, expected {}",
                json!(actual),
                json!(enforced)
            ));
        }
    }
}

/// Checks the messages at the end of a run.
fn dialogue(case: &Case, outcome: &ScriptOutcome, found: &mut Vec<String>) {
    let expect = &case.expect;
    if let Some(prefix) = expect.prefix.filter(|prefix| *prefix != outcome.prefix) {
        let actual = outcome.prefix;
        found.push(format!(
            "the hidden beginning has {actual} messages, expected {prefix}"
        ));
    }
    let Some(messages) = &expect.messages else {
        return;
    };
    let is_turn = |wanted: &TurnCase, turn: &DialogueTurn| {
        wanted.role == turn.role
            && wanted.content == turn.content
            && (wanted.name.is_none() || wanted.name == turn.name)
            && wanted.to.as_ref().is_none_or(|to| *to == turn.to)
            && (wanted.thinking.is_none() || wanted.thinking == turn.thinking)
    };
    let pairs = messages.iter().zip(&outcome.messages);
    if messages.len() != outcome.messages.len() || !pairs.into_iter().all(|(a, b)| is_turn(a, b)) {
        found.push(format!(
            "messages: {:#?}, expected {messages:#?}",
            outcome.messages
        ));
    }
}

/// Checks the error of a failed run.
fn failed(case: &Case, error: &ScriptError, found: &mut Vec<String>) {
    let expect = &case.expect;
    let all: Vec<String> = error.diagnostics.iter().map(ToString::to_string).collect();
    let shown = all.join("\n");
    let code = error.kind.code().as_str();
    let wanted = expect.error || expect.error_code.is_some() || !expect.error_contains.is_empty();
    if !wanted {
        found.push(format!("it failed with {code}: {shown}"));
    }
    if let Some(wanted) = expect.error_code.as_ref().filter(|wanted| *wanted != code) {
        found.push(format!("the failure is {code}, expected {wanted}: {shown}"));
    }
    contains("the failure", &shown, &expect.error_contains, &[], found);
    let partial = error.partial.as_ref().map(|value| text_of(&to_json(value)));
    let partial = partial.unwrap_or_default();
    if let Some(wanted) = expect
        .partial_contains
        .as_ref()
        .filter(|text| !partial.contains(*text))
    {
        found.push(format!(
            "what was there until then: {partial:?}, expected {wanted:?}"
        ));
    }
}

fn printed(case: &Case, ran: &Ran, found: &mut Vec<String>) {
    let expect = &case.expect;
    let all = ran.printed.join("\n");
    contains(
        "standard output",
        &all,
        &expect.stdout_contains,
        &expect.stdout_excludes,
        found,
    );
    let lines = expect.stdout.as_ref();
    if let Some(lines) = lines.filter(|lines| **lines != ran.printed) {
        found.push(format!("printed {:?}, expected {lines:?}", ran.printed));
    }
}

/// Checks the requests.
fn requests(case: &Case, ran: &Ran, found: &mut Vec<String>) {
    let expect = &case.expect;
    let count = ran.requests.len();
    if let Some(wanted) = expect.request_count.filter(|wanted| *wanted != count) {
        found.push(format!(
            "{count} requests, expected {wanted}{}",
            all_of(ran)
        ));
    }
    for (index, wanted) in expect.requests.iter().enumerate() {
        let wanted = merged(
            wanted
                .iter()
                .map(|turn| (turn.role.clone(), turn.content.clone())),
        );
        let Some(request) = ran.requests.get(index) else {
            found.push(format!("there is no request {index}"));
            continue;
        };
        let actual = merged(request.messages.iter().map(turn_of));
        if wanted != actual {
            found.push(format!(
                "request {index}: {actual:#?}, expected {wanted:#?}"
            ));
        }
    }
    let none = Vec::new();
    let indexes = expect
        .request_contains
        .keys()
        .chain(expect.request_excludes.keys());
    for index in std::collections::BTreeSet::from_iter(indexes) {
        let Some(request) = ran.requests.get(*index) else {
            found.push(format!("there is no request {index}"));
            continue;
        };
        let contained = expect.request_contains.get(index).unwrap_or(&none);
        let excluded = expect.request_excludes.get(index).unwrap_or(&none);
        let what = format!("request {index}");
        contains(
            &what,
            &joined(&request.messages),
            contained,
            excluded,
            found,
        );
    }
}

fn all_of(ran: &Ran) -> String {
    let one = |request: &ChatRequest| format!("\n---\n{}", joined(&request.messages));
    ran.requests.iter().map(one).collect()
}

fn turn_of(message: &Message) -> (String, String) {
    (message.role.as_str().to_owned(), content_of(message))
}

/// Merges consecutive messages of the same role, separated by a blank line.
fn merged(turns: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut merged: Vec<(String, String)> = Vec::new();
    for (role, content) in turns {
        match merged.last_mut().filter(|last| last.0 == role) {
            Some((_, before)) => {
                before.push_str("\n\n");
                before.push_str(&content);
            }
            None => merged.push((role, content)),
        }
    }
    merged
}

/// Checks the options of the requests.
fn options(case: &Case, ran: &Ran, found: &mut Vec<String>) {
    let expect = &case.expect;
    let of = |index: &usize| ran.requests.get(*index).map(written).unwrap_or_default();
    for (index, wanted) in &expect.request_options {
        let options = of(index);
        for (name, wanted) in wanted {
            let actual = options.get(name).unwrap_or(&Json::Null);
            if !holds(wanted, actual) {
                found.push(format!(
                    "request {index}: {name} is {actual}, expected {wanted}"
                ));
            }
        }
    }
    for (index, names) in &expect.request_without {
        let options = of(index);
        let there = names.iter().filter(|name| options.contains_key(*name));
        found.extend(there.map(|name| format!("request {index} has {name}: {}", options[name])));
    }
    for (index, wanted) in &expect.request_tools {
        tools(*index, wanted, of(index).get("tools"), found);
    }
    for (index, wanted) in &expect.request_names {
        let messages = ran
            .requests
            .get(*index)
            .map(|request| request.messages.as_slice());
        let names = messages
            .unwrap_or_default()
            .iter()
            .map(|message| message.name.clone());
        let names: Vec<Option<String>> = names.collect();
        if names != *wanted {
            found.push(format!(
                "request {index} has names {names:?}, expected {wanted:?}"
            ));
        }
    }
    for (index, wanted) in &expect.request_models {
        let model = ran
            .requests
            .get(*index)
            .and_then(|request| request.model.clone());
        if model.as_ref() != Some(wanted) {
            found.push(format!("request {index} asks {model:?}, expected {wanted}"));
        }
    }
}

fn written(request: &ChatRequest) -> Object<String, Json> {
    match serde_json::to_value(&request.options) {
        Ok(Json::Object(options)) => options,
        _ => Object::new(),
    }
}

fn tools(index: usize, wanted: &[Json], offers: Option<&Json>, found: &mut Vec<String>) {
    let offers = offers.and_then(Json::as_array).cloned().unwrap_or_default();
    let fits = |(wanted, offer): (&Json, &Json)| match wanted {
        Json::String(name) => offer["function"]["name"] == *name,
        parts => holds(parts, &offer["function"]),
    };
    if wanted.len() != offers.len() || !wanted.iter().zip(&offers).all(fits) {
        let (offers, wanted) = (json!(offers), json!(wanted));
        found.push(format!(
            "request {index} offers the tools {offers}, expected {wanted}"
        ));
    }
}

fn contains(
    what: &str,
    text: &str,
    wanted: &[String],
    unwanted: &[String],
    found: &mut Vec<String>,
) {
    for part in wanted.iter().filter(|part| !text.contains(*part)) {
        found.push(format!("{what} does not contain {part:?}: {text:?}"));
    }
    for part in unwanted.iter().filter(|part| text.contains(*part)) {
        found.push(format!("{what} contains {part:?}: {text:?}"));
    }
}

pub(super) fn to_json(value: &quillet_core::Value) -> Json {
    serde_json::from_str(&quillet_core::json::to_string(value)).unwrap_or(Json::Null)
}

fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Compares a result; `{"$undefined": true}` is JavaScript's `undefined`.
fn is(wanted: &Json, actual: Option<&Json>) -> bool {
    let nothing = wanted.get("$undefined").is_some();
    match actual {
        Some(actual) => !nothing && same(wanted, actual),
        None => nothing,
    }
}

/// Compares JSON without regard to the order of keys and to the type of numbers.
pub(super) fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => a.len() == b.len() && parts_hold(a, b, same),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Number(a), Json::Number(b)) => a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// Returns whether a value contains everything that is expected. Objects may have other fields.
fn holds(wanted: &Json, actual: &Json) -> bool {
    match (wanted, actual) {
        (Json::Object(wanted), Json::Object(actual)) => parts_hold(wanted, actual, holds),
        (Json::Array(wanted), Json::Array(actual)) => {
            wanted.len() == actual.len() && wanted.iter().zip(actual).all(|(a, b)| holds(a, b))
        }
        _ => same(wanted, actual),
    }
}

fn parts_hold(
    wanted: &Object<String, Json>,
    actual: &Object<String, Json>,
    fits: fn(&Json, &Json) -> bool,
) -> bool {
    let part = |(key, wanted): (&String, &Json)| actual.get(key).is_some_and(|a| fits(wanted, a));
    wanted.iter().all(part)
}
