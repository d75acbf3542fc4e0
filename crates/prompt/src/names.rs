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

/// Most unused variables that are reported; a request may have any number.
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

/// Variable that a prompt file uses without declaring it, and that has no value: probably a
/// misspelling. It prints nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedVariable {
    /// Its name.
    pub name: String,
    /// A similar declared name.
    pub nearest: Option<String>,
}

/// The names that exist under one snapshot, as a format looks for them.
#[derive(Clone, Copy, Debug)]
pub struct AvailableNames<'a> {
    /// The tools.
    pub snapshot: &'a CatalogueSnapshot,
    /// The format; without one, names are exact.
    pub format: Option<&'a dyn TemplateFormat>,
}

impl<'a> AvailableNames<'a> {
    /// Whether a name means a tool.
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

    /// Names of variables that tools may take by the names of their parameters,
    /// in formats whose calls need no arguments.
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

    /// Whether what is written as a variable may turn out to be the call of a tool.
    #[must_use]
    pub fn may_be_call(&self, variable: &VariableReference) -> bool {
        self.by_variable() && callable(variable).any(|name| self.has_function(&name))
    }

    fn by_variable(&self) -> bool {
        self.format.is_some_and(|format| format.calls_by_variable())
    }

    /// Whether templates see the variables of a request at the root too, as their own hosts hand
    /// them over. Go's see them under `.variables` alone, so that none hides a shared variable.
    #[must_use]
    pub fn has_arguments_at_root(&self) -> bool {
        self.format.is_some_and(|format| format.name() != "go")
    }

    fn ignores_case(&self) -> bool {
        self.format.is_some_and(|format| format.ignores_case())
    }

    /// Variables of a request that are neither declared nor used. Returns none if the template may
    /// use any: all at once, by computed names, or as arguments.
    pub(crate) fn unused(
        &self,
        prompt: &Prompt,
        references: &References,
        given: &Map,
    ) -> Vec<UnusedVariable> {
        if given.is_empty() || references.dynamic || self.by_variable() {
            return Vec::new();
        }
        // `{{.variables | json}}`
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
        // The schema is stored as text: it is read for the few requests that need it.
        let schema = prompt.parameters.schema();
        let declared = schema.as_ref().and_then(|schema| schema.get("properties"));
        let is_known = |name: &str| {
            declared.is_some_and(|properties| properties.get(name).is_some()) || is_used(name)
        };
        let mut unused = Vec::new();
        for (name, _) in given.iter().filter(|(name, _)| !is_known(name)) {
            // Calls without arguments take what has the names of their parameters.
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

    /// Variables that a prompt file uses without declaring them, and that have no value. The file's
    /// reference implementation treats them as empty, so they are warnings and not errors; our own
    /// definitions choose their handling themselves.
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
            // `@state` is the application's, in `.prompt` files.
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

    /// Every function that is referenced must exist.
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

    /// Which of the missing functions nobody registered, and which are broken tools.
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

    /// The broken tool that a name means, as the format looks for it.
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

    /// Every referenced path must exist, even on branches that are not taken: a missing variable is
    /// an error of the request regardless of its other values. A non-object on the path is left to
    /// the render, whose message describes it.
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
            // The format finds the key in another spelling.
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

/// The first key of a path that is not there, and the object that lacks it.
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

/// The functions that a variable's path may call: of the whole path
/// (`{{plugin.now}}`), or of its first part, whose result is looked into.
fn callable(variable: &VariableReference) -> impl Iterator<Item = String> {
    let first = variable.path.first().cloned();
    let whole = (variable.path.len() > 1).then(|| variable.path.join("."));
    whole.into_iter().chain(first)
}
