//! The neutral tree: template features that all formats share.
//!
//! The reader of each format resolves names. A path begins at the variables or at the item of a
//! loop, so the tree does not depend on the lookup rules of a format.

use std::sync::Arc;

use quillet_core::Span;

/// The elements of a template or of a part of it.
pub type Nodes = Vec<TreeNode>;

/// An element and its location in the source.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// The element.
    pub kind: NodeKind,
    /// Location in the source.
    pub span: Span,
}

/// Equality ignores locations.
impl PartialEq for TreeNode {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// Prints text.
    Text(String),
    /// Prints a variable.
    Print(VariablePath),
    /// Prints the result of a function.
    Call(TreeCall),
    /// Prints one of two branches. A negated condition has an empty first branch.
    If {
        /// The test.
        condition: TreeCondition,
        /// Printed if the test is true.
        then: Nodes,
        /// Printed if the test is false.
        otherwise: Nodes,
    },
    /// Prints a body for each item of a list.
    For {
        /// The list.
        list: VariablePath,
        /// The source's name for the item, if any.
        name: Option<Arc<str>>,
        /// Printed for each item.
        body: Nodes,
        /// Printed for an empty list.
        otherwise: Nodes,
    },
    /// A comment.
    Comment(String),
    /// Begins a message of a role.
    Role(String),
}

/// The test of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeCondition {
    /// The variable to test.
    pub path: VariablePath,
    /// The string to compare with. `None` tests whether the value is true by the format's own
    /// rules.
    pub equals: Option<String>,
}

/// A variable, or a value inside a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariablePath {
    /// Start of the path.
    pub start: PathStart,
    /// Keys from the start.
    pub keys: Vec<String>,
}

/// The start of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathStart {
    /// The variables of the template.
    Root,
    /// Item of a loop. The number is the depth of the loop, from the outermost.
    Item(usize),
    /// A loop variable of the loop at this depth. The path has no keys, because loop variables have
    /// no fields.
    Loop(usize, LoopPosition),
}

/// A loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopPosition {
    /// The index, from 0.
    Index,
    /// The number, from 1.
    Number,
    /// Whether the item is the first.
    First,
    /// Whether the item is the last.
    Last,
}

/// A call of a late-bound function.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeCall {
    /// Name of the function. `_` separates the plugin from the function.
    pub name: String,
    /// Positional arguments.
    pub positional: Vec<Argument>,
    /// Named arguments.
    pub named: Vec<(String, Argument)>,
}

/// An argument of a call.
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
    /// Creates the path of a variable.
    #[must_use]
    pub fn root(keys: &[&str]) -> Self {
        VariablePath {
            start: PathStart::Root,
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    /// Creates a path inside the item of a loop.
    #[must_use]
    pub fn item(depth: usize, keys: &[&str]) -> Self {
        VariablePath {
            start: PathStart::Item(depth),
            ..VariablePath::root(keys)
        }
    }

    /// Creates the path of a loop variable.
    #[must_use]
    pub fn in_loop(depth: usize, knows: LoopPosition) -> Self {
        VariablePath {
            start: PathStart::Loop(depth, knows),
            keys: Vec::new(),
        }
    }

    /// Returns the path extended by keys.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::convert::VariablePath;
    ///
    /// let name = VariablePath::root(&["user"]).join(["name".to_owned()]);
    /// assert_eq!(name, VariablePath::root(&["user", "name"]));
    /// ```
    #[must_use]
    pub fn join(&self, keys: impl IntoIterator<Item = String>) -> Self {
        let mut path = self.clone();
        path.keys.extend(keys);
        path
    }
}

impl TreeCondition {
    /// Creates a test of whether a variable is true.
    #[must_use]
    pub fn truth(path: VariablePath) -> Self {
        TreeCondition { path, equals: None }
    }

    /// Creates a comparison with a string.
    #[must_use]
    pub fn equals(path: VariablePath, text: impl Into<String>) -> Self {
        TreeCondition {
            path,
            equals: Some(text.into()),
        }
    }
}

impl TreeCall {
    /// Iterates over all arguments, first positional and then named.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        let named = self.named.iter().map(|(_, argument)| argument);
        self.positional.iter().chain(named)
    }
}

impl TreeNode {
    /// Creates an element at a location.
    #[must_use]
    pub fn new(kind: NodeKind, span: Span) -> Self {
        TreeNode { kind, span }
    }

    /// Returns whether the element is a comment. A comment prints nothing and does not separate
    /// texts.
    #[must_use]
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, NodeKind::Comment(_))
    }
}

/// Normalizes a tree. Adjacent text elements are joined, and empty text elements are dropped. A
/// condition followed by its negation becomes one condition with two branches, even if the first
/// branch contains a loop over the same list. A test for a nonzero index becomes a test that
/// excludes the first item.
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

/// Merges an element into the previous one. Returns the element if they cannot be merged.
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
    /// Whether the element prints nothing if the condition is false.
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
    /// Returns the condition with its branches. A test of the index becomes the negated test for
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
