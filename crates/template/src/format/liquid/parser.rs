//! Parser from a source to a tree of text, outputs, and tags with bodies. [`super::tags`] parses
//! the markup of tags.

use std::ops::Range;

use super::ast::{Body, CaseTag, If, Node, NodeKind};
use super::expression::MarkupReader;
use super::lexer::{self, Lexer, SourcePartKind, Tag};
use super::tags::{self, Syntax};
use super::token::is_space;
use crate::format::literals::Literals;
use crate::format::problem::ParseProblem;
use crate::{CompileOptions, TemplateSource};

type ParseResult<T> = Result<T, ParseProblem>;

/// A parsed source.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) body: Body,
    /// Whether the source always prints all of its text, in order.
    pub(super) flat: bool,
}

/// Tags with a node. Any other tag ends a body.
const TAGS: [&str; 20] = [
    "assign",
    "break",
    "capture",
    "case",
    "comment",
    "continue",
    "cycle",
    "decrement",
    "echo",
    "for",
    "if",
    "ifchanged",
    "include",
    "increment",
    "#",
    "raw",
    "render",
    "tablerow",
    "unless",
    "liquid",
];

pub(super) fn parse(
    source: &TemplateSource<'_>,
    options: &CompileOptions,
) -> Result<(Program, Literals), ParseProblem> {
    let mut parser = Parser {
        name: source.name,
        text: source.text,
        lexer: Lexer::new(source.text),
        lines: None,
        trim: false,
        depth: options.limits.nesting,
        nesting: options.limits.nesting,
    };
    let mut parsed = parser.body()?;
    if let Some(tag) = parsed.end {
        return Err(outer(&tag));
    }
    let mut literals = Literals::new(source.text.len(), options.messages);
    place_literals(&mut parsed.body, source.text, &mut literals);
    let flat = |node: &Node| {
        matches!(
            node.kind,
            NodeKind::Text(_)
                | NodeKind::Raw(_)
                | NodeKind::Nothing
                | NodeKind::Print(_)
                | NodeKind::Assign(..)
        )
    };
    let flat = parsed.body.iter().all(flat);
    let program = Program {
        body: parsed.body,
        flat,
    };
    Ok((program, literals))
}

/// Returns the error for a tag that ends no body here.
fn outer(tag: &Tag<'_>) -> ParseProblem {
    match tag.name {
        "else" | "elsif" | "when" => {
            let message = format!("{} outside a tag that allows it", tag.name);
            ParseProblem::at(message, tag.start, tag.end)
        }
        name if name.starts_with("end") => {
            let message = format!("{name} closes a tag that is not open");
            ParseProblem::at(message, tag.start, tag.end)
        }
        _ => unknown(tag),
    }
}

fn unknown(tag: &Tag<'_>) -> ParseProblem {
    let shown: String = tag.name.chars().take(40).collect();
    let problem = ParseProblem::at(format!("unknown tag {shown:?}"), tag.start, tag.end);
    match quillet_core::nearest(tag.name, TAGS) {
        Some(near) => problem.help(format!("did you mean {near}?")),
        None => problem.help(
            "write {% raw %}…{% endraw %} around text that looks like a tag; to call a tool, write it as a filter",
        ),
    }
}

/// Moves the literal text of a tree into one buffer, in source order.
fn place_literals(body: &mut Body, text: &str, literals: &mut Literals) {
    for node in body {
        match &mut node.kind {
            NodeKind::Text(range) | NodeKind::Raw(range) => {
                let literal = text.get(range.clone()).unwrap_or_default();
                *range = literals.add(literal, range.start);
            }
            NodeKind::Capture(_, body) | NodeKind::IfChanged(body) => {
                place_literals(body, text, literals);
            }
            NodeKind::If(node) => {
                for (_, body) in &mut node.branches {
                    place_literals(body, text, literals);
                }
            }
            NodeKind::Case(node) => {
                for body in &mut node.bodies {
                    place_literals(body, text, literals);
                }
            }
            NodeKind::For(node) => {
                place_literals(&mut node.body, text, literals);
                if let Some(body) = &mut node.otherwise {
                    place_literals(body, text, literals);
                }
            }
            NodeKind::TableRow(node) => place_literals(&mut node.body, text, literals),
            _ => {}
        }
    }
}

/// A parsed body, and the tag that ended it. The tag is `None` at the end of the source.
struct ParsedBody<'s> {
    body: Body,
    /// Whether the body prints nothing but white space.
    blank: bool,
    end: Option<Tag<'s>>,
}

struct Parser<'s> {
    name: &'s str,
    text: &'s str,
    lexer: Lexer<'s>,
    /// Remaining lines of the current `liquid` tag, last line first.
    lines: Option<Vec<Range<usize>>>,
    /// Whether to drop the white space at the start of the next text.
    trim: bool,
    /// Remaining nesting depth of tags.
    depth: usize,
    nesting: usize,
}

impl<'s> Parser<'s> {
    fn syntax(&self) -> Syntax<'s> {
        Syntax {
            source: self.name,
            depth: self.nesting,
        }
    }

    /// Reads a body up to a tag that ends it.
    fn body(&mut self) -> ParseResult<ParsedBody<'s>> {
        let mut parsed = ParsedBody {
            body: Body::new(),
            blank: true,
            end: None,
        };
        if self.lines.is_some() {
            self.line_body(&mut parsed)?
        } else {
            self.document_body(&mut parsed)?
        }
        Ok(parsed)
    }

    fn document_body(&mut self, parsed: &mut ParsedBody<'s>) -> ParseResult<()> {
        while let Some(piece) = self.lexer.next() {
            let (start, end) = (piece.place.start, piece.place.end);
            let text = self.text.get(start..end).unwrap_or_default();
            match piece.kind {
                SourcePartKind::Text => {
                    let trimmed = if self.trim {
                        text.trim_start_matches(is_blank)
                    } else {
                        text
                    };
                    self.trim = false;
                    parsed.blank &= trimmed.chars().all(is_space);
                    let range = end - trimmed.len()..end;
                    let node = Node::new(NodeKind::Text(range), start, end);
                    parsed.body.push(node);
                }
                SourcePartKind::Output => {
                    self.control(text, &mut parsed.body);
                    parsed.body.push(self.output(text, start)?);
                    parsed.blank = false;
                }
                SourcePartKind::Tag => {
                    self.control(text, &mut parsed.body);
                    let tag = lexer::tag(self.text, &piece.place)?;
                    if tag.name == "liquid" {
                        self.liquid(&tag, parsed)?;
                    } else if TAGS.contains(&tag.name) {
                        self.tag(&tag, parsed)?;
                    } else {
                        parsed.end = Some(tag);
                        return Ok(());
                    }
                }
                SourcePartKind::Open => {
                    let what = if text == "{%" { "tag" } else { "output" };
                    let end_is = if text == "{%" { "%}" } else { "}}" };
                    let problem = ParseProblem::at(format!("unclosed {what}"), start, end);
                    return Err(problem.help(format!("end it with {end_is}")));
                }
            }
        }
        Ok(())
    }

    /// Applies the whitespace control of a tag: `{%-` trims the text before it, and `-%}` trims the
    /// text after it.
    fn control(&mut self, piece: &str, body: &mut Body) {
        if piece.as_bytes().get(2) == Some(&b'-')
            && let Some(Node {
                kind: NodeKind::Text(range),
                ..
            }) = body.last_mut()
        {
            let text = self.text.get(range.clone()).unwrap_or_default();
            range.end = range.start + text.trim_end_matches(is_blank).len();
        }
        let before_end = piece.len().checked_sub(3);
        self.trim = before_end.is_some_and(|at| piece.as_bytes().get(at) == Some(&b'-'));
    }

    fn output(&self, piece: &'s str, start: usize) -> ParseResult<Node> {
        let end = start + piece.len();
        let Some(inside) = piece[2..].strip_suffix("}}") else {
            let problem = ParseProblem::at("unclosed output", start, end);
            return Err(problem.help("close it with }}; a string inside it cannot contain a brace"));
        };
        let begins = usize::from(inside.starts_with('-'));
        let inside = &inside[begins..];
        let inside = inside.strip_suffix('-').unwrap_or(inside);
        let piped = MarkupReader::new(inside, start + 2 + begins, self.nesting)?.piped()?;
        Ok(Node::new(NodeKind::Print(piped), start, end))
    }

    /// Adds the lines of a `liquid` tag to the current body.
    fn liquid(&mut self, tag: &Tag<'s>, parsed: &mut ParsedBody<'s>) -> ParseResult<()> {
        let mut at = tag.at;
        let mut lines = Vec::new();
        for line in tag.markup.split('\n') {
            lines.push(at..at + line.len());
            at += line.len() + 1;
        }
        lines.reverse();
        self.lines = Some(lines);
        self.line_body(parsed)?;
        self.lines = None;
        match parsed.end.take() {
            Some(tag) => Err(outer(&tag)),
            None => Ok(()),
        }
    }

    fn line_body(&mut self, parsed: &mut ParsedBody<'s>) -> ParseResult<()> {
        while let Some(place) = self.lines.as_mut().and_then(Vec::pop) {
            let line = self.text.get(place.clone()).unwrap_or_default();
            if line.trim_matches(is_space).is_empty() {
                continue;
            }
            let tag = lexer::line(self.text, &place).unwrap_or(Tag {
                name: line,
                markup: line,
                at: place.start,
                start: place.start,
                end: place.end,
            });
            if tag.name == "liquid" || !TAGS.contains(&tag.name) {
                parsed.end = Some(tag);
                return Ok(());
            }
            self.tag(&tag, parsed)?;
        }
        Ok(())
    }

    /// Parses a tag and its bodies.
    fn tag(&mut self, tag: &Tag<'s>, parsed: &mut ParsedBody<'s>) -> ParseResult<()> {
        if self.depth == 0 {
            let message = "tags are nested more deeply than the limit on nesting";
            return Err(ParseProblem::at(message, tag.start, tag.end).limit());
        }
        self.depth -= 1;
        let (kind, blank) = self.node(tag)?;
        self.depth += 1;
        parsed.blank &= blank;
        parsed.body.push(Node::new(kind, tag.start, tag.end));
        Ok(())
    }

    /// Returns the node of a tag, and whether it prints nothing but white space.
    fn node(&mut self, tag: &Tag<'s>) -> ParseResult<(NodeKind, bool)> {
        let syntax = self.syntax();
        Ok(match tag.name {
            "assign" => {
                let (name, value) = syntax.assign(tag)?;
                (NodeKind::Assign(name, value), true)
            }
            "capture" => {
                let name = syntax.capture(tag)?;
                let (body, _) = self.simple(tag)?;
                (NodeKind::Capture(name, body), true)
            }
            "comment" => self.comment(tag)?,
            "#" => {
                syntax.comment(tag)?;
                (NodeKind::Nothing, true)
            }
            "raw" => self.raw(tag)?,
            "if" => self.if_tag(tag, false)?,
            "unless" => self.if_tag(tag, true)?,
            "case" => self.case(tag)?,
            "for" => self.for_tag(tag)?,
            "tablerow" => {
                let mut node = syntax.table_row(tag)?;
                let (body, blank) = self.simple(tag)?;
                node.body = body;
                (NodeKind::TableRow(Box::new(node)), blank)
            }
            "ifchanged" => {
                let (body, blank) = self.simple(tag)?;
                (NodeKind::IfChanged(body), blank)
            }
            _ => (syntax.plain(tag)?, false),
        })
    }

    /// Parses a body up to the end tag of a tag.
    fn simple(&mut self, tag: &Tag<'s>) -> ParseResult<(Body, bool)> {
        let parsed = self.body()?;
        match parsed.end {
            Some(end) if ends(&end, tag) => Ok((parsed.body, parsed.blank)),
            end => Err(misplaced(tag, end)),
        }
    }

    /// Parses the content of a comment and drops it, so that errors in it are reported. Unknown
    /// tags are ignored.
    fn comment(&mut self, tag: &Tag<'s>) -> ParseResult<(NodeKind, bool)> {
        loop {
            match self.body()?.end {
                Some(end) if ends(&end, tag) => return Ok((NodeKind::Nothing, true)),
                Some(_) => {}
                None => return Err(misplaced(tag, None)),
            }
        }
    }

    fn raw(&mut self, tag: &Tag<'s>) -> ParseResult<(NodeKind, bool)> {
        if !tag.markup.trim_matches(is_space).is_empty() {
            let problem = ParseProblem::at("raw takes no arguments", tag.at, tag.end);
            return Err(problem.help("write {% raw %}"));
        }
        if self.lines.is_some() {
            let message = "raw cannot be used in a liquid tag";
            return Err(ParseProblem::at(message, tag.start, tag.end));
        }
        while let Some(piece) = self.lexer.next() {
            let text = self.text.get(piece.place.clone()).unwrap_or_default();
            if let Some((before, trims)) = lexer::end_of_raw(text) {
                self.trim |= trims;
                let range = tag.end..piece.place.start + before;
                let blank = range.is_empty();
                return Ok((NodeKind::Raw(range), blank));
            }
        }
        Err(misplaced(tag, None))
    }

    fn if_tag(&mut self, tag: &Tag<'s>, unless: bool) -> ParseResult<(NodeKind, bool)> {
        let mut condition = Some(self.syntax().condition(tag)?);
        let mut branches = Vec::new();
        let mut all_blank = true;
        loop {
            let parsed = self.body()?;
            all_blank &= parsed.blank;
            branches.push((condition, parsed.body));
            condition = match parsed.end {
                Some(end) if ends(&end, tag) => break,
                Some(end) if end.name == "elsif" => Some(self.syntax().condition(&end)?),
                Some(end) if end.name == "else" => None,
                end => return Err(misplaced(tag, end)),
            };
        }
        if all_blank {
            branches.iter_mut().for_each(|(_, body)| drop_texts(body));
        }
        Ok((NodeKind::If(If { unless, branches }), all_blank))
    }

    fn case(&mut self, tag: &Tag<'s>) -> ParseResult<(NodeKind, bool)> {
        let mut case = CaseTag {
            left: self.syntax().case(tag)?,
            arms: Vec::new(),
            bodies: Vec::new(),
        };
        // Text before the first `when` is dropped.
        let mut parsed = self.body()?;
        let mut all_blank = parsed.blank;
        loop {
            let at = case.bodies.len();
            match parsed.end {
                Some(end) if ends(&end, tag) => break,
                Some(end) if end.name == "when" => {
                    let terms = self.syntax().when(&end)?;
                    case.arms
                        .extend(terms.into_iter().map(|term| (Some(term), at)));
                }
                Some(end) if end.name == "else" => {
                    tags::nothing_more(&end)?;
                    case.arms.push((None, at));
                }
                end => return Err(misplaced(tag, end)),
            }
            parsed = self.body()?;
            all_blank &= parsed.blank;
            case.bodies.push(std::mem::take(&mut parsed.body));
        }
        if all_blank {
            case.bodies.iter_mut().for_each(drop_texts);
        }
        Ok((NodeKind::Case(case), all_blank))
    }

    fn for_tag(&mut self, tag: &Tag<'s>) -> ParseResult<(NodeKind, bool)> {
        let mut node = self.syntax().for_tag(tag)?;
        let mut parsed = self.body()?;
        let mut all_blank = parsed.blank;
        node.body = parsed.body;
        if let Some(end) = &parsed.end
            && end.name == "else"
        {
            parsed = self.body()?;
            all_blank &= parsed.blank;
            node.otherwise = Some(parsed.body);
        }
        match parsed.end {
            Some(end) if ends(&end, tag) => {}
            end => return Err(misplaced(tag, end)),
        }
        if all_blank {
            drop_texts(&mut node.body);
            node.otherwise.iter_mut().for_each(drop_texts);
        }
        Ok((NodeKind::For(Box::new(node)), all_blank))
    }
}

/// Whether Ruby's `strip` removes a character, which is white space or NUL.
pub(super) fn is_blank(c: char) -> bool {
    c == '\0' || is_space(c)
}

/// Drops white space around tags that print nothing, because it is only layout.
fn drop_texts(body: &mut Body) {
    body.retain(|node| !matches!(node.kind, NodeKind::Text(_)));
}

fn ends(end: &Tag<'_>, tag: &Tag<'_>) -> bool {
    end.name.strip_prefix("end") == Some(tag.name)
}

/// Returns the error for an unexpected end tag.
fn misplaced(tag: &Tag<'_>, end: Option<Tag<'_>>) -> ParseProblem {
    let name = tag.name;
    let Some(end) = end else {
        let problem = ParseProblem::at(format!("this {name} is not closed"), tag.start, tag.end);
        return problem.help(format!("end it with {{% end{name} %}}"));
    };
    match end.name {
        "else" | "elsif" | "when" => {
            let message = format!("{name} has no {} here", end.name);
            ParseProblem::at(message, end.start, end.end)
        }
        other if other.starts_with("end") => {
            let problem =
                ParseProblem::at(format!("{other} does not close {name}"), end.start, end.end);
            problem.help(format!("write {{% end{name} %}}"))
        }
        _ => unknown(&end),
    }
}
