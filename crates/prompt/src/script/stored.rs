//! Stored scripts, and the trait of their reader.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::tool::ToolSpec;
use serde_json::{Map as Object, Value as Tree};

use crate::checked::CheckResult;

/// The format of prompts that are scripts.
pub const SCRIPT_FORMAT: &str = "script";

/// A script that can be run.
#[derive(Clone)]
pub struct StoredScript {
    /// Its name inside scripts: `char/dobby.ai.yaml` for the id `char.dobby`.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its description and parameters. The name in the spec is not used here.
    pub spec: ToolSpec,
    /// Whether some of its tool calls need approval, so that a run may have to wait.
    pub asks: bool,
    /// Opaque value that the reader created.
    pub read: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for StoredScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StoredScript");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Scripts are equal if their texts are equal.
impl PartialEq for StoredScript {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for StoredScript {}

/// Parses stored scripts.
pub trait ScriptReader: Send + Sync + fmt::Debug {
    /// Parses a script. Locations in diagnostics refer to `text`.
    ///
    /// # Errors
    /// Returns all errors of the script.
    fn read(&self, name: &str, text: &Arc<str>) -> CheckResult<StoredScript>;
}

/// Returns the script text of a definition whose format is `script`, or an error if the text is
/// missing. Returns `None` for other formats.
pub(crate) fn source(definition: &Object<String, Tree>) -> Option<Result<Arc<str>, String>> {
    let format = definition.get("format").and_then(Tree::as_str)?;
    if format != SCRIPT_FORMAT {
        return None;
    }
    let source = definition.get("source").and_then(Tree::as_str);
    let help = "a script needs `source`, a string that contains the text of an .ai.yaml file";
    Some(source.map(Arc::from).ok_or_else(|| help.to_owned()))
}

/// A definition, and its script text or the error.
pub(crate) type ScriptDefinition = (Object<String, Tree>, Result<Arc<str>, String>);

/// Parses a stored text that holds a script; `None` for other definitions.
pub(crate) fn script_text(text: &str) -> Option<ScriptDefinition> {
    // A cheap check, so that other definitions are not parsed twice.
    if !text.contains("\"script\"") {
        return None;
    }
    let definition: Object<String, Tree> = serde_json::from_str(text).ok()?;
    let text = source(&definition)?;
    Some((definition, text))
}

/// Returns the script text of a stored definition, whether the script is valid or not.
///
/// # Examples
///
/// ```
/// use quillet_prompt::{script_definition, script_source};
///
/// let stored = script_definition("- user: Hello");
/// assert_eq!(script_source(&stored).as_deref(), Some("- user: Hello"));
/// assert_eq!(script_source(r#"{"prompt": "Hello"}"#), None);
/// ```
#[must_use]
pub fn script_source(text: &str) -> Option<Arc<str>> {
    script_text(text)?.1.ok()
}

/// Creates the stored definition of a script.
#[must_use]
pub fn script_definition(source: &str) -> String {
    serde_json::json!({"format": SCRIPT_FORMAT, "source": source}).to_string()
}

/// A reader for services without scripts.
#[derive(Debug)]
pub(crate) struct NoScripts;

impl ScriptReader for NoScripts {
    fn read(&self, name: &str, _: &Arc<str>) -> CheckResult<StoredScript> {
        let message = "scripts are not supported here";
        let found = Diagnostic::error("script.unread", name, message);
        Err(vec![
            found.help("set a script reader with Catalogue::with_scripts"),
        ])
    }
}
