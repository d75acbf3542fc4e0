//! Templates called by functions: their output becomes a value.
//!
//! Unlike `{{template}}` this uses the native stack, because a function waits in the middle of an
//! expression. The depth is bounded like that of templates, and by the native stack that is left.

use crate::error::{ErrorKind, RenderError};
use crate::limits::LimitKind;
use crate::pass::StopReason;
use crate::structure;

use super::super::function::{FunctionContext, FunctionError};
use super::super::template::GoTemplate;
use super::super::value::GoValue;
use super::item::DotValue;
use super::{Executor, quote};

/// Native stack in bytes that nested calls may use before the next one is rejected: a quarter of
/// the stack of the runtime's threads.
const MAX_STACK: usize = 512 << 10;

/// The evaluation that calls a function.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Caller<'a> {
    compiled: &'a GoTemplate,
    /// Number of templates that wait for this one.
    depth: usize,
    /// Position on the native stack when the first of them began.
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

/// Evaluates a template and returns its output.
///
/// # Errors
/// Returns an error if the template does not exist, fails, waits for a call, or if templates call
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
    // The native stack is checked in addition to the depth, because a debug build needs far more
    // per level.
    if caller.depth >= most || stack_place().abs_diff(caller.stack) > MAX_STACK {
        let reason = format!("exceeded maximum template depth ({most})");
        let kind = ErrorKind::Limit(LimitKind::Nesting);
        return Err(StopReason::from(RenderError::new(kind, reason)).into());
    }
    // The text is captured, since a pipeline may still change it.
    let held = context.pass.capture();
    let mut executor = Executor::new(
        caller.compiled,
        definition,
        DotValue::own(dot),
        &mut *context.pass,
    );
    executor.outer = caller.depth + 1;
    executor.stack = caller.stack;
    // Random values and other state continue across the included template instead of starting
    // again.
    std::mem::swap(&mut executor.state, context.state);
    let result = executor.run().map_err(|stop| executor.place(stop));
    std::mem::swap(&mut executor.state, context.state);
    let (text, pending) = context.pass.release(held);
    match result {
        Err(failed) => return Err(failed.into()),
        // Text with a gap must not become a value.
        Ok(()) if pending => return Err(FunctionError::Pending),
        Ok(()) => {}
    }
    context.charge(text.len())?;
    // A function may change the text, including the secret in its marks. Text that must keep its
    // messages uses `{{template}}`.
    Ok(structure::strip(text).into())
}

/// Returns a position on the native stack, to compare with others of the same thread.
#[inline(never)]
pub(super) fn stack_place() -> usize {
    let here = 0_u8;
    // `black_box` keeps the variable on the stack, so its address is a measure of the depth.
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
