//! Symbols in the front matter.

use quillet_yaml::{MapEntry, Node, NodeData};

use super::symbol::{MarkKind, is_setting};
use super::texts::SymbolTexts;
use crate::text::prefix::TextPosition;

/// Adds the symbols of a front matter.
pub(super) fn config(texts: &mut SymbolTexts<'_>, node: &Node) {
    for entry in node.entries().unwrap_or_default() {
        let name = entry.name();
        if is_setting(name) {
            key(texts, entry, &[])
        } else {
            texts.variable(&entry.key, name, true)
        }
        match name {
            "prompt" | "parameters" => variables(texts, entry),
            "input" => inputs(texts, &entry.value),
            "extends" | "import" | "tools" | "type" => scripts(texts, &entry.value),
            "roles" => roles(texts, &entry.value),
            _ => nested(texts, entry),
        }
        texts.values(&entry.value, TextPosition::Argument);
    }
}

fn key(texts: &mut SymbolTexts<'_>, entry: &MapEntry, path: &[&str]) {
    let above = path.iter().copied();
    let path = above.chain([entry.name()]).map(str::to_owned).collect();
    texts.add_node(&entry.key, MarkKind::Key(path));
}

fn nested(texts: &mut SymbolTexts<'_>, parent: &MapEntry) {
    for entry in parent.value.entries().unwrap_or_default() {
        key(texts, entry, &[parent.name()]);
    }
}

/// Adds the variables in `prompt` and `parameters`: all names that are not settings.
fn variables(texts: &mut SymbolTexts<'_>, parent: &MapEntry) {
    for entry in parent.value.entries().unwrap_or_default() {
        match crate::editor::keys::key(&[parent.name(), entry.name()]) {
            Some(_) => key(texts, entry, &[parent.name()]),
            None => texts.variable(&entry.key, entry.name(), true),
        }
    }
}

/// Adds inputs: names, objects of inputs, and objects with a `name`.
fn inputs(texts: &mut SymbolTexts<'_>, node: &Node) {
    match &node.data {
        NodeData::List(items) => items.iter().for_each(|item| inputs(texts, item)),
        NodeData::Map(entries) => match node.get("name").filter(|_| entries.len() > 1) {
            Some(name) => texts.variable(name, name.as_str().unwrap_or_default(), true),
            None => entries
                .iter()
                .for_each(|entry| texts.variable(&entry.key, entry.name(), true)),
        },
        NodeData::Scalar(_) => texts.variable(node, node.as_str().unwrap_or_default(), true),
    }
}

/// Adds roles: `{name: script}`, or names of scripts.
fn roles(texts: &mut SymbolTexts<'_>, node: &Node) {
    let Some(entries) = node.entries() else {
        return scripts(texts, node);
    };
    for entry in entries {
        texts.add_node(&entry.key, MarkKind::Role(entry.name().to_owned()));
        named(texts, &entry.value);
    }
}

/// Adds lists of scripts: names, `{name: script}`, `{script: [names]}`.
fn scripts(texts: &mut SymbolTexts<'_>, node: &Node) {
    match &node.data {
        NodeData::Scalar(_) => script(texts, node),
        NodeData::List(items) => items.iter().for_each(|item| scripts(texts, item)),
        NodeData::Map(entries) => {
            for entry in entries {
                script(texts, &entry.key);
            }
        }
    }
}

/// Adds a script, or an object that names one.
fn named(texts: &mut SymbolTexts<'_>, node: &Node) {
    let id = node.get("id").or_else(|| node.get("script"));
    script(texts, id.unwrap_or(node));
}

fn script(texts: &mut SymbolTexts<'_>, node: &Node) {
    let Some(name) = node.as_str() else {
        return;
    };
    let name = name.strip_prefix("ai:").unwrap_or(name).to_owned();
    if !name.is_empty() {
        texts.add_node(node, MarkKind::Script(name));
    }
}
