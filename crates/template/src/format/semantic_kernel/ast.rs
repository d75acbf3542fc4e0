//! Compiled template: text, variables and calls in source order.

use std::ops::Range;

use quillet_core::{Span, Value};

/// A segment of a template.
#[derive(Debug)]
pub(super) enum Node {
    /// A range of [`Program::text`].
    Text(Range<usize>),
    /// `{{$name}}`.
    Variable(Variable),
    /// `{{plugin.function …}}`.
    Call(Box<Call>),
}

/// A source, split into segments.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// All literal texts, concatenated.
    pub(super) text: String,
    pub(super) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Variable {
    /// Name without the `$`.
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// Whether the variable's text may contain message structure.
    pub(super) trusted: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    /// Name as written: `function` or `plugin.function`.
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// The positional argument, if any.
    pub(super) positional: Option<Operand>,
    /// Named arguments in source order.
    pub(super) named: Vec<(Box<str>, Operand)>,
    /// Whether the call's result may contain message structure.
    pub(super) trusted: bool,
}

/// An argument.
#[derive(Debug)]
pub(super) enum Operand {
    /// A quoted text.
    Value(Value),
    Variable(Variable),
}

impl Node {
    /// Returns the name of the printed variable or function, or `None` for text.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Node::Text(_) => None,
            Node::Variable(variable) => Some(&variable.name),
            Node::Call(call) => Some(&call.name),
        }
    }
}

impl Program {
    /// Adds text, joined with an adjacent text.
    pub(super) fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(text);
        let end = self.text.len();
        match self.nodes.last_mut() {
            Some(Node::Text(range)) => range.end = end,
            _ => self.nodes.push(Node::Text(start..end)),
        }
    }
}

impl Call {
    /// Returns the number of arguments.
    pub(super) fn arguments(&self) -> usize {
        usize::from(self.positional.is_some()) + self.named.len()
    }

    /// Yields the variables among the arguments, in order.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let operands = self
            .positional
            .iter()
            .chain(self.named.iter().map(|n| &n.1));
        operands.filter_map(|operand| match operand {
            Operand::Variable(variable) => Some(variable),
            Operand::Value(_) => None,
        })
    }
}
