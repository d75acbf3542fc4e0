//! What became of tests, for whoever shows it.

use std::time::Duration;

use quillet_core::chat::Usage;
use quillet_core::{Span, Value};

use super::fixture::TestCase;
use crate::error::ScriptError;

/// One place in which a run was not as its fixture wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where in the run: `output.items[2].name`, `requests[0].messages[1].content`.
    pub path: String,
    /// What was wanted: a text or value as JSON, or words.
    pub expected: String,
    /// What was there, as JSON; `None` where there was nothing.
    pub actual: Option<String>,
    /// Where the fixture says so, in bytes of its file.
    pub span: Span,
}

impl Mismatch {
    pub(super) fn new(
        path: &str,
        expected: impl Into<String>,
        actual: Option<&Value>,
        span: Span,
    ) -> Self {
        Mismatch {
            path: path.to_owned(),
            expected: expected.into(),
            actual: actual.map(quillet_core::json::to_string),
            span,
        }
    }
}

/// The verdict of one test.
#[derive(Clone, Debug)]
pub enum TestVerdict {
    /// Everything was as wanted.
    Passed,
    /// It was not run: `skip`, another's `only`, or the choice of whoever runs tests.
    Skipped,
    /// Something was not as wanted; never empty.
    Failed(Vec<Mismatch>),
    /// It could not be decided: the script failed where no failure was wanted, or there is no
    /// model to judge.
    Broken(Box<ScriptError>),
}

impl TestVerdict {
    /// The same, with one thing more that is not as wanted.
    pub(super) fn and(self, mismatch: Mismatch) -> Self {
        match self {
            TestVerdict::Passed => TestVerdict::Failed(vec![mismatch]),
            TestVerdict::Failed(mut others) => {
                others.push(mismatch);
                TestVerdict::Failed(others)
            }
            other => other,
        }
    }
}

/// One test of one subject.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The name of the script, or of what else was tested.
    pub script: String,
    /// The model that was asked instead of the subject's own.
    pub model: Option<String>,
    /// The test's number in its fixture, from 1.
    pub number: usize,
    /// Its title, or its input in short.
    pub title: String,
    /// How it ended; of several runs, how the first that did not pass ended.
    pub verdict: TestVerdict,
    /// How often it ran.
    pub runs: u32,
    /// How many of the runs passed. Neither none nor all: it is flaky.
    pub passed: u32,
    /// How long all runs took.
    pub took: Duration,
    /// Tokens of all runs.
    pub usage: Usage,
    /// What the script gave last, for authors of expectations.
    pub output: Option<Value>,
}

impl CaseReport {
    /// Of a test that is not run.
    #[must_use]
    pub fn skipped(case: &TestCase, subject: &str) -> Self {
        CaseReport {
            verdict: TestVerdict::Skipped,
            ..CaseReport::new(case, subject)
        }
    }

    /// Of a test that did not run yet.
    pub(super) fn new(case: &TestCase, subject: &str) -> Self {
        CaseReport {
            script: subject.to_owned(),
            model: None,
            number: case.number,
            title: case.title.clone(),
            verdict: TestVerdict::Passed,
            runs: 0,
            passed: 0,
            took: Duration::ZERO,
            usage: Usage::default(),
            output: None,
        }
    }

    /// Whether some runs passed and some did not.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.passed < self.runs
    }
}

/// The number of tests by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// As wanted.
    pub passed: usize,
    /// Not as wanted.
    pub failed: usize,
    /// Not decided.
    pub broken: usize,
    /// Not run.
    pub skipped: usize,
    /// Of the failed and broken ones: those that pass sometimes.
    pub flaky: usize,
}

impl TestCounts {
    /// Counts reports.
    #[must_use]
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a CaseReport>) -> Self {
        let mut counts = TestCounts::default();
        for report in reports {
            match &report.verdict {
                TestVerdict::Passed => counts.passed += 1,
                TestVerdict::Skipped => counts.skipped += 1,
                TestVerdict::Failed(_) => counts.failed += 1,
                TestVerdict::Broken(_) => counts.broken += 1,
            }
            counts.flaky += usize::from(report.is_flaky());
        }
        counts
    }
}
