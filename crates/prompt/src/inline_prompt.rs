//! Prompts that are not stored.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Prompt from a request or a file.
#[derive(Clone, Debug, PartialEq)]
pub enum InlinePrompt {
    /// A definition: templates, or a script.
    Definition(Map<String, Value>),
    /// A prompt file ([`crate::file::kind`]). It cannot refer to environment variables or other
    /// files.
    File {
        /// Its name, whose extension determines the format.
        name: Arc<str>,
        /// Its complete text.
        text: Arc<str>,
    },
}

impl From<Map<String, Value>> for InlinePrompt {
    fn from(definition: Map<String, Value>) -> Self {
        InlinePrompt::Definition(definition)
    }
}
