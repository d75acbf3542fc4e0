//! Test results as JUnit XML, for CI.

use std::fmt::Write as _;

use quillet_script::testing::{CaseReport, Mismatch, TestCounts, TestVerdict};

use super::fixture_report::FixtureReport;

/// Returns the whole report, with one suite for each fixture.
pub(super) fn xml(all: &[FixtureReport]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for tested in all {
        suite(&mut text, tested);
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(text: &mut String, tested: &FixtureReport) {
    let counts = TestCounts::of(&tested.reports);
    let seconds: f64 = tested.reports.iter().map(seconds).sum();
    let _ = writeln!(
        text,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\">",
        escaped(&tested.path),
        tested.reports.len() + tested.broken.len(),
        counts.failed,
        counts.broken + tested.broken.len(),
        counts.skipped,
    );
    for error in &tested.broken {
        let _ = writeln!(
            text,
            "    <testcase name=\"reading\" classname=\"{}\"><error message=\"{}\"/></testcase>",
            escaped(&tested.path),
            escaped(&error.to_string()),
        );
    }
    tested.reports.iter().for_each(|report| case(text, report));
    text.push_str("  </testsuite>\n");
}

fn case(text: &mut String, report: &CaseReport) {
    let with = report.model.as_deref();
    let with = with.map_or_else(String::new, |model| format!(" ({model})"));
    let _ = write!(
        text,
        "    <testcase name=\"{}. {}{}\" classname=\"{}\" time=\"{:.3}\"",
        report.number,
        escaped(&report.title),
        escaped(&with),
        escaped(&report.script),
        seconds(report),
    );
    match &report.verdict {
        TestVerdict::Passed => text.push_str("/>\n"),
        TestVerdict::Skipped => text.push_str("><skipped/></testcase>\n"),
        TestVerdict::Failed(found) => {
            let first = found.first().map(words).unwrap_or_default();
            let all: Vec<String> = found.iter().map(words).collect();
            let _ = writeln!(
                text,
                "><failure message=\"{}\">{}</failure></testcase>",
                escaped(&first),
                escaped(&all.join("\n"))
            );
        }
        TestVerdict::Broken(error) => {
            let message = escaped(&error.to_string());
            let _ = writeln!(text, "><error message=\"{message}\"/></testcase>");
        }
    }
}

fn words(mismatch: &Mismatch) -> String {
    let actual = mismatch.actual.as_deref().unwrap_or("nothing");
    format!(
        "{}: expected {}, got {actual}",
        mismatch.path, mismatch.expected
    )
}

fn seconds(report: &CaseReport) -> f64 {
    report.took.as_secs_f64()
}

/// Escapes text for an attribute or an element. Characters that XML 1.0 does not allow become `?`.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            // XML 1.0 cannot contain most of these, even escaped; parsers reject the whole report.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('?'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out_of_xml() {
        let text = "<a b=\"c\">&\u{1b}]]>\n";
        assert_eq!(escaped(text), "&lt;a b=&quot;c&quot;&gt;&amp;?]]&gt;&#10;");
    }
}
