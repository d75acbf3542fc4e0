//! The steps of a run that somebody else keeps: what may be done, what was done, and what was held
//! back.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use quillet_agent::Run;
use quillet_core::journal::{Step, Waiting};
use quillet_core::trace::Tracer;

/// What a run may do that nobody knows yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Only make ready: what it begins with becomes known.
    Nothing,
    /// Ask the model once.
    Question,
    /// Make the call of this id, or ask the question of a script at this place.
    Call(Arc<str>),
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct Advanced {
    /// What it did now, in order.
    pub steps: Vec<Step>,
    /// What has to happen before it can go on.
    pub next: Next,
    /// Its bounds; `None` if it ended before they were known.
    pub bounds: Option<Bounds>,
}

/// What has to happen before a run can go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The model is asked.
    Question,
    /// These calls are made, all of one turn, each as [`Step::Called`]; of a script also questions,
    /// each as [`Step::Asked`].
    Calls(Vec<Step>),
    /// Somebody decides about these calls.
    Decision(Vec<Waiting>),
    /// It is over.
    End,
}

/// Bounds of a run, for whoever waits for what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// What one call may take.
    pub call_time: Duration,
    /// What all of it may take, and so each question.
    pub run_time: Duration,
    /// Calls that are made side by side.
    pub concurrent_calls: usize,
}

/// The steps of a run that somebody else keeps.
pub(in crate::agent) struct Lent {
    permit: Permit,
    /// Whether the permit is used up.
    is_used: AtomicBool,
    /// Whether the model was to be asked beyond what is permitted.
    asks: AtomicBool,
    done: Mutex<Done>,
    bounds: OnceLock<Bounds>,
}

#[derive(Default)]
struct Done {
    steps: Vec<Step>,
    /// Calls beyond what is permitted, and questions of a script.
    held: Vec<Step>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({:?})", self.permit)
    }
}

impl Lent {
    pub(super) fn new(permit: Permit) -> Self {
        Lent {
            permit,
            is_used: AtomicBool::new(false),
            asks: AtomicBool::new(false),
            done: Mutex::default(),
            bounds: OnceLock::new(),
        }
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the model may be asked what nobody knows the answer to. After calls that are held
    /// back the loop comes here with what stands in for their results, which no model is to see.
    pub(super) fn may_ask(&self) -> bool {
        let may = self.permit == Permit::Question
            && !self.is_stopped()
            && !self.is_used.swap(true, Ordering::AcqRel);
        if !may {
            self.asks.store(true, Ordering::Release);
        }
        may
    }

    /// Whether a call may be made whose result nobody knows; else it is noted.
    pub(super) fn may_call(&self, id: &str, called: &Step) -> bool {
        if matches!(&self.permit, Permit::Call(permitted) if **permitted == *id) {
            return true;
        }
        self.done().held.push(called.clone());
        false
    }

    /// Whether the question of a script at a place may be asked; else it is noted. The questions
    /// of a script stand side by side, so each is permitted by its place, and one that is `new` has
    /// its number from here on: whoever asks another one meanwhile would take the same.
    pub(super) fn may_ask_at(&self, place: &str, asked: &Step, new: bool) -> bool {
        if let Permit::Call(permitted) = &self.permit {
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
        is_held || matches!(self.permit, Permit::Call(_))
    }

    /// A run of many processes has no span of its own: each would tell of all that was before.
    pub(super) fn bind(&self, run: &mut Run) {
        run.tracer = Tracer::off();
        let limits = &run.limits;
        self.bound(Bounds {
            call_time: limits.call_time,
            run_time: limits.run_time,
            concurrent_calls: limits.concurrent_calls.max(1),
        });
    }

    /// The run's bounds are known.
    pub(in crate::agent) fn bound(&self, bounds: Bounds) {
        let _ = self.bounds.set(bounds);
    }

    pub(super) fn write(&self, steps: &[Step]) {
        self.done().steps.extend_from_slice(steps);
    }

    /// How far the run has come.
    pub(super) fn advanced(&self) -> Advanced {
        let mut done = self.done();
        let steps = std::mem::take(&mut done.steps);
        let held = std::mem::take(&mut done.held);
        let next = match steps.last() {
            Some(Step::Ended { .. }) => Next::End,
            Some(Step::Parked { waiting }) => Next::Decision(waiting.clone()),
            _ if held.is_empty() => Next::Question,
            _ => Next::Calls(held),
        };
        Advanced {
            steps,
            next,
            bounds: self.bounds.get().copied(),
        }
    }
}
