//! Parser from tokens to nodes. It matches opening and closing tags.

use quillet_core::{Diagnostic, Span};

use super::ast::{LinePosition, Node, Partial, Program, Section, Tag, TagPath};
use super::lexer::{Lexer, RawTag, TagKind, Token};
use crate::format::literals::Literals;
use crate::format::problem::{MOST_PROBLEMS, ParseProblem};
use crate::{CompileOptions, TemplateSource};

/// Parses a source. `find` returns the index of a partial's source. `alone` means that the source
/// is the only one.
///
/// # Errors
/// Returns the errors of the source.
pub(super) fn parse(
    source: &TemplateSource<'_>,
    options: &CompileOptions,
    find: &dyn Fn(&str) -> Option<usize>,
    alone: bool,
) -> Result<Program, Vec<Diagnostic>> {
    let (tokens, unclosed) = Lexer::new(source.text).run();
    let mut parser = Parser {
        text: source.text,
        nesting: options.limits.nesting,
        find,
        alone,
        literals: Literals::new(source.text.len(), options.messages),
        text_open: None,
        nodes: Vec::with_capacity(tokens.len()),
        open: Vec::new(),
        problems: Vec::new(),
    };
    for token in tokens {
        parser.token(token);
        if parser.problems.len() >= MOST_PROBLEMS {
            break;
        }
    }
    parser.end(unclosed);
    if parser.problems.is_empty() {
        return Ok(Program {
            literals: parser.literals.into_text(),
            nodes: parser.nodes,
        });
    }
    let problems = parser.problems.into_iter();
    Err(problems.map(|problem| problem.diagnostic(source)).collect())
}

struct Parser<'t, 'f> {
    text: &'t str,
    nesting: usize,
    find: &'f dyn Fn(&str) -> Option<usize>,
    alone: bool,
    literals: Literals,
    /// A text that the next token may extend: its range in the source, and its position in the
    /// line.
    text_open: Option<(usize, usize, LinePosition)>,
    nodes: Vec<Node>,
    /// Indexes of the open sections in the nodes.
    open: Vec<usize>,
    problems: Vec<ParseProblem>,
}

impl<'t> Parser<'t, '_> {
    fn token(&mut self, token: Token<'t>) {
        match token {
            Token::Text(start, end, place) => self.add_text(start, end, place),
            Token::Tag(raw) => {
                self.flush();
                if let Err(problem) = self.tag(raw) {
                    self.problems.push(problem);
                }
            }
        }
    }

    /// Adds a text. Texts that are adjacent in the source are joined.
    fn add_text(&mut self, start: usize, end: usize, place: LinePosition) {
        let is_empty = start == end;
        if is_empty && (self.alone || place == LinePosition::Inside) {
            return;
        }
        match &mut self.text_open {
            Some(open) if open.1 == start && !is_empty => open.1 = end,
            _ => {
                self.flush();
                self.text_open = Some((start, end, place));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((start, end, place)) = self.text_open.take() {
            let range = self.literals.add(&self.text[start..end], start);
            self.nodes.push(Node::Text(range, place));
        }
    }

    fn tag(&mut self, raw: RawTag<'t>) -> Result<(), ParseProblem> {
        reject_optional(&raw)?;
        match raw.kind {
            TagKind::Comment | TagKind::Delimiters => {}
            TagKind::Value | TagKind::RawValue => self.nodes.push(Node::Value(tag(&raw))),
            TagKind::Partial => self.nodes.push(Node::Partial(self.partial(&raw))),
            TagKind::Section | TagKind::Inverted => return self.section(&raw),
            TagKind::End => return self.close(&raw),
        }
        Ok(())
    }

    fn section(&mut self, raw: &RawTag<'t>) -> Result<(), ParseProblem> {
        self.open.push(self.nodes.len());
        self.nodes.push(Node::Section(Section {
            tag: tag(raw),
            inverted: raw.kind == TagKind::Inverted,
            end: 0,
        }));
        if self.open.len() == self.nesting + 1 {
            let message = format!(
                "sections are nested deeper than the limit on nesting ({})",
                self.nesting
            );
            return Err(ParseProblem::at(message, raw.span.start, raw.span.end).limit());
        }
        Ok(())
    }

    /// Returns the section at the index of its node.
    fn section_at(&self, node: usize) -> Option<&Section> {
        match self.nodes.get(node) {
            Some(Node::Section(section)) => Some(section),
            _ => None,
        }
    }

    fn close(&mut self, raw: &RawTag<'t>) -> Result<(), ParseProblem> {
        let named = |node: usize| {
            let section = self.section_at(node)?;
            Some((section.tag.path.text().to_owned(), section.tag.span))
        };
        let Span { start, end } = raw.span;
        let Some((name, opened)) = self.open.last().and_then(|node| named(*node)) else {
            let message = format!("Unopened section \"{}\"", raw.name);
            let help = format!(
                "remove the tag, or open the section with {{{{#{}}}}}",
                raw.name
            );
            return Err(ParseProblem::at(message, start, end).help(help));
        };
        if name == raw.name {
            self.end_section();
            return Ok(());
        }
        // Continue with the section that the author probably meant, if it is open.
        let open = self.open.iter().take(self.nesting);
        let meant = open
            .rev()
            .find(|node| named(**node).is_some_and(|(name, _)| name == raw.name));
        if let Some(meant) = meant.copied() {
            while self.open.last().is_some_and(|node| *node >= meant) {
                self.end_section();
            }
        }
        let at = quillet_core::LineColumn::of(self.text, opened.start);
        let message = format!("Unclosed section \"{name}\"");
        let help = format!(
            "close {{{{#{name}}}}} of line {} with {{{{/{name}}}}} before {{{{/{}}}}}",
            at.line, raw.name
        );
        Err(ParseProblem::at(message, start, end).help(help))
    }

    fn end_section(&mut self) {
        let end = self.nodes.len();
        let open = self.open.pop();
        if let Some(Node::Section(section)) = open.and_then(|node| self.nodes.get_mut(node)) {
            section.end = end;
        }
    }

    fn partial(&self, raw: &RawTag<'t>) -> Partial {
        let blank = |c: char| match c {
            ' ' | '\t' => Some((c, 1)),
            _ if super::super::javascript::is_space(c) => None,
            // As in JavaScript, the length of a character is in UTF-16 units.
            _ => Some((' ', c.len_utf16())),
        };
        let blanks = |text: &str| -> Box<str> {
            let blanks = text.chars().filter_map(blank);
            let blanks = blanks.flat_map(|(c, width)| std::iter::repeat_n(c, width));
            blanks.collect::<String>().into()
        };
        Partial {
            tag: tag(raw),
            source: (self.find)(raw.name),
            indent: raw.before.map(|(text, _)| blanks(text)),
            first_line: raw.before.is_some_and(|(_, is_text)| !is_text),
        }
    }

    fn end(&mut self, unclosed: Option<ParseProblem>) {
        self.flush();
        if let Some(problem) = unclosed {
            return self.problems.push(problem);
        }
        let open = self.open.iter().take(MOST_PROBLEMS);
        let open = open.filter_map(|node| self.section_at(*node));
        let unclosed = open.map(|section| {
            let (name, span) = (section.tag.path.text(), section.tag.span);
            let problem =
                ParseProblem::at(format!("Unclosed section \"{name}\""), span.start, span.end);
            problem.help(format!("close it with {{{{/{name}}}}}"))
        });
        let unclosed: Vec<ParseProblem> = unclosed.collect();
        self.problems.extend(unclosed);
    }
}

fn tag(raw: &RawTag<'_>) -> Tag {
    Tag {
        path: TagPath::new(raw.name),
        raw: raw.kind == TagKind::RawValue,
        span: raw.span,
        name: raw.name_span,
    }
}

/// Rejects the optional modules of the specification.
fn reject_optional(raw: &RawTag<'_>) -> Result<(), ParseProblem> {
    let (what, help) = match (raw.kind, raw.name.chars().next()) {
        (TagKind::Value, Some('<')) => ("inheritance is not supported", "use {{> partial}}"),
        (TagKind::Value, Some('$')) => (
            "blocks of inheritance ({{$name}}) are not supported",
            "write {{name}} for a variable; {{$name}} is a variable in the format semantic-kernel",
        ),
        (TagKind::Partial, Some('*')) => (
            "dynamic names of partials are not supported",
            "write a named partial for each possible name, in a section",
        ),
        _ => return Ok(()),
    };
    Err(ParseProblem::at(what, raw.span.start, raw.span.end).help(help))
}
