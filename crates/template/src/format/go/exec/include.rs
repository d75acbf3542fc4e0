//! Functions that call a template and return its output as a value.
//!
//! Unlike `{{template}}`, these calls use the native stack, because the function waits inside an
//! expression. Two limits bound their depth: the one for templates, and one for the used native
//! stack.

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
    /// Number of templates that wait for the current one.
    depth: usize,
    /// Position on the native stack where the outermost of these templates began.
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
/// Returns an error if the template does not exist, fails, or waits for a call, or if the calls of
/// templates are nested too deeply.
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
    // A limit on the depth is not enough, because a debug build needs far more native stack per
    // level.
    if caller.depth >= most || stack_place().abs_diff(caller.stack) > MAX_STACK {
        let reason = format!("exceeded maximum template depth ({most})");
        let kind = ErrorKind::Limit(LimitKind::Nesting);
        return Err(StopReason::from(RenderError::new(kind, reason)).into());
    }
    // The output is captured, because a pipeline may still change it.
    let held = context.pass.capture();
    let mut executor = Executor::new(
        caller.compiled,
        definition,
        DotValue::own(dot),
        &mut *context.pass,
    );
    executor.outer = caller.depth + 1;
    executor.stack = caller.stack;
    // The included template continues with the same random values and other state.
    std::mem::swap(&mut executor.state, context.state);
    let result = executor.run().map_err(|stop| executor.place(stop));
    std::mem::swap(&mut executor.state, context.state);
    let (text, pending) = context.pass.release(held);
    match result {
        Err(failed) => return Err(failed.into()),
        // Text with a missing part must not become a value.
        Ok(()) if pending => return Err(FunctionError::Pending),
        Ok(()) => {}
    }
    context.charge(text.len())?;
    // The marks are removed, because a function may change the text and break them. `{{template}}`
    // keeps the messages of a template.
    Ok(structure::strip(text).into())
}

/// Returns a position on the native stack. Only positions on the same thread are comparable.
#[inline(never)]
pub(super) fn stack_place() -> usize {
    let here = 0_u8;
    // `black_box` keeps the variable on the stack, so its address shows the depth.
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}
