//! State of a worker outside of QuickJS: jobs, clock, timers and pending requests.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quillet_core::Value;
use rquickjs::{Ctx, Function, Object, Persistent, Value as Js};

use crate::js::UNHANDLED;
use crate::js::error::{JsError, JsErrorKind};
use crate::js::port::{Control, Port, ReceiveResult};
use crate::js::protocol::{
    FromWorker, HostReply, HostRequest, ImportRequest, JobResult, NormalizedSource, ToWorker,
    WorkerLimits,
};
use crate::js::runtime::{ConsoleLevel, JsValueRef};

/// Maximum number of active timers.
const TIMERS: usize = 1_000;

/// Maximum number of rejected promises reported in one turn.
const REJECTED: usize = 100;

/// Minimum delay of a timer. Timer callbacks count toward the time of their job; the delay keeps a
/// loop of timers from spinning without using that time.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct WorkerShell {
    port: Box<dyn Port>,
    pub(super) bounds: WorkerLimits,
    pub(super) clock: Clock,
    pub(super) api: RefCell<Option<Persistent<Object<'static>>>>,
    pub(super) pieces: RefCell<HashMap<u64, RunningJob>>,
    pub(super) definitions: RefCell<HashMap<u64, NormalizedSource>>,
    pub(super) modules: RefCell<HashMap<u64, ImportRequest>>,
    /// Modules that are defined but not loaded yet.
    pub(super) unloaded: RefCell<Vec<u64>>,
    /// Promises that were rejected in this turn without a handler, and their reasons as text.
    pub(super) rejected: RefCell<Vec<(Persistent<Js<'static>>, String)>>,
    /// Results of completed jobs, reported once everything that they started has ended.
    finished: RefCell<HashMap<u64, Result<JobResult, JsError>>>,
    queue: RefCell<VecDeque<ToWorker>>,
    timers: RefCell<Vec<Timer>>,
    waiting: RefCell<HashMap<u64, u64>>,
    handled: Cell<u64>,
    counter: Cell<u64>,
}

/// A running job.
#[derive(Default)]
pub(super) struct RunningJob {
    pub(super) spent: Duration,
    /// Objects that it read from the run, in their original state.
    pub(super) got: HashMap<String, Value>,
    /// Its original arguments; `None` for jobs that are not calls.
    pub(super) arguments: Option<Vec<JsValueRef>>,
}

struct Timer {
    id: u64,
    due: Instant,
    every: Option<Duration>,
}

/// Remaining JavaScript time. Shared with the interrupt handler.
pub(super) struct Clock {
    control: Arc<Control>,
    deadline: Cell<Option<Instant>>,
    current: Cell<u64>,
    over: Cell<Option<TimeExceeded>>,
}

/// The reason why JavaScript was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeExceeded {
    Time,
    Memory,
    Ended,
}

impl Clock {
    /// Returns whether JavaScript must stop. QuickJS calls this frequently.
    pub(super) fn check(&self) -> bool {
        if self.over.get().is_some() {
            return true;
        }
        if self.control.ends(self.current.get()) {
            self.stop(TimeExceeded::Ended);
        } else if self
            .deadline
            .get()
            .is_some_and(|deadline| Instant::now() >= deadline)
        {
            self.stop(TimeExceeded::Time);
        }
        self.over.get().is_some()
    }

    pub(super) fn stop(&self, why: TimeExceeded) {
        // The first reason is the cause, and any later ones are its consequences.
        if self.over.get().is_none() {
            self.over.set(Some(why));
        }
    }

    pub(super) fn over(&self) -> Option<TimeExceeded> {
        self.over.get()
    }
}

impl WorkerShell {
    pub(super) fn new(bounds: WorkerLimits, port: Box<dyn Port>, control: Arc<Control>) -> Self {
        let clock = Clock {
            control,
            deadline: Cell::new(None),
            current: Cell::new(0),
            over: Cell::new(None),
        };
        WorkerShell {
            port,
            bounds,
            clock,
            api: RefCell::default(),
            pieces: RefCell::default(),
            definitions: RefCell::default(),
            modules: RefCell::default(),
            unloaded: RefCell::default(),
            rejected: RefCell::default(),
            finished: RefCell::default(),
            queue: RefCell::default(),
            timers: RefCell::default(),
            waiting: RefCell::default(),
            handled: Cell::new(0),
            counter: Cell::new(0),
        }
    }

    /// Returns a prelude function.
    pub(super) fn api<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Function<'js>> {
        let api = self.api.borrow().clone().ok_or(rquickjs::Error::Unknown)?;
        api.restore(ctx)?.get(name)
    }

    pub(super) fn into_port(self) -> Box<dyn Port> {
        self.port
    }

    /// Waits for the next message, at most until the time of the next timer.
    pub(super) fn next(&self) -> ReceiveResult {
        if let Some(message) = self.queue.borrow_mut().pop_front() {
            return ReceiveResult::Message(message);
        }
        self.idle();
        let due = self.timers.borrow().iter().map(|timer| timer.due).min();
        self.receive(due)
    }

    fn receive(&self, until: Option<Instant>) -> ReceiveResult {
        let received = self.port.receive(until);
        if matches!(received, ReceiveResult::Message(_)) {
            self.handled.set(self.handled.get() + 1);
        }
        received
    }

    /// Called when all work is done. Jobs that are still open without a pending reply or timer can
    /// never settle.
    fn idle(&self) {
        if self.waiting.borrow().is_empty() && self.timers.borrow().is_empty() {
            let stuck: Vec<u64> = self.pieces.borrow().keys().copied().collect();
            for piece in stuck {
                let error = JsError::new(
                    JsErrorKind::Stuck,
                    "the code waits for a promise that never settles",
                );
                self.done(piece, Err(error));
            }
            self.report_finished();
        }
        self.send(FromWorker::Turn {
            piece: None,
            handled: self.handled.get(),
        });
    }

    pub(super) fn send(&self, message: FromWorker) {
        self.port.send(message);
    }

    /// Sends a request to the run and waits for the reply. The wait counts as the job's own time;
    /// otherwise a loop of requests could run forever.
    pub(super) fn ask(&self, piece: u64, ask: HostRequest) -> HostReply {
        let question = self.number();
        self.send(FromWorker::Ask {
            piece,
            question,
            ask,
        });
        let answer = loop {
            match self.receive(None) {
                ReceiveResult::Message(ToWorker::Answer {
                    question: of,
                    answer,
                }) if of == question => break answer,
                // QuickJS is inside a call here and cannot start other work, so messages are
                // queued.
                ReceiveResult::Message(message) => self.queue.borrow_mut().push_back(message),
                ReceiveResult::TimedOut => {}
                ReceiveResult::Closed => break HostReply::Gone,
            }
        };
        if answer == HostReply::Gone {
            self.clock.stop(TimeExceeded::Ended);
        }
        if answer == HostReply::Later {
            self.waiting.borrow_mut().insert(question, piece);
        }
        // Requests made during the wait have advanced the counter, but `last_question` must return
        // the number of this request.
        self.counter.set(question);
        answer
    }

    /// Returns the number of the last request.
    pub(super) fn last_question(&self) -> u64 {
        self.counter.get()
    }

    /// Returns the job of a settled request.
    pub(super) fn take_job_of(&self, question: u64) -> Option<u64> {
        self.waiting.borrow_mut().remove(&question)
    }

    fn number(&self) -> u64 {
        let next = self.counter.get() + 1;
        self.counter.set(next);
        next
    }

    /// Starts the clock for JavaScript of a job.
    pub(super) fn begin(&self, piece: u64) {
        let spent = self
            .pieces
            .borrow()
            .get(&piece)
            .map_or(Duration::ZERO, |piece| piece.spent);
        let left = self.bounds.time.saturating_sub(spent);
        self.clock.current.set(piece);
        self.clock.deadline.set(Some(Instant::now() + left));
        self.send(FromWorker::Turn {
            piece: Some(piece),
            handled: self.handled.get(),
        });
    }

    /// Records a promise that was rejected without a handler, or removes one that received a
    /// handler later.
    pub(super) fn reject<'js>(
        &self,
        ctx: &Ctx<'js>,
        promise: Js<'js>,
        reason: &Js<'js>,
        is_handled: bool,
    ) {
        let promise = Persistent::save(ctx, promise);
        let mut rejected = self.rejected.borrow_mut();
        if is_handled {
            // A `catch` may be attached later in the same turn, so rejections are reported only at
            // the end of the turn.
            rejected.retain(|(known, _)| *known != promise);
        // Each entry keeps a promise alive, so the list is limited to protect the host's memory.
        } else if rejected.len() < REJECTED {
            let words = reason.as_exception().and_then(rquickjs::Exception::message);
            rejected.push((
                promise,
                words.unwrap_or_else(|| reason.type_name().to_owned()),
            ));
        }
    }

    /// Stops the clock and reports completed jobs.
    pub(super) fn end(&self, piece: u64) {
        for (_, reason) in self.rejected.take() {
            let line = format!("{UNHANDLED}: {reason}");
            self.send(FromWorker::Log {
                piece,
                level: ConsoleLevel::Error,
                line,
            });
        }
        let left = self
            .clock
            .deadline
            .take()
            .map_or(Duration::ZERO, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
        if let Some(piece) = self.pieces.borrow_mut().get_mut(&piece) {
            // The time limit applies to all turns of a job together, and waiting between turns does
            // not count.
            piece.spent = self.bounds.time.saturating_sub(left);
        }
        self.report_finished();
    }

    pub(super) fn current(&self) -> u64 {
        self.clock.current.get()
    }

    /// Records the result of a job.
    pub(super) fn done(&self, piece: u64, result: Result<JobResult, JsError>) {
        // Only the first result of a job counts.
        if self.pieces.borrow_mut().remove(&piece).is_some() {
            self.finished.borrow_mut().insert(piece, result);
        }
    }

    /// Reports completed jobs: errors immediately, results once nothing that the job started is
    /// pending.
    pub(super) fn report_finished(&self) {
        let is_ready = |piece: &u64, result: &mut Result<JobResult, JsError>| {
            // A result with pending calls is not reported yet, because the effects of those calls
            // would be lost.
            result.is_err() || !self.waiting.borrow().values().any(|owner| owner == piece)
        };
        let ready: Vec<_> = self.finished.borrow_mut().extract_if(is_ready).collect();
        for (piece, result) in ready {
            self.waiting.borrow_mut().retain(|_, owner| *owner != piece);
            self.send(FromWorker::Done { piece, result });
        }
    }

    /// Removes a job. Returns whether it existed.
    pub(super) fn forget(&self, piece: u64) -> bool {
        self.waiting.borrow_mut().retain(|_, owner| *owner != piece);
        let finished = self.finished.borrow_mut().remove(&piece).is_some();
        self.pieces.borrow_mut().remove(&piece).is_some() || finished
    }

    /// Starts a timer with a delay in milliseconds.
    pub(super) fn timer(&self, delay: f64, again: bool) -> Option<u64> {
        let mut timers = self.timers.borrow_mut();
        if timers.len() >= TIMERS {
            return None;
        }
        // The maximum delay is the same as in browsers and Node. `NaN` means no delay.
        let delay = Duration::from_secs_f64(delay.clamp(0.0, 2_147_483_647.0) / 1_000.0).max(TICK);
        let id = self.number();
        timers.push(Timer {
            id,
            due: Instant::now() + delay,
            every: again.then_some(delay),
        });
        Some(id)
    }

    pub(super) fn untimer(&self, id: u64) {
        self.timers.borrow_mut().retain(|timer| timer.id != id);
    }

    /// Returns the timers whose time has come, in order.
    pub(super) fn due(&self) -> Vec<u64> {
        let now = Instant::now();
        let mut timers = self.timers.borrow_mut();
        timers.sort_by_key(|timer| (timer.due, timer.id));
        let due: Vec<u64> = timers
            .iter()
            .take_while(|timer| timer.due <= now)
            .map(|timer| timer.id)
            .collect();
        timers.retain(|timer| timer.due > now || timer.every.is_some());
        for timer in timers.iter_mut().filter(|timer| timer.due <= now) {
            // Based on the current time, so that a slow interval does not catch up in a burst.
            timer.due = now + timer.every.unwrap_or(TICK);
        }
        due
    }
}
