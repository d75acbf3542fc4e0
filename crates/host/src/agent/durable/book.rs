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
use tokio::sync::Notify;
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
    /// What a script does at this moment.
    doing: Mutex<Doing>,
    /// Rung when that changes.
    pub(in crate::agent) changed: Notify,
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

/// What a script does at this moment.
#[derive(Default)]
struct Doing {
    /// Calls and questions on their way.
    busy: usize,
    /// Calls that wait for people.
    waiting: Vec<Kept>,
    /// Whether something is done elsewhere, of a run whose steps somebody else keeps.
    is_held: bool,
    /// Steps to be written along with the next.
    later: Vec<Step>,
    /// Whether it has stopped, so that nothing more is begun.
    has_stopped: bool,
    /// How it went another way than before.
    diverged: Option<String>,
}

impl Doing {
    fn is_waiting(&self) -> bool {
        self.busy == 0 && (self.is_held || !self.waiting.is_empty())
    }
}

/// A call of a script that waits for somebody.
#[derive(Clone, Debug)]
pub(in crate::agent) struct Kept {
    pub(in crate::agent) call: String,
    pub(in crate::agent) tool: String,
    pub(in crate::agent) arguments: serde_json::Map<String, serde_json::Value>,
    pub(in crate::agent) why: &'static str,
}

/// Something of a script that is on its way, until it is dropped.
pub(in crate::agent) struct Busy(Arc<Book>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.doing().busy -= 1;
        self.0.changed.notify_one();
    }
}

/// What is known of a question of a script.
pub(in crate::agent) enum Replayed {
    /// Nothing: its number.
    New(u32),
    /// Its number, and its answer if it has one.
    Known(u32, Option<Answer>),
    /// Something else was asked at its place.
    Diverged,
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
    /// Questions of a script by their places: number and digest.
    places: HashMap<String, (u32, String)>,
    /// What a script has read, by name.
    reads: HashMap<String, Read>,
}

/// Something that a script has read.
#[derive(Clone)]
pub(in crate::agent) struct Read {
    pub(in crate::agent) source: String,
    pub(in crate::agent) path: Option<String>,
    pub(in crate::agent) text: String,
}

type Arguments = serde_json::Map<String, serde_json::Value>;

/// What became of a question.
#[derive(Clone)]
pub(in crate::agent) enum Answer {
    /// It was answered.
    Whole(Vec<ChatEvent>),
    /// It was not.
    Failed(ModelErrorKind, String),
}

/// What is known of a call.
#[derive(Clone, Default)]
pub(in crate::agent) struct Call {
    /// How it was made, if it was.
    pub(in crate::agent) made: Option<Repeat>,
    /// What was called, and with which arguments; those of a person are not the script's.
    pub(in crate::agent) called: Option<(Arc<str>, Option<Arguments>)>,
    /// What came of it.
    pub(in crate::agent) result: Option<Result<Made, Failed>>,
    /// What was decided since it was made last.
    pub(in crate::agent) decision: Option<Decision>,
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
            doing: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// What was written and what was held back, of a run that somebody else keeps.
    pub(in crate::agent) fn as_lent(&self) -> Option<&Lent> {
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
    pub(in crate::agent) fn call(&self, id: &str) -> Call {
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

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something of a script as on its way; `None` if the script has stopped.
    pub(in crate::agent) fn enter(self: &Arc<Self>) -> Option<Busy> {
        let mut doing = self.doing();
        if doing.has_stopped {
            return None;
        }
        doing.busy += 1;
        drop(doing);
        Some(Busy(self.clone()))
    }

    /// What is known of the question at a place.
    pub(in crate::agent) fn question(&self, place: &str, digest: &str) -> Replayed {
        let mut known = self.known();
        let Some((turn, before)) = known.places.get(place).cloned() else {
            known.asked += 1;
            return Replayed::New(known.asked);
        };
        if before == digest {
            return Replayed::Known(turn, known.answers.remove(&turn));
        }
        drop(known);
        self.diverge(format!(
            "question {turn} is another than before: its messages have changed"
        ));
        Replayed::Diverged
    }

    /// The script goes another way than before: nothing more of it is done.
    pub(in crate::agent) fn diverge(&self, how: String) {
        let mut doing = self.doing();
        doing.has_stopped = true;
        doing.diverged.get_or_insert(how);
        drop(doing);
        self.changed.notify_one();
    }

    /// How the script went another way, if it has.
    pub(in crate::agent) fn diverged(&self) -> Option<String> {
        self.doing().diverged.clone()
    }

    /// A call waits for somebody.
    pub(in crate::agent) fn wait(&self, call: Kept) {
        let mut doing = self.doing();
        if doing.waiting.iter().all(|other| other.call != call.call) {
            doing.waiting.push(call);
        }
        drop(doing);
        self.changed.notify_one();
    }

    /// Something of the script is done elsewhere: it stops once nothing else is on its way.
    pub(in crate::agent) fn hold(&self) {
        self.doing().is_held = true;
        self.changed.notify_one();
    }

    /// Whether the script waits for people or for what is done elsewhere, and nothing else is on its
    /// way.
    pub(in crate::agent) fn is_waiting(&self) -> bool {
        self.doing().is_waiting()
    }

    /// The calls that wait for people, if the script waits: then nothing more of it is begun.
    pub(in crate::agent) fn stop_to_wait(&self) -> Option<Vec<Kept>> {
        let mut doing = self.doing();
        if !doing.is_waiting() {
            return None;
        }
        doing.has_stopped = true;
        Some(std::mem::take(&mut doing.waiting))
    }

    /// Has a step written along with the next, by somebody who cannot wait for it.
    pub(in crate::agent) fn later(&self, step: Step) {
        let mut doing = self.doing();
        // What ends since the run has stopped is asked anew by whoever goes on with it.
        if !doing.has_stopped {
            doing.later.push(step);
        }
    }

    /// Writes what waits for a next step, which does not come.
    pub(super) fn flush(&self) {
        let steps = std::mem::take(&mut self.doing().later);
        if let Some(lent) = self.as_lent() {
            lent.write(&steps);
        }
    }

    /// Something that the script has read before.
    pub(in crate::agent) fn read_before(&self, name: &str) -> Option<Read> {
        self.known().reads.get(name).cloned()
    }

    /// From here on the world is asked.
    pub(in crate::agent) fn go_live(&self) {
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
        // The step itself comes last: what others wait for is there with it, or not at all.
        let mut steps = std::mem::take(&mut self.doing().later);
        steps.push(step);
        match &self.pages {
            Pages::Journal(claimed) => self.append(claimed, &steps, standing).await?,
            Pages::Lent(lent) => lent.write(&steps),
        }
        let mut known = self.known();
        for step in steps {
            known.read(step);
        }
        Ok(())
    }

    async fn append(
        &self,
        claimed: &Claimed,
        steps: &[Step],
        standing: &Standing,
    ) -> Result<(), StoreError> {
        let (journal, run) = (&claimed.journal, &claimed.run);
        let began = Instant::now();
        let mut last = claimed.last.lock().await;
        if standing.state != State::Running {
            claimed.given_back.store(true, Ordering::Release);
        }
        let count = steps.len() as u64;
        loop {
            let written = journal.append(run, claimed.epoch, steps, standing).await;
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
                && head.last >= *last + count
            {
                *last = head.last;
                break;
            }
        }
        Ok(())
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
            Step::Read {
                name,
                source,
                path,
                text,
            } => {
                self.reads.insert(name, Read { source, path, text });
            }
            Step::Asked {
                turn,
                digest,
                place: Some(place),
            } => {
                self.asked = self.asked.max(turn);
                self.places.insert(place, (turn, digest));
            }
            Step::Called {
                call,
                repeat,
                tool,
                arguments,
            } => {
                let known = self.calls.entry(call).or_default();
                let is_edited = matches!(
                    known.decision,
                    Some(Decision::Approve {
                        arguments: Some(_),
                        ..
                    })
                );
                known.called = Some((tool, (!is_edited).then_some(arguments)));
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
            | Step::Asked { place: None, .. }
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
