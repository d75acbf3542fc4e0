//! Random trees over one set of variables, and their expected output.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use quillet_core::{Map, Span, Value};
use quillet_template::convert::{
    LoopPosition, NodeKind, Nodes, PathStart, TreeCondition, TreeNode, VariablePath, VariableType,
    merged,
};

/// Variables whose kinds print the same and have the same truth value in all formats.
pub(super) const DATA: &str = r#"{
    "name": "Ada", "empty": "", "count": 3, "zero": 0, "yes": true, "no": false,
    "braces": "{{name}} {% if %} <b> & \\", "words": ["a", "", "{{c}}"], "nothing": [],
    "user": {"nick": "ada", "admin": true, "age": 0},
    "rows": [
        {"title": "one", "size": 1, "done": true, "tags": ["x", "y"]},
        {"title": "", "size": 0, "done": false, "tags": []}
    ]
}"#;

/// Kinds of the variables in [`DATA`].
pub(super) fn shapes() -> VariableType {
    let Value::Map(data) = quillet_core::json::parse(DATA).expect("it is JSON") else {
        unreachable!("the data are an object");
    };
    shape_of(&Value::Map(data))
}

fn shape_of(value: &Value) -> VariableType {
    match value {
        Value::Null => VariableType::Unknown,
        Value::Bool(_) => VariableType::Boolean,
        Value::Int(_) => VariableType::Integer,
        Value::Float(_) => VariableType::Number,
        Value::Str(_) => VariableType::Text,
        Value::List(list) => {
            let items = list.first().map(shape_of).unwrap_or(VariableType::Text);
            VariableType::List(Box::new(items))
        }
        Value::Map(map) => {
            let field = |(name, value): (_, &Value)| (ToString::to_string(name), shape_of(value));
            VariableType::Object(
                map.iter()
                    .map(|(name, value)| field((name, value)))
                    .collect(),
            )
        }
    }
}

/// Kind of a loop's item.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Word,
    Row,
}

const TEXTS: &[&str] = &[
    "a", "Hello", " ", "\n", "\n\n", "  ", "\t", "\r\n", ".", "\n  ", "é世", "{", "}", "{{", "}}",
    "{%", "%}", "{#", "\"", "'", "\\", "-", "<b>&", "{{{", "{{name}}", "{name}", "$", "/", "!",
    "~",
];

fn text() -> impl Strategy<Value = NodeKind> {
    let texts = vec(select(TEXTS), 1..4);
    texts.prop_map(|texts| NodeKind::Text(texts.concat()))
}

/// Text without the syntax of any format.
fn plain_text() -> impl Strategy<Value = NodeKind> {
    let texts = vec(select(&["a", "Hello ", " ", "\n", "\n  ", "x\n"][..]), 1..4);
    texts.prop_map(|texts| NodeKind::Text(texts.concat()))
}

/// Paths of printable values.
fn printable(items: &[Item]) -> Vec<VariablePath> {
    let mut paths: Vec<VariablePath> = ["name", "empty", "count", "zero", "braces"]
        .map(|name| VariablePath::root(&[name]))
        .into();
    paths.push(VariablePath::root(&["user", "nick"]));
    paths.push(VariablePath::root(&["user", "age"]));
    for (depth, item) in items.iter().enumerate() {
        match item {
            Item::Word => paths.push(VariablePath::item(depth, &[])),
            Item::Row => {
                paths.push(VariablePath::item(depth, &["title"]));
                paths.push(VariablePath::item(depth, &["size"]));
            }
        }
    }
    paths
}

/// Paths that a condition can test.
fn decidable(items: &[Item]) -> Vec<VariablePath> {
    let mut paths = printable(items);
    paths.extend(["yes", "no"].map(|name| VariablePath::root(&[name])));
    paths.push(VariablePath::root(&["user", "admin"]));
    for (depth, item) in items.iter().enumerate() {
        if *item == Item::Row {
            paths.push(VariablePath::item(depth, &["done"]));
        }
    }
    paths
}

/// Paths of lists, with the kinds of their items.
fn lists(items: &[Item]) -> Vec<(VariablePath, Item)> {
    let mut lists = vec![
        (VariablePath::root(&["words"]), Item::Word),
        (VariablePath::root(&["nothing"]), Item::Word),
        (VariablePath::root(&["rows"]), Item::Row),
    ];
    for (depth, item) in items.iter().enumerate() {
        if *item == Item::Row {
            lists.push((VariablePath::item(depth, &["tags"]), Item::Word));
        }
    }
    lists
}

/// The language features that a random tree uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) blocks: bool,
    /// Whether the tree uses loop variables and comparisons of texts, which some formats lack.
    pub(super) knows: bool,
    /// Whether any text may be next to a tag.
    pub(super) braces: bool,
}

pub(super) fn tree(wanted: Wanted) -> BoxedStrategy<Nodes> {
    nodes(wanted, Vec::new(), 3).prop_map(merged).boxed()
}

fn nodes(wanted: Wanted, items: Vec<Item>, depth: usize) -> BoxedStrategy<Nodes> {
    vec(node(wanted, items, depth), 0..4).boxed()
}

fn node(wanted: Wanted, items: Vec<Item>, depth: usize) -> BoxedStrategy<TreeNode> {
    let text = if wanted.braces {
        text().boxed()
    } else {
        plain_text().boxed()
    };
    let print = select(match wanted.blocks {
        true if wanted.knows => {
            let mut paths = printable(&items);
            paths.extend(known(&items, &[LoopPosition::Index, LoopPosition::Number]));
            paths
        }
        true => printable(&items),
        false => ["name", "empty", "count"]
            .map(|name| VariablePath::root(&[name]))
            .into(),
    });
    let print = print.prop_map(NodeKind::Print);
    let kind = if !(wanted.blocks && depth > 0) {
        prop_oneof![3 => text, 2 => print].boxed()
    } else {
        prop_oneof![
            4 => text,
            3 => print,
            2 => condition(wanted, items.clone(), depth - 1),
            2 => each(wanted, items, depth - 1),
        ]
        .boxed()
    };
    kind.prop_map(|kind| TreeNode::new(kind, Span::default()))
        .boxed()
}

/// Loop variables of the enclosing loops, the innermost with a higher weight.
fn known(items: &[Item], all: &[LoopPosition]) -> Vec<VariablePath> {
    let innermost = items.len().saturating_sub(1);
    let depths = (0..items.len())
        .chain([innermost; 2])
        .filter(|depth| *depth < items.len());
    depths
        .flat_map(|depth| {
            all.iter()
                .map(move |knows| VariablePath::in_loop(depth, *knows))
        })
        .collect()
}

/// Texts to compare with. Some of them occur in the data.
const COMPARED: &[&str] = &["Ada", "", "one", "x", "\"quoted\"", "a\\b", "{{c}}"];

/// Paths of text values.
fn texts(items: &[Item]) -> Vec<VariablePath> {
    let mut paths = printable(items);
    paths.retain(|path| {
        !matches!(
            path.keys.last().map(String::as_str),
            Some("count" | "zero" | "size" | "age")
        )
    });
    paths
}

fn asked(wanted: Wanted, items: &[Item]) -> BoxedStrategy<TreeCondition> {
    let truth = select(decidable(items)).prop_map(TreeCondition::truth);
    if !wanted.knows {
        return truth.boxed();
    }
    let equals = (select(texts(items)), select(COMPARED));
    let equals = equals.prop_map(|(path, text)| TreeCondition::equals(path, text));
    match known(items, &[LoopPosition::First, LoopPosition::Last]) {
        known if known.is_empty() => prop_oneof![truth, equals].boxed(),
        known => {
            let known = select(known).prop_map(TreeCondition::truth);
            prop_oneof![1 => truth, 1 => equals, 2 => known].boxed()
        }
    }
}

fn condition(wanted: Wanted, items: Vec<Item>, depth: usize) -> BoxedStrategy<NodeKind> {
    let condition = asked(wanted, &items);
    let then = nodes(wanted, items.clone(), depth);
    let otherwise = nodes(wanted, items, depth);
    (condition, then, otherwise)
        .prop_map(|(condition, then, otherwise)| NodeKind::If {
            condition,
            then,
            otherwise,
        })
        .boxed()
}

fn each(wanted: Wanted, items: Vec<Item>, depth: usize) -> BoxedStrategy<NodeKind> {
    select(lists(&items))
        .prop_flat_map(move |(list, item)| {
            let mut inside = items.clone();
            inside.push(item);
            let body = nodes(wanted, inside, depth);
            let otherwise = nodes(wanted, items.clone(), depth);
            (body, otherwise).prop_map(move |(body, otherwise)| NodeKind::For {
                list: list.clone(),
                name: None,
                body,
                otherwise,
            })
        })
        .boxed()
}

/// Returns the tree without the names of loop items, which each source chooses.
pub(super) fn nameless(nodes: Nodes) -> Nodes {
    let node = |node: TreeNode| {
        let kind = match node.kind {
            NodeKind::For {
                list,
                body,
                otherwise,
                ..
            } => NodeKind::For {
                list,
                name: None,
                body: nameless(body),
                otherwise: nameless(otherwise),
            },
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => NodeKind::If {
                condition,
                then: nameless(then),
                otherwise: nameless(otherwise),
            },
            kind => kind,
        };
        TreeNode::new(kind, node.span)
    };
    nodes.into_iter().map(node).collect()
}

/// Returns the expected output of a tree with these variables.
pub(super) fn meaning(nodes: &[TreeNode], variables: &Map) -> String {
    let mut out = String::new();
    let root = Value::Map(variables.clone());
    print(nodes, &root, &mut Vec::new(), &mut out);
    out
}

fn print(nodes: &[TreeNode], root: &Value, items: &mut Vec<Turn>, out: &mut String) {
    for node in nodes {
        match &node.kind {
            NodeKind::Text(text) => out.push_str(text),
            NodeKind::Print(path) => match look(path, root, items) {
                Value::Str(text) => out.push_str(&text),
                Value::Int(number) => out.push_str(&number.to_string()),
                other => panic!("{other:?} prints in several ways"),
            },
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => {
                let part = if holds(condition, root, items) {
                    then
                } else {
                    otherwise
                };
                print(part, root, items, out);
            }
            NodeKind::For {
                list,
                body,
                otherwise,
                ..
            } => {
                let Value::List(list) = look(list, root, items) else {
                    panic!("{list:?} is no list");
                };
                if list.is_empty() {
                    print(otherwise, root, items, out);
                }
                for (index, item) in list.iter().enumerate() {
                    items.push(Turn {
                        item: item.clone(),
                        index,
                        last: index + 1 == list.len(),
                    });
                    print(body, root, items, out);
                    items.pop();
                }
            }
            kind => panic!("{kind:?} is not made here"),
        }
    }
}

/// A loop item and its position in the list.
struct Turn {
    item: Value,
    index: usize,
    last: bool,
}

impl Turn {
    fn known(&self, knows: LoopPosition) -> Value {
        let number = |index: usize| Value::Int(index.try_into().expect("lists are short"));
        match knows {
            LoopPosition::Index => number(self.index),
            LoopPosition::Number => number(self.index + 1),
            LoopPosition::First => Value::Bool(self.index == 0),
            LoopPosition::Last => Value::Bool(self.last),
        }
    }
}

fn holds(condition: &TreeCondition, root: &Value, items: &[Turn]) -> bool {
    let value = look(&condition.path, root, items);
    match (&condition.equals, value) {
        (Some(text), value) => value.as_str() == Some(text),
        (None, Value::Bool(false) | Value::Int(0)) => false,
        (None, Value::Str(text)) => !text.is_empty(),
        (None, _) => true,
    }
}

fn look(path: &VariablePath, root: &Value, items: &[Turn]) -> Value {
    let start = match path.start {
        PathStart::Root => root,
        PathStart::Item(depth) => &items[depth].item,
        PathStart::Loop(depth, knows) => return items[depth].known(knows),
    };
    start.get_path(&path.keys).cloned().expect("it is there")
}
