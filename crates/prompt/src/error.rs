//! Errors of the prompt service, independent of HTTP.

use quillet_core::chat::ModelError;
use quillet_core::store::{EntryKind, StoreError};
use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Diagnostic, ErrorCode, nearest};
use quillet_template::RenderError;
use serde::Serialize;

use crate::script::ScriptFailure;

/// One invalid variable of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableError {
    /// Path of the variable, such as `variables.code`.
    pub path: String,
    /// The problem.
    pub message: String,
}

/// An invalid stored definition that a request depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenDefinition {
    /// Its kind.
    pub kind: EntryKind,
    /// Its name: the function name of a tool, the id of an extension.
    pub name: String,
    /// Storage location: a file or a key.
    pub origin: String,
    /// Its errors.
    pub diagnostics: Vec<Diagnostic>,
}

impl std::fmt::Display for BrokenDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, name, origin) = (self.kind.name(), &self.name, &self.origin);
        let reasons = list(&self.diagnostics);
        write!(
            f,
            "{kind} {name} is registered but invalid: {reasons} (stored at {origin})"
        )
    }
}

/// A failed tool call whose fallback value is in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolFailure {
    /// The tool's function name.
    pub tool: String,
    /// Stable code, such as `tool.timeout`.
    pub code: ErrorCode,
    /// Error message without addresses.
    pub message: String,
    /// Duration of the call in milliseconds.
    pub elapsed_ms: u64,
}

/// The error of a request to the prompt service.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use quillet_core::{Map, Message, Role, Value};
/// # use quillet_core::store::{EntryKey, EntryKind, Store};
/// # use quillet_core::tool::Tool;
/// # use quillet_prompt::*;
/// # use quillet_store::MemoryStore;
/// # use quillet_template::TemplateFactory;
/// # use quillet_test_support::EchoTools;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
/// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
/// # let formats = TemplateFactory::standard();
/// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
/// # let variables = Arc::new(Variables::new(store));
/// # let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
/// service.load().await.unwrap();
///
/// let variables = Map::default();
/// let input = RenderInput::new(&variables, "request-1");
/// match service.render("greet", &input).await {
///     Err(ServiceError::Missing { names, .. }) => assert_eq!(names, ["variables.name"]),
///     other => panic!("{other:?}"),
/// }
/// # });
/// ```
#[derive(Clone, Debug, thiserror::Error)]
pub enum ServiceError {
    /// The definition does not exist.
    #[error("{} {id:?} does not exist{}", .kind.name(), absent(.nearest.as_deref(), .broken.as_deref()))]
    NotFound {
        /// The requested kind.
        kind: EntryKind,
        /// The requested id.
        id: String,
        /// The most similar id.
        nearest: Option<String>,
        /// Invalid definition that would have provided it.
        broken: Option<Box<BrokenDefinition>>,
    },
    /// The definition is invalid.
    #[error("{} {id:?} is not valid: {}", .kind.name(), list(.diagnostics))]
    Invalid {
        /// Its kind.
        kind: EntryKind,
        /// Its id.
        id: String,
        /// Its errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// The request's variables do not match the prompt's parameters.
    #[error("variables do not match the parameters of {id:?}: {}", all(.problems))]
    Variables {
        /// The prompt.
        id: String,
        /// All errors.
        problems: Vec<VariableError>,
    },
    /// Variables that the template refers to are missing. Contains all of them.
    #[error("missing variables: {}", .names.join(", "))]
    Missing {
        /// Paths, in order of use.
        names: Vec<String>,
        /// Similar existing names for some of them.
        hints: Vec<String>,
        /// Locations where they are used.
        places: Vec<Diagnostic>,
    },
    /// Functions that the template calls are missing, or their tools are invalid. Contains all of
    /// them.
    #[error("{}", unknown(.names, .hints, .broken, .missing))]
    UnknownFunctions {
        /// Names, in order of use.
        names: Vec<String>,
        /// Similar existing names for some of them.
        hints: Vec<String>,
        /// Stored tools that are invalid.
        broken: Vec<BrokenDefinition>,
        /// Paths of variables that are also missing.
        missing: Box<[String]>,
        /// Locations where the names are used.
        places: Vec<Diagnostic>,
    },
    /// The template cannot be evaluated with these values, or a limit was reached.
    #[error(transparent)]
    Render(Box<RenderFailure>),
    /// The store does not answer and nothing is cached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model call failed.
    #[error("{error}{}", after(.failures))]
    Model {
        /// The error.
        #[source]
        error: ModelError,
        /// Tool calls that failed in the render and were replaced by their fallback values.
        failures: Vec<ToolFailure>,
    },
    /// A script failed.
    #[error("{0}")]
    Script(Box<ScriptFailure>),
    /// Prompts and scripts are nested too deeply.
    #[error("prompts and scripts are nested more than {most} levels deep, at {id:?}")]
    Depth {
        /// The innermost one.
        id: String,
        /// The limit.
        most: usize,
    },
}

/// Error of a render, and the tool calls that failed before it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}{}", after(.failures))]
pub struct RenderFailure {
    /// The error itself.
    pub error: RenderError,
    /// Tool calls that failed earlier in the render and were replaced by their fallback values.
    pub failures: Vec<ToolFailure>,
}

impl From<ModelError> for ServiceError {
    fn from(error: ModelError) -> Self {
        let failures = Vec::new();
        ServiceError::Model { error, failures }
    }
}

impl From<Box<RenderError>> for ServiceError {
    fn from(error: Box<RenderError>) -> Self {
        let failures = Vec::new();
        let error = *error;
        ServiceError::Render(Box::new(RenderFailure { error, failures }))
    }
}

impl ServiceError {
    /// Adds missing variables to an error about unknown functions, so that one response reports
    /// both. Other errors are returned unchanged.
    #[must_use]
    pub(crate) fn with_missing(mut self, variables: ServiceError) -> Self {
        if let ServiceError::UnknownFunctions { missing, hints, .. } = &mut self
            && let ServiceError::Missing {
                names,
                hints: more_hints,
                ..
            } = variables
        {
            *missing = names.into();
            hints.extend(more_hints);
        }
        self
    }

    /// Tool calls that failed before this error.
    #[must_use]
    pub fn failures(&self) -> &[ToolFailure] {
        match self {
            ServiceError::Render(failure) => &failure.failures,
            ServiceError::Model { failures, .. } => failures,
            _ => &[],
        }
    }

    /// Stable error code, as in response bodies.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            ServiceError::NotFound { .. } => ErrorCode::NotFound,
            ServiceError::Invalid { .. } => ErrorCode::DefinitionInvalid,
            ServiceError::Variables { .. } => ErrorCode::VariablesInvalid,
            ServiceError::Missing { .. } => ErrorCode::RenderMissingVariable,
            // If no name is unknown, the cause is an invalid tool.
            ServiceError::UnknownFunctions { names, .. } if names.is_empty() => {
                ErrorCode::RenderBrokenTool
            }
            ServiceError::UnknownFunctions { .. } => ErrorCode::RenderUnknownFunction,
            ServiceError::Render(failure) => failure.error.kind.code(),
            ServiceError::Store(error) => error.kind.code(),
            ServiceError::Model { error, .. } => error.kind.code(),
            ServiceError::Script(failure) => failure.code,
            ServiceError::Depth { .. } => ErrorCode::ScriptLimit,
        }
    }

    /// Code of the underlying error: for a script whose model failed, the model's. It determines
    /// status and exit code.
    #[must_use]
    pub fn root_code(&self) -> ErrorCode {
        match self {
            ServiceError::Script(failure) => {
                let model = failure.model.as_ref();
                model.map_or(failure.code, |error| error.kind.code())
            }
            other => other.code(),
        }
    }

    /// Converts the error for the caller of a prompt or script that runs as a tool.
    pub(crate) fn for_caller(&self) -> ToolError {
        let kind = match self {
            ServiceError::NotFound { .. } => ToolErrorKind::Unknown,
            ServiceError::Variables { .. } | ServiceError::Missing { .. } => {
                ToolErrorKind::Arguments
            }
            ServiceError::Script(failure) if failure.code == "script.input" => {
                ToolErrorKind::Arguments
            }
            ServiceError::Store(_) => ToolErrorKind::Transport,
            _ => ToolErrorKind::Remote,
        };
        let mut message = self.to_string();
        if let ServiceError::Variables { problems, .. } = self {
            for problem in problems {
                message.push_str(&format!("; {}: {}", problem.path, problem.message));
            }
        }
        ToolError::new(kind, message)
    }

    /// Creates an error for a missing definition, with the most similar existing id.
    pub(crate) fn not_found<'a>(
        kind: EntryKind,
        id: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        ServiceError::NotFound {
            kind,
            id: id.to_owned(),
            nearest: nearest(id, known).map(str::to_owned),
            broken: None,
        }
    }
}

fn absent(nearest: Option<&str>, broken: Option<&BrokenDefinition>) -> String {
    match (broken, nearest) {
        // An invalid definition explains more than a similar name.
        (Some(broken), _) => format!("; {broken}"),
        (None, Some(name)) => format!("; did you mean {name:?}?"),
        (None, None) => String::new(),
    }
}

fn list(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<String> = diagnostics.iter().map(Diagnostic::to_string).collect();
    texts.join("; ")
}

fn after(failures: &[ToolFailure]) -> String {
    let text = |failure: &ToolFailure| {
        let ToolFailure { tool, message, .. } = failure;
        format!("; before that tool {tool} failed: {message}")
    };
    failures.iter().map(text).collect()
}

fn all(problems: &[VariableError]) -> String {
    let text = |problem: &VariableError| format!("{}: {}", problem.path, problem.message);
    problems.iter().map(text).collect::<Vec<_>>().join("; ")
}

fn unknown(
    names: &[String],
    hints: &[String],
    broken: &[BrokenDefinition],
    missing: &[String],
) -> String {
    let mut parts: Vec<String> = broken.iter().map(ToString::to_string).collect();
    if !names.is_empty() {
        let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        let mut text = format!("function {} not defined", quoted.join(", "));
        if !hints.is_empty() {
            text.push_str(&format!(" ({})", hints.join("; ")));
        }
        parts.insert(0, text);
    }
    if !missing.is_empty() {
        parts.push(format!("missing variables: {}", missing.join(", ")));
    }
    parts.join("; ")
}
