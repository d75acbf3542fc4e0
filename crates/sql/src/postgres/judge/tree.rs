//! Parses PostgreSQL's text form of a query tree (`nodeToString`, src/backend/nodes/outfuncs.c)
//! into kinds, labels and values. The parser does not know the nodes, so it works with every
//! version.
//!
//! Names from the query appear in the text. A backslash escapes characters that would end a name,
//! but not a colon, so an alias `":funcid"` looks like a label. The parser therefore expects labels
//! only in label positions, and rejects a text that does not alternate labels and values.

use std::str::FromStr;

/// A node without its child nodes, which are in the list themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlanNode<'a> {
    /// Kind of the node, such as `FUNCEXPR`.
    pub(super) kind: &'a str,
    /// Labels without their colon, each with a value that is not a node. A list has one entry for
    /// each item.
    pub(super) values: Vec<(&'a str, &'a str)>,
}

impl<'a> PlanNode<'a> {
    /// Returns the values of a label as numbers.
    pub(super) fn numbers<T: FromStr>(&self, label: &str) -> impl Iterator<Item = T> {
        let values = self.values.iter().filter(move |(name, _)| *name == label);
        values.filter_map(|(_, value)| value.parse().ok())
    }

    /// Returns the single value of a label.
    pub(super) fn value(&self, label: &str) -> Option<&'a str> {
        let mut values = self.values.iter();
        values
            .find(|(name, _)| *name == label)
            .map(|(_, value)| *value)
    }
}

/// Error for a text that is not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeError;

/// An open bracket while a tree is parsed.
enum OpenNode<'a> {
    /// A node by its index, and the label that the next value belongs to.
    Node(usize, Option<&'a str>),
    /// A list, with the node index and label that it is the value of.
    List(Option<(usize, &'a str)>),
}

/// Returns all nodes of a tree, parents before children. Parsing is iterative, so deep trees do not
/// use stack.
pub(super) fn nodes(text: &str) -> Result<Vec<PlanNode<'_>>, TreeError> {
    let mut nodes: Vec<PlanNode<'_>> = Vec::new();
    let mut open: Vec<OpenNode<'_>> = Vec::new();
    let mut tokens = TreeTokens { text };
    while let Some(token) = tokens.next() {
        match token {
            "{" => {
                let kind = tokens.next().ok_or(TreeError)?;
                let is_kind = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
                if !kind.bytes().all(is_kind) || !is_value_next(&open) {
                    return Err(TreeError);
                }
                close_value(&mut open);
                open.push(OpenNode::Node(nodes.len(), None));
                nodes.push(PlanNode {
                    kind,
                    values: Vec::new(),
                });
            }
            "(" => {
                if !is_value_next(&open) {
                    return Err(TreeError);
                }
                let owner = owner(&open);
                close_value(&mut open);
                open.push(OpenNode::List(owner));
            }
            "}" => match open.pop() {
                Some(OpenNode::Node(_, None)) => {}
                _ => return Err(TreeError),
            },
            ")" => match open.pop() {
                Some(OpenNode::List(_)) => {}
                _ => return Err(TreeError),
            },
            atom => atom_of(atom, &mut open, &mut nodes, &mut tokens)?,
        }
    }
    if open.is_empty() && !nodes.is_empty() {
        Ok(nodes)
    } else {
        Err(TreeError)
    }
}

/// Parses a word other than a bracket: a label in a label position, otherwise a value.
fn atom_of<'a>(
    atom: &'a str,
    open: &mut [OpenNode<'a>],
    nodes: &mut [PlanNode<'a>],
    tokens: &mut TreeTokens<'a>,
) -> Result<(), TreeError> {
    match open.last_mut() {
        Some(OpenNode::Node(_, label @ None)) => {
            *label = Some(atom.strip_prefix(':').ok_or(TreeError)?);
            Ok(())
        }
        Some(OpenNode::Node(i, label @ Some(_))) => {
            let (i, name) = (*i, label.take().unwrap_or_default());
            if atom != "<>" {
                note(nodes, i, name, atom);
            }
            // A constant is printed as its number of bytes, followed by the bytes in brackets.
            if tokens.peek() == Some("[") {
                let mut rest = std::iter::from_fn(|| tokens.next());
                rest.find(|token| *token == "]").ok_or(TreeError)?;
            }
            Ok(())
        }
        Some(OpenNode::List(owner)) => {
            if let Some((i, name)) = *owner {
                note(nodes, i, name, atom);
            }
            Ok(())
        }
        None => Err(TreeError),
    }
}

fn note<'a>(nodes: &mut [PlanNode<'a>], i: usize, label: &'a str, value: &'a str) {
    if let Some(node) = nodes.get_mut(i) {
        node.values.push((label, value));
    }
}

/// Returns whether a node or a list may start here.
fn is_value_next(open: &[OpenNode<'_>]) -> bool {
    !matches!(open.last(), Some(OpenNode::Node(_, None)))
}

/// Returns the label that a list is the value of.
fn owner<'a>(open: &[OpenNode<'a>]) -> Option<(usize, &'a str)> {
    match open.last()? {
        OpenNode::Node(i, label) => label.map(|label| (*i, label)),
        OpenNode::List(owner) => *owner,
    }
}

/// Marks the current label as complete.
fn close_value(open: &mut [OpenNode<'_>]) {
    if let Some(OpenNode::Node(_, label)) = open.last_mut() {
        *label = None;
    }
}

/// Splits text into words like `pg_strtok` (src/backend/nodes/read.c).
#[derive(Clone, Copy)]
struct TreeTokens<'a> {
    text: &'a str,
}

impl<'a> TreeTokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        let mut copy = *self;
        copy.next()
    }

    fn next(&mut self) -> Option<&'a str> {
        let text = self.text.trim_start_matches([' ', '\n', '\t']);
        let first = text.bytes().next()?;
        let end = match first {
            b'(' | b')' | b'{' | b'}' => 1,
            _ => word(text),
        };
        let (token, rest) = text.split_at_checked(end)?;
        self.text = rest;
        Some(token)
    }
}

/// Returns the length in bytes of the first word. Words end at ASCII characters, so the end is
/// always a character boundary.
fn word(text: &str) -> usize {
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b' ' | b'\n' | b'\t' | b'(' | b')' | b'{' | b'}' => return i,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_values_keep_their_places() {
        let text = "({QUERY :commandType 1 :cteList <> :rtable ({RTE :alias {ALIAS \
            :aliasname a\\ b :colnames (\"c\" \"\\)\")} :relid 7 :cols (b 8 9)}) :last \"\"})";
        let nodes = nodes(text).unwrap();
        let kinds: Vec<&str> = nodes.iter().map(|node| node.kind).collect();
        assert_eq!(kinds, ["QUERY", "RTE", "ALIAS"]);
        assert_eq!(nodes[0].values, [("commandType", "1"), ("last", "\"\"")]);
        assert_eq!(nodes[1].value("relid"), Some("7"));
        assert_eq!(nodes[1].numbers::<u32>("cols").collect::<Vec<_>>(), [8, 9]);
        assert_eq!(nodes[2].values[0], ("aliasname", "a\\ b"));
    }

    #[test]
    fn names_are_never_labels() {
        for name in [
            ":funcid",
            ":funcid\\ 12",
            "\\{FUNCEXPR",
            "x\\}",
            ":a:b",
            "\\<>",
            "[",
        ] {
            let text = format!("{{ALIAS :aliasname {name} :relid 5}}");
            let nodes = nodes(&text).unwrap();
            assert_eq!(nodes.len(), 1, "{name}");
            let expected = [("aliasname", name), ("relid", "5")];
            assert_eq!(nodes[0].values, expected, "{name}");
        }
    }

    #[test]
    fn bytes_of_constants_are_passed_over() {
        let text = "{CONST :constvalue 4 [ 1 0 -3 0 ] :location 5}";
        let nodes = nodes(text).unwrap();
        assert_eq!(nodes[0].values, [("constvalue", "4"), ("location", "5")]);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        for text in [
            "",
            "x",
            "{QUERY",
            "{QUERY :a}",
            "{QUERY a 1}",
            "{QUERY :a 1 2}",
            "{QUERY :a 1 {X}}",
            "{QUERY :a 1)",
            "({QUERY :a 1}",
            "{QUERY :a 4 [ 1 2}",
            "{query :a 1}",
        ] {
            assert_eq!(nodes(text), Err(TreeError), "{text}");
        }
    }

    #[test]
    fn deep_trees_cost_no_stack() {
        let depth = 200_000;
        let text = "{X :a ".repeat(depth) + "1" + &"}".repeat(depth);
        assert_eq!(nodes(&text).unwrap().len(), depth);
    }
}
