//! Which names an expression uses: for checks before a run, and for editors.

use std::sync::Arc;

use super::Used;
use super::tree::{Node, Property, Step, StepKind};

/// All names, in the order in which they stand.
pub(super) fn names(node: &Node) -> Vec<Used> {
    let mut found = Vec::new();
    collect(node, &mut found);
    found
}

fn collect(node: &Node, found: &mut Vec<Used>) {
    match node {
        Node::Literal(_) | Node::This => {}
        Node::Name { name, span } => found.push(Used {
            name: Arc::clone(name),
            this: false,
            span: *span,
        }),
        Node::Template(parts) => parts.iter().for_each(|part| collect(part, found)),
        Node::List(elements) => elements.iter().for_each(|e| collect(&e.node, found)),
        Node::Object(properties) => properties.iter().for_each(|p| property(p, found)),
        Node::Unary { operand, .. } => collect(operand, found),
        Node::Chain { first, rest, .. } => {
            collect(first, found);
            rest.iter().for_each(|(_, node)| collect(node, found));
        }
        Node::Conditional(parts) => parts.iter().for_each(|part| collect(part, found)),
        Node::Access { base, steps } => access(base, steps, found),
    }
}

fn property(property: &Property, found: &mut Vec<Used>) {
    match property {
        Property::Field(_, node) | Property::Spread(node) => collect(node, found),
        Property::Computed(key, node, _) => {
            collect(key, found);
            collect(node, found);
        }
    }
}

fn access(base: &Node, steps: &[Step], found: &mut Vec<Used>) {
    collect(base, found);
    if let (
        Node::This,
        Some(Step {
            kind: StepKind::Field(name),
            span,
            ..
        }),
    ) = (base, steps.first())
    {
        found.push(Used {
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

/// `a.b.c`, where the node is nothing else.
pub(super) fn path(node: &Node) -> Option<String> {
    match node {
        Node::Name { name, .. } => Some(name.to_string()),
        Node::Access { base, steps } => {
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
