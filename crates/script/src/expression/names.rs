//! Finds the names that an expression uses, for static checks and editors.

use std::sync::Arc;

use super::name::NameUse;
use super::tree::{ChainStep, ExprNode, ObjectProperty, StepKind};

/// Returns all names in the order of the text.
pub(super) fn names(node: &ExprNode) -> Vec<NameUse> {
    let mut found = Vec::new();
    collect(node, &mut found);
    found
}

fn collect(node: &ExprNode, found: &mut Vec<NameUse>) {
    match node {
        ExprNode::Literal(_) | ExprNode::This => {}
        ExprNode::Name { name, span } => found.push(NameUse {
            name: Arc::clone(name),
            this: false,
            span: *span,
        }),
        ExprNode::Template(parts) => parts.iter().for_each(|part| collect(part, found)),
        ExprNode::List(elements) => elements.iter().for_each(|e| collect(&e.node, found)),
        ExprNode::Object(properties) => properties.iter().for_each(|p| property(p, found)),
        ExprNode::Unary { operand, .. } => collect(operand, found),
        ExprNode::Chain { first, rest, .. } => {
            collect(first, found);
            rest.iter().for_each(|(_, node)| collect(node, found));
        }
        ExprNode::Conditional(parts) => parts.iter().for_each(|part| collect(part, found)),
        ExprNode::Access { base, steps } => access(base, steps, found),
    }
}

fn property(property: &ObjectProperty, found: &mut Vec<NameUse>) {
    match property {
        ObjectProperty::Field(_, node) | ObjectProperty::Spread(node) => collect(node, found),
        ObjectProperty::Computed(key, node, _) => {
            collect(key, found);
            collect(node, found);
        }
    }
}

fn access(base: &ExprNode, steps: &[ChainStep], found: &mut Vec<NameUse>) {
    collect(base, found);
    if let (
        ExprNode::This,
        Some(ChainStep {
            kind: StepKind::Field(name),
            span,
            ..
        }),
    ) = (base, steps.first())
    {
        found.push(NameUse {
            name: Arc::clone(name),
            this: true,
            span: *span,
        });
    }
    for step in steps {
        match &step.kind {
            StepKind::Field(_) => {}
            StepKind::Index(node) => collect(node, found),
            StepKind::Call(_, _, arguments) => arguments.iter().for_each(|a| collect(a, found)),
        }
    }
}

/// Returns `a.b.c` if the node is only such a path.
pub(super) fn path(node: &ExprNode) -> Option<String> {
    match node {
        ExprNode::Name { name, .. } => Some(name.to_string()),
        ExprNode::Access { base, steps } => {
            let mut path = path(base)?;
            for step in steps {
                match &step.kind {
                    StepKind::Field(name) if !step.optional => {
                        path.push('.');
                        path.push_str(name);
                    }
                    _ => return None,
                }
            }
            Some(path)
        }
        _ => None,
    }
}
