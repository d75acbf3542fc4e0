//! Names for loop items.

use std::collections::HashSet;
use std::sync::Arc;

use crate::convert::tree::{
    Argument, LoopPosition, NodeKind, PathStart, TreeCall, TreeNode, VariablePath,
};

/// Names that are already used: variables and functions.
pub(super) struct UsedNames<'t>(HashSet<&'t str>);

impl<'t> UsedNames<'t> {
    /// Collects the names that a tree uses.
    pub(super) fn collect(nodes: &'t [TreeNode]) -> Self {
        let mut taken = UsedNames(HashSet::new());
        visit(nodes, &mut |mention| {
            let name = match mention {
                // Handlebars can refer to an item's field by the name of the field only.
                NameMention::Path(path) => path.keys.first(),
                NameMention::Function(name) => Some(name),
            };
            taken.0.extend(name.map(String::as_str));
        });
        taken
    }

    /// Returns the name from the source, or a new name if that one is used already.
    pub(super) fn free(&self, wanted: Option<&str>, outer: &[&str]) -> Arc<str> {
        let wanted = wanted.filter(|name| is_identifier(name) && !is_reserved(name));
        let wanted = wanted.unwrap_or("item");
        let is_free = |name: &str| !self.0.contains(name) && !outer.contains(&name);
        if is_free(wanted) {
            return wanted.into();
        }
        let mut numbered = (2..).map(|number: usize| format!("{wanted}{number}"));
        let found = numbered.find(|name| is_free(name));
        found.unwrap_or_default().into()
    }
}

/// Whether an inner loop uses the item of the loop at this depth.
pub(super) fn used_inside(body: &[TreeNode], depth: usize) -> bool {
    let mut used = false;
    let inner = body.iter().flat_map(inner_loops);
    for nodes in inner {
        visit(nodes, &mut |mention| {
            used |=
                matches!(mention, NameMention::Path(path) if path.start == PathStart::Item(depth));
        });
    }
    used
}

/// Whether the loop at this depth uses its index or tests for the first item, which Go does with
/// the index.
pub(super) fn asks_index(body: &[TreeNode], depth: usize) -> bool {
    let mut asks = false;
    visit(body, &mut |mention| {
        if let NameMention::Path(path) = mention {
            asks |= [LoopPosition::Index, LoopPosition::First]
                .map(|knows| PathStart::Loop(depth, knows))
                .contains(&path.start);
        }
    });
    asks
}

/// Yields the bodies of the outermost loops in a node.
fn inner_loops(node: &TreeNode) -> Vec<&[TreeNode]> {
    match &node.kind {
        NodeKind::For {
            body, otherwise, ..
        } => {
            let mut found: Vec<&[TreeNode]> = otherwise.iter().flat_map(inner_loops).collect();
            found.push(body);
            found
        }
        NodeKind::If {
            then, otherwise, ..
        } => then.iter().chain(otherwise).flat_map(inner_loops).collect(),
        _ => Vec::new(),
    }
}

enum NameMention<'t> {
    Path(&'t VariablePath),
    Function(&'t String),
}

fn visit<'t>(nodes: &'t [TreeNode], see: &mut impl FnMut(NameMention<'t>)) {
    for node in nodes {
        match &node.kind {
            NodeKind::Print(path) => see(NameMention::Path(path)),
            NodeKind::Call(call) => visit_call(call, see),
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => {
                see(NameMention::Path(&condition.path));
                visit(then, see);
                visit(otherwise, see);
            }
            NodeKind::For {
                list,
                body,
                otherwise,
                ..
            } => {
                see(NameMention::Path(list));
                visit(body, see);
                visit(otherwise, see);
            }
            NodeKind::Text(_) | NodeKind::Comment(_) | NodeKind::Role(_) => {}
        }
    }
}

fn visit_call<'t>(call: &'t TreeCall, see: &mut impl FnMut(NameMention<'t>)) {
    see(NameMention::Function(&call.name));
    for argument in call.arguments() {
        if let Argument::Path(path) = argument {
            see(NameMention::Path(path));
        }
    }
}

/// Whether a name is valid in every format: an ASCII letter or `_`, followed by letters, digits and
/// `_`.
pub(super) fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a name is a reserved word of any format.
pub(super) fn is_reserved(name: &str) -> bool {
    [
        "and",
        "or",
        "not",
        "is",
        "in",
        "if",
        "else",
        "elif",
        "for",
        "true",
        "false",
        "none",
        "True",
        "False",
        "None",
        "null",
        "undefined",
        "nil",
        "this",
        "loop",
        "self",
        "recursive",
        "as",
        "with",
        "each",
        "range",
        "end",
        "define",
        "template",
        "block",
        "break",
        "continue",
    ]
    .contains(&name)
}
