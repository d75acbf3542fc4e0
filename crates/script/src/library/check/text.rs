//! Checks the contents of texts: holes, templates, expressions, arguments.

use std::ops::Range;

use quillet_core::Span;

use super::callee::{CallOutputs, CallSyntax, Callee};
use super::code::called_on_this;
use super::diagnostics::ScriptDiagnostics;
use super::known_names::{KnownNames, root};
use super::line_map::FileSpot;
use crate::argument::{self, ArgumentValue, Arguments, BareWordPolicy};
use crate::call::CallSettings;
use crate::expression::{Expression, ParsedExpression};
use crate::pattern::Regex;
use crate::syntax::ScriptText;
use crate::text::hole::{Hole, HoleKind, HolePart, holes};
use crate::text::prefix::{self, FormatTime, TextPosition};
use crate::text::template::Templates;

/// Checks the texts of one script.
pub(super) struct TextChecker<'a> {
    pub(super) known: &'a KnownNames,
    pub(super) templates: &'a Templates,
    pub(super) format: &'a str,
}

impl TextChecker<'_> {
    /// Checks the text of a message, or a value that may become one.
    pub(super) fn text(
        &self,
        text: &ScriptText,
        position: TextPosition,
        findings: &mut ScriptDiagnostics<'_>,
        calls: &mut Vec<Callee>,
    ) {
        let read = prefix::read(&text.value, position);
        let body = read.start..text.value.len();
        match read.form {
            FormatTime::Raw => {}
            FormatTime::Expression => self.expression(text, body, findings),
            FormatTime::Default | FormatTime::Immediate => {
                self.holes(text, &body, findings, calls);
                self.template(text, body, findings);
            }
        }
    }

    fn holes(
        &self,
        text: &ScriptText,
        body: &Range<usize>,
        findings: &mut ScriptDiagnostics<'_>,
        calls: &mut Vec<Callee>,
    ) {
        for piece in holes(text.value.get(body.clone()).unwrap_or_default()) {
            match piece {
                HolePart::Text(_) => {}
                HolePart::Broken(broken) => {
                    let at = FileSpot::new(text, moved(&broken.range, body.start));
                    findings.error_in("script.hole", broken.message, &at, broken.help);
                }
                HolePart::Hole(hole) => calls.extend(self.hole(text, body.start, hole, findings)),
            }
        }
    }

    /// Checks the call in a hole that starts at a byte offset of the text.
    fn hole(
        &self,
        text: &ScriptText,
        start: usize,
        hole: Hole,
        findings: &mut ScriptDiagnostics<'_>,
    ) -> Option<Callee> {
        let at = FileSpot::new(text, moved(&hole.range, start));
        match hole.kind {
            HoleKind::Call {
                script,
                name,
                arguments,
            } => {
                let given = match arguments.map(|range| moved(&range, start)) {
                    Some(range) => self.arguments(text, range, BareWordPolicy::Text, findings),
                    None => CallOutputs::Names(Vec::new(), 0),
                };
                let way = if script {
                    CallSyntax::Hole
                } else {
                    CallSyntax::Directive
                };
                Some(Callee {
                    name,
                    at,
                    way,
                    given,
                })
            }
            HoleKind::Regex {
                pattern,
                flags,
                variable,
                ..
            } => {
                let inner = moved(&pattern, start);
                if let Err(error) = Regex::compile(text.value.get(inner.clone())?, &flags) {
                    let at = FileSpot::new(text, inner);
                    findings.error_in("script.regex", error.to_string(), &at, "");
                }
                self.variable(root(&variable), &at, findings);
                None
            }
            HoleKind::Ai { parameters, .. } => {
                self.settings(text, moved(&parameters?, start), findings);
                None
            }
        }
    }

    /// Reports names in `[[X:temperature=0.1]]` that resemble model settings.
    fn settings(
        &self,
        text: &ScriptText,
        range: Range<usize>,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        let inner = text.value.get(range.clone()).unwrap_or_default();
        let (start, end) = (range.start, range.end);
        // An invalid argument is reported where the hole is parsed.
        let read = argument::parse_with(inner, Span { start, end }, BareWordPolicy::Text);
        for item in read.unwrap_or_default().items {
            let Some(name) = &item.name else {
                continue;
            };
            if let Some(near) = CallSettings::meant(name) {
                let why = format!("unknown model setting `{name}`");
                let at = FileSpot::of(text, item.span);
                findings.error_in(
                    "script.setting",
                    why,
                    &at,
                    &format!("did you mean `{near}`?"),
                );
            }
        }
    }

    /// Reports calls of functions in `this.$name(…)` that do not exist.
    pub(super) fn calls_on_this(
        &self,
        text: &ScriptText,
        body: &Range<usize>,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        let inner = text.value.get(body.clone()).unwrap_or_default();
        for (range, name) in called_on_this(inner) {
            if self.known.calls(name) == Some(false) {
                let why = format!("unknown directive or function ${name}");
                let near = self.known.meant_call(name);
                let help = near.map(|near| format!("did you mean {near}?"));
                let at = FileSpot::new(text, moved(&range, body.start));
                findings.error_in("script.directive", why, &at, &help.unwrap_or_default());
            }
        }
    }

    /// Reports a value that looks like a call: it is plain text, and an unknown name is probably a
    /// mistake.
    pub(super) fn call_in_text(&self, text: &ScriptText, findings: &mut ScriptDiagnostics<'_>) {
        let read = prefix::read(&text.value, TextPosition::Argument);
        if read.form != FormatTime::Default {
            return;
        }
        let body = read.start..text.value.len();
        let inner = text.value.get(body.clone()).unwrap_or_default();
        let Some(name) = prefix::looks_like_call(inner) else {
            return;
        };
        let at = FileSpot::new(text, body);
        match self.known.calls(name) {
            Some(false) => {
                let why = format!("unknown directive or function ${name}");
                let near = self.known.meant_call(name);
                let help = near.map(|near| format!("did you mean {near}?"));
                findings.error_in("script.directive", why, &at, &help.unwrap_or_default());
            }
            _ if !findings.full() => {
                let why = "this call is plain text: calls in values must be expressions";
                let help = format!("write `?=this.{inner}`, or `~{inner}` for plain text");
                let at = at.span(findings.source);
                findings.warning("script.text", why, at, &help);
            }
            _ => {}
        }
    }

    fn template(
        &self,
        text: &ScriptText,
        body: Range<usize>,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        let Some(inner) = text.value.get(body.clone()) else {
            return;
        };
        if !self.templates.needs_rendering(inner, self.format) {
            return;
        }
        let at = |span: Span| FileSpot::new(text, moved(&(span.start..span.end), body.start));
        match self.templates.compile(self.format, inner) {
            Ok(template) => {
                let references = template.references().variables.iter();
                for reference in references.filter(|reference| !reference.optional) {
                    if let Some(name) = reference.path.first() {
                        self.variable(name, &at(reference.span), findings);
                    }
                }
            }
            // Reported once, at the setting of the format.
            Err(error) if error.code == "template.format" => {}
            Err(error) => {
                let at = at(error.span.unwrap_or_default());
                findings.error_in(
                    error.code,
                    error.message,
                    &at,
                    &error.help.unwrap_or_default(),
                );
            }
        }
    }

    /// Checks an expression and the names in it.
    pub(super) fn expression(
        &self,
        text: &ScriptText,
        body: Range<usize>,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        let Some(inner) = text.value.get(body.clone()) else {
            return;
        };
        let at = |span: Span| FileSpot::new(text, moved(&(span.start..span.end), body.start));
        match Expression::parse(inner) {
            ParsedExpression::JavaScript => self.calls_on_this(text, &body, findings),
            ParsedExpression::Invalid(error) => {
                findings.error_in("script.expression", error.message, &at(error.span), "");
            }
            ParsedExpression::Native(expression) => self.names(&expression, &at, findings),
        }
    }

    fn names(
        &self,
        expression: &Expression,
        at: &dyn Fn(Span) -> FileSpot,
        findings: &mut ScriptDiagnostics<'_>,
    ) {
        for used in expression.names() {
            if !used.this {
                self.variable(&used.name, &at(used.span), findings);
            }
        }
    }

    /// Checks arguments in parentheses and the names in them. Returns the arguments that they pass.
    pub(super) fn arguments(
        &self,
        text: &ScriptText,
        range: Range<usize>,
        words: BareWordPolicy,
        findings: &mut ScriptDiagnostics<'_>,
    ) -> CallOutputs {
        let inner = text.value.get(range.clone()).unwrap_or_default();
        // The span is relative to the text. Locations in the file are computed only for reported
        // problems.
        let (start, end) = (range.start, range.end);
        match argument::parse_with(inner, Span { start, end }, words) {
            Ok(arguments) => {
                for argument in &arguments.items {
                    if let ArgumentValue::Expression(ParsedExpression::Native(expression)) =
                        &argument.value
                    {
                        let at = |span: Span| FileSpot::of(text, argument.place(span));
                        self.names(expression, &at, findings);
                    }
                }
                argument_names(&arguments)
            }
            Err(error) => {
                let at = FileSpot::of(text, error.span);
                findings.error_in(
                    "script.argument",
                    error.message,
                    &at,
                    &error.help.unwrap_or_default(),
                );
                CallOutputs::Unknown
            }
        }
    }

    fn variable(&self, name: &str, at: &FileSpot, findings: &mut ScriptDiagnostics<'_>) {
        let Some(near) = self
            .known
            .unknown_variable(name)
            .filter(|_| !findings.full())
        else {
            return;
        };
        let help = match near {
            Some(near) => format!("did you mean {near}?"),
            None => {
                "declare it under `input:`, set it in the front matter, or with `$set`".to_owned()
            }
        };
        let at = at.span(findings.source);
        findings.warning("script.name", format!("no value for {name:?}"), at, &help);
    }
}

/// Returns the arguments of a call, as far as they are known statically.
fn argument_names(arguments: &Arguments) -> CallOutputs {
    let mut names = Vec::new();
    let mut places = 0;
    for argument in &arguments.items {
        match (&argument.name, &argument.value) {
            (Some(name), _) => names.push(name.to_string()),
            (
                None,
                ArgumentValue::Literal(_) | ArgumentValue::Text(_) | ArgumentValue::Template(_),
            ) => places += 1,
            // The fields of an object are known only at run time.
            _ => return CallOutputs::Unknown,
        }
    }
    CallOutputs::Names(names, places)
}

fn moved(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
