//! Parses the imported names of a module and their aliases: `['a', {b: c}]`, `'*'`, `alias`.

use quillet_core::{Diagnostic, Value};
use quillet_yaml::{MapEntry, Node, NodeData};

use super::source::ImportKind;
use crate::library::name;
use crate::syntax::ScriptSource;

/// The names to import from a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportNames {
    /// All functions under their own names; a script itself under its id.
    All,
    /// `"*"` or one name: an object that contains the functions, `$name.function(…)`. For a script,
    /// it is also a function that runs the script.
    Namespace(String),
    /// The listed functions.
    Listed(Vec<ImportedFunction>),
}

/// An imported function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFunction {
    /// The function's name in the module.
    pub name: String,
    /// The function's local name.
    pub alias: String,
    /// Whether templates can call the function. This requires `{type: template}`, or a name that
    /// starts with `template$`.
    pub template: bool,
}

/// Prefix of the names of template functions.
const TEMPLATE: &str = "template$";

#[derive(Debug)]
pub(super) struct ImportSelection {
    pub(super) names: ImportNames,
    pub(super) except: Vec<String>,
    pub(super) initialize: Option<bool>,
}

/// Returns a name without its `$`.
pub(crate) fn bare_name(name: &str) -> &str {
    name.strip_prefix('$').unwrap_or(name)
}

/// Returns whether a name is that of a module initializer.
pub(crate) fn is_initializer(name: &str) -> bool {
    matches!(bare_name(name), "initializeModule" | "initializeExec")
}

/// Returns whether the whole import is `{disable: true}`.
pub(super) fn switched_off(names: &Node) -> bool {
    let entries = names.entries().unwrap_or_default();
    // With other keys next to it, `disable` may be the name of a function.
    entries.len() == 1 && is_disabled(names)
}

fn is_disabled(spec: &Node) -> bool {
    let disable = spec.get("disable").map(Node::value);
    disable == Some(Value::Bool(true))
}

impl ImportedFunction {
    /// Imports a function under its own name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        ImportedFunction::new(name, None)
    }

    /// Imports a function, optionally under another name.
    pub(crate) fn new(name: &str, alias: Option<&str>) -> Self {
        let name = bare_name(name);
        let alias = bare_name(alias.unwrap_or(name));
        ImportedFunction {
            name: name.to_owned(),
            template: name.starts_with(TEMPLATE) || alias.starts_with(TEMPLATE),
            alias: alias.strip_prefix(TEMPLATE).unwrap_or(alias).to_owned(),
        }
    }
}

/// Parses the value after an import's source.
pub(super) fn read(
    names: Option<&Node>,
    kind: &ImportKind,
    source: &ScriptSource,
) -> Result<ImportSelection, Vec<Diagnostic>> {
    let mut choice = SelectionParser {
        source,
        listed: Vec::new(),
        chosen: ImportSelection::all(),
        findings: Vec::new(),
    };
    match names.map(|node| (node, &node.data)) {
        None => {}
        Some((node, NodeData::Scalar(_))) => choice.scalar(node, kind),
        Some((_, NodeData::List(items))) => items.iter().for_each(|item| choice.item(item)),
        Some((_, NodeData::Map(entries))) => entries.iter().for_each(|entry| choice.entry(entry)),
    }
    choice.finish()
}

impl ImportSelection {
    fn all() -> Self {
        ImportSelection {
            names: ImportNames::All,
            except: Vec::new(),
            initialize: None,
        }
    }
}

struct SelectionParser<'a> {
    source: &'a ScriptSource,
    listed: Vec<ImportedFunction>,
    chosen: ImportSelection,
    findings: Vec<Diagnostic>,
}

impl SelectionParser<'_> {
    fn finish(mut self) -> Result<ImportSelection, Vec<Diagnostic>> {
        if !self.findings.is_empty() {
            return Err(self.findings);
        }
        // If the list contains only exclusions, all other names are still imported.
        if !self.listed.is_empty() {
            self.chosen.names = ImportNames::Listed(self.listed);
        }
        Ok(self.chosen)
    }

    /// Parses `"*"`, a name, or null.
    fn scalar(&mut self, node: &Node, kind: &ImportKind) {
        match node.as_str() {
            Some("*") => self.chosen.names = ImportNames::Namespace(namespace(kind)),
            Some(alias) if is_name(alias) => {
                self.chosen.names = ImportNames::Namespace(bare_name(alias).to_owned());
            }
            None if node.is_null() => {}
            _ => self.refuse(node, "is not a valid name for an import"),
        }
    }

    /// Parses an item of a list: `name`, `{name: alias}`, `{name: {…}}`.
    fn item(&mut self, item: &Node) {
        match (item.as_str(), item.entries()) {
            (Some(name), _) if is_name(name) => self.take(ImportedFunction::named(name)),
            (_, Some(entries)) => entries.iter().for_each(|entry| self.entry(entry)),
            _ => self.refuse(item, "is not a valid function name"),
        }
    }

    fn entry(&mut self, entry: &MapEntry) {
        let name = entry.name();
        if !is_name(name) {
            return self.refuse(&entry.key, "is not a valid function name");
        }
        if is_initializer(name) {
            let off = is_disabled(&entry.value) || is_false(&entry.value);
            self.chosen.initialize = Some(!off);
            return;
        }
        match &entry.value.data {
            NodeData::Map(_) if is_disabled(&entry.value) => self.except(name),
            NodeData::Map(_) => self.described(name, &entry.value),
            // Checked before aliases, because `false` would otherwise be an alias.
            NodeData::Scalar(_) if is_false(&entry.value) => self.except(name),
            NodeData::Scalar(scalar) if matches!(scalar.value, Value::Null | Value::Bool(true)) => {
                self.take(ImportedFunction::named(name));
            }
            NodeData::Scalar(scalar) if is_name(&scalar.text) => {
                self.take(ImportedFunction::new(name, Some(&scalar.text)));
            }
            _ => self.refuse(&entry.value, "is not a valid name for an import"),
        }
    }

    /// Parses `{type: template, as: name}`.
    fn described(&mut self, name: &str, spec: &Node) {
        let alias = ["as", "name", "asName"]
            .iter()
            .find_map(|key| spec.get(key)?.as_str());
        let mut imported = ImportedFunction::new(name, alias);
        match spec.get("type").and_then(Node::as_str) {
            Some("template") => imported.template = true,
            None | Some("function") => {}
            Some(_) => {
                return self.refuse(spec, "has an unknown type: the only type is `template`");
            }
        }
        self.take(imported);
    }

    fn take(&mut self, imported: ImportedFunction) {
        if is_initializer(&imported.name) {
            self.chosen.initialize = Some(true)
        } else {
            self.listed.push(imported)
        }
    }

    fn except(&mut self, name: &str) {
        self.chosen.except.push(bare_name(name).to_owned());
    }

    fn refuse(&mut self, node: &Node, why: &str) {
        let shown = node.text().unwrap_or(node.kind());
        let found = self
            .source
            .error("script.import.name", format!("{shown:?} {why}"), node.span);
        self.findings
            .push(found.help("for example, write ['func1', {func2: 'asFunc2'}], '*' or 'asName'"));
    }
}

fn is_false(node: &Node) -> bool {
    node.value() == Value::Bool(false)
}

fn is_name(text: &str) -> bool {
    let plain =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '-');
    let digit = |character: char| character.is_ascii_digit();
    !text.is_empty() && !text.starts_with(digit) && text.chars().all(plain)
}

/// Returns the name for `"*"`: that of the package, or of the file without folder and extension.
fn namespace(kind: &ImportKind) -> String {
    let path = match kind {
        ImportKind::JsPackage(path) | ImportKind::JsFile(path) => path,
        ImportKind::Wasm(path) | ImportKind::Script(path) => path,
        ImportKind::Package {
            file: Some(file), ..
        } => return namespace(file),
        ImportKind::Package { name, file: None } => name,
    };
    let base = path.rsplit('/').next().unwrap_or(path);
    if let Some(stem) = name::stem(base) {
        return stem.to_owned();
    }
    // Longer extensions are tried first, because removing only `.js` would leave `.ai` in the name.
    let ends = [
        ".ai.js", ".ai.mjs", ".ai.wasm", ".js", ".mjs", ".cjs", ".wasm",
    ];
    let stem = ends.iter().find_map(|end| base.strip_suffix(end));
    stem.unwrap_or(base).to_owned()
}
