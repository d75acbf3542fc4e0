//! One evaluation of a source: the interface for the evaluators of the formats.

mod calls;
mod output;
mod site;

use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use quillet_core::{Map, Span};

pub use self::calls::CallState;
pub(crate) use self::calls::{PassCall, PassCalls};
use self::site::Site;
use crate::call::FunctionHost;
use crate::error::{ErrorKind, RenderError};
use crate::host::{self, Instant};
use crate::limits::{LimitKind, RenderLimits};
use crate::segment::Origins;

/// Reason why an evaluation has ended early.
#[derive(Debug)]
pub enum StopReason {
    /// The evaluation needs the result of a pending call.
    Suspended,
    /// The evaluation failed. The evaluator adds the location if it is known.
    Failed(Box<RenderError>),
}

impl StopReason {
    /// Adds a location to a failure without a location, like [`RenderError::at`].
    #[must_use]
    pub fn at(self, source: &str, text: &str, span: Span) -> Self {
        match self {
            StopReason::Failed(error) => error.at(source, text, span).into(),
            StopReason::Suspended => self,
        }
    }

    /// Whether the failure is an operation on an unsuitable value. If one of the operands is a
    /// fallback value, the render continues with an empty result.
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

/// Values larger than this are charged twice, because they are copied.
const COPIED_BYTES: usize = 4 << 20;

/// Number of steps between checks of the clock, because reading the clock takes longer than a step.
/// The step limit is checked at the same points, so a pass may exceed it by this number.
const STEPS_PER_CLOCK: usize = 1024;

/// Maximum time limit: thirty years. Without it a deadline could overflow the clock, which on some
/// systems ends less than a hundred years from now.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Clock values of one render.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) deadline: Instant,
    /// Time of day, read when a template first uses it.
    now: OnceLock<SystemTime>,
}

impl Clock {
    pub(crate) fn starting(time: Duration) -> Self {
        Clock {
            // Without the maximum, the addition of a huge configured time could overflow and panic.
            deadline: Instant::now() + time.min(LONGEST),
            now: OnceLock::new(),
        }
    }
}

/// One evaluation of a source. The evaluator uses this value to read variables, write text, call
/// functions and count steps.
pub struct Pass<'a> {
    variables: &'a Map,
    functions: &'a dyn FunctionHost,
    limits: &'a RenderLimits,
    clock: &'a Clock,
    out: &'a mut Vec<u8>,
    calls: &'a mut PassCalls,
    /// Enclosing loop iterations, macro calls and includes.
    path: Site,
    /// Pending calls, in order.
    holes: Vec<usize>,
    stopped: bool,
    pending: bool,
    steps: usize,
    next_clock: usize,
    memory: usize,
    seed: &'a OnceLock<u64>,
    /// Number of output bytes that were set aside while output is captured.
    held: usize,
    /// Number of nested captures.
    captures: usize,
    /// Origins of the output's segments, if the render records them.
    pub(crate) origins: Option<&'a mut Origins>,
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
        clock: &'a Clock,
        seed: &'a OnceLock<u64>,
        out: &'a mut Vec<u8>,
        calls: &'a mut PassCalls,
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
            origins: None,
        }
    }

    /// Whether a call is pending, so that the text is invalid.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether any call is pending. Unlike [`Pass::is_pending`], this includes calls in captured
    /// text.
    pub(crate) fn has_holes(&self) -> bool {
        !self.holes.is_empty()
    }

    /// Returns the root object of the variables.
    #[must_use]
    pub fn variables(&self) -> &'a Map {
        self.variables
    }

    /// Returns the limits of this render.
    #[must_use]
    pub fn limits(&self) -> &'a RenderLimits {
        self.limits
    }

    /// Returns the time of the render. The first call reads the clock, and later calls return the
    /// same value in every pass and entry.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        // A fixed clock makes a render reproducible, for example when a run is resumed.
        let now = || match self.functions.fixed() {
            Some(fixed) => fixed.now,
            None => host::time_of_day(),
        };
        *self.clock.now.get_or_init(now)
    }

    /// Returns the seed of random values. The seed is the same in every pass of an entry, and
    /// differs between entries and renders.
    #[must_use]
    pub fn seed(&self) -> u64 {
        let seed = || match self.functions.fixed() {
            Some(fixed) => fixed.seed,
            // The system's random source is used only if a template needs random values.
            None => host::random()[0],
        };
        *self.seed.get_or_init(seed)
    }

    /// Returns whether a late-bound function with this name exists.
    #[must_use]
    pub fn has_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Returns the names of all late-bound functions, for formats with their own lookup rules, such
    /// as ignoring case or separators.
    #[must_use]
    pub fn function_names(&self) -> Vec<&str> {
        self.functions.names()
    }

    /// Returns the names of a function's parameters, if known.
    #[must_use]
    pub fn parameters(&self, function: &str) -> Option<Vec<String>> {
        self.functions.parameters(function)
    }

    /// Counts a step towards the step limit. A step is a node, a loop iteration or an element.
    ///
    /// # Errors
    /// Returns an error if the step or time limit is exceeded.
    #[inline]
    pub fn step(&mut self) -> Result<(), StopReason> {
        self.steps(1)
    }

    /// Counts several steps in advance.
    ///
    /// # Errors
    /// Returns an error if the step or time limit is exceeded.
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
        // The clock is not read in `steps`, because reading it takes longer than a step.
        if Instant::now() >= self.clock.deadline {
            return Err(self.limit(LimitKind::Time));
        }
        if self.functions.interrupted() {
            let reason = "the render was interrupted";
            return Err(RenderError::new(ErrorKind::Execution, reason).into());
        }
        Ok(())
    }

    /// Counts a string or list that a function is about to build towards the memory limit. A value
    /// of more than 4 MiB counts twice, because it is copied when it becomes shared.
    ///
    /// # Errors
    /// Returns an error if the memory limit is exceeded.
    pub fn charge(&mut self, bytes: usize) -> Result<(), StopReason> {
        // The value is copied when it becomes shared, and both copies exist for a moment.
        let copied = if bytes > COPIED_BYTES { bytes } else { 0 };
        let bytes = bytes.saturating_add(copied);
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory_bytes {
            return Err(self.limit(LimitKind::MemoryBytes));
        }
        Ok(())
    }

    /// Creates the error for an exceeded limit of this render.
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
            // Unreachable in a pass, because sources are checked before compilation.
            LimitKind::SourceBytes => RenderError::limit(limit, "see the compile limits"),
        };
        error.into()
    }
}
