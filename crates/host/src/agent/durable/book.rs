//! What the journal knows of one run, and what this process adds to it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quillet_core::chat::{ChatEvent, ModelErrorKind};
use quillet_core::journal::{
    Claim, Decision, Entry, Failed, Journal, Made, Standing, State, Step, Waiting,
};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::tool::Repeat;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How long a run waits for a journal that is away, before it fails.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The journal of one run, claimed by this process.
pub(in crate::agent) struct Book {
    journal: Arc<dyn Journal>,
    run: Arc<str>,
    epoch: u64,
    known: Mutex<Known>,
    /// Number of the last step, for whoever writes the next.
    last: tokio::sync::Mutex<u64>,
    /// Whether something was done that the journal did not know.
    live: AtomicBool,
    /// Whether somebody else goes on with the run.
    lost: Arc<AtomicBool>,
    /// Whether this process has given the run back, which nobody takes for a loss.
    given_back: Arc<AtomicBool>,
    _renewing: AbortOnDropHandle<()>,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Book({} {})", self.run, self.epoch)
    }
}

/// What is known, by turn and by call.
#[derive(Default)]
struct Known {
    answers: HashMap<u32, Answer>,
    /// Questions of this process so far.
    asked: u32,
    calls: HashMap<Arc<str>, Call>,
}

/// What became of a question.
#[derive(Clone)]
pub(super) enum Answer {
    /// It was answered.
    Whole(Vec<ChatEvent>),
    /// It was not.
    Failed(ModelErrorKind, String),
}

/// What is known of a call.
#[derive(Clone, Default)]
pub(super) struct Call {
    /// How it was made, if it was.
    pub(super) made: Option<Repeat>,
    /// What came of it.
    pub(super) result: Option<Result<Made, Failed>>,
    /// What was decided since it was made last.
    pub(super) decision: Option<Decision>,
}

impl Book {
    /// Opens the journal of a run that was claimed. Holds the claim until it is dropped; `stop`
    /// ends the run if somebody else takes it.
    pub(in crate::agent) fn open(
        journal: Arc<dyn Journal>,
        run: Arc<str>,
        claim: Claim,
        lease: Duration,
        entries: Vec<Entry>,
        stop: &CancellationToken,
    ) -> Arc<Self> {
        let mut known = Known::default();
        for entry in entries {
            known.read(entry.step);
        }
        let lost = Arc::new(AtomicBool::new(false));
        let given_back = Arc::new(AtomicBool::new(false));
        let renewing = renew(
            (journal.clone(), run.clone(), claim.epoch),
            lease,
            (lost.clone(), given_back.clone()),
            stop.clone(),
        );
        Arc::new(Book {
            journal,
            run,
            epoch: claim.epoch,
            live: AtomicBool::new(known.is_empty()),
            known: Mutex::new(known),
            last: tokio::sync::Mutex::new(claim.last),
            lost,
            given_back,
            _renewing: AbortOnDropHandle::new(tokio::spawn(renewing)),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next question, and its answer if it has one.
    pub(super) fn next_question(&self) -> (u32, Option<Answer>) {
        let mut known = self.known();
        known.asked += 1;
        let turn = known.asked;
        (turn, known.answers.remove(&turn))
    }

    /// What is known of a call.
    pub(super) fn call(&self, id: &str) -> Call {
        self.known().calls.get(id).cloned().unwrap_or_default()
    }

    /// Whether it is known what came of a call.
    pub(in crate::agent) fn has_result(&self, id: &str) -> bool {
        let known = self.known();
        known
            .calls
            .get(id)
            .is_some_and(|call| call.result.is_some())
    }

    /// From here on the world is asked.
    pub(super) fn go_live(&self) {
        self.live.store(true, Ordering::Release);
    }

    /// Whether all that happens is in the journal already.
    pub(in crate::agent) fn is_replaying(&self) -> bool {
        !self.live.load(Ordering::Acquire)
    }

    /// Whether somebody else goes on with the run.
    pub(in crate::agent) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Writes a step of a run that goes on.
    pub(in crate::agent) async fn write(&self, step: Step) -> Result<(), StoreError> {
        self.put(step, &Standing::at(State::Running)).await
    }

    /// The run waits for people; nobody goes on with it until they have decided.
    pub(in crate::agent) async fn park(&self, waiting: Vec<Waiting>) -> Result<(), StoreError> {
        let standing = Standing {
            state: State::Waiting,
            waiting: waiting.clone(),
        };
        self.put(Step::Parked { waiting }, &standing).await
    }

    /// The run is over.
    pub(in crate::agent) async fn end(&self, step: Step) -> Result<(), StoreError> {
        self.put(step, &Standing::at(State::Ended)).await
    }

    /// Waits for a journal that is away: a step that nobody knows of would be made twice. One that
    /// was written although nobody said so is not written once more.
    async fn put(&self, step: Step, standing: &Standing) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut last = self.last.lock().await;
        if standing.state != State::Running {
            self.given_back.store(true, Ordering::Release);
        }
        let steps = [step];
        loop {
            let written = self
                .journal
                .append(&self.run, self.epoch, &steps, standing)
                .await;
            let error = match written {
                Ok(number) => {
                    *last = number;
                    break;
                }
                Err(error) => error,
            };
            if error.kind == StoreErrorKind::Conflict {
                self.lost.store(true, Ordering::Release);
            }
            if error.kind != StoreErrorKind::Unavailable || began.elapsed() > PATIENCE {
                return Err(error);
            }
            sleep(PAUSE).await;
            if let Ok(Some(head)) = self.journal.head(&self.run).await
                && head.last > *last
            {
                *last = head.last;
                break;
            }
        }
        drop(last);
        let [step] = steps;
        self.known().read(step);
        Ok(())
    }
}

impl Known {
    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.calls.is_empty()
    }

    fn read(&mut self, step: Step) {
        match step {
            Step::Answered { turn, events } => {
                self.answers.insert(turn, Answer::Whole(events));
            }
            Step::Unanswered {
                turn,
                kind,
                message,
            } => {
                self.answers.insert(turn, Answer::Failed(kind, message));
            }
            Step::Called { call, repeat, .. } => {
                let known = self.calls.entry(call).or_default();
                known.made = Some(repeat);
                // Whoever permitted this call has not permitted the next.
                known.decision = None;
            }
            Step::Returned { call, result } => {
                self.calls.entry(call).or_default().result = Some(result);
            }
            Step::Decided { call, decision, .. } => {
                self.calls.entry(call).or_default().decision = Some(decision);
            }
            Step::Admitted { .. }
            | Step::Prepared { .. }
            | Step::Asked { .. }
            | Step::Parked { .. }
            | Step::TakenOver { .. }
            | Step::Ended { .. } => {}
        }
    }
}

/// Renews the claim until it is somebody else's.
async fn renew(
    (journal, run, epoch): (Arc<dyn Journal>, Arc<str>, u64),
    lease: Duration,
    (lost, given_back): (Arc<AtomicBool>, Arc<AtomicBool>),
    stop: CancellationToken,
) {
    loop {
        sleep(lease / 3).await;
        match journal.renew(&run, epoch, lease).await {
            Ok(true) => {}
            // A run that waits or is over has no lease.
            Ok(false) if given_back.load(Ordering::Acquire) => return,
            Ok(false) => {
                tracing::warn!(run = &*run, "another process goes on with this run");
                lost.store(true, Ordering::Release);
                return stop.cancel();
            }
            // It may be back before the lease is over; if not, others are told apart by the epoch.
            Err(error) => tracing::debug!(run = &*run, %error, "a run's claim was not renewed"),
        }
    }
}
