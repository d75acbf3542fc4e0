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
    /// Its name as scripts see it: `char/dobby.ai.yaml` for the id `char.dobby`.
    pub name: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// What it is called, if it says so.
    pub title: Option<String>,
    /// What it is and takes. The name in it is not used here.
    pub spec: ToolSpec,
    /// Whether somebody is asked before it calls some of its tools, so that its run is one that
    /// can wait.
    pub asks: bool,
    /// What its reader made of it.
    pub read: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for StoredScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StoredScript");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

/// Scripts are what their text says.
impl PartialEq for StoredScript {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.text == other.text
    }
}

impl Eq for StoredScript {}

/// Reads stored scripts.
pub trait ScriptReader: Send + Sync + fmt::Debug {
    /// Reads a script; findings have their places in `text`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn read(&self, name: &str, text: &Arc<str>) -> CheckResult<StoredScript>;
}

/// The text that a definition gives as a script's, if it says that it is one; or what it
/// lacks.
pub(crate) fn source(definition: &Object<String, Tree>) -> Option<Result<Arc<str>, String>> {
    let format = definition.get("format").and_then(Tree::as_str)?;
    if format != SCRIPT_FORMAT {
        return None;
    }
    let source = definition.get("source").and_then(Tree::as_str);
    let help = "a script needs source, a string with the text of an .ai.yaml file";
    Some(source.map(Arc::from).ok_or_else(|| help.to_owned()))
}

/// A definition, and the text of the script in it or what that lacks.
pub(crate) type ScriptDefinition = (Object<String, Tree>, Result<Arc<str>, String>);

/// The definition and the text of the script that a stored text holds, if it says that it holds one.
pub(crate) fn script_text(text: &str) -> Option<ScriptDefinition> {
    // Most definitions are no scripts, and need not be read twice for that.
    if !text.contains("\"script\"") {
        return None;
    }
    let definition: Object<String, Tree> = serde_json::from_str(text).ok()?;
    let text = source(&definition)?;
    Some((definition, text))
}

/// The text of the script that a stored text holds, whether it can be run or not.
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

/// The definition of a script, as it is stored.
#[must_use]
pub fn script_definition(source: &str) -> String {
    serde_json::json!({"format": SCRIPT_FORMAT, "source": source}).to_string()
}

/// No scripts.
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
