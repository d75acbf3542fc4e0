//! Sources of printed values, for the segments of a render.

use super::super::ast::{CommandNode, FunctionBinding, Node, NodeKind, Pipe};

/// Returns the only variable that a pipeline prints, or the name of the called function. Returns
/// `None` if several values contribute. The parser bounds the depth of the recursion.
pub(super) fn source(pipe: &Pipe) -> Option<String> {
    let last = pipe.commands.last().map(|command| &command.first);
    if let Some(name) = last.and_then(called) {
        return Some(name.to_owned());
    }
    let mut found = Vec::new();
    collect(pipe, &mut found);
    match found.as_slice() {
        [only] => Some(name(only)),
        _ => None,
    }
}

/// Returns the name of a function whose result is not derived from its arguments alone.
fn called(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Function(function)
            if matches!(function.function, FunctionBinding::Late)
                || &*function.name == "include" =>
        {
            Some(&function.name)
        }
        _ => None,
    }
}

/// Collects the operands that are possible sources.
fn collect<'a>(pipe: &'a Pipe, found: &mut Vec<&'a Node>) {
    for CommandNode {
        first, arguments, ..
    } in &pipe.commands
    {
        let arguments = arguments.iter().filter(|_| called(first).is_none());
        for node in std::iter::once(first).chain(arguments) {
            match &node.kind {
                NodeKind::Pipe(inner) => collect(inner, found),
                NodeKind::Function(_) if called(node).is_none() => {}
                NodeKind::Nil | NodeKind::Bool(_) | NodeKind::Number(_) | NodeKind::String(_) => {}
                _ => found.push(node),
            }
        }
    }
}

/// Returns the name of an operand: `user.name` for `.user.name` and `$.user.name`.
fn name(node: &Node) -> String {
    let text = node.text();
    let path = text.strip_prefix('$').unwrap_or(&text);
    match path.strip_prefix('.') {
        Some(path) if !path.is_empty() => path.to_owned(),
        _ => text,
    }
}
