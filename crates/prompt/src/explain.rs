//! Explanation of a render. Values are not included: a caller may render with shared variables that
//! it may not read.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use quillet_core::Map;
use quillet_core::lock::lock;
use quillet_core::store::EntryKey;
use quillet_template::References;
use serde::Serialize;

use crate::context::REQUEST_ROOTS;
use crate::snapshot::PromptOrigin;
use crate::variables::Variables;

/// Explanation of a render: its template, variables and calls.
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
/// let variables = Map::from([("name", "Ada")]);
/// let input = RenderInput { explain: true, ..RenderInput::new(&variables, "request-1") };
/// let explanation = service.render("greet", &input).await.unwrap().explanation.unwrap();
/// assert_eq!(explanation.template.format, "go");
/// assert_eq!(explanation.variables[0].path, "variables.name");
/// assert_eq!(explanation.variables[0].from, VariableSource::Request);
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The template.
    pub template: TemplateFacts,
    /// The variables that the template references, in order of use.
    pub variables: Vec<VariableFacts>,
    /// Tool calls in the order in which they ended.
    pub calls: Vec<CallFacts>,
}

/// The template of a render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateFacts {
    /// The prompt.
    pub id: String,
    /// Revision of the stored definition, or of the template texts if the request contains the
    /// template.
    pub version: String,
    /// Version number, if the request selected a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Storage location: a file or a key. `None` if the request contains the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The template language.
    pub format: String,
    /// Other prompts whose templates were called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// Whether the compiled template was cached.
    pub cached: bool,
    /// Number of evaluations: one, plus one after each round of tool calls.
    pub passes: usize,
}

/// The source of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableSource {
    /// The request.
    Request,
    /// The default in the prompt's own parameters.
    Default,
    /// The default in the parameters that the extension declares.
    Extension,
    /// A shared variable.
    Shared,
    /// The variable is missing.
    Missing,
}

/// One variable of a render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableFacts {
    /// Its path: `variables.code`, `vscode.lang`.
    pub path: String,
    /// The source of the value.
    pub from: VariableSource,
    /// Keys of the shared variables that the value consists of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<SharedFacts>,
}

/// A shared variable that the render used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SharedFacts {
    /// Its key in the store, without the store's prefix.
    pub key: String,
    /// Age of the value in milliseconds; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
    /// Whether the value is stale because the store is unavailable.
    pub stale: bool,
}

/// One call of a render.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallFacts {
    /// The tool's function name.
    pub tool: String,
    /// Time from the start of the render to the start of the call, in milliseconds.
    pub started_ms: u64,
    /// Duration of the call in milliseconds.
    pub elapsed_ms: u64,
    /// `ok`, or the stable error code if the fallback value was used.
    pub outcome: &'static str,
    /// Error message without addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Log of the tool calls of one render, in the order in which they end.
#[derive(Debug, Default)]
pub(crate) struct CallLog(Mutex<Vec<CallFacts>>);

impl CallLog {
    pub(crate) fn add(&self, call: CallFacts) {
        lock(&self.0).push(call);
    }

    pub(crate) fn into_calls(self) -> Vec<CallFacts> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a duration to whole milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Context for resolving the variables of one render.
pub(crate) struct VariableScope<'a> {
    pub(crate) given: &'a Map,
    /// Request variables with defaults.
    pub(crate) bound: &'a Map,
    pub(crate) shared: &'a Map,
    /// Keys of the shared variables that the render considered.
    pub(crate) keys: &'a [EntryKey],
    pub(crate) variables: &'a Variables,
    /// Whether request variables are also top-level names.
    pub(crate) at_root: bool,
    pub(crate) origin: PromptOrigin,
}

impl VariableScope<'_> {
    pub(crate) fn facts(&self, references: &References) -> Vec<VariableFacts> {
        let mut facts: Vec<VariableFacts> = Vec::new();
        for variable in &references.variables {
            let path = variable.path.join(".");
            if facts.iter().all(|known| known.path != path) {
                facts.push(self.fact(&variable.path, path));
            }
        }
        facts
    }

    fn fact(&self, path: &[String], joined: String) -> VariableFacts {
        let own = match path {
            [root, name, ..] if REQUEST_ROOTS.contains(&root.as_str()) => Some(name.as_str()),
            [root] if REQUEST_ROOTS.contains(&root.as_str()) => Some(""),
            [name, ..] if self.at_root => Some(name.as_str()),
            _ => None,
        };
        let from = match own {
            // An empty path stands for all request variables.
            Some("") => Some(VariableSource::Request),
            Some(name) if self.given.get(name).is_some() => Some(VariableSource::Request),
            Some(name) if self.bound.get(name).is_some() => Some(match self.origin {
                PromptOrigin::Direct => VariableSource::Default,
                PromptOrigin::Extension => VariableSource::Extension,
            }),
            _ => None,
        };
        let is_shared = || {
            let root = path.first();
            root.is_some_and(|root| self.shared.get(root).is_some())
        };
        let from = match from {
            Some(from) => from,
            None if is_shared() => VariableSource::Shared,
            None => VariableSource::Missing,
        };
        let keys = match from {
            VariableSource::Shared => self.keys_of(path),
            _ => Vec::new(),
        };
        VariableFacts {
            path: joined,
            from,
            keys,
        }
    }

    /// Shared variables at or below a path.
    fn keys_of(&self, path: &[String]) -> Vec<SharedFacts> {
        let holds = |key: &&EntryKey| {
            let id = key.id();
            let joined = path.join(".");
            let under = |long: &str, short: &str| {
                let rest = long.strip_prefix(short);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            under(&joined, &id) || under(&id, &joined)
        };
        let fact = |key: &EntryKey| {
            let age = self.variables.age(key);
            SharedFacts {
                key: key.to_string(),
                age_ms: age.map(millis),
                stale: age.is_none(),
            }
        };
        self.keys.iter().filter(holds).map(fact).collect()
    }
}
