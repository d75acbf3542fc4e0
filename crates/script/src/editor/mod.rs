//! Answers for editors: what is wrong in a script, what stands somewhere, what could stand there.
//!
//! Everything here is a question to a [`ScriptDocument`], asked with bytes of its text. Nothing is run
//! and nothing is read but through the given [`Library`]. The protocol that editors speak is no
//! part of it; [`position`] says how their places are meant.

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

/// A script as it is in an editor.
#[derive(Clone, Debug)]
pub struct ScriptDocument {
    /// Its text and its name.
    pub source: Arc<ScriptSource>,
    /// What was understood of it.
    pub script: Arc<Script>,
    /// What the reader found wrong.
    pub findings: Vec<Diagnostic>,
}

/// What a document may refer to: a library of scripts, and tools.
#[derive(Clone, Copy, Debug)]
pub struct EditorContext<'a> {
    /// Where scripts are found.
    pub library: &'a dyn Library,
    /// Tools from outside of scripts.
    pub tools: &'a dyn Tools,
}

impl ScriptDocument {
    /// Reads a text.
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

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

/// Everything that is wrong with a document, by place: what the reader found, and what
/// `quillet check` finds.
pub async fn diagnostics(document: &ScriptDocument, around: EditorContext<'_>) -> Vec<Diagnostic> {
    let mut found = document.findings.clone();
    found.extend(library::check(&document.script, around.library, around.tools).await);
    found.sort_by_key(|found| found.span.map(|span| span.start));
    found
}

/// The document in its canonical layout (`quillet fmt`); `None` where it cannot be read.
#[must_use]
pub fn formatted(document: &ScriptDocument) -> Option<String> {
    format::format(&document.source).ok()
}

fn holds(span: Span, at: usize) -> bool {
    (span.start..=span.end).contains(&at)
}
