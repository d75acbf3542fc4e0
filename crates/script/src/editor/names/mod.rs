//! Finds all named symbols in a script.
//!
//! Hovers, definitions and references are based on these marks.

use quillet_core::{SemanticToken, Span};
use quillet_yaml::{MapEntry, Node};

use super::{ScriptDocument, holds};
use crate::directive::Directive;
use crate::library::check::line_map::text_of;
use crate::library::import::bare_name;
use crate::syntax::{
    CallExpr, CallTarget, FunctionDeclaration, InstructionBlock, ItemKind, MessageTemplate,
};
use crate::text::prefix::TextPosition;

mod front_matter;
mod symbol;
mod texts;

use symbol::MOST_MARKS;
pub(super) use symbol::{MarkKind, NamedSymbol};
use texts::SymbolTexts;

/// Returns all marks, or those of the instructions around a byte offset, in no particular order.
pub(super) fn marks(document: &ScriptDocument, around: Option<usize>) -> Vec<NamedSymbol> {
    walk(document, SymbolTexts::new(document), around).marks
}

/// Returns all marks except variables in templates, and the semantic tokens of templates.
pub(super) fn marks_and_tokens(
    document: &ScriptDocument,
) -> (Vec<NamedSymbol>, Vec<SemanticToken>) {
    let mut texts = SymbolTexts::new(document);
    texts.tokens = Some(Vec::new());
    let texts = walk(document, texts, None);
    (texts.marks, texts.tokens.unwrap_or_default())
}

fn walk<'a>(
    document: &'a ScriptDocument,
    texts: SymbolTexts<'a>,
    around: Option<usize>,
) -> SymbolTexts<'a> {
    let mut walk = SymbolWalk { texts, around };
    front_matter::config(&mut walk.texts, &document.script.config);
    walk.block(&document.script.body);
    for function in &document.script.functions {
        walk.function(document.text(), function);
    }
    walk.texts
}

/// Returns the narrowest mark at a byte offset.
pub(super) fn mark_at(document: &ScriptDocument, at: usize) -> Option<NamedSymbol> {
    let marks = marks(document, Some(at));
    let there = marks.into_iter().filter(|mark| holds(mark.span, at));
    // Marks can be nested, and the narrowest one is wanted, for example a variable inside a hole.
    there.min_by_key(|mark| mark.span.end - mark.span.start)
}

/// Returns the innermost message around a byte offset.
pub(super) fn message_at(block: &InstructionBlock, at: usize) -> Option<&MessageTemplate> {
    block.items.iter().find_map(|item| match &item.kind {
        ItemKind::Message(message) => spans(message)
            .any(|span| holds(span, at))
            .then_some(message),
        ItemKind::Call(call) => call
            .branches
            .iter()
            .find_map(|branch| message_at(&branch.block, at)),
        ItemKind::Block(block) => message_at(block, at),
        ItemKind::Chain(_) | ItemKind::Expression(_) | ItemKind::Separator { .. } => None,
    })
}

fn spans(message: &MessageTemplate) -> impl Iterator<Item = Span> {
    let role = message.role.as_ref().map(|role| role.span);
    role.into_iter().chain([message.content.span])
}

struct SymbolWalk<'a> {
    texts: SymbolTexts<'a>,
    around: Option<usize>,
}

impl SymbolWalk<'_> {
    fn block(&mut self, block: &InstructionBlock) {
        for item in &block.items {
            // Limits the work in a huge file, because this runs on every keystroke.
            if self.texts.marks.len() >= MOST_MARKS {
                return;
            }
            match &item.kind {
                ItemKind::Message(message) => self.message(message),
                ItemKind::Call(call) => self.call(call),
                ItemKind::Chain(links) => links.iter().for_each(|link| self.call(link)),
                ItemKind::Expression(text) => self.texts.whole_expression(text),
                ItemKind::Block(block) => self.block(block),
                ItemKind::Separator { .. } => {}
            }
        }
    }

    fn message(&mut self, message: &MessageTemplate) {
        if let Some(at) = self.around
            && !spans(message).any(|span| holds(span, at))
            && !message
                .fields
                .iter()
                .any(|field| holds(field.value.span, at))
        {
            return;
        }
        let position = match &message.role {
            Some(role) => {
                let kind = MarkKind::Role(role.value.to_string());
                self.texts.add(role.span, kind);
                TextPosition::Argument
            }
            None => TextPosition::Message,
        };
        self.texts.values(&message.content, position);
        self.fields(&message.fields);
    }

    fn call(&mut self, call: &CallExpr) {
        self.name(call);
        if let Some(arguments) = &call.arguments {
            let sets = sets_variables(call);
            self.texts
                .arguments(arguments, 0..arguments.value.len(), sets);
        }
        if let Some(value) = &call.value {
            self.value(call, value);
        }
        self.fields(&call.fields);
        if sets_variables(call) {
            self.set(&call.fields);
        }
        for branch in &call.branches {
            if branch.key.value.starts_with(':') {
                let kind = MarkKind::Pattern(branch.key.value.to_string());
                self.texts.add(branch.key.span, kind);
            }
            self.block(&branch.block);
        }
    }

    fn name(&mut self, call: &CallExpr) {
        let name = bare_name(&call.name.value).to_owned();
        let kind = match call.target {
            CallTarget::Directive(_) | CallTarget::Function => MarkKind::Call(name),
            CallTarget::Script | CallTarget::Tool => MarkKind::Script(name),
        };
        self.texts.add(call.name.span, kind);
    }

    fn value(&mut self, call: &CallExpr, value: &Node) {
        if sets_variables(call) {
            self.set(value.entries().unwrap_or_default());
        }
        match (call.directive(), text_of(value)) {
            (Some(Directive::If | Directive::While), Some(text)) if !text.value.contains("{{") => {
                self.texts.expression(&text, 0..text.value.len());
            }
            (Some(Directive::Exec), _) => {
                let fields = value.entries().unwrap_or_default();
                fields.iter().for_each(|field| self.script(field));
                self.texts.values(value, TextPosition::Argument);
            }
            (Some(Directive::On | Directive::Once), _) => {
                self.listener(value.get("callback"));
                self.texts.values(value, TextPosition::Argument);
            }
            _ => self.texts.values(value, TextPosition::Argument),
        }
    }

    /// Adds the symbols in the keys of a call: scripts, listeners and the names of a loop.
    fn fields(&mut self, fields: &[MapEntry]) {
        for field in fields {
            match field.name() {
                "as" => self.names(&field.value),
                "callback" => self.listener(Some(&field.value)),
                _ => {
                    self.script(field);
                    self.texts.values(&field.value, TextPosition::Argument);
                }
            }
        }
    }

    fn script(&mut self, field: &MapEntry) {
        if !matches!(field.name(), "id" | "filename") {
            return;
        }
        let plain = |name: &&str| !name.contains(['{', '[', '=', ' ']);
        if let Some(name) = field.value.as_str().filter(plain) {
            self.texts
                .add_node(&field.value, MarkKind::Script(name.to_owned()));
        }
    }

    fn listener(&mut self, node: Option<&Node>) {
        let Some(node) = node.filter(|node| node.tag.is_none()) else {
            return;
        };
        if let Some(name) = node.as_str().filter(|name| !name.contains(['=', ' ', '('])) {
            let kind = MarkKind::Call(bare_name(name).to_owned());
            self.texts.add_node(node, kind);
        }
    }

    /// Adds the names in `as: {value: x, index: i}`.
    fn names(&mut self, node: &Node) {
        for entry in node.entries().unwrap_or_default() {
            if let Some(name) = entry.value.as_str() {
                self.texts.variable(&entry.value, name, true);
            }
        }
    }

    fn set(&mut self, entries: &[MapEntry]) {
        for entry in entries {
            self.texts.variable(&entry.key, entry.name(), true);
        }
    }

    /// Adds the name of a declared function, which is at the start of its text.
    fn function(&mut self, file: &str, function: &FunctionDeclaration) {
        let written = file.get(function.span.start..function.code.span.end);
        let found = written.and_then(|written| written.find(&function.name));
        let Some(found) = found.filter(|_| !function.name.is_empty()) else {
            return;
        };
        let start = function.span.start + found;
        let end = start + function.name.len();
        let kind = MarkKind::Function(bare_name(&function.name).to_owned());
        self.texts.add(Span { start, end }, kind);
    }
}

/// Returns whether the named arguments of a directive are variables.
fn sets_variables(call: &CallExpr) -> bool {
    use Directive::{Parameters, Prompt, Push, Set};
    matches!(call.directive(), Some(Set | Prompt | Parameters | Push))
}
