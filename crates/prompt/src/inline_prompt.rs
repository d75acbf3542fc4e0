//! Prompts that are in no store.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A prompt as somebody has written it, who has not stored it.
#[derive(Clone, Debug, PartialEq)]
pub enum InlinePrompt {
    /// A definition: templates, or a script.
    Definition(Map<String, Value>),
    /// A prompt file ([`crate::file::kind`]). It gets neither environment nor other files.
    File {
        /// Its name, whose ending says how it is read.
        name: Arc<str>,
        /// All of it.
        text: Arc<str>,
    },
}

impl From<Map<String, Value>> for InlinePrompt {
    fn from(definition: Map<String, Value>) -> Self {
        InlinePrompt::Definition(definition)
    }
}
