//! Parses the blocks of directives: `then` and `else` of `$if`, `do` of `$while` and `$for`, and
//! the patterns of `$match`.

use std::sync::Arc;

use quillet_yaml::{MapEntry, NodeData, YamlProblem};

use super::item::Classifier;
use super::located_scalar::LocatedScalar;
use crate::directive::{DirectiveForm, DirectiveSpec};
use crate::syntax::{Branch, CallExpr, CallTarget};

/// Moves the blocks of a call from its fields, or from its value: `$if(x): {then: …}`, `$match(x):
/// {…}`, `$while(x): […]`.
pub(super) fn split(call: &mut CallExpr, classifier: &mut Classifier<'_>) {
    let CallTarget::Directive(directive) = call.target else {
        return;
    };
    let known = directive.spec();
    let holds = |key: &str| match known.form {
        DirectiveForm::Blocks(blocks) => blocks.contains(&key),
        DirectiveForm::Patterns => key == "_" || key.starts_with(':'),
        DirectiveForm::Plain | DirectiveForm::InLoop => false,
    };
    if matches!(known.form, DirectiveForm::Plain | DirectiveForm::InLoop) {
        return;
    }
    let mut entries = std::mem::take(&mut call.fields);
    if let Some(NodeData::Map(inner)) = call.value.as_ref().map(|value| &value.data)
        // A value without any block is data for the directive and is not split.
        && inner.iter().any(|entry| holds(entry.name()))
    {
        entries.extend(inner.iter().cloned());
        call.value = None;
    }
    let (blocks, fields): (Vec<MapEntry>, Vec<MapEntry>) =
        entries.into_iter().partition(|entry| holds(entry.name()));
    let wrong = fields.iter().filter_map(|field| misplaced(known, field));
    classifier.problems.extend(wrong);
    call.fields = fields;
    call.branches = blocks
        .iter()
        .map(|entry| branch(entry, classifier))
        .collect();
    if let DirectiveForm::Blocks([first, ..]) = known.form {
        whole_value(call, first, classifier);
    }
}

/// Reports a key that is neither a block, a pattern nor a parameter, because it would have no
/// effect.
fn misplaced(known: &DirectiveSpec, entry: &MapEntry) -> Option<YamlProblem> {
    let name = entry.name();
    let (why, help) = known.refusal(name)?;
    let (why, help) = match known.form {
        DirectiveForm::Patterns => (
            format!(
                "invalid pattern `{name}` of `${}`: patterns start with `:`",
                known.name
            ),
            format!("write `:{name}:`, or `_:` for everything else"),
        ),
        _ => (why, help),
    };
    Some(YamlProblem::new(entry.key.span, why).help(help))
}

fn branch(entry: &MapEntry, classifier: &mut Classifier<'_>) -> Branch {
    let key = entry.name();
    Branch {
        key: LocatedScalar::of(&entry.key, key, classifier.file()).to_text(),
        block: Arc::new(classifier.block(&entry.value)),
    }
}

/// `$while(x): [instructions]`: the value is the first block if the condition is in parentheses.
fn whole_value(call: &mut CallExpr, key: &str, classifier: &mut Classifier<'_>) {
    if call.arguments.is_none() || !call.branches.is_empty() {
        return;
    }
    let Some(value) = call
        .value
        // Only a list contains blocks here. Any other value is data for the directive.
        .take_if(|value| matches!(value.data, NodeData::List(_)))
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
