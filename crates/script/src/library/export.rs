//! Parses the exports of a script.

use quillet_core::{Diagnostic, Span};
use quillet_yaml::{MapEntry, Node};

use super::import::{ImportItem, ImportKind, bare_name, import_of};
use super::inherit::one_or_many;
use crate::syntax::{Script, ScriptSource};

/// One export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportItem {
    /// `$name`, or `{$name: alias}`: a function that the script declares or imports.
    Function {
        /// Its name in the script, without `$`.
        name: String,
        /// Its name for importing scripts, without `$`.
        alias: String,
        /// Location of the name.
        span: Span,
    },
    /// `js:path: ['basename']`, `./tools.js`: functions of a module that the script re-exports.
    Module(ImportItem),
    /// `.`: the script itself, by its id.
    Itself,
    /// `./other.ai.yaml`: another script, re-exported under this name or its id.
    Script(ImportItem),
}

/// Parses the `export` key of a front matter and returns the exports, in order.
///
/// # Errors
/// Returns all errors in it, each with its location and the fix.
pub fn exports(script: &Script) -> Result<Vec<ExportItem>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut findings = Vec::new();
    let mut add = |export: Result<Option<ExportItem>, Vec<Diagnostic>>| match export {
        Ok(export) => found.extend(export),
        Err(mut wrong) => findings.append(&mut wrong),
    };
    let node = script.config.get("export").filter(|node| !node.is_null());
    for item in node.map_or(&[][..], one_or_many) {
        match item.entries() {
            Some(entries) => entries.iter().for_each(|entry| add(renamed(entry, script))),
            None => add(plain(item, script).map(Some)),
        }
    }
    if findings.is_empty() {
        Ok(found)
    } else {
        Err(findings)
    }
}

/// Parses `"$name"`, `"."`, `"./x.ai.yaml"` or `"js:path"`.
fn plain(item: &Node, script: &Script) -> Result<ExportItem, Vec<Diagnostic>> {
    let Some(text) = item.as_str() else {
        let why = format!(
            "invalid export: expected a string or an object, not {}",
            item.kind()
        );
        return Err(vec![refusal(&script.source, why, item.span)]);
    };
    if text == "." {
        return Ok(ExportItem::Itself);
    }
    if is_function(text, script) {
        return Ok(function(text, text, item.span));
    }
    let import = import_of(item, None, &script.source)?;
    match import {
        Some(import) => Ok(of_import(import)),
        None => Err(vec![refusal(
            &script.source,
            format!("cannot export {text:?}"),
            item.span,
        )]),
    }
}

/// Parses `{$name: alias}` or `{"js:path": […]}`.
fn renamed(entry: &MapEntry, script: &Script) -> Result<Option<ExportItem>, Vec<Diagnostic>> {
    let name = entry.name();
    if !is_function(name, script) {
        return Ok(import_of(&entry.key, Some(&entry.value), &script.source)?.map(of_import));
    }
    let alias = if entry.value.is_null() {
        Some(name)
    } else {
        entry.value.as_str()
    };
    match alias {
        Some(alias) => Ok(Some(function(name, alias, entry.key.span))),
        None => {
            let why = format!(
                "invalid export of {name:?}: expected a name, not {}",
                entry.value.kind()
            );
            Err(vec![refusal(&script.source, why, entry.value.span)])
        }
    }
}

/// Returns whether a name is a function: it has a `$`, or the script declares a function with it.
fn is_function(name: &str, script: &Script) -> bool {
    let declares = |name: &str| {
        script
            .functions
            .iter()
            .any(|function| function.name == name)
    };
    name.starts_with('$') || declares(name)
}

fn function(name: &str, alias: &str, span: Span) -> ExportItem {
    let name = bare_name(name).to_owned();
    let alias = bare_name(alias).to_owned();
    ExportItem::Function { name, alias, span }
}

fn of_import(import: ImportItem) -> ExportItem {
    match &import.kind {
        ImportKind::Script(_) | ImportKind::Package { .. } => ExportItem::Script(import),
        ImportKind::JsPackage(_) | ImportKind::JsFile(_) | ImportKind::Wasm(_) => {
            ExportItem::Module(import)
        }
    }
}

fn refusal(source: &ScriptSource, why: String, at: Span) -> Diagnostic {
    let help = "for example, write \"$name\", {$name: alias}, \"./other.ai.yaml\", {\"js:path\": ['basename']} or \".\"";
    source.error("script.export", why, at).help(help)
}
