//! Parser of expressions, with jinja2's operator precedence.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::ast::{ArgumentExprs, BinaryOperator, CompareOperator, Expr, ExprKind, FilterCall};
use super::filters;
use super::lexer::Token;
use super::parser::{ParseResult, Parser};
use super::syntax::JinjaPreset;
use super::test;
use crate::format::problem::ParseProblem;

/// Precedence of binary operators, from the loosest to the tightest.
const OR: usize = 0;
const AND: usize = 1;
const NOT: usize = 2;
const COMPARE: usize = 3;
const SUM: usize = 4;
const CONCAT: usize = 5;
const PRODUCT: usize = 6;
const POWER: usize = 7;
const UNARY: usize = 8;

fn deepest<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> usize {
    exprs.into_iter().map(|e| e.depth).max().unwrap_or(0)
}

impl Parser<'_> {
    fn expr(&self, kind: ExprKind, start: usize, below: usize) -> ParseResult<Expr> {
        let end = self.last_end();
        self.check_depth(below + 1)?;
        Ok(Expr {
            kind,
            span: Span { start, end },
            depth: below + 1,
        })
    }

    /// Parses an expression such as `a if b else c`.
    pub(super) fn expression(&mut self) -> ParseResult<Expr> {
        self.nested(|p| {
            let start = p.span().start;
            let mut expr = p.ranked(OR)?;
            while p.skip_name("if") {
                let condition = Box::new(p.ranked(OR)?);
                let otherwise = if p.skip_name("else") {
                    Some(Box::new(p.expression()?))
                } else {
                    None
                };
                let below = deepest(otherwise.as_deref().into_iter().chain([&expr, &*condition]));
                let kind = ExprKind::Choice {
                    condition,
                    then: Box::new(expr),
                    otherwise,
                };
                expr = p.expr(kind, start, below)?;
            }
            Ok(expr)
        })
    }

    /// Parses an expression, or a tuple of several expressions with commas.
    pub(super) fn tuple(&mut self) -> ParseResult<Expr> {
        self.tuple_of(Self::expression)
    }

    /// Like [`Parser::tuple`], but a following `if` belongs to the tag.
    pub(super) fn tuple_without_choice(&mut self) -> ParseResult<Expr> {
        self.tuple_of(|p| p.nested(|p| p.ranked(OR)))
    }

    fn tuple_of(&mut self, one: fn(&mut Self) -> ParseResult<Expr>) -> ParseResult<Expr> {
        let start = self.span().start;
        let first = one(self)?;
        if !self.is_operator(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_operator(",") {
            if self.at_tuple_end() {
                break;
            }
            items.push(one(self)?);
        }
        let below = deepest(&items);
        self.expr(ExprKind::Tuple(items), start, below)
    }

    fn at_tuple_end(&self) -> bool {
        match self.peek() {
            Token::PrintEnd | Token::TagEnd => true,
            Token::Operator(operator) => matches!(*operator, ")" | "]"),
            Token::Name(name) => ["in", "recursive"].contains(name),
            _ => false,
        }
    }

    fn ranked(&mut self, rank: usize) -> ParseResult<Expr> {
        let start = self.span().start;
        if rank <= NOT && self.skip_name("not") {
            let operand = self.nested(|p| p.ranked(NOT))?;
            let below = operand.depth;
            let not = self.expr(ExprKind::Not(Box::new(operand)), start, below)?;
            return self.chains(not, start, rank, NOT);
        }
        let operand = self.unary(true)?;
        self.chains(operand, start, rank, UNARY)
    }

    /// Parses the following operators with a precedence between `tightest` and `rank`.
    fn chains(
        &mut self,
        mut left: Expr,
        start: usize,
        rank: usize,
        tightest: usize,
    ) -> ParseResult<Expr> {
        // Most operands are not followed by an operator.
        if !matches!(self.peek(), Token::Operator(_) | Token::Name(_)) {
            return Ok(left);
        }
        for level in (rank..tightest).rev() {
            left = match level {
                OR => self.logic(left, start, "or", OR, ExprKind::Or)?,
                AND => self.logic(left, start, "and", AND, ExprKind::And)?,
                COMPARE => self.compare(left, start)?,
                CONCAT => self.concat(left, start)?,
                SUM | PRODUCT | POWER => self.math(left, start, level)?,
                _ => left,
            };
        }
        Ok(left)
    }

    fn logic(
        &mut self,
        left: Expr,
        start: usize,
        name: &str,
        rank: usize,
        kind: fn(Vec<Expr>) -> ExprKind,
    ) -> ParseResult<Expr> {
        if !self.is_name(name) {
            return Ok(left);
        }
        let mut operands = vec![left];
        while self.skip_name(name) {
            operands.push(self.ranked(rank + 1)?);
        }
        let below = deepest(&operands);
        self.expr(kind(operands), start, below)
    }

    fn comparison(&mut self) -> Option<CompareOperator> {
        let found = match self.peek() {
            Token::Operator("==") => CompareOperator::Equal,
            Token::Operator("!=") => CompareOperator::NotEqual,
            Token::Operator("<") => CompareOperator::Less,
            Token::Operator("<=") => CompareOperator::LessOrEqual,
            Token::Operator(">") => CompareOperator::Greater,
            Token::Operator(">=") => CompareOperator::GreaterOrEqual,
            Token::Name("in") => CompareOperator::In,
            Token::Name("not") => {
                if !matches!(self.peek_after(), Token::Name("in")) {
                    return None;
                }
                self.advance();
                CompareOperator::NotIn
            }
            _ => return None,
        };
        self.advance();
        Some(found)
    }

    fn compare(&mut self, left: Expr, start: usize) -> ParseResult<Expr> {
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison() {
            rest.push((comparison, self.ranked(SUM)?));
        }
        if rest.is_empty() {
            return Ok(left);
        }
        let below = deepest(rest.iter().map(|(_, e)| e).chain([&left]));
        self.expr(ExprKind::Compare(Box::new(left), rest), start, below)
    }

    fn concat(&mut self, left: Expr, start: usize) -> ParseResult<Expr> {
        if !self.is_operator("~") {
            return Ok(left);
        }
        let mut parts = vec![left];
        while self.skip_operator("~") {
            parts.push(self.ranked(PRODUCT)?);
        }
        let below = deepest(&parts);
        self.expr(ExprKind::Concat(parts), start, below)
    }

    fn math(&mut self, left: Expr, start: usize, rank: usize) -> ParseResult<Expr> {
        let mut rest = Vec::new();
        while let Some(operator) = self.math_operator(rank) {
            self.advance();
            rest.push((operator, self.ranked(rank + 1)?));
        }
        if rest.is_empty() {
            return Ok(left);
        }
        let below = deepest(rest.iter().map(|(_, e)| e).chain([&left]));
        self.expr(ExprKind::Math(Box::new(left), rest), start, below)
    }

    fn math_operator(&self, rank: usize) -> Option<BinaryOperator> {
        let Token::Operator(symbol) = self.peek() else {
            return None;
        };
        Some(match (rank, *symbol) {
            (SUM, "+") => BinaryOperator::Add,
            (SUM, "-") => BinaryOperator::Subtract,
            (PRODUCT, "*") => BinaryOperator::Multiply,
            (PRODUCT, "/") => BinaryOperator::Divide,
            (PRODUCT, "//") => BinaryOperator::FloorDivide,
            (PRODUCT, "%") => BinaryOperator::Remainder,
            (POWER, "**") => BinaryOperator::Power,
            _ => return None,
        })
    }

    /// Parses an operand with its sign and suffixes. Filters apply to the signed operand: `-x|abs`
    /// filters the negative value.
    fn unary(&mut self, with_filters: bool) -> ParseResult<Expr> {
        let start = self.span().start;
        let expr = if self.skip_operator("-") {
            let operand = self.nested(|p| p.unary(false))?;
            let below = operand.depth;
            self.expr(ExprKind::Negative(Box::new(operand)), start, below)?
        } else if self.skip_operator("+") {
            let operand = self.nested(|p| p.unary(false))?;
            let below = operand.depth;
            self.expr(ExprKind::Positive(Box::new(operand)), start, below)?
        } else {
            self.primary()?
        };
        let expr = self.postfix(expr, start)?;
        if with_filters {
            self.filters_and_tests(expr, start)
        } else {
            Ok(expr)
        }
    }

    fn primary(&mut self) -> ParseResult<Expr> {
        let start = self.span().start;
        let value = match self.peek() {
            Token::Name(_) => return self.name_or_constant(),
            Token::Str(_) => Value::from(self.strings()),
            Token::Int(int) => Value::Int(*int),
            Token::Float(float) => Value::Float(*float),
            Token::Operator("(") => return self.parenthesis(start),
            Token::Operator("[") => return self.list(start),
            Token::Operator("{") => return self.dict(start),
            _ => return Err(self.unexpected("an expression")),
        };
        if !matches!(value, Value::Str(_)) {
            self.advance();
        }
        self.expr(ExprKind::Constant(value), start, 0)
    }

    /// Parses adjacent strings, which are concatenated.
    fn strings(&mut self) -> String {
        let mut text = String::new();
        while matches!(self.peek(), Token::Str(_)) {
            if let (Token::Str(part), _) = self.advance() {
                text.push_str(&part);
            }
        }
        text
    }

    fn name_or_constant(&mut self) -> ParseResult<Expr> {
        let start = self.span().start;
        let name = self.name()?;
        let kind = match &*name {
            "true" | "True" => ExprKind::Constant(Value::Bool(true)),
            "false" | "False" => ExprKind::Constant(Value::Bool(false)),
            "none" | "None" => ExprKind::Constant(Value::Null),
            "and" | "or" | "not" | "if" | "else" | "in" | "is" => {
                let message = format!("unexpected {name:?}, expected an expression");
                return Err(ParseProblem::at(message, start, self.last_end()));
            }
            _ => {
                self.varargs |= &*name == "varargs";
                self.kwargs |= &*name == "kwargs";
                ExprKind::Name(name)
            }
        };
        self.expr(kind, start, 0)
    }

    fn parenthesis(&mut self, start: usize) -> ParseResult<Expr> {
        self.advance();
        if self.skip_operator(")") {
            return self.expr(ExprKind::Tuple(Vec::new()), start, 0);
        }
        let inner = self.tuple()?;
        self.expect_operator(")")?;
        Ok(inner)
    }

    fn list(&mut self, start: usize) -> ParseResult<Expr> {
        self.advance();
        let items = self.items("]")?;
        let below = deepest(&items);
        self.expr(ExprKind::List(items), start, below)
    }

    fn items(&mut self, close: &str) -> ParseResult<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.skip_operator(close) {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator(close) {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        Ok(items)
    }

    fn dict(&mut self, start: usize) -> ParseResult<Expr> {
        self.advance();
        let mut entries: Vec<(Expr, Expr)> = Vec::new();
        while !self.skip_operator("}") {
            if !entries.is_empty() {
                self.expect_operator(",")?;
                if self.skip_operator("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_operator(":")?;
            entries.push((key, self.expression()?));
        }
        let below = deepest(entries.iter().flat_map(|(key, value)| [key, value]));
        self.expr(ExprKind::Dict(entries), start, below)
    }

    fn postfix(&mut self, mut expr: Expr, start: usize) -> ParseResult<Expr> {
        loop {
            expr = match self.peek() {
                Token::Operator(".") => self.dot(expr, start)?,
                Token::Operator("[") => self.subscript(expr, start)?,
                Token::Operator("(") => self.call(expr, start)?,
                _ => return Ok(expr),
            };
        }
    }

    fn dot(&mut self, subject: Expr, start: usize) -> ParseResult<Expr> {
        self.advance();
        let below = subject.depth;
        if let Token::Int(index) = *self.peek() {
            let at = self.span().start;
            self.advance();
            let key = self.expr(ExprKind::Constant(Value::Int(index)), at, 0)?;
            return self.expr(
                ExprKind::Item(Box::new(subject), Box::new(key)),
                start,
                below,
            );
        }
        let name = self.name()?;
        self.expr(ExprKind::Attribute(Box::new(subject), name), start, below)
    }

    fn subscript(&mut self, subject: Expr, start: usize) -> ParseResult<Expr> {
        self.advance();
        let first = if self.is_operator(":") {
            None
        } else {
            Some(self.tuple()?)
        };
        if let (Some(_), true) = (&first, self.skip_operator("]")) {
            let key = first.into_iter().next().map(Box::new);
            let below = subject.depth.max(key.as_ref().map_or(0, |k| k.depth));
            let key = key.ok_or_else(|| self.unexpected("a subscript"))?;
            return self.expr(ExprKind::Item(Box::new(subject), key), start, below);
        }
        let mut parts = [first, None, None];
        for part in &mut parts[1..] {
            if !self.skip_operator(":") {
                break;
            }
            if !self.is_operator(":") && !self.is_operator("]") {
                *part = Some(self.expression()?);
            }
        }
        self.expect_operator("]")?;
        let below = deepest(parts.iter().flatten().chain([&subject]));
        let kind = ExprKind::Slice(Box::new(subject), Box::new(parts));
        self.expr(kind, start, below)
    }

    fn call(&mut self, callee: Expr, start: usize) -> ParseResult<Expr> {
        let arguments = Box::new(self.arguments()?);
        let below = deepest(arguments.all().chain([&callee]));
        self.expr(ExprKind::Call(Box::new(callee), arguments), start, below)
    }

    fn arguments(&mut self) -> ParseResult<ArgumentExprs> {
        self.expect_operator("(")?;
        let mut arguments = ArgumentExprs::default();
        let mut first = true;
        while !self.skip_operator(")") {
            if !first {
                self.expect_operator(",")?;
                if self.skip_operator(")") {
                    break;
                }
            }
            first = false;
            self.argument(&mut arguments)?;
        }
        Ok(arguments)
    }

    fn argument(&mut self, arguments: &mut ArgumentExprs) -> ParseResult<()> {
        if self.skip_operator("**") {
            arguments.spread_named = Some(Box::new(self.expression()?));
        } else if self.skip_operator("*") {
            arguments.spread = Some(Box::new(self.expression()?));
        } else if matches!(self.peek(), Token::Name(_))
            && matches!(self.peek_after(), Token::Operator("="))
        {
            let name = self.name()?;
            self.advance();
            arguments.named.push((name, self.expression()?));
        } else if !arguments.named.is_empty() || arguments.spread_named.is_some() {
            return Err(self.unexpected("a named argument, because one precedes it"));
        } else {
            arguments.positional.push(self.expression()?);
        }
        Ok(())
    }

    fn filters_and_tests(&mut self, mut expr: Expr, start: usize) -> ParseResult<Expr> {
        loop {
            expr = if self.skip_operator("|") {
                if let Some(name) = self.late_filter() {
                    expr = self.late_call(name, expr, start)?;
                    continue;
                }
                let call = Box::new(self.filter_call()?);
                let below = deepest(call.arguments.all().chain([&expr]));
                self.expr(ExprKind::Filter(Box::new(expr), call), start, below)?
            } else if self.skip_name("is") {
                self.test(expr, start)?
            } else if self.is_operator("(") {
                self.call(expr, start)?
            } else {
                return Ok(expr);
            };
        }
    }

    /// Consumes the name of a filter that is a late-bound function. In scripts this is any unknown
    /// filter.
    fn late_filter(&mut self) -> Option<Arc<str>> {
        let Token::Name(name) = *self.peek() else {
            return None;
        };
        let is_unknown = || self.preset == JinjaPreset::Script && filters::find(name).is_none();
        if !self.filters.iter().any(|filter| filter == name) && !is_unknown() {
            return None;
        }
        self.advance();
        Some(name.into())
    }

    /// Converts `subject|name(arguments)` to `name(subject, arguments)`.
    fn late_call(&mut self, name: Arc<str>, subject: Expr, start: usize) -> ParseResult<Expr> {
        let callee = self.expr(ExprKind::Name(name), start, 0)?;
        let mut arguments = if self.is_operator("(") {
            self.arguments()?
        } else {
            ArgumentExprs::default()
        };
        arguments.positional.insert(0, subject);
        let below = deepest(arguments.all().chain([&callee]));
        let kind = ExprKind::Call(Box::new(callee), Box::new(arguments));
        self.expr(kind, start, below)
    }

    pub(super) fn filter_call(&mut self) -> ParseResult<FilterCall> {
        let span = self.span();
        let name = self.name()?;
        let Some(filter) = filters::find(&name) else {
            let names = filters::names();
            return Err(unknown("filter", &name, span, names));
        };
        let arguments = if self.is_operator("(") {
            self.arguments()?
        } else {
            ArgumentExprs::default()
        };
        Ok(FilterCall {
            filter,
            arguments,
            span,
        })
    }

    fn test(&mut self, subject: Expr, start: usize) -> ParseResult<Expr> {
        let negated = self.skip_name("not");
        let span = self.span();
        let name = self.name()?;
        let Some(test) = test::find(&name) else {
            return Err(unknown("test", &name, span, test::names()));
        };
        let arguments = Box::new(self.test_arguments()?);
        let below = deepest(arguments.all().chain([&subject]));
        let kind = ExprKind::Test {
            subject: Box::new(subject),
            test,
            arguments,
            negated,
        };
        self.expr(kind, start, below)
    }

    /// Parses the arguments of a test, in parentheses or as a single operand: `divisibleby 3`.
    fn test_arguments(&mut self) -> ParseResult<ArgumentExprs> {
        let operand = match self.peek() {
            Token::Operator("(") => return self.arguments(),
            Token::Operator(operator) => matches!(*operator, "[" | "{"),
            Token::Name("is") => {
                return Err(
                    self.unexpected("no second test, because tests cannot be chained with is")
                );
            }
            Token::Name(name) => {
                !["else", "or", "and", "if", "in", "not", "recursive"].contains(name)
            }
            Token::Str(_) | Token::Int(_) | Token::Float(_) => true,
            _ => false,
        };
        let mut arguments = ArgumentExprs::default();
        if operand {
            let start = self.span().start;
            let operand = self.nested(Self::primary)?;
            arguments.positional.push(self.postfix(operand, start)?);
        }
        Ok(arguments)
    }
}

fn unknown<'a>(
    what: &str,
    name: &str,
    span: Span,
    names: impl Iterator<Item = &'a str>,
) -> ParseProblem {
    let problem = ParseProblem::at(format!("{what} {name} is unknown"), span.start, span.end);
    match quillet_core::nearest(name, names) {
        Some(near) => problem.help(format!("did you mean {near}?")),
        None => problem,
    }
}
