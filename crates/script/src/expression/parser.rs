//! Parses text to a tree. Syntax outside the subset ends parsing with [`ParseRefusal::JavaScript`].
//! An error is reported only for text that is not valid JavaScript either.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::error::{ParseRefusal, ParseResult, SyntaxError};
use super::lexer::{Lexer, Token};
use super::limits::MAX_NESTING;
use super::literal::{escape, literal_number};
use super::methods;
use super::number::from_number;
use super::tree::{Binary, ChainStep, Element, ExprNode, ObjectProperty, StepKind, Unary};

/// Keywords that start syntax outside the subset.
const RESERVED: [&str; 37] = [
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "instanceof",
    "let",
    "new",
    "return",
    "static",
    "super",
    "switch",
    "throw",
    "try",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "arguments",
    "eval",
];

/// Parses a whole text as one expression.
pub(super) fn parse(text: &str) -> ParseResult<ExprNode> {
    let mut parser = Parser::new(text);
    let node = parser.expression()?;
    match parser.token {
        Token::End => Ok(node),
        _ => Err(parser.unexpected_after_value()),
    }
}

fn invalid(message: impl Into<String>, span: Span) -> ParseRefusal {
    ParseRefusal::Invalid(SyntaxError {
        message: message.into(),
        span,
    })
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    span: Span,
    /// End offset of the previous token.
    before: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let (token, span) = lexer.next();
        Parser {
            lexer,
            token,
            span,
            before: 0,
            depth: 0,
        }
    }

    fn advance(&mut self) {
        self.before = self.span.end;
        (self.token, self.span) = self.lexer.next();
    }

    fn eat(&mut self, mark: &'static str) -> bool {
        let found = self.token == Token::Mark(mark);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, mark: &'static str, opened: Span) -> ParseResult<()> {
        if self.eat(mark) {
            return Ok(());
        }
        Err(match self.token {
            Token::End => invalid(format!("`{mark}` is missing"), opened),
            Token::Mark(")" | "]" | "}") => {
                let message = format!("`{mark}` is missing before {}", self.found());
                invalid(message, self.span)
            }
            _ => self.unexpected_after_value(),
        })
    }

    /// Returns the error for a token where an operator or the end is expected.
    fn unexpected_after_value(&self) -> ParseRefusal {
        let unexpected = match self.token {
            Token::Other(c) => c != '\\',
            Token::Mark(")" | "]" | "}") => {
                return invalid(
                    format!("unexpected {}: nothing is open here", self.found()),
                    self.span,
                );
            }
            // After a line break, another statement may begin.
            _ if self.on_new_line() => false,
            Token::Number(_) | Token::Quote('"' | '\'') => true,
            Token::Name(name) => !RESERVED.contains(&name),
            _ => false,
        };
        if unexpected {
            return invalid(format!("unexpected {}", self.found()), self.span);
        }
        ParseRefusal::JavaScript
    }

    /// Returns the error for a token where a value is expected.
    fn unexpected_for_value(&self) -> ParseRefusal {
        let found = self.found();
        match self.token {
            // Regular expressions, `++x`, spreads, comma expressions and arrow functions need the
            // engine.
            Token::Mark("/" | "/=" | "++" | "--" | "..." | "=>" | ")") => ParseRefusal::JavaScript,
            Token::Other('\\' | '#') => ParseRefusal::JavaScript,
            Token::End => invalid("a value is missing at the end", self.span),
            _ => invalid(format!("a value is missing before {found}"), self.span),
        }
    }

    fn found(&self) -> String {
        let text = self.lexer.text.get(self.span.start..self.span.end);
        format!("`{}`", text.unwrap_or(""))
    }

    fn on_new_line(&self) -> bool {
        let between = self.lexer.text.get(self.before..self.span.start);
        between.unwrap_or("").contains(['\n', '\r'])
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        // The parser is recursive, so untrusted text must not determine the stack depth.
        if self.depth == MAX_NESTING {
            let message = format!("the expression is nested deeper than {MAX_NESTING} levels");
            return Err(invalid(message, self.span));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> ParseResult<ExprNode> {
        self.deeper(|parser| {
            let test = parser.chain(1)?;
            if !parser.eat("?") {
                return Ok(test);
            }
            let opened = parser.span;
            let then = parser.expression()?;
            parser.expect(":", opened)?;
            let other = parser.expression()?;
            Ok(ExprNode::Conditional(Box::new([test, then, other])))
        })
    }

    /// Parses operators with at least this precedence.
    fn chain(&mut self, weakest: u8) -> ParseResult<ExprNode> {
        let start = self.span.start;
        let mut node = self.unary()?;
        let mut last: Option<Binary> = None;
        while let Some(op) = self.operator(weakest) {
            if last.is_some_and(|last| last.clashes(op)) {
                return Err(ParseRefusal::JavaScript);
            }
            self.advance();
            let right = self.deeper(|parser| parser.chain(op.right()))?;
            let end = self.before;
            let span = Span { start, end };
            node = join(node, op, right, span, last);
            last = Some(op);
        }
        Ok(node)
    }

    fn operator(&self, weakest: u8) -> Option<Binary> {
        let op = match self.token {
            Token::Name("in") => Binary::In,
            Token::Mark(mark) => binary(mark)?,
            _ => return None,
        };
        (op.strength() >= weakest).then_some(op)
    }

    fn unary(&mut self) -> ParseResult<ExprNode> {
        let op = match self.token {
            Token::Mark("!") => Unary::Not,
            Token::Mark("-") => Unary::Minus,
            Token::Mark("+") => Unary::Plus,
            Token::Mark("~") => Unary::BitNot,
            Token::Name("typeof") => Unary::TypeOf,
            _ => return self.access(),
        };
        let start = self.span.start;
        self.advance();
        let operand = Box::new(self.deeper(Self::unary)?);
        let end = self.before;
        let span = Span { start, end };
        Ok(ExprNode::Unary { op, operand, span })
    }

    fn access(&mut self) -> ParseResult<ExprNode> {
        let start = self.span.start;
        let base = self.primary()?;
        let mut steps = Vec::new();
        while let Some(mut step) = self.step()? {
            // An error in a step has a span from the start of the chain.
            step.span.start = start;
            steps.push(step);
        }
        match (&base, steps.is_empty()) {
            // A bare `this` is an object of the engine, which Quillet cannot represent.
            (ExprNode::This, true) => Err(ParseRefusal::JavaScript),
            (_, true) => Ok(base),
            _ => Ok(ExprNode::Access {
                base: Box::new(base),
                steps,
            }),
        }
    }

    fn step(&mut self) -> ParseResult<Option<ChainStep>> {
        let opened = self.span;
        let (optional, kind) = match self.token {
            Token::Mark(".") => (false, self.field()?),
            Token::Mark("?.") => {
                if self.lexer.rest().starts_with('[') {
                    self.advance();
                    (true, self.index(opened)?)
                } else {
                    (true, self.field()?)
                }
            }
            Token::Mark("[") => (false, self.index(opened)?),
            // Calls of unsupported methods, tagged templates, `x++` and arrow functions need the
            // engine.
            Token::Mark("(" | "++" | "--" | "=>" | "=") | Token::Quote('`') => {
                return Err(ParseRefusal::JavaScript);
            }
            _ => return Ok(None),
        };
        let span = Span {
            start: opened.start,
            end: self.before,
        };
        Ok(Some(ChainStep {
            optional,
            span,
            kind,
        }))
    }

    fn index(&mut self, opened: Span) -> ParseResult<StepKind> {
        self.advance();
        let index = self.expression()?;
        self.expect("]", opened)?;
        Ok(StepKind::Index(index))
    }

    fn field(&mut self) -> ParseResult<StepKind> {
        self.advance();
        let name = match self.token {
            Token::Name(name) => name,
            Token::Mark("(" | "[") | Token::Quote('`') | Token::Other('#' | '\\') => {
                return Err(ParseRefusal::JavaScript);
            }
            _ => return Err(invalid("a name is missing after the dot", self.span)),
        };
        self.advance();
        if self.token != Token::Mark("(") {
            return Ok(StepKind::Field(name.into()));
        }
        let method = methods::find(name).ok_or(ParseRefusal::JavaScript)?;
        let arguments = self.arguments()?;
        Ok(StepKind::Call(name.into(), method, arguments))
    }

    fn arguments(&mut self) -> ParseResult<Vec<ExprNode>> {
        let opened = self.span;
        self.advance();
        let mut arguments = Vec::new();
        while !self.eat(")") {
            arguments.push(self.expression()?);
            if self.token != Token::Mark(")") && !self.eat(",") {
                self.expect(")", opened)?;
                break;
            }
        }
        Ok(arguments)
    }

    fn primary(&mut self) -> ParseResult<ExprNode> {
        match self.token {
            Token::Name(name) => self.name(name),
            Token::Number(text) => self.number(text),
            Token::Quote('`') => self.template(),
            Token::Quote(quote) => self.string(quote).map(text_node),
            Token::Mark("(") => self.group(),
            Token::Mark("[") => self.list(),
            Token::Mark("{") => self.object(),
            _ => Err(self.unexpected_for_value()),
        }
    }

    fn name(&mut self, name: &'a str) -> ParseResult<ExprNode> {
        if RESERVED.contains(&name) || name == "in" || self.lexer.rest().starts_with('\\') {
            return Err(ParseRefusal::JavaScript);
        }
        let span = self.span;
        self.advance();
        if matches!(self.token, Token::Mark("=>" | "=")) {
            return Err(ParseRefusal::JavaScript);
        }
        Ok(constant(name).unwrap_or_else(|| ExprNode::Name {
            name: name.into(),
            span,
        }))
    }

    fn number(&mut self, text: &str) -> ParseResult<ExprNode> {
        let number = literal_number(text).map_err(|beyond| {
            if beyond {
                ParseRefusal::JavaScript
            } else {
                invalid(format!("`{text}` is not a number"), self.span)
            }
        })?;
        self.advance();
        Ok(ExprNode::Literal(Some(from_number(number))))
    }

    fn group(&mut self) -> ParseResult<ExprNode> {
        let opened = self.span;
        self.advance();
        let node = self.expression()?;
        self.expect(")", opened)?;
        match self.token {
            Token::Mark("=>") => Err(ParseRefusal::JavaScript),
            _ => Ok(node),
        }
    }

    fn list(&mut self) -> ParseResult<ExprNode> {
        let opened = self.span;
        self.advance();
        let mut elements = Vec::new();
        while !self.eat("]") {
            // A gap such as `[1,,2]` differs from `undefined`, and only the engine supports such
            // lists.
            if self.token == Token::Mark(",") {
                return Err(ParseRefusal::JavaScript);
            }
            let start = self.span;
            let spread = self.eat("...").then_some(start);
            let node = self.expression()?;
            elements.push(Element { node, spread });
            if self.token != Token::Mark("]") && !self.eat(",") {
                self.expect("]", opened)?;
                break;
            }
        }
        Ok(ExprNode::List(elements))
    }

    fn object(&mut self) -> ParseResult<ExprNode> {
        let opened = self.span;
        self.advance();
        let mut properties = Vec::new();
        while !self.eat("}") {
            properties.push(self.property()?);
            if self.token != Token::Mark("}") && !self.eat(",") {
                self.expect("}", opened)?;
                break;
            }
        }
        match self.token {
            // Patterns such as `{a} = b` and `({a}) => b` need the engine.
            Token::Mark("=" | "=>") => Err(ParseRefusal::JavaScript),
            _ => Ok(ExprNode::Object(properties)),
        }
    }

    fn property(&mut self) -> ParseResult<ObjectProperty> {
        if self.eat("...") {
            return Ok(ObjectProperty::Spread(self.expression()?));
        }
        if self.token == Token::Mark("[") {
            return self.computed();
        }
        let span = self.span;
        let key: Arc<str> = match self.token {
            Token::Name(name) => {
                self.advance();
                name.into()
            }
            Token::Quote(quote @ ('"' | '\'')) => self.string(quote)?.into(),
            Token::Number(text) => {
                let number = literal_number(text).map_err(|_| ParseRefusal::JavaScript)?;
                self.advance();
                // The key of `{1.0: x}` is `1`, because JavaScript formats the number.
                super::number::format_number(number).into()
            }
            Token::Mark("*") | Token::Other('#' | '\\') => return Err(ParseRefusal::JavaScript),
            _ => {
                return Err(invalid(
                    format!("a key is missing before {}", self.found()),
                    span,
                ));
            }
        };
        self.value_of(key, span)
    }

    fn value_of(&mut self, key: Arc<str>, span: Span) -> ParseResult<ObjectProperty> {
        // `__proto__: x` sets the prototype, which Quillet's values do not have.
        if &*key == "__proto__" {
            return Err(ParseRefusal::JavaScript);
        }
        if self.eat(":") {
            return Ok(ObjectProperty::Field(key, self.expression()?));
        }
        let text = self.lexer.text.get(span.start..span.end).unwrap_or("");
        let shorthand = matches!(self.token, Token::Mark("," | "}") | Token::End);
        if !shorthand || !text.starts_with(super::characters::starts_name) {
            // Methods, getters and `{a = 1}` need the engine, which also reports syntax errors.
            return Err(ParseRefusal::JavaScript);
        }
        if RESERVED.contains(&&*key) || matches!(&*key, "this" | "in" | "typeof") {
            return Err(ParseRefusal::JavaScript);
        }
        let node = constant(&key).unwrap_or_else(|| ExprNode::Name {
            name: Arc::clone(&key),
            span,
        });
        Ok(ObjectProperty::Field(key, node))
    }

    fn computed(&mut self) -> ParseResult<ObjectProperty> {
        let opened = self.span;
        self.advance();
        let key = self.expression()?;
        self.expect("]", opened)?;
        let span = Span {
            start: opened.start,
            end: self.before,
        };
        if !self.eat(":") {
            return Err(ParseRefusal::JavaScript);
        }
        Ok(ObjectProperty::Computed(key, self.expression()?, span))
    }

    /// Parses a string after its opening quote.
    fn string(&mut self, quote: char) -> ParseResult<String> {
        let opened = self.span;
        let body = self.lexer.rest();
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.lexer.at += at + 1;
                    self.advance();
                    return Ok(text);
                }
                '\\' => escape(&mut chars, &mut text)?,
                // As in JavaScript, a string must end on its line. The error then refers to the
                // opening quote.
                '\n' | '\r' => break,
                c => text.push(c),
            }
        }
        Err(invalid(
            format!("unclosed string: the closing {quote} is missing"),
            opened,
        ))
    }

    fn template(&mut self) -> ParseResult<ExprNode> {
        let opened = self.span;
        let mut parts = Vec::new();
        loop {
            let (text, hole) = self.template_text(opened)?;
            if !text.is_empty() {
                parts.push(text_node(text));
            }
            self.advance();
            if !hole {
                return Ok(ExprNode::Template(parts));
            }
            parts.push(self.expression()?);
            if self.token != Token::Mark("}") {
                self.expect("}", opened)?;
            }
            // The lexer continues directly after the brace, because text follows.
            self.lexer.at = self.span.end;
        }
    }

    /// Parses template text up to the closing quote (`false`) or after a `${` (`true`).
    fn template_text(&mut self, opened: Span) -> ParseResult<(String, bool)> {
        let body = self.lexer.rest();
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '`' => {
                    self.lexer.at += at + 1;
                    self.span.end = self.lexer.at;
                    return Ok((text, false));
                }
                '$' if body[at..].starts_with("${") => {
                    self.lexer.at += at + 2;
                    return Ok((text, true));
                }
                '\\' => escape(&mut chars, &mut text)?,
                // In a template, every line break is a single line feed.
                '\r' if body[at..].starts_with("\r\n") => {}
                '\r' => text.push('\n'),
                c => text.push(c),
            }
        }
        Err(invalid(
            "unclosed template literal: the closing ` is missing",
            opened,
        ))
    }
}

fn join(left: ExprNode, op: Binary, right: ExprNode, span: Span, last: Option<Binary>) -> ExprNode {
    match left {
        ExprNode::Chain {
            first, mut rest, ..
        } if last.is_some_and(|last| last.strength() == op.strength()) => {
            // Operators of equal precedence share a flat node, so that a long sum does not recurse.
            rest.push((op, right));
            ExprNode::Chain { first, rest, span }
        }
        left => ExprNode::Chain {
            first: Box::new(left),
            rest: vec![(op, right)],
            span,
        },
    }
}

fn text_node(text: String) -> ExprNode {
    ExprNode::Literal(Some(Value::from(text)))
}

fn constant(name: &str) -> Option<ExprNode> {
    let value = match name {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" => Some(Value::Null),
        "undefined" => None,
        "NaN" => Some(Value::Float(f64::NAN)),
        "Infinity" => Some(Value::Float(f64::INFINITY)),
        "this" => return Some(ExprNode::This),
        _ => return None,
    };
    Some(ExprNode::Literal(value))
}

fn binary(mark: &str) -> Option<Binary> {
    Some(match mark {
        "??" => Binary::Coalesce,
        "||" => Binary::Or,
        "&&" => Binary::And,
        "|" => Binary::BitOr,
        "^" => Binary::BitXor,
        "&" => Binary::BitAnd,
        "==" => Binary::Equal,
        "!=" => Binary::NotEqual,
        "===" => Binary::Same,
        "!==" => Binary::NotSame,
        "<" => Binary::Less,
        "<=" => Binary::LessEqual,
        ">" => Binary::More,
        ">=" => Binary::MoreEqual,
        "<<" => Binary::ShiftLeft,
        ">>" => Binary::ShiftRight,
        ">>>" => Binary::ShiftZero,
        "+" => Binary::Add,
        "-" => Binary::Subtract,
        "*" => Binary::Multiply,
        "/" => Binary::Divide,
        "%" => Binary::Remainder,
        _ => return None,
    })
}
