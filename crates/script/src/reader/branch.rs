//! The blocks of `$if`, `$while`, `$for` and `$match`.

use std::sync::Arc;

use quillet_yaml::{Data, Entry, Problem};

use super::item::Classifier;
use super::placed::Placed;
use crate::library::directives::{Directive, Form, directive};
use crate::syntax::{Branch, Call, Target};

/// Takes the blocks out of a call's fields, and out of its value where they
/// stand there: `$if(x): {then: …}`, `$match(x): {…}`, `$while(x): […]`.
pub(super) fn split(call: &mut Call, classifier: &mut Classifier<'_>) {
    if call.target != Target::Directive {
        return;
    }
    let holds: fn(&str) -> bool = match &*call.name.value {
        "if" => |key| matches!(key, "then" | "else"),
        "while" | "for" => |key| key == "do",
        "match" => is_pattern,
        _ => return,
    };
    let mut entries = std::mem::take(&mut call.fields);
    if let Some(Data::Map(inner)) = call.value.as_ref().map(|value| &value.data)
        && inner.iter().any(|entry| holds(entry.name()))
    {
        entries.extend(inner.iter().cloned());
        call.value = None;
    }
    let (blocks, fields): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| holds(entry.name()));
    match directive(&call.name.value) {
        Some(known) if known.form == Form::Patterns => {
            let wrong = fields.iter().filter_map(no_pattern);
            classifier.problems.extend(wrong);
        }
        Some(known) => {
            let wrong = fields.iter().filter_map(|field| no_parameter(known, field));
            classifier.problems.extend(wrong);
        }
        None => {}
    }
    call.fields = fields;
    call.branches = blocks
        .iter()
        .map(|entry| branch(entry, classifier))
        .collect();
    whole_value(call, classifier);
}

/// `:/re/`, `:> 12`, `_`.
fn is_pattern(key: &str) -> bool {
    key == "_" || key.starts_with(':')
}

/// A key that is neither a pattern nor a parameter: its block would never run.
fn no_pattern(entry: &Entry) -> Option<Problem> {
    let name = entry.name();
    if matches!(name, "condition" | "allMatches" | "parallel") {
        return None;
    }
    let message = format!("`{name}` is no pattern of `$match`: patterns begin with `:`");
    Some(Problem::new(entry.key.span, message).help(format!("write `:{name}:`, or `_:` for else")))
}

/// A key that is neither a block nor a parameter: what it holds would never run.
fn no_parameter(known: &Directive, entry: &Entry) -> Option<Problem> {
    let (why, help) = known.refusal(entry.name())?;
    Some(Problem::new(entry.key.span, why).help(help))
}

fn branch(entry: &Entry, classifier: &mut Classifier<'_>) -> Branch {
    let key = entry.name();
    Branch {
        key: Placed::of(&entry.key, key, classifier.file()).to_text(),
        block: Arc::new(classifier.block(&entry.value)),
    }
}

/// `$while(x): [instructions]`: the value is the block where the condition stands in brackets.
fn whole_value(call: &mut Call, classifier: &mut Classifier<'_>) {
    let key = match &*call.name.value {
        "if" => "then",
        "while" | "for" => "do",
        _ => return,
    };
    if call.arguments.is_none() || !call.branches.is_empty() {
        return;
    }
    let Some(value) = call
        .value
        .take_if(|value| matches!(value.data, Data::List(_)))
    else {
        return;
    };
    let mut name = call.name.clone();
    name.value = key.into();
    call.branches.push(Branch {
        key: name,
        block: Arc::new(classifier.block(&value)),
    });
}
