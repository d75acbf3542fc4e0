//! Parser of values, filters and conditions.

use std::sync::Arc;

use quillet_core::Span;

use super::ast::{
    Comparison, ConditionChain, Expr, ExprKind, FilterCall, FilteredExpr, Join, Key, Lookup, Name,
    Operator, Term,
};
use super::filters;
use super::token::{Kind, Token, is_space, tokens};
use crate::format::problem::ParseProblem;

type ParseResult<T> = Result<T, ParseProblem>;

/// Parser of the markup of one tag or output.
pub(super) struct MarkupReader<'s> {
    tokens: Vec<Token<'s>>,
    next: usize,
    /// Remaining nesting depth of expressions.
    depth: usize,
}

impl<'s> MarkupReader<'s> {
    /// Creates a parser of a markup. `at` is the offset of the markup in its source.
    pub(super) fn new(markup: &'s str, at: usize, depth: usize) -> ParseResult<Self> {
        Ok(MarkupReader {
            tokens: tokens(markup, at)?,
            next: 0,
            depth,
        })
    }

    pub(super) fn peek(&self) -> Token<'s> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Token<'s> {
        let last = self.tokens.len() - 1;
        self.tokens[(self.next + by).min(last)]
    }

    fn take(&mut self) -> Token<'s> {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.peek().is(sign);
        self.next += usize::from(found);
        found
    }

    /// Consumes this word, if it is next. Returns whether it was.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let token = self.peek();
        let found = token.kind == Kind::Name && token.text == word;
        self.next += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> ParseResult<()> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(self.expected(&format!("{sign:?}")))
        }
    }

    pub(super) fn name(&mut self, what: &str) -> ParseResult<Token<'s>> {
        match self.peek().kind {
            Kind::Name => Ok(self.take()),
            _ => Err(self.expected(what)),
        }
    }

    /// Checks that nothing follows.
    pub(super) fn end(&self) -> ParseResult<()> {
        match self.peek().kind {
            Kind::End => Ok(()),
            _ => Err(self.expected("the end of the tag")),
        }
    }

    fn expected(&self, what: &str) -> ParseProblem {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the tag".to_owned(),
            _ => format!("{:?}", token.text),
        };
        ParseProblem::at(
            format!("expected {what} but found {found}"),
            token.start,
            token.end().max(token.start),
        )
    }

    /// Parses a value with its filters. Nothing may follow.
    pub(super) fn piped(mut self) -> ParseResult<FilteredExpr> {
        if self.peek().kind == Kind::End {
            return Ok(FilteredExpr {
                value: None,
                filters: Vec::new(),
            });
        }
        let value = Some(self.expr()?);
        let mut filters = Vec::new();
        while self.takes("|") {
            filters.push(self.filter()?);
        }
        self.end()?;
        Ok(FilteredExpr { value, filters })
    }

    fn filter(&mut self) -> ParseResult<FilterCall> {
        let name = self.name("the name of a filter")?;
        let mut call = FilterCall {
            name: name.text.into(),
            own: filters::find(name.text),
            positional: Vec::new(),
            named: Vec::new(),
            span: Span {
                start: name.start,
                end: name.end(),
            },
        };
        if !self.takes(":") {
            return Ok(call);
        }
        loop {
            if self.peek().kind == Kind::Name && self.ahead(1).is(":") {
                let name = self.take().text;
                self.take();
                call.named.push((name.into(), self.expr()?));
            } else {
                call.positional.push(self.expr()?);
            }
            if !self.takes(",") {
                return Ok(called_by_name(call));
            }
        }
    }

    pub(super) fn expr(&mut self) -> ParseResult<Expr> {
        let token = self.peek();
        if self.depth == 0 {
            let message = "expressions are nested more deeply than the limit on nesting";
            return Err(ParseProblem::at(message, token.start, token.end()).limit());
        }
        self.depth -= 1;
        let read = self.expr_inside();
        self.depth += 1;
        read
    }

    fn expr_inside(&mut self) -> ParseResult<Expr> {
        let token = self.peek();
        let kind = match token.kind {
            Kind::Name => {
                self.take();
                if self.peek().is("[") || self.peek().is(".") {
                    self.lookup(Name::Known(token.text.into()))?
                } else {
                    word(token.text)
                }
            }
            Kind::Text => {
                self.take();
                ExprKind::Text(token.text[1..token.text.len() - 1].into())
            }
            Kind::Number => {
                self.take();
                number(token)?
            }
            _ if token.is("[") => {
                self.take();
                let name = self.expr()?;
                self.expect("]")?;
                self.lookup(match name.kind {
                    ExprKind::Text(name) => Name::Known(name),
                    _ => Name::Computed(name),
                })?
            }
            _ if token.is("(") => {
                self.take();
                let from = self.expr()?;
                if self.peek().kind != Kind::DotDot {
                    return Err(self.expected("\"..\""));
                }
                self.take();
                let to = self.expr()?;
                self.expect(")")?;
                ExprKind::Range(Box::new(from), Box::new(to))
            }
            _ => return Err(self.expected("a value")),
        };
        let last = self.tokens[self.next - 1];
        Ok(Expr::new(kind, token.start, last.end()))
    }

    fn lookup(&mut self, name: Name) -> ParseResult<ExprKind> {
        let mut keys = Vec::new();
        loop {
            if self.takes("[") {
                keys.push(Key::Computed(self.expr()?));
                self.expect("]")?;
            } else if self.takes(".") {
                keys.push(Key::Name(self.name("a name")?.text.into()));
            } else {
                return Ok(ExprKind::Lookup(Box::new(Lookup { name, keys })));
            }
        }
    }

    /// Parses a condition. Nothing may follow.
    pub(super) fn condition(mut self) -> ParseResult<ConditionChain> {
        let mut parts = Vec::new();
        loop {
            let comparison = self.comparison()?;
            let join = if self.takes_word("and") {
                Some(Join::And)
            } else if self.takes_word("or") {
                Some(Join::Or)
            } else {
                None
            };
            parts.push((comparison, join));
            if join.is_none() {
                self.end()?;
                return Ok(ConditionChain { parts });
            }
        }
    }

    fn comparison(&mut self) -> ParseResult<Comparison> {
        let left = self.term()?;
        let token = self.peek();
        if token.kind != Kind::Comparison {
            return Ok(Comparison { left, right: None });
        }
        self.take();
        let operator = match token.text {
            "==" => Operator::Equal,
            "<" => Operator::Less,
            ">" => Operator::Greater,
            "<=" => Operator::LessOrEqual,
            ">=" => Operator::GreaterOrEqual,
            "contains" => Operator::Contains,
            _ => Operator::NotEqual,
        };
        let right = Some((operator, self.term()?));
        Ok(Comparison { left, right })
    }

    fn term(&mut self) -> ParseResult<Term> {
        let token = self.peek();
        let alone = !self.ahead(1).is("[") && !self.ahead(1).is(".");
        if let Some(term) = literal(token.text).filter(|_| alone && token.kind == Kind::Name) {
            self.take();
            return Ok(term);
        }
        self.expr().map(Term::Expr)
    }
}

/// Converts the filter `call: 'name'` to a call of the function with that name, which may also be
/// the name of a filter.
fn called_by_name(mut call: FilterCall) -> FilterCall {
    let is_name = |expr: &Expr| matches!(expr.kind, ExprKind::Text(_));
    if &*call.name != "call" || !call.positional.first().is_some_and(is_name) {
        return call;
    }
    let Expr { kind, span } = call.positional.remove(0);
    if let ExprKind::Text(name) = kind {
        call.name = name;
        call.span = Span {
            start: span.start + 1,
            end: span.end - 1,
        };
    }
    call
}

/// Returns the special term `empty` or `blank`. Both are special only in comparisons.
fn literal(text: &str) -> Option<Term> {
    match text {
        "empty" => Some(Term::Empty),
        "blank" => Some(Term::Blank),
        _ => None,
    }
}

/// Parses a value of `when`.
pub(super) fn loose_term(fragment: &str, at: usize, depth: usize) -> Term {
    literal(fragment).unwrap_or_else(|| Term::Expr(loose(fragment, at, depth)))
}

fn word(text: &str) -> ExprKind {
    match text {
        "nil" | "null" => ExprKind::Nil,
        "true" => ExprKind::Bool(true),
        "false" => ExprKind::Bool(false),
        // Outside comparisons, both words are the empty string.
        "empty" | "blank" => ExprKind::Text("".into()),
        name => ExprKind::Lookup(Box::new(Lookup {
            name: Name::Known(name.into()),
            keys: Vec::new(),
        })),
    }
}

fn number(token: Token<'_>) -> ParseResult<ExprKind> {
    if token.text.contains('.') {
        let number = token.text.parse().unwrap_or(0.0);
        return Ok(ExprKind::Float(number));
    }
    let number = token.text.parse().map(ExprKind::Int);
    number.map_err(|_| {
        let message = format!("{} does not fit into 64 bits", token.text);
        ParseProblem::at(message, token.start, token.end())
    })
}

/// Parses a fragment in a tag that ignores unknown markup (`case`, `cycle`, `include`, `tablerow`).
/// A fragment that is not an expression is the variable with the first name in it.
pub(super) fn loose(fragment: &str, at: usize, depth: usize) -> Expr {
    let strict = MarkupReader::new(fragment, at, depth).and_then(|mut reader| {
        let expr = reader.expr()?;
        reader.end().map(|()| expr)
    });
    strict.unwrap_or_else(|_| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let mut names = fragment
            .split(|c| !is_part(c))
            .filter(|name| !name.is_empty());
        let kind = match names.next() {
            None => ExprKind::Nil,
            Some(name) => ExprKind::Lookup(Box::new(Lookup {
                name: Name::Known(name.into()),
                keys: names.map(|name| Key::Name(name.into())).collect(),
            })),
        };
        Expr::new(kind, at, at + fragment.len())
    })
}

/// Finds the first fragment: a quoted text, or the characters up to white space, a comma, a bar or
/// an unpaired quote. Returns its span. With `joined`, adjacent fragments are joined.
pub(super) fn fragment(text: &str, joined: bool) -> Option<(usize, usize)> {
    let start = (0..text.len()).find(|at| text.is_char_boundary(*at) && one(&text[*at..]) > 0)?;
    let mut end = start + one(&text[start..]);
    while joined && one(&text[end..]) > 0 {
        end += one(&text[end..]);
    }
    Some((start, end))
}

/// Returns the length of the fragment at the start of a text.
fn one(text: &str) -> usize {
    if let Some(length) = quoted(text) {
        return length;
    }
    let mut length = 0;
    while let Some(c) = text[length..].chars().next() {
        length += match c {
            '\'' | '"' => match quoted(&text[length..]) {
                Some(length) => length,
                None => break,
            },
            ',' | '|' => break,
            c if is_space(c) => break,
            c => c.len_utf8(),
        };
    }
    length
}

fn quoted(text: &str) -> Option<usize> {
    let quote = text.bytes().next().filter(|b| matches!(b, b'\'' | b'"'))?;
    Some(memchr::memchr(quote, &text.as_bytes()[1..])? + 2)
}

/// Finds all attributes `name: fragment` in a markup.
pub(super) fn attributes(markup: &str, at: usize, depth: usize) -> Vec<(Arc<str>, Expr)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = markup[from..].find(is_part).map(|start| from + start) {
        let word = markup[start..].trim_start_matches(|c| is_part(c) || c == '-');
        let end = markup.len() - word.len();
        let rest = word.trim_start_matches(is_space);
        let value = rest
            .strip_prefix(':')
            .map(|rest| rest.trim_start_matches(is_space));
        let Some(value) = value.filter(|value| one(value) > 0) else {
            from = end;
            continue;
        };
        let value_at = markup.len() - value.len();
        let length = one(value);
        let expr = loose(&value[..length], at + value_at, depth);
        found.push((markup[start..end].into(), expr));
        from = value_at + length;
    }
    found
}
