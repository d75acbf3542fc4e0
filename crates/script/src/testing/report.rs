//! Results of tests.

use std::time::Duration;

use quillet_core::chat::Usage;
use quillet_core::{Span, Value};

use super::fixture::TestCase;
use crate::error::ScriptError;

/// A difference between a run and its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Path in the run's result, such as `output.items[2].name` or
    /// `requests[0].messages[1].content`.
    pub path: String,
    /// The expected value as text or JSON, or a description.
    pub expected: String,
    /// The actual value as JSON; `None` if the value is missing.
    pub actual: Option<String>,
    /// Span of the expectation in the fixture.
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
    /// All expectations were met.
    Passed,
    /// Not run, because of `skip`, another test's `only`, or a filter of the caller.
    Skipped,
    /// Some expectations were not met. The list is never empty.
    Failed(Vec<Mismatch>),
    /// No verdict: the script failed unexpectedly, or there is no judge model.
    Broken(Box<ScriptError>),
}

impl TestVerdict {
    /// Returns the verdict with one more difference.
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

/// Result of running one test against one subject.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// Name of the script or other subject.
    pub script: String,
    /// The model that replaced the subject's own.
    pub model: Option<String>,
    /// The test's number in its fixture, from 1.
    pub number: usize,
    /// The title of the test, or a short form of the test's input.
    pub title: String,
    /// The verdict. If there are several runs, this is the verdict of the first run that did not
    /// pass.
    pub verdict: TestVerdict,
    /// Number of runs.
    pub runs: u32,
    /// Number of runs that passed. The test is flaky if this is greater than 0 and less than
    /// `runs`.
    pub passed: u32,
    /// Total time of all runs.
    pub took: Duration,
    /// Total tokens of all runs.
    pub usage: Usage,
    /// Output of the last run, for writing expectations.
    pub output: Option<Value>,
}

impl CaseReport {
    /// Creates the report of a skipped test.
    #[must_use]
    pub fn skipped(case: &TestCase, subject: &str) -> Self {
        CaseReport {
            verdict: TestVerdict::Skipped,
            ..CaseReport::new(case, subject)
        }
    }

    /// Creates the report of a test before its first run.
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

    /// Returns whether some runs passed and others did not.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.passed > 0 && self.passed < self.runs
    }
}

/// The number of tests by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    /// Tests that passed.
    pub passed: usize,
    /// Tests whose result differs from the expectation.
    pub failed: usize,
    /// Tests that could not be evaluated.
    pub broken: usize,
    /// Tests that were not run.
    pub skipped: usize,
    /// Failed or broken tests that passed in some runs.
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
