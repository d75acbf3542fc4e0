//! Calls of one evaluation: which there are, and what is done without their results.

use std::sync::Arc;

use quillet_core::{Value, nearest};
use smallvec::SmallVec;

use super::{Pass, StopReason};
use crate::call::{CallArguments, CallError, FunctionHost};
use crate::error::{ErrorKind, RenderError};
use crate::limits::LimitKind;

/// The result of a call to a late-bound function, as far as it is known.
#[derive(Clone, Debug)]
pub enum CallState {
    /// The value.
    Ready(Value),
    /// The call will be made when this pass is over. An evaluator that only
    /// wanted to print the value prints nothing and goes on. One that has to
    /// look into it leaves the statement out, says so with [`Pass::skip`], and goes
    /// on with the next one, if that one is certain to be evaluated and reads
    /// nothing that the statement would have set; else it returns [`StopReason::Suspended`].
    Pending,
}

/// Where a call stands: the loop turns, macro calls and includes that led there,
/// then the place in the source. Empty for formats that do not say.
pub(super) type Site = SmallVec<[usize; 8]>;

/// A call that a pass has met.
#[derive(Debug)]
pub(crate) struct PassCall {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: CallArguments,
    /// Empty for idempotent functions, whose calls are known by value.
    site: Site,
    /// `None` until the call has ended.
    pub(crate) result: Option<Result<Value, CallError>>,
    /// How many calls its chain has, this one included.
    pub(crate) depth: usize,
    /// The call before it in its chain.
    pub(crate) cause: Option<usize>,
    /// Whether a pass could not go on somewhere without its result.
    pub(crate) looked: bool,
    /// Whether it was started, and as which of the loop's calls.
    pub(crate) job: Option<usize>,
    /// Whether this pass has met it.
    met: bool,
}

impl PassCall {
    /// The error of a call that has failed.
    pub(crate) fn failure(&self) -> Option<Box<RenderError>> {
        let Some(Err(error)) = &self.result else {
            return None;
        };
        let reason = format!("error calling {}: {error}", self.name);
        Some(RenderError::new(ErrorKind::CallFailed, reason).into())
    }
}

/// The calls of one entry, and where the chain of what is registered next begins.
#[derive(Debug, Default)]
pub(crate) struct PassCalls {
    pub(crate) all: Vec<PassCall>,
    /// The call whose result made this pass worth while.
    pub(crate) cause: Option<usize>,
    /// Whether the pass before ended early of its own will: what it did not reach
    /// waited for its place and not for a result, so it makes no chain longer.
    pub(crate) stopped: bool,
}

impl PassCalls {
    /// A pass begins, which has met none of them.
    pub(super) fn begin_pass(&mut self) {
        for call in &mut self.all {
            call.met = false;
        }
    }

    /// The names of a chain that ends in this call, first to last.
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

    /// A call that an earlier pass has met and this one, at its end, has not.
    pub(crate) fn unmet(&self, functions: &dyn FunctionHost) -> Option<&PassCall> {
        let unmet = |call: &&PassCall| !call.met && !functions.idempotent(&call.name);
        self.all.iter().find(unmet)
    }
}

impl Pass<'_> {
    /// A statement could not be evaluated because the result of a call that it
    /// looks into is pending. It has written nothing, and the pass goes on.
    ///
    /// Only a format that is certain of it may go on: what follows has to be evaluated whatever the
    /// result is, and must not read what the statement would have set.
    pub fn skip(&mut self) {
        self.skip_since(0);
    }

    /// How many holes were met so far, for [`Pass::skip_since`].
    #[inline]
    pub(crate) fn holes(&self) -> usize {
        self.holes.len()
    }

    /// The same where it is known that the statement met the holes from there on.
    /// If it met none it read a variable, which may be any of them.
    #[cold]
    pub(crate) fn skip_since(&mut self, first: usize) {
        self.pending = true;
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

    /// Ends the pass here: nothing is known of what follows.
    #[cold]
    pub(crate) fn stop(&mut self) -> StopReason {
        self.skip_since(0);
        self.stopped = true;
        StopReason::Suspended
    }

    /// Whether the pass was ended by [`Pass::stop`], so that nobody goes on.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// From here on, calls stand inside this place: a loop, a macro call, an include.
    #[inline]
    pub(crate) fn enter(&mut self, place: usize) {
        self.path.push(place);
    }

    /// The turn of the loop that was entered last.
    #[inline]
    pub(crate) fn turn(&mut self, turn: usize) {
        if let Some(last) = self.path.last_mut() {
            *last = turn;
        }
    }

    /// How many places were entered, for [`Pass::leave`].
    #[inline]
    pub(crate) fn entered(&self) -> usize {
        self.path.len()
    }

    /// Leaves all places that were entered since.
    #[inline]
    pub(crate) fn leave(&mut self, entered: usize) {
        self.path.truncate(entered);
    }

    /// Calls a function with the variables that have the names of its
    /// parameters: for formats whose syntax has no arguments.
    ///
    /// # Errors
    /// As [`Pass::call`].
    pub fn call_bound(&mut self, name: &str) -> Result<CallState, StopReason> {
        self.call_bound_at(&[], name)
    }

    /// The same, see [`Pass::call_at`].
    pub(crate) fn call_bound_at(
        &mut self,
        place: &[usize],
        name: &str,
    ) -> Result<CallState, StopReason> {
        let wanted = self.parameters(name).unwrap_or_default();
        let known = |name: String| Some((name.clone(), self.variables.get(&name)?.clone()));
        let arguments = CallArguments {
            positional: Vec::new(),
            named: wanted.into_iter().filter_map(known).collect(),
        };
        self.call_at(place, name, arguments)
    }

    /// Calls a late-bound function. Equal calls of an idempotent function are one
    /// call. Of others each is one of its own: the first that a pass meets of those
    /// with this name and these arguments is the first that the pass before met.
    ///
    /// # Errors
    /// There is no such function, too many calls, or a call that failed.
    pub fn call(&mut self, name: &str, arguments: CallArguments) -> Result<CallState, StopReason> {
        self.call_at(&[], name, arguments)
    }

    /// The same for a format that knows where the call stands, so that it is distinguished from
    /// others whatever the passes leave out: `place` is the place in the source, [`Pass::enter`]
    /// what led there.
    pub(crate) fn call_at(
        &mut self,
        place: &[usize],
        name: &str,
        arguments: CallArguments,
    ) -> Result<CallState, StopReason> {
        let arguments = arguments.without_marks();
        if !self.functions.contains(name) {
            return Err(self.unknown(name));
        }
        let idempotent = self.functions.idempotent(name);
        let mut site = Site::new();
        if !idempotent {
            site.extend_from_slice(&self.path);
            site.extend_from_slice(place);
        }
        let same = |call: &PassCall| {
            (idempotent || !call.met && call.site == site)
                && *call.name == *name
                && call.arguments == arguments
        };
        let known = match self.calls.all.iter().position(same) {
            Some(known) => known,
            None => self.register(name, arguments, site)?,
        };
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
