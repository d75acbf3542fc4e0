//! Calls of an evaluation, and handling of missing results.

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
    /// The result is not available yet, because the call is made after this pass. To print the
    /// value, an evaluator prints nothing and continues. To inspect it, an evaluator skips the
    /// statement and records this with [`Pass::skip`]. It continues with the next statement if that
    /// is evaluated in any case and does not depend on anything that the skipped one would have
    /// set. If not, it returns [`StopReason::Suspended`].
    Pending,
}

/// A call that a pass has reached.
#[derive(Debug)]
pub(crate) struct PassCall {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: CallArguments,
    /// Location of the call. Empty for idempotent functions, whose calls are identified by their
    /// arguments.
    site: Site,
    /// Result of the call. `None` until the call has completed.
    pub(crate) result: Option<Result<Value, CallError>>,
    /// Length of the call's chain, including this call.
    pub(crate) depth: usize,
    /// The previous call in the chain.
    pub(crate) cause: Option<usize>,
    /// Whether a pass has skipped a statement or ended because the result is missing.
    pub(crate) looked: bool,
    /// Index of the call in the scheduler, if it was started.
    pub(crate) job: Option<usize>,
    /// Whether the current pass has reached the call.
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

/// The calls of an entry, and the parent of the calls that are registered next.
#[derive(Debug, Default)]
pub(crate) struct PassCalls {
    pub(crate) all: Vec<PassCall>,
    /// The call whose result started this pass.
    pub(crate) cause: Option<usize>,
    /// Whether [`Pass::stop`] ended the previous pass. If so, newly reached calls did not wait for
    /// a result, so they do not extend a chain.
    pub(crate) stopped: bool,
}

impl PassCalls {
    /// Resets the state at the beginning of a pass.
    pub(super) fn begin_pass(&mut self) {
        for call in &mut self.all {
            call.met = false;
        }
    }

    /// Returns the names of the calls in the chain that ends in this call, in order.
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

    /// Returns a call that an earlier pass reached and the current complete pass did not.
    pub(crate) fn unmet(&self, functions: &dyn FunctionHost) -> Option<&PassCall> {
        // Equal idempotent calls share one entry, so a pass may reach fewer of them without an
        // error.
        let unmet = |call: &&PassCall| !call.met && !functions.idempotent(&call.name);
        self.all.iter().find(unmet)
    }
}

impl Pass<'_> {
    /// Records that the evaluator skipped a statement, because the statement needs the result of a
    /// pending call. The statement must not have written anything, and the pass continues.
    ///
    /// Call this only if the following text is evaluated regardless of the result, and does not
    /// depend on anything that the statement would have set.
    pub fn skip(&mut self) {
        self.skip_since(0);
    }

    /// Returns the current number of placeholders, for [`Pass::skip_since`].
    #[inline]
    pub(crate) fn holes(&self) -> usize {
        self.holes.len()
    }

    /// Like [`Pass::skip`], for a statement that began when there were `first` placeholders. If the
    /// statement reached none, it read a variable that may depend on any earlier placeholder.
    #[cold]
    pub(crate) fn skip_since(&mut self, first: usize) {
        self.pending = true;
        // The variable that the statement read depends on an unknown placeholder, so all
        // placeholders are marked as needed.
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

    /// Whether [`Pass::stop`] ended the pass. If so, the evaluation must not continue.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Enters a location with calls in it: a loop, a macro call, an include.
    #[inline]
    pub(crate) fn enter(&mut self, place: usize) {
        self.path.push(place);
    }

    /// Sets the iteration of the last entered loop.
    #[inline]
    pub(crate) fn turn(&mut self, turn: usize) {
        // The location of a loop is pushed once, and each iteration overwrites it without an
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

    /// Leaves all locations that were entered since [`Pass::entered`] returned this number.
    #[inline]
    pub(crate) fn leave(&mut self, entered: usize) {
        self.path.truncate(entered);
    }

    /// Calls a function, and passes each parameter the variable of the same name. This is for
    /// formats whose syntax has no arguments.
    ///
    /// # Errors
    /// Returns the errors of [`Pass::call`].
    pub fn call_bound(&mut self, name: &str) -> Result<CallState, StopReason> {
        self.call_bound_at(&[], name)
    }

    /// Like [`Pass::call_bound`], but with a location, see [`Pass::call_at`].
    pub(crate) fn call_bound_at(
        &mut self,
        place: &[usize],
        name: &str,
    ) -> Result<CallState, StopReason> {
        // A parameter without a variable is omitted, so that the function's default applies.
        let wanted = self.parameters(name).unwrap_or_default();
        let known = |name: String| Some((name.clone(), self.variables.get(&name)?.clone()));
        let arguments = CallArguments {
            positional: Vec::new(),
            named: wanted.into_iter().filter_map(known).collect(),
        };
        self.call_at(place, name, arguments)
    }

    /// Calls a late-bound function. If a function is idempotent, calls with equal arguments are
    /// made only once. For other functions, calls with the same name and arguments are matched
    /// between passes in order.
    ///
    /// # Errors
    /// Returns an error if the function does not exist, if there are too many calls, or if the call
    /// failed.
    pub fn call(&mut self, name: &str, arguments: CallArguments) -> Result<CallState, StopReason> {
        self.call_at(&[], name, arguments)
    }

    /// Like [`Pass::call`], for a format that reports locations. A call keeps its identity even if
    /// other calls are skipped in a pass. `place` is the position in the source, and
    /// [`Pass::enter`] records the enclosing locations.
    pub(crate) fn call_at(
        &mut self,
        place: &[usize],
        name: &str,
        arguments: CallArguments,
    ) -> Result<CallState, StopReason> {
        // A tool that knew the marks could forge structure in its result.
        let arguments = arguments.without_marks();
        if !self.functions.contains(name) {
            return Err(self.unknown(name));
        }
        let idempotent = self.functions.idempotent(name);
        // Idempotent calls have no location, because equal calls anywhere are the same call.
        let mut site = Site::new();
        if !idempotent {
            site.extend_from_slice(&self.path);
            site.extend_from_slice(place);
        }
        let same = |call: &PassCall| {
            // `met` distinguishes repeated calls at one location. Each pass matches such calls in
            // order.
            (idempotent || !call.met && call.site == site)
                && *call.name == *name
                && call.arguments == arguments
        };
        let known = match self.calls.all.iter().position(same) {
            Some(known) => known,
            None => self.register(name, arguments, site)?,
        };
        // Unreachable, because `known` was just found or registered. A pending call is a safe
        // result.
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
            // After a stop, the newly reached calls did not wait for the previous result. New calls
            // get the same depth as the call before the stop.
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
