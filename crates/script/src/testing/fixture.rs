//! A parsed fixture file with its tests.

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
    /// Its source.
    pub source: Arc<ScriptSource>,
    /// Scripts that the fixture tests. If empty, the scripts with the same name in the same folder
    /// are tested.
    pub scripts: Vec<String>,
    /// The tests, in order.
    pub cases: Vec<TestCase>,
    /// Warnings for the author.
    pub warnings: Vec<Diagnostic>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// The test's number in the fixture, from 1.
    pub number: usize,
    /// The title of the test, or a short form of the test's input.
    pub title: String,
    /// The test's span in the fixture.
    pub span: Span,
    /// The script to test instead of the fixture's.
    pub script: Option<String>,
    /// Whether the test is skipped.
    pub skip: bool,
    /// Whether only tests with this flag are run.
    pub only: bool,
    /// Input for the script.
    pub input: ScriptInput,
    /// Model parameters that override the script's parameters.
    pub parameters: Map,
    /// Seed of random choices.
    pub seed: Option<u64>,
    /// The source of answers.
    pub answers: Answers,
    /// Location of the test's own replies, all of which must be used. Replies in the front matter
    /// are shared by all tests.
    pub(super) own_replies: Option<Span>,
    /// Whether the fixture has an expectation for the output.
    pub wants_output: bool,
    /// Whether additional fields, and white space around strings, count as differences.
    pub strict: bool,
    pub(super) expectations: Vec<Expectation>,
    /// Variables for templates and `$expr`.
    pub(super) variables: Map,
}

/// Source of answers in place of a model.
#[derive(Clone, Debug, Default)]
pub enum Answers {
    /// None: the model configured by the caller.
    #[default]
    Model,
    /// The replies in the fixture.
    Replies(Arc<[Reply]>),
    /// A folder of recordings, relative to the fixture.
    Cassette(String),
}

/// A reply of the scripted model.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Pattern for the request. A reply with a pattern can be used any number of times; replies
    /// without one are used in order.
    pub(super) when: Option<TextPattern>,
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) finish: Option<FinishReason>,
    /// Error message to return instead of an answer.
    pub(super) error: Option<String>,
}

/// An expectation about a run.
#[derive(Clone, Debug)]
pub(super) enum Expectation {
    /// A part of the run matches.
    Aspect(RunAspect, ExpectedValue),
    /// The output is valid for a JSON Schema.
    Schema(SchemaExpectation, Span),
    /// The requests equal a snapshot.
    Snapshot(String, Span),
    /// A model confirms that the output meets a rubric.
    Judged(String, Span),
}

/// A part of a run that expectations can check.
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
    /// Returns its name in fixtures and in paths.
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

/// Test options in the front matter of a script: `test: {skip, only}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestFilter {
    /// Whether the script is not tested.
    pub skip: bool,
    /// Whether only scripts with this flag are tested.
    pub only: bool,
}

impl TestFilter {
    /// Reads the options of a script.
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
    /// Returns whether the fixture expects the script to fail.
    pub(super) fn wants_failure(&self) -> bool {
        let is_error = |expectation: &Expectation| {
            matches!(expectation, Expectation::Aspect(RunAspect::Error, _))
        };
        self.expectations.iter().any(is_error)
    }

    /// Returns the title of a test without one.
    pub(super) fn title_of(input: &ScriptInput) -> String {
        let text = match input {
            ScriptInput::None => return "without input".to_owned(),
            ScriptInput::Single(value) => super::expected_value::text_of(value),
            ScriptInput::Named(map) => quillet_core::json::to_string(&Value::Map(map.clone())),
        };
        // A title is a single line in a report, so line breaks in the input become spaces.
        let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    }
}
