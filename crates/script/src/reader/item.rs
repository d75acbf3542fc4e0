//! What an item is: a message, a separator, a call, a chain, an expression, a function (note 2d).

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, Value, nearest};
use quillet_yaml::{Data, Entry, Node, Problem, Scalar, Style};

use super::placed::Placed;
use super::{branch, call, function, lines};
use crate::syntax::{Block, Call, Function, Item, ItemKind, Message, Source, Target, Text};

/// Roles that need no declaration.
const ROLES: [&str; 5] = ["system", "user", "assistant", "tool", "developer"];

/// Keys of a message object beside `role` and `content`.
const FIELDS: [&str; 6] = [
    "templateFormat",
    "name",
    "private",
    "toRole",
    "content",
    "role",
];

/// Sorts nodes into items, and collects functions and everything wrong.
pub(super) struct Classifier<'a> {
    file: &'a str,
    pub(super) functions: Vec<Function>,
    pub(super) problems: Vec<Problem>,
}

/// The roles that a script knows: those of every chat, its own and its company's.
pub(crate) fn roles(config: &Node) -> Vec<String> {
    let mut roles: Vec<String> = ROLES.map(str::to_owned).into();
    roles.extend(config.get("name").and_then(Node::as_str).map(str::to_owned));
    match config.get("roles").map(|node| &node.data) {
        Some(Data::Map(entries)) => {
            roles.extend(entries.iter().map(|entry| entry.name().to_owned()))
        }
        Some(Data::List(items)) => {
            roles.extend(items.iter().filter_map(Node::as_str).map(str::to_owned))
        }
        _ => {}
    }
    roles
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
        let text = call::uncommented(first.strip_prefix("- ").unwrap_or(first));
        let dash = first.len() - first.strip_prefix("- ").unwrap_or(first).len();
        let chain = text.trim_start().starts_with("->");
        if !alone || !(chain || text.trim_start().starts_with('$') && text.ends_with([')', '）']))
        {
            return None;
        }
        let start = span.start + dash;
        let placed = Placed::raw(
            self.file,
            Span {
                start,
                end: start + text.len(),
            },
        )
        .trim();
        let span = placed.whole;
        let item = |kind| Item { span, kind };
        match chain {
            true => Some(self.chain(placed).map(item)),
            false => call::call(placed).map(|call| Some(item(ItemKind::Call(call)))),
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
        match problems.is_empty() {
            true => Ok(()),
            false => Err(super::report(source, problems)),
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

    fn wrong(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// `[[x]]` without quotes is a list of a list.
    fn opens_hole(&mut self, node: &Node) -> bool {
        let written = self.file.get(node.span.start..).unwrap_or_default();
        let hole = written.starts_with("[[");
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

    /// A text as an instruction (note 2d, "String"). `node` is the content if it is a message.
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
        let whole = !raw.text.contains('\n') && raw.text.ends_with([')', '）']);
        if !whole {
            let message = "YAML takes a part of this call for a key";
            self.wrong(Problem::new(entry.key.span, message).help("put the whole call in quotes"));
            return Some(None);
        }
        Some(self.text(node, raw))
    }

    fn call(&mut self, node: &Node, found: &Entry, fields: Vec<Entry>) -> Option<ItemKind> {
        let key = found.key.text()?;
        let name = Placed::of(&found.key, key, self.file);
        let mut made = match key.starts_with('$') {
            false => tool(name),
            true => match call::call(name) {
                Some(call) => call,
                None => {
                    let message = format!("`{key}` is not the name of a directive");
                    self.wrong(
                        Problem::new(found.key.span, message)
                            .help("write `$name` or `$name(arguments)`"),
                    );
                    return None;
                }
            },
        };
        made.span = node.span;
        if made.target == Target::Directive && !absent(&found.value) {
            made.value = Some(found.value.clone());
        }
        if let Some(second) = fields.iter().find(|entry| entry.name().starts_with('$')) {
            let message = format!("`{}` stands beside `{key}` in one item", second.name());
            self.wrong(
                Problem::new(second.key.span, message).help("begin each instruction with `- `"),
            );
        }
        made.fields = fields;
        branch::split(&mut made, self);
        Some(ItemKind::Call(made))
    }

    fn message(&mut self, node: &Node, entries: &[Entry]) -> Option<ItemKind> {
        let message = match entries {
            [] => {
                self.wrong(Problem::new(node.span, "an empty object is no instruction"));
                return None;
            }
            [entry] if !FIELDS.contains(&entry.name()) => {
                self.short(&entry.key, &entry.value, Vec::new())
            }
            entries => self.long(node, entries)?,
        };
        if matches!(message.content.data, Data::List(_)) && self.opens_hole(&message.content) {
            return None;
        }
        Some(ItemKind::Message(message))
    }

    /// `role: content`.
    fn short(&mut self, key: &Node, content: &Node, fields: Vec<Entry>) -> Message {
        let (role, to) = match key.text() {
            Some(text) => addressed(Placed::of(key, text, self.file)),
            None => (None, None),
        };
        Message {
            role,
            to,
            content: content.clone(),
            fields,
        }
    }

    /// `{role, content, …}`, `{content, …}`, or `role: content` with fields beside it.
    fn long(&mut self, node: &Node, entries: &[Entry]) -> Option<Message> {
        let key = |name: &str| entries.iter().find(|entry| entry.name() == name);
        let rest = |taken: &[&str]| -> Vec<Entry> {
            let other = |entry: &&Entry| !taken.contains(&entry.name());
            entries.iter().filter(other).cloned().collect()
        };
        let role = key("role");
        if role.is_some() || key("content").is_some() {
            let nothing = Node::nothing(node.span);
            let content = key("content").map_or(nothing, |entry| entry.value.clone());
            let (role, to) = match role.map(|entry| (&entry.value, entry.value.as_str())) {
                None => (None, None),
                Some((node, Some(text))) => addressed(Placed::of(node, text, self.file)),
                Some((node, None)) => {
                    let message = format!("a role is a name, not {}", node.kind());
                    self.wrong(Problem::new(node.span, message));
                    return None;
                }
            };
            let fields = rest(&["role", "content"]);
            fields
                .iter()
                .filter_map(misspelt)
                .for_each(|it| self.wrong(it));
            return Some(Message {
                role,
                to,
                content,
                fields,
            });
        }
        let mut others = entries
            .iter()
            .filter(|entry| !FIELDS.contains(&entry.name()));
        match (others.next(), others.next()) {
            (Some(entry), None) => {
                let fields = rest(&[entry.name()]);
                Some(self.short(&entry.key, &entry.value, fields))
            }
            (Some(first), Some(second)) => {
                self.wrong(several(first, second));
                None
            }
            _ => {
                self.wrong(Problem::new(
                    node.span,
                    "this message has no role and no content",
                ));
                None
            }
        }
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

/// A field that is nobody's, and nearly one that a message has.
fn misspelt(field: &Entry) -> Option<Problem> {
    let name = field.name();
    if FIELDS.contains(&name) {
        return None;
    }
    let near = nearest(name, FIELDS)?;
    let problem = Problem::new(field.key.span, format!("a message has no field `{name}`"));
    Some(problem.help(format!("did you mean `{near}`?")))
}

fn several(first: &Entry, second: &Entry) -> Problem {
    let message = format!(
        "`{}` and `{}` are in one item, which has neither a directive nor a `role`",
        first.name(),
        second.name()
    );
    let problem = Problem::new(second.key.span, message);
    match nearest(second.name(), FIELDS) {
        Some(field) => problem.help(format!("did you mean `{field}`?")),
        None => problem.help("begin each message with its role at the left edge, or with `- `"),
    }
}

/// The role of `user[@dobby(PM), @other]`, and who is addressed.
fn addressed(key: Placed<'_>) -> (Option<Text>, Option<Text>) {
    let open = key.text.find(['[', '［', '【']);
    let Some(open) = open.filter(|_| key.text.ends_with([']', '］', '】'])) else {
        return (Some(key.trim().to_text()), None);
    };
    let width = |text: Option<char>| text.map_or(0, char::len_utf8);
    let begin = open + width(key.text.get(open..).and_then(|rest| rest.chars().next()));
    let end = key.text.len() - width(key.text.chars().next_back());
    (
        Some(key.cut(0, open).to_text()),
        Some(key.cut(begin, end).to_text()),
    )
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

fn tool(name: Placed<'_>) -> Call {
    bare(Target::Tool, name)
}

fn bare(target: Target, name: Placed<'_>) -> Call {
    Call {
        span: name.whole,
        target,
        name: name.to_text(),
        piped: false,
        arguments: None,
        value: None,
        fields: Vec::new(),
        branches: Vec::new(),
    }
}

/// `|` as an item of a list is `$pipe`.
fn pipe(node: &Node) -> Call {
    let name = Text {
        span: node.span,
        value: Arc::from("pipe"),
    };
    Call {
        name,
        ..bare(Target::Directive, Placed::raw("", node.span))
    }
}
