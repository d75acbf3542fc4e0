//! `quillet fmt`: the canonical layout of a script.
//!
//! It changes only white space, separators and the colons after roles: indentation by two spaces,
//! one space after colons and dashes, at most one empty line in a row, Unix line endings, `---` for
//! every separator, ASCII colons after roles. Comments stay in place. Each part is parsed again
//! afterwards. If its meaning would change, it is left as written.

mod equivalence;
mod part;

use std::sync::Arc;

use quillet_core::{Diagnostic, Span};

use crate::reader::{self, LineGroup, PartKind};
use crate::syntax::{Script, ScriptSource};

/// Formats a script in its canonical layout.
///
/// # Errors
/// Returns the errors in the script. An invalid script is not formatted.
///
/// # Examples
/// ```
/// use quillet_script::format::format;
/// use quillet_script::syntax::ScriptSource;
/// use std::sync::Arc;
///
/// let source = ScriptSource {
///     name: "greet.ai.yaml".into(),
///     path: None,
///     text: "user:   Hello\n".into(),
/// };
/// assert_eq!(format(&Arc::new(source)).unwrap(), "user: Hello\n");
/// ```
pub fn format(source: &Arc<ScriptSource>) -> Result<String, Vec<Diagnostic>> {
    let before = reader::read(Arc::clone(source)).finish()?;
    let made = lay_out(&source.text, &before);
    // The parts were checked one by one; this checks that the whole script is still valid.
    match reader::read(with_text(source, &made)).finish() {
        Ok(after) if equivalence::scripts(&before, &after) => Ok(made),
        _ => Ok(source.text.to_string()),
    }
}

fn with_text(source: &ScriptSource, text: &str) -> Arc<ScriptSource> {
    Arc::new(ScriptSource {
        name: source.name.clone(),
        path: source.path.clone(),
        text: text.into(),
    })
}

fn lay_out(text: &str, script: &Script) -> String {
    let split = reader::split(text);
    let roles = reader::roles(&script.config);
    let mut out = String::with_capacity(text.len());
    if let Some(front) = split.front {
        let head = text.get(..front.start).unwrap_or_default();
        let head = head.trim_start_matches('\u{feff}').trim_end();
        let above = head.strip_suffix("---").unwrap_or_default();
        push(&mut out, &part::tidy(above));
        push(&mut out, "---\n");
        push(
            &mut out,
            &checked(text, front, &part::front(text, front), config_stays),
        );
        push(&mut out, "---\n");
    }
    for part in split.parts {
        let made = match part.kind {
            PartKind::Separator { pin } => part::separator(text, part.span, pin),
            PartKind::Blank => {
                part::tidy(text.get(part.span.start..part.span.end).unwrap_or_default())
            }
            PartKind::Instruction => instruction(text, &part, &roles),
        };
        push(&mut out, &made);
    }
    let mut out = out.trim_start_matches('\u{feff}').trim_end().to_owned();
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn instruction(text: &str, part: &LineGroup, roles: &[String]) -> String {
    let stays = |before: &str, after: &str| {
        let read = |text: &str| reader::read_alone(text, roles).ok();
        match (read(before), read(after)) {
            (Some(before), Some(after)) => equivalence::scripts(&before, &after),
            _ => false,
        }
    };
    checked(
        text,
        part.span,
        &part::instruction(text, part.span, roles),
        stays,
    )
}

fn config_stays(before: &str, after: &str) -> bool {
    match (reader::config_alone(before), reader::config_alone(after)) {
        (Some(before), Some(after)) => equivalence::nodes(&before, &after),
        _ => false,
    }
}

/// Returns the new layout if it has the same meaning as the original.
fn checked(text: &str, span: Span, made: &str, stays: impl Fn(&str, &str) -> bool) -> String {
    let written = text.get(span.start..span.end).unwrap_or_default();
    let unix = written.replace("\r\n", "\n");
    if unix == made || stays(written, made) {
        made.to_owned()
    } else {
        unix
    }
}

/// Appends lines, separated from the previous ones by one empty line at most.
fn push(out: &mut String, lines: &str) {
    let mut lines = lines;
    if out.is_empty() || out.ends_with("\n\n") {
        lines = lines.trim_start_matches('\n');
    }
    out.push_str(lines);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}
