//! Reads format strings as Python's `string.Formatter` does.

use quillet_core::{Diagnostic, Span};

use super::super::literals::Literals;
use super::super::python::{Spec, SpecError, digits};
use super::ast::{Conversion, Field, FormatSpec, Index, Node, Program, SpecPart};
use crate::format::problem::{MOST_PROBLEMS, ParseProblem};
use crate::{MessageSyntax, TemplateSource};

/// Rules that decide which fields are valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rules {
    #[default]
    Python,
    LangChain,
}

/// Parses a source.
///
/// # Errors
/// Returns the errors that make it invalid.
pub(super) fn parse(
    source: &TemplateSource<'_>,
    rules: Rules,
    messages: MessageSyntax,
) -> Result<Program, Vec<Diagnostic>> {
    let mut parser = Parser {
        text: source.text,
        at: 0,
        rules,
        problems: Vec::new(),
    };
    let mut literals = Literals::new(source.text.len(), messages);
    let nodes = parser.nodes(&mut literals);
    let problems = parser.problems.into_iter();
    let problems = problems.map(|problem| problem.diagnostic(source));
    let mut found: Vec<Diagnostic> = problems.collect();
    // All text of a source is printed in order, so its messages can be checked here.
    found.extend(literals.diagnostics(source.name, source.text));
    if found.is_empty() {
        Ok(Program {
            literals: literals.into_text(),
            nodes,
        })
    } else {
        Err(found)
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    rules: Rules,
    problems: Vec<ParseProblem>,
}

/// Spans of a field and its parts.
#[derive(Debug)]
pub(super) struct FieldPlace {
    /// Span of the name and its path. In an unclosed field it ends at the error.
    pub(super) name: Span,
    /// The letter after `!`, and its span.
    pub(super) conversion: Option<(usize, char)>,
    /// Fields in the specifier.
    pub(super) nested: Vec<FieldPlace>,
    /// Whether the field is closed.
    pub(super) closed: bool,
    /// End of the field.
    pub(super) end: usize,
}

/// Returns the spans of the fields of a text, including fields after errors. At most `most_faults`
/// errors are skipped.
pub(super) fn places(text: &str, most_faults: usize) -> Vec<FieldPlace> {
    let mut parser = Parser {
        text,
        at: 0,
        rules: Rules::Python,
        problems: Vec::new(),
    };
    let mut faults = most_faults;
    parser.places(false, &mut faults)
}

/// The next part of the text.
enum Markup<'t> {
    /// Literal text, and its offset.
    Text(&'t str, usize),
    Field(Field),
}

/// A field whose parts are not parsed yet: the spans of its name and specifier.
struct RawField {
    name: Span,
    conversion: Option<(char, usize)>,
    spec: Span,
}

impl<'t> Parser<'t> {
    fn nodes(&mut self, literals: &mut Literals) -> Vec<Node> {
        let mut nodes = Vec::new();
        while self.problems.len() < MOST_PROBLEMS {
            let Some(markup) = self.next(false) else {
                break;
            };
            match markup {
                Ok(Markup::Text(text, at)) => add_text(&mut nodes, literals.add(text, at)),
                Ok(Markup::Field(field)) => nodes.push(Node::Field(field)),
                Err(problem) if !problem.is_late || self.rules == Rules::Python => {
                    self.problems.push(problem);
                }
                Err(problem) => nodes.push(Node::Refused(problem)),
            }
        }
        nodes
    }

    /// Reads the fields up to the end of the text. If `nested`, the fields cannot contain others.
    fn places(&mut self, nested: bool, faults: &mut usize) -> Vec<FieldPlace> {
        let mut places = Vec::new();
        let bytes = self.text.as_bytes();
        while let Some(rest) = bytes.get(self.at..)
            && let Some(brace) = memchr::memchr2(b'{', b'}', rest)
        {
            self.at += brace + 1;
            let start = self.at;
            let doubled = bytes.get(start) == rest.get(brace);
            if doubled || rest.get(brace) == Some(&b'}') {
                self.at += usize::from(doubled);
                continue;
            }
            let Ok(raw) = self.raw() else {
                let rest = self.text.get(start..).unwrap_or_default();
                let end = rest.find(['{', '}', ':', '!']).unwrap_or(rest.len());
                self.at = start + end;
                let (name, end) = (
                    Span {
                        start,
                        end: self.at,
                    },
                    self.at,
                );
                places.push(FieldPlace {
                    name,
                    conversion: None,
                    nested: Vec::new(),
                    closed: false,
                    end,
                });
                *faults = faults.saturating_sub(1);
                if *faults == 0 {
                    break;
                }
                continue;
            };
            let mut inner = Parser {
                text: self.text.get(..raw.spec.end).unwrap_or_default(),
                at: if nested { raw.spec.end } else { raw.spec.start },
                rules: self.rules,
                problems: Vec::new(),
            };
            places.push(FieldPlace {
                name: raw.name,
                conversion: raw.conversion.map(|(letter, at)| (at, letter)),
                nested: inner.places(true, faults),
                closed: true,
                end: self.at,
            });
        }
        places
    }

    /// Reads the next part. Returns `None` at the end of the text.
    fn next(&mut self, nested: bool) -> Option<Result<Markup<'t>, ParseProblem>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let Some(brace) = memchr::memchr2(b'{', b'}', rest.as_bytes()) else {
            self.at = self.text.len();
            return Some(Ok(Markup::Text(rest, start)));
        };
        if brace > 0 {
            self.at += brace;
            return Some(Ok(Markup::Text(&rest[..brace], start)));
        }
        let (brace, after) = rest.split_at(1);
        self.at += 1;
        if after.starts_with(brace) {
            self.at += 1;
            return Some(Ok(Markup::Text(brace, start)));
        }
        if brace == "}" || after.is_empty() {
            let problem = ParseProblem::at(
                format!("Single '{brace}' encountered in format string"),
                start,
                start + 1,
            );
            let help = format!("write {brace}{brace} for a literal brace");
            return Some(Err(problem.help(help)));
        }
        Some(self.field(nested).map(Markup::Field))
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.text.as_bytes().get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// Reads a field after its opening brace.
    fn field(&mut self, nested: bool) -> Result<Field, ParseProblem> {
        let raw = self.raw()?;
        let Span { start, end } = raw.name;
        let name = &self.text[start..end];
        if self.rules == Rules::LangChain {
            self.check_strict(name, start, raw.spec)?;
        }
        let (name, path) = path(name, start)?;
        if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            let help = "name the variable: a template has no positional values; \
                        for literal braces write {{ and }}";
            let message = format!("the field {{{name}}} has no name");
            return Err(ParseProblem::at(message, start - 1, end).late().help(help));
        }
        Ok(Field {
            name: name.into(),
            path,
            conversion: conversion(raw.conversion)?,
            layout: self.layout(raw.spec, nested)?,
            span: Span { start, end },
            whole: Span {
                start: start - 1,
                end: self.at,
            },
        })
    }

    /// Finds the parts of a field and moves past its closing brace.
    fn raw(&mut self) -> Result<RawField, ParseProblem> {
        let start = self.at;
        let end = loop {
            match self.byte() {
                Some(b'{') => {
                    self.at -= 1;
                    let problem =
                        ParseProblem::at("unexpected '{' in field name", self.at, self.at + 1);
                    return Err(problem.help("write {{ for a literal brace"));
                }
                Some(b'[') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += memchr::memchr(b']', rest).unwrap_or(rest.len());
                }
                Some(byte @ (b'}' | b':' | b'!')) => break (self.at - 1, byte),
                Some(_) => {}
                None => return Err(self.unclosed(start)),
            }
        };
        let mut raw = RawField {
            name: Span { start, end: end.0 },
            conversion: None,
            spec: Span {
                start: self.at,
                end: self.at,
            },
        };
        let closed = match end.1 {
            b'}' => true,
            b'!' => self.raw_conversion(&mut raw, start)?,
            _ => false,
        };
        if !closed {
            raw.spec = self.raw_spec(start)?;
        }
        Ok(raw)
    }

    /// Reads the character after `!`. Returns whether the field ends there.
    fn raw_conversion(&mut self, raw: &mut RawField, start: usize) -> Result<bool, ParseProblem> {
        let rest = &self.text[self.at..];
        let Some(character) = rest.chars().next() else {
            return Err(self.unclosed(start));
        };
        raw.conversion = Some((character, self.at));
        self.at += character.len_utf8();
        match self.byte() {
            Some(b'}') => Ok(true),
            Some(b':') => Ok(false),
            Some(_) => {
                let at = self.at - 1;
                let message = "expected ':' after conversion specifier";
                // An error in the rest of the field would only repeat this error.
                let rest = &self.text.as_bytes()[at..];
                self.at = at + memchr::memchr(b'}', rest).map_or(rest.len(), |end| end + 1);
                Err(ParseProblem::at(message, at, at)
                    .help("a conversion is one letter: !r, !s or !a"))
            }
            None => Err(self.unclosed(start)),
        }
    }

    fn raw_spec(&mut self, field: usize) -> Result<Span, ParseProblem> {
        let start = self.at;
        let mut open = 1;
        loop {
            match self.byte() {
                Some(b'{') => open += 1,
                Some(b'}') if open == 1 => {
                    let end = self.at - 1;
                    return Ok(Span { start, end });
                }
                Some(b'}') => open -= 1,
                Some(_) => {}
                None => return Err(self.unclosed(field)),
            }
        }
    }

    fn unclosed(&self, start: usize) -> ParseProblem {
        ParseProblem::at("expected '}' before end of string", start - 1, start)
            .help("close the field with }, or write {{ for a literal brace")
    }

    /// Reports features that LangChain rejects when a prompt is created.
    fn check_strict(&self, name: &str, start: usize, spec: Span) -> Result<(), ParseProblem> {
        let end = start + name.len();
        let refused = |message: String| Err(ParseProblem::at(message, start, end));
        if name.contains(['.', '[', ']']) {
            return refused(format!(
                "Invalid variable name '{name}' in f-string template. Variable names cannot \
                 contain attribute access (.) or indexing ([])."
            ));
        }
        if !name.is_empty() && name.chars().all(char::is_numeric) {
            return refused(format!(
                "Invalid variable name '{name}' in f-string template. Variable names cannot be \
                 all digits as they are interpreted as positional arguments."
            ));
        }
        if self.text[spec.start..spec.end].contains(['{', '}']) {
            let message = "Invalid format specifier in f-string template. \
                           Nested replacement fields are not allowed.";
            return Err(ParseProblem::at(message, spec.start, spec.end));
        }
        Ok(())
    }

    fn layout(&self, Span { start, end }: Span, nested: bool) -> Result<FormatSpec, ParseProblem> {
        let text = &self.text[start..end];
        let problem = |error: SpecError| {
            ParseProblem::at(error.to_string(), start, end)
                .late()
                .help("see Python's format mini-language: [[fill]align][sign][#][0][width][,][.precision][type]")
        };
        match text {
            "" => Ok(FormatSpec::Plain),
            _ if !text.contains('{') => Spec::parse(text).map(FormatSpec::Fixed).map_err(problem),
            _ if nested => {
                Err(ParseProblem::at("Max string recursion exceeded", start, end).late())
            }
            _ => self.nested(start, end).map(FormatSpec::Nested),
        }
    }

    /// Parses a specifier with nested fields.
    fn nested(&self, start: usize, end: usize) -> Result<Vec<SpecPart>, ParseProblem> {
        let mut parser = Parser {
            text: &self.text[..end],
            at: start,
            rules: self.rules,
            problems: Vec::new(),
        };
        let mut pieces = Vec::new();
        while let Some(markup) = parser.next(true) {
            pieces.push(match markup? {
                Markup::Text(text, _) => SpecPart::Text(text.into()),
                Markup::Field(field) => SpecPart::Field(field),
            });
        }
        Ok(pieces)
    }
}

/// Adds a text, joined with an adjacent one.
fn add_text(nodes: &mut Vec<Node>, range: std::ops::Range<usize>) {
    match nodes.last_mut() {
        Some(Node::Text(last)) => last.end = range.end,
        _ => nodes.push(Node::Text(range)),
    }
}

fn conversion(given: Option<(char, usize)>) -> Result<Option<Conversion>, ParseProblem> {
    Ok(Some(match given {
        None => return Ok(None),
        Some(('s', _)) => Conversion::Str,
        Some(('r', _)) => Conversion::Repr,
        Some(('a', _)) => Conversion::Ascii,
        Some((other, at)) => {
            let message = format!("Unknown conversion specifier {other}");
            let problem = ParseProblem::at(message, at, at + other.len_utf8());
            return Err(problem.late().help("use !r (repr), !s (str) or !a (ascii)"));
        }
    }))
}

/// Parses the name of a variable and its accesses.
fn path(text: &str, start: usize) -> Result<(&str, Vec<Index>), ParseProblem> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut path = Vec::new();
    let at = |rest: &str| start + text.len() - rest.len();
    while !rest.is_empty() {
        let Some(after) = rest.strip_prefix('[') else {
            return Err(no_index(name, rest, at(rest)));
        };
        let Some((key, after)) = after.split_once(']') else {
            let problem = ParseProblem::at("Missing ']' in format string", at(rest), at(""));
            return Err(problem.late());
        };
        path.push(
            index(key).map_err(|message| ParseProblem::at(message, at(rest), at(after)).late())?,
        );
        rest = after;
    }
    Ok((name, path))
}

/// Returns the error for invalid characters after a name.
fn no_index(name: &str, rest: &str, at: usize) -> ParseProblem {
    let end = at + rest.len();
    let Some(attribute) = rest.strip_prefix('.') else {
        let message = "Only '.' or '[' may follow ']' in format field specifier";
        return ParseProblem::at(message, at, end).late();
    };
    let attribute = &attribute[..attribute.find(['.', '[']).unwrap_or(attribute.len())];
    if attribute.is_empty() {
        return ParseProblem::at("Empty attribute in format string", at, end).late();
    }
    let problem = ParseProblem::at(format!("data has no attribute '{attribute}'"), at, end).late();
    if attribute.starts_with("__") {
        problem
    } else {
        problem.help(format!(
            "write {{{name}[{attribute}]}} for the key {attribute} of an object"
        ))
    }
}

fn index(key: &str) -> Result<Index, String> {
    if key.is_empty() {
        return Err("Empty attribute in format string".to_owned());
    }
    let mut rest = key;
    match digits(&mut rest) {
        Ok(Some(number)) if rest.is_empty() => Ok(Index::Number(number)),
        Err(error) if rest.is_empty() => Err(error.to_string()),
        _ => Ok(Index::Key(key.into())),
    }
}
