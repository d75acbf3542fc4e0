//! A fixture file that was read: tests, and what each gives and wants.

use std::sync::Arc;

use quillet_core::chat::FinishReason;
use quillet_core::{Diagnostic, Map, Span, ToolCall, Value};

use super::expected_value::{ExpectedValue, SchemaExpectation};
use super::pattern::TextPattern;
use crate::run::ScriptInput;
use crate::syntax::{Script, ScriptSource};

/// A fixture file.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Where it came from.
    pub source: Arc<ScriptSource>,
    /// Scripts that it names; empty for those beside it that have its name.
    pub scripts: Vec<String>,
    /// Its tests in order.
    pub cases: Vec<TestCase>,
    /// What its author should know.
    pub warnings: Vec<Diagnostic>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Its number in the fixture, from 1.
    pub number: usize,
    /// Its title, or its input in short.
    pub title: String,
    /// Its bytes in the fixture.
    pub span: Span,
    /// The script that it names instead of the fixture's.
    pub script: Option<String>,
    /// Not to be run.
    pub skip: bool,
    /// Others are not to be run.
    pub only: bool,
    /// What the script is given.
    pub input: ScriptInput,
    /// Parameters of models that win over those of the script.
    pub parameters: Map,
    /// Where random choices start from.
    pub seed: Option<u64>,
    /// The source of answers.
    pub answers: Answers,
    /// The answers that the test itself lists, each of which has to be asked for; those of the
    /// front matter are for all tests.
    pub(super) own_replies: Option<Span>,
    /// Whether the fixture says what the output has to be like.
    pub wants_output: bool,
    /// How values are compared: whether objects have no other fields, and white space around
    /// texts counts.
    pub strict: bool,
    pub(super) expectations: Vec<Expectation>,
    /// What templates and `$expr` see.
    pub(super) variables: Map,
}

/// What answers instead of a model.
#[derive(Clone, Debug, Default)]
pub enum Answers {
    /// Nothing: the model of whoever runs the test.
    #[default]
    Model,
    /// What the fixture says.
    Replies(Arc<[Reply]>),
    /// A folder of recordings, relative to the fixture.
    Cassette(String),
}

/// An answer of the scripted model.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Answers only requests in which this is found, and is never used up. Without it, answers
    /// follow each other.
    pub(super) when: Option<TextPattern>,
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) finish: Option<FinishReason>,
    /// In place of an answer, a failure with this message.
    pub(super) error: Option<String>,
}

/// Something that has to be so.
#[derive(Clone, Debug)]
pub(super) enum Expectation {
    /// A part of the run is as wanted.
    Aspect(RunAspect, ExpectedValue),
    /// The output follows a JSON Schema.
    Schema(SchemaExpectation, Span),
    /// The requests are those of the snapshot.
    Snapshot(String, Span),
    /// A model says that the output is as this text says.
    Judged(String, Span),
}

/// A part of a run that can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunAspect {
    Output,
    Messages,
    Requests,
    Tools,
    Tokens,
    Printed,
    Error,
}

impl RunAspect {
    /// Its name in fixtures and in paths.
    pub(super) fn name(self) -> &'static str {
        match self {
            RunAspect::Output => "output",
            RunAspect::Messages => "messages",
            RunAspect::Requests => "requests",
            RunAspect::Tools => "tools",
            RunAspect::Tokens => "tokens",
            RunAspect::Printed => "printed",
            RunAspect::Error => "error",
        }
    }
}

/// What a script says about tests automatically: `test: {skip, only}` in its front matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestFilter {
    /// Not to be tested.
    pub skip: bool,
    /// Other scripts of the fixture are not to be tested.
    pub only: bool,
}

impl TestFilter {
    /// Of a script.
    #[must_use]
    pub fn of(script: &Script) -> Self {
        let test = script.config.get("test");
        let flag = |name: &str| {
            let value = test.and_then(|test| test.get(name));
            value.is_some_and(|value| value.value() == Value::Bool(true))
        };
        TestFilter {
            skip: flag("skip"),
            only: flag("only"),
        }
    }
}

impl TestCase {
    /// Whether the fixture expects the script to fail.
    pub(super) fn wants_failure(&self) -> bool {
        let is_error = |expectation: &Expectation| {
            matches!(expectation, Expectation::Aspect(RunAspect::Error, _))
        };
        self.expectations.iter().any(is_error)
    }

    /// What it is called where it has no title.
    pub(super) fn title_of(input: &ScriptInput) -> String {
        let text = match input {
            ScriptInput::None => return "without input".to_owned(),
            ScriptInput::Single(value) => super::expected_value::text_of(value),
            ScriptInput::Named(map) => quillet_core::json::to_string(&Value::Map(map.clone())),
        };
        // A title is one line of a report, so line breaks of the input become blanks.
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}
