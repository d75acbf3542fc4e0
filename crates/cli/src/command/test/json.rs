//! Test results as JSON.

use quillet_script::ScriptError;
use quillet_script::testing::{CaseReport, Mismatch, TestCounts, TestVerdict};
use serde_json::{Value, json};

use super::fixture_report::FixtureReport;
use crate::scripts::pretty;

/// Formats all tests and their results.
pub(super) fn report(all: &[FixtureReport], counts: &TestCounts) -> String {
    let fixtures: Vec<Value> = all.iter().map(fixture).collect();
    pretty(&json!({
        "passed": counts.passed,
        "failed": counts.failed,
        "broken": counts.broken + all.iter().map(|tested| tested.broken.len()).sum::<usize>(),
        "skipped": counts.skipped,
        "flaky": counts.flaky,
        "fixtures": fixtures,
    }))
}

fn fixture(tested: &FixtureReport) -> Value {
    let errors: Vec<Value> = tested.broken.iter().map(error).collect();
    let cases: Vec<Value> = tested.reports.iter().map(case).collect();
    json!({"fixture": tested.path, "errors": errors, "tests": cases})
}

fn case(report: &CaseReport) -> Value {
    let mut shown = json!({
        "script": report.script,
        "model": report.model,
        "number": report.number,
        "title": report.title,
        "verdict": verdict(&report.verdict),
        "runs": report.runs,
        "passed_runs": report.passed,
        "ms": u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
        "usage": report.usage,
        "output": report.output,
    });
    match &report.verdict {
        TestVerdict::Failed(found) => {
            shown["mismatches"] = found.iter().map(mismatch).collect();
        }
        TestVerdict::Broken(why) => shown["error"] = error(why),
        TestVerdict::Passed | TestVerdict::Skipped => {}
    }
    shown
}

/// Returns the name of a verdict.
pub(super) fn verdict(verdict: &TestVerdict) -> &'static str {
    match verdict {
        TestVerdict::Passed => "passed",
        TestVerdict::Skipped => "skipped",
        TestVerdict::Failed(_) => "failed",
        TestVerdict::Broken(_) => "broken",
    }
}

fn mismatch(mismatch: &Mismatch) -> Value {
    json!({
        "path": mismatch.path,
        "expected": mismatch.expected,
        "actual": mismatch.actual,
    })
}

fn error(error: &ScriptError) -> Value {
    json!({
        "code": error.kind.code(),
        "message": error.message(),
        "diagnostics": error.diagnostics,
    })
}
