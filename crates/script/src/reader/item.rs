//! What an item is: a message, a separator, a call, a chain, an expression, a function.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, Value};
use quillet_yaml::{Data, Entry, Node, Problem, Scalar, Style};

use super::placed::Placed;
use super::{blocks, call, function, lines};
use crate::directive::Directive;
use crate::syntax::{Block, Call, Function, Item, ItemKind, Message, Source, Target, Text};

/// Sorts nodes into items, and collects functions and everything wrong.
pub(super) struct Classifier<'a> {
    file: &'a str,
    pub(super) functions: Vec<Function>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Classifier {
            file,
            functions: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// A node as instructions: the items of a list, or the one that it is.
    pub(super) fn block(&mut self, node: &Node) -> Block {
        let items = match &node.data {
            Data::List(items) => items.iter().filter_map(|item| self.item(item)).collect(),
            Data::Scalar(_) | Data::Map(_) => self.item(node).into_iter().collect(),
        };
        Block { items }
    }

    /// A node as an instruction; `None` for nothing, a function, and what is wrong.
    pub(super) fn item(&mut self, node: &Node) -> Option<Item> {
        if function::is_function(node) {
            match function::function(node, self.file) {
                Ok(function) => self.functions.push(function),
                Err(problem) => self.problems.push(problem),
            }
            return None;
        }
        if let Some(tag) = &node.tag {
            let message = format!("the tag `!{tag}` is not known here");
            self.wrong(Problem::new(node.span, message).help("functions have `!fn` or `!fn#`"));
            return None;
        }
        let kind = match &node.data {
            Data::Scalar(scalar) => self.scalar(node, scalar)?,
            Data::List(_) if self.opens_hole(node) => return None,
            Data::List(_) => ItemKind::Block(self.block(node)),
            Data::Map(entries) => self.mapping(node, entries)?,
        };
        Some(Item {
            span: node.span,
            kind,
        })
    }

    /// An instruction that is a call or a chain on one line: read as it stands,
    /// so that `: ` and ` #` in its arguments need no quotes around all of it.
    /// `None` if it is something else, `Some(None)` if it is wrong.
    pub(super) fn line(&mut self, part: Span) -> Option<Option<Item>> {
        let mut rows = lines::rows(self.file, part);
        let (span, first) = rows.next()?;
        let alone = rows.all(|(_, row)| row.is_empty() || row.trim_start().starts_with('#'));
        let row = first.strip_prefix("- ").unwrap_or(first);
        let start = span.start + first.len() - row.len();
        let end = start + call::uncommented(row).len();
        let placed = Placed::raw(self.file, Span { start, end }).trim();
        let chain = placed.text.starts_with("->");
        if !alone || !chain && !placed.text.ends_with([')', '）']) {
            return None;
        }
        let span = placed.whole;
        let item = |kind| Item { span, kind };
        if chain {
            Some(self.chain(placed).map(item))
        } else {
            call::call(placed).map(|call| Some(item(ItemKind::Call(call))))
        }
    }

    /// The file that nodes have their places in.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Everything wrong.
    pub(super) fn finish(self, source: &Source) -> Result<(), Vec<Diagnostic>> {
        let mut problems = self.problems;
        for function in self.functions {
            let message = "a function cannot be declared here";
            problems.push(
                Problem::new(function.span, message)
                    .help("declare it in the script's own list of instructions"),
            );
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(super::report(source, problems))
        }
    }

    fn chain(&mut self, placed: Placed<'_>) -> Option<ItemKind> {
        match call::chain(placed) {
            Ok(links) => Some(ItemKind::Chain(links)),
            Err(problem) => {
                self.wrong(problem);
                None
            }
        }
    }

    pub(super) fn wrong(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// `[[x]]` without quotes is a list of a list.
    pub(super) fn opens_hole(&mut self, node: &Node) -> bool {
        let written = self.file.get(node.span.start..).unwrap_or_default();
        let nested = |items: &[Node]| matches!(items, [item] if item.items().is_some());
        let hole = written.starts_with("[[") && node.items().is_some_and(nested);
        if hole {
            let message = "a text that begins with `[[` needs quotes";
            self.wrong(Problem::new(node.span, message).help("write \"[[…]]\""));
        }
        hole
    }

    fn scalar(&mut self, node: &Node, scalar: &Scalar) -> Option<ItemKind> {
        if scalar.value == Value::Null {
            return None;
        }
        // `- |` with nothing below it.
        if scalar.style == Style::Literal && scalar.text.is_empty() {
            return Some(ItemKind::Call(pipe(node)));
        }
        self.text(node, Placed::of(node, &scalar.text, self.file))
    }

    /// A text as an instruction. `node` is the content if it is a message.
    pub(super) fn text(&mut self, node: &Node, placed: Placed<'_>) -> Option<ItemKind> {
        let text = placed.text.trim_end();
        let placed = placed.trim();
        if let Some(pin) = lines::separator(text) {
            return Some(ItemKind::Separator { pin });
        }
        if let Some(call) = call::call(placed) {
            return Some(ItemKind::Call(call));
        }
        if placed.text.starts_with("?=") {
            let expression = placed.cut(2, placed.text.len());
            return Some(ItemKind::Expression(expression.to_text()));
        }
        if placed.text.starts_with("->") {
            return self.chain(placed);
        }
        if broken_call(placed.text) {
            let message = "this call is not closed";
            self.wrong(
                Problem::new(placed.whole, message)
                    .help("put the whole call in quotes: YAML ends a text at ` #`"),
            );
            return None;
        }
        Some(ItemKind::Message(Message {
            role: None,
            to: None,
            content: node.clone(),
            fields: Vec::new(),
        }))
    }

    fn mapping(&mut self, node: &Node, entries: &[Entry]) -> Option<ItemKind> {
        let directive = |entry: &&Entry| entry.name().starts_with('$');
        let tool = |entry: &&Entry| entry.value.as_str() == Some("$tool");
        if let Some(kind) = self.torn(node, entries) {
            return kind;
        }
        if let Some(found) = entries.iter().find(|entry| directive(entry) || tool(entry)) {
            let fields = entries.iter().filter(|entry| !std::ptr::eq(*entry, found));
            let fields: Vec<Entry> = fields.cloned().collect();
            return self.call(node, found, fields);
        }
        self.message(node, entries)
    }

    /// `$print("a: b")` without quotes, which YAML tears at the colon.
    fn torn(&mut self, node: &Node, entries: &[Entry]) -> Option<Option<ItemKind>> {
        let [entry] = entries else { return None };
        let key = entry.name();
        if !(broken_call(key) || key.starts_with("->")) {
            return None;
        }
        let raw = Placed::raw(self.file, node.span);
        let whole = raw.text.starts_with(key)
            && !raw.text.contains('\n')
            && raw.text.ends_with([')', '）']);
        if !whole {
            let message = "YAML takes a part of this call for a key";
            self.wrong(Problem::new(entry.key.span, message).help("put the whole call in quotes"));
            return Some(None);
        }
        let text = Node::new(node.span, Data::Scalar(words(raw.text)));
        Some(self.text(&text, raw))
    }

    fn call(&mut self, node: &Node, found: &Entry, fields: Vec<Entry>) -> Option<ItemKind> {
        let key = found.key.text()?;
        let name = Placed::of(&found.key, key, self.file);
        let made = if !key.starts_with('$') {
            Some(call::bare(Target::Tool, name))
        } else {
            call::call(name)
        };
        let Some(mut made) = made else {
            let message = format!("`{key}` is not the name of a directive");
            self.wrong(
                Problem::new(found.key.span, message).help("write `$name` or `$name(arguments)`"),
            );
            return None;
        };
        made.span = node.span;
        if made.target != Target::Tool && !absent(&found.value) {
            made.value = Some(found.value.clone());
        }
        if let Some(second) = fields.iter().find(|entry| entry.name().starts_with('$')) {
            let message = format!("`{}` stands beside `{key}` in one item", second.name());
            self.wrong(
                Problem::new(second.key.span, message).help("begin each instruction with `- `"),
            );
        }
        made.fields = fields;
        blocks::split(&mut made, self);
        Some(ItemKind::Call(made))
    }
}

/// A scalar of this text, as if it had been written in quotes.
pub(super) fn words(text: &str) -> Scalar {
    let text: Arc<str> = text.into();
    Scalar {
        value: Value::Str(Arc::clone(&text)),
        text,
        style: Style::DoubleQuoted,
    }
}

/// A text that begins as a call and goes on as none: YAML has cut it.
fn broken_call(text: &str) -> bool {
    let Some((name, _)) = text.split_once('(') else {
        return false;
    };
    let named = name
        .strip_prefix('$')
        .is_some_and(|name| !name.is_empty() && !name.contains(char::is_whitespace));
    named && call::group(text, name.len()).is_none() && !text.ends_with([')', '）'])
}

/// Whether nothing stands after the colon. A written `null` is something.
fn absent(value: &Node) -> bool {
    value.is_null() && value.text() == Some("")
}

/// `|` as an item of a list is `$pipe`.
fn pipe(node: &Node) -> Call {
    let name = Text {
        span: node.span,
        value: Arc::from(Directive::Pipe.name()),
    };
    Call {
        name,
        ..call::bare(
            Target::Directive(Directive::Pipe),
            Placed::raw("", node.span),
        )
    }
}
