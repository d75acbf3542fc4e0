//! Reads Go templates into the neutral tree.
//!
//! Operations are flat, so the reader reconstructs the blocks from the targets of the jumps. It
//! tracks the paths of the dot and of the variables.

use std::collections::HashMap;

use quillet_core::{Diagnostic, Span, Value};

use super::ast::{
    BuiltinFunction, CommandNode, FunctionBinding, Node as Operand, NodeKind as Kind, Op, Pipe,
    SlotIndex,
};
use super::ast::{FieldNames, NumberNode, StringText};
use super::parser::{self, ParserSettings};
use super::{GoFormat, lexer};
use crate::TemplateSource;
use crate::convert::{Argument, ConvertFindings, LoopPosition, NodeKind, Nodes, PathStart};
use crate::convert::{TreeCall, TreeCondition, TreeNode, VariablePath};

/// Maximum number of bytes in which the text of a jump is searched.
const NEAR: usize = 1_000;

/// Maximum number of reported definitions.
const MOST_DEFINITIONS: usize = 100;

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    nesting: usize,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let format = GoFormat::new().with_sprig();
    let settings = ParserSettings {
        functions: &format.functions,
        strict_functions: false,
        nesting,
        elements: false,
    };
    let parsed = parser::parse(source.name, source.text, 0, &settings);
    let parsed = parsed.map_err(|failure| vec![failure.diagnostic])?;
    let mut definitions = parsed.definitions;
    // The last definition is the source itself.
    let Some(main) = definitions.pop() else {
        return Ok(Nodes::new());
    };
    for definition in definitions.into_iter().take(MOST_DEFINITIONS) {
        let at = source.text.find(&*definition.name).unwrap_or_default();
        let span = Span {
            start: at,
            end: at + definition.name.len(),
        };
        let message = format!(
            "the definition of the template {:?} has no counterpart",
            definition.name
        );
        findings.reject_with_help(span, message, "replace its calls with its text");
    }
    let mut reader = Reader {
        ops: &main.ops,
        findings,
        dot: VariablePath::root(&[]),
        loops: 0,
        slots: HashMap::from([(0, VariablePath::root(&[]))]),
        comments: lexer::comments(source.text),
        read_to: 0,
    };
    reader.comments.reverse();
    let mut nodes = reader.range(0, main.ops.len());
    reader.comments_before(usize::MAX, &mut nodes);
    Ok(nodes)
}

struct Reader<'r, 's> {
    ops: &'r [Op],
    findings: &'r mut ConvertFindings<'s>,
    /// Path of the dot.
    dot: VariablePath,
    /// Number of enclosing loops.
    loops: usize,
    /// Paths of the variables.
    slots: HashMap<SlotIndex, VariablePath>,
    /// Remaining comments in reverse order.
    comments: Vec<Span>,
    /// Location of the latest operation with a location.
    read_to: usize,
}

impl Reader<'_, '_> {
    /// Reads the operations between two indexes.
    fn range(&mut self, from: usize, to: usize) -> Nodes {
        let mut nodes = Nodes::new();
        let mut at = from;
        while let Some(op) = self.ops.get(at).filter(|_| at < to) {
            at = self.op(op, at, &mut nodes);
        }
        nodes
    }

    /// Reads one operation, with its block, and returns the index of the next.
    fn op(&mut self, op: &Op, at: usize, nodes: &mut Nodes) -> usize {
        if let Some(start) = start_of(op) {
            self.comments_before(start, nodes);
            self.read_to = start;
        }
        match op {
            Op::Text { start, end } => {
                let span = Span {
                    start: *start,
                    end: *end,
                };
                let text = self.findings.slice(span).to_owned();
                nodes.push(TreeNode::new(NodeKind::Text(text), span));
            }
            // Without message syntax there is no marked text.
            Op::Marked(_) => {}
            Op::Action(pipe) => nodes.extend(self.action(pipe)),
            Op::If { pipe, otherwise } => return self.condition(pipe, at, *otherwise, None, nodes),
            Op::With { pipe, otherwise } => {
                let dot = self.dot.clone();
                return self.condition(pipe, at, *otherwise, Some(dot), nodes);
            }
            Op::Range {
                pipe,
                otherwise,
                end,
                ..
            } => {
                nodes.extend(self.each(pipe, at, *otherwise, *end));
                return *end;
            }
            Op::Call(call) => {
                let message = format!(
                    "the call of the template {:?} has no counterpart",
                    call.name
                );
                let help = "replace the call with the template's text";
                self.findings.reject_with_help(call.span, message, help);
            }
            Op::EndWith { .. } | Op::Next | Op::Break | Op::Jump(_) => {
                let message = "break and continue have no counterpart";
                self.findings.reject(self.next_jump(), message);
            }
        }
        at + 1
    }

    /// Returns the location of the next `break` or `continue`. Their operations do not store one.
    fn next_jump(&self) -> Span {
        let text = self.findings.text();
        let end = text.floor_char_boundary(self.read_to.saturating_add(NEAR).min(text.len()));
        let rest = text.get(self.read_to..end).unwrap_or_default();
        let found = ["break", "continue"].map(|word| Some((rest.find(word)?, word.len())));
        let (offset, length) = found.into_iter().flatten().min().unwrap_or_default();
        let start = self.read_to + offset;
        Span {
            start,
            end: start + length,
        }
    }

    fn comments_before(&mut self, start: usize, nodes: &mut Nodes) {
        while let Some(span) = self.comments.pop_if(|span| span.start < start) {
            let text = self.findings.slice(span).trim().to_owned();
            nodes.push(TreeNode::new(NodeKind::Comment(text), span));
        }
    }

    /// Reads an `if`, or a `with` that restores the given dot at its end.
    fn condition(
        &mut self,
        pipe: &Pipe,
        at: usize,
        otherwise: usize,
        dot: Option<VariablePath>,
        nodes: &mut Nodes,
    ) -> usize {
        let last = otherwise.saturating_sub(1);
        let end = match self.ops.get(last) {
            Some(Op::Jump(end) | Op::EndWith { next: end }) => *end,
            _ => otherwise,
        };
        let found = self.truth(pipe);
        if let (Some(_), Some((condition, negated))) = (&dot, &found) {
            let is_value = !negated && condition.equals.is_none();
            if !is_value || matches!(condition.path.start, PathStart::Loop(..)) {
                self.refuse_span::<()>(pipe.span, "with on a value other than a variable");
            }
            self.dot = condition.path.clone();
        }
        let then = self.range(at + 1, last);
        if let Some(dot) = dot {
            self.dot = dot;
        }
        let otherwise = self.range(otherwise, end);
        if let Some((condition, negated)) = found {
            let (then, otherwise) = if negated {
                (otherwise, then)
            } else {
                (then, otherwise)
            };
            let kind = NodeKind::If {
                condition,
                then,
                otherwise,
            };
            nodes.push(TreeNode::new(kind, pipe.span));
        }
        end
    }

    fn each(&mut self, pipe: &Pipe, at: usize, otherwise: usize, end: usize) -> Option<TreeNode> {
        let list = self.path_of(pipe, "the list of a loop");
        let item = VariablePath::item(self.loops, &[]);
        let name = pipe
            .variables
            .last()
            .map(|target| target.name.trim_start_matches('$').into());
        // With two variables, the first is the index.
        if let Some(slot) = pipe.variables.last().and_then(|target| target.slot) {
            self.slots.insert(slot, item.clone());
        }
        if let [index, _] = pipe.variables.as_slice()
            && let Some(slot) = index.slot
        {
            let index = VariablePath::in_loop(self.loops, LoopPosition::Index);
            self.slots.insert(slot, index);
        }
        let dot = std::mem::replace(&mut self.dot, item);
        self.loops += 1;
        let body = self.range(at + 1, otherwise.saturating_sub(1));
        self.loops -= 1;
        self.dot = dot;
        let otherwise = self.range(otherwise, end);
        let kind = NodeKind::For {
            list: list?,
            name,
            body,
            otherwise,
        };
        Some(TreeNode::new(kind, pipe.span))
    }

    /// Reads an action that prints a pipeline or assigns a path to a variable.
    fn action(&mut self, pipe: &Pipe) -> Option<TreeNode> {
        if !pipe.variables.is_empty() {
            self.declare(pipe);
            return None;
        }
        let kind = match pipe.operand().map(plain) {
            Some(operand) => self.printed(operand)?,
            None => NodeKind::Call(self.call(pipe)?),
        };
        Some(TreeNode::new(kind, pipe.span))
    }

    fn printed(&mut self, operand: &Operand) -> Option<NodeKind> {
        Some(match &operand.kind {
            Kind::String(string) => match &string.text {
                StringText::Text(Value::Str(text)) => NodeKind::Text(text.to_string()),
                _ => return self.refuse(operand, "a string that is not UTF-8"),
            },
            Kind::Number(number) if plain_integer(number).is_some() => {
                NodeKind::Text(number.text.to_string())
            }
            Kind::Bool(value) => NodeKind::Text((*value == Value::Bool(true)).to_string()),
            Kind::Function(function) => NodeKind::Call(TreeCall {
                name: self.late(&function.name, function.function, operand.span)?,
                positional: Vec::new(),
                named: Vec::new(),
            }),
            _ => {
                let path = self.path(operand)?;
                if path == VariablePath::root(&[]) {
                    return self.refuse(operand, "the set of all variables");
                }
                NodeKind::Print(path)
            }
        })
    }

    fn declare(&mut self, pipe: &Pipe) {
        if pipe.assign {
            let message = "an assignment to a variable has no counterpart";
            return self.findings.reject(pipe.span, message);
        }
        let path = match pipe.operand_of_declaration() {
            Some(operand) => self.path(plain(operand)),
            None => self.refuse_span(pipe.span, "a variable for a value other than a path"),
        };
        self.bind(pipe, path);
    }

    fn bind(&mut self, pipe: &Pipe, path: Option<VariablePath>) {
        if let (Some(path), [target]) = (path, pipe.variables.as_slice())
            && let Some(slot) = target.slot
        {
            self.slots.insert(slot, path);
        }
    }

    /// Reads a condition. Returns whether it is negated.
    fn truth(&mut self, pipe: &Pipe) -> Option<(TreeCondition, bool)> {
        if let ([command], []) = (pipe.commands.as_slice(), pipe.variables.as_slice())
            && let Kind::Function(function) = &command.first.kind
            && let FunctionBinding::Builtin(builtin) = function.function
        {
            let asked = match (builtin, command.arguments.as_slice()) {
                (BuiltinFunction::Not, [argument]) => return self.not(argument),
                (BuiltinFunction::Eq, [left, right]) => Some((left, right, false)),
                (BuiltinFunction::Ne, [left, right]) => Some((left, right, true)),
                _ => None,
            };
            if let Some((left, right, negated)) = asked {
                return Some((self.equality(left, right)?, negated));
            }
        }
        let path = self.path_of(pipe, "a condition on a value other than a variable")?;
        self.bind(pipe, Some(path.clone()));
        Some((TreeCondition::truth(path), false))
    }

    fn not(&mut self, argument: &Operand) -> Option<(TreeCondition, bool)> {
        match &argument.kind {
            Kind::Pipe(pipe) => {
                let (condition, negated) = self.truth(pipe)?;
                Some((condition, !negated))
            }
            _ => Some((TreeCondition::truth(self.path(argument)?), true)),
        }
    }

    /// Reads a comparison of a variable with a text. Either operand can be the text.
    fn equality(&mut self, left: &Operand, right: &Operand) -> Option<TreeCondition> {
        let (left, right) = (plain(left), plain(right));
        let (subject, text) = match (text_of(left), text_of(right)) {
            (_, Some(text)) => (left, text),
            (Some(text), None) => (right, text),
            _ => return self.refuse(left, "a comparison with a value other than text"),
        };
        Some(TreeCondition::equals(self.path(subject)?, text))
    }

    fn path_of(&mut self, pipe: &Pipe, what: &str) -> Option<VariablePath> {
        match pipe.operand_of_declaration() {
            Some(operand) => self.path(plain(operand)),
            None => self.refuse_span(pipe.span, what),
        }
    }

    fn path(&mut self, operand: &Operand) -> Option<VariablePath> {
        match &operand.kind {
            Kind::Dot => Some(self.dot.clone()),
            Kind::Field(fields) => Some(self.dot.join(names(fields))),
            Kind::Variable(variable) => {
                let base = variable.slot.and_then(|slot| self.slots.get(&slot));
                let Some(base) = base else {
                    return self.refuse(operand, &format!("the variable {}", variable.name));
                };
                let is_index = matches!(base.start, PathStart::Loop(..));
                if is_index && !variable.fields.as_slice().is_empty() {
                    return self.refuse(operand, "a field of an index");
                }
                Some(base.join(names(&variable.fields)))
            }
            Kind::Function(function) => {
                self.refuse(operand, &format!("the function {} here", function.name))
            }
            _ => self.refuse(operand, "this expression"),
        }
    }

    /// Reads the call `f a b`, also in the form `a | f b`, which means `f b a`.
    fn call(&mut self, pipe: &Pipe) -> Option<TreeCall> {
        let (piped, command) = match pipe.commands.as_slice() {
            [command] => (None, command),
            [first, command] if first.arguments.is_empty() => (Some(&first.first), command),
            _ => return self.refuse_span(pipe.span, "a pipeline of several functions"),
        };
        let Kind::Function(function) = &command.first.kind else {
            return self.refuse(
                &command.first,
                "arguments for a value that is not a function",
            );
        };
        let name = self.late(&function.name, function.function, command.first.span)?;
        let arguments = command.arguments.iter().chain(piped);
        let positional = arguments
            .map(|one| self.argument(one))
            .collect::<Option<Vec<_>>>()?;
        Some(TreeCall {
            name,
            positional,
            named: Vec::new(),
        })
    }

    /// Returns the name of a late-bound function. Reports the format's own functions.
    fn late(&mut self, name: &str, function: FunctionBinding, span: Span) -> Option<String> {
        match function {
            FunctionBinding::Late => Some(name.to_owned()),
            _ => self.refuse_span(span, &format!("the function {name} of go")),
        }
    }

    fn argument(&mut self, operand: &Operand) -> Option<Argument> {
        let operand = plain(operand);
        Some(match &operand.kind {
            Kind::String(string) => match &string.text {
                StringText::Text(Value::Str(text)) => Argument::Text(text.to_string()),
                _ => return self.refuse(operand, "a string that is not UTF-8"),
            },
            Kind::Number(number) => match plain_integer(number) {
                Some(number) => Argument::Int(number),
                None => return self.refuse(operand, "a number with a fraction"),
            },
            Kind::Bool(value) => Argument::Bool(*value == Value::Bool(true)),
            _ => Argument::Path(self.path(operand)?),
        })
    }

    fn refuse<T>(&mut self, operand: &Operand, what: &str) -> Option<T> {
        self.refuse_span(operand.span, what)
    }

    fn refuse_span<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.findings.no_counterpart(span, what)
    }
}

impl Pipe {
    /// Returns the only operand of a pipeline, even if it is assigned to a variable.
    fn operand_of_declaration(&self) -> Option<&Operand> {
        match self.commands.as_slice() {
            [
                CommandNode {
                    first, arguments, ..
                },
            ] if arguments.is_empty() => Some(first),
            _ => None,
        }
    }
}

/// Returns the operand without parentheses around it.
fn plain(operand: &Operand) -> &Operand {
    match &operand.kind {
        Kind::Pipe(pipe) => pipe.operand().map_or(operand, plain),
        _ => operand,
    }
}

/// Returns a constant text.
fn text_of(operand: &Operand) -> Option<&str> {
    match &operand.kind {
        Kind::String(string) => match &string.text {
            StringText::Text(Value::Str(text)) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn names(fields: &FieldNames) -> impl Iterator<Item = String> + '_ {
    fields.as_slice().iter().map(|name| name.to_string())
}

/// Returns an integer that prints as it is written.
fn plain_integer(number: &NumberNode) -> Option<i64> {
    let value: i64 = number.text.parse().ok()?;
    (value.to_string() == *number.text).then_some(value)
}

/// Returns the offset of an operation that has a location.
fn start_of(op: &Op) -> Option<usize> {
    match op {
        Op::Text { start, .. } => Some(*start),
        Op::Action(pipe) | Op::If { pipe, .. } | Op::With { pipe, .. } | Op::Range { pipe, .. } => {
            Some(pipe.span.start)
        }
        Op::Call(call) => Some(call.span.start),
        Op::Marked(_) | Op::EndWith { .. } | Op::Next | Op::Break | Op::Jump(_) => None,
    }
}
