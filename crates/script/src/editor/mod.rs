//! Editor features: diagnostics, hovers, completion and navigation in scripts.
//!
//! All functions query a [`ScriptDocument`] by byte offsets. They run nothing, and read other files
//! only through the given [`Library`]. The editor protocol is not part of this module; [`position`]
//! converts its positions.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span};

use crate::format;
use crate::host::Tools;
use crate::library::{self, Library};
use crate::reader;
use crate::syntax::{Script, ScriptSource};

mod complete;
mod define;
mod hover;
mod hover_text;
pub mod keys;
mod names;
mod overlay;
pub mod position;
mod related;
mod render;
mod role_script;
mod symbols;
mod tokens;

pub use complete::{CompletionItem, CompletionKind, complete};
pub use define::{SourceLocation, definition, references, rename};
pub use hover::{Hover, hover};
pub use overlay::Overlay;
pub use related::related;
pub use symbols::{Symbol, SymbolKind, folds, symbols};
pub use tokens::tokens;

/// A script that is open in an editor.
#[derive(Clone, Debug)]
pub struct ScriptDocument {
    /// The text and name of the script.
    pub source: Arc<ScriptSource>,
    /// The parsed script, without invalid parts.
    pub script: Arc<Script>,
    /// Problems found by the parser.
    pub findings: Vec<Diagnostic>,
}

/// The scripts and tools that a document can refer to.
#[derive(Clone, Copy, Debug)]
pub struct EditorContext<'a> {
    /// The library of scripts.
    pub library: &'a dyn Library,
    /// Tools that are defined outside of scripts.
    pub tools: &'a dyn Tools,
}

impl ScriptDocument {
    /// Parses the text of a script.
    ///
    /// ```
    /// use quillet_script::editor::ScriptDocument;
    /// use quillet_script::syntax::ScriptSource;
    /// use std::sync::Arc;
    ///
    /// let source = ScriptSource {
    ///     name: "greet.ai.yaml".into(),
    ///     path: None,
    ///     text: "user: Greet {{name}}\nasistant: \"[[greeting]]\"\n".into(),
    /// };
    /// let document = ScriptDocument::new(Arc::new(source));
    /// assert_eq!(document.findings[0].position.unwrap().line, 2);
    /// ```
    #[must_use]
    pub fn new(source: Arc<ScriptSource>) -> Self {
        let read = reader::read(source.clone());
        ScriptDocument {
            source,
            script: Arc::new(read.script),
            findings: read.diagnostics,
        }
    }

    /// Returns the text of the script.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

/// Returns all diagnostics of a document, sorted by location. This includes diagnostics of the
/// parser and of `quillet check`.
pub async fn diagnostics(document: &ScriptDocument, around: EditorContext<'_>) -> Vec<Diagnostic> {
    let mut found = document.findings.clone();
    found.extend(library::check(&document.script, around.library, around.tools).await);
    found.sort_by_key(|found| found.span.map(|span| span.start));
    found
}

/// Formats a document in its canonical layout (`quillet fmt`). Returns `None` if the document is
/// invalid.
#[must_use]
pub fn formatted(document: &ScriptDocument) -> Option<String> {
    format::format(&document.source).ok()
}

fn holds(span: Span, at: usize) -> bool {
    (span.start..=span.end).contains(&at)
}
