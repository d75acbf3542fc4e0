//! Symbols of a script, for outlines and folding.

use quillet_core::Span;
use quillet_yaml::{MapEntry, Node};

use super::{ScriptDocument, hover_text};
use crate::reader;
use crate::syntax::{
    CallExpr, CallTarget, Instruction, InstructionBlock, ItemKind, MessageTemplate,
};

/// A symbol of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Additional text, such as the beginning of a message.
    pub detail: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The whole span of the symbol.
    pub span: Span,
    /// The span to select.
    pub name_span: Span,
    /// The symbols inside it.
    pub children: Vec<Symbol>,
}

/// The kind of a symbol in an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// The front matter, or the part between two separators.
    Dialogue,
    /// A key of the front matter.
    Key,
    /// A message.
    Message,
    /// A directive, a call or a chain.
    Call,
    /// A declared function.
    Function,
}

/// Returns the front matter, the dialogues with their messages and calls, and the functions, in the
/// order of the file.
#[must_use]
pub fn symbols(document: &ScriptDocument) -> Vec<Symbol> {
    let script = &document.script;
    let mut found = Vec::new();
    let keys = script.config.entries().unwrap_or_default();
    if !keys.is_empty() {
        let children = keys.iter().map(key).collect();
        found.push(dialogue("front matter".to_owned(), children));
    }
    found.extend(dialogues(&script.body));
    found.extend(script.functions.iter().map(|function| Symbol {
        name: match function.name.as_str() {
            "" => "function".to_owned(),
            name => format!("${}", name.trim_start_matches('$')),
        },
        detail: function.language.clone(),
        kind: SymbolKind::Function,
        span: function.span,
        name_span: function.span,
        children: Vec::new(),
    }));
    found.sort_by_key(|symbol| symbol.span.start);
    found
}

fn dialogues(body: &InstructionBlock) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = Vec::new();
    let is_separator = |item: &Instruction| matches!(item.kind, ItemKind::Separator { .. });
    for items in body.items.split(is_separator) {
        let children: Vec<Symbol> = items.iter().map(item).collect();
        if !children.is_empty() {
            let name = format!("dialogue {}", found.len() + 1);
            found.push(dialogue(name, children));
        }
    }
    found
}

/// Creates a symbol that contains its children.
fn dialogue(name: String, children: Vec<Symbol>) -> Symbol {
    let start = children.first().map_or(0, |child| child.span.start);
    let end = children
        .iter()
        .map(|child| child.span.end)
        .max()
        .unwrap_or(start);
    Symbol {
        name,
        detail: String::new(),
        kind: SymbolKind::Dialogue,
        span: Span { start, end },
        name_span: Span { start, end: start },
        children,
    }
}

fn key(entry: &MapEntry) -> Symbol {
    let end = entry.value.span.end.max(entry.key.span.end);
    Symbol {
        name: entry.name().to_owned(),
        detail: detail(&entry.value),
        kind: SymbolKind::Key,
        span: Span {
            start: entry.key.span.start,
            end,
        },
        name_span: entry.key.span,
        children: Vec::new(),
    }
}

fn item(item: &Instruction) -> Symbol {
    let (name, detail, kind, children) = match &item.kind {
        ItemKind::Message(message) => (
            role(message),
            detail(&message.content),
            SymbolKind::Message,
            Vec::new(),
        ),
        ItemKind::Call(call) => (
            call_name(call),
            String::new(),
            SymbolKind::Call,
            blocks(call),
        ),
        ItemKind::Chain(links) => {
            let links: Vec<String> = links.iter().map(call_name).collect();
            (
                format!("-> {}", links.join(" -> ")),
                String::new(),
                SymbolKind::Call,
                Vec::new(),
            )
        }
        ItemKind::Expression(text) => (
            hover_text::value(&text.value.to_string().into()),
            String::new(),
            SymbolKind::Call,
            Vec::new(),
        ),
        ItemKind::Block(block) => (
            "block".to_owned(),
            String::new(),
            SymbolKind::Call,
            inside(block),
        ),
        ItemKind::Separator { .. } => (
            "---".to_owned(),
            String::new(),
            SymbolKind::Dialogue,
            Vec::new(),
        ),
    };
    Symbol {
        name,
        detail,
        kind,
        span: item.span,
        name_span: item.span,
        children,
    }
}

fn role(message: &MessageTemplate) -> String {
    let role = message.role.as_ref().map_or("user", |role| &role.value);
    match role {
        "" => "user".to_owned(),
        role => role.to_owned(),
    }
}

fn call_name(call: &CallExpr) -> String {
    let sign = match call.target {
        CallTarget::Directive(_) | CallTarget::Function => "$",
        CallTarget::Script | CallTarget::Tool => "",
    };
    format!("{sign}{}", call.name.value)
}

fn blocks(call: &CallExpr) -> Vec<Symbol> {
    call.branches
        .iter()
        .flat_map(|branch| inside(&branch.block))
        .collect()
}

fn inside(block: &InstructionBlock) -> Vec<Symbol> {
    block.items.iter().map(item).collect()
}

fn detail(node: &Node) -> String {
    match node.as_str() {
        Some(text) => hover_text::value(&text.into()),
        None => node.text().unwrap_or_default().to_owned(),
    }
}

/// Returns the foldable ranges: the front matter, dialogues, and every instruction that spans
/// several lines.
#[must_use]
pub fn folds(document: &ScriptDocument) -> Vec<Span> {
    let mut found: Vec<Span> = reader::split(document.text()).front.into_iter().collect();
    collect(&symbols(document), &mut found);
    let lines = |span: &Span| {
        let written = document
            .text()
            .get(span.start..span.end)
            .unwrap_or_default();
        written.trim_end().contains('\n')
    };
    found.retain(lines);
    found
}

fn collect(symbols: &[Symbol], found: &mut Vec<Span>) {
    for symbol in symbols {
        found.push(symbol.span);
        collect(&symbol.children, found);
    }
}
