//! Test results on the terminal.

use std::io;

use quillet_core::json;
use quillet_script::testing::{CaseReport, Fixture, Mismatch, TestCounts, TestVerdict};

use super::fixture_report::FixtureReport;
use crate::chat::{one_line, sanitize};
use crate::report::{self, LocatedDiagnostic};
use crate::scripts;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Maximum number of mismatches to show for one test.
const MOST_SHOWN: usize = 10;
/// Maximum length of a value on one line, in characters.
const MOST_CHARACTERS: usize = 400;
/// Maximum number of lines of a difference.
const MOST_LINES: usize = 60;
/// Number of unchanged lines around a difference.
const AROUND: usize = 2;

/// Prints the tests of a fixture with their results and mismatches, grouped by script, and also by
/// model if models are compared.
///
/// # Errors
/// Standard output was closed by its reader.
pub(super) fn fixture(tested: &FixtureReport, compares: bool) -> io::Result<()> {
    let colour = Stream::Out.has_colour();
    terminal::line(&styled(&tested.path, TextStyle::Bold, colour))?;
    for error in &tested.broken {
        let source = tested.fixture.as_ref().map(|fixture| &*fixture.source);
        terminal::line(indented(&scripts::format_error(error, source, colour)).trim_end())?;
    }
    if let Some(fixture) = &tested.fixture {
        warnings(fixture);
    }
    let mut above = None;
    for report in &tested.reports {
        let model = report.model.as_deref().filter(|_| compares);
        let about = (&report.script, model);
        if above != Some(about) {
            above = Some(about);
            let with = model.map_or_else(String::new, |model| format!(" with {model}"));
            let head = format!("{}{with}", report.script);
            terminal::line(&format!("  {}", styled(&head, TextStyle::Dim, colour)))?;
        }
        case(tested, report, colour)?;
    }
    Ok(())
}

fn warnings(fixture: &Fixture) {
    let colour = Stream::Err.has_colour();
    for found in &fixture.warnings {
        let finding = LocatedDiagnostic {
            diagnostic: found.clone(),
            text: Some(fixture.source.text.to_string()),
        };
        terminal::note(report::show(&finding, colour).trim_end());
    }
}

fn case(tested: &FixtureReport, report: &CaseReport, colour: bool) -> io::Result<()> {
    let (mark, style) = match &report.verdict {
        TestVerdict::Passed => ("ok", TextStyle::Green),
        TestVerdict::Skipped => ("skipped", TextStyle::Dim),
        TestVerdict::Failed(_) => ("FAILED", TextStyle::Red),
        TestVerdict::Broken(_) => ("ERROR", TextStyle::Red),
    };
    let mark = styled(mark, style, colour);
    let title = one_line(&report.title, 100);
    let flaky = if report.runs > 1 {
        format!(" ({} of {} runs passed)", report.passed, report.runs)
    } else {
        String::new()
    };
    terminal::line(&format!("    {mark} {} {title}{flaky}", report.number))?;
    match &report.verdict {
        TestVerdict::Passed | TestVerdict::Skipped => Ok(()),
        TestVerdict::Failed(mismatches) => failed(tested, mismatches, colour),
        TestVerdict::Broken(error) => {
            let source = tested.fixture.as_ref().map(|fixture| &*fixture.source);
            let shown = scripts::format_error(error, source, colour);
            terminal::line(indented(&indented(&shown)).trim_end())
        }
    }
}

fn failed(tested: &FixtureReport, mismatches: &[Mismatch], colour: bool) -> io::Result<()> {
    for mismatch in mismatches.iter().take(MOST_SHOWN) {
        let place = tested.fixture.as_ref().map(|fixture| {
            let place = quillet_core::LineColumn::of(&fixture.source.text, mismatch.span.start);
            format!(" ({}:{}:{})", tested.path, place.line, place.column)
        });
        let place = styled(&place.unwrap_or_default(), TextStyle::Dim, colour);
        terminal::line(&format!("      at {}{place}", mismatch.path))?;
        terminal::line(&sides(mismatch, colour))?;
    }
    match mismatches.len().saturating_sub(MOST_SHOWN) {
        0 => Ok(()),
        more => terminal::line(&format!("      and {more} more")),
    }
}

/// Formats both sides of a mismatch, as a diff if both are texts with several lines.
fn sides(mismatch: &Mismatch, colour: bool) -> String {
    let expected = text_of(&mismatch.expected);
    let actual = mismatch.actual.as_deref().map(text_of);
    let has_lines = |text: &String| text.contains('\n');
    if let Some(actual) = &actual
        && (has_lines(&expected) && has_lines(actual))
    {
        return lines(&expected, actual, colour);
    }
    let short = |text: &str| one_line(text, MOST_CHARACTERS);
    let actual = mismatch
        .actual
        .as_deref()
        .map_or("nothing".to_owned(), short);
    format!(
        "        {} {}\n        {} {actual}",
        styled("expected", TextStyle::Green, colour),
        short(&mismatch.expected),
        styled("     got", TextStyle::Red, colour),
    )
}

/// Returns the text of a JSON string. Descriptions and other values are unchanged.
fn text_of(written: &str) -> String {
    match json::parse(written) {
        Ok(quillet_core::Value::Str(text)) => text.to_string(),
        _ => written.to_owned(),
    }
}

/// Formats a diff in which common lines at both ends are omitted, except for a few.
fn lines(expected: &str, actual: &str, colour: bool) -> String {
    let expected: Vec<&str> = expected.lines().collect();
    let actual: Vec<&str> = actual.lines().collect();
    let same = expected
        .iter()
        .zip(&actual)
        .take_while(|(one, other)| one == other);
    let start = same.count();
    // The common suffix must not overlap the common prefix, as for `aa` and `a`.
    let most = expected.len().min(actual.len()) - start;
    let ends = expected.iter().rev().zip(actual.iter().rev());
    let end = ends
        .take(most)
        .take_while(|(one, other)| one == other)
        .count();
    let near = start.saturating_sub(AROUND);
    let rest = expected.len() - end;
    let groups = [
        (" ", None, &expected[near..start]),
        ("-", Some(TextStyle::Green), &expected[start..rest]),
        (
            "+",
            Some(TextStyle::Red),
            &actual[start..actual.len() - end],
        ),
        (
            " ",
            None,
            &expected[rest..expected.len().min(rest + AROUND)],
        ),
    ];
    let mut shown = vec![format!("        line {}", start + 1)];
    for (sign, style, lines) in groups {
        let line = |line: &&str| {
            let line = format!("        {sign} {}", sanitize(line));
            style.map_or_else(|| line.clone(), |style| styled(&line, style, colour))
        };
        shown.extend(lines.iter().map(line));
    }
    shown.truncate(MOST_LINES);
    shown.join("\n")
}

fn indented(text: &str) -> String {
    let line = |line: &str| format!("    {line}");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Prints the number of tests by result.
///
/// # Errors
/// Standard output was closed by its reader.
pub(super) fn summary(counts: &TestCounts, broken: usize) -> io::Result<()> {
    let mut parts = vec![format!("{} passed", counts.passed)];
    let more = [
        (counts.failed, "failed"),
        (counts.broken + broken, "broken"),
        (counts.skipped, "skipped"),
        (counts.flaky, "flaky"),
    ];
    let more = more.iter().filter(|(count, _)| *count > 0);
    parts.extend(more.map(|(count, name)| format!("{count} {name}")));
    terminal::line(&parts.join(", "))
}
