//! Code of functions, and the mapping of its lines to the script file.

use std::sync::Arc;

use quillet_core::Span;

use crate::js::{self, JsError, PythonFunction};
use crate::syntax::{ScriptSource, ScriptText};

/// A Python function and its location.
#[derive(Debug)]
pub(crate) struct InPython {
    pub(crate) function: PythonFunction,
    pub(super) source: Arc<ScriptSource>,
    pub(super) code: ScriptText,
}

impl InPython {
    /// Returns the script location that an exception was raised at.
    pub(super) fn place(&self, error: &JsError) -> Option<(Arc<ScriptSource>, Span)> {
        let frame = error.place()?;
        let place = place_in(&self.source, &self.code, frame.place)?;
        Some((self.source.clone(), place))
    }
}

/// Code and signature of a function that the script declares.
#[derive(Debug)]
pub(crate) struct FunctionInfo {
    /// The source that contains it.
    pub(crate) source: Arc<ScriptSource>,
    /// Its code.
    pub(crate) code: ScriptText,
    /// Its parameters.
    pub(crate) parameters: Vec<js::Parameter>,
}

/// Maps a line and column of a function's code to its location in the script file, where the code
/// may be indented. Returns `None` if the code does not occur verbatim in the file.
pub(super) fn place_in(
    source: &ScriptSource,
    code: &ScriptText,
    place: js::CodePosition,
) -> Option<Span> {
    let wanted = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let line = code.value.lines().nth(wanted)?;
    let first = code.value.lines().next()?.trim();
    let region = source.text.get(code.span.start..)?;
    let start = code.span.start + region.find(first)?;
    let file_line = match wanted {
        0 => start,
        _ => {
            start
                + source
                    .text
                    .get(start..)?
                    .match_indices('\n')
                    .nth(wanted - 1)?
                    .0
                + 1
        }
    };
    let rest = source.text.get(file_line..)?;
    let within = rest.get(..rest.find('\n').unwrap_or(rest.len()))?;
    let indent = within
        .find(line.trim_start())?
        .saturating_sub(line.len() - line.trim_start().len());
    let column = usize::try_from(place.column).ok()?.saturating_sub(1);
    let offset: usize = line.chars().take(column).map(char::len_utf8).sum();
    let at = file_line + indent + offset;
    let length = source
        .text
        .get(at..)?
        .chars()
        .next()
        .map_or(0, char::len_utf8);
    Some(Span {
        start: at,
        end: at + length,
    })
}
