//! Parser of the expressions in a tag: names, literals, arguments, and calls in parentheses.

use std::borrow::Cow;
use std::sync::Arc;

use quillet_core::{Span, Value};

use super::ast::{CallExpr, CallKind, Expr, Path, Root};
use super::lexer::{Kind as Lexeme, Token};
use super::operands::{ArgumentExprs, HeadValue, TagHead};
use super::parser::Parser;
use crate::format::javascript;
use crate::format::problem::ParseProblem;

impl<'s> Parser<'s, '_> {
    /// Returns the error for an unexpected token.
    pub(super) fn unexpected(&self, expected: &str) -> ParseProblem {
        let found = self.lexer.slice(self.token);
        let message = match self.token.kind {
            Lexeme::End => format!("the tag is not closed: expected {expected}"),
            _ => format!("expected {expected}, found `{found}`"),
        };
        let span = Span {
            start: self.token.start,
            end: self.token.end,
        };
        ParseProblem::new(message, span)
    }

    /// Returns the name in the current token.
    pub(super) fn id(&self) -> Option<Cow<'s, str>> {
        match self.token.kind {
            Lexeme::Id => Some(Cow::Borrowed(self.lexer.slice(self.token))),
            Lexeme::Bracketed => Some(self.lexer.bracketed_name(self.token)),
            _ => None,
        }
    }

    /// Parses a path or a literal.
    pub(super) fn head(&mut self) -> Result<TagHead<'s>, ParseProblem> {
        let token = self.token;
        let literal = match token.kind {
            Lexeme::Id | Lexeme::Bracketed => return self.path(false),
            Lexeme::Data => {
                self.advance();
                return self.path(true);
            }
            Lexeme::Text => self.lexer.quoted_text(token),
            Lexeme::Number => number_text(&number(self.lexer.slice(token))).into(),
            Lexeme::True | Lexeme::False | Lexeme::Null | Lexeme::Undefined => {
                Cow::Borrowed(self.lexer.slice(token))
            }
            _ => return Err(self.unexpected("a name")),
        };
        self.advance();
        Ok(TagHead {
            value: HeadValue::Literal(literal_value(token, self.lexer.slice(token), &literal)),
            original: literal,
            span: Span {
                start: token.start,
                end: token.end,
            },
        })
    }

    /// Parses a path such as `a.b`, `../a/b` or `this.[any name]`. With `data`, the path follows an
    /// `@`.
    fn path(&mut self, data: bool) -> Result<TagHead<'s>, ParseProblem> {
        let first = self.token;
        let start = first.start - usize::from(data);
        let mut original: Cow<'s, str> = Cow::Borrowed("");
        if data {
            original = Cow::Borrowed("@");
        }
        let mut path = PathParts {
            data,
            ..PathParts::default()
        };
        loop {
            let Some(name) = self.id() else {
                return Err(self.unexpected("a name"));
            };
            let end = self.token.end;
            let fits = path.add(&name, self.token.kind == Lexeme::Bracketed);
            extend(&mut original, name);
            if !fits {
                let message = format!("`.`, `..` and `this` can only begin a path: {original}");
                return Err(ParseProblem::new(message, Span { start, end }));
            }
            self.advance();
            if self.token.kind != Lexeme::Separator {
                let span = Span { start, end };
                return Ok(self.named_path(data, path, original, span));
            }
            extend(&mut original, Cow::Borrowed(self.lexer.slice(self.token)));
            self.advance();
        }
    }

    fn named_path(
        &self,
        data: bool,
        path: PathParts,
        original: Cow<'s, str>,
        span: Span,
    ) -> TagHead<'s> {
        let mut parts = path.parts;
        let scoped = is_scoped(&original);
        let param = || self.param(parts.first().filter(|_| path.depth == 0 && !scoped)?);
        let root = if data {
            Root::Data(path.depth)
        } else {
            param().unwrap_or(Root::Context(path.depth))
        };
        if matches!(root, Root::Param(..)) {
            parts.remove(0);
        }
        TagHead {
            value: HeadValue::Path(Path { root, parts, span }),
            original,
            span,
        }
    }

    /// Finds a block parameter by its name, starting at the innermost block.
    fn param(&self, name: &str) -> Option<Root> {
        let blocks = self.params.iter().rev().enumerate();
        let find = |(block, names): (usize, &Vec<Box<str>>)| {
            let index = names.iter().position(|known| **known == *name)?;
            Some(Root::Param(block, index))
        };
        blocks.into_iter().find_map(find)
    }

    /// Parses all operands up to the end of the tag or of the parentheses, or up to `as |`.
    pub(super) fn arguments(&mut self) -> Result<ArgumentExprs, ParseProblem> {
        let mut arguments = ArgumentExprs::default();
        loop {
            if let Some(name) = self.hash_name() {
                let value = self.parameter()?;
                arguments.named.push((name, value));
            } else if arguments.named.is_empty() && self.begins_parameter() {
                let value = self.parameter()?;
                arguments.positional.push(value);
            } else if self.begins_parameter() {
                let message = "a positional argument cannot follow a named argument";
                let span = Span {
                    start: self.token.start,
                    end: self.token.end,
                };
                return Err(ParseProblem::new(message, span).help("put it before"));
            } else {
                return Ok(arguments);
            }
        }
    }

    fn begins_parameter(&self) -> bool {
        matches!(
            self.token.kind,
            Lexeme::Id
                | Lexeme::Bracketed
                | Lexeme::Data
                | Lexeme::Text
                | Lexeme::Number
                | Lexeme::True
                | Lexeme::False
                | Lexeme::Null
                | Lexeme::Undefined
                | Lexeme::OpenCall
        )
    }

    /// Consumes `name=`, if it follows.
    fn hash_name(&mut self) -> Option<Arc<str>> {
        let name = self.id()?;
        let rest = self.lexer.text.get(self.token.end..)?;
        if !rest
            .trim_start_matches(javascript::is_space)
            .starts_with('=')
        {
            return None;
        }
        self.advance();
        self.advance();
        Some(name.into())
    }

    /// Parses one argument.
    pub(super) fn parameter(&mut self) -> Result<Expr, ParseProblem> {
        if self.token.kind == Lexeme::OpenCall {
            return self.sub_expression();
        }
        match self.head()?.value {
            HeadValue::Path(path) => Ok(Expr::Path(path)),
            HeadValue::Literal(literal) => Ok(literal),
        }
    }

    fn sub_expression(&mut self) -> Result<Expr, ParseProblem> {
        let start = self.token.start;
        self.depth += 1;
        if self.depth > self.known.nesting {
            let end = self.token.end;
            return Err(self.too_deep(Span { start, end }));
        }
        self.advance();
        let head = self.head()?;
        let arguments = self.arguments()?;
        if self.token.kind != Lexeme::CloseCall {
            return Err(self.unexpected(")"));
        }
        let end = self.token.end;
        self.depth -= 1;
        self.advance();
        let call = self.call(head, arguments, Span { start, end }, true);
        Ok(Expr::Call(Box::new(call)))
    }

    /// Combines a name and its arguments. The rules of handlebars.js decide whether the name is a
    /// helper.
    pub(super) fn call(
        &self,
        head: TagHead<'s>,
        arguments: ArgumentExprs,
        span: Span,
        nested: bool,
    ) -> CallExpr {
        let ArgumentExprs { positional, named } = arguments;
        let path = match head.value {
            HeadValue::Path(path) => path,
            HeadValue::Literal(_) => Path {
                root: Root::Context(0),
                // As in handlebars.js, an empty name is the context itself.
                parts: if head.original.is_empty() {
                    Vec::new()
                } else {
                    vec![head.original.as_ref().into()]
                },
                span: head.span,
            },
        };
        let simple =
            path.root == Root::Context(0) && path.parts.len() == 1 && !is_scoped(&head.original);
        let has_arguments = nested || !positional.is_empty() || !named.is_empty();
        let helper = if simple {
            (self.known.helper)(&head.original)
        } else {
            None
        };
        let is_param = matches!(path.root, Root::Param(..)) && path.parts.is_empty();
        let kind = match helper {
            Some(callee) => CallKind::Helper(callee),
            None if is_param => CallKind::Variable,
            None if has_arguments => CallKind::Function,
            None if simple => CallKind::Ambiguous,
            None => CallKind::Variable,
        };
        CallExpr {
            kind,
            path,
            positional,
            named,
            span,
        }
    }
}

/// The parts of a path during parsing.
#[derive(Default)]
struct PathParts {
    /// Whether the first part is the name of data, which keeps its `@`.
    data: bool,
    depth: usize,
    parts: Vec<Box<str>>,
}

impl PathParts {
    /// Adds a part. Returns `false` if `..`, `.` or `this` follows a name.
    fn add(&mut self, name: &str, bracketed: bool) -> bool {
        if bracketed || !matches!(name, ".." | "." | "this") {
            let part = if self.data && self.parts.is_empty() {
                format!("@{name}").into()
            } else {
                name.into()
            };
            self.parts.push(part);
            return true;
        }
        self.depth += usize::from(name == "..");
        self.parts.is_empty()
    }
}

/// Appends text. The text of a path with a single name is not copied.
fn extend<'s>(original: &mut Cow<'s, str>, more: Cow<'s, str>) {
    if original.is_empty() {
        *original = more
    } else {
        original.to_mut().push_str(&more)
    }
}

/// Whether handlebars.js treats a path as scoped: it begins with a dot, or one of its words ends in
/// `this`.
fn is_scoped(original: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let ends = |(at, this): (usize, &str)| {
        let next = original.as_bytes().get(at + this.len());
        !next.is_some_and(|byte| word(*byte))
    };
    original.starts_with('.') || original.match_indices("this").any(ends)
}

fn literal_value(token: Token, slice: &str, text: &str) -> Expr {
    Expr::Literal(match token.kind {
        Lexeme::Text => text.into(),
        Lexeme::Number => number(slice),
        Lexeme::True => Value::Bool(true),
        Lexeme::False => Value::Bool(false),
        Lexeme::Undefined => return Expr::Undefined,
        _ => Value::Null,
    })
}

/// Parses digits to a number.
fn number(text: &str) -> Value {
    let integer = text.parse().map(Value::Int).ok();
    let float = || text.parse().map(Value::Float).unwrap_or_default();
    integer.unwrap_or_else(float)
}

/// Returns the text of a number that is used as a name.
fn number_text(value: &Value) -> String {
    let mut out = Vec::new();
    match value {
        Value::Int(value) => javascript::integer(&mut out, *value),
        Value::Float(value) => javascript::number(&mut out, *value),
        _ => {}
    }
    String::from_utf8(out).unwrap_or_default()
}
