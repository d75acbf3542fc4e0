//! Parser from a source to a program.

use quillet_core::Value;

use super::ast::{Call, Node, Operand, Program, Variable};
use super::encode::encode;
use super::encoding::{Encoding, HostLanguage};
use super::scan::{PartScanner, TemplatePart};
use super::token::{Token, TokenKind, tokens};
use crate::format::problem::ParseProblem;
use crate::structure::Elements;

/// Maximum number of errors per source. The number is limited because each location costs a scan of
/// the source.
const MAX_PROBLEMS: usize = 100;

/// Parser options.
#[derive(Debug)]
pub(super) struct Parser<'o> {
    pub(super) encoding: Option<Encoding>,
    /// Names of the variables and functions whose text may contain message structure.
    pub(super) trusted: &'o [String],
    /// Whether results of all functions, and literal values, may contain message structure.
    pub(super) trusted_results: bool,
    /// Marks the tags in literal text.
    pub(super) elements: Elements,
    pub(super) problems: Vec<ParseProblem>,
    pub(super) program: Program,
}

impl Parser<'_> {
    pub(super) fn source(&mut self, source: &str) {
        self.program.text.reserve(source.len());
        for piece in PartScanner::new(source) {
            match piece {
                TemplatePart::Text(text, _) if self.encoding.is_some() => {
                    self.program.add_text(text)
                }
                TemplatePart::Text(text, at) => {
                    let text = self.elements.mark_at(text, at);
                    self.program.add_text(&text);
                }
                TemplatePart::Block(block, at) => {
                    if let Err(problem) = self.block(block, at) {
                        self.problems.push(problem);
                    }
                    if self.problems.len() >= MAX_PROBLEMS {
                        return;
                    }
                }
            }
        }
    }

    fn dialect(&self) -> HostLanguage {
        self.encoding.unwrap_or_default().dialect
    }

    fn block(&mut self, block: &str, at: usize) -> Result<(), ParseProblem> {
        let mut tokens = tokens(block, at, self.dialect())?.into_iter();
        let Some(first) = tokens.next() else {
            return Ok(());
        };
        match first.kind {
            TokenKind::Function(name) => {
                let call = self.call(name, &first, tokens)?;
                self.program.nodes.push(Node::Call(Box::new(call)));
            }
            TokenKind::Variable(name) => {
                self.alone(tokens.next(), "variable", block)?;
                let variable = self.variable(name, &first);
                self.program.nodes.push(Node::Variable(variable));
            }
            TokenKind::Value(text) => {
                self.alone(tokens.next(), "value", block)?;
                match self.encoding {
                    Some(encoding) if encoding.encodes_values() => {
                        self.program.add_text(&encode(&text, encoding.dialect));
                    }
                    // As in .NET, a tag may begin in one segment and end in another.
                    None if self.trusted_results => {
                        let text = self.elements.mark_at(&text, first.span.start);
                        self.program.add_text(&text);
                    }
                    _ => self.program.add_text(&text),
                }
            }
            // Unreachable: the first token is never an argument.
            TokenKind::Named(..) => {}
        }
        Ok(())
    }

    /// Checks that nothing follows a variable or a value. Python ignores text after it.
    fn alone(&self, next: Option<Token<'_>>, what: &str, block: &str) -> Result<(), ParseProblem> {
        match next {
            Some(next) if self.dialect() == HostLanguage::DotNet => {
                let message = format!("Invalid token detected after the {what}: {block}");
                let help = "a block holds one variable, one value, or a function and its arguments";
                Err(ParseProblem::new(message, next.span).help(help))
            }
            _ => Ok(()),
        }
    }

    fn call<'t>(
        &self,
        name: &str,
        token: &Token<'_>,
        arguments: impl Iterator<Item = Token<'t>>,
    ) -> Result<Call, ParseProblem> {
        let mut call = Call {
            name: name.into(),
            span: token.span,
            positional: None,
            named: Vec::new(),
            trusted: self.trusted_results || self.trusts(name),
        };
        for (index, argument) in arguments.enumerate() {
            match argument.kind {
                TokenKind::Named(name, value) => {
                    call.named.push((name.into(), self.operand(*value)));
                }
                _ if index == 0 => call.positional = Some(self.operand(argument)),
                _ => {
                    let message = format!(
                        "Functions only support named arguments after the first argument. Argument {} is not named.",
                        index + 1
                    );
                    let help = "write name='value'";
                    return Err(ParseProblem::new(message, argument.span).help(help));
                }
            }
        }
        Ok(call)
    }

    fn operand(&self, token: Token<'_>) -> Operand {
        match token.kind {
            TokenKind::Variable(name) => Operand::Variable(self.variable(name, &token)),
            TokenKind::Value(text) => Operand::Value(Value::from(&*text)),
            // These tokens are not valid as arguments.
            TokenKind::Function(_) | TokenKind::Named(..) => Operand::Value(Value::Null),
        }
    }

    fn variable(&self, name: &str, token: &Token<'_>) -> Variable {
        Variable {
            name: name.into(),
            span: token.span,
            trusted: self.trusts(name),
        }
    }

    fn trusts(&self, name: &str) -> bool {
        self.trusted.iter().any(|trusted| trusted == name)
    }
}
