//! Errors in the common form that each language converts to its exceptions.

use quillet::Error;
use quillet::core::store::StoreError;
use quillet::core::{Diagnostic, ErrorCode, LineColumn};
use quillet::hosting::definitions::DefinitionError;
use quillet::prompt::ServiceError;
use quillet::script::{ErrorKind, ScriptError};
use quillet::sql::guard::GuardError;

/// Kind of exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionKind {
    /// The prompt, version or label does not exist.
    NotFound,
    /// A definition is invalid.
    Syntax,
    /// A variable is missing.
    Undefined,
    /// A variable has an invalid value.
    Variable,
    /// A limit was reached.
    Limit,
    /// A prompt cannot be rendered.
    Render,
    /// An argument is invalid.
    Option,
    /// A store operation failed.
    Store,
    /// A script failed.
    Script,
    /// The guard rejected a query.
    Query,
    /// Any other error.
    Other,
}

/// Error for the host language.
#[derive(Clone, Debug)]
pub struct BindingError {
    /// Kind of exception.
    pub kind: ExceptionKind,
    /// The stable code.
    pub code: &'static str,
    /// The problem and its location, without the hint.
    pub message: String,
    /// The source of the problem; empty if there is none.
    pub source: Box<str>,
    /// The location in that source.
    pub position: Option<LineColumn>,
    /// Suggested fix.
    pub hint: Option<Box<str>>,
    /// All diagnostics.
    pub diagnostics: Box<[Diagnostic]>,
}

impl BindingError {
    /// Creates an error without a location.
    pub fn new(
        kind: ExceptionKind,
        code: impl Into<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        BindingError {
            kind,
            code: code.into(),
            message: message.into(),
            source: Box::default(),
            position: None,
            hint: None,
            diagnostics: Box::default(),
        }
    }

    /// Creates the error for an invalid argument.
    #[must_use]
    pub fn option(message: impl Into<String>, hint: impl Into<Box<str>>) -> Self {
        BindingError {
            hint: Some(hint.into()),
            ..BindingError::new(ExceptionKind::Option, "option.value", message)
        }
    }

    pub(crate) fn given_up() -> Self {
        BindingError::new(
            ExceptionKind::Other,
            "error",
            "it was cancelled before it ended",
        )
    }

    /// Adds diagnostics; the first one has the location and the hint.
    fn with_findings(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        if let Some(first) = diagnostics.first() {
            self.source = first.source.as_str().into();
            self.position = first.position;
            self.hint = first.help.as_deref().map(Into::into);
        }
        self.diagnostics = diagnostics.into();
        self.without_hint()
    }

    /// Removes the hint at the end of a diagnostic, because an exception shows it separately.
    fn without_hint(mut self) -> Self {
        if let Some(hint) = &self.hint
            && let Some(rest) = self.message.strip_suffix(&format!(" ({hint})"))
        {
            self.message.truncate(rest.len());
        }
        self
    }
}

impl From<Error> for BindingError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Service(error) => (*error).into(),
            Error::Script(error) => (*error).into(),
            Error::Setting(_) | Error::Config(_) | Error::Missing(_) => {
                BindingError::new(ExceptionKind::Option, "option.value", message)
            }
            Error::Findings(found) => {
                let found = found.into_iter().map(|finding| finding.diagnostic);
                BindingError::new(ExceptionKind::Option, "option.value", message)
                    .with_findings(found.collect())
            }
            _ => BindingError::new(ExceptionKind::Other, "error", message),
        }
    }
}

impl From<ServiceError> for BindingError {
    fn from(error: ServiceError) -> Self {
        let code = error.code();
        let kind = match &error {
            ServiceError::NotFound { .. } => ExceptionKind::NotFound,
            ServiceError::Invalid { .. } => ExceptionKind::Syntax,
            ServiceError::Variables { .. } => ExceptionKind::Variable,
            ServiceError::Missing { .. } => ExceptionKind::Undefined,
            ServiceError::Store(_) => ExceptionKind::Store,
            ServiceError::Script(_) => ExceptionKind::Script,
            ServiceError::Depth { .. } => ExceptionKind::Limit,
            _ if is_limit(code) => ExceptionKind::Limit,
            _ if matches!(code, ErrorCode::RenderMissingVariable) => ExceptionKind::Undefined,
            _ => ExceptionKind::Render,
        };
        let refusal = BindingError::new(kind, code, error.to_string());
        match error {
            ServiceError::Invalid { diagnostics, .. } => refusal.with_findings(diagnostics),
            ServiceError::Script(failure) => refusal.with_findings(failure.diagnostics),
            ServiceError::Missing { places, hints, .. }
            | ServiceError::UnknownFunctions { places, hints, .. } => {
                let refusal = refusal.with_findings(places);
                let hint = (!hints.is_empty()).then(|| hints.join("; ").into());
                let hint = hint.or_else(|| refusal.hint.clone());
                BindingError { hint, ..refusal }.without_hint()
            }
            ServiceError::Render(failure) => BindingError {
                source: failure.error.source_name.into(),
                position: failure.error.position,
                hint: failure.error.help.map(Into::into),
                ..refusal
            }
            .without_hint(),
            _ => refusal,
        }
    }
}

fn is_limit(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::RenderLimit | ErrorCode::RenderTimeout)
}

impl From<ScriptError> for BindingError {
    fn from(error: ScriptError) -> Self {
        let kind = match error.kind {
            ErrorKind::Limit => ExceptionKind::Limit,
            _ => ExceptionKind::Script,
        };
        let refusal = BindingError::new(kind, error.kind.code(), error.to_string());
        refusal.with_findings(error.diagnostics)
    }
}

impl From<StoreError> for BindingError {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<DefinitionError> for BindingError {
    fn from(error: DefinitionError) -> Self {
        let kind = match &error {
            DefinitionError::NotFound { .. }
            | DefinitionError::Version { .. }
            | DefinitionError::Label { .. } => ExceptionKind::NotFound,
            DefinitionError::Id(_)
            | DefinitionError::Mark { .. }
            | DefinitionError::LabelName { .. } => ExceptionKind::Option,
            DefinitionError::Broken { .. } => ExceptionKind::Syntax,
            _ => ExceptionKind::Store,
        };
        let refusal = BindingError::new(kind, error.code(), error.to_string());
        match error {
            DefinitionError::Broken { diagnostics, .. } => refusal.with_findings(diagnostics),
            _ => refusal,
        }
    }
}

impl From<GuardError> for BindingError {
    fn from(error: GuardError) -> Self {
        BindingError {
            position: error.position,
            hint: error.help.map(Into::into),
            ..BindingError::new(ExceptionKind::Query, error.code, error.message)
        }
    }
}
