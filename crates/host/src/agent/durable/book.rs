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

use super::lent::Lent;

/// How long a run waits for a journal that is away, before it fails.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// What is known of one run, and where what it does is written.
pub(in crate::agent) struct Book {
    pages: Pages,
    known: Mutex<Known>,
    /// Whether something was done that the journal did not know.
    live: AtomicBool,
    /// Whether somebody else goes on with the run.
    lost: Arc<AtomicBool>,
}

/// Where the steps of a run are written.
enum Pages {
    /// Into a journal, whose claim this process has.
    Journal(Claimed),
    /// Into the hands of whoever keeps them, who also says what may be done.
    Lent(Arc<Lent>),
}

/// A run that was claimed by this process.
struct Claimed {
    journal: Arc<dyn Journal>,
    run: Arc<str>,
    epoch: u64,
    /// Number of the last step, for whoever writes the next.
    last: tokio::sync::Mutex<u64>,
    /// Whether this process has given the run back, which nobody takes for a loss.
    given_back: Arc<AtomicBool>,
    _renewing: AbortOnDropHandle<()>,
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pages {
            Pages::Journal(claimed) => write!(f, "Book({} {})", claimed.run, claimed.epoch),
            Pages::Lent(lent) => write!(f, "Book({lent:?})"),
        }
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
        let known = Known::of(entries.into_iter().map(|entry| entry.step));
        let lost = Arc::new(AtomicBool::new(false));
        let given_back = Arc::new(AtomicBool::new(false));
        let renewing = renew(
            (journal.clone(), run.clone(), claim.epoch),
            lease,
            (lost.clone(), given_back.clone()),
            stop.clone(),
        );
        let claimed = Claimed {
            journal,
            run,
            epoch: claim.epoch,
            last: tokio::sync::Mutex::new(claim.last),
            given_back,
            _renewing: AbortOnDropHandle::new(tokio::spawn(renewing)),
        };
        Book::with(Pages::Journal(claimed), known, lost)
    }

    /// Of a run whose steps somebody else keeps.
    pub(super) fn lent(steps: Vec<Step>, lent: Arc<Lent>) -> Arc<Self> {
        Book::with(Pages::Lent(lent), Known::of(steps), Arc::default())
    }

    fn with(pages: Pages, known: Known, lost: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Book {
            pages,
            live: AtomicBool::new(known.is_empty()),
            known: Mutex::new(known),
            lost,
        })
    }

    /// What was written and what was held back, of a run that somebody else keeps.
    pub(super) fn as_lent(&self) -> Option<&Lent> {
        match &self.pages {
            Pages::Journal(_) => None,
            Pages::Lent(lent) => Some(lent),
        }
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
        self.lost.load(Ordering::Acquire) || self.as_lent().is_some_and(Lent::is_stopped)
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
        let step = match &self.pages {
            Pages::Journal(claimed) => self.append(claimed, step, standing).await?,
            Pages::Lent(lent) => lent.write(step),
        };
        self.known().read(step);
        Ok(())
    }

    async fn append(
        &self,
        claimed: &Claimed,
        step: Step,
        standing: &Standing,
    ) -> Result<Step, StoreError> {
        let (journal, run) = (&claimed.journal, &claimed.run);
        let began = Instant::now();
        let mut last = claimed.last.lock().await;
        if standing.state != State::Running {
            claimed.given_back.store(true, Ordering::Release);
        }
        let steps = [step];
        loop {
            let written = journal.append(run, claimed.epoch, &steps, standing).await;
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
            if let Ok(Some(head)) = journal.head(run).await
                && head.last > *last
            {
                *last = head.last;
                break;
            }
        }
        let [step] = steps;
        Ok(step)
    }
}

impl Known {
    fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut known = Known::default();
        for step in steps {
            known.read(step);
        }
        known
    }

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
