//! Checks a script's body, instruction by instruction.

use quillet_core::{Span, Value};
use quillet_yaml::{Node, NodeData};

use super::callee::{CallOutputs, CallSyntax, Callee};
use super::diagnostics::ScriptDiagnostics;
use super::known_names::KnownNames;
use super::line_map::{FileSpot, text_of};
use super::text::TextChecker;
use super::texts::every;
use super::{flow, mention};
use crate::argument::{self, BareWordPolicy};
use crate::call::CallSettings;
use crate::directive::{Directive, DirectiveForm};
use crate::library::ResolvedScript;
use crate::library::import::bare_name;
use crate::syntax::{
    CallExpr, CallTarget, InstructionBlock, ItemKind, MessageTemplate, ScriptText,
};
use crate::text::prefix::TextPosition;
use crate::text::template::{DEFAULT_FORMAT, Templates};

pub(super) struct CheckWalk<'a, 'f> {
    resolved: &'a ResolvedScript,
    known: &'a KnownNames,
    texts: TextChecker<'a>,
    findings: &'a mut ScriptDiagnostics<'f>,
    calls: Vec<Callee>,
}

impl<'a, 'f> CheckWalk<'a, 'f> {
    pub(super) fn new(
        resolved: &'a ResolvedScript,
        known: &'a KnownNames,
        templates: &'a Templates,
        findings: &'a mut ScriptDiagnostics<'f>,
    ) -> Self {
        let format = resolved
            .config
            .get("templateFormat")
            .and_then(Value::as_str);
        let format = format.unwrap_or(DEFAULT_FORMAT);
        CheckWalk {
            resolved,
            known,
            texts: TextChecker {
                known,
                templates,
                format,
            },
            findings,
            calls: Vec::new(),
        }
    }

    /// Checks the script's own body. Inherited bodies are reported with the parents.
    pub(super) fn script(&mut self) {
        let body = &self.resolved.script.body;
        flow::block(body, false, self.findings);
        let configured = self.resolved.script.config.get("prompt");
        if let Some(messages) = configured.and_then(|prompt| prompt.get("messages")) {
            self.values(messages, TextPosition::Argument);
        }
        self.block(body);
        let functions = self.resolved.script.functions.iter();
        for function in functions.filter(|function| function.language == "js") {
            let all = 0..function.code.value.len();
            self.texts
                .calls_on_this(&function.code, &all, self.findings);
        }
    }

    pub(super) fn finish(self) -> Vec<Callee> {
        self.calls
    }

    fn block(&mut self, block: &InstructionBlock) {
        for item in &block.items {
            match &item.kind {
                ItemKind::Message(message) => self.message(message),
                ItemKind::Call(call) => self.call(call, call.piped),
                ItemKind::Chain(links) => links.iter().for_each(|link| self.call(link, true)),
                ItemKind::Expression(text) => self.whole_expression(text),
                ItemKind::Block(block) => self.block(block),
                ItemKind::Separator { .. } => {}
            }
        }
    }

    fn message(&mut self, message: &MessageTemplate) {
        mention::check(message, self.resolved, self.findings);
        let position = match message.role {
            Some(_) => TextPosition::Argument,
            None => TextPosition::Message,
        };
        self.values(&message.content, position);
        for field in &message.fields {
            self.values(&field.value, TextPosition::Argument);
        }
    }

    /// Checks all texts of a value.
    fn values(&mut self, node: &Node, position: TextPosition) {
        let (texts, findings, calls) = (&self.texts, &mut *self.findings, &mut self.calls);
        every(node, &mut |text| {
            texts.text(text, position, findings, calls)
        });
    }

    fn whole_expression(&mut self, text: &ScriptText) {
        let start = text.value.find("?=").map_or(0, |mark| mark + 2);
        self.texts
            .expression(text, start..text.value.len(), self.findings);
    }

    fn call(&mut self, call: &CallExpr, piped: bool) {
        let given = match &call.arguments {
            Some(text) => {
                let all = 0..text.value.len();
                self.texts
                    .arguments(text, all, BareWordPolicy::Refused, self.findings)
            }
            None => call_outputs(call),
        };
        let known = call.directive();
        match call.target {
            CallTarget::Tool => {}
            CallTarget::Directive(_) | CallTarget::Function => {
                self.named(call, if piped { &CallOutputs::Unknown } else { &given })
            }
            CallTarget::Script => self.calls.push(Callee {
                name: call.name.value.to_string(),
                at: FileSpot::all(&call.name),
                way: CallSyntax::Chain,
                given: match given {
                    CallOutputs::Names(names, _) => CallOutputs::Some(names),
                    given => given,
                },
            }),
        }
        if let CallTarget::Directive(directive) = call.target {
            self.directive(directive, call);
        }
        self.condition(known, call);
        for field in &call.fields {
            self.values(&field.value, TextPosition::Argument);
        }
        if known.is_none_or(|known| {
            known.spec().form == DirectiveForm::Plain && known != Directive::Pipe
        }) {
            let (texts, findings) = (&self.texts, &mut *self.findings);
            let fields = call.fields.iter().map(|field| &field.value);
            for node in call.value.iter().chain(fields) {
                every(node, &mut |text| texts.call_in_text(text, findings));
            }
        }
        for branch in &call.branches {
            self.block(&branch.block);
        }
    }

    /// Checks a name with `$`: a directive, a function, or an imported script.
    fn named(&mut self, call: &CallExpr, given: &CallOutputs) {
        let name = call.name.value.as_ref();
        if self.known.calls(name) == Some(false) && !self.findings.full() {
            let why = format!("unknown directive or function ${}", bare_name(name));
            let near = self.known.meant_call(name);
            let help = near
                .map(|near| format!("did you mean {near}?"))
                .unwrap_or_default();
            return self
                .findings
                .error("script.directive", why, call.name.span, &help);
        }
        let imported = |(id, _): &&(String, ResolvedScript)| id == bare_name(name);
        if let Some((_, script)) = self.known.imported.iter().find(imported) {
            let name = format!("${}", bare_name(name));
            let at = FileSpot::all(&call.name);
            super::callee::misspelt_input(&name, &at, script, given, self.findings);
            super::callee::missing_input(&name, &at, script, given, self.findings);
        }
    }

    fn directive(&mut self, known: Directive, call: &CallExpr) {
        // The parser has already checked directives that contain blocks.
        if known.spec().form == DirectiveForm::Plain {
            let inside = call.value.as_ref().and_then(Node::entries);
            for entry in inside.unwrap_or_default().iter().chain(&call.fields) {
                self.parameter(known, entry.name(), entry.key.span);
            }
            for (name, at) in named(call) {
                self.parameter(known, &name, at);
            }
        }
        match known {
            Directive::Exec => self.exec(call),
            Directive::Ai | Directive::Parameters => self.settings(call),
            Directive::On | Directive::Once => self.listener(call),
            _ => {}
        }
    }

    /// Reports names that resemble model settings and are not variables.
    fn settings(&mut self, call: &CallExpr) {
        let inside = call.value.as_ref().and_then(Node::entries);
        let entries = inside.unwrap_or_default().iter().chain(&call.fields);
        let entries = entries.map(|entry| (entry.name().to_owned(), entry.key.span));
        for (name, at) in entries.chain(named(call)) {
            let variable = self.known.has_variable(&name);
            if let Some(near) = CallSettings::meant(&name).filter(|_| !variable) {
                let why = format!("unknown model setting `{name}`");
                let help = format!("did you mean `{near}`?");
                self.findings.error("script.setting", why, at, &help);
            }
        }
    }

    fn parameter(&mut self, known: Directive, name: &str, at: Span) {
        if let Some((why, help)) = known.spec().refusal(name) {
            self.findings.error("script.argument", why, at, &help);
        }
    }

    /// Checks the value of a call. Conditions are expressions without `?=`.
    fn condition(&mut self, known: Option<Directive>, call: &CallExpr) {
        let Some(value) = &call.value else {
            return;
        };
        let condition = matches!(known, Some(Directive::If | Directive::While));
        match text_of(value).filter(|_| condition) {
            Some(text) if is_expression(&text.value) => {
                self.texts
                    .expression(&text, 0..text.value.len(), self.findings);
            }
            _ => self.values(value, TextPosition::Argument),
        }
    }

    /// Checks `$exec: {id: x, args: {…}}` with a literal id.
    fn exec(&mut self, call: &CallExpr) {
        let at = |key: &str| field(call, key);
        let Some(node) = at("id").or_else(|| at("filename")) else {
            return;
        };
        let text = text_of(node).filter(|text| is_plain(&text.value));
        if let Some(text) = text {
            let given = match at("args") {
                None => CallOutputs::Names(Vec::new(), 0),
                Some(args) => node_outputs(args),
            };
            let (name, at) = (text.value.to_string(), FileSpot::all(&text));
            self.calls.push(Callee {
                name,
                at,
                way: CallSyntax::Exec,
                given,
            });
        }
    }

    /// Checks a listener that is given by function name.
    fn listener(&mut self, call: &CallExpr) {
        let Some(node) = field(call, "callback").filter(|node| node.tag.is_none()) else {
            return;
        };
        let Some(name) = node.as_str().filter(|name| is_plain(name)) else {
            return;
        };
        if self.known.calls(name) == Some(false) {
            let near = self.known.meant_call(name).unwrap_or_default();
            let why = format!("unknown listener function ${}", bare_name(name));
            let help = if near.is_empty() {
                near
            } else {
                format!("did you mean {near}?")
            };
            self.findings
                .error("script.directive", why, node.span, &help);
        }
    }
}

/// Returns the named arguments of a call in parentheses, with their locations.
fn named(call: &CallExpr) -> Vec<(String, Span)> {
    let Some(text) = &call.arguments else {
        return Vec::new();
    };
    let read = argument::parse(&text.value, text.span).unwrap_or_default();
    let name = |item: argument::Argument| Some((item.name?.to_string(), item.span));
    read.items.into_iter().filter_map(name).collect()
}

/// Returns a value of a call, from its object or from a key next to it.
fn field<'c>(call: &'c CallExpr, key: &str) -> Option<&'c Node> {
    let inside = call.value.as_ref().and_then(|value| value.get(key));
    let beside = || call.fields.iter().find(|field| field.name() == key);
    inside.or_else(|| Some(&beside()?.value))
}

fn call_outputs(call: &CallExpr) -> CallOutputs {
    match (&call.value, call.fields.is_empty()) {
        (None, true) => CallOutputs::Names(Vec::new(), 0),
        (Some(value), true) => node_outputs(value),
        _ => CallOutputs::Unknown,
    }
}

fn node_outputs(node: &Node) -> CallOutputs {
    match &node.data {
        NodeData::Map(entries) => CallOutputs::Names(
            entries
                .iter()
                .map(|entry| entry.name().to_owned())
                .collect(),
            0,
        ),
        NodeData::Scalar(_) if node.as_str().is_none_or(|text| !text.starts_with("?=")) => {
            CallOutputs::Names(Vec::new(), 1)
        }
        NodeData::List(_) | NodeData::Scalar(_) => CallOutputs::Unknown,
    }
}

/// Returns whether a name is literal, without expressions.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !["?=", "{{", "[["].iter().any(|mark| name.contains(mark))
        && !name.contains(['(', ' '])
}

/// Returns whether a condition is a plain expression, neither a template nor a call.
fn is_expression(text: &str) -> bool {
    !["{{", "{%", "[[", "?="]
        .iter()
        .any(|mark| text.contains(mark))
        && !text.starts_with('$')
}
