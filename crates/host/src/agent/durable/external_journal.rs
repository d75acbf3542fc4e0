//! The steps of a run that somebody else keeps: what may be done, what was done, and what was held
//! back.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use quillet_agent::RunSpec;
use quillet_core::journal::{JournalEvent, PendingApproval};
use quillet_core::trace::Tracer;

/// What a run may do that nobody knows yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdvanceMode {
    /// Only make ready: what it begins with becomes known.
    Nothing,
    /// Ask the model once.
    Question,
    /// Make the call of this id, or ask the question of a script at this place.
    Call(Arc<str>),
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct RunProgress {
    /// What it did now, in order.
    pub steps: Vec<JournalEvent>,
    /// What has to happen before it can go on.
    pub next: NextStep,
    /// Its bounds; `None` if it ended before they were known.
    pub bounds: Option<RunTimeouts>,
}

/// What has to happen before a run can go on.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// The model is asked.
    Question,
    /// These calls are made, all of one turn, each as [`JournalEvent::Called`]; of a script also questions,
    /// each as [`JournalEvent::Asked`].
    Calls(Vec<JournalEvent>),
    /// Somebody decides about these calls.
    Decision(Vec<PendingApproval>),
    /// It is over.
    End,
}

/// Bounds of a run, for whoever waits for what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimeouts {
    /// What one call may take.
    pub call_time: Duration,
    /// What all of it may take, and so each question.
    pub run_time: Duration,
    /// Calls that are made side by side.
    pub concurrent_calls: usize,
}

/// The steps of a run that somebody else keeps.
pub(in crate::agent) struct ExternalJournal {
    permit: AdvanceMode,
    /// Whether the permit is used up.
    is_used: AtomicBool,
    /// Whether the model was to be asked beyond what is permitted.
    asks: AtomicBool,
    done: Mutex<StepBuffer>,
    bounds: OnceLock<RunTimeouts>,
}

#[derive(Default)]
struct StepBuffer {
    steps: Vec<JournalEvent>,
    /// Calls beyond what is permitted, and questions of a script.
    held: Vec<JournalEvent>,
}

impl fmt::Debug for ExternalJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({:?})", self.permit)
    }
}

impl ExternalJournal {
    pub(super) fn new(permit: AdvanceMode) -> Self {
        ExternalJournal {
            permit,
            is_used: AtomicBool::new(false),
            asks: AtomicBool::new(false),
            done: Mutex::default(),
            bounds: OnceLock::new(),
        }
    }

    fn done(&self) -> MutexGuard<'_, StepBuffer> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the model may be asked what nobody knows the answer to. After calls that are held
    /// back the loop comes here with what stands in for their results, which no model is to see.
    pub(super) fn may_ask(&self) -> bool {
        let may = self.permit == AdvanceMode::Question
            && !self.is_stopped()
            && !self.is_used.swap(true, Ordering::AcqRel);
        if !may {
            self.asks.store(true, Ordering::Release);
        }
        may
    }

    /// Whether a call may be made whose result nobody knows; else it is noted.
    pub(super) fn may_call(&self, id: &str, called: &JournalEvent) -> bool {
        if matches!(&self.permit, AdvanceMode::Call(permitted) if **permitted == *id) {
            return true;
        }
        self.done().held.push(called.clone());
        false
    }

    /// Whether the question of a script at a place may be asked; else it is noted. The questions
    /// of a script stand side by side, so each is permitted by its place, and one that is `new` has
    /// its number from here on: whoever asks another one meanwhile would take the same.
    pub(super) fn may_ask_at(&self, place: &str, asked: &JournalEvent, new: bool) -> bool {
        if let AdvanceMode::Call(permitted) = &self.permit {
            if **permitted == *place {
                return true;
            }
        } else if new {
            self.write(std::slice::from_ref(asked));
        }
        self.done().held.push(asked.clone());
        false
    }

    /// Whether the loop is to end without an end of the run. Whoever makes one call knows of the
    /// others nothing, so that what follows the turn is not for them to say.
    pub(super) fn is_stopped(&self) -> bool {
        let is_held = self.asks.load(Ordering::Acquire) || !self.done().held.is_empty();
        is_held || matches!(self.permit, AdvanceMode::Call(_))
    }

    /// A run of many processes has no span of its own: each would tell of all that was before.
    pub(super) fn bind(&self, run: &mut RunSpec) {
        run.tracer = Tracer::off();
        let limits = &run.limits;
        self.bound(RunTimeouts {
            call_time: limits.call_time,
            run_time: limits.run_time,
            concurrent_calls: limits.concurrent_calls.max(1),
        });
    }

    /// The run's bounds are known.
    pub(in crate::agent) fn bound(&self, bounds: RunTimeouts) {
        let _ = self.bounds.set(bounds);
    }

    pub(super) fn write(&self, steps: &[JournalEvent]) {
        self.done().steps.extend_from_slice(steps);
    }

    /// How far the run has come.
    pub(super) fn advanced(&self) -> RunProgress {
        let mut done = self.done();
        let steps = std::mem::take(&mut done.steps);
        let held = std::mem::take(&mut done.held);
        let next = match steps.last() {
            Some(JournalEvent::Ended { .. }) => NextStep::End,
            Some(JournalEvent::Parked { waiting }) => NextStep::Decision(waiting.clone()),
            _ if held.is_empty() => NextStep::Question,
            _ => NextStep::Calls(held),
        };
        RunProgress {
            steps,
            next,
            bounds: self.bounds.get().copied(),
        }
    }
}
