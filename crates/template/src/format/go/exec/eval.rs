//! Evaluation of pipelines, commands, operands and fields.

use quillet_core::Value;

use crate::Missing;
use crate::pass::StopReason;

use super::super::ast::{
    AssignTarget, CommandNode, FieldNames, Node, NodeKind, Pipe, SlotIndex, StringText,
    VariableNode,
};
use super::super::collection::GoMap;
use super::super::function::FunctionError;
use super::super::literal::UntypedKind;
use super::super::types::GoType;
use super::super::value::GoValue;
use super::item::DotValue;
use super::{ErrorContext, Executor};

impl<'a> Executor<'a, '_, '_> {
    pub(super) fn pipeline(&mut self, pipe: &'a Pipe) -> Result<DotValue<'a>, StopReason> {
        self.at = ErrorContext::Pipe(pipe);
        let value = self.commands(&pipe.commands)?.unwrap_or(DotValue::Missing);
        for target in &pipe.variables {
            if pipe.assign {
                self.assign(target, value.clone())?;
            } else if let Some(slot) = target.slot {
                self.slots[self.base + slot] = Some(value.clone());
            }
        }
        Ok(value)
    }

    /// Evaluates commands. Each command receives the value of the previous one.
    pub(super) fn commands(
        &mut self,
        commands: &'a [CommandNode],
    ) -> Result<Option<DotValue<'a>>, StopReason> {
        let mut value = None;
        for command in commands {
            // Like Go, unwrap the interface at the end of each command.
            value = Some(self.command(command, value)?.unboxed());
        }
        Ok(value)
    }

    pub(super) fn assign(
        &mut self,
        target: &AssignTarget,
        item: DotValue<'a>,
    ) -> Result<(), StopReason> {
        match self.reached(target.slot)? {
            Some(slot) => {
                self.slots[slot] = Some(item);
                Ok(())
            }
            None => Err(self.fail(format!("undefined variable: {}", target.name))),
        }
    }

    /// Returns the innermost variable whose declaration was executed, starting at this one.
    pub(super) fn reached(
        &mut self,
        mut slot: Option<SlotIndex>,
    ) -> Result<Option<SlotIndex>, StopReason> {
        while let Some(found) = slot {
            // A declaration in a branch that was not taken leaves its slot empty, so the name
            // refers to the shadowed variable.
            if self.slots[self.base + found].is_some() {
                return Ok(Some(self.base + found));
            }
            // A chain of shadowed variables can be long, so each variable counts as a step.
            self.pass.step()?;
            slot = self.definition.shadowed(found);
        }
        Ok(None)
    }

    /// Evaluates a command. `last` is the value of the previous command.
    fn command(
        &mut self,
        command: &'a CommandNode,
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        let node = &command.first;
        let arguments = &command.arguments;
        match &node.kind {
            NodeKind::Function(function) => {
                self.at_node(node);
                self.call(function, ErrorContext::Command(command), arguments, last)
            }
            NodeKind::Field(fields) => {
                self.at_node(node);
                let dot = self.dot.clone();
                self.fields(dot, fields, arguments, last)
            }
            NodeKind::Variable(variable) => {
                self.at_node(node);
                let value = self.variable(variable)?;
                // A variable without fields cannot have arguments. If there are fields, the last
                // field may be a method.
                if matches!(variable.fields, FieldNames::None) {
                    self.refuse_arguments(node, arguments, last.as_ref())?;
                    return Ok(value);
                }
                self.fields(value, &variable.fields, arguments, last)
            }
            NodeKind::Chain(chain) => {
                self.at_node(node);
                let base = self.chain_base(node, &chain.base)?;
                self.fields(base, &chain.fields, arguments, last)
            }
            NodeKind::Pipe(pipe) => {
                self.refuse_arguments(node, arguments, last.as_ref())?;
                self.pipeline(pipe)
            }
            _ => {
                self.at_node(node);
                self.refuse_arguments(node, arguments, last.as_ref())?;
                // `nil` is a valid argument, but not a valid command.
                if matches!(node.kind, NodeKind::Nil) {
                    return Err(self.fail("nil is not a command"));
                }
                self.constant(node)
            }
        }
    }

    fn refuse_arguments(
        &self,
        node: &Node,
        arguments: &[Node],
        last: Option<&DotValue<'a>>,
    ) -> Result<(), StopReason> {
        if arguments.is_empty() && last.is_none() {
            return Ok(());
        }
        let reason = format!("can't give argument to non-function {}", node.text());
        Err(self.fail(reason))
    }

    /// Returns the value of a literal, or of fields of the caller's variables, without a copy. The
    /// flag reports whether the value came through an interface. Returns `None` for other operands.
    pub(super) fn found(&self, node: &'a Node) -> Option<(&'a Value, bool)> {
        let (start, fields) = match &node.kind {
            NodeKind::Dot => (&self.dot, &[][..]),
            NodeKind::Field(fields) => (&self.dot, fields.as_slice()),
            NodeKind::Variable(variable) => {
                let value = self.slots.get(self.base + variable.slot?)?.as_ref()?;
                (value, variable.fields.as_slice())
            }
            _ => return literal(node).map(|value| (value, false)),
        };
        // This path handles only borrowed values, because values built by the template have
        // different rules for fields.
        let &DotValue::Core(mut value, boxed) = start else {
            return None;
        };
        for field in fields {
            // A missing key ends the fast path. The slow path handles the modes for missing values.
            value = value.as_map()?.get(field)?;
        }
        // The slow path also handles null, because a nil interface prints and compares differently.
        (!matches!(value, Value::Null)).then_some((value, boxed || !fields.is_empty()))
    }

    /// Evaluates an operand that is a parenthesized pipeline, without a required type.
    pub(super) fn operand(&mut self, node: &'a Node) -> Result<DotValue<'a>, StopReason> {
        match &node.kind {
            NodeKind::Field(fields) => {
                let dot = self.dot.clone();
                self.fields(dot, fields, &[], None)
            }
            NodeKind::Variable(variable) => {
                let value = self.variable(variable)?;
                self.fields(value, &variable.fields, &[], None)
            }
            NodeKind::Pipe(pipe) => self.pipeline(pipe),
            NodeKind::Function(function) => {
                self.call(function, ErrorContext::Node(node), &[], None)
            }
            NodeKind::Chain(chain) => {
                let base = self.chain_base(node, &chain.base)?;
                self.fields(base, &chain.fields, &[], None)
            }
            _ => self.constant(node),
        }
    }

    fn chain_base(&mut self, chain: &'a Node, base: &'a Node) -> Result<DotValue<'a>, StopReason> {
        // Go rejects `nil.Field` explicitly instead of reporting a missing key.
        if matches!(base.kind, NodeKind::Nil) {
            let reason = format!("indirection through explicit nil in {}", chain.text());
            return Err(self.fail(reason));
        }
        self.at_node(base);
        self.operand(base)
    }

    /// Evaluates the dot or a literal.
    fn constant(&mut self, node: &'a Node) -> Result<DotValue<'a>, StopReason> {
        if let Some(value) = literal(node) {
            return Ok(DotValue::core(value));
        }
        match &node.kind {
            NodeKind::Dot => Ok(self.dot.clone()),
            NodeKind::String(string) => match &string.text {
                StringText::Bytes(bytes) => Ok(DotValue::own(GoValue::Str(bytes.clone()))),
                StringText::Text(value) => Ok(DotValue::core(value)),
            },
            NodeKind::Number(number) => match number.ideal {
                UntypedKind::Complex(real, imaginary) => {
                    Ok(DotValue::own(GoValue::Complex(real, imaginary)))
                }
                // A literal without a value can only be an integer of more than 64 bits here.
                _ => Err(self.fail(format!("{} overflows int", number.text))),
            },
            _ => Ok(DotValue::Missing),
        }
    }

    fn variable(&mut self, variable: &'a VariableNode) -> Result<DotValue<'a>, StopReason> {
        let slot = self.reached(variable.slot)?;
        let value = slot.and_then(|slot| self.slots[slot].clone());
        value.ok_or_else(|| self.fail(format!("undefined variable: {}", variable.name)))
    }

    /// Follows fields. The arguments belong to the last field, if it is a method.
    fn fields(
        &mut self,
        mut receiver: DotValue<'a>,
        fields: &'a FieldNames,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        if arguments.is_empty() && last.is_none() {
            for field in fields.as_slice() {
                receiver = self.field(&receiver, field)?;
            }
            return Ok(receiver);
        }
        let Some((method, names)) = fields.as_slice().split_last() else {
            return Ok(receiver);
        };
        for field in names {
            receiver = self.field(&receiver, field)?;
        }
        self.method(&receiver, method, arguments, last)
    }

    fn field(
        &mut self,
        receiver: &DotValue<'a>,
        name: &'a str,
    ) -> Result<DotValue<'a>, StopReason> {
        match receiver {
            DotValue::Core(Value::Map(map), _) => match map.get(name) {
                Some(value) => Ok(DotValue::element(value)),
                None => self.missing_key(name, GoType::Any),
            },
            DotValue::Own(GoValue::Map(map), _) => self.field_of_map(map, name),
            // Go treats missing data as an empty map, unless `missingkey=error` is set.
            DotValue::Missing if self.compiled.missing == Missing::Strict => {
                let name = super::quote(name);
                Err(self.missing(format!("nil data; no entry for key {name}")))
            }
            DotValue::Missing => Ok(DotValue::Missing),
            DotValue::Pending => Ok(DotValue::Pending),
            DotValue::Nil => {
                let reason = format!("nil pointer evaluating interface {{}}.{name}");
                Err(self.fail(reason))
            }
            DotValue::Own(value, _) => match value.member(name, &[]) {
                Some(result) => self.member_result(name, result),
                None => Err(self.no_field(receiver, name)),
            },
            DotValue::Core(..) => Err(self.no_field(receiver, name)),
        }
    }

    fn no_field(&self, receiver: &DotValue<'a>, name: &str) -> StopReason {
        let go_type = receiver.receiver_type();
        self.fail(format!("can't evaluate field {name} in type {go_type}"))
    }

    fn field_of_map(&mut self, map: &GoMap, name: &str) -> Result<DotValue<'a>, StopReason> {
        // A fallback value has every field, so templates continue after a failed call.
        if let Some(core) = map.as_core().filter(|core| core.is_fallback()) {
            let value = core.fallback_field(name);
            return Ok(DotValue::own_element(value.into(), GoType::Any));
        }
        match map.get(name.as_bytes()) {
            Some(value) => Ok(DotValue::own_element(value, map.element())),
            None => self.missing_key(name, map.element()),
        }
    }

    fn missing_key(&mut self, name: &str, element: GoType) -> Result<DotValue<'a>, StopReason> {
        match self.compiled.missing {
            Missing::Default | Missing::Empty => Ok(DotValue::Missing),
            Missing::Zero => Ok(DotValue::own(GoValue::zero(element))),
            Missing::Strict => {
                let name = super::quote(name);
                Err(self.missing(format!("map has no entry for key {name}")))
            }
        }
    }

    /// Evaluates a field with arguments, which only a method can take.
    fn method(
        &mut self,
        receiver: &DotValue<'a>,
        name: &'a str,
        arguments: &'a [Node],
        last: Option<DotValue<'a>>,
    ) -> Result<DotValue<'a>, StopReason> {
        match receiver {
            DotValue::Core(Value::Map(_), _) | DotValue::Own(GoValue::Map(_), _) => {
                Err(self.fail(format!("{name} is not a method but has arguments")))
            }
            DotValue::Own(value @ GoValue::Object(_), _) => {
                let (base, mut hole) = (self.values.len(), matches!(last, Some(DotValue::Pending)));
                for argument in arguments {
                    hole |= !self.push_argument(argument, GoType::Any)?;
                }
                let mut values = self.values.split_off(base);
                // Checked after the arguments were evaluated, so that the calls in them are
                // registered.
                if hole {
                    return Ok(DotValue::Pending);
                }
                values.extend(last.map(DotValue::into_value));
                match value.member(name, &values) {
                    Some(result) => self.member_result(name, result),
                    None => Err(self.no_field(receiver, name)),
                }
            }
            other => self.field(other, name),
        }
    }

    fn member_result(
        &mut self,
        name: &str,
        result: Result<GoValue, FunctionError>,
    ) -> Result<DotValue<'a>, StopReason> {
        match result {
            Ok(value) => Ok(DotValue::own(value)),
            Err(FunctionError::Stop(stop)) => Err(stop),
            Err(FunctionError::Pending) => Ok(DotValue::Pending),
            Err(FunctionError::Message(message)) => {
                Err(self.fail(format!("error calling {name}: {message}")))
            }
        }
    }
}

fn literal(node: &Node) -> Option<&Value> {
    match &node.kind {
        NodeKind::Bool(value) => Some(value),
        NodeKind::String(string) => match &string.text {
            StringText::Text(value) => Some(value),
            StringText::Bytes(_) => None,
        },
        NodeKind::Number(number) => match &number.ideal {
            UntypedKind::Real(value) => Some(value),
            _ => None,
        },
        _ => None,
    }
}
