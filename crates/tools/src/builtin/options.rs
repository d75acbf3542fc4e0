//! What a request may say of a built-in tool, and why it cannot have one.

use std::sync::Arc;

use quillet_core::ErrorCode;

use super::knowledge::KnowledgeBase;

/// Options of a built-in tool in a request.
#[derive(Clone, Debug, Default)]
pub struct BuiltinOptions {
    /// The search engine to ask; the first of the configuration where `None`.
    pub engine: Option<String>,
    /// The most results of a search, where the model does not say how many.
    pub max_results: Option<u32>,
    /// The documents that the conversation may read, for the knowledge tools.
    pub knowledge: Option<Arc<KnowledgeBase>>,
}

/// The error of a built-in tool that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// The name is none of them.
    #[error("there is no built-in tool {name:?} ({hint})")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// It is not set up here.
    #[error("the built-in tool {name} is not set up ({mend})")]
    NotConfigured {
        /// The tool.
        name: &'static str,
        /// What to set.
        mend: &'static str,
    },
    /// An option names something that is not there.
    #[error("{0}")]
    Option(String),
}

impl BuiltinError {
    /// Stable code, as in warnings.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            BuiltinError::Unknown { .. } => ErrorCode::ToolUnknown,
            BuiltinError::NotConfigured { .. } => ErrorCode::ToolNotConfigured,
            BuiltinError::Option(_) => ErrorCode::ToolOption,
        }
    }
}
