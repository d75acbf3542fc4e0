//! Comparison of models over all tests that called them.

use std::io;
use std::time::Duration;

use quillet_core::chat::Usage;
use quillet_script::host::ModelSource;
use quillet_script::testing::{CaseReport, TestCounts};

use super::fixture_report::FixtureReport;
use crate::terminal;

/// Prints one line for each model: test results, time, tokens and cost.
///
/// # Errors
/// Standard output was closed by its reader.
pub(super) fn table(all: &[FixtureReport], models: &dyn ModelSource) -> io::Result<()> {
    let reports: Vec<&CaseReport> = all.iter().flat_map(|tested| &tested.reports).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in reports.iter().filter_map(|report| report.model.as_deref()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let widest = names.iter().map(|name| name.chars().count()).max();
    let width = widest.unwrap_or_default().max("model".len());
    terminal::line(&format!(
        "\n{:width$}  {:>6}  {:>6}  {:>6}  {:>8}  {:>7}  {:>7}  {:>9}",
        "model", "passed", "failed", "broken", "seconds", "in", "out", "US$"
    ))?;
    for name in names {
        let its = |report: &&&CaseReport| report.model.as_deref() == Some(name);
        let its: Vec<&CaseReport> = reports.iter().filter(its).copied().collect();
        let counts = TestCounts::of(its.iter().copied());
        let took: Duration = its.iter().map(|report| report.took).sum();
        let mut usage = Usage::default();
        for report in &its {
            usage += report.usage;
        }
        let cost = models.cost(name, &usage);
        terminal::line(&format!(
            "{name:width$}  {:>6}  {:>6}  {:>6}  {:>8.1}  {:>7}  {:>7}  {:>9}",
            counts.passed,
            counts.failed,
            counts.broken,
            took.as_secs_f64(),
            usage.input_tokens,
            usage.output_tokens,
            cost.map_or("?".to_owned(), |cost| format!("{cost:.5}")),
        ))?;
    }
    terminal::line("")
}
