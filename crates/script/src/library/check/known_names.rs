//! Names that a script can use: directives, functions, variables.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_core::{Value, nearest};
use quillet_yaml::{MapEntry, Node, NodeData};

use super::code::{Sets, sets, sets_in_expression, words};
use super::diagnostics::ScriptDiagnostics;
use crate::argument::{self, ArgumentValue};
use crate::call::CallSettings;
use crate::directive::{Directive, nearest_directive};
use crate::library::import::{ImportItem, ImportKind, ImportNames, bare_name};
use crate::library::{Library, ResolvedScript, exported_items, missing, resolve};
use crate::reader::is_function;
use crate::syntax::{CallExpr, InstructionBlock, ItemKind, MessageTemplate, ScriptText};
use crate::text::hole::{HoleKind, HolePart, holes};

/// Names that the engine defines in every script.
const RUNTIME: [&str; 34] = [
    "AI",
    "COND__",
    "Date",
    "ENV",
    "JSON",
    "LatestResult",
    "Math",
    "Object",
    "RESPONSE",
    "__dirname",
    "__filename",
    "arg1",
    "args",
    "content",
    "description",
    "event",
    "filename",
    "id",
    "index",
    "input",
    "item",
    "items",
    "lastResult_",
    "memory",
    "messages",
    "name",
    "output",
    "parameters",
    "prompt",
    "result",
    "stats",
    "title",
    "type",
    "value",
];

/// Maximum number of unknown names in a script that get a suggestion.
const MOST_COMPARED: usize = 50;

/// The names that are known before a run.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    functions: BTreeSet<String>,
    /// Whether a module exports names that are known only after loading it.
    open_functions: bool,
    variables: BTreeSet<String>,
    /// Whether code may set variables that this analysis cannot determine.
    open_variables: bool,
    /// Whether other scripts inherit from this one and may define its variables.
    is_base: bool,
    /// Number of names that were compared with all variables.
    compared: AtomicUsize,
    /// Imported scripts, by the names they are imported under.
    pub(super) imported: Vec<(String, ResolvedScript)>,
}

impl KnownNames {
    /// Collects the names of a script and of everything that it inherits and imports. Reports
    /// imports that do not exist.
    pub(super) async fn of(
        resolved: &ResolvedScript,
        imports: &[ImportItem],
        library: &dyn Library,
        findings: &mut ScriptDiagnostics<'_>,
    ) -> Self {
        let mut known = KnownNames::default();
        known.declarations(resolved);
        for import in imports {
            known.import(import, resolved, library, findings).await;
        }
        // The imports of a parent are reported when the parent itself is checked.
        known.open_functions |= resolved
            .bodies
            .iter()
            .rev()
            .skip(1)
            .any(|body| body.config.get("import").is_some());
        known
    }

    fn declarations(&mut self, resolved: &ResolvedScript) {
        let name = |key: &std::sync::Arc<str>| key.to_string();
        self.variables.extend(RUNTIME.map(str::to_owned));
        self.variables
            .extend(resolved.config.table().keys().map(name));
        for key in ["prompt", "parameters"] {
            let inner = resolved.config.get(key).and_then(|value| value.as_map());
            self.variables
                .extend(inner.iter().flat_map(|map| map.table().keys().map(name)));
        }
        let input = super::schema::inputs(&resolved.config).fields;
        let kind = resolved.config.get("type").and_then(Value::as_str);
        self.is_base = matches!(kind, Some("type" | "lib"));
        self.variables
            .extend(input.into_iter().map(|field| field.name));
        for body in &resolved.bodies {
            self.block(&body.body);
        }
        for (script, index) in &resolved.functions {
            let function = script.functions.get(*index);
            // Functions in other languages cannot access variables.
            if let Some(function) = function.filter(|function| function.language == "js") {
                self.code(sets(&function.code.value));
            }
            self.functions
                .extend(function.map(|function| bare_name(&function.name).to_owned()));
        }
    }

    /// Adds the variables that a piece of JavaScript sets.
    fn code(&mut self, sets: Sets<'_>) {
        match sets {
            Sets::Words(words) => self.variables.extend(words.into_iter().map(str::to_owned)),
            Sets::Unknown => self.open_variables = true,
        }
    }

    /// Adds the variables that functions and expressions in a value set.
    fn values(&mut self, node: &Node) {
        match &node.data {
            NodeData::Scalar(scalar) if is_function(node) => self.code(sets(&scalar.text)),
            NodeData::Scalar(scalar) => {
                if let Some(code) = scalar.text.trim_start().strip_prefix("?=") {
                    self.code(sets_in_expression(code));
                }
            }
            NodeData::List(items) => items.iter().for_each(|item| self.values(item)),
            NodeData::Map(entries) => entries.iter().for_each(|entry| self.values(&entry.value)),
        }
    }

    /// Adds the variables that a block sets.
    fn block(&mut self, block: &InstructionBlock) {
        for item in &block.items {
            match &item.kind {
                ItemKind::Message(message) => self.message(message),
                ItemKind::Call(call) => self.call(call),
                ItemKind::Chain(links) => links.iter().for_each(|link| self.call(link)),
                ItemKind::Block(block) => self.block(block),
                ItemKind::Expression(text) => self.code(sets_in_expression(&text.value)),
                ItemKind::Separator { .. } => {}
            }
        }
    }

    fn message(&mut self, message: &MessageTemplate) {
        self.values(&message.content);
        super::texts::every(&message.content, &mut |text| {
            for piece in holes(&text.value) {
                if let HolePart::Hole(hole) = piece
                    && let HoleKind::Ai { name, .. } = hole.kind
                {
                    self.variables.insert(root(&name).to_owned());
                }
            }
        });
    }

    fn call(&mut self, call: &CallExpr) {
        call.value.iter().for_each(|value| self.values(value));
        call.fields
            .iter()
            .for_each(|field| self.values(&field.value));
        if let Some(text) = &call.arguments {
            self.code(sets_in_expression(&text.value));
        }
        use Directive::{Format, Parameters, Prompt, Push, Set};
        let directive = call.directive();
        if let Some(Set | Prompt | Parameters | Push | Format) = directive {
            let entries = call
                .value
                .iter()
                .filter_map(|value| value.entries())
                .flatten();
            // A name that resembles a model setting is not a variable.
            let sets_model = directive == Some(Parameters);
            let entries = entries.chain(&call.fields);
            let slips =
                |entry: &&MapEntry| sets_model && CallSettings::meant(entry.name()).is_some();
            self.keys(entries.filter(|entry| !slips(entry)));
            self.named(call.arguments.as_ref());
        }
        let scope = call.fields.iter().find(|field| field.name() == "as");
        let names = scope.and_then(|scope| scope.value.entries());
        for entry in names.unwrap_or_default() {
            self.variables
                .extend(entry.value.as_str().map(str::to_owned));
        }
        for branch in &call.branches {
            // Names in a list pattern are variables of the branch.
            if branch.key.value.contains('[') {
                let names = words(&branch.key.value).map(|(_, name)| name.to_owned());
                self.variables.extend(names);
            }
            self.block(&branch.block);
        }
    }

    /// Adds the names in `$set('a', b=1)`.
    fn named(&mut self, arguments: Option<&ScriptText>) {
        let read = arguments.and_then(|text| argument::parse(&text.value, text.span).ok());
        for argument in read.unwrap_or_default().items {
            let name = match (&argument.name, &argument.value) {
                (Some(name), _) => name.clone(),
                (None, ArgumentValue::Literal(Value::Str(name))) => name.clone(),
                _ => continue,
            };
            self.variables.insert(root(&name).to_owned());
        }
    }

    fn keys<'e>(&mut self, entries: impl Iterator<Item = &'e MapEntry>) {
        self.variables
            .extend(entries.map(|entry| root(entry.name()).to_owned()));
    }

    async fn import(
        &mut self,
        import: &ImportItem,
        resolved: &ResolvedScript,
        library: &dyn Library,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        match &import.names {
            ImportNames::Namespace(name) => drop(self.functions.insert(name.clone())),
            ImportNames::Listed(names) => self
                .functions
                .extend(names.iter().map(|name| name.alias.clone())),
            ImportNames::All => {}
        }
        match &import.kind {
            ImportKind::JsFile(path) | ImportKind::Wasm(path) => {
                self.open_functions |= import.names == ImportNames::All;
                file(path, import, resolved, library, findings).await;
            }
            ImportKind::JsPackage(_) => self.open_functions |= import.names == ImportNames::All,
            ImportKind::Script(name) | ImportKind::Package { name, file: None } => {
                self.script(name, import, resolved, library, findings).await;
            }
            ImportKind::Package {
                name,
                file: Some(file),
            } => match file.as_ref() {
                ImportKind::Script(inner) => {
                    let name = format!("{name}/{inner}");
                    self.script(&name, import, resolved, library, findings)
                        .await;
                }
                _ => self.open_functions = true,
            },
        }
    }

    async fn script(
        &mut self,
        name: &str,
        import: &ImportItem,
        resolved: &ResolvedScript,
        library: &dyn Library,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        let from = &resolved.script.source;
        let found = match missing::demand(library, name, from, import.span).await {
            // Errors in the script itself are reported when that script is checked.
            Ok(found) => resolve(found, library).await.ok(),
            Err(error) => {
                self.open_functions = true;
                return findings.add(import.mended(error.diagnostics));
            }
        };
        let Some(found) = found else {
            return self.open_functions = true;
        };
        match exported_items(&found, import, from) {
            Ok(given) => {
                self.open_functions |= given
                    .bindings
                    .iter()
                    .any(|binding| binding.module().is_some());
                let names = given.bindings.into_iter().map(|binding| binding.name);
                self.functions.extend(names);
                self.imported.push((found.id.clone(), found));
            }
            Err(wrong) => findings.add(wrong),
        }
    }

    /// Returns whether a name can be called, or `None` if that is known only at run time.
    pub(super) fn calls(&self, name: &str) -> Option<bool> {
        let name = bare_name(name);
        let root = root(name);
        let known = Directive::named(name).is_some()
            || self.functions.contains(root)
            || self.variables.contains(root);
        match known {
            true => Some(true),
            false if self.open_functions || name == "this" => None,
            false => Some(false),
        }
    }

    /// Returns the suggestion for an unknown name.
    pub(super) fn meant_call(&self, name: &str) -> Option<String> {
        nearest_directive(name, self.functions.iter().map(String::as_str))
    }

    /// Returns the names of directives and functions, for suggestions that also include scripts.
    pub(super) fn callable(&self) -> impl Iterator<Item = &str> {
        let directives = Directive::ALL.iter().map(|known| known.name());
        directives.chain(self.functions.iter().map(String::as_str))
    }

    /// Returns whether the script has a variable with this name, except those that `$parameters`
    /// sets.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.variables.contains(name)
    }

    /// Returns `Some` if a variable is definitely undefined, with the most similar name if there is
    /// one.
    pub(super) fn unknown_variable(&self, name: &str) -> Option<Option<&str>> {
        if self.open_variables || self.variables.contains(name) || self.functions.contains(name) {
            return None;
        }
        // Comparing many unknown names with all variables is slow, and so many are unlikely to be
        // typos.
        if self.compared.fetch_add(1, Ordering::Relaxed) >= MOST_COMPARED {
            return None;
        }
        let near = nearest(name, self.variables.iter().map(String::as_str));
        if self.is_base {
            near.filter(|_| name.len() > 3).map(Some)
        } else {
            Some(near)
        }
    }
}

/// Reports a module file that does not exist.
async fn file(
    path: &str,
    import: &ImportItem,
    resolved: &ResolvedScript,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) {
    match library.file(path, Some(&resolved.script.source)).await {
        Ok(Some(_)) => {}
        Ok(None) => {
            let why = format!("file {path:?} not found");
            let help = "paths are relative to this script's folder";
            findings.error("script.not_found", why, import.span, help);
        }
        Err(error) => findings.add(error.diagnostics),
    }
}

/// Returns the first part of a key path.
pub(super) fn root(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}
