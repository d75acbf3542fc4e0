//! Function calls, and the types of their arguments.

use quillet_core::Value;

use crate::call::CallArguments;
use crate::pass::{CallState, StopReason};

use super::super::ast::{BuiltinFunction, FunctionBinding, FunctionNode, Node, NodeKind};
use super::super::fmt::{self, BufferFullError};
use super::super::function::{Effect, FunctionContext, FunctionError, GoFunction};
use super::super::literal::NumberLiteral;
use super::super::types::GoType;
use super::super::value::{GoStr, GoValue};
use super::item::DotValue;
use super::{ErrorContext, Executor, Pipe, builtin, escape};
use crate::limits::LimitKind;

impl<'a> Executor<'a, '_, '_> {
    /// Calls a function. Errors are reported for the node `whole`. `last` is the argument from the
    /// pipeline.
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
                let (fixed, variadic) = builtin.arity();
                self.check_count(&function.name, fixed, variadic, arguments, last.is_some())?;
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
        fixed: usize,
        variadic: bool,
        arguments: &[Node],
        has_last: bool,
    ) -> Result<(), StopReason> {
        let given = arguments.len();
        // Go counts the value from the pipeline as an argument, except in the message for too few
        // arguments.
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

    /// Evaluates `and` or `or`. Arguments after the deciding one are not evaluated. The last
    /// argument is not tested, so it may be a pending call.
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
                // If a skipped argument has an effect, the pass must end.
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
        // All calls share one argument stack, so nested calls do not allocate.
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
        // Checked after all arguments were evaluated, so that calls in them are registered even if
        // an earlier call is pending.
        if items.iter().any(|item| matches!(item, DotValue::Pending)) {
            self.arguments.truncate(base);
            return Ok(DotValue::Pending);
        }
        // A fallback value is replaced by its inner value.
        let stood = items.iter().any(DotValue::is_fallback);
        if stood {
            for item in &mut *items {
                let taken = std::mem::replace(item, DotValue::Missing);
                *item = taken.meant();
            }
        }
        let items = &*items;
        let result = if is_call {
            // The arguments are copied, because the called function may use the argument stack.
            let items = items.to_vec();
            self.call_value(&callee, &items)
        } else {
            builtin::run(builtin, items).map_err(FunctionError::Message)
        };
        self.arguments.truncate(base);
        match result {
            // A rejected fallback value gives an empty result.
            Err(FunctionError::Message(_)) if stood => Ok(DotValue::own(GoValue::nothing())),
            Ok(DotValue::Nil | DotValue::Missing) if stood && builtin == BuiltinFunction::Index => {
                Ok(DotValue::own(GoValue::nothing()))
            }
            result => self.finish(&function.name, whole, result),
        }
    }

    /// Returns the value of a call, or its error with the location of the entire call.
    fn finish(
        &mut self,
        name: &str,
        whole: ErrorContext<'a>,
        result: Result<DotValue<'a>, FunctionError>,
    ) -> Result<DotValue<'a>, StopReason> {
        match result {
            Ok(item) => Ok(item),
            Err(FunctionError::Stop(stop)) => Err(stop),
            // A pending value is a valid result. Values that depend on a pending value are also
            // pending.
            Err(FunctionError::Pending) => Ok(DotValue::Pending),
            Err(FunctionError::Message(message)) => {
                // In this error Go names the entire call instead of the last evaluated argument.
                self.at = whole;
                Err(self.fail(format!("error calling {name}: {message}")))
            }
        }
    }

    /// Runs the builtin `call`, which calls a function value with its arguments.
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
            fixed,
            function.variadic,
            arguments,
            last.is_some(),
        )?;
        let params = function.params.iter().copied();
        // Arguments after the fixed ones have the type of the variadic parameter.
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
                // A function with a lasting effect cannot be skipped, because all following text
                // may differ.
                Err(self.pass.stop())
            } else {
                Ok(DotValue::Pending)
            };
        }
        // An included template handles fallback values itself.
        let includes = function.effect == Effect::Includes;
        let stood = !includes && self.values[base..].iter().any(GoValue::is_fallback);
        if stood {
            for value in &mut self.values[base..] {
                *value = std::mem::take(value).meant();
            }
        }
        let entered = self.pass.entered();
        // Records the call site, so that calls inside the template differ for each `include`.
        if includes {
            self.enter_site();
        }
        // The values are moved out, because the function may evaluate a template, which uses the
        // executor's stacks.
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
        // Removes the arguments of this function, but not those of the enclosing calls.
        self.values.truncate(base);
        // If a function rejects a fallback value, the result is empty. Errors of functions with
        // effects still end the render.
        if stood
            && function.effect == Effect::None
            && matches!(result, Err(FunctionError::Message(_)))
        {
            return Ok(DotValue::own(GoValue::nothing()));
        }
        self.finish(function.name, whole, result.map(DotValue::own))
    }

    /// Whether the following text depends on a call of this function.
    pub(super) fn lasts(&self, function: &GoFunction) -> bool {
        match function.effect {
            Effect::None => false,
            Effect::Lasts => true,
            Effect::Includes => self.compiled.has_effects(),
        }
    }

    /// Records the template and the loop iterations of the current call in the pass.
    fn enter_site(&mut self) {
        // All callers and loops are part of the location. Otherwise, calls in different iterations
        // would be confused.
        for caller in &self.callers {
            self.pass.enter(caller.place);
        }
        for inner in &self.loops {
            let (body, turns) = inner.location();
            self.pass.enter(body);
            self.pass.enter(turns);
        }
        self.pass.enter(self.place);
    }

    /// Calls a function that was unknown when the template was compiled.
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
        // The address of the node is unique and stable while the template lives.
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

    /// Runs `print`, `printf` or `println`, and returns a string.
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
        full.map_err(|BufferFullError| self.pass.limit(LimitKind::MemoryBytes))?;
        self.pass.charge(text.len())?;
        Ok(DotValue::own(GoValue::Str(GoStr::from(text))))
    }

    /// Writes an action that ends in `print`, `printf` or `println` directly to the output. Returns
    /// false for any other action.
    pub(super) fn print_formatted(&mut self, pipe: &'a Pipe) -> Result<bool, StopReason> {
        let Some((command, before)) = pipe.commands.split_last() else {
            return Ok(false);
        };
        let NodeKind::Function(function) = &command.first.kind else {
            return Ok(false);
        };
        let FunctionBinding::Builtin(
            // A native function that replaces one of these builtins takes the normal path.
            builtin @ (BuiltinFunction::Print | BuiltinFunction::Printf | BuiltinFunction::Println),
        ) = function.function
        else {
            return Ok(false);
        };
        // Go reports errors of the arguments at the pipeline.
        self.at = ErrorContext::Pipe(pipe);
        let last = self.commands(before)?;
        self.at_node(&command.first);
        let arguments = &command.arguments;
        let (fixed, variadic) = builtin.arity();
        self.check_count(&function.name, fixed, variadic, arguments, last.is_some())?;
        // An action with a placeholder prints nothing.
        let Some(base) = self.format_arguments(builtin, arguments, last)? else {
            return Ok(true);
        };
        let limit = self.pass.limits().output_bytes;
        let full = append_formatted(builtin, self.pass.out(), limit, &self.values[base..]);
        self.values.truncate(base);
        self.check_output(full)?;
        Ok(true)
    }

    /// Pushes the arguments onto the value stack. Returns the index of the first one, or `None` if
    /// one is a placeholder.
    fn format_arguments(
        &mut self,
        builtin: BuiltinFunction,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<Option<usize>, StopReason> {
        let (base, mut hole) = (self.values.len(), false);
        // Only the first argument of `printf`, the format, must be text.
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
        // Objects with a display field are replaced before `printf` sees them.
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
            // Go's escapers print a nil as `<no value>`, unlike `print`.
            if matches!(value, GoValue::Nil) {
                *value = "<no value>".into();
            }
        }
        let mut text = Vec::new();
        let limit = self.pass.limits().memory_bytes;
        let full = fmt::print(&mut text, limit, &self.values[base..]);
        self.values.truncate(base);
        full.map_err(|BufferFullError| self.pass.limit(LimitKind::MemoryBytes))?;
        // Escaping turns one byte into at most six bytes. The memory is charged before the text is
        // built.
        self.pass.charge(text.len().saturating_mul(6))?;
        Ok(DotValue::own(escape::run(builtin, text).into()))
    }

    /// Evaluates an argument of a builtin that takes values of any type.
    fn untyped_argument(&mut self, node: &'a Node) -> Result<DotValue<'a>, StopReason> {
        self.at_node(node);
        if let Some((value, boxed)) = self.found(node) {
            return Ok(DotValue::Core(value, boxed));
        }
        // Go passes an untyped nil as the zero `reflect.Value`, so builtins receive a missing
        // value.
        match node.kind {
            NodeKind::Nil => Ok(DotValue::Missing),
            _ => self.operand(node),
        }
    }

    /// Pushes an argument onto the value stack. For a placeholder it pushes nothing and returns
    /// false. The following arguments are then evaluated only for the calls in them.
    pub(super) fn push_argument(
        &mut self,
        node: &'a Node,
        go_type: GoType,
    ) -> Result<bool, StopReason> {
        self.at_node(node);
        if let Some((value, _)) = self.found(node)
            // A borrowed value is copied only if its type fits. If the type does not fit, the slow
            // path reports the error.
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

    /// Evaluates an argument for a parameter of this type.
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

    /// Converts a literal to the requested type, if possible.
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

    /// Checks whether a parameter accepts a value, like Go's `validateType`.
    fn checked(&mut self, item: DotValue<'a>, go_type: GoType) -> Result<DotValue<'a>, StopReason> {
        match &item {
            DotValue::Pending => Ok(item),
            _ if go_type == GoType::Any => Ok(item),
            DotValue::Missing if go_type.can_be_nil() => Ok(DotValue::own(GoValue::zero(go_type))),
            DotValue::Missing => Err(self.fail(format!("invalid value; expected {go_type}"))),
            // A fallback value of another type becomes the zero value, so a failed call does not
            // fail the render.
            _ if item.is_fallback() => {
                let meant = item.meant();
                Ok(if meant.go_type() == Some(go_type) {
                    meant
                } else {
                    DotValue::own(GoValue::zero(go_type))
                })
            }
            _ if item.go_type() == Some(go_type) => Ok(item),
            // A tool's result may be an object whose display field is the required text.
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

/// Returns the display text of a tool's result where a string is required.
fn printed_string<'a>(item: &DotValue<'a>, go_type: GoType) -> Option<DotValue<'a>> {
    if go_type != GoType::String {
        return None;
    }
    let printed = super::printed(&item.to_value())?;
    matches!(printed, GoValue::Str(_)).then(|| DotValue::own(printed))
}

fn core_argument(item: &DotValue<'_>) -> Value {
    match item {
        // Unreachable for pending arguments: the caller checks for them first.
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
) -> Result<(), BufferFullError> {
    match (builtin, values) {
        (BuiltinFunction::Printf, [GoValue::Str(format), operands @ ..]) => {
            fmt::printf(out, limit, format.as_bytes(), operands)
        }
        (BuiltinFunction::Println, _) => fmt::println(out, limit, values),
        _ => fmt::print(out, limit, values),
    }
}

/// Converts a number literal to a numeric type.
fn number_as(number: &NumberLiteral, go_type: GoType) -> Option<GoValue> {
    Some(match go_type {
        GoType::Int => GoValue::Int(number.int?),
        // Go truncates a value that does not fit.
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
