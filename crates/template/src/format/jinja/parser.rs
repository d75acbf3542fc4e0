//! Parser from tags to statements. The parser of expressions is in [`super::expression`].

use std::collections::HashSet;
use std::sync::Arc;

use quillet_core::Span;

use super::ast::{
    AssignTarget, Block, Expr, FilterCall, For, Macro, Program, Statement, StatementKind,
};
use super::lexer::{Lexer, Token, Tokens};
use super::syntax::JinjaPreset;
use crate::CompileOptions;
use crate::format::literals::Literals;
use crate::format::problem::ParseProblem;

pub(super) type ParseResult<T> = Result<T, ParseProblem>;

pub(super) struct Parser<'a> {
    tokens: Tokens<'a>,
    next: usize,
    pub(super) preset: JinjaPreset,
    /// Functions that are also filters.
    pub(super) filters: &'a [String],
    /// Depth of the blocks and expressions around the current position.
    pub(super) depth: usize,
    pub(super) nesting: usize,
    blocks: Vec<Arc<Block>>,
    block_names: HashSet<Arc<str>, foldhash::fast::RandomState>,
    interned: HashSet<Arc<str>, foldhash::fast::RandomState>,
    loops: usize,
    /// Whether the current macro uses `varargs` and `kwargs`.
    pub(super) varargs: bool,
    pub(super) kwargs: bool,
}

/// Parses one source. The literal texts include errors in the messages.
pub(super) fn parse<'a>(
    source: &'a str,
    preset: JinjaPreset,
    options: &'a CompileOptions,
) -> ParseResult<(Program, Literals)> {
    let (tokens, literals) = Lexer::new(source, preset, options.messages).run()?;
    let mut parser = Parser {
        tokens,
        next: 0,
        preset,
        filters: &options.filters,
        depth: 0,
        nesting: options.limits.nesting,
        blocks: Vec::new(),
        block_names: HashSet::default(),
        interned: HashSet::default(),
        loops: 0,
        varargs: false,
        kwargs: false,
    };
    let program = Program {
        body: parser.body(&[])?,
        loop_name: parser.interned.get("loop").cloned(),
        blocks: parser.blocks,
    };
    Ok((program, literals))
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> &Token<'a> {
        self.tokens.get(self.next).map_or(&Token::End, |t| &t.0)
    }

    pub(super) fn peek_after(&self) -> &Token<'a> {
        self.tokens.get(self.next + 1).map_or(&Token::End, |t| &t.0)
    }

    pub(super) fn span(&self) -> Span {
        let last = self.tokens.len().saturating_sub(1);
        let token = self.tokens.get(self.next.min(last));
        token.map_or_else(Span::default, |t| t.1)
    }

    /// Returns the end of the previous token.
    pub(super) fn last_end(&self) -> usize {
        let last = self.next.checked_sub(1).and_then(|i| self.tokens.get(i));
        last.map_or(0, |t| t.1.end)
    }

    pub(super) fn advance(&mut self) -> (Token<'a>, Span) {
        let taken = match self.tokens.get_mut(self.next) {
            Some((token, span)) => (std::mem::replace(token, Token::End), *span),
            None => (Token::End, self.span()),
        };
        self.next += 1;
        taken
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Token::Operator(found) if *found == operator)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if *found == name)
    }

    pub(super) fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> ParseResult<()> {
        if self.skip_operator(operator) {
            Ok(())
        } else {
            Err(self.unexpected(operator))
        }
    }

    fn expect_name(&mut self, name: &str) -> ParseResult<()> {
        if self.skip_name(name) {
            Ok(())
        } else {
            Err(self.unexpected(name))
        }
    }

    pub(super) fn name(&mut self) -> ParseResult<Arc<str>> {
        let Token::Name(name) = *self.peek() else {
            return Err(self.unexpected("identifier"));
        };
        self.advance();
        Ok(self.intern(name))
    }

    pub(super) fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.interned.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.interned.insert(Arc::clone(&name));
        name
    }

    pub(super) fn unexpected(&self, expected: &str) -> ParseProblem {
        let Span { start, end } = self.span();
        let found = match self.peek() {
            Token::Text(_) | Token::TagBegin | Token::PrintBegin => "template text".to_owned(),
            Token::PrintEnd | Token::TagEnd => "end of tag".to_owned(),
            Token::Name(name) => format!("{name:?}"),
            Token::Str(_) => "string".to_owned(),
            Token::Int(_) | Token::Float(_) => "number".to_owned(),
            Token::Operator(operator) => format!("{operator:?}"),
            Token::End => "end of template".to_owned(),
        };
        ParseProblem::at(
            format!("unexpected {found}, expected {expected}"),
            start,
            end,
        )
    }

    /// Increments the depth while `parse` runs.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        self.depth += 1;
        self.check_depth(self.depth)?;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn check_depth(&self, depth: usize) -> ParseResult<()> {
        if depth <= self.nesting {
            return Ok(());
        }
        let Span { start, end } = self.span();
        let message = format!(
            "the template is nested deeper than the limit on nesting ({})",
            self.nesting
        );
        Err(ParseProblem::at(message, start, end).limit())
    }

    /// Parses statements up to a tag with one of these names, and does not consume that tag.
    fn body(&mut self, ends: &[&str]) -> ParseResult<Vec<Statement>> {
        let mut body = Vec::new();
        let opened = self.span();
        loop {
            let (token, span) = self.advance();
            let kind = match token {
                Token::Text(text) => StatementKind::Text(text),
                Token::PrintBegin => {
                    let expr = self.tuple()?;
                    self.end_of(&Token::PrintEnd)?;
                    StatementKind::Print(expr)
                }
                Token::TagBegin => {
                    if ends.iter().any(|end| self.is_name(end)) {
                        return Ok(body);
                    }
                    self.nested(Self::tag)?
                }
                _ if ends.is_empty() => return Ok(body),
                _ => return Err(unclosed(ends, opened)),
            };
            let end = self.last_end();
            let span = Span {
                start: span.start,
                end,
            };
            body.push(Statement { kind, span });
        }
    }

    fn end_of(&mut self, token: &Token<'_>) -> ParseResult<()> {
        if self.peek() != token {
            return Err(self.unexpected("end of tag"));
        }
        self.advance();
        Ok(())
    }

    fn tag_end(&mut self) -> ParseResult<()> {
        self.end_of(&Token::TagEnd)
    }

    fn tag(&mut self) -> ParseResult<StatementKind> {
        let span = self.span();
        let Token::Name(name) = *self.peek() else {
            return Err(self.unexpected("tag name"));
        };
        self.advance();
        let hugging_face = self.preset.is_hugging_face();
        match name {
            "if" => self.if_tag(),
            "for" => self.for_tag(),
            "set" => self.set_tag(),
            "with" => self.with_tag(),
            "macro" => self.macro_tag(),
            "call" => self.call_tag(),
            "filter" => self.filter_tag(),
            "block" => self.block_tag(),
            "do" => {
                let expr = self.tuple()?;
                self.tag_end()?;
                Ok(StatementKind::Do(expr))
            }
            "extends" => Ok(StatementKind::Extends(self.last_expression()?)),
            "include" => self.include_tag(),
            "import" => self.import_tag(),
            "from" => self.import_names_tag(),
            "autoescape" => {
                self.expression()?;
                self.group("endautoescape")
            }
            "generation" if hugging_face => self.group("endgeneration"),
            "break" if hugging_face => self.loop_control(StatementKind::Break, span),
            "continue" if hugging_face => self.loop_control(StatementKind::Continue, span),
            other => Err(unknown_tag(other, span)),
        }
    }

    fn group(&mut self, end: &str) -> ParseResult<StatementKind> {
        Ok(StatementKind::Group(self.block_until(end)?))
    }

    /// Parses the rest of the opening tag, the body, and the closing tag.
    fn block_until(&mut self, end: &str) -> ParseResult<Vec<Statement>> {
        self.tag_end()?;
        let body = self.body(&[end])?;
        self.advance();
        self.tag_end()?;
        Ok(body)
    }

    fn last_expression(&mut self) -> ParseResult<Expr> {
        let expr = self.expression()?;
        self.tag_end()?;
        Ok(expr)
    }

    fn loop_control(&mut self, kind: StatementKind, span: Span) -> ParseResult<StatementKind> {
        if self.loops == 0 {
            return Err(ParseProblem::at(
                "break and continue are for loops only",
                span.start,
                span.end,
            ));
        }
        self.tag_end()?;
        Ok(kind)
    }

    fn if_tag(&mut self) -> ParseResult<StatementKind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.tuple_without_choice()?;
            self.tag_end()?;
            let body = self.body(&["elif", "else", "endif"])?;
            branches.push((condition, body));
            if self.skip_name("elif") {
                continue;
            }
            if self.skip_name("else") {
                self.tag_end()?;
                otherwise = self.body(&["endif"])?;
            }
            break;
        }
        self.advance();
        self.tag_end()?;
        Ok(StatementKind::If {
            branches,
            otherwise,
        })
    }

    fn for_tag(&mut self) -> ParseResult<StatementKind> {
        let target = self.targets(false)?;
        self.expect_name("in")?;
        let iterable = self.tuple_without_choice()?;
        let condition = if self.skip_name("if") {
            Some(self.expression()?)
        } else {
            None
        };
        let recursive = self.skip_name("recursive");
        self.tag_end()?;
        self.loops += 1;
        let body = self.body(&["else", "endfor"]);
        self.loops -= 1;
        let body = body?;
        let mut otherwise = Vec::new();
        if self.skip_name("else") {
            self.tag_end()?;
            otherwise = self.body(&["endfor"])?;
        }
        self.advance();
        self.tag_end()?;
        Ok(StatementKind::For(Arc::new(For {
            target,
            iterable,
            condition,
            recursive,
            body,
            otherwise,
        })))
    }

    fn set_tag(&mut self) -> ParseResult<StatementKind> {
        let target = self.targets(true)?;
        if self.skip_operator("=") {
            let value = self.tuple()?;
            self.tag_end()?;
            return Ok(StatementKind::Set(target, value));
        }
        let filters = self.filter_chain()?;
        let body = self.block_until("endset")?;
        Ok(StatementKind::SetBlock(target, filters, body))
    }

    fn with_tag(&mut self) -> ParseResult<StatementKind> {
        let mut bindings = Vec::new();
        while *self.peek() != Token::TagEnd {
            if !bindings.is_empty() {
                self.expect_operator(",")?;
            }
            let target = self.target(false)?;
            self.expect_operator("=")?;
            bindings.push((target, self.expression()?));
        }
        let body = self.block_until("endwith")?;
        Ok(StatementKind::With(bindings, body))
    }

    fn macro_tag(&mut self) -> ParseResult<StatementKind> {
        let name = self.name()?;
        self.expect_operator("(")?;
        let declared = self.macro_after_name(name, "endmacro")?;
        Ok(StatementKind::Macro(declared))
    }

    fn call_tag(&mut self) -> ParseResult<StatementKind> {
        let name = self.intern("caller");
        let mut parameters = Vec::new();
        if self.skip_operator("(") {
            parameters = self.parameters()?;
        }
        let call = self.expression()?;
        let declared = self.macro_body(name, parameters, "endcall")?;
        Ok(StatementKind::CallBlock(call, declared))
    }

    fn macro_after_name(&mut self, name: Arc<str>, end: &str) -> ParseResult<Arc<Macro>> {
        let parameters = self.parameters()?;
        self.macro_body(name, parameters, end)
    }

    fn macro_body(
        &mut self,
        name: Arc<str>,
        parameters: Vec<(Arc<str>, Option<Expr>)>,
        end: &str,
    ) -> ParseResult<Arc<Macro>> {
        let outer = (self.varargs, self.kwargs, self.loops);
        (self.varargs, self.kwargs, self.loops) = (false, false, 0);
        let body = self.block_until(end);
        let (varargs, kwargs) = (self.varargs, self.kwargs);
        (self.varargs, self.kwargs, self.loops) = outer;
        Ok(Arc::new(Macro {
            name,
            parameters,
            body: body?,
            varargs,
            kwargs,
        }))
    }

    fn parameters(&mut self) -> ParseResult<Vec<(Arc<str>, Option<Expr>)>> {
        let mut parameters: Vec<(Arc<str>, Option<Expr>)> = Vec::new();
        while !self.skip_operator(")") {
            if !parameters.is_empty() {
                self.expect_operator(",")?;
            }
            let name = self.name()?;
            let default = if self.skip_operator("=") {
                Some(self.expression()?)
            } else {
                None
            };
            if default.is_none() && parameters.last().is_some_and(|(_, d)| d.is_some()) {
                return Err(self.unexpected("a default, because the preceding parameter has one"));
            }
            parameters.push((name, default));
        }
        Ok(parameters)
    }

    fn filter_tag(&mut self) -> ParseResult<StatementKind> {
        let mut filters = vec![self.filter_call()?];
        filters.extend(self.filter_chain()?);
        let body = self.block_until("endfilter")?;
        Ok(StatementKind::FilterBlock(filters, body))
    }

    fn filter_chain(&mut self) -> ParseResult<Vec<FilterCall>> {
        let mut filters = Vec::new();
        while self.skip_operator("|") {
            filters.push(self.filter_call()?);
        }
        Ok(filters)
    }

    fn block_tag(&mut self) -> ParseResult<StatementKind> {
        let span = self.span();
        let name = self.name()?;
        let mut scoped = false;
        while let Token::Name(flag) = self.peek() {
            match *flag {
                "scoped" => scoped = true,
                "required" => {}
                _ => return Err(self.unexpected("scoped or required")),
            }
            self.advance();
        }
        self.tag_end()?;
        let body = self.body(&["endblock"])?;
        self.advance();
        if matches!(self.peek(), Token::Name(found) if *found == &*name) {
            self.advance();
        }
        self.tag_end()?;
        if !self.block_names.insert(Arc::clone(&name)) {
            let message = format!("block {name:?} defined twice");
            return Err(ParseProblem::at(message, span.start, span.end));
        }
        let block = Arc::new(Block { name, scoped, body });
        self.blocks.push(Arc::clone(&block));
        Ok(StatementKind::Block(block))
    }

    fn include_tag(&mut self) -> ParseResult<StatementKind> {
        let name = self.expression()?;
        let mut ignore_missing = false;
        if self.skip_name("ignore") {
            self.expect_name("missing")?;
            ignore_missing = true;
        }
        let context = self.context(true)?;
        self.tag_end()?;
        Ok(StatementKind::Include {
            name,
            ignore_missing,
            context,
        })
    }

    fn context(&mut self, default: bool) -> ParseResult<bool> {
        let with = match self.peek() {
            Token::Name("with") => true,
            Token::Name("without") => false,
            _ => return Ok(default),
        };
        self.advance();
        self.expect_name("context")?;
        Ok(with)
    }

    fn import_tag(&mut self) -> ParseResult<StatementKind> {
        let name = self.expression()?;
        self.expect_name("as")?;
        let target = self.name()?;
        let context = self.context(false)?;
        self.tag_end()?;
        Ok(StatementKind::Import {
            name,
            target,
            context,
        })
    }

    fn import_names_tag(&mut self) -> ParseResult<StatementKind> {
        let name = self.expression()?;
        self.expect_name("import")?;
        let mut names = Vec::new();
        let mut context = false;
        loop {
            let with = self.is_name("with") || self.is_name("without");
            if with && matches!(self.peek_after(), Token::Name("context")) {
                context = self.context(false)?;
                break;
            }
            let from = self.name()?;
            let to = if self.skip_name("as") {
                self.name()?
            } else {
                Arc::clone(&from)
            };
            names.push((from, to));
            if !self.skip_operator(",") && !self.is_name("with") && !self.is_name("without") {
                break;
            }
        }
        self.tag_end()?;
        Ok(StatementKind::FromImport {
            name,
            names,
            context,
        })
    }

    /// Parses assignment targets: `a`, `a, b` or `(a, (b, c))`. With `fields`, `ns.a` is valid too.
    fn targets(&mut self, fields: bool) -> ParseResult<AssignTarget> {
        let first = self.target(fields)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.skip_operator(",") {
            if !matches!(self.peek(), Token::Name(_)) && !self.is_operator("(") {
                break;
            }
            targets.push(self.target(fields)?);
        }
        Ok(AssignTarget::Tuple(targets))
    }

    fn target(&mut self, fields: bool) -> ParseResult<AssignTarget> {
        if self.skip_operator("(") {
            let targets = self.nested(|p| p.targets(fields))?;
            self.expect_operator(")")?;
            return Ok(targets);
        }
        let span = self.span();
        let name = self.name()?;
        if ["true", "false", "none", "True", "False", "None"].contains(&&*name) {
            let message = format!("can't assign to {name}");
            return Err(ParseProblem::at(message, span.start, span.end));
        }
        if fields && self.skip_operator(".") {
            return Ok(AssignTarget::Field(name, self.name()?));
        }
        Ok(AssignTarget::Name(name))
    }
}

fn unclosed(ends: &[&str], opened: Span) -> ParseProblem {
    let end = ends.last().copied().unwrap_or_default();
    let message = format!("unexpected end of template, expected {}", ends.join(", "));
    ParseProblem::at(message, opened.start, opened.end)
        .help(format!("close the block with {{% {end} %}}"))
}

fn unknown_tag(name: &str, span: Span) -> ParseProblem {
    const TAGS: &[&str] = &[
        "if",
        "elif",
        "else",
        "endif",
        "for",
        "endfor",
        "set",
        "endset",
        "with",
        "endwith",
        "macro",
        "endmacro",
        "call",
        "endcall",
        "filter",
        "endfilter",
        "block",
        "endblock",
        "do",
        "extends",
        "include",
        "import",
        "from",
        "raw",
        "endraw",
        "break",
        "continue",
        "generation",
        "endgeneration",
        "autoescape",
        "endautoescape",
    ];
    let problem = ParseProblem::at(format!("unknown tag {name:?}"), span.start, span.end);
    match quillet_core::nearest(name, TAGS.iter().copied()) {
        Some(near) if near == name => problem.help(format!("no open block expects {name} here")),
        Some(near) => problem.help(format!("did you mean {near}?")),
        None => problem,
    }
}
