//! Parsers for the markup of each tag.
//!
//! As in Liquid, some tags are strict, and others search their entire markup for the parts that
//! they need and ignore everything else.

use std::sync::Arc;

use super::ast::{
    Body, ConditionChain, Cycle, Expr, ExprKind, FilteredExpr, For, Group, NodeKind, Offset,
    PartialTag, TableRow, Term,
};
use super::expression::{MarkupReader, attributes, fragment, loose, loose_term};
use super::lexer::Tag;
use super::token::is_space;
use crate::format::problem::ParseProblem;

type ParseResult<T> = Result<T, ParseProblem>;

/// Context for parsing a markup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syntax<'s> {
    /// Name of the source.
    pub(super) source: &'s str,
    /// Maximum depth of expressions.
    pub(super) depth: usize,
}

fn wrong(tag: &Tag<'_>, valid: &str) -> ParseProblem {
    let message = format!("invalid syntax of {}", tag.name);
    ParseProblem::at(message, tag.start, tag.end).help(format!("write {valid}"))
}

/// Rejects markup in a tag that has none.
pub(super) fn nothing_more(tag: &Tag<'_>) -> ParseResult<()> {
    if tag.markup.trim_matches(is_space).is_empty() {
        Ok(())
    } else {
        Err(ParseProblem::at(
            format!("{} takes nothing", tag.name),
            tag.at,
            tag.end,
        ))
    }
}

impl<'s> Syntax<'s> {
    fn reader(self, tag: &Tag<'s>) -> ParseResult<MarkupReader<'s>> {
        MarkupReader::new(tag.markup, tag.at, self.depth)
    }

    pub(super) fn condition(self, tag: &Tag<'s>) -> ParseResult<ConditionChain> {
        self.reader(tag)?.condition()
    }

    /// Parses `name = value | filter`.
    pub(super) fn assign(self, tag: &Tag<'s>) -> ParseResult<(Arc<str>, FilteredExpr)> {
        let mut from = 0;
        while let Some((start, end)) = signature(tag.markup, from) {
            let rest = tag.markup[end..].trim_start_matches(is_space);
            if let Some(value) = rest.strip_prefix('=') {
                let at = tag.at + tag.markup.len() - value.len();
                let value = MarkupReader::new(value, at, self.depth)?.piped()?;
                return Ok((tag.markup[start..end].into(), value));
            }
            from = end;
        }
        Err(wrong(tag, "{% assign name = value %}"))
    }

    pub(super) fn capture(self, tag: &Tag<'s>) -> ParseResult<Arc<str>> {
        match signature(tag.markup, 0) {
            Some((start, end)) => Ok(tag.markup[start..end].into()),
            None => Err(wrong(tag, "{% capture name %}")),
        }
    }

    /// Checks an inline comment, in which each line must begin with `#`.
    pub(super) fn comment(self, tag: &Tag<'s>) -> ParseResult<()> {
        let mut at = tag.at;
        for (index, line) in tag.markup.split('\n').enumerate() {
            let text = line.trim_matches(is_space);
            if index > 0 && !text.is_empty() && !text.starts_with('#') {
                let problem =
                    ParseProblem::at("expected a comment on this line", at, at + line.len());
                return Err(problem.help("begin each line of the comment with #"));
            }
            at += line.len() + 1;
        }
        Ok(())
    }

    pub(super) fn case(self, tag: &Tag<'s>) -> ParseResult<Expr> {
        match fragment(tag.markup, false) {
            Some((start, end)) => Ok(loose(&tag.markup[start..end], tag.at + start, self.depth)),
            None => Err(wrong(tag, "{% case value %}")),
        }
    }

    /// Parses the values of `when`: `a, b or c`.
    pub(super) fn when(self, tag: &Tag<'s>) -> ParseResult<Vec<Term>> {
        let mut terms = Vec::new();
        let mut from = 0;
        loop {
            let rest = &tag.markup[from..];
            let Some((start, end)) = fragment(rest, false) else {
                return Err(wrong(tag, "{% when value %} or {% when one, other %}"));
            };
            terms.push(loose_term(
                &rest[start..end],
                tag.at + from + start,
                self.depth,
            ));
            match after_or(&rest[end..]) {
                Some(more) => from += end + more,
                None => return Ok(terms),
            }
        }
    }

    pub(super) fn for_tag(self, tag: &Tag<'s>) -> ParseResult<For> {
        let mut reader = self.reader(tag)?;
        let variable = reader.name("the name of an item")?.text;
        if !reader.takes_word("in") {
            return Err(wrong(tag, "{% for item in list %}"));
        }
        let items = reader.expr()?;
        let written = &tag.markup[items.span.start - tag.at..items.span.end - tag.at];
        let mut node = For {
            variable: variable.into(),
            name: format!("{variable}-{}", without_blanks(written)).into(),
            items,
            reversed: reader.takes_word("reversed"),
            limit: None,
            offset: Offset::Start,
            body: Body::new(),
            otherwise: None,
        };
        while let Ok(name) = reader.name("") {
            let is_attribute = matches!(name.text, "limit" | "offset") && reader.peek().is(":");
            if !is_attribute {
                let message = format!("{:?} is not a loop option", name.text);
                let problem = ParseProblem::at(message, name.start, name.end());
                return Err(problem.help("after the list, write reversed, limit: n or offset: n"));
            }
            reader.expect(":")?;
            match name.text {
                "limit" => node.limit = Some(reader.expr()?),
                _ if reader.takes_word("continue") => node.offset = Offset::Continue,
                _ => node.offset = Offset::At(reader.expr()?),
            }
        }
        reader.end()?;
        Ok(node)
    }

    pub(super) fn table_row(self, tag: &Tag<'s>) -> ParseResult<TableRow> {
        let Some((variable, list)) = in_list(tag.markup) else {
            return Err(wrong(tag, "{% tablerow item in list cols: 3 %}"));
        };
        let (start, end) = list;
        let mut node = TableRow {
            variable: variable.into(),
            items: loose(&tag.markup[start..end], tag.at + start, self.depth),
            columns: None,
            limit: None,
            offset: None,
            body: Body::new(),
        };
        for (name, value) in attributes(tag.markup, tag.at, self.depth) {
            match &*name {
                "cols" => node.columns = Some(value),
                "limit" => node.limit = Some(value),
                "offset" => node.offset = Some(value),
                _ => {}
            }
        }
        Ok(node)
    }

    /// Parses tags without a body.
    pub(super) fn plain(self, tag: &Tag<'s>) -> ParseResult<NodeKind> {
        Ok(match tag.name {
            "echo" => NodeKind::Print(self.reader(tag)?.piped()?),
            "break" => NodeKind::Break,
            "continue" => NodeKind::Continue,
            "increment" => NodeKind::Increment(tag.markup.trim_matches(is_space).into()),
            "decrement" => NodeKind::Decrement(tag.markup.trim_matches(is_space).into()),
            "cycle" => NodeKind::Cycle(self.cycle(tag)?),
            "include" => NodeKind::Include(Box::new(self.include(tag)?)),
            _ => NodeKind::Render(Box::new(self.render(tag)?)),
        })
    }

    /// Parses the markup of `cycle`: `name: a, b` or `a, b`.
    fn cycle(self, tag: &Tag<'s>) -> ParseResult<Cycle> {
        let Some((0, end)) = fragment(tag.markup, false) else {
            return Err(wrong(
                tag,
                "{% cycle 'one', 'two' %} or {% cycle name: 'one', 'two' %}",
            ));
        };
        let Some((name, from)) = group_name(tag.markup, end) else {
            let values = self.values(tag.markup, tag.at);
            let own = format!("{}:{}", self.source, tag.start);
            let written = values.iter().map(literal).collect::<Option<Vec<String>>>();
            let group = Group::Values(written.map_or(own, |all| all.join(",")).into());
            return Ok(Cycle { group, values });
        };
        Ok(Cycle {
            group: Group::Named(loose(&tag.markup[..name], tag.at, self.depth)),
            values: self.values(&tag.markup[from..], tag.at + from),
        })
    }

    /// Parses values separated by commas. A comma in quotes separates values too.
    fn values(self, markup: &str, at: usize) -> Vec<Expr> {
        let mut values = Vec::new();
        let mut from = at;
        for part in markup.split(',') {
            if let Some((start, end)) = fragment(part, false) {
                values.push(loose(&part[start..end], from + start, self.depth));
            }
            from += part.len() + 1;
        }
        values.retain(|value| !matches!(value.kind, ExprKind::Nil));
        values
    }

    fn include(self, tag: &Tag<'s>) -> ParseResult<PartialTag> {
        let Some((start, end)) = fragment(tag.markup, true) else {
            return Err(wrong(
                tag,
                "{% include 'name' %} or {% include 'name' with value %}",
            ));
        };
        let template = loose(&tag.markup[start..end], tag.at + start, self.depth);
        Ok(self.partial(tag, template, end))
    }

    fn render(self, tag: &Tag<'s>) -> ParseResult<PartialTag> {
        let quoted = tag.markup.char_indices().find_map(|(start, quote)| {
            let rest = tag.markup.get(start + 1..)?;
            let end = rest.find(quote).filter(|_| matches!(quote, '\'' | '"'))?;
            Some((start, start + end + 2))
        });
        let Some((start, end)) = quoted else {
            let problem = wrong(tag, "{% render 'name' %} or {% render 'name' with value %}");
            return Err(problem);
        };
        let name = &tag.markup[start + 1..end - 1];
        let template = Expr::new(ExprKind::Text(name.into()), tag.at + start, tag.at + end);
        Ok(self.partial(tag, template, end))
    }

    /// Parses the markup after the template's name: `with value as name, key: value`.
    fn partial(self, tag: &Tag<'s>, template: Expr, mut from: usize) -> PartialTag {
        let mut handed = None;
        if let Some((word, at)) = ["with", "for"]
            .into_iter()
            .find_map(|word| Some((word, from + after_word(&tag.markup[from..], word)?)))
            && let Some((0, length)) = fragment(&tag.markup[at..], true)
        {
            let written = &tag.markup[at..at + length];
            let value = loose(written, tag.at + at, self.depth);
            // A literal nil or `false` counts as a missing value.
            let is_none = matches!(value.kind, ExprKind::Nil | ExprKind::Bool(false));
            handed = (!is_none).then_some((value, word == "for"));
            from = at + length;
        }
        let alias = after_word(&tag.markup[from..], "as").and_then(|at| {
            let rest = &tag.markup[from + at..];
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.into())
        });
        PartialTag {
            template,
            handed,
            alias,
            named: attributes(tag.markup, tag.at, self.depth),
        }
    }
}

/// Finds the name to assign, from a byte on: `item`, `item.field`, `'item'` without its quotes.
fn signature(markup: &str, from: usize) -> Option<(usize, usize)> {
    let is_part =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']' | '(' | ')');
    let start = from + markup[from..].find(is_part)?;
    let rest = &markup[start..];
    Some((
        start,
        start + rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
    ))
}

/// Returns the offset of the next value of a `when`, which follows a comma or `or`.
fn after_or(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(is_space);
    let blanks = text.len() - rest.len();
    let more = match rest.strip_prefix(',') {
        Some(more) => more.trim_start_matches(is_space),
        None => {
            let more = rest.strip_prefix("or").filter(|_| blanks > 0)?;
            let after = more.trim_start_matches(is_space);
            (after.len() < more.len()).then_some(after)?
        }
    };
    let begins = matches!(fragment(more, false), Some((0, _)));
    begins.then(|| text.len() - more.len())
}

/// Returns the offset after a word with white space on both sides.
fn after_word(text: &str, word: &str) -> Option<usize> {
    let rest = text.trim_start_matches(is_space);
    let more = rest
        .strip_prefix(word)
        .filter(|_| rest.len() < text.len())?;
    let after = more.trim_start_matches(is_space);
    (after.len() < more.len()).then(|| text.len() - after.len())
}

/// Finds `item in list` in a markup. Returns the name, and the offset of the list.
fn in_list(markup: &str) -> Option<(&str, (usize, usize))> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut from = 0;
    loop {
        let start = from + markup[from..].find(is_word)?;
        let rest = &markup[start..];
        let end = start + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let list = after_word(&markup[end..], "in").map(|at| end + at);
        if let Some(at) = list
            && let Some((0, length)) = fragment(&markup[at..], true)
        {
            return Some((&markup[start..end], (at, at + length)));
        }
        from = end;
    }
}

/// Finds the name of a cycle, whose first fragment ends at `end`. Returns the length of the name,
/// and the offset of the values.
fn group_name(markup: &str, end: usize) -> Option<(usize, usize)> {
    let rest = markup[end..].trim_start_matches(is_space);
    if let Some(values) = rest.strip_prefix(':') {
        return Some((end, markup.len() - values.len()));
    }
    let quoted = markup.starts_with(['\'', '"']);
    let colon = markup[..end].rfind(':').filter(|at| *at > 0 && !quoted)?;
    Some((colon, colon + 1))
}

/// Returns the text of a constant value.
fn literal(value: &Expr) -> Option<String> {
    value
        .is_constant()
        .then(|| format!("{:?}", value.kind_shown()))
}

impl Expr {
    fn kind_shown(&self) -> String {
        match &self.kind {
            ExprKind::Nil => "nil".into(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Int(number) => number.to_string(),
            ExprKind::Float(number) => format!("{number:?}"),
            ExprKind::Text(text) => format!("{text:?}"),
            ExprKind::Range(from, to) => {
                format!("({}..{})", from.kind_shown(), to.kind_shown())
            }
            ExprKind::Lookup(_) => "variable".into(),
        }
    }
}

/// Returns a list of values as written, but without white space outside quotes.
fn without_blanks(text: &str) -> String {
    let mut quote = None;
    text.chars()
        .filter(|&c| {
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '\'' | '"') => quote = Some(c),
                _ => {}
            }
            quote.is_some() || !is_space(c)
        })
        .collect()
}
