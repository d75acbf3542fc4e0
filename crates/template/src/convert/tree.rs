//! The neutral tree: what templates of every format have in common.
//!
//! A name is resolved where it is read: a path begins at the variables or at
//! the item of a loop, so that no format's rules for looking names up are left.

use std::sync::Arc;

use quillet_core::Span;

/// A template, or a part of one.
pub type Nodes = Vec<TreeNode>;

/// One element, and where it stands in the source that it was read from.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// What it is.
    pub kind: NodeKind,
    /// Its place.
    pub span: Span,
}

/// Places do not count: two trees are equal that say the same.
impl PartialEq for TreeNode {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Text as it is printed.
    Text(String),
    /// Prints a variable.
    Print(VariablePath),
    /// Prints what a function gives.
    Call(TreeCall),
    /// Prints one part or the other. A negated condition has an empty first part.
    If {
        /// What is asked.
        condition: TreeCondition,
        /// Printed if it is.
        then: Nodes,
        /// Printed if it is not.
        otherwise: Nodes,
    },
    /// Prints a part for each item of a list.
    For {
        /// The list.
        list: VariablePath,
        /// What the source calls the item, if it gives it a name.
        name: Option<Arc<str>>,
        /// Printed for each item.
        body: Nodes,
        /// Printed if there is none.
        otherwise: Nodes,
    },
    /// Printed nowhere.
    Comment(String),
    /// A message of that role begins here.
    Role(String),
}

/// What a condition asks of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCondition {
    /// The variable.
    pub path: VariablePath,
    /// The text that it must be; `None` where it must be true, as the format
    /// understands that.
    pub equals: Option<String>,
}

/// A variable, or something in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariablePath {
    /// Where it begins.
    pub start: PathStart,
    /// The keys from there.
    pub keys: Vec<String>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStart {
    /// At the variables of the template.
    Root,
    /// At the item of a loop, by how many loops are around that loop.
    Item(usize),
    /// At what the loop of that depth knows. Nothing is in it, so there are no keys.
    Loop(usize, LoopPosition),
}

/// What a loop knows of the item that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopPosition {
    /// How many items came before.
    Index,
    /// The same and one more.
    Number,
    /// Whether it is the first.
    First,
    /// Whether it is the last.
    Last,
}

/// A call of a function that is bound late.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeCall {
    /// Its name, with `_` between a plugin and its function.
    pub name: String,
    /// Arguments by position.
    pub positional: Vec<Argument>,
    /// Arguments by name.
    pub named: Vec<(String, Argument)>,
}

/// What a function is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A variable.
    Path(VariablePath),
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
}

impl VariablePath {
    /// The variable of that name.
    #[must_use]
    pub fn root(keys: &[&str]) -> Self {
        VariablePath {
            start: PathStart::Root,
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    /// Something in the item of a loop.
    #[must_use]
    pub fn item(depth: usize, keys: &[&str]) -> Self {
        VariablePath {
            start: PathStart::Item(depth),
            ..VariablePath::root(keys)
        }
    }

    /// What a loop knows.
    #[must_use]
    pub fn in_loop(depth: usize, knows: LoopPosition) -> Self {
        VariablePath {
            start: PathStart::Loop(depth, knows),
            keys: Vec::new(),
        }
    }

    /// The path with more keys.
    #[must_use]
    pub fn join(&self, keys: impl IntoIterator<Item = String>) -> Self {
        let mut path = self.clone();
        path.keys.extend(keys);
        path
    }
}

impl TreeCondition {
    /// Whether a variable is true.
    #[must_use]
    pub fn truth(path: VariablePath) -> Self {
        TreeCondition { path, equals: None }
    }

    /// Whether a variable is that text.
    #[must_use]
    pub fn equals(path: VariablePath, text: impl Into<String>) -> Self {
        TreeCondition {
            path,
            equals: Some(text.into()),
        }
    }
}

impl TreeCall {
    /// All arguments, by position first.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        let named = self.named.iter().map(|(_, argument)| argument);
        self.positional.iter().chain(named)
    }
}

impl TreeNode {
    /// An element at a place.
    #[must_use]
    pub fn new(kind: NodeKind, span: Span) -> Self {
        TreeNode { kind, span }
    }

    /// Whether it prints nothing by itself and divides nothing.
    #[must_use]
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, NodeKind::Comment(_))
    }
}

/// The tree in the only way to say it: texts that stand side by side are one, none is empty, and a
/// condition with its opposite behind it is one with two parts, even where the first is a loop over
/// the same list. An index that is not zero belongs to no first item.
#[must_use]
pub fn merged(nodes: Nodes) -> Nodes {
    let mut merged: Nodes = Vec::with_capacity(nodes.len());
    for node in nodes {
        let kind = match node.kind {
            NodeKind::Text(text) if text.is_empty() => continue,
            kind => kind.merged(),
        };
        let kind = match merged.last_mut() {
            Some(before) => join(&mut before.kind, kind),
            None => Some(kind),
        };
        merged.extend(kind.map(|kind| TreeNode::new(kind, node.span)));
    }
    merged
}

/// Adds an element to the one before it, or gives it back.
fn join(before: &mut NodeKind, kind: NodeKind) -> Option<NodeKind> {
    if let (NodeKind::Text(before), NodeKind::Text(text)) = (&mut *before, &kind) {
        before.push_str(text);
        return None;
    }
    match kind {
        NodeKind::If {
            condition,
            then,
            otherwise,
        } if then.is_empty() && before.lacks(&condition) => {
            if let NodeKind::If {
                otherwise: open, ..
            }
            | NodeKind::For {
                otherwise: open, ..
            } = before
            {
                *open = otherwise;
            }
            None
        }
        kind => Some(kind),
    }
}

impl NodeKind {
    /// Whether it has nothing to print where that is false.
    fn lacks(&self, asked: &TreeCondition) -> bool {
        match self {
            NodeKind::If {
                condition,
                otherwise,
                ..
            } => condition == asked && otherwise.is_empty(),
            NodeKind::For {
                list, otherwise, ..
            } => *list == asked.path && asked.equals.is_none() && otherwise.is_empty(),
            _ => false,
        }
    }

    fn merged(self) -> Self {
        match self {
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => condition.with_parts(merged(then), merged(otherwise)),
            NodeKind::For {
                list,
                name,
                body,
                otherwise,
            } => NodeKind::For {
                list,
                name,
                body: merged(body),
                otherwise: merged(otherwise),
            },
            kind => kind,
        }
    }
}

impl TreeCondition {
    /// The condition with its parts, that of an index as the opposite of one on
    /// the first item.
    fn with_parts(self, then: Nodes, otherwise: Nodes) -> NodeKind {
        match (self.path.start, &self.equals) {
            (PathStart::Loop(depth, LoopPosition::Index), None) => NodeKind::If {
                condition: TreeCondition::truth(VariablePath::in_loop(depth, LoopPosition::First)),
                then: otherwise,
                otherwise: then,
            },
            _ => NodeKind::If {
                condition: self,
                then,
                otherwise,
            },
        }
    }
}
