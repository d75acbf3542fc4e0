//! Compares parsed scripts without regard to locations.

use quillet_core::Span;
use quillet_yaml::{MapEntry, Node, NodeData};

use crate::syntax::{
    CallExpr, FunctionDeclaration, Instruction, InstructionBlock, ItemKind, MessageTemplate,
    Script, ScriptText,
};

/// Returns whether two scripts have the same meaning.
pub(super) fn scripts(a: &Script, b: &Script) -> bool {
    a.has_front_matter == b.has_front_matter
        && nodes(&a.config, &b.config)
        && block(&a.body) == block(&b.body)
        && a.functions
            .iter()
            .map(function)
            .eq(b.functions.iter().map(function))
}

/// Returns whether two trees are equal.
pub(super) fn nodes(a: &Node, b: &Node) -> bool {
    node(a) == node(b)
}

const NOWHERE: Span = Span { start: 0, end: 0 };

fn node(node: &Node) -> Node {
    Node {
        span: NOWHERE,
        tag: node.tag.clone(),
        data: match &node.data {
            NodeData::Scalar(scalar) => NodeData::Scalar(scalar.clone()),
            NodeData::List(items) => NodeData::List(items.iter().map(self::node).collect()),
            NodeData::Map(entries) => NodeData::Map(self::entries(entries)),
        },
    }
}

fn entries(entries: &[MapEntry]) -> Vec<MapEntry> {
    let entry = |entry: &MapEntry| MapEntry {
        key: node(&entry.key),
        value: node(&entry.value),
    };
    entries.iter().map(entry).collect()
}

fn text(text: &ScriptText) -> ScriptText {
    ScriptText {
        span: NOWHERE,
        value: text.value.clone(),
    }
}

fn block(block: &InstructionBlock) -> InstructionBlock {
    InstructionBlock {
        items: block.items.iter().map(item).collect(),
    }
}

fn item(item: &Instruction) -> Instruction {
    let kind = match &item.kind {
        ItemKind::Message(message) => ItemKind::Message(MessageTemplate {
            role: message.role.as_ref().map(text),
            to: message.to.as_ref().map(text),
            content: node(&message.content),
            fields: entries(&message.fields),
        }),
        ItemKind::Separator { pin } => ItemKind::Separator { pin: *pin },
        ItemKind::Call(made) => ItemKind::Call(call(made)),
        ItemKind::Chain(links) => ItemKind::Chain(links.iter().map(call).collect()),
        ItemKind::Expression(expression) => ItemKind::Expression(text(expression)),
        ItemKind::Block(inner) => ItemKind::Block(block(inner)),
    };
    Instruction {
        span: NOWHERE,
        kind,
    }
}

fn call(call: &CallExpr) -> CallExpr {
    let branch = |branch: &crate::syntax::Branch| crate::syntax::Branch {
        key: text(&branch.key),
        block: block(&branch.block).into(),
    };
    CallExpr {
        span: NOWHERE,
        target: call.target,
        name: text(&call.name),
        piped: call.piped,
        arguments: call.arguments.as_ref().map(text),
        value: call.value.as_ref().map(node),
        fields: entries(&call.fields),
        branches: call.branches.iter().map(branch).collect(),
    }
}

fn function(function: &FunctionDeclaration) -> FunctionDeclaration {
    FunctionDeclaration {
        span: NOWHERE,
        code: text(&function.code),
        ..function.clone()
    }
}
