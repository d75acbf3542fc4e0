//! Classifies items: messages, separators, calls, chains, expressions, functions.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, Value};
use quillet_yaml::{MapEntry, Node, NodeData, Scalar, ScalarFormat, YamlProblem};

use super::located_scalar::LocatedScalar;
use super::{blocks, call, function, lines};
use crate::directive::Directive;
use crate::syntax::{
    CallExpr, CallTarget, FunctionDeclaration, Instruction, InstructionBlock, ItemKind,
    MessageTemplate, ScriptSource, ScriptText,
};

/// Converts nodes to items, and collects functions and errors.
pub(super) struct Classifier<'a> {
    file: &'a str,
    pub(super) functions: Vec<FunctionDeclaration>,
    pub(super) problems: Vec<YamlProblem>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Classifier {
            file,
            functions: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Converts a node to instructions: the items of a list, or a single one.
    pub(super) fn block(&mut self, node: &Node) -> InstructionBlock {
        let items = match &node.data {
            NodeData::List(items) => items.iter().filter_map(|item| self.item(item)).collect(),
            NodeData::Scalar(_) | NodeData::Map(_) => self.item(node).into_iter().collect(),
        };
        InstructionBlock { items }
    }

    /// Converts a node to an instruction. Returns `None` for null, a function, or an error.
    pub(super) fn item(&mut self, node: &Node) -> Option<Instruction> {
        if function::is_function(node) {
            match function::function(node, self.file) {
                Ok(function) => self.functions.push(function),
                Err(problem) => self.problems.push(problem),
            }
            return None;
        }
        if let Some(tag) = &node.tag {
            let message = format!("unknown tag `!{tag}`");
            self.wrong(YamlProblem::new(node.span, message).help(
                "use `!fn` or `!fn#` for \
            functions",
            ));
            return None;
        }
        let kind = match &node.data {
            NodeData::Scalar(scalar) => self.scalar(node, scalar)?,
            // Checked before blocks, because YAML reads an unquoted `[[x]]` as a nested list.
            NodeData::List(_) if self.opens_hole(node) => return None,
            NodeData::List(_) => ItemKind::Block(self.block(node)),
            NodeData::Map(entries) => self.mapping(node, entries)?,
        };
        Some(Instruction {
            span: node.span,
            kind,
        })
    }

    /// Parses a call or a chain on one line directly, so that `: ` and ` #` in its arguments do not
    /// need quotes. Returns `None` if it is something else, and `Some(None)` if it is invalid.
    pub(super) fn line(&mut self, part: Span) -> Option<Option<Instruction>> {
        let mut rows = lines::rows(self.file, part);
        let (span, first) = rows.next()?;
        // Lines below the call are its fields, which must be parsed as YAML.
        let alone = rows.all(|(_, row)| row.is_empty() || row.trim_start().starts_with('#'));
        let row = first.strip_prefix("- ").unwrap_or(first);
        let start = span.start + first.len() - row.len();
        let end = start + call::uncommented(row).len();
        let placed = LocatedScalar::raw(self.file, Span { start, end }).trim();
        let chain = placed.text.starts_with("->");
        if !alone || !chain && !placed.text.ends_with([')', '）']) {
            return None;
        }
        let span = placed.whole;
        let item = |kind| Instruction { span, kind };
        if chain {
            Some(self.chain(placed).map(item))
        } else {
            call::call(placed).map(|call| Some(item(ItemKind::Call(call))))
        }
    }

    /// Returns the file that the spans of nodes refer to.
    pub(super) fn file(&self) -> &'a str {
        self.file
    }

    /// Returns all errors.
    pub(super) fn finish(self, source: &ScriptSource) -> Result<(), Vec<Diagnostic>> {
        let mut problems = self.problems;
        for function in self.functions {
            let message = "cannot declare a function here";
            problems.push(
                YamlProblem::new(function.span, message)
                    .help("declare it at the top level of the script"),
            );
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(super::report(source, problems))
        }
    }

    fn chain(&mut self, placed: LocatedScalar<'_>) -> Option<ItemKind> {
        match call::chain(placed) {
            Ok(links) => Some(ItemKind::Chain(links)),
            Err(problem) => {
                self.wrong(problem);
                None
            }
        }
    }

    pub(super) fn wrong(&mut self, problem: YamlProblem) {
        self.problems.push(problem);
    }

    /// Reports `[[x]]` without quotes, which YAML reads as a nested list.
    pub(super) fn opens_hole(&mut self, node: &Node) -> bool {
        let written = self.file.get(node.span.start..).unwrap_or_default();
        let nested = |items: &[Node]| matches!(items, [item] if item.items().is_some());
        let hole = written.starts_with("[[") && node.items().is_some_and(nested);
        if hole {
            let message = "a string that begins with `[[` needs quotes";
            self.wrong(YamlProblem::new(node.span, message).help("write \"[[…]]\""));
        }
        hole
    }

    fn scalar(&mut self, node: &Node, scalar: &Scalar) -> Option<ItemKind> {
        if scalar.value == Value::Null {
            return None;
        }
        // A `- |` without text below it is read as a pipe.
        if scalar.style == ScalarFormat::Literal && scalar.text.is_empty() {
            return Some(ItemKind::Call(pipe(node)));
        }
        self.text(node, LocatedScalar::of(node, &scalar.text, self.file))
    }

    /// Converts a text to an instruction. `node` is the content if it is a message.
    pub(super) fn text(&mut self, node: &Node, placed: LocatedScalar<'_>) -> Option<ItemKind> {
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
            let message = "unclosed call";
            self.wrong(
                YamlProblem::new(placed.whole, message)
                    .help("quote the whole call: YAML ends a string at ` #`"),
            );
            return None;
        }
        Some(ItemKind::Message(MessageTemplate {
            role: None,
            to: None,
            content: node.clone(),
            fields: Vec::new(),
        }))
    }

    fn mapping(&mut self, node: &Node, entries: &[MapEntry]) -> Option<ItemKind> {
        let directive = |entry: &&MapEntry| entry.name().starts_with('$');
        let tool = |entry: &&MapEntry| entry.value.as_str() == Some("$tool");
        // Checked before messages, because YAML splits a call at a colon, and the first half could
        // be read as a role.
        if let Some(kind) = self.torn(node, entries) {
            return kind;
        }
        if let Some(found) = entries.iter().find(|entry| directive(entry) || tool(entry)) {
            // Entries are compared by address, so that only the entry found is omitted, even if
            // others are equal.
            let fields = entries.iter().filter(|entry| !std::ptr::eq(*entry, found));
            let fields: Vec<MapEntry> = fields.cloned().collect();
            return self.call(node, found, fields);
        }
        self.message(node, entries)
    }

    /// Repairs `$print("a: b")` without quotes, which YAML splits at the colon.
    fn torn(&mut self, node: &Node, entries: &[MapEntry]) -> Option<Option<ItemKind>> {
        let [entry] = entries else { return None };
        let key = entry.name();
        if !(broken_call(key) || key.starts_with("->")) {
            return None;
        }
        let raw = LocatedScalar::raw(self.file, node.span);
        let whole = raw.text.starts_with(key)
            && !raw.text.contains('\n')
            && raw.text.ends_with([')', '）']);
        if !whole {
            let message = "YAML reads part of this call as a key";
            self.wrong(YamlProblem::new(entry.key.span, message).help("quote the whole call"));
            return Some(None);
        }
        let text = Node::new(node.span, NodeData::Scalar(words(raw.text)));
        Some(self.text(&text, raw))
    }

    fn call(&mut self, node: &Node, found: &MapEntry, fields: Vec<MapEntry>) -> Option<ItemKind> {
        let key = found.key.text()?;
        let name = LocatedScalar::of(&found.key, key, self.file);
        let made = if !key.starts_with('$') {
            Some(call::bare(CallTarget::Tool, name))
        } else {
            call::call(name)
        };
        let Some(mut made) = made else {
            let message = format!("unknown directive `{key}`");
            self.wrong(
                YamlProblem::new(found.key.span, message)
                    .help("write `$name` or `$name(arguments)`"),
            );
            return None;
        };
        made.span = node.span;
        if made.target != CallTarget::Tool && !absent(&found.value) {
            made.value = Some(found.value.clone());
        }
        if let Some(second) = fields.iter().find(|entry| entry.name().starts_with('$')) {
            let message = format!("`{}` and `{key}` are in the same list item", second.name());
            self.wrong(
                YamlProblem::new(second.key.span, message).help("start each instruction with `- `"),
            );
        }
        made.fields = fields;
        blocks::split(&mut made, self);
        Some(ItemKind::Call(made))
    }
}

/// Creates a scalar with this text, as if it were quoted.
pub(super) fn words(text: &str) -> Scalar {
    let text: Arc<str> = text.into();
    Scalar {
        value: Value::Str(Arc::clone(&text)),
        text,
        style: ScalarFormat::DoubleQuoted,
    }
}

/// Returns whether a text starts like a call and ends unlike one, because YAML has split it.
fn broken_call(text: &str) -> bool {
    let Some((name, _)) = text.split_once('(') else {
        return false;
    };
    let named = name
        .strip_prefix('$')
        .is_some_and(|name| !name.is_empty() && !name.contains(char::is_whitespace));
    named && call::group(text, name.len()).is_none() && !text.ends_with([')', '）'])
}

/// Returns whether there is no value after the colon. An explicit `null` is a value.
fn absent(value: &Node) -> bool {
    value.is_null() && value.text() == Some("")
}

/// `|` as a list item means `$pipe`.
fn pipe(node: &Node) -> CallExpr {
    let name = ScriptText {
        span: node.span,
        value: Arc::from(Directive::Pipe.name()),
    };
    CallExpr {
        name,
        ..call::bare(
            CallTarget::Directive(Directive::Pipe),
            LocatedScalar::raw("", node.span),
        )
    }
}
