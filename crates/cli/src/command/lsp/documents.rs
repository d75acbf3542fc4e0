//! Documents that are open in the editor.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use quillet_core::Span;
use quillet_script::editor::ScriptDocument;
use quillet_script::editor::position::{EditorPosition, Encoding, LineIndex};
use quillet_script::syntax::ScriptSource;
use serde::Deserialize;

use super::uri;
use crate::script_file;

/// Maximum size of a document in bytes. Real scripts are far smaller.
const MOST_BYTES: usize = 1 << 20;

/// One version of a document. Cheap to clone, and parsed on first use.
#[derive(Clone, Debug)]
pub(super) struct OpenDocument {
    pub(super) uri: Arc<str>,
    pub(super) version: Option<i64>,
    pub(super) source: Arc<ScriptSource>,
    pub(super) lines: Arc<LineIndex>,
    pub(super) kind: DocumentKind,
    read: Arc<OnceLock<ScriptDocument>>,
}

/// Kind of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    /// A script.
    Script,
    /// Tests of scripts.
    Fixture,
    /// A script or fixture of more than [`MOST_BYTES`].
    TooLong,
    /// Not a Quillet file: some editors send every YAML file.
    Other,
}

/// A document change, as defined by the protocol.
#[derive(Debug, Deserialize)]
pub(super) struct ContentChange {
    pub(super) range: Option<LspRange>,
    pub(super) text: String,
}

/// A range, as defined by the protocol.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct LspRange {
    pub(super) start: LspPosition,
    pub(super) end: LspPosition,
}

/// A position, as defined by the protocol.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct LspPosition {
    line: u32,
    character: u32,
}

impl From<LspPosition> for EditorPosition {
    fn from(place: LspPosition) -> Self {
        EditorPosition {
            line: place.line,
            character: place.character,
        }
    }
}

impl OpenDocument {
    pub(super) fn new(uri: &str, version: Option<i64>, text: String, encoding: Encoding) -> Self {
        // The editor may open a file through a link, so the real path identifies it. A new file has
        // no real path yet.
        let path = uri::path(uri).map(|path| path.canonicalize().unwrap_or(path));
        let kind = kind(path.as_ref(), text.len());
        let name = path.as_ref().map(|path| path.display().to_string());
        let lines = Arc::new(LineIndex::new(&text, encoding));
        OpenDocument {
            uri: uri.into(),
            version,
            source: Arc::new(ScriptSource {
                name: name.unwrap_or_else(|| uri.to_owned()),
                path,
                text: text.into(),
            }),
            lines,
            kind,
            // The document is parsed on first use, because many versions are replaced before a
            // request needs them.
            read: Arc::default(),
        }
    }

    /// Applies changes in order. Each one refers to the text that the previous one produced.
    pub(super) fn changed(
        &self,
        version: Option<i64>,
        changes: Vec<ContentChange>,
        encoding: Encoding,
    ) -> Self {
        let mut text = self.source.text.to_string();
        let mut lines = None;
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => {
                    // Each range refers to the text after the changes before it.
                    let known = lines.as_ref().unwrap_or(&*self.lines);
                    let start = known.byte(&text, range.start.into());
                    // `max`, because `replace_range` panics on a range that ends before it starts.
                    let end = known.byte(&text, range.end.into()).max(start);
                    text.replace_range(start..end, &change.text);
                }
            }
            lines = Some(LineIndex::new(&text, encoding));
        }
        OpenDocument::new(&self.uri, version, text, encoding)
    }

    /// Returns the parsed document.
    pub(super) fn document(&self) -> &ScriptDocument {
        self.read
            .get_or_init(|| ScriptDocument::new(self.source.clone()))
    }

    pub(super) fn byte(&self, place: LspPosition) -> usize {
        self.lines.byte(&self.source.text, place.into())
    }

    pub(super) fn positions(&self, span: Span) -> (EditorPosition, EditorPosition) {
        let at = |byte| self.lines.position(&self.source.text, byte);
        (at(span.start), at(span.end))
    }
}

fn kind(path: Option<&PathBuf>, length: usize) -> DocumentKind {
    let kind = match path {
        Some(path) if !script_file::is_script_or_fixture(path) => return DocumentKind::Other,
        Some(path) if script_file::is_fixture(path) => DocumentKind::Fixture,
        // An unsaved document has no file extension yet.
        Some(_) | None => DocumentKind::Script,
    };
    if length > MOST_BYTES {
        DocumentKind::TooLong
    } else {
        kind
    }
}
