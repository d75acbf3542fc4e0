//! Templates called by functions: what one writes becomes a value.
//!
//! Unlike `{{template}}` this uses the native stack, since a function waits in
//! the middle of an expression. The depth is bounded like that of templates,
//! and by what the stack has been found to take.

use crate::error::{ErrorKind, RenderError};
use crate::limits::LimitKind;
use crate::pass::StopReason;
use crate::structure;

use super::super::function::{FunctionContext, FunctionError};
use super::super::template::GoTemplate;
use super::super::value::GoValue;
use super::item::DotValue;
use super::{Executor, quote};

/// Native stack that nested calls may use before the next one is refused, in
/// bytes: a quarter of what the threads of the runtime have.
const MAX_STACK: usize = 512 << 10;

/// The evaluation that calls a function.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Caller<'a> {
    compiled: &'a GoTemplate,
    /// Templates that wait for this one.
    depth: usize,
    /// Where the native stack was when the first of them began.
    stack: usize,
}

impl<'a> Executor<'a, '_, '_> {
    pub(super) fn caller(&self) -> Caller<'a> {
        Caller {
            compiled: self.compiled,
            depth: self.outer + self.callers.len(),
            stack: self.stack,
        }
    }
}

/// Evaluates a template and gives what it wrote.
///
/// # Errors
/// There is no such template, it fails, it waits for a call, or templates call
/// each other too deeply.
pub(in super::super) fn include(
    context: &mut FunctionContext<'_, '_>,
    name: &str,
    dot: GoValue,
) -> Result<GoValue, FunctionError> {
    let caller = context.caller;
    let Some(definition) = caller.compiled.definition(name) else {
        let name = quote(name);
        return Err(format!("template {name} not defined").into());
    };
    let most = context.pass.limits().nesting;
    if caller.depth >= most || stack_place().abs_diff(caller.stack) > MAX_STACK {
        let reason = format!("exceeded maximum template depth ({most})");
        let kind = ErrorKind::Limit(LimitKind::Nesting);
        return Err(StopReason::from(RenderError::new(kind, reason)).into());
    }
    let held = context.pass.capture();
    let mut executor = Executor::new(
        caller.compiled,
        definition,
        DotValue::own(dot),
        &mut *context.pass,
    );
    executor.outer = caller.depth + 1;
    executor.stack = caller.stack;
    std::mem::swap(&mut executor.state, context.state);
    let result = executor.run().map_err(|stop| executor.place(stop));
    std::mem::swap(&mut executor.state, context.state);
    let (text, pending) = context.pass.release(held);
    match result {
        Err(failed) => return Err(failed.into()),
        Ok(()) if pending => return Err(FunctionError::Pending),
        Ok(()) => {}
    }
    context.charge(text.len())?;
    // A function may change the text, and with it the secret in its marks.
    // What has to keep its messages is written with `{{template}}`.
    Ok(structure::strip(text).into())
}

/// A place on the native stack, to compare with others of the same thread.
#[inline(never)]
pub(super) fn stack_place() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
