//! Calls of one evaluation, and handling of missing results.

use std::sync::Arc;

use quillet_core::{Value, nearest};

use super::site::Site;
use super::{Pass, StopReason};
use crate::call::{CallArguments, CallError, FunctionHost};
use crate::error::{ErrorKind, RenderError};
use crate::limits::LimitKind;

/// The result of a late-bound call, if available.
#[derive(Clone, Debug)]
pub enum CallState {
    /// The value.
    Ready(Value),
    /// The call is made after this pass. To print the value, an evaluator prints nothing and
    /// continues. To inspect it, an evaluator skips the statement, records that with
    /// [`Pass::skip`], and continues with the next one, provided that one is certain to be
    /// evaluated and reads nothing that the skipped one would have set. Otherwise it returns
    /// [`StopReason::Suspended`].
    Pending,
}

/// A call that a pass has reached.
#[derive(Debug)]
pub(crate) struct PassCall {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: CallArguments,
    /// Empty for idempotent functions, whose calls are identified by value.
    site: Site,
    /// `None` until the call has completed.
    pub(crate) result: Option<Result<Value, CallError>>,
    /// Length of its chain, including this call.
    pub(crate) depth: usize,
    /// The previous call in its chain.
    pub(crate) cause: Option<usize>,
    /// Whether a pass could not continue somewhere without its result.
    pub(crate) looked: bool,
    /// Index of the call in the scheduler, if it was started.
    pub(crate) job: Option<usize>,
    /// Whether this pass has reached it.
    met: bool,
}

impl PassCall {
    /// Returns the error of a failed call.
    pub(crate) fn failure(&self) -> Option<Box<RenderError>> {
        let Some(Err(error)) = &self.result else {
            return None;
        };
        let reason = format!("error calling {}: {error}", self.name);
        Some(RenderError::new(ErrorKind::CallFailed, reason).into())
    }
}

/// The calls of one entry, and the parent of the calls registered next.
#[derive(Debug, Default)]
pub(crate) struct PassCalls {
    pub(crate) all: Vec<PassCall>,
    /// The call whose result triggered this pass.
    pub(crate) cause: Option<usize>,
    /// Whether the previous pass was ended by [`Pass::stop`]: calls it did not reach waited for
    /// their turn, not for a result, so they do not extend a chain.
    pub(crate) stopped: bool,
}

impl PassCalls {
    /// Resets the state at the beginning of a pass.
    pub(super) fn begin_pass(&mut self) {
        for call in &mut self.all {
            call.met = false;
        }
    }

    /// Returns the names of the chain that ends in this call, first to last.
    pub(crate) fn chain(&self, last: usize) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        let mut next = Some(last);
        while let Some(call) = next.and_then(|index| self.all.get(index)) {
            names.push(Arc::clone(&call.name));
            next = call.cause;
        }
        names.reverse();
        names
    }

    /// Returns a call that an earlier pass reached and this complete pass did not.
    pub(crate) fn unmet(&self, functions: &dyn FunctionHost) -> Option<&PassCall> {
        // Equal idempotent calls share one entry, so a pass may reach fewer of them legitimately.
        let unmet = |call: &&PassCall| !call.met && !functions.idempotent(&call.name);
        self.all.iter().find(unmet)
    }
}

impl Pass<'_> {
    /// Records that a statement was skipped because it needs the result of a pending call. The
    /// statement has written nothing, and the pass continues.
    ///
    /// A format may continue only if the following text is evaluated whatever the result is, and
    /// does not read anything that the statement would have set.
    pub fn skip(&mut self) {
        self.skip_since(0);
    }

    /// Returns the number of placeholders so far, for [`Pass::skip_since`].
    #[inline]
    pub(crate) fn holes(&self) -> usize {
        self.holes.len()
    }

    /// Same, for a statement that reached the placeholders since `holes`. If there are none, it
    /// read a variable, which may depend on any of them.
    #[cold]
    pub(crate) fn skip_since(&mut self, first: usize) {
        self.pending = true;
        // If the statement itself reached no placeholder, it read a variable that depends on one;
        // which one is unknown, so all are marked.
        let met = match self.holes.get(first..) {
            Some(met) if !met.is_empty() => met,
            _ => &self.holes,
        };
        for hole in met {
            if let Some(call) = self.calls.all.get_mut(*hole) {
                call.looked = true;
            }
        }
    }

    /// Ends the pass here, because the following text is unknown.
    #[cold]
    pub(crate) fn stop(&mut self) -> StopReason {
        self.skip_since(0);
        self.stopped = true;
        StopReason::Suspended
    }

    /// Whether [`Pass::stop`] ended the pass, so evaluation must not continue.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Enters a location that contains calls: a loop, a macro call, an include.
    #[inline]
    pub(crate) fn enter(&mut self, place: usize) {
        self.path.push(place);
    }

    /// Sets the iteration of the last loop entered.
    #[inline]
    pub(crate) fn turn(&mut self, turn: usize) {
        // The location of a loop is pushed once and overwritten per iteration, which needs no
        // allocation.
        if let Some(last) = self.path.last_mut() {
            *last = turn;
        }
    }

    /// Returns the number of entered locations, for [`Pass::leave`].
    #[inline]
    pub(crate) fn entered(&self) -> usize {
        self.path.len()
    }

    /// Leaves all locations that were entered since.
    #[inline]
    pub(crate) fn leave(&mut self, entered: usize) {
        self.path.truncate(entered);
    }

    /// Calls a function with the variables that have the names of its parameters: for formats whose
    /// syntax has no arguments.
    ///
    /// # Errors
    /// Same as [`Pass::call`].
    pub fn call_bound(&mut self, name: &str) -> Result<CallState, StopReason> {
        self.call_bound_at(&[], name)
    }

    /// Same with a location, see [`Pass::call_at`].
    pub(crate) fn call_bound_at(
        &mut self,
        place: &[usize],
        name: &str,
    ) -> Result<CallState, StopReason> {
        // Parameters without a variable of that name are omitted, so the function's defaults apply.
        let wanted = self.parameters(name).unwrap_or_default();
        let known = |name: String| Some((name.clone(), self.variables.get(&name)?.clone()));
        let arguments = CallArguments {
            positional: Vec::new(),
            named: wanted.into_iter().filter_map(known).collect(),
        };
        self.call_at(place, name, arguments)
    }

    /// Calls a late-bound function. Equal calls of an idempotent function share one call. Calls of
    /// other functions are matched between passes by order among those with the same name and
    /// arguments.
    ///
    /// # Errors
    /// Returns an error if the function does not exist, there are too many calls, or the call
    /// failed.
    pub fn call(&mut self, name: &str, arguments: CallArguments) -> Result<CallState, StopReason> {
        self.call_at(&[], name, arguments)
    }

    /// Same for a format that reports locations, so the call keeps its identity even if passes skip
    /// other calls: `place` is the position in the source; [`Pass::enter`] records the enclosing
    /// locations.
    pub(crate) fn call_at(
        &mut self,
        place: &[usize],
        name: &str,
        arguments: CallArguments,
    ) -> Result<CallState, StopReason> {
        // A tool that saw the marks could forge structure in its result.
        let arguments = arguments.without_marks();
        if !self.functions.contains(name) {
            return Err(self.unknown(name));
        }
        let idempotent = self.functions.idempotent(name);
        // An idempotent call has no location: equal calls anywhere are the same call.
        let mut site = Site::new();
        if !idempotent {
            site.extend_from_slice(&self.path);
            site.extend_from_slice(place);
        }
        let same = |call: &PassCall| {
            // `met` keeps repeated calls at one location apart: each pass matches them in order.
            (idempotent || !call.met && call.site == site)
                && *call.name == *name
                && call.arguments == arguments
        };
        let known = match self.calls.all.iter().position(same) {
            Some(known) => known,
            None => self.register(name, arguments, site)?,
        };
        // Cannot happen, since `known` was just found or registered; pending is the safe answer.
        let Some(call) = self.calls.all.get_mut(known) else {
            return Ok(CallState::Pending);
        };
        call.met = true;
        if let Some(failure) = call.failure() {
            return Err(StopReason::Failed(failure));
        }
        if let Some(Ok(value)) = &call.result {
            return Ok(CallState::Ready(value.clone()));
        }
        self.holes.push(known);
        self.pending = true;
        Ok(CallState::Pending)
    }

    fn register(
        &mut self,
        name: &str,
        arguments: CallArguments,
        site: Site,
    ) -> Result<usize, StopReason> {
        let calls = &mut *self.calls;
        if calls.all.len() >= self.limits.calls {
            return Err(self.limit(LimitKind::Calls));
        }
        let before = calls.cause.and_then(|cause| calls.all.get(cause));
        let before = before.map_or((0, None), |cause| {
            // After a stop, the calls behind it were merely not reached yet; they take the depth of
            // the call before the stop.
            if calls.stopped {
                (cause.depth.saturating_sub(1), cause.cause)
            } else {
                (cause.depth, calls.cause)
            }
        });
        calls.all.push(PassCall {
            name: name.into(),
            arguments,
            site,
            result: None,
            depth: before.0 + 1,
            cause: before.1,
            looked: false,
            job: None,
            met: false,
        });
        Ok(calls.all.len() - 1)
    }

    fn unknown(&self, name: &str) -> StopReason {
        let mut error = RenderError::new(
            ErrorKind::UnknownFunction,
            format!("function {name:?} not defined"),
        );
        error.help =
            nearest(name, self.functions.names()).map(|near| format!("did you mean {near}?"));
        error.into()
    }
}
