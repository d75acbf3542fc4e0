//! Parser for pipelines, commands and operands.

use quillet_core::{Span, Value};

use super::super::ast::{
    AssignTarget, BuiltinFunction, ChainNode, CommandNode, FieldNames, FunctionBinding,
    FunctionNode, Node, NodeKind, NumberNode, Pipe, StringNode, StringText, VariableNode,
};
use super::super::lexer::{Kind, Token};
use super::super::literal::{self, NumberLiteral};
use super::super::value::GoStr;
use super::{MAX_PARENTHESES, ParseError, Parser, quote};

type ParseResult<T> = std::result::Result<T, Box<ParseError>>;

impl Parser<'_> {
    /// Reads a pipeline up to the token `end`, and consumes that token.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> ParseResult<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe {
            pos: first.start,
            span: span_of(first),
            assign: false,
            variables: Vec::new(),
            commands: Vec::with_capacity(1),
        };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            if token.kind == end {
                self.check_pipeline(&pipe, context)?;
                pipe.span.end = token.start.max(pipe.span.end);
                return Ok(pipe);
            }
            if !starts_operand(token.kind) {
                return Err(self.unexpected(token, context));
            }
            self.backup();
            let command = self.command()?;
            pipe.commands.push(command);
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> ParseResult<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // The variable may turn out to be an operand. Spaces are also tokens, so this may push
            // back three tokens.
            let after = self.peek();
            let next = self.peek_non_space();
            let comma = next.kind == Kind::Char && self.word(next) == ",";
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                self.next_non_space();
                pipe.assign = next.kind == Kind::Assign;
                self.target(pipe, variable);
                self.bind(pipe);
                return Ok(());
            }
            if !comma {
                if after.kind == Kind::Space {
                    self.backup3(variable, after);
                } else {
                    self.backup2(variable);
                }
                // The second variable, after the comma, is also declared.
                self.bind(pipe);
                return Ok(());
            }
            self.next_non_space();
            self.target(pipe, variable);
            if context != "range" || pipe.variables.len() >= 2 {
                return Err(self.fail(format!("too many declarations in {context}")));
            }
            let more = self.peek_non_space().kind;
            if !matches!(more, Kind::Variable | Kind::RightDelim | Kind::RightParen) {
                return Err(self.fail("range can only initialize variables".to_owned()));
            }
        }
    }

    fn target(&mut self, pipe: &mut Pipe, variable: Token) {
        pipe.variables.push(AssignTarget {
            name: self.word(variable).into(),
            slot: None,
        });
    }

    /// Binds the variables of a pipeline, so that following code can use them.
    fn bind(&mut self, pipe: &mut Pipe) {
        for variable in &mut pipe.variables {
            variable.slot = if pipe.assign {
                self.tree.names.assign(&variable.name)
            } else {
                Some(self.tree.names.declare(&variable.name))
            };
        }
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> ParseResult<()> {
        if pipe.commands.is_empty() {
            return Err(self.fail(format!("missing value for {context}")));
        }
        for (i, command) in pipe.commands.iter().enumerate().skip(1) {
            if is_constant(&command.first.kind) {
                let stage = i + 1;
                let reason = format!("non executable command in pipeline stage {stage}");
                return Err(self.fail(reason));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> ParseResult<CommandNode> {
        let pos = self.peek_non_space().start;
        let mut first = None;
        let mut arguments = Vec::new();
        let mut end = pos;
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                end = operand.span.end;
                match first {
                    None => first = Some(operand),
                    Some(_) => arguments.push(operand),
                }
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(token, "operand")),
            }
            break;
        }
        let Some(first) = first else {
            return Err(self.fail("empty command".to_owned()));
        };
        Ok(CommandNode {
            pos,
            span: Span { start: pos, end },
            first,
            arguments,
        })
    }

    fn operand(&mut self) -> ParseResult<Option<Node>> {
        let Some(mut node) = self.term()? else {
            return Ok(None);
        };
        let next = self.peek();
        if next.kind != Kind::Field {
            return Ok(Some(node));
        }
        while self.peek().kind == Kind::Field {
            node.span.end = self.next().end;
        }
        // No spaces are allowed between fields, so they are contiguous in the source.
        let text = self.text;
        let fields = |start: usize| FieldNames::of(&text[start + 1..node.span.end]);
        match &mut node.kind {
            NodeKind::Field(known) => *known = fields(node.span.start),
            NodeKind::Variable(variable) => variable.fields = fields(next.start),
            kind if is_constant(kind) => {
                let reason = format!("unexpected . after term {}", quote(&node.text()));
                return Err(self.fail_at(next, reason));
            }
            _ => {
                let span = node.span;
                node = Node {
                    pos: next.start,
                    span,
                    kind: NodeKind::Chain(Box::new(ChainNode {
                        fields: fields(next.start),
                        base: node,
                    })),
                };
            }
        }
        node.pos = next.start;
        Ok(Some(node))
    }

    fn term(&mut self) -> ParseResult<Option<Node>> {
        let token = self.next_non_space();
        let kind = match token.kind {
            Kind::Identifier => self.function(token)?,
            Kind::Dot => NodeKind::Dot,
            Kind::Nil => NodeKind::Nil,
            Kind::Variable => self.variable(token)?,
            Kind::Field => NodeKind::Field(FieldNames::of(&self.text[token.start + 1..token.end])),
            Kind::Bool => NodeKind::Bool(Value::Bool(self.word(token) == "true")),
            Kind::CharConstant | Kind::Complex | Kind::Number => self.number(token)?,
            Kind::String | Kind::RawString => self.string(token)?,
            Kind::LeftParen => return self.parenthesis(token).map(Some),
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(Node {
            pos: token.start,
            span: span_of(token),
            kind,
        }))
    }

    fn parenthesis(&mut self, open: Token) -> ParseResult<Node> {
        if self.tree.parentheses >= self.settings.nesting.min(MAX_PARENTHESES) {
            return Err(self.too_deep(open, "max expression depth exceeded"));
        }
        self.tree.parentheses += 1;
        let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
        self.tree.parentheses -= 1;
        Ok(Node {
            pos: pipe.pos,
            span: Span {
                start: open.start,
                end: pipe.span.end + 1,
            },
            kind: NodeKind::Pipe(Box::new(pipe)),
        })
    }

    fn function(&mut self, token: Token) -> ParseResult<NodeKind> {
        let name = self.word(token);
        let native = self.settings.functions.get(name).copied();
        let function = native
            .map(FunctionBinding::Native)
            .or_else(|| BuiltinFunction::of_name(name).map(FunctionBinding::Builtin));
        if function.is_none() && self.settings.strict_functions {
            return Err(self.undefined_function(token));
        }
        Ok(NodeKind::Function(Box::new(FunctionNode {
            name: name.into(),
            function: function.unwrap_or(FunctionBinding::Late),
        })))
    }

    fn variable(&mut self, token: Token) -> ParseResult<NodeKind> {
        let name = self.word(token);
        let Some(slot) = self.tree.names.find(name) else {
            let reason = format!("undefined variable {}", quote(name));
            return Err(self.fail_at(token, reason));
        };
        Ok(NodeKind::Variable(Box::new(VariableNode {
            name: name.into(),
            slot,
            fields: FieldNames::default(),
        })))
    }

    fn number(&mut self, token: Token) -> ParseResult<NodeKind> {
        let text = self.word(token);
        let number = match token.kind {
            Kind::CharConstant => NumberLiteral::parse_char(text),
            Kind::Complex => NumberLiteral::parse_complex(text),
            _ => NumberLiteral::parse(text),
        };
        let number = number.map_err(|reason| self.fail_at(token, reason))?;
        Ok(NodeKind::Number(Box::new(NumberNode {
            ideal: number.ideal(text),
            text: text.into(),
            number,
        })))
    }

    fn string(&mut self, token: Token) -> ParseResult<NodeKind> {
        let quoted = self.word(token);
        let text = match literal::unquote(quoted) {
            Some(GoStr::Text(text)) => StringText::Text(Value::Str(text)),
            Some(bytes) => StringText::Bytes(bytes),
            None => return Err(self.fail_at(token, "invalid syntax".to_owned())),
        };
        Ok(NodeKind::String(Box::new(StringNode {
            quoted: quoted.into(),
            text,
        })))
    }
}

fn span_of(token: Token) -> Span {
    Span {
        start: token.start,
        end: token.end,
    }
}

fn starts_operand(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Bool
            | Kind::CharConstant
            | Kind::Complex
            | Kind::Dot
            | Kind::Field
            | Kind::Identifier
            | Kind::Number
            | Kind::Nil
            | Kind::RawString
            | Kind::String
            | Kind::Variable
            | Kind::LeftParen
    )
}

fn is_constant(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Bool(_)
            | NodeKind::Dot
            | NodeKind::Nil
            | NodeKind::Number(_)
            | NodeKind::String(_)
    )
}
