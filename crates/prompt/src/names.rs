//! Resolves the names in a template: tools, and variables that must exist.

use std::sync::Arc;

use quillet_core::store::EntryKey;
use quillet_core::tool::Tool;
use quillet_core::{Map, Value, nearest};
use quillet_template::{Missing, References, TemplateFormat, VariableReference};
use serde_json::Value as Tree;

use crate::context::REQUEST_ROOTS;
use crate::definition::Prompt;
use crate::error::{BrokenDefinition, ServiceError};
use crate::functions::is_built_in;
use crate::snapshot::CatalogueSnapshot;

/// Maximum number of unused variables to report, because a request may contain any number.
const MOST_UNUSED: usize = 20;

/// A variable of a request that its prompt neither declares nor uses.
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
/// let variables = Map::from([("name", "Ada"), ("city", "Oslo")]);
/// let input = RenderInput::new(&variables, "request-1");
/// let rendered = service.render("greet", &input).await.unwrap();
/// assert_eq!(rendered.unused[0].name, "city");
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedVariable {
    /// Its name.
    pub name: String,
    /// A similar name that the prompt declares or uses and that has no value.
    pub nearest: Option<String>,
}

/// A variable without a value that a prompt file uses but does not declare, probably a typo. It
/// renders as empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedVariable {
    /// Its name.
    pub name: String,
    /// A similar declared name.
    pub nearest: Option<String>,
}

/// Names that exist in one snapshot, resolved by the rules of a format.
#[derive(Clone, Copy, Debug)]
pub struct AvailableNames<'a> {
    /// The tools.
    pub snapshot: &'a CatalogueSnapshot,
    /// The template format. If it is `None`, names must match exactly.
    pub format: Option<&'a dyn TemplateFormat>,
}

impl<'a> AvailableNames<'a> {
    /// Whether a name refers to a tool.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::{AvailableNames, CatalogueSnapshot};
    ///
    /// let snapshot = CatalogueSnapshot::default();
    /// let names = AvailableNames { snapshot: &snapshot, format: None };
    /// // `{{tool "NAME"}}` exists without any registered tool.
    /// assert!(names.has_function("tool"));
    /// assert!(!names.has_function("weather"));
    /// ```
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        is_built_in(name, self.snapshot) || self.tool(name).is_some()
    }

    fn tool(&self, name: &str) -> Option<&'a Arc<dyn Tool>> {
        let functions = &self.snapshot.functions;
        if let Some(tool) = functions.get(name) {
            return Some(tool);
        }
        let names: Vec<&str> = functions.keys().map(AsRef::as_ref).collect();
        functions.get(self.format?.resolve(name, &names)?)
    }

    /// Names of variables that tools may use as arguments because a parameter has the same name.
    /// Only some formats have such calls.
    pub(crate) fn taken_by(&self, references: &References) -> Vec<&'a str> {
        if !self.has_arguments_at_root() {
            return Vec::new();
        }
        let called = references.functions.iter().map(|f| f.name.as_str());
        let plain = references.variables.iter().filter(|_| self.by_variable());
        let plain = plain.flat_map(callable);
        let tools = called.map(str::to_owned).chain(plain);
        tools
            .filter_map(|name| self.tool(&name))
            .flat_map(|tool| tool.spec().parameter_names())
            .collect()
    }

    /// Whether a reference to a variable may be a call of a tool.
    #[must_use]
    pub fn may_be_call(&self, variable: &VariableReference) -> bool {
        self.by_variable() && callable(variable).any(|name| self.has_function(&name))
    }

    fn by_variable(&self) -> bool {
        self.format.is_some_and(|format| format.calls_by_variable())
    }

    /// Whether request variables are also top-level names, as in the formats' original
    /// implementations. In Go templates, request variables are available only under `.variables`,
    /// so that they cannot hide shared variables.
    #[must_use]
    pub fn has_arguments_at_root(&self) -> bool {
        self.format.is_some_and(|format| format.name() != "go")
    }

    fn ignores_case(&self) -> bool {
        self.format.is_some_and(|format| format.ignores_case())
    }

    /// Returns the variables of a request that the prompt neither declares nor uses. Returns none
    /// if the template may access any variable: all at once, by computed names, or as tool
    /// arguments.
    pub(crate) fn unused(
        &self,
        prompt: &Prompt,
        references: &References,
        given: &Map,
    ) -> Vec<UnusedVariable> {
        if given.is_empty() || references.dynamic || self.by_variable() {
            return Vec::new();
        }
        // A template such as `{{.variables | json}}` uses all variables.
        let is_all = |variable: &VariableReference| matches!(variable.path.as_slice(), [root] if REQUEST_ROOTS.contains(&root.as_str()));
        if references.variables.iter().any(is_all) {
            return Vec::new();
        }
        let at_root = self.has_arguments_at_root();
        let used = || {
            references
                .variables
                .iter()
                .filter_map(move |variable| match variable.path.as_slice() {
                    [root, name, ..] if REQUEST_ROOTS.contains(&root.as_str()) => {
                        Some(name.as_str())
                    }
                    [name, ..] if at_root => Some(name.as_str()),
                    _ => None,
                })
        };
        let is = |known: &str, name: &str| {
            if self.ignores_case() {
                known.eq_ignore_ascii_case(name)
            } else {
                known == name
            }
        };
        let is_used = |name: &str| used().any(|known| is(known, name));
        if given.iter().all(|(name, _)| is_used(name)) {
            return Vec::new();
        }
        // The schema is stored as text and parsed only for the few requests that need it.
        let schema = prompt.parameters.schema();
        let declared = schema.as_ref().and_then(|schema| schema.get("properties"));
        let is_known = |name: &str| {
            declared.is_some_and(|properties| properties.get(name).is_some()) || is_used(name)
        };
        let mut unused = Vec::new();
        for (name, _) in given.iter().filter(|(name, _)| !is_known(name)) {
            // Tool calls without arguments use the variables named like their parameters.
            if unused.len() >= MOST_UNUSED || self.taken_by(references).contains(&&**name) {
                continue;
            }
            let properties = declared.and_then(|properties| properties.as_object());
            let all = used().chain(
                properties
                    .into_iter()
                    .flat_map(|p| p.keys().map(String::as_str)),
            );
            let absent = all.filter(|known| given.get(known).is_none());
            unused.push(UnusedVariable {
                name: name.to_string(),
                nearest: nearest(name, absent).map(str::to_owned),
            });
        }
        unused
    }

    /// Returns the variables that a prompt file uses without declaring them and that have no value.
    /// The reference implementations render them as empty text, so they cause a warning rather than
    /// an error. JSON definitions configure this themselves.
    pub(crate) fn absent(
        &self,
        prompt: &Prompt,
        references: &References,
        root: &Map,
    ) -> Vec<UnresolvedVariable> {
        if prompt.missing != Missing::Default {
            return Vec::new();
        }
        let missing = references.variables.iter().filter(|variable| {
            let first = variable.path.first();
            let is_there = first.is_none_or(|first| root.get(first).is_some());
            !is_there && !variable.optional && !self.may_be_call(variable)
        });
        let mut missing = missing.peekable();
        if missing.peek().is_none() {
            return Vec::new();
        }
        let schema = prompt.parameters.schema();
        let declared = schema.as_ref().and_then(|schema| schema.get("properties"));
        // A file without declarations does not restrict its variables.
        let Some(declared) = declared
            .and_then(Tree::as_object)
            .filter(|it| !it.is_empty())
        else {
            return Vec::new();
        };
        let mut absent: Vec<UnresolvedVariable> = Vec::new();
        for name in missing.filter_map(|variable| variable.path.first()) {
            // In `.prompt` files, the application defines names such as `@state`.
            let is_known = name.starts_with('@') || declared.contains_key(name);
            if is_known || absent.iter().any(|it| it.name == *name) || absent.len() >= MOST_UNUSED {
                continue;
            }
            absent.push(UnresolvedVariable {
                name: name.clone(),
                nearest: nearest(name, declared.keys().map(String::as_str)).map(str::to_owned),
            });
        }
        absent
    }

    /// Checks that every referenced function exists.
    pub(crate) fn check_functions(&self, references: &References) -> Result<(), ServiceError> {
        let functions = references.functions.iter();
        let names: Vec<&str> = functions
            .map(|function| function.name.as_str())
            .filter(|name| !self.has_function(name))
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let (names, broken) = self.split_missing(names);
        let own = self.format.map(|format| format.functions());
        let own = own.unwrap_or_default();
        let hint = |name: &&str| {
            let tools = self.snapshot.functions.keys().map(AsRef::as_ref);
            let near = nearest(name, tools.chain(own.iter().copied()))?;
            Some(format!("{name}: did you mean {near}?"))
        };
        Err(ServiceError::UnknownFunctions {
            hints: names.iter().filter_map(hint).collect(),
            names: names.into_iter().map(str::to_owned).collect(),
            broken,
            missing: Box::default(),
            places: Vec::new(),
        })
    }

    /// Splits missing functions into unknown names and invalid tools.
    fn split_missing<'n>(&self, missing: Vec<&'n str>) -> (Vec<&'n str>, Vec<BrokenDefinition>) {
        let (mut unknown, mut broken) = (Vec::new(), Vec::new());
        for name in missing {
            match self.broken(name) {
                Some(tool) => broken.push(tool),
                None => unknown.push(name),
            }
        }
        (unknown, broken)
    }

    /// Returns the invalid tool that a name refers to, resolved by the rules of the format.
    fn broken(&self, name: &str) -> Option<BrokenDefinition> {
        if let Some(tool) = self.snapshot.broken_tool(name) {
            return Some(tool);
        }
        let ids = self.snapshot.tools.keys();
        let names: Vec<String> = ids.map(|id| EntryKey::new(&**id).function_name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = self.format?.resolve(name, &names)?;
        self.snapshot.broken_tool(found)
    }

    /// Checks that every referenced path exists, even in branches that are not taken. A missing
    /// variable is an error of the request regardless of its other values. A path through a value
    /// that is not an object is left to the render, which has a better error message.
    pub(crate) fn check_variables(
        &self,
        references: &References,
        root: &Map,
    ) -> Result<(), ServiceError> {
        let (mut names, mut hints) = (Vec::new(), Vec::new());
        for variable in &references.variables {
            let Some((key, known)) = first_missing(variable, root) else {
                continue;
            };
            let alike = |(other, _): (&Arc<str>, &Value)| other.eq_ignore_ascii_case(key);
            // The format ignores case, so the key may have another spelling.
            if self.ignores_case() && known.iter().any(alike) {
                continue;
            }
            if variable.optional || self.may_be_call(variable) {
                continue;
            }
            let path = variable.path.join(".");
            if self.by_variable()
                && let Some(tool) = callable(variable).find_map(|name| self.broken(&name))
            {
                hints.push(format!("{path}: {tool}"));
                names.push(path);
                continue;
            }
            let near = nearest(key, known.table().keys().map(AsRef::as_ref));
            hints.extend(near.map(|near| format!("{path}: did you mean {near}?")));
            names.push(path);
        }
        if names.is_empty() {
            return Ok(());
        }
        Err(ServiceError::Missing {
            names,
            hints,
            places: Vec::new(),
        })
    }
}

/// Returns the first missing key of a path, and the object that does not contain it.
fn first_missing<'a>(variable: &'a VariableReference, root: &'a Map) -> Option<(&'a str, &'a Map)> {
    let mut map = root;
    for key in &variable.path {
        match map.get(key) {
            Some(Value::Map(inner)) => map = inner,
            Some(_) => return None,
            None => return Some((key, map)),
        }
    }
    None
}

/// Functions that a variable's path may call: the whole path (`{{plugin.now}}`), or its first part,
/// whose result is then accessed.
fn callable(variable: &VariableReference) -> impl Iterator<Item = String> {
    let first = variable.path.first().cloned();
    let whole = (variable.path.len() > 1).then(|| variable.path.join("."));
    whole.into_iter().chain(first)
}
