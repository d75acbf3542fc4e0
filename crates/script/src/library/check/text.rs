//! What stands inside texts: holes, templates, expressions, arguments.

use std::ops::Range;

use quillet_core::Span;
use quillet_yaml::{Data, Node};

use super::Findings;
use super::callee::{Callee, Given, Way};
use super::known::{Known, root};
use super::place::{part, text_of};
use crate::argument::{self, ArgumentValue, Arguments, Words};
use crate::expression::{Expression, Parsed};
use crate::pattern::Regex;
use crate::syntax::Text;
use crate::text::hole::{Hole, HoleKind, Piece, holes};
use crate::text::prefix::{self, Form, Position};
use crate::text::template::Templates;

/// Every text in a value that is the author's to be read, in order.
pub(super) fn every(node: &Node, each: &mut dyn FnMut(&Text)) {
    match &node.data {
        Data::Scalar(_) if node.tag.is_none() => {
            if let Some(text) = text_of(node) {
                each(&text);
            }
        }
        Data::Scalar(_) => {}
        Data::List(items) => items.iter().for_each(|item| every(item, each)),
        Data::Map(entries) => entries.iter().for_each(|entry| every(&entry.value, each)),
    }
}

/// Reads texts of one script.
pub(super) struct Texts<'a> {
    pub(super) known: &'a Known,
    pub(super) templates: &'a Templates,
    pub(super) format: &'a str,
}

impl Texts<'_> {
    /// A message's text, or a value that may be one.
    pub(super) fn text(
        &self,
        text: &Text,
        position: Position,
        findings: &mut Findings<'_>,
        calls: &mut Vec<Callee>,
    ) {
        let read = prefix::read(&text.value, position);
        let body = read.start..text.value.len();
        match read.form {
            Form::Raw => {}
            Form::Expression => self.expression(text, body, findings),
            Form::Default | Form::Immediate => {
                self.holes(text, &body, findings, calls);
                self.template(text, body, findings);
            }
        }
    }

    fn holes(
        &self,
        text: &Text,
        body: &Range<usize>,
        findings: &mut Findings<'_>,
        calls: &mut Vec<Callee>,
    ) {
        for piece in holes(text.value.get(body.clone()).unwrap_or_default()) {
            match piece {
                Piece::Text(_) => {}
                Piece::Broken(broken) => {
                    let at = part(findings.source, text, moved(&broken.range, body.start));
                    findings.error("script.hole", broken.message, at, broken.help);
                }
                Piece::Hole(hole) => self.hole(text, body.start, hole, findings, calls),
            }
        }
    }

    fn hole(
        &self,
        text: &Text,
        start: usize,
        hole: Hole,
        findings: &mut Findings<'_>,
        calls: &mut Vec<Callee>,
    ) {
        let at = part(findings.source, text, moved(&hole.range, start));
        match hole.kind {
            HoleKind::Call {
                script,
                name,
                arguments,
            } => {
                let given = match &arguments {
                    Some(range) => self.arguments(
                        &cut(findings, text, moved(range, start)),
                        Words::Text,
                        findings,
                    ),
                    None => Given::Names(Vec::new(), 0),
                };
                let way = if script { Way::Hole } else { Way::Directive };
                calls.push(Callee {
                    name,
                    at,
                    way,
                    given,
                });
            }
            HoleKind::Regex {
                pattern,
                flags,
                variable,
                ..
            } => {
                let pattern = cut(findings, text, moved(&pattern, start));
                regex(&pattern, &flags, findings);
                self.variable(root(&variable), at, findings);
            }
            HoleKind::Ai { .. } => {}
        }
    }

    fn template(&self, text: &Text, body: Range<usize>, findings: &mut Findings<'_>) {
        let Some(inner) = text.value.get(body.clone()) else {
            return;
        };
        if !self.templates.needs_rendering(inner, self.format) {
            return;
        }
        match self.templates.compile(self.format, inner) {
            Ok(template) => {
                for reference in &template.references().variables {
                    if let (Some(name), false) = (reference.path.first(), reference.optional) {
                        let range = reference.span.start..reference.span.end;
                        let at = part(findings.source, text, moved(&range, body.start));
                        self.variable(name, at, findings);
                    }
                }
            }
            Err(error) if error.code != "template.format" => {
                let span = error.span.unwrap_or_default();
                let at = part(
                    findings.source,
                    text,
                    moved(&(span.start..span.end), body.start),
                );
                findings.error(
                    error.code,
                    error.message,
                    at,
                    &error.help.unwrap_or_default(),
                );
            }
            // Told once, where the format is named.
            Err(_) => {}
        }
    }

    /// An expression: whether it is one, and what it names.
    pub(super) fn expression(&self, text: &Text, body: Range<usize>, findings: &mut Findings<'_>) {
        let Some(inner) = text.value.get(body.clone()) else {
            return;
        };
        match Expression::parse(inner) {
            Parsed::JavaScript => {}
            Parsed::Invalid(error) => {
                let range = error.span.start..error.span.end;
                let at = part(findings.source, text, moved(&range, body.start));
                findings.error("script.expression", error.message, at, "");
            }
            Parsed::Native(expression) => self.names(&expression, findings, &|span, findings| {
                part(
                    findings.source,
                    text,
                    moved(&(span.start..span.end), body.start),
                )
            }),
        }
    }

    fn names(
        &self,
        expression: &Expression,
        findings: &mut Findings<'_>,
        place: &dyn Fn(Span, &Findings<'_>) -> Span,
    ) {
        for used in expression.names() {
            if !used.this {
                let at = place(used.span, findings);
                self.variable(&used.name, at, findings);
            }
        }
    }

    /// Arguments in parentheses: whether they are such, what they name, and what they give.
    pub(super) fn arguments(
        &self,
        text: &Text,
        words: Words,
        findings: &mut Findings<'_>,
    ) -> Given {
        match argument::parse_with(&text.value, text.span, words) {
            Ok(arguments) => {
                self.used(&arguments, findings);
                given(&arguments)
            }
            Err(error) => {
                findings.error(
                    "script.argument",
                    error.message,
                    error.span,
                    &error.help.unwrap_or_default(),
                );
                Given::Unknown
            }
        }
    }

    fn used(&self, arguments: &Arguments, findings: &mut Findings<'_>) {
        for argument in &arguments.items {
            if let ArgumentValue::Expression(Parsed::Native(expression)) = &argument.value {
                self.names(expression, findings, &|span, _| argument.place(span));
            }
        }
    }

    fn variable(&self, name: &str, at: Span, findings: &mut Findings<'_>) {
        let Some(near) = self.known.unknown_variable(name) else {
            return;
        };
        let help = match near {
            Some(near) => format!("did you mean {near}?"),
            None => "declare it under `input:`, give it a value in the front matter, or `$set` it"
                .to_owned(),
        };
        findings.warning(
            "script.name",
            format!("nothing here gives {name:?} a value"),
            at,
            &help,
        );
    }
}

/// What the arguments of a call give, by what can be read.
fn given(arguments: &Arguments) -> Given {
    let mut names = Vec::new();
    let mut places = 0;
    for argument in &arguments.items {
        match (&argument.name, &argument.value) {
            (Some(name), _) => names.push(name.to_string()),
            (
                None,
                ArgumentValue::Literal(_) | ArgumentValue::Text(_) | ArgumentValue::Template(_),
            ) => places += 1,
            // An object gives whatever is in it.
            _ => return Given::Unknown,
        }
    }
    Given::Names(names, places)
}

/// A regular expression between slashes.
fn regex(pattern: &Text, flags: &str, findings: &mut Findings<'_>) {
    if let Err(error) = Regex::compile(&pattern.value, flags) {
        findings.error("script.regex", error.to_string(), pattern.span, "");
    }
}

fn moved(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn cut(findings: &Findings<'_>, text: &Text, range: Range<usize>) -> Text {
    let value = text.value.get(range.clone()).unwrap_or_default().into();
    let span = part(findings.source, text, range);
    Text { span, value }
}
