//! Options of built-in tools in a request, and their errors.

use std::sync::Arc;

use quillet_core::ErrorCode;

use super::knowledge::KnowledgeBase;

/// Options that a request sets for a built-in tool.
#[derive(Clone, Debug, Default)]
pub struct BuiltinOptions {
    /// The search engine; the default engine if `None`.
    pub engine: Option<String>,
    /// Default number of results, if the model does not request a number.
    pub max_results: Option<u32>,
    /// Knowledge base of the conversation, for the knowledge tools.
    pub knowledge: Option<Arc<KnowledgeBase>>,
}

/// Error for a built-in tool that cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// The name is unknown.
    #[error("unknown built-in tool {name:?} ({hint})")]
    Unknown {
        /// The requested name.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// The tool is not configured.
    #[error("the built-in tool {name} is not configured ({mend})")]
    NotConfigured {
        /// The tool.
        name: &'static str,
        /// The setting to change.
        mend: &'static str,
    },
    /// An option refers to something unknown.
    #[error("{0}")]
    Option(String),
}

impl BuiltinError {
    /// Returns the code used in warnings, which does not change between versions.
    ///
    /// ```
    /// use quillet_core::ErrorCode;
    /// use quillet_tools::builtin::BuiltinError;
    ///
    /// let error = BuiltinError::Option("unknown engine".to_owned());
    /// assert_eq!(error.code(), ErrorCode::ToolOption);
    /// ```
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            BuiltinError::Unknown { .. } => ErrorCode::ToolUnknown,
            BuiltinError::NotConfigured { .. } => ErrorCode::ToolNotConfigured,
            BuiltinError::Option(_) => ErrorCode::ToolOption,
        }
    }
}
