//! Diagnostics for people: location, source line with a caret, and fix.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
pub(crate) use quillet::LocatedDiagnostic;
use quillet_core::{Diagnostic, LineColumn, Severity};

/// Formats a diagnostic like a compiler, with a final new line.
pub(crate) fn show(finding: &LocatedDiagnostic, colour: bool) -> String {
    let found = &finding.diagnostic;
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut group = match marked_range(finding) {
        Some((text, range)) => {
            let annotation = AnnotationKind::Primary.span(range);
            let snippet = Snippet::source(text)
                .path(found.source.as_str())
                .annotation(annotation);
            level.primary_title(found.message.as_str()).element(snippet)
        }
        None => Group::with_title(level.primary_title(without_text(found))),
    };
    if let Some(help) = &found.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    format!("{}\n", renderer.render(&[group]))
}

/// Returns the text and the range to mark: at character boundaries and inside the text.
fn marked_range(finding: &LocatedDiagnostic) -> Option<(&str, std::ops::Range<usize>)> {
    let text = finding.text.as_deref()?;
    let found = &finding.diagnostic;
    let (start, end) = match (found.span, found.position) {
        (Some(span), _) => (span.start, span.end),
        (None, Some(position)) => {
            let start = byte_of(text, position);
            (start, start)
        }
        (None, None) => return None,
    };
    // The text may be a newer version of the file, so the span may not be valid. Slicing with an
    // invalid span would panic.
    let start = text.floor_char_boundary(start.min(text.len()));
    let end = text.ceil_char_boundary(end.clamp(start, text.len()));
    // Only the first line of a long range is marked, which is easier to read.
    let line = text[start..end]
        .find('\n')
        .map_or(end, |newline| start + newline);
    Some((text, start..line))
}

fn byte_of(text: &str, position: LineColumn) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(position.line.saturating_sub(1))
        .map(str::len)
        .sum();
    let line = lines.next().unwrap_or_default();
    let column = line.chars().take(position.column.saturating_sub(1));
    before + column.map(char::len_utf8).sum::<usize>()
}

/// Formats a diagnostic without source text: `SOURCE:LINE:COL: MESSAGE`.
fn without_text(found: &Diagnostic) -> String {
    let bare = Diagnostic {
        help: None,
        ..found.clone()
    };
    bare.to_string()
}

#[cfg(test)]
mod tests {
    use quillet_core::Span;

    use super::*;

    #[test]
    fn a_caret_stands_under_the_place() {
        let text = "Hello\n你好 {{.nmae}}!";
        let span = Span { start: 15, end: 20 };
        let found = Diagnostic::error("x", "a.tmpl", "no nmae")
            .at(text, span)
            .help("did you mean name?");
        let finding = LocatedDiagnostic {
            diagnostic: found,
            text: Some(text.into()),
        };
        let shown = show(&finding, false);
        let expected = "error: no nmae\n --> a.tmpl:2:6\n  |\n2 | 你好 {{.nmae}}!\n  |        ^^^^^\n  |\n  = help: did you mean name?\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        for (start, end) in [(900, 901), (7, 3), (1, 2), (0, 900)] {
            let found = Diagnostic {
                span: Some(Span { start, end }),
                ..Diagnostic::error("x", "a", "m")
            };
            for text in ["", "é", "ab\ncd"] {
                let finding = LocatedDiagnostic {
                    diagnostic: found.clone(),
                    text: Some(text.into()),
                };
                assert!(
                    show(&finding, false).contains("error: m"),
                    "{start} {end} {text:?}"
                );
            }
        }
    }

    #[test]
    fn without_a_text_the_place_is_in_the_line() {
        let found = Diagnostic {
            position: Some(LineColumn { line: 2, column: 3 }),
            ..Diagnostic::error("x", "a", "m")
        };
        let finding = LocatedDiagnostic {
            diagnostic: found.help("h"),
            text: None,
        };
        assert_eq!(show(&finding, false), "error: a:2:3: m\n |\n = help: h\n");
    }
}
