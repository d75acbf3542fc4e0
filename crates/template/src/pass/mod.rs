//! One evaluation of one source: what a format's evaluator may do.

mod calls;
mod output;

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use quillet_core::{Map, Span};

pub use self::calls::CallState;
use self::calls::Site;
pub(crate) use self::calls::{PassCall, PassCalls};
use crate::call::FunctionHost;
use crate::error::{ErrorKind, RenderError};
use crate::host::{self, Instant};
use crate::limits::{LimitKind, RenderLimits};
use crate::segment::Origins;

/// The reason why an evaluation ended early.
#[derive(Debug)]
pub enum StopReason {
    /// It needs the result of a pending call.
    Suspended,
    /// It cannot go on. The evaluator adds the place where it knows one.
    Failed(Box<RenderError>),
}

impl StopReason {
    /// The same; a failure gets its place, unless it has one, see [`RenderError::at`].
    #[must_use]
    pub fn at(self, source: &str, text: &str, span: Span) -> Self {
        match self {
            StopReason::Failed(error) => error.at(source, text, span).into(),
            StopReason::Suspended => self,
        }
    }

    /// Whether a value was not what an operation needs. Where a failed call's
    /// stand-in is among its operands, the render goes on with nothing.
    pub(crate) fn is_of_values(&self) -> bool {
        let kind = match self {
            StopReason::Failed(error) => error.kind,
            StopReason::Suspended => return false,
        };
        matches!(kind, ErrorKind::Execution | ErrorKind::MissingVariable)
    }
}

impl From<RenderError> for StopReason {
    fn from(error: RenderError) -> Self {
        StopReason::Failed(Box::new(error))
    }
}

/// Values over this size are charged for their copy too.
const COPIED_BYTES: usize = 4 << 20;

/// How often the clock is read, since that takes longer than a step: once in this many steps. The
/// limit on steps is compared then as well, so a pass may go beyond it by as many.
const STEPS_PER_CLOCK: usize = 1024;

/// What a limit on time comes to at most, thirty years: no setting leads beyond the end of the clock,
/// which on some systems is less than a hundred years ahead.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

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
            deadline: Instant::now() + time.min(LONGEST),
            now: OnceLock::new(),
        }
    }
}

/// One evaluation of one source. The evaluator reads variables, writes text,
/// calls functions and counts its steps here.
pub struct Pass<'a> {
    variables: &'a Map,
    functions: &'a dyn FunctionHost,
    limits: &'a RenderLimits,
    clock: &'a Clock,
    out: &'a mut Vec<u8>,
    calls: &'a mut PassCalls,
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
        functions: &'a dyn FunctionHost,
        limits: &'a RenderLimits,
        (clock, seed): (&'a Clock, &'a OnceLock<u64>),
        out: &'a mut Vec<u8>,
        calls: &'a mut PassCalls,
        origins: Option<&'a mut Origins>,
    ) -> Self {
        calls.begin_pass();
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

    /// The root of the variables.
    #[must_use]
    pub fn variables(&self) -> &'a Map {
        self.variables
    }

    /// The bounds of this render.
    #[must_use]
    pub fn limits(&self) -> &'a RenderLimits {
        self.limits
    }

    /// The time of the render: when it was asked for first, and the same from
    /// then on, in every pass and entry.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        let now = || match self.functions.fixed() {
            Some(fixed) => fixed.now,
            None => host::time_of_day(),
        };
        *self.clock.now.get_or_init(now)
    }

    /// What random values are made from: the same in every pass of one entry,
    /// another in each entry of each render.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let seed = || match self.functions.fixed() {
            Some(fixed) => fixed.seed,
            None => host::random()[0],
        };
        *self.seed.get_or_init(seed)
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

    /// Counts one step: a node, a loop turn, an element.
    ///
    /// # Errors
    /// The limit on steps, or on time.
    #[inline]
    pub fn step(&mut self) -> Result<(), StopReason> {
        self.steps(1)
    }

    /// Counts many steps at once, before they are done.
    ///
    /// # Errors
    /// The limit on steps, or on time.
    #[inline]
    pub fn steps(&mut self, count: usize) -> Result<(), StopReason> {
        self.steps = self.steps.saturating_add(count);
        if self.steps >= self.next_clock {
            return self.check_clock();
        }
        Ok(())
    }

    #[cold]
    fn check_clock(&mut self) -> Result<(), StopReason> {
        self.next_clock = self.steps.saturating_add(STEPS_PER_CLOCK);
        if self.steps > self.limits.steps {
            return Err(self.limit(LimitKind::Steps));
        }
        if Instant::now() >= self.clock.deadline {
            return Err(self.limit(LimitKind::Time));
        }
        if self.functions.interrupted() {
            let reason = "the render was interrupted";
            return Err(RenderError::new(ErrorKind::Execution, reason).into());
        }
        Ok(())
    }

    /// Counts bytes of a string or a list that a function is about to build.
    /// More than 4 MiB at once count twice: such a value is copied
    /// once on its way into a shared one.
    ///
    /// # Errors
    /// The limit on memory.
    pub fn charge(&mut self, bytes: usize) -> Result<(), StopReason> {
        let copied = if bytes > COPIED_BYTES { bytes } else { 0 };
        let bytes = bytes.saturating_add(copied);
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory_bytes {
            return Err(self.limit(LimitKind::MemoryBytes));
        }
        Ok(())
    }

    /// The error of a bound of this render.
    #[cold]
    #[must_use]
    pub fn limit(&self, limit: LimitKind) -> StopReason {
        let limits = self.limits;
        let error = match limit {
            LimitKind::OutputBytes => RenderError::limit(limit, limits.output_bytes),
            LimitKind::MemoryBytes => RenderError::limit(limit, limits.memory_bytes),
            LimitKind::Steps => RenderError::limit(limit, limits.steps),
            LimitKind::Nesting => RenderError::limit(limit, limits.nesting),
            LimitKind::Passes => RenderError::limit(limit, limits.passes),
            LimitKind::Calls => RenderError::limit(limit, limits.calls),
            LimitKind::Time => RenderError::limit(limit, format_args!("{:?}", limits.time)),
            LimitKind::ValueDepth => RenderError::limit(limit, quillet_core::value::MAX_DEPTH),
            LimitKind::SourceBytes => RenderError::limit(limit, "see the compile limits"),
        };
        error.into()
    }
}
