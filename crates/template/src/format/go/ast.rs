//! Compiled form of a template. Its structure is a flat list of operations, so nested blocks and
//! calls need no native stack. Only the pipelines inside actions are trees.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::function::GoFunction;
use super::literal::{NumberLiteral, UntypedKind};
use super::value::GoStr;

/// Index of an operation.
pub(super) type OpIndex = usize;

/// Index of a variable in its template's frame. Each declaration has a separate index. Index 0 is
/// `$`, the template's initial dot.
pub(super) type SlotIndex = usize;

/// One operation of a template.
#[derive(Debug)]
pub(super) enum Op {
    /// Writes bytes `start..end` of the source.
    Text {
        start: usize,
        end: usize,
    },
    /// Writes text that contains marks of message structure.
    Marked(Box<str>),
    /// Evaluates a pipeline, and prints the result unless it declares variables.
    Action(Pipe),
    /// Jumps to `otherwise` unless the condition is true.
    If {
        pipe: Pipe,
        otherwise: OpIndex,
    },
    /// Like [`Op::If`], but the value is the dot until the matching [`Op::EndWith`].
    With {
        pipe: Pipe,
        otherwise: OpIndex,
    },
    /// Restores the dot and jumps to `next`.
    EndWith {
        next: OpIndex,
    },
    /// Runs the body for each element, or jumps to `otherwise` if there is none.
    Range {
        pipe: Pipe,
        otherwise: OpIndex,
        end: OpIndex,
        /// Slots of the variables declared in the body, which each iteration unsets.
        inside: std::ops::Range<SlotIndex>,
    },
    /// Begins the next iteration of the innermost loop.
    Next,
    /// Leaves the innermost loop.
    Break,
    Jump(OpIndex),
    /// Runs another template.
    Call(Box<TemplateCall>),
}

impl Op {
    /// Returns the pipeline that the operation evaluates, if any.
    pub(super) fn pipe(&self) -> Option<&Pipe> {
        match self {
            Op::Action(pipe)
            | Op::If { pipe, .. }
            | Op::With { pipe, .. }
            | Op::Range { pipe, .. } => Some(pipe),
            Op::Call(call) => call.pipe.as_ref(),
            _ => None,
        }
    }
}

/// `{{template "name" pipe}}`.
#[derive(Debug)]
pub(super) struct TemplateCall {
    /// Span of the name.
    pub(super) pos: usize,
    pub(super) span: Span,
    pub(super) name: Arc<str>,
    pub(super) pipe: Option<Pipe>,
}

/// A named template.
#[derive(Debug)]
pub(super) struct TemplateDefinition {
    pub(super) name: Arc<str>,
    /// Index of the definition's source.
    pub(super) source: usize,
    pub(super) ops: Vec<Op>,
    /// For each variable except `$`, the variable that it shadows.
    pub(super) shadowed: Vec<Option<SlotIndex>>,
    /// Length of the literal text, used to estimate the output size.
    pub(super) text_bytes: usize,
    /// Whether the definition contains only space and comments. Such a definition does not replace
    /// another.
    pub(super) is_empty: bool,
}

/// `$x := command | command`.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) pos: usize,
    pub(super) span: Span,
    pub(super) assign: bool,
    pub(super) variables: Vec<AssignTarget>,
    pub(super) commands: Vec<CommandNode>,
}

/// A variable set by a pipeline.
#[derive(Debug)]
pub(super) struct AssignTarget {
    pub(super) name: Box<str>,
    /// The new variable, or the innermost variable that the assignment can refer to.
    pub(super) slot: Option<SlotIndex>,
}

/// An operand with its arguments.
#[derive(Debug)]
pub(super) struct CommandNode {
    pub(super) pos: usize,
    pub(super) span: Span,
    pub(super) first: Node,
    pub(super) arguments: Vec<Node>,
}

/// An operand.
#[derive(Debug)]
pub(super) struct Node {
    /// The location that Go reports. For `.a.b` it is the second field.
    pub(super) pos: usize,
    /// The actual location.
    pub(super) span: Span,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Dot,
    Nil,
    Bool(Value),
    Number(Box<NumberNode>),
    String(Box<StringNode>),
    /// `.a.b`.
    Field(FieldNames),
    Variable(Box<VariableNode>),
    Function(Box<FunctionNode>),
    Pipe(Box<Pipe>),
    /// `(pipe).a.b`, `function.a`.
    Chain(Box<ChainNode>),
}

/// Names of fields in order. Most paths have one field, which needs only one allocation.
#[derive(Debug, Default)]
pub(super) enum FieldNames {
    #[default]
    None,
    One(Box<str>),
    Many(Vec<Box<str>>),
}

impl FieldNames {
    /// Splits `a.b.c`.
    pub(super) fn of(text: &str) -> FieldNames {
        if text.contains('.') {
            return FieldNames::Many(text.split('.').map(Box::from).collect());
        }
        FieldNames::One(text.into())
    }

    pub(super) fn as_slice(&self) -> &[Box<str>] {
        match self {
            FieldNames::None => &[],
            FieldNames::One(name) => std::slice::from_ref(name),
            FieldNames::Many(names) => names,
        }
    }

    fn write(&self, out: &mut String) {
        for name in self.as_slice() {
            out.push('.');
            out.push_str(name);
        }
    }
}

#[derive(Debug)]
pub(super) struct NumberNode {
    pub(super) text: Box<str>,
    pub(super) number: NumberLiteral,
    pub(super) ideal: UntypedKind,
}

#[derive(Debug)]
pub(super) struct StringNode {
    /// The literal as written, with quotes.
    pub(super) quoted: Box<str>,
    pub(super) text: StringText,
}

#[derive(Debug)]
pub(super) enum StringText {
    /// Always [`Value::Str`].
    Text(Value),
    /// Text that is not UTF-8.
    Bytes(GoStr),
}

#[derive(Debug)]
pub(super) struct VariableNode {
    /// The name, with the dollar sign.
    pub(super) name: Box<str>,
    /// The innermost variable with this name. If its declaration was not executed, the name refers
    /// to the variable that it shadows.
    pub(super) slot: Option<SlotIndex>,
    pub(super) fields: FieldNames,
}

#[derive(Debug)]
pub(super) struct FunctionNode {
    pub(super) name: Box<str>,
    pub(super) function: FunctionBinding,
}

/// Compile-time target of a function name.
#[derive(Clone, Copy, Debug)]
pub(super) enum FunctionBinding {
    Builtin(BuiltinFunction),
    Native(GoFunction),
    /// A late-bound function, which is called through the pass.
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltinFunction {
    And,
    Or,
    Not,
    Call,
    Html,
    Index,
    Slice,
    Js,
    Len,
    Print,
    Printf,
    Println,
    Urlquery,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl BuiltinFunction {
    /// All builtins, by name.
    pub(super) const TABLE: [(&'static str, BuiltinFunction); 19] = [
        ("and", BuiltinFunction::And),
        ("or", BuiltinFunction::Or),
        ("not", BuiltinFunction::Not),
        ("call", BuiltinFunction::Call),
        ("html", BuiltinFunction::Html),
        ("index", BuiltinFunction::Index),
        ("slice", BuiltinFunction::Slice),
        ("js", BuiltinFunction::Js),
        ("len", BuiltinFunction::Len),
        ("print", BuiltinFunction::Print),
        ("printf", BuiltinFunction::Printf),
        ("println", BuiltinFunction::Println),
        ("urlquery", BuiltinFunction::Urlquery),
        ("eq", BuiltinFunction::Eq),
        ("ne", BuiltinFunction::Ne),
        ("lt", BuiltinFunction::Lt),
        ("le", BuiltinFunction::Le),
        ("gt", BuiltinFunction::Gt),
        ("ge", BuiltinFunction::Ge),
    ];

    pub(super) fn of_name(name: &str) -> Option<BuiltinFunction> {
        let found = Self::TABLE.iter().find(|(known, _)| *known == name);
        found.map(|(_, builtin)| *builtin)
    }

    /// Returns the number of fixed parameters, and whether further arguments are allowed.
    pub(super) fn arity(self) -> (usize, bool) {
        match self {
            BuiltinFunction::Not | BuiltinFunction::Len => (1, false),
            BuiltinFunction::Ne
            | BuiltinFunction::Lt
            | BuiltinFunction::Le
            | BuiltinFunction::Gt
            | BuiltinFunction::Ge => (2, false),
            BuiltinFunction::And
            | BuiltinFunction::Or
            | BuiltinFunction::Call
            | BuiltinFunction::Index
            | BuiltinFunction::Slice
            | BuiltinFunction::Printf
            | BuiltinFunction::Eq => (1, true),
            BuiltinFunction::Html
            | BuiltinFunction::Js
            | BuiltinFunction::Print
            | BuiltinFunction::Println
            | BuiltinFunction::Urlquery => (0, true),
        }
    }
}

#[derive(Debug)]
pub(super) struct ChainNode {
    pub(super) base: Node,
    pub(super) fields: FieldNames,
}

impl TemplateDefinition {
    /// Returns the number of variables, including `$`.
    pub(super) fn slots(&self) -> usize {
        1 + self.shadowed.len()
    }

    /// Returns the variable that another one shadows.
    pub(super) fn shadowed(&self, slot: SlotIndex) -> Option<SlotIndex> {
        *self.shadowed.get(slot.checked_sub(1)?)?
    }
}

impl Pipe {
    /// Returns the operand of a pipeline that consists only of one operand.
    pub(super) fn operand(&self) -> Option<&Node> {
        match self.commands.as_slice() {
            [command] if command.arguments.is_empty() && self.variables.is_empty() => {
                Some(&command.first)
            }
            _ => None,
        }
    }
}

// Nodes are displayed as in Go's error messages.

impl Pipe {
    pub(super) fn write(&self, out: &mut String) {
        for (i, variable) in self.variables.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            out.push_str(&variable.name);
        }
        if !self.variables.is_empty() {
            out.push_str(if self.assign { " = " } else { " := " });
        }
        for (i, command) in self.commands.iter().enumerate() {
            out.push_str(if i > 0 { " | " } else { "" });
            command.write(out);
        }
    }
}

impl CommandNode {
    pub(super) fn write(&self, out: &mut String) {
        self.first.write_argument(out);
        for argument in &self.arguments {
            out.push(' ');
            argument.write_argument(out);
        }
    }
}

impl Node {
    fn write_argument(&self, out: &mut String) {
        let is_pipe = matches!(self.kind, NodeKind::Pipe(_));
        out.push_str(if is_pipe { "(" } else { "" });
        self.write(out);
        out.push_str(if is_pipe { ")" } else { "" });
    }

    pub(super) fn write(&self, out: &mut String) {
        match &self.kind {
            NodeKind::Dot => out.push('.'),
            NodeKind::Nil => out.push_str("nil"),
            NodeKind::Bool(Value::Bool(true)) => out.push_str("true"),
            NodeKind::Bool(_) => out.push_str("false"),
            NodeKind::Number(number) => out.push_str(&number.text),
            NodeKind::String(string) => out.push_str(&string.quoted),
            NodeKind::Field(fields) => fields.write(out),
            NodeKind::Variable(variable) => {
                out.push_str(&variable.name);
                variable.fields.write(out);
            }
            NodeKind::Function(function) => out.push_str(&function.name),
            NodeKind::Pipe(pipe) => pipe.write(out),
            NodeKind::Chain(chain) => {
                chain.base.write_argument(out);
                chain.fields.write(out);
            }
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }
}

impl TemplateCall {
    pub(super) fn text(&self) -> String {
        let mut text = format!("{{{{template {}", super::fmt::quoted(&self.name));
        if let Some(pipe) = &self.pipe {
            text.push(' ');
            pipe.write(&mut text);
        }
        text.push_str("}}");
        text
    }
}
