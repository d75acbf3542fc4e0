//! A compiled template: text, variables and calls, in order.

use std::ops::Range;

use quillet_core::{Span, Value};

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Node {
    /// Text that is written as it is: a range of [`Program::text`].
    Text(Range<usize>),
    /// `{{$name}}`.
    Variable(Variable),
    /// `{{plugin.function …}}`.
    Call(Box<Call>),
}

/// A source in pieces.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// All texts, one after another.
    pub(super) text: String,
    pub(super) nodes: Vec<Node>,
}

#[derive(Debug)]
pub(super) struct Variable {
    /// Its name, without `$`.
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// Whether its text may carry structure.
    pub(super) trusted: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    /// As the template writes it: `function` or `plugin.function`.
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// The argument without a name.
    pub(super) positional: Option<Operand>,
    /// In the order in which they are written.
    pub(super) named: Vec<(Box<str>, Operand)>,
    /// Whether its result may carry structure.
    pub(super) trusted: bool,
}

/// What stands as an argument.
#[derive(Debug)]
pub(super) enum Operand {
    /// A quoted text.
    Value(Value),
    Variable(Variable),
}

impl Node {
    /// The name of what it prints; text has none.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Node::Text(_) => None,
            Node::Variable(variable) => Some(&variable.name),
            Node::Call(call) => Some(&call.name),
        }
    }
}

impl Program {
    /// Adds text; what stands side by side becomes one piece.
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
    /// How many arguments it is written with.
    pub(super) fn arguments(&self) -> usize {
        usize::from(self.positional.is_some()) + self.named.len()
    }

    /// The variables among its arguments, in order.
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
