//! Diagnostics of one script, with a limit on their number.

use quillet_core::{Diagnostic, Severity, Span};

use super::line_map::FileSpot;
use crate::syntax::ScriptSource;

/// Maximum number of diagnostics for one script.
const MOST_FINDINGS: usize = 100;

/// Collects the diagnostics of one script.
pub(super) struct ScriptDiagnostics<'a> {
    pub(super) source: &'a ScriptSource,
    pub(super) list: Vec<Diagnostic>,
}

impl<'a> ScriptDiagnostics<'a> {
    pub(super) fn new(source: &'a ScriptSource) -> Self {
        let list = Vec::new();
        ScriptDiagnostics { source, list }
    }

    pub(super) fn add<T: Default>(&mut self, mut wrong: Vec<Diagnostic>) -> T {
        self.list.append(&mut wrong);
        T::default()
    }

    /// Returns whether the limit is reached, so that further checks can be skipped.
    pub(super) fn full(&self) -> bool {
        self.list.len() >= MOST_FINDINGS
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        why: impl Into<String>,
        at: Span,
        help: &str,
    ) {
        // Checked first, because locating a message costs more than this check.
        if !self.full() {
            self.list
                .push(helped(self.source.error(code, why, at), help));
        }
    }

    pub(super) fn error_in(
        &mut self,
        code: &'static str,
        why: impl Into<String>,
        at: &FileSpot,
        help: &str,
    ) {
        if !self.full() {
            self.error(code, why, at.span(self.source), help);
        }
    }

    pub(super) fn warning(
        &mut self,
        code: &'static str,
        why: impl Into<String>,
        at: Span,
        help: &str,
    ) {
        if !self.full() {
            self.list
                .push(helped(self.source.warning(code, why, at), help));
        }
    }

    /// Returns the diagnostics sorted by location, errors before warnings, without duplicates.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        let rank = |found: &Diagnostic| {
            let start = found.span.map(|span| span.start);
            // `false` sorts first, so errors come before warnings at the same location.
            (start, found.severity != Severity::Error)
        };
        self.list.sort_by_key(rank);
        // A text can be checked twice, for example as a variable and as a template.
        self.list.dedup();
        self.list.truncate(MOST_FINDINGS);
        self.list
    }
}

fn helped(found: Diagnostic, help: &str) -> Diagnostic {
    match help {
        "" => found,
        help => found.help(help),
    }
}

/// Returns `did you mean x?` if a known name is similar, otherwise an empty text.
pub(super) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = quillet_core::nearest(name, known);
    near.map(|near| format!("did you mean {near}?"))
        .unwrap_or_default()
}
