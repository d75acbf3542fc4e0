//! Calls: arguments and their types, then the function.

use quillet_core::Value;

use crate::call::CallArguments;
use crate::pass::{CallState, StopReason};

use super::super::ast::{BuiltinFunction, FunctionBinding, FunctionNode, Node, NodeKind};
use super::super::fmt::{self, Full};
use super::super::function::{Effect, FunctionContext, FunctionError, GoFunction};
use super::super::literal::NumberLiteral;
use super::super::types::GoType;
use super::super::value::{GoStr, GoValue};
use super::item::DotValue;
use super::{ErrorContext, Executor, Pipe, builtin, escape};
use crate::limits::LimitKind;

impl<'a> Executor<'a, '_, '_> {
    /// Calls a function. `whole` is the node that a failing function is blamed
    /// on; `last` the argument that comes from the pipeline.
    pub(super) fn call(
        &mut self,
        function: &'a FunctionNode,
        whole: ErrorContext<'a>,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        match &function.function {
            FunctionBinding::Late => self.late(function, whole, arguments, last),
            FunctionBinding::Native(native) => self.native(native, whole, arguments, last),
            FunctionBinding::Builtin(builtin) => {
                let arity = builtin.arity();
                self.check_count(&function.name, arity, arguments, last.is_some())?;
                match builtin {
                    BuiltinFunction::And => self.and_or(false, arguments, last),
                    BuiltinFunction::Or => self.and_or(true, arguments, last),
                    BuiltinFunction::Print | BuiltinFunction::Println | BuiltinFunction::Printf => {
                        self.format(*builtin, arguments, last)
                    }
                    BuiltinFunction::Html | BuiltinFunction::Js | BuiltinFunction::Urlquery => {
                        self.escape(*builtin, arguments, last)
                    }
                    _ => self.builtin(*builtin, function, whole, arguments, last),
                }
            }
        }
    }

    fn check_count(
        &self,
        name: &str,
        (fixed, variadic): (usize, bool),
        arguments: &[Node],
        has_last: bool,
    ) -> Result<(), StopReason> {
        let given = arguments.len();
        let all = given + usize::from(has_last);
        if variadic && all < fixed {
            let reason =
                format!("wrong number of args for {name}: want at least {fixed} got {given}");
            return Err(self.fail(reason));
        }
        if !variadic && all != fixed {
            let reason = format!("wrong number of args for {name}: want {fixed} got {all}");
            return Err(self.fail(reason));
        }
        Ok(())
    }

    /// `and` and `or` evaluate no argument behind the one that decides. The
    /// last one is not looked at, so it may be a call that is still pending.
    fn and_or(
        &mut self,
        decisive: bool,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let mut value = DotValue::Missing;
        for (i, argument) in arguments.iter().enumerate() {
            value = self.untyped_argument(argument)?;
            let is_last = i + 1 == arguments.len() && last.is_none();
            if is_last {
                break;
            }
            if matches!(value, DotValue::Pending) {
                let effects = self.compiled.has_effects();
                let mut rest = arguments.iter().skip(i + 1);
                return if rest.any(|node| super::skip::node_lasts(node, effects)) {
                    Err(self.pass.stop())
                } else {
                    Ok(DotValue::Pending)
                };
            }
            if value.is_true() == decisive {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    fn builtin(
        &mut self,
        builtin: BuiltinFunction,
        function: &'a FunctionNode,
        whole: ErrorContext<'a>,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let base = self.arguments.len();
        for argument in arguments {
            let item = self.untyped_argument(argument)?;
            self.arguments.push(item);
        }
        let is_call = builtin == BuiltinFunction::Call;
        let callee = if is_call {
            callee_name(arguments, last.as_ref())
        } else {
            String::new()
        };
        self.arguments.extend(last);
        let items = &mut self.arguments[base..];
        if items.iter().any(|item| matches!(item, DotValue::Pending)) {
            self.arguments.truncate(base);
            return Ok(DotValue::Pending);
        }
        let stood = items.iter().any(DotValue::stands_in);
        if stood {
            for item in &mut *items {
                let taken = std::mem::replace(item, DotValue::Missing);
                *item = taken.meant();
            }
        }
        let items = &*items;
        let result = if is_call {
            let items = items.to_vec();
            self.call_value(&callee, &items)
        } else {
            builtin::run(builtin, items).map_err(FunctionError::Message)
        };
        self.arguments.truncate(base);
        match result {
            // Nothing is in what is not there.
            Err(FunctionError::Message(_)) if stood => Ok(DotValue::own(GoValue::nothing())),
            Ok(DotValue::Nil | DotValue::Missing) if stood && builtin == BuiltinFunction::Index => {
                Ok(DotValue::own(GoValue::nothing()))
            }
            result => self.finish(&function.name, whole, result),
        }
    }

    /// The value of a call, or its error with the place of the whole call.
    fn finish(
        &mut self,
        name: &str,
        whole: ErrorContext<'a>,
        result: Result<DotValue<'a>, FunctionError>,
    ) -> Result<DotValue<'a>, StopReason> {
        match result {
            Ok(item) => Ok(item),
            Err(FunctionError::Stop(stop)) => Err(stop),
            Err(FunctionError::Pending) => Ok(DotValue::Pending),
            Err(FunctionError::Message(message)) => {
                self.at = whole;
                Err(self.fail(format!("error calling {name}: {message}")))
            }
        }
    }

    /// The builtin `call`: a function value with its arguments.
    fn call_value(
        &mut self,
        name: &str,
        items: &[DotValue<'a>],
    ) -> Result<DotValue<'a>, FunctionError> {
        let Some((callee, items)) = items.split_first() else {
            return Err("call of nil".into());
        };
        let function = match callee {
            DotValue::Own(GoValue::Func(function), _) => function.clone(),
            DotValue::Missing | DotValue::Nil => return Err("call of nil".into()),
            other => {
                let go_type = other.type_name();
                return Err(format!("non-function {name} of type {go_type}").into());
            }
        };
        let values = builtin::call_arguments(name, &function, items)?;
        let caller = self.caller();
        let mut context = FunctionContext {
            pass: &mut *self.pass,
            state: &mut self.state,
            caller,
        };
        (function.run)(&mut context, &values).map(DotValue::own)
    }

    fn native(
        &mut self,
        function: &'a GoFunction,
        whole: ErrorContext<'a>,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let fixed = function.params.len() - usize::from(function.variadic);
        self.check_count(
            function.name,
            (fixed, function.variadic),
            arguments,
            last.is_some(),
        )?;
        let params = function.params.iter().copied();
        let rest = function.params.last().copied().unwrap_or(GoType::Any);
        let mut types = params.chain(std::iter::repeat(rest));
        let base = self.values.len();
        let mut hole = false;
        for argument in arguments {
            hole |= !self.push_argument(argument, types.next().unwrap_or(GoType::Any))?;
        }
        if let Some(last) = last {
            hole |= !self.push_checked(last, types.next().unwrap_or(GoType::Any))?;
        }
        if hole {
            self.values.truncate(base);
            return if self.lasts(function) {
                Err(self.pass.stop())
            } else {
                Ok(DotValue::Pending)
            };
        }
        let includes = function.effect == Effect::Includes;
        let stood = !includes && self.values[base..].iter().any(GoValue::stands_in);
        if stood {
            for value in &mut self.values[base..] {
                *value = std::mem::take(value).meant();
            }
        }
        let entered = self.pass.entered();
        if includes {
            self.enter_site();
        }
        let values = std::mem::take(&mut self.values);
        let caller = self.caller();
        let mut context = FunctionContext {
            pass: &mut *self.pass,
            state: &mut self.state,
            caller,
        };
        let result = (function.run)(&mut context, &values[base..]);
        self.pass.leave(entered);
        self.values = values;
        self.values.truncate(base);
        // Nothing is in what is not there; but what is to end the render does.
        if stood
            && function.effect == Effect::None
            && matches!(result, Err(FunctionError::Message(_)))
        {
            return Ok(DotValue::own(GoValue::nothing()));
        }
        self.finish(function.name, whole, result.map(DotValue::own))
    }

    /// Whether what follows depends on a call of this function.
    pub(super) fn lasts(&self, function: &GoFunction) -> bool {
        match function.effect {
            Effect::None => false,
            Effect::Lasts => true,
            Effect::Includes => self.compiled.has_effects(),
        }
    }

    /// Tells the pass which turns of which loops in which templates this is.
    fn enter_site(&mut self) {
        for caller in &self.callers {
            self.pass.enter(caller.place);
        }
        for inner in &self.loops {
            let (body, turns) = inner.at();
            self.pass.enter(body);
            self.pass.enter(turns);
        }
        self.pass.enter(self.place);
    }

    /// A function that was unknown when the template was compiled.
    fn late(
        &mut self,
        function: &'a FunctionNode,
        whole: ErrorContext<'a>,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let mut values: Vec<Value> = Vec::with_capacity(arguments.len() + 1);
        let (holes, mut hole) = (self.pass.holes(), false);
        for argument in arguments {
            let item = self.argument(argument, GoType::Any)?;
            hole |= matches!(item, DotValue::Pending);
            values.push(core_argument(&item));
        }
        if let Some(last) = last {
            hole |= matches!(last, DotValue::Pending);
            values.push(core_argument(&last));
        }
        if hole {
            self.pass.skip_since(holes);
            return Ok(DotValue::Pending);
        }
        self.at = whole;
        let entered = self.pass.entered();
        self.enter_site();
        let place = std::ptr::from_ref(function).addr();
        let called = self
            .pass
            .call_at(&[place], &function.name, CallArguments::from(values));
        self.pass.leave(entered);
        match called? {
            CallState::Pending => Ok(DotValue::Pending),
            CallState::Ready(value) => Ok(DotValue::own_element(value.into(), GoType::Any)),
        }
    }

    /// `print` and its kin, as a string.
    fn format(
        &mut self,
        builtin: BuiltinFunction,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let Some(base) = self.format_arguments(builtin, arguments, last)? else {
            return Ok(DotValue::Pending);
        };
        let mut text = Vec::new();
        let limit = self.pass.limits().memory_bytes;
        let full = append_formatted(builtin, &mut text, limit, &self.values[base..]);
        self.values.truncate(base);
        full.map_err(|Full| self.pass.limit(LimitKind::MemoryBytes))?;
        self.pass.charge(text.len())?;
        Ok(DotValue::own(GoValue::Str(GoStr::from(text))))
    }

    /// An action that ends in `print` or one of its kin writes straight to the
    /// output. Says whether the action was one.
    pub(super) fn print_formatted(&mut self, pipe: &'a Pipe) -> Result<bool, StopReason> {
        let Some((command, before)) = pipe.commands.split_last() else {
            return Ok(false);
        };
        let NodeKind::Function(function) = &command.first.kind else {
            return Ok(false);
        };
        let FunctionBinding::Builtin(
            builtin @ (BuiltinFunction::Print | BuiltinFunction::Printf | BuiltinFunction::Println),
        ) = function.function
        else {
            return Ok(false);
        };
        self.at = ErrorContext::Pipe(pipe);
        let last = self.commands(before)?;
        self.at_node(&command.first);
        let arguments = &command.arguments;
        self.check_count(&function.name, builtin.arity(), arguments, last.is_some())?;
        // The text of a hole is nothing.
        let Some(base) = self.format_arguments(builtin, arguments, last)? else {
            return Ok(true);
        };
        let limit = self.pass.limits().output_bytes;
        let full = append_formatted(builtin, self.pass.out(), limit, &self.values[base..]);
        self.values.truncate(base);
        self.check_output(full)?;
        Ok(true)
    }

    /// Puts the arguments on the stack of values; gives where they begin, or nothing
    /// if one is a hole.
    fn format_arguments(
        &mut self,
        builtin: BuiltinFunction,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<Option<usize>, StopReason> {
        let (base, mut hole) = (self.values.len(), false);
        // Only the format itself, printf's first argument, has to be text.
        let type_of_next = |values: &[GoValue]| match builtin {
            BuiltinFunction::Printf if values.len() == base => GoType::String,
            _ => GoType::Any,
        };
        for argument in arguments {
            let go_type = type_of_next(&self.values);
            hole |= !self.push_argument(argument, go_type)?;
        }
        if let Some(last) = last {
            let go_type = type_of_next(&self.values);
            hole |= !self.push_checked(last, go_type)?;
        }
        if hole {
            self.values.truncate(base);
            return Ok(None);
        }
        for value in &mut self.values[base..] {
            if let Some(printed) = super::printed(value) {
                *value = printed;
            }
        }
        Ok(Some(base))
    }

    fn escape(
        &mut self,
        builtin: BuiltinFunction,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let Some(base) = self.format_arguments(builtin, arguments, last)? else {
            return Ok(DotValue::Pending);
        };
        for value in &mut self.values[base..] {
            if matches!(value, GoValue::Nil) {
                *value = "<no value>".into();
            }
        }
        let mut text = Vec::new();
        let limit = self.pass.limits().memory_bytes;
        let full = fmt::print(&mut text, limit, &self.values[base..]);
        self.values.truncate(base);
        full.map_err(|Full| self.pass.limit(LimitKind::MemoryBytes))?;
        // No byte becomes more than six.
        self.pass.charge(text.len().saturating_mul(6))?;
        Ok(DotValue::own(escape::run(builtin, text).into()))
    }

    /// An argument of a builtin that takes values as they are.
    fn untyped_argument(&mut self, node: &'a Node) -> Result<DotValue<'a>, StopReason> {
        self.at_node(node);
        if let Some((value, boxed)) = self.found(node) {
            return Ok(DotValue::Core(value, boxed));
        }
        match node.kind {
            NodeKind::Nil => Ok(DotValue::Missing),
            _ => self.operand(node),
        }
    }

    /// Puts an argument on the stack of values. Says whether it is one: in place of
    /// a hole stands nothing, and what comes behind it is evaluated for its calls.
    pub(super) fn push_argument(
        &mut self,
        node: &'a Node,
        go_type: GoType,
    ) -> Result<bool, StopReason> {
        self.at_node(node);
        if let Some((value, _)) = self.found(node)
            && (go_type == GoType::Any || DotValue::core(value).go_type() == Some(go_type))
        {
            self.values.push(value.into());
            return Ok(true);
        }
        let item = self.argument(node, go_type)?;
        Ok(self.push(item))
    }

    fn push_checked(&mut self, item: DotValue<'a>, go_type: GoType) -> Result<bool, StopReason> {
        let item = self.checked(item, go_type)?;
        Ok(self.push(item))
    }

    fn push(&mut self, item: DotValue<'a>) -> bool {
        let is_hole = matches!(item, DotValue::Pending);
        self.values.push(item.into_value());
        !is_hole
    }

    /// Evaluates an argument for a parameter of that type.
    fn argument(&mut self, node: &'a Node, go_type: GoType) -> Result<DotValue<'a>, StopReason> {
        self.at_node(node);
        match &node.kind {
            NodeKind::Nil if go_type.can_be_nil() => Ok(DotValue::own(GoValue::zero(go_type))),
            NodeKind::Nil => Err(self.fail(format!("cannot assign nil to {go_type}"))),
            NodeKind::Bool(_) | NodeKind::String(_) | NodeKind::Number(_) => {
                self.literal(node, go_type)
            }
            _ => {
                let item = self.operand(node)?;
                self.checked(item, go_type)
            }
        }
    }

    /// A literal takes the type that is asked for, if it can.
    fn literal(&mut self, node: &'a Node, go_type: GoType) -> Result<DotValue<'a>, StopReason> {
        let number = match &node.kind {
            NodeKind::Number(number) => Some(&number.number),
            _ => None,
        };
        let expected = match (go_type, &node.kind) {
            (GoType::Any, _)
            | (GoType::Bool, NodeKind::Bool(_))
            | (GoType::String, NodeKind::String(_)) => return self.operand(node),
            (GoType::Bool, _) => "bool",
            (GoType::String, _) => "string",
            (GoType::Slice(_) | GoType::Map(_) | GoType::Named(_), _) => {
                let text = node.text();
                return Err(self.fail(format!("can't handle {text} for arg of type {go_type}")));
            }
            _ => match number.and_then(|number| number_as(number, go_type)) {
                Some(value) => return Ok(DotValue::own(value)),
                None => kind_of_number(go_type),
            },
        };
        Err(self.fail(format!("expected {expected}; found {}", node.text())))
    }

    /// Go's validateType: whether a value may be given for a parameter.
    fn checked(&mut self, item: DotValue<'a>, go_type: GoType) -> Result<DotValue<'a>, StopReason> {
        match &item {
            DotValue::Pending => Ok(item),
            _ if go_type == GoType::Any => Ok(item),
            DotValue::Missing if go_type.can_be_nil() => Ok(DotValue::own(GoValue::zero(go_type))),
            DotValue::Missing => Err(self.fail(format!("invalid value; expected {go_type}"))),
            _ if item.stands_in() => {
                let meant = item.meant();
                Ok(if meant.go_type() == Some(go_type) {
                    meant
                } else {
                    DotValue::own(GoValue::zero(go_type))
                })
            }
            _ if item.go_type() == Some(go_type) => Ok(item),
            _ => match printed_string(&item, go_type) {
                Some(text) => Ok(text),
                None => {
                    let got = item.type_name();
                    let reason = format!("wrong type for value; expected {go_type}; got {got}");
                    Err(self.fail(reason))
                }
            },
        }
    }
}

/// The string that stands for a tool's result where a string is wanted.
fn printed_string<'a>(item: &DotValue<'a>, go_type: GoType) -> Option<DotValue<'a>> {
    if go_type != GoType::String {
        return None;
    }
    let printed = super::printed(&item.to_value())?;
    matches!(printed, GoValue::Str(_)).then(|| DotValue::own(printed))
}

fn core_argument(item: &DotValue<'_>) -> Value {
    match item {
        DotValue::Pending | DotValue::Missing | DotValue::Nil => Value::Null,
        DotValue::Core(value, _) => (*value).clone(),
        DotValue::Own(value, _) => value.to_core(),
    }
}

fn callee_name(arguments: &[Node], last: Option<&DotValue<'_>>) -> String {
    match (arguments.first(), last) {
        (Some(node), _) => node.text(),
        (None, Some(item)) => match item.as_bytes() {
            Some(text) => String::from_utf8_lossy(text).into_owned(),
            None => format!("<{} Value>", item.type_name()),
        },
        (None, None) => String::new(),
    }
}

fn append_formatted(
    builtin: BuiltinFunction,
    out: &mut Vec<u8>,
    limit: usize,
    values: &[GoValue],
) -> Result<(), Full> {
    match (builtin, values) {
        (BuiltinFunction::Printf, [GoValue::Str(format), operands @ ..]) => {
            fmt::printf(out, limit, format.as_bytes(), operands)
        }
        (BuiltinFunction::Println, _) => fmt::println(out, limit, values),
        _ => fmt::print(out, limit, values),
    }
}

/// A number literal under a numeric type.
fn number_as(number: &NumberLiteral, go_type: GoType) -> Option<GoValue> {
    Some(match go_type {
        GoType::Int => GoValue::Int(number.int?),
        // Go cuts off what does not fit.
        GoType::Int32 => GoValue::Int32(number.int? as i32),
        GoType::Int64 => GoValue::Int64(number.int?),
        GoType::Uint8 => GoValue::Uint8(number.uint? as u8),
        GoType::Uint64 => GoValue::Uint64(number.uint?),
        GoType::Float64 => GoValue::Float(number.float?),
        GoType::Complex128 => {
            let (real, imaginary) = number.complex?;
            GoValue::Complex(real, imaginary)
        }
        _ => return None,
    })
}

fn kind_of_number(go_type: GoType) -> &'static str {
    match go_type {
        GoType::Uint8 | GoType::Uint64 => "unsigned integer",
        GoType::Float64 => "float",
        GoType::Complex128 => "complex",
        _ => "integer",
    }
}
