//! Journal of a run that an external system stores: permitted activities, new events and held-back
//! calls.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use quillet_agent::RunSpec;
use quillet_core::journal::{JournalEvent, PendingApproval};
use quillet_core::lock::lock;
use quillet_core::trace::Tracer;

/// The activity that an externally journaled run may perform now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdvanceMode {
    /// Prepare only: record the setup.
    Nothing,
    /// Call the model once.
    Question,
    /// Make the tool call with this id, or the model call of a script at this position.
    Call(Arc<str>),
}

/// Progress of an externally journaled run.
#[derive(Clone, Debug)]
pub struct RunProgress {
    /// New events, in order.
    pub steps: Vec<JournalEvent>,
    /// Activities that are required before the run can continue.
    pub next: NextStep,
    /// Limits of the run; `None` if it ended before they were known.
    pub bounds: Option<RunTimeouts>,
}

/// The next activities of an externally journaled run.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// Call the model.
    Question,
    /// Make these calls of one turn, each recorded as [`JournalEvent::Called`]; for scripts also
    /// model calls, each recorded as [`JournalEvent::Asked`].
    Calls(Vec<JournalEvent>),
    /// Wait for decisions about these calls.
    Decision(Vec<PendingApproval>),
    /// None: the run has ended.
    End,
}

/// Limits of a run, for a system that schedules its activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimeouts {
    /// Timeout of one call.
    pub call_time: Duration,
    /// Timeout of the run, and thus of each model call.
    pub run_time: Duration,
    /// Maximum number of concurrent calls.
    pub concurrent_calls: usize,
}

/// State of an externally journaled run.
pub(in crate::agent) struct ExternalJournal {
    permit: AdvanceMode,
    /// Whether the permit is used.
    is_used: AtomicBool,
    /// Whether the run tried to call the model without a permit.
    asks: AtomicBool,
    done: Mutex<StepBuffer>,
    bounds: OnceLock<RunTimeouts>,
}

#[derive(Default)]
struct StepBuffer {
    steps: Vec<JournalEvent>,
    /// Tool calls, and model calls of scripts, that were held back for lack of a permit.
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
        lock(&self.done)
    }

    /// Whether the model may be called for an answer that the journal does not have. After calls
    /// that were held back, the loop continues with placeholder results, which must never reach a
    /// model.
    pub(super) fn may_ask(&self) -> bool {
        let may = self.permit == AdvanceMode::Question
            && !self.is_stopped()
            && !self.is_used.swap(true, Ordering::AcqRel);
        if !may {
            self.asks.store(true, Ordering::Release);
        }
        may
    }

    /// Whether a call without a recorded result may be made. Otherwise records it as held back.
    pub(super) fn may_call(&self, id: &str, called: &JournalEvent) -> bool {
        if matches!(&self.permit, AdvanceMode::Call(permitted) if **permitted == *id) {
            return true;
        }
        self.done().held.push(called.clone());
        false
    }

    /// Whether the model call of a script at a position may be made. Otherwise records it as held
    /// back. Model calls of a script run concurrently, so each is permitted by its position. A
    /// `new` one gets its number here, because a concurrent call would otherwise take the same
    /// number.
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

    /// Whether the loop stops without ending the run. A process that makes one call does not know
    /// the results of the others, so it must not decide what follows the turn.
    pub(super) fn is_stopped(&self) -> bool {
        let is_held = self.asks.load(Ordering::Acquire) || !self.done().held.is_empty();
        is_held || matches!(self.permit, AdvanceMode::Call(_))
    }

    /// Disables the span of the run: each process would report the earlier part of the run again.
    pub(super) fn bind(&self, run: &mut RunSpec) {
        run.tracer = Tracer::off();
        let limits = &run.limits;
        self.bound(RunTimeouts {
            call_time: limits.call_time,
            run_time: limits.run_time,
            concurrent_calls: limits.concurrent_calls.max(1),
        });
    }

    /// Sets the limits of the run.
    pub(in crate::agent) fn bound(&self, bounds: RunTimeouts) {
        let _ = self.bounds.set(bounds);
    }

    pub(super) fn write(&self, steps: &[JournalEvent]) {
        self.done().steps.extend_from_slice(steps);
    }

    /// Returns the progress of the run.
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
