//! Determines the names that an import binds and the initialization that it runs, as defined by
//! rules 81 to 85 of `docs/scripts/language.md`. The result is data for the interpreter.
//!
//! An import has these steps: the imported script's own imports are processed, its functions are
//! declared, [`ScriptExports::initialize`] is run, and the names of [`ScriptExports::bindings`] are
//! bound unless the importing script already has them. Imports are processed in the order of the
//! text, those of parents before those of children. A script that is already being imported (a
//! cycle) provides its names, but is not initialized again.

use quillet_core::{Diagnostic, Value, nearest};

use super::ResolvedScript;
use super::export::{ExportItem, exports};
use super::import::{
    ImportItem, ImportKind, ImportNames, ImportedFunction, bare_name, is_initializer,
};
use super::name;
use crate::syntax::{Script, ScriptSource};

/// The names and initialization steps that importing a script adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptExports {
    /// Name of the object that contains the bindings, if the import uses `"*"` or a custom name.
    /// The object is also a function that runs the script. If `None`, each name is bound
    /// individually.
    pub namespace: Option<String>,
    /// Names without `$` and their targets, in order.
    pub bindings: Vec<Binding>,
    /// Initialization steps, in order. They run after the functions of the script are declared.
    pub initialize: Vec<Initialize>,
}

/// A name and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The name in the importing script, without `$`.
    pub name: String,
    /// The target.
    pub what: ExportedItem,
    /// Whether templates can call the binding.
    pub template: bool,
}

/// Target of an exported name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportedItem {
    /// The script itself as a function that runs it, with `interact({message})` as a member.
    Itself,
    /// A function of the script, by its name in the script without `$`.
    Function(String),
    /// Names of a module that the script re-exports. They are bound as if the importing script
    /// imported the module, but relative to the exporting script's folder. The binding's name is
    /// the import's source.
    Module(Box<ImportItem>),
}

/// A step of a module's initialization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Initialize {
    /// Runs the script itself. `this` is the script, and its input is the importing script's
    /// arguments.
    Itself,
    /// Calls a function of the script with `(data, caller)`, which are the importing script's
    /// arguments and that script. `this` is the script that declares the function.
    Function(String),
}

/// Returns the names and initialization steps that importing a script adds.
///
/// # Errors
/// Returns the errors in its exports, and each listed name that does not exist, with the most
/// similar one.
pub fn exported_items(
    resolved: &ResolvedScript,
    import: &ImportItem,
    importing: &ScriptSource,
) -> Result<ScriptExports, Vec<Diagnostic>> {
    let offered = offered(resolved)?;
    let namespace = match &import.names {
        ImportNames::Namespace(name) => Some(name.clone()),
        ImportNames::All | ImportNames::Listed(_) => None,
    };
    let bindings = match &import.names {
        ImportNames::Listed(listed) => pick(&offered, listed, import, importing)?,
        ImportNames::All | ImportNames::Namespace(_) => offered,
    };
    let left = |binding: &Binding| !import.except.contains(&binding.name);
    Ok(ScriptExports {
        namespace,
        bindings: bindings.into_iter().filter(left).collect(),
        initialize: initialize(resolved, import),
    })
}

/// Returns the bindings of the script itself and of its exports.
fn offered(resolved: &ResolvedScript) -> Result<Vec<Binding>, Vec<Diagnostic>> {
    let mut bindings = vec![bind(
        &ImportedFunction::named(&resolved.id),
        ExportedItem::Itself,
    )];
    for export in exports(exporting(resolved))? {
        bindings.extend(match export {
            ExportItem::Itself => None,
            ExportItem::Function { name, alias, .. } => {
                let imported = ImportedFunction::new(&name, Some(&alias));
                Some(bind(&imported, ExportedItem::Function(name)))
            }
            ExportItem::Module(import) | ExportItem::Script(import) => Some(Binding {
                name: import.source.clone(),
                what: ExportedItem::Module(Box::new(import)),
                template: false,
            }),
        });
    }
    Ok(bindings)
}

/// Returns the most derived script of a lineage that has an `export` key.
fn exporting(resolved: &ResolvedScript) -> &Script {
    let mut youngest = resolved.bodies.iter().rev();
    let says = youngest.find(|script| script.config.get("export").is_some());
    says.unwrap_or(&resolved.script)
}

fn bind(imported: &ImportedFunction, what: ExportedItem) -> Binding {
    Binding {
        name: imported.alias.clone(),
        what,
        template: imported.template,
    }
}

/// Selects the listed names. The names of a re-exported module are known only when it is loaded, so
/// names that are not found elsewhere are looked up in it.
fn pick(
    offered: &[Binding],
    listed: &[ImportedFunction],
    import: &ImportItem,
    importing: &ScriptSource,
) -> Result<Vec<Binding>, Vec<Diagnostic>> {
    let mut bindings = Vec::new();
    let mut elsewhere = Vec::new();
    for imported in listed {
        match offered.iter().find(|known| known.name == imported.name) {
            Some(known) => {
                let mut binding = bind(imported, known.what.clone());
                // Either side can mark a function for templates, and an import never removes the
                // mark.
                binding.template |= known.template;
                bindings.push(binding);
            }
            None => elsewhere.push(imported.clone()),
        }
    }
    let modules: Vec<&Binding> = offered
        .iter()
        .filter(|known| known.module().is_some())
        .collect();
    if !elsewhere.is_empty() && modules.is_empty() {
        let unknown = elsewhere
            .iter()
            .map(|name| unknown(name, offered, import, importing));
        return Err(unknown.collect());
    }
    for module in modules {
        bindings.extend(narrowed(module, &elsewhere));
    }
    Ok(bindings)
}

impl Binding {
    /// Returns the module that the script re-exports.
    pub(super) fn module(&self) -> Option<&ImportItem> {
        match &self.what {
            ExportedItem::Module(import) => Some(import),
            ExportedItem::Itself | ExportedItem::Function(_) => None,
        }
    }
}

/// Restricts a re-exported module to the listed names.
fn narrowed(module: &Binding, listed: &[ImportedFunction]) -> Option<Binding> {
    let mut import = module.module()?.clone();
    let names = match &import.names {
        ImportNames::All => listed.to_vec(),
        ImportNames::Listed(own) => through(own, listed),
        ImportNames::Namespace(name) => {
            let wanted = listed.iter().any(|imported| imported.name == *name);
            return wanted.then(|| module.clone());
        }
    };
    import.names = ImportNames::Listed(names);
    let what = ExportedItem::Module(Box::new(import));
    Some(Binding {
        what,
        ..module.clone()
    })
}

/// Maps listed names to the names in the module, through the aliases of the re-exporting script.
fn through(own: &[ImportedFunction], listed: &[ImportedFunction]) -> Vec<ImportedFunction> {
    let named = |wanted: &ImportedFunction| {
        let known = own.iter().find(|known| known.alias == wanted.name)?;
        Some(ImportedFunction {
            name: known.name.clone(),
            alias: wanted.alias.clone(),
            template: known.template || wanted.template,
        })
    };
    listed.iter().filter_map(named).collect()
}

fn unknown(
    name: &ImportedFunction,
    offered: &[Binding],
    import: &ImportItem,
    importing: &ScriptSource,
) -> Diagnostic {
    let why = format!("{:?} does not export ${}", import.source, name.name);
    let found = importing.error("script.import.name", why, import.span);
    let names: Vec<&str> = offered.iter().map(|known| known.name.as_str()).collect();
    match nearest(&name.name, names.iter().copied()) {
        Some(near) => found.help(format!("did you mean ${near}?")),
        None => found.help(format!("known names: {}", names.join(", "))),
    }
}

/// Returns the initialization steps of an import.
fn initialize(resolved: &ResolvedScript, import: &ImportItem) -> Vec<Initialize> {
    let direct = matches!(&import.kind, ImportKind::Package { file: Some(_), .. });
    if direct || import.initialize == Some(false) {
        return Vec::new();
    }
    let setting = ["$initializeModule", "$initializeExec", "initializeModule"];
    let setting = setting.iter().find_map(|key| resolved.config.get(key));
    let function = match setting {
        Some(Value::Bool(false)) => return Vec::new(),
        Some(Value::Map(map)) if map.get("disable") == Some(&Value::Bool(true)) => {
            return Vec::new();
        }
        Some(Value::Str(name)) if declares(resolved, bare_name(name)) => Some(name.to_string()),
        _ => initializer(resolved),
    };
    let first = ["runSelfBeforeInitModule", "runSelfBeforeInitializeExec"];
    let first = first
        .iter()
        .any(|key| resolved.config.get(key) == Some(&Value::Bool(true)));
    match function {
        Some(name) => {
            let itself = first.then_some(Initialize::Itself);
            let function = Initialize::Function(bare_name(&name).to_owned());
            itself.into_iter().chain([function]).collect()
        }
        None if runs_itself(resolved, import) => vec![Initialize::Itself],
        None => Vec::new(),
    }
}

fn declares(resolved: &ResolvedScript, name: &str) -> bool {
    names(resolved).any(|known| bare_name(known) == name)
}

fn initializer(resolved: &ResolvedScript) -> Option<String> {
    names(resolved)
        .find(|known| is_initializer(known))
        .map(str::to_owned)
}

fn names(resolved: &ResolvedScript) -> impl Iterator<Item = &str> {
    resolved.functions.iter().filter_map(|(script, index)| {
        script
            .functions
            .get(*index)
            .map(|function| function.name.as_str())
    })
}

/// Returns whether a script is its own initializer: the entry of a package, or a script with
/// exports.
fn runs_itself(resolved: &ResolvedScript, import: &ImportItem) -> bool {
    let package = matches!(import.kind, ImportKind::Package { .. }) || is_entry(&resolved.script);
    package || exporting(resolved).config.get("export").is_some()
}

/// Returns whether a script is the entry of a package, whose folder has the same name.
fn is_entry(script: &Script) -> bool {
    let path = script.source.path.as_deref();
    let folder = path.and_then(|path| path.parent()?.file_name()?.to_str());
    let stem = path.and_then(|path| name::stem(path.to_str()?));
    folder.is_some() && folder == stem
}

/// Returns the initializer of a loaded JavaScript module, if the module has an initializer and the
/// import enables it. The initializer is called with `(data, caller)`, and `this` is the importing
/// script.
#[must_use]
pub fn js_initializer<'a>(
    import: &ImportItem,
    exported: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let direct = matches!(&import.kind, ImportKind::Package { file: Some(_), .. });
    // A list of names enables the initializer only if the list contains it.
    let listed = matches!(&import.names, ImportNames::Listed(_));
    let wanted = !direct && import.initialize.unwrap_or(!listed);
    exported
        .into_iter()
        .find(|name| wanted && is_initializer(name))
}
