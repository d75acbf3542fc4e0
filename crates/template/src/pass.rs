//! One evaluation of one source: what a format's evaluator may do.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use quillet_core::{Map, Span, Value, nearest};
use smallvec::SmallVec;

use crate::call::{Arguments, CallError, Functions};
use crate::error::{ErrorKind, RenderError};
use crate::limits::{Limit, Limits};
use crate::segment::Origins;

/// Why an evaluation ended early.
#[derive(Debug)]
pub enum Stop {
    /// It needs the result of a pending call.
    Suspended,
    /// It cannot go on. The evaluator adds the place where it knows one.
    Failed(Box<RenderError>),
}

impl Stop {
    /// The same; a failure gets its place, unless it has one, see [`RenderError::at`].
    #[must_use]
    pub fn at(self, source: &str, text: &str, span: Span) -> Self {
        match self {
            Stop::Failed(error) => error.at(source, text, span).into(),
            Stop::Suspended => self,
        }
    }
}

impl Stop {
    /// Whether a value was not what an operation needs. Where a failed call's
    /// stand-in is among its operands, the render goes on with nothing.
    pub(crate) fn is_of_values(&self) -> bool {
        let kind = match self {
            Stop::Failed(error) => error.kind,
            Stop::Suspended => return false,
        };
        matches!(kind, ErrorKind::Execution | ErrorKind::MissingVariable)
    }
}

impl From<RenderError> for Stop {
    fn from(error: RenderError) -> Self {
        Stop::Failed(Box::new(error))
    }
}

/// What a call to a late-bound function gives at this moment.
#[derive(Clone, Debug)]
pub enum Called {
    /// The value.
    Ready(Value),
    /// The call will be made when this pass is over. An evaluator that only
    /// wanted to print the value prints nothing and goes on. One that has to
    /// look into it leaves the statement out, says so with [`Pass::skip`], and goes
    /// on with the next one, if that one is certain to be evaluated and reads
    /// nothing that the statement would have set; else it returns [`Stop::Suspended`].
    Pending,
}

/// Where a call stands: the loop turns, macro calls and includes that led there,
/// then the place in the source. Empty for formats that do not say.
type Site = SmallVec<[usize; 8]>;

/// A call that a pass has met.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: Arc<str>,
    pub(crate) arguments: Arguments,
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

impl Call {
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
pub(crate) struct Calls {
    pub(crate) all: Vec<Call>,
    /// The call whose result made this pass worth while.
    pub(crate) cause: Option<usize>,
    /// Whether the pass before ended early of its own will: what it did not reach
    /// waited for its place and not for a result, so it makes no chain longer.
    pub(crate) stopped: bool,
}

impl Calls {
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
    pub(crate) fn unmet(&self, functions: &dyn Functions) -> Option<&Call> {
        let unmet = |call: &&Call| !call.met && !functions.idempotent(&call.name);
        self.all.iter().find(unmet)
    }
}

/// Values over this size are charged for their copy too.
const COPIED_BYTES: usize = 4 << 20;

/// How often the clock is read: once in this many steps.
const STEPS_PER_CLOCK: usize = 1024;

/// The times of one render.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) deadline: Instant,
    /// The time of day, once a template asks for it.
    now: OnceLock<SystemTime>,
}

impl Clock {
    pub(crate) fn starting(time: Duration) -> Self {
        Clock {
            deadline: Instant::now() + time,
            now: OnceLock::new(),
        }
    }
}

/// One evaluation of one source. The evaluator reads variables, writes text,
/// calls functions and counts its steps here.
pub struct Pass<'a> {
    variables: &'a Map,
    functions: &'a dyn Functions,
    limits: &'a Limits,
    clock: &'a Clock,
    out: &'a mut Vec<u8>,
    calls: &'a mut Calls,
    /// Loop turns, macro calls and includes around what is evaluated now.
    path: Site,
    /// Calls that were met and have no result, in order.
    holes: Vec<usize>,
    stopped: bool,
    pending: bool,
    steps: usize,
    next_clock: usize,
    memory: usize,
    seed: &'a OnceLock<u64>,
    /// Bytes of output set aside while a part of it is captured.
    held: usize,
    /// Captures inside each other.
    captures: usize,
    /// Where the parts of the output come from, if the render asked.
    origins: Option<&'a mut Origins>,
}

/// Output and what it waits for, set aside while a part of it is captured.
#[derive(Debug)]
pub(crate) struct Held {
    out: Vec<u8>,
    pending: bool,
}

impl std::fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pass")
            .field("steps", &self.steps)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        variables: &'a Map,
        functions: &'a dyn Functions,
        limits: &'a Limits,
        (clock, seed): (&'a Clock, &'a OnceLock<u64>),
        out: &'a mut Vec<u8>,
        calls: &'a mut Calls,
        origins: Option<&'a mut Origins>,
    ) -> Self {
        for call in &mut calls.all {
            call.met = false;
        }
        Pass {
            variables,
            functions,
            limits,
            clock,
            out,
            calls,
            path: Site::new(),
            holes: Vec::new(),
            stopped: false,
            pending: false,
            steps: 0,
            next_clock: STEPS_PER_CLOCK,
            memory: 0,
            seed,
            held: 0,
            captures: 0,
            origins,
        }
    }

    /// Whether a call was left pending, so that the text does not count.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether any call has been met that has no result yet. Unlike
    /// [`Pass::is_pending`] this does not forget what a capture held.
    pub(crate) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// A statement could not be evaluated because the result of a call that it
    /// looks into is pending. It has written nothing, and the pass goes on.
    ///
    /// Only who is certain of it may go on: what follows has to be evaluated
    /// whatever the result is, and must not read what the statement would have set.
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
    pub(crate) fn stop(&mut self) -> Stop {
        self.skip_since(0);
        self.stopped = true;
        Stop::Suspended
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

    /// The root of the variables.
    #[must_use]
    pub fn variables(&self) -> &'a Map {
        self.variables
    }

    /// The bounds of this render.
    #[must_use]
    pub fn limits(&self) -> &'a Limits {
        self.limits
    }

    /// The time of the render: when it was asked for first, and the same from
    /// then on, in every pass and entry.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        *self.clock.now.get_or_init(SystemTime::now)
    }

    /// What random values are made from: the same in every pass of one entry,
    /// another in each entry of each render.
    #[must_use]
    pub fn seed(&self) -> u64 {
        // The hash keys of the standard library are random and never the same twice.
        *self.seed.get_or_init(|| RandomState::new().hash_one(()))
    }

    /// Whether a late-bound function of that name exists.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Names of all late-bound functions, for formats that look for one in
    /// their own way (another case of letters, another separator).
    #[must_use]
    pub fn function_names(&self) -> Vec<&str> {
        self.functions.names()
    }

    /// The names of a function's parameters, where they are known.
    #[must_use]
    pub fn parameters(&self, function: &str) -> Option<Vec<String>> {
        self.functions.parameters(function)
    }

    /// Calls a function with the variables that have the names of its
    /// parameters: for formats whose syntax has no arguments.
    ///
    /// # Errors
    /// As [`Pass::call`].
    pub fn call_bound(&mut self, name: &str) -> Result<Called, Stop> {
        self.call_bound_at(&[], name)
    }

    /// The same, see [`Pass::call_at`].
    pub(crate) fn call_bound_at(&mut self, place: &[usize], name: &str) -> Result<Called, Stop> {
        let wanted = self.parameters(name).unwrap_or_default();
        let known = |name: String| Some((name.clone(), self.variables.get(&name)?.clone()));
        let arguments = Arguments {
            positional: Vec::new(),
            named: wanted.into_iter().filter_map(known).collect(),
        };
        self.call_at(place, name, arguments)
    }

    /// Writes text.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn write(&mut self, text: &str) -> Result<(), Stop> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes the template's own text, which [`crate::Rendered::segments`] then
    /// knows as such. Anything else is a value there.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn literal(&mut self, text: &str) -> Result<(), Stop> {
        let start = self.out.len();
        self.write(text)?;
        let end = self.out.len();
        if let Some(origins) = self.origins() {
            origins.literal(start..end);
        }
        Ok(())
    }

    /// Where a value that is printed next begins, for [`Pass::end_value`].
    #[must_use]
    pub fn begin_value(&self) -> usize {
        self.out.len()
    }

    /// What was written since `start` is a printed value. Its source, see
    /// [`crate::Segment::source`], is asked for only where a render wants to know.
    ///
    /// # Errors
    /// The limit on memory.
    #[inline]
    pub fn end_value(
        &mut self,
        start: usize,
        source: impl FnOnce() -> Option<String>,
    ) -> Result<(), Stop> {
        let end = self.out.len();
        if self.origins().is_none() || start >= end {
            return Ok(());
        }
        let source = source();
        // There may be as much literal text between the values.
        self.charge(source.as_ref().map_or(0, String::len) + 2 * Origins::PART_BYTES)?;
        if let Some(origins) = self.origins() {
            origins.value(start..end, source);
        }
        Ok(())
    }

    /// Where the output's origins are noted. A captured text has none: it is a
    /// value, which is printed later or not at all.
    fn origins(&mut self) -> Option<&mut Origins> {
        match self.captures {
            0 => self.origins.as_deref_mut(),
            _ => None,
        }
    }

    /// Puts an indentation of the template's before each line that was written
    /// since `start`.
    ///
    /// # Errors
    /// The output limit, or the limit on memory.
    pub(crate) fn indent(&mut self, start: usize, indent: &str) -> Result<(), Stop> {
        let written = self.out.split_off(start);
        let origins = self.origins().map(|origins| origins.split_off(start));
        let lines = memchr::memchr_iter(b'\n', &written).count() + 1;
        self.reserve_output(written.len() + lines.saturating_mul(indent.len()))?;
        let mut at = start;
        for line in written.split_inclusive(|byte| *byte == b'\n') {
            self.literal(indent)?;
            let to = self.out.len();
            self.out.extend_from_slice(line);
            let from = at..at + line.len();
            at = from.end;
            let copied = match (self.origins(), &origins) {
                (Some(now), Some(before)) => now.copy(before, from, to),
                _ => continue,
            };
            self.charge((copied + 1) * Origins::PART_BYTES)?;
        }
        Ok(())
    }

    /// Writes bytes; formats whose strings are bytes (Go's) may cut a character.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.reserve_output(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes a whole number in digits, without a text in between.
    ///
    /// # Errors
    /// The output limit.
    pub fn write_int(&mut self, number: i64) -> Result<(), Stop> {
        // Writing to a list of bytes cannot fail.
        let _ = write!(self.out, "{number}");
        self.check_output()
    }

    /// The output itself, for an evaluator that formats in place. Call
    /// [`Pass::check_output`] after, and [`Pass::reserve_output`] before anything large.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Refuses output that would pass the limit, before it is made.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn reserve_output(&self, more: usize) -> Result<(), Stop> {
        let written = self.out.len().saturating_add(self.held);
        if written.saturating_add(more) > self.limits.output_bytes {
            return Err(self.limit(Limit::OutputBytes));
        }
        Ok(())
    }

    /// From here on, output is captured. All that is held counts to the limit.
    pub(crate) fn capture(&mut self) -> Held {
        self.held = self.held.saturating_add(self.out.len());
        self.captures += 1;
        Held {
            out: std::mem::take(self.out),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Ends a capture: gives what was captured, and whether a call was left
    /// pending in it, so that the text does not count.
    pub(crate) fn release(&mut self, held: Held) -> (Vec<u8>, bool) {
        self.held = self.held.saturating_sub(held.out.len());
        self.captures = self.captures.saturating_sub(1);
        let captured = std::mem::replace(self.out, held.out);
        let pending = self.pending;
        self.pending |= held.pending;
        (captured, pending)
    }

    /// From here on [`Pass::is_pending`] is of what is evaluated until
    /// [`Pass::recall_pending`], which takes what this gives.
    pub(crate) fn forget_pending(&mut self) -> bool {
        std::mem::take(&mut self.pending)
    }

    /// Whether a call was left pending since.
    pub(crate) fn recall_pending(&mut self, before: bool) -> bool {
        let since = self.pending;
        self.pending |= before;
        since
    }

    /// Checks what has been written.
    ///
    /// # Errors
    /// The output limit.
    pub fn check_output(&self) -> Result<(), Stop> {
        self.reserve_output(0)
    }

    /// Counts one step: a node, a loop turn, an element.
    ///
    /// # Errors
    /// The limit on steps, or on time.
    #[inline]
    pub fn step(&mut self) -> Result<(), Stop> {
        self.steps(1)
    }

    /// Counts many steps at once, before they are done.
    ///
    /// # Errors
    /// The limit on steps, or on time.
    #[inline]
    pub fn steps(&mut self, count: usize) -> Result<(), Stop> {
        self.steps = self.steps.saturating_add(count);
        if self.steps >= self.next_clock {
            return self.check_clock();
        }
        Ok(())
    }

    #[cold]
    fn check_clock(&mut self) -> Result<(), Stop> {
        self.next_clock = self.steps.saturating_add(STEPS_PER_CLOCK);
        if self.steps > self.limits.steps {
            return Err(self.limit(Limit::Steps));
        }
        if Instant::now() >= self.clock.deadline {
            return Err(self.limit(Limit::Time));
        }
        Ok(())
    }

    /// Counts bytes of a string or a list that a function is about to build.
    /// More than 4 MiB at once count twice: such a value is copied
    /// once on its way into a shared one.
    ///
    /// # Errors
    /// The limit on memory.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Stop> {
        let copied = if bytes > COPIED_BYTES { bytes } else { 0 };
        let bytes = bytes.saturating_add(copied);
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory_bytes {
            return Err(self.limit(Limit::MemoryBytes));
        }
        Ok(())
    }

    /// The error of a bound of this render.
    #[must_use]
    pub fn limit(&self, limit: Limit) -> Stop {
        let limits = self.limits;
        let error = match limit {
            Limit::OutputBytes => RenderError::limit(limit, limits.output_bytes),
            Limit::MemoryBytes => RenderError::limit(limit, limits.memory_bytes),
            Limit::Steps => RenderError::limit(limit, limits.steps),
            Limit::Nesting => RenderError::limit(limit, limits.nesting),
            Limit::Passes => RenderError::limit(limit, limits.passes),
            Limit::Calls => RenderError::limit(limit, limits.calls),
            Limit::Time => RenderError::limit(limit, format_args!("{:?}", limits.time)),
            Limit::ValueDepth => RenderError::limit(limit, quillet_core::value::MAX_DEPTH),
            Limit::SourceBytes => RenderError::limit(limit, "see the compile limits"),
        };
        error.into()
    }

    /// Calls a late-bound function. Equal calls of an idempotent function are one
    /// call. Of others each is one of its own: the first that a pass meets of those
    /// with this name and these arguments is the first that the pass before met.
    ///
    /// # Errors
    /// There is no such function, too many calls, or a call that failed.
    pub fn call(&mut self, name: &str, arguments: Arguments) -> Result<Called, Stop> {
        self.call_at(&[], name, arguments)
    }

    /// The same for a format that knows where the call stands, so that it is told
    /// from others whatever the passes leave out: `place` is the place in the
    /// source, [`Pass::enter`] what led there.
    pub(crate) fn call_at(
        &mut self,
        place: &[usize],
        name: &str,
        arguments: Arguments,
    ) -> Result<Called, Stop> {
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
        let same = |call: &Call| {
            (idempotent || !call.met && call.site == site)
                && *call.name == *name
                && call.arguments == arguments
        };
        let known = match self.calls.all.iter().position(same) {
            Some(known) => known,
            None => self.register(name, arguments, site)?,
        };
        let Some(call) = self.calls.all.get_mut(known) else {
            return Ok(Called::Pending);
        };
        call.met = true;
        if let Some(failure) = call.failure() {
            return Err(Stop::Failed(failure));
        }
        if let Some(Ok(value)) = &call.result {
            return Ok(Called::Ready(value.clone()));
        }
        self.holes.push(known);
        self.pending = true;
        Ok(Called::Pending)
    }

    fn register(&mut self, name: &str, arguments: Arguments, site: Site) -> Result<usize, Stop> {
        let calls = &mut *self.calls;
        if calls.all.len() >= self.limits.calls {
            return Err(self.limit(Limit::Calls));
        }
        let before = calls.cause.and_then(|cause| calls.all.get(cause));
        let before = before.map_or((0, None), |cause| match calls.stopped {
            true => (cause.depth.saturating_sub(1), cause.cause),
            false => (cause.depth, calls.cause),
        });
        calls.all.push(Call {
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

    fn unknown(&self, name: &str) -> Stop {
        let mut error = RenderError::new(
            ErrorKind::UnknownFunction,
            format!("function {name:?} not defined"),
        );
        error.help =
            nearest(name, self.functions.names()).map(|near| format!("did you mean {near}?"));
        error.into()
    }
}
