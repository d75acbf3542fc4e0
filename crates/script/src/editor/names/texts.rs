//! Symbols inside texts: holes, templates, expressions, arguments.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use quillet_core::{SemanticToken, Span};
use quillet_template::TemplateFactory;
use quillet_yaml::{Node, NodeData};

use super::symbol::{MOST_MARKS, MarkKind, NamedSymbol, root};
use crate::argument::{self, ArgumentValue, BareWordPolicy};
use crate::editor::ScriptDocument;
use crate::expression::{Expression, ParsedExpression};
use crate::library::check::line_map::{FileSpot, LineMap, text_of};
use crate::syntax::{ScriptSource, ScriptText};
use crate::text::hole::{Hole, HoleKind, HolePart, holes};
use crate::text::prefix::{self, FormatTime, TextPosition};
use crate::text::template::{DEFAULT_FORMAT, Templates};

/// Maximum number of names in one text, because each must be located in the source.
const MOST_OF_ONE: usize = 500;

/// Maximum number of variables in one template, because each is searched for in the whole template.
const MOST_NAMES: usize = 100;

/// Collects the marks of texts.
pub(super) struct SymbolTexts<'a> {
    source: &'a ScriptSource,
    templates: Templates,
    format: &'a str,
    pub(super) marks: Vec<NamedSymbol>,
    /// Semantic tokens of templates, if requested.
    pub(super) tokens: Option<Vec<SemanticToken>>,
}

impl<'a> SymbolTexts<'a> {
    pub(super) fn new(document: &'a ScriptDocument) -> Self {
        let format = document.script.config.get("templateFormat");
        SymbolTexts {
            source: &document.source,
            templates: Templates::new(Arc::new(TemplateFactory::standard())),
            format: format.and_then(Node::as_str).unwrap_or(DEFAULT_FORMAT),
            marks: Vec::new(),
            tokens: None,
        }
    }

    pub(super) fn add(&mut self, span: Span, kind: MarkKind) {
        if self.marks.len() < MOST_MARKS {
            self.marks.push(NamedSymbol { span, kind });
        }
    }

    /// Adds a scalar without its quotes.
    pub(super) fn add_node(&mut self, node: &Node, kind: MarkKind) {
        let span = match text_of(node) {
            Some(text) => FileSpot::all(&text).span(self.source),
            None => node.span,
        };
        self.add(span, kind);
    }

    pub(super) fn variable(&mut self, node: &Node, path: &str, sets: bool) {
        let name = root(path).to_owned();
        let Some(text) = text_of(node) else {
            return;
        };
        let at = path.find(&name).unwrap_or_default();
        let span = FileSpot::new(&text, at..at + name.len()).span(self.source);
        self.add(span, MarkKind::Variable { name, sets });
    }

    fn variable_in(&mut self, text: &ScriptText, range: Range<usize>, name: &str, sets: bool) {
        let name = root(name).to_owned();
        let end = range.start + name.len();
        let fits = text.value.get(range.start..end) == Some(&name);
        let range = if fits { range.start..end } else { range };
        self.part(text, range, MarkKind::Variable { name, sets });
    }

    fn part(&mut self, text: &ScriptText, range: Range<usize>, kind: MarkKind) {
        let span = FileSpot::new(text, range).span(self.source);
        self.add(span, kind);
    }

    /// Adds the symbols of every text in a value.
    pub(super) fn values(&mut self, node: &Node, position: TextPosition) {
        match &node.data {
            NodeData::Scalar(_) if node.tag.is_none() => {
                if let Some(text) = text_of(node) {
                    self.text(&text, position);
                }
            }
            NodeData::Scalar(_) => {}
            NodeData::List(items) => items.iter().for_each(|item| self.values(item, position)),
            NodeData::Map(entries) => entries
                .iter()
                .for_each(|entry| self.values(&entry.value, position)),
        }
    }

    fn text(&mut self, text: &ScriptText, position: TextPosition) {
        let read = prefix::read(&text.value, position);
        let body = read.start..text.value.len();
        match read.form {
            FormatTime::Raw => {}
            FormatTime::Expression => self.expression(text, body),
            FormatTime::Default | FormatTime::Immediate => {
                self.holes(text, body.clone());
                self.template(text, body);
            }
        }
    }

    fn holes(&mut self, text: &ScriptText, body: Range<usize>) {
        let inner = text.value.get(body.clone()).unwrap_or_default();
        for piece in holes(inner).into_iter().take(MOST_OF_ONE) {
            if let HolePart::Hole(hole) = piece {
                self.hole(text, body.start, hole);
            }
        }
    }

    fn hole(&mut self, text: &ScriptText, start: usize, hole: Hole) {
        let range = moved(&hole.range, start);
        let written = text.value.get(range.clone()).unwrap_or_default();
        let find = |name: &str| {
            let at = range.start + written.find(name)?;
            Some(at..at + name.len())
        };
        match hole.kind {
            HoleKind::Ai { name, parameters } => {
                self.part(text, range.clone(), MarkKind::Hole(AI));
                if let Some(place) = find(&name) {
                    self.variable_in(text, place, &name, true);
                }
                if let Some(parameters) = parameters {
                    self.arguments(text, moved(&parameters, start), false);
                }
            }
            HoleKind::Call {
                script,
                name,
                arguments,
            } => {
                self.part(
                    text,
                    range.clone(),
                    MarkKind::Hole(if script { SCRIPT } else { CALL }),
                );
                if let Some(place) = find(&name) {
                    self.part(
                        text,
                        place,
                        if script {
                            MarkKind::Script(name)
                        } else {
                            MarkKind::Call(name)
                        },
                    );
                }
                if let Some(arguments) = arguments {
                    self.arguments(text, moved(&arguments, start), false);
                }
            }
            HoleKind::Regex {
                pattern, variable, ..
            } => {
                self.part(text, range.clone(), MarkKind::Hole(REGEX));
                let pattern = moved(&pattern, start);
                let behind = pattern.end;
                self.part(text, pattern, MarkKind::Regex);
                let rest = text.value.get(behind..range.end).unwrap_or_default();
                if let Some(at) = rest.find(&variable) {
                    let at = behind + at;
                    self.variable_in(text, at..at + variable.len(), &variable, false);
                }
            }
        }
    }

    fn template(&mut self, text: &ScriptText, body: Range<usize>) {
        let inner = text.value.get(body.clone()).unwrap_or_default();
        if !self.templates.needs_rendering(inner, self.format) {
            return;
        }
        if let Some(tokens) = &mut self.tokens {
            let found = self.templates.tokens(inner, self.format);
            let lines = LineMap::new(text, self.source);
            for token in found.into_iter().map(|token| token.offset(body.start)) {
                lines.spans(token.span, |span| {
                    tokens.push(SemanticToken::new(span.start, span.end, token.kind));
                });
            }
            // The tokens already include all variables, so no marks are needed.
            return;
        }
        // An unfinished template cannot be compiled and has no names yet.
        let Ok(template) = self.templates.compile(self.format, inner) else {
            return;
        };
        let names = template.references().variables.iter();
        let names = names.filter_map(|reference| reference.path.first());
        let names: BTreeSet<&str> = names.map(|name| name.trim()).take(MOST_NAMES).collect();
        for name in names {
            let places = places(inner, name).take(MOST_OF_ONE);
            for at in places {
                let start = body.start + at;
                self.variable_in(text, start..start + name.len(), name, false);
            }
        }
    }

    pub(super) fn whole_expression(&mut self, text: &ScriptText) {
        let start = text.value.find("?=").map_or(0, |mark| mark + 2);
        self.expression(text, start..text.value.len());
    }

    pub(super) fn expression(&mut self, text: &ScriptText, body: Range<usize>) {
        let inner = text.value.get(body.clone()).unwrap_or_default();
        if let ParsedExpression::Native(expression) = Expression::parse(inner) {
            self.names(text, &expression, &|span| {
                moved(&(span.start..span.end), body.start)
            });
        }
    }

    fn names(
        &mut self,
        text: &ScriptText,
        expression: &Expression,
        place: &dyn Fn(Span) -> Range<usize>,
    ) {
        for used in expression.names().into_iter().take(MOST_OF_ONE) {
            self.variable_in(text, place(used.span), &used.name, false);
        }
    }

    /// Adds arguments in parentheses. `sets` means that their names are variables to assign.
    pub(super) fn arguments(&mut self, text: &ScriptText, range: Range<usize>, sets: bool) {
        let inner = text.value.get(range.clone()).unwrap_or_default();
        // The span is relative to the text; the location in the file is computed for each mark.
        let (start, end) = (range.start, range.end);
        let Ok(arguments) = argument::parse_with(inner, Span { start, end }, BareWordPolicy::Text)
        else {
            return;
        };
        for argument in arguments.items.iter().take(MOST_OF_ONE) {
            if let Some(name) = argument.name.as_deref().filter(|_| sets) {
                self.variable_in(
                    text,
                    argument.span.start..argument.value_span.start,
                    name,
                    true,
                );
            }
            if let ArgumentValue::Expression(ParsedExpression::Native(expression)) = &argument.value
            {
                let place = |span| {
                    let place = argument.place(span);
                    place.start..place.end
                };
                self.names(text, expression, &place);
            }
        }
    }
}

const AI: &str = "Inserts the model's answer and stores it in the variable. Text before it in an \
    assistant message is sent as the start of the answer.";
const SCRIPT: &str = "Runs a script and inserts its result.";
const CALL: &str = "Calls a directive or a function and inserts its result.";
const REGEX: &str =
    "Searches a variable's text and inserts the match, or the whole text without a match.";

/// Returns all offsets at which a template uses a variable, because a compiled template stores only
/// the first. Skips words in quotes and fields of other values.
fn places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut open = 0;
    text.match_indices(name).filter_map(move |(at, _)| {
        let between = text.get(open..at)?;
        open += between.rfind(['{', '}']).unwrap_or_default();
        let inside = text.get(open..at)?.strip_prefix('{')?;
        let after = text.get(at + name.len()..)?.chars().next();
        let alone = !inside.ends_with(|c| word(c) || c == '.') && !after.is_some_and(word);
        let quoted = inside.matches(['"', '\'']).count() % 2 == 1;
        (alone && !quoted).then_some(at)
    })
}

fn moved(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}
