//! Evaluator of compiled Go templates.
//!
//! A template is a list of operations, and the stacks of callers, loops and dots are vectors.
//! Nested blocks and recursive templates therefore need no native stack. Only pipelines recurse,
//! once per parenthesis, and the parser bounds the depth of parentheses.

mod builtin;
mod call;
mod compare;
mod error;
mod escape;
mod eval;
mod include;
mod item;
mod range;
mod skip;
mod source;

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::Missing;
use crate::error::{ErrorKind, RenderError};
use crate::limits::LimitKind;
use crate::pass::{Pass, StopReason};

use super::ast::{Node, Op, OpIndex, Pipe, TemplateCall, TemplateDefinition};
use super::fmt::{self, BufferFullError, quoted as quote};
use super::function::FunctionState;
use super::template::GoTemplate;
use super::value::GoValue;
use error::ErrorContext;
pub(super) use include::{Caller, include};
use item::DotValue;
use range::LoopState;
pub(super) use skip::lasts;

/// Evaluates a source with this value as its dot.
pub(super) fn run<'a>(
    compiled: &'a GoTemplate,
    definition: &'a TemplateDefinition,
    dot: &'a quillet_core::Value,
    pass: &mut Pass<'_>,
) -> Result<(), StopReason> {
    let mut executor = Executor::new(compiled, definition, DotValue::core(dot), pass);
    // The size of the literal text is a good estimate of the output size.
    executor.pass.out().reserve(2 * definition.text_bytes + 64);
    executor.run().map_err(|stop| executor.place(stop))
}

struct Executor<'a, 'c, 'p> {
    compiled: &'a GoTemplate,
    pass: &'c mut Pass<'p>,
    state: FunctionState,
    definition: &'a TemplateDefinition,
    /// Index of the next operation.
    place: OpIndex,
    /// Start of this template's variables in `slots`.
    base: usize,
    dot: DotValue<'a>,
    /// Variables of this template and its callers. `None` if not declared yet.
    slots: SmallVec<[Option<DotValue<'a>>; 4]>,
    /// Dots to restore at the end of blocks.
    dots: SmallVec<[DotValue<'a>; 4]>,
    loops: SmallVec<[LoopState<'a>; 2]>,
    callers: Vec<CallFrame<'a>>,
    /// Arguments of the builtins that are being called.
    arguments: Vec<DotValue<'a>>,
    /// Arguments of the native functions that are being called.
    values: Vec<GoValue>,
    /// Node to report in errors.
    at: ErrorContext<'a>,
    /// Number of templates on the native stack that wait for this evaluation.
    outer: usize,
    /// Position on the native stack at the start of the evaluation.
    stack: usize,
}

/// A caller that waits for the end of the current template.
struct CallFrame<'a> {
    definition: &'a TemplateDefinition,
    place: OpIndex,
    base: usize,
}

impl<'a, 'c, 'p> Executor<'a, 'c, 'p> {
    fn new(
        compiled: &'a GoTemplate,
        definition: &'a TemplateDefinition,
        dot: DotValue<'a>,
        pass: &'c mut Pass<'p>,
    ) -> Self {
        // Slot 0 is `$`, the dot with which the template began.
        let mut slots = smallvec![None; definition.slots()];
        slots[0] = Some(dot.clone());
        Executor {
            compiled,
            pass,
            state: FunctionState::default(),
            definition,
            place: 0,
            base: 0,
            dot,
            slots,
            dots: SmallVec::new(),
            loops: SmallVec::new(),
            callers: Vec::new(),
            arguments: Vec::new(),
            values: Vec::new(),
            at: ErrorContext::Start,
            outer: 0,
            stack: include::stack_place(),
        }
    }
}

impl<'a> Executor<'a, '_, '_> {
    fn run(&mut self) -> Result<(), StopReason> {
        loop {
            let definition = self.definition;
            let Some(op) = definition.ops.get(self.place) else {
                // The last operation of a template is followed by an implicit return to the caller.
                match self.callers.pop() {
                    Some(caller) => self.return_to(&caller),
                    None => return Ok(()),
                }
                continue;
            };
            // The position is incremented before the operation runs, because a jump overwrites it.
            self.place += 1;
            self.pass.step()?;
            match op {
                Op::Text { start, end } => self.text(*start..*end)?,
                Op::Marked(text) => self.pass.literal(text)?,
                Op::Action(pipe) => {
                    let start = self.pass.begin_value();
                    self.action(pipe)?;
                    self.pass.end_value(start, || source::source(pipe))?;
                }
                Op::If { pipe, otherwise } => {
                    let holes = self.pass.holes();
                    match self.condition(pipe)? {
                        (DotValue::Pending, _) => self.skip_branches(*otherwise, holes)?,
                        (_, true) => {}
                        (_, false) => self.place = *otherwise,
                    }
                }
                Op::With { pipe, otherwise } => {
                    let holes = self.pass.holes();
                    match self.condition(pipe)? {
                        (DotValue::Pending, _) => self.skip_branches(*otherwise, holes)?,
                        (value, true) => self.dots.push(std::mem::replace(&mut self.dot, value)),
                        (_, false) => self.place = *otherwise,
                    }
                }
                Op::EndWith { next } => {
                    self.restore_dot();
                    self.place = *next;
                }
                Op::Range {
                    pipe,
                    otherwise,
                    end,
                    inside,
                } => self.begin_range(pipe, *otherwise, *end, inside)?,
                Op::Next => self.next_turn()?,
                Op::Break => self.end_loop(),
                Op::Jump(place) => self.place = *place,
                Op::Call(call) => self.call_template(call)?,
            }
        }
    }

    fn text(&mut self, range: Range<usize>) -> Result<(), StopReason> {
        let source = self.compiled.source_of(self.definition);
        self.pass
            .literal(source.text.get(range).unwrap_or_default())
    }

    fn action(&mut self, pipe: &'a Pipe) -> Result<(), StopReason> {
        if let Some(node) = pipe.operand() {
            self.at_node(node);
            // Fast path: a borrowed value is printed without a clone.
            if let Some((value, _)) = self.found(node) {
                return self.print(&DotValue::Core(value, false));
            }
        } else if pipe.variables.is_empty() && self.print_formatted(pipe)? {
            return Ok(());
        }
        let value = self.pipeline(pipe)?;
        // As in Go, an action that declares or assigns a variable prints nothing.
        if !pipe.variables.is_empty() {
            return Ok(());
        }
        self.at = ErrorContext::Action(pipe);
        self.print(&value)
    }

    fn condition(&mut self, pipe: &'a Pipe) -> Result<(DotValue<'a>, bool), StopReason> {
        if let Some((value, _)) = pipe.operand().and_then(|node| self.found(node)) {
            let value = DotValue::Core(value, false);
            let truth = value.is_true();
            return Ok((value, truth));
        }
        let value = self.pipeline(pipe)?;
        let truth = value.is_true();
        Ok((value, truth))
    }

    fn at_node(&mut self, node: &'a Node) {
        self.at = ErrorContext::Node(node);
    }

    fn restore_dot(&mut self) {
        if let Some(dot) = self.dots.pop() {
            self.dot = dot;
        }
    }

    fn call_template(&mut self, call: &'a TemplateCall) -> Result<(), StopReason> {
        self.at = ErrorContext::Call(call);
        let Some(definition) = self.compiled.definition(&call.name) else {
            let name = quote(&call.name);
            return Err(self.fail(format!("template {name} not defined")));
        };
        let most = self.pass.limits().nesting;
        // `outer` counts the templates on the native stack, which called this evaluation through a
        // function.
        if self.outer + self.callers.len() >= most {
            let reason = format!("exceeded maximum template depth ({most})");
            let kind = ErrorKind::Limit(LimitKind::Nesting);
            return Err(self.place(RenderError::new(kind, reason).into()));
        }
        let dot = match &call.pipe {
            Some(pipe) => self.pipeline(pipe)?,
            // Without an argument, Go passes the zero `reflect.Value`.
            None => DotValue::Missing,
        };
        // A short template can declare a large number of variables, so their memory is charged.
        let variables = definition.shadowed.len() * size_of::<Option<DotValue<'a>>>();
        self.pass.charge(variables)?;
        self.callers.push(CallFrame {
            definition: self.definition,
            place: self.place,
            base: self.base,
        });
        self.dots
            .push(std::mem::replace(&mut self.dot, dot.clone()));
        // The frame starts after the caller's slots.
        self.base = self.slots.len();
        self.slots.push(Some(dot));
        self.slots.resize(self.base + definition.slots(), None);
        self.definition = definition;
        self.place = 0;
        Ok(())
    }

    fn return_to(&mut self, caller: &CallFrame<'a>) {
        self.slots.truncate(self.base);
        self.definition = caller.definition;
        self.place = caller.place;
        self.base = caller.base;
        self.restore_dot();
    }

    /// Prints a value as an action does.
    fn print(&mut self, value: &DotValue<'a>) -> Result<(), StopReason> {
        use quillet_core::Value;
        match value {
            DotValue::Pending => Ok(()),
            // Only [`Missing::Empty`] prints no text. Go prints `<no value>` in both cases.
            DotValue::Missing | DotValue::Nil if self.compiled.missing == Missing::Empty => Ok(()),
            DotValue::Missing | DotValue::Nil => self.pass.write("<no value>"),
            DotValue::Core(Value::Str(text), _) => self.pass.write(text),
            DotValue::Core(Value::Bool(value), _) => {
                self.pass.write(if *value { "true" } else { "false" })
            }
            DotValue::Core(Value::Int(value), _) | DotValue::Own(GoValue::Int(value), _) => {
                self.print_int(*value)
            }
            DotValue::Core(value, _) => self.print_core(value),
            DotValue::Own(GoValue::Str(text), _) => self.pass.write_bytes(text.as_bytes()),
            DotValue::Own(value, _) => self.print_value(value),
        }
    }

    fn print_int(&mut self, value: i64) -> Result<(), StopReason> {
        // Twenty bytes fit every 64-bit integer with its sign.
        let mut digits = [0; 20];
        let mut start = digits.len();
        // `unsigned_abs`, because the smallest integer has no positive counterpart.
        let mut left = value.unsigned_abs();
        loop {
            start -= 1;
            digits[start] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if value < 0 {
            start -= 1;
            digits[start] = b'-';
        }
        self.pass.write_bytes(&digits[start..])
    }

    fn print_core(&mut self, value: &quillet_core::Value) -> Result<(), StopReason> {
        // A tool's result may have a display field.
        let printed = value.as_map().and_then(quillet_core::Map::display_value);
        let limit = self.pass.limits().output_bytes;
        let result = fmt::append_core(self.pass.out(), limit, printed.unwrap_or(value));
        self.check_output(result)
    }

    fn print_value(&mut self, value: &GoValue) -> Result<(), StopReason> {
        if let GoValue::Func(function) = value {
            // Go quotes the action in this message. The action is only known while it is printed.
            let ErrorContext::Action(pipe) = self.at else {
                return Err(self.fail("can't print a function"));
            };
            let mut text = String::from("{{");
            pipe.write(&mut text);
            let go_type = function.go_type;
            return Err(self.fail(format!("can't print {text}}}}} of type {go_type}")));
        }
        let printed = printed(value);
        let value = printed.as_ref().unwrap_or(value);
        let limit = self.pass.limits().output_bytes;
        let result = fmt::append_value(self.pass.out(), limit, value);
        self.check_output(result)
    }

    fn check_output(&mut self, result: Result<(), BufferFullError>) -> Result<(), StopReason> {
        result.map_err(|BufferFullError| self.pass.limit(LimitKind::OutputBytes))?;
        self.pass.check_output()
    }
}

/// Returns the display text of a tool's result, if any.
fn printed(value: &GoValue) -> Option<GoValue> {
    let map = value.as_map()?.as_core()?;
    map.display_value().map(GoValue::from)
}

/// Formats values for an error message and shortens them to a readable length.
fn formatted(format: &[u8], values: &[GoValue]) -> String {
    let mut text = Vec::new();
    // Text after 4096 bytes is replaced by an ellipsis.
    let complete = fmt::printf(&mut text, 4096, format, values).is_ok();
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.push_str(if complete { "" } else { "..." });
    text
}
