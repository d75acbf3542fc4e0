//! Tool `read_file`: reads lines of a text file.

use std::io::{BufRead, BufReader, Read, Take};
use std::sync::{Arc, LazyLock};

use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Value as Json, json};

use super::workspace::{PathError, Workspace};
use super::{blocking, count, word};
use crate::builtin::work::{BuiltinHandler, BuiltinSpec, failure};

/// Maximum number of lines per call, as in Chat Shell.
const MOST_LINES: u64 = 500;
/// Maximum bytes of text per call; further lines come with the next call.
const MOST_TEXT: usize = 256 << 10;
/// Maximum bytes of a file to scan for lines.
const MOST_BYTES: u64 = 64 << 20;
/// A file with a zero byte near its beginning is binary, as in git.
const BEGINNING: usize = 8_000;

pub(crate) static SHAPE: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "read_file",
        "Reads lines of a text file of the workspace.",
        &json!({
            "file_path": {"type": "string", "description": "Path of the file, relative to the workspace."},
            "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first line to give; the file's first is 0."},
            "limit": {"type": "integer", "minimum": 1, "default": 200, "description": "The most lines to give, up to 500."},
        }),
        &["file_path"],
    )
});

/// The tool `read_file` for one workspace.
#[derive(Debug)]
pub(crate) struct ReadFile(pub(crate) Arc<Workspace>);

impl BuiltinHandler for ReadFile {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        let path = word(arguments, "file_path").to_owned();
        let offset = count(arguments, "offset", 0);
        let limit = count(arguments, "limit", 200).clamp(1, MOST_LINES);
        let workspace = self.0.clone();
        Box::pin(async move {
            let told = json!({"file_path": path});
            let answer = blocking(move || read(&workspace, &path, offset, limit)).await;
            answer.map_err(|refusal| refusal.into_tool_error("read_file", told))
        })
    }
}

impl PathError {
    /// Error for the model: the problem and its path.
    pub(super) fn into_tool_error(self, tool: &str, mut about: Json) -> ToolError {
        about["error"] = self.why.clone().into();
        failure(self.kind, format!("{tool}: {}", self.why), &about)
    }
}

/// Result of reading a file.
#[derive(Default)]
struct FileExcerpt {
    text: Vec<u8>,
    read: u64,
    /// Number of lines of the whole file, if its end was reached.
    total: Option<u64>,
    cut: bool,
}

fn read(workspace: &Workspace, path: &str, offset: u64, limit: u64) -> Result<Json, PathError> {
    let (file, metadata) = workspace.file(path)?;
    let mut reader = BufReader::with_capacity(64 << 10, file.take(MOST_BYTES));
    let wrong = |error: std::io::Error| {
        PathError::new(ToolErrorKind::Transport, format!("{path:?}: {error}"))
    };
    let beginning = reader.fill_buf().map_err(wrong)?;
    if beginning.iter().take(BEGINNING).any(|byte| *byte == 0) {
        let why = format!(
            "{path:?} is a binary file of {} bytes, not text",
            metadata.len()
        );
        return Err(PathError::new(ToolErrorKind::Arguments, why));
    }
    let whole = metadata.len() <= MOST_BYTES;
    let lines = collect(&mut reader, offset, limit, whole).map_err(wrong)?;
    if lines.read == 0 && offset > 0 {
        let why = match lines.total {
            Some(total) => {
                format!("{path:?} has {total} lines, counted from 0, and no line {offset}")
            }
            None => format!("line {offset} of {path:?} is not within its first {MOST_BYTES} bytes"),
        };
        return Err(PathError::new(ToolErrorKind::Arguments, why));
    }
    let next = offset + lines.read;
    let has_more = lines.total.is_none_or(|total| next < total);
    let mut answer = json!({
        "content": String::from_utf8_lossy(&lines.text),
        "file_path": path,
        "offset": offset,
        "lines_read": lines.read,
        "total_lines": lines.total.map_or(json!(-1), Json::from),
        "has_more": has_more,
        "next_offset": has_more.then_some(next),
    });
    if lines.cut {
        let note = format!("the line is longer than {MOST_TEXT} bytes; this is its beginning");
        answer["note"] = note.into();
    }
    Ok(answer)
}

/// Collects lines from `offset` on, then counts the remaining lines.
fn collect(
    reader: &mut BufReader<Take<impl Read>>,
    offset: u64,
    limit: u64,
    whole: bool,
) -> std::io::Result<FileExcerpt> {
    let mut lines = FileExcerpt::default();
    let mut total = 0;
    let mut full = false;
    loop {
        let wanted = total >= offset && lines.read < limit && !full;
        let before = lines.text.len();
        let (seen, kept) = line(reader, wanted.then_some(&mut lines.text))?;
        if seen == 0 {
            break;
        }
        total += 1;
        if !wanted {
            continue;
        }
        // At least one line is returned, truncated if necessary, so that the model always makes
        // progress.
        full = lines.text.len() >= MOST_TEXT;
        if !kept && before > 0 {
            // Drops the part of a line that did not fit; the next read begins with that line.
            lines.text.truncate(before);
            continue;
        }
        lines.cut = !kept;
        lines.read += 1;
    }
    lines.total = whole.then_some(total);
    Ok(lines)
}

/// Reads one line with its line end. Returns its length, and whether all of it was stored.
fn line(
    reader: &mut impl BufRead,
    mut text: Option<&mut Vec<u8>>,
) -> std::io::Result<(usize, bool)> {
    let (mut seen, mut kept) = (0, true);
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
        let length = piece.len();
        if let Some(text) = text.as_deref_mut() {
            let room = MOST_TEXT.saturating_sub(text.len());
            text.extend_from_slice(&piece[..length.min(room)]);
            kept &= length <= room;
        }
        reader.consume(length);
        seen += length;
        if end.is_some() || length == 0 {
            return Ok((seen, kept));
        }
    }
}
