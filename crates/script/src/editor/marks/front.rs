//! Names in the front matter.

use quillet_yaml::{Data, Entry, Node};

use super::texts::Texts;
use super::{MarkKind, is_setting};
use crate::text::prefix::Position;

/// All of a front matter.
pub(super) fn config(texts: &mut Texts<'_>, node: &Node) {
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
        texts.values(&entry.value, Position::Argument);
    }
}

fn key(texts: &mut Texts<'_>, entry: &Entry, path: &[&str]) {
    let above = path.iter().copied();
    let path = above.chain([entry.name()]).map(str::to_owned).collect();
    texts.add_node(&entry.key, MarkKind::Key(path));
}

fn nested(texts: &mut Texts<'_>, parent: &Entry) {
    for entry in parent.value.entries().unwrap_or_default() {
        key(texts, entry, &[parent.name()]);
    }
}

/// Names in `prompt` and `parameters` that are no setting are variables.
fn variables(texts: &mut Texts<'_>, parent: &Entry) {
    for entry in parent.value.entries().unwrap_or_default() {
        match crate::editor::keys::key(&[parent.name(), entry.name()]) {
            Some(_) => key(texts, entry, &[parent.name()]),
            None => texts.variable(&entry.key, entry.name(), true),
        }
    }
}

/// Inputs: names, objects of inputs, and objects with a `name`.
fn inputs(texts: &mut Texts<'_>, node: &Node) {
    match &node.data {
        Data::List(items) => items.iter().for_each(|item| inputs(texts, item)),
        Data::Map(entries) => match node.get("name").filter(|_| entries.len() > 1) {
            Some(name) => texts.variable(name, name.as_str().unwrap_or_default(), true),
            None => entries
                .iter()
                .for_each(|entry| texts.variable(&entry.key, entry.name(), true)),
        },
        Data::Scalar(_) => texts.variable(node, node.as_str().unwrap_or_default(), true),
    }
}

/// `{name: script}`, or names that are those of scripts.
fn roles(texts: &mut Texts<'_>, node: &Node) {
    let Some(entries) = node.entries() else {
        return scripts(texts, node);
    };
    for entry in entries {
        texts.add_node(&entry.key, MarkKind::Role(entry.name().to_owned()));
        named(texts, &entry.value);
    }
}

/// Lists of scripts: names, `{name: script}`, `{script: [names]}`.
fn scripts(texts: &mut Texts<'_>, node: &Node) {
    match &node.data {
        Data::Scalar(_) => script(texts, node),
        Data::List(items) => items.iter().for_each(|item| scripts(texts, item)),
        Data::Map(entries) => {
            for entry in entries {
                script(texts, &entry.key);
            }
        }
    }
}

/// A script, or an object that says which.
fn named(texts: &mut Texts<'_>, node: &Node) {
    let id = node.get("id").or_else(|| node.get("script"));
    script(texts, id.unwrap_or(node));
}

fn script(texts: &mut Texts<'_>, node: &Node) {
    let Some(name) = node.as_str() else {
        return;
    };
    let name = name.strip_prefix("ai:").unwrap_or(name).to_owned();
    if !name.is_empty() {
        texts.add_node(node, MarkKind::Script(name));
    }
}
