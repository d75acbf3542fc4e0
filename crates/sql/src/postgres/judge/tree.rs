//! PostgreSQL's own text of a query's tree (`nodeToString`, src/backend/nodes/outfuncs.c), read
//! without knowing its nodes: kinds, labels and values, in every version.
//!
//! Names of the query stand in it, with a backslash before what would end them but not before a
//! colon: an alias `":funcid"` looks like a label. So labels are taken where labels stand, and a
//! text that does not keep the order of label and value is refused.

use std::str::FromStr;

/// A node, without those inside of it: these stand in the list by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PlanNode<'a> {
    /// What it is: `FUNCEXPR`.
    pub(super) kind: &'a str,
    /// Labels without their colon, and each value that is no node; of a list each item.
    pub(super) values: Vec<(&'a str, &'a str)>,
}

impl<'a> PlanNode<'a> {
    /// The values of a label as numbers.
    pub(super) fn numbers<T: FromStr>(&self, label: &str) -> impl Iterator<Item = T> {
        let values = self.values.iter().filter(move |(name, _)| *name == label);
        values.filter_map(|(_, value)| value.parse().ok())
    }

    /// The only value of a label.
    pub(super) fn value(&self, label: &str) -> Option<&'a str> {
        let mut values = self.values.iter();
        values
            .find(|(name, _)| *name == label)
            .map(|(_, value)| *value)
    }
}

/// The text is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeError;

/// What is open while a tree is read.
enum OpenNode<'a> {
    /// A node by its place in the list, and the label whose value comes next.
    Node(usize, Option<&'a str>),
    /// A list that is the value of this node's label.
    List(Option<(usize, &'a str)>),
}

/// All nodes of a tree, outer ones before those inside of them. Deep trees cost no stack.
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

/// A word that is no bracket: a label where a label stands, else a value.
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
            // The bytes of a constant: their number, and the bytes in brackets.
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

/// Whether a node or a list may begin here.
fn is_value_next(open: &[OpenNode<'_>]) -> bool {
    !matches!(open.last(), Some(OpenNode::Node(_, None)))
}

/// The label whose value a list is.
fn owner<'a>(open: &[OpenNode<'a>]) -> Option<(usize, &'a str)> {
    match open.last()? {
        OpenNode::Node(i, label) => label.map(|label| (*i, label)),
        OpenNode::List(owner) => *owner,
    }
}

/// The label has its value.
fn close_value(open: &mut [OpenNode<'_>]) {
    if let Some(OpenNode::Node(_, label)) = open.last_mut() {
        *label = None;
    }
}

/// Words as `pg_strtok` cuts them (src/backend/nodes/read.c).
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

/// The bytes of the word at the start. What ends a word is ASCII, so that the end is never
/// inside of a character.
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
