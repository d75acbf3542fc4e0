//! What the journal knows of one run, and what this process adds to it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quillet_core::chat::{ChatEvent, ModelErrorKind};
use quillet_core::journal::{
    Claim, Decision, Journal, JournalEntry, JournalEvent, PendingApproval, RecordedFailure,
    RecordedOutput, RunSnapshot, RunState,
};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::tool::Idempotency;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::external_journal::ExternalJournal;

/// How long a run waits for a journal that is away, before it fails.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// What is known of one run, and where what it does is written.
pub(in crate::agent) struct RunJournal {
    pages: JournalBackend,
    known: Mutex<ReplayState>,
    /// Whether something was done that the journal did not know.
    live: AtomicBool,
    /// Whether somebody else goes on with the run.
    lost: Arc<AtomicBool>,
    /// What a script does at this moment.
    doing: Mutex<ScriptActivity>,
    /// Rung when that changes.
    pub(in crate::agent) changed: Notify,
}

/// Where the steps of a run are written.
enum JournalBackend {
    /// Into a journal, whose claim this process has.
    Journal(ClaimedRun),
    /// Into the hands of whoever keeps them, who also says what may be done.
    Lent(Arc<ExternalJournal>),
}

/// A run that was claimed by this process.
struct ClaimedRun {
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
struct ScriptActivity {
    /// Calls and questions on their way.
    busy: usize,
    /// Calls that wait for people.
    waiting: Vec<ScriptApproval>,
    /// Whether something is done elsewhere, of a run whose steps somebody else keeps.
    is_held: bool,
    /// Steps to be written along with the next.
    later: Vec<JournalEvent>,
    /// Whether it has stopped, so that nothing more is begun.
    has_stopped: bool,
    /// How it went another way than before.
    diverged: Option<String>,
}

impl ScriptActivity {
    fn is_waiting(&self) -> bool {
        self.busy == 0 && (self.is_held || !self.waiting.is_empty())
    }
}

/// A call of a script that waits for somebody.
#[derive(Clone, Debug)]
pub(in crate::agent) struct ScriptApproval {
    pub(in crate::agent) call: String,
    pub(in crate::agent) tool: String,
    pub(in crate::agent) arguments: serde_json::Map<String, serde_json::Value>,
    pub(in crate::agent) why: &'static str,
}

/// Something of a script that is on its way, until it is dropped.
pub(in crate::agent) struct BusyGuard(Arc<RunJournal>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.doing().busy -= 1;
        self.0.changed.notify_one();
    }
}

/// What is known of a question of a script.
pub(in crate::agent) enum ReplayLookup {
    /// Nothing: its number.
    New(u32),
    /// Its number, and its answer if it has one.
    Known(u32, Option<RecordedReply>),
    /// Something else was asked at its place.
    Diverged,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pages {
            JournalBackend::Journal(claimed) => {
                write!(f, "Book({} {})", claimed.run, claimed.epoch)
            }
            JournalBackend::Lent(lent) => write!(f, "Book({lent:?})"),
        }
    }
}

/// What is known, by turn and by call.
#[derive(Default)]
struct ReplayState {
    answers: HashMap<u32, RecordedReply>,
    /// Questions of this process so far.
    asked: u32,
    calls: HashMap<Arc<str>, CallRecord>,
    /// Questions of a script by their places: number and digest.
    places: HashMap<String, (u32, String)>,
    /// What a script has read, by name.
    reads: HashMap<String, RecordedRead>,
}

/// Something that a script has read.
#[derive(Clone)]
pub(in crate::agent) struct RecordedRead {
    pub(in crate::agent) source: String,
    pub(in crate::agent) path: Option<String>,
    pub(in crate::agent) text: String,
}

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// What became of a question.
#[derive(Clone)]
pub(in crate::agent) enum RecordedReply {
    /// It was answered.
    Whole(Vec<ChatEvent>),
    /// It was not.
    Failed(ModelErrorKind, String),
}

/// What is known of a call.
#[derive(Clone, Default)]
pub(in crate::agent) struct CallRecord {
    /// How it was made, if it was.
    pub(in crate::agent) made: Option<Idempotency>,
    /// What was called, and with which arguments; those of a person are not the script's.
    pub(in crate::agent) called: Option<(Arc<str>, Option<JsonObject>)>,
    /// What came of it.
    pub(in crate::agent) result: Option<Result<RecordedOutput, RecordedFailure>>,
    /// What was decided since it was made last.
    pub(in crate::agent) decision: Option<Decision>,
}

impl RunJournal {
    /// Opens the journal of a run that was claimed. Holds the claim until it is dropped; `stop`
    /// ends the run if somebody else takes it.
    pub(in crate::agent) fn open(
        journal: Arc<dyn Journal>,
        run: Arc<str>,
        claim: Claim,
        lease: Duration,
        entries: Vec<JournalEntry>,
        stop: &CancellationToken,
    ) -> Arc<Self> {
        let known = ReplayState::of(entries.into_iter().map(|entry| entry.step));
        let lost = Arc::new(AtomicBool::new(false));
        let given_back = Arc::new(AtomicBool::new(false));
        let renewing = renew(
            (journal.clone(), run.clone(), claim.epoch),
            lease,
            (lost.clone(), given_back.clone()),
            stop.clone(),
        );
        let claimed = ClaimedRun {
            journal,
            run,
            epoch: claim.epoch,
            last: tokio::sync::Mutex::new(claim.last),
            given_back,
            _renewing: AbortOnDropHandle::new(tokio::spawn(renewing)),
        };
        RunJournal::with(JournalBackend::Journal(claimed), known, lost)
    }

    /// Of a run whose steps somebody else keeps.
    pub(super) fn from_external(steps: Vec<JournalEvent>, lent: Arc<ExternalJournal>) -> Arc<Self> {
        RunJournal::with(
            JournalBackend::Lent(lent),
            ReplayState::of(steps),
            Arc::default(),
        )
    }

    fn with(pages: JournalBackend, known: ReplayState, lost: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(RunJournal {
            pages,
            live: AtomicBool::new(known.is_empty()),
            known: Mutex::new(known),
            lost,
            doing: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// What was written and what was held back, of a run that somebody else keeps.
    pub(in crate::agent) fn as_lent(&self) -> Option<&ExternalJournal> {
        match &self.pages {
            JournalBackend::Journal(_) => None,
            JournalBackend::Lent(lent) => Some(lent),
        }
    }

    fn known(&self) -> MutexGuard<'_, ReplayState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next question, and its answer if it has one.
    pub(super) fn next_question(&self) -> (u32, Option<RecordedReply>) {
        let mut known = self.known();
        known.asked += 1;
        let turn = known.asked;
        (turn, known.answers.remove(&turn))
    }

    /// What is known of a call.
    pub(in crate::agent) fn call(&self, id: &str) -> CallRecord {
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

    fn doing(&self) -> MutexGuard<'_, ScriptActivity> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something of a script as on its way; `None` if the script has stopped.
    pub(in crate::agent) fn enter(self: &Arc<Self>) -> Option<BusyGuard> {
        let mut doing = self.doing();
        if doing.has_stopped {
            return None;
        }
        doing.busy += 1;
        drop(doing);
        Some(BusyGuard(self.clone()))
    }

    /// What is known of the question at a place.
    pub(in crate::agent) fn question(&self, place: &str, digest: &str) -> ReplayLookup {
        let mut known = self.known();
        let Some((turn, before)) = known.places.get(place).cloned() else {
            known.asked += 1;
            return ReplayLookup::New(known.asked);
        };
        if before == digest {
            return ReplayLookup::Known(turn, known.answers.remove(&turn));
        }
        drop(known);
        self.diverge(format!(
            "question {turn} is another than before: its messages have changed"
        ));
        ReplayLookup::Diverged
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
    pub(in crate::agent) fn wait(&self, call: ScriptApproval) {
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
    pub(in crate::agent) fn stop_to_wait(&self) -> Option<Vec<ScriptApproval>> {
        let mut doing = self.doing();
        if !doing.is_waiting() {
            return None;
        }
        doing.has_stopped = true;
        Some(std::mem::take(&mut doing.waiting))
    }

    /// Has a step written along with the next, by somebody who cannot wait for it.
    pub(in crate::agent) fn later(&self, step: JournalEvent) {
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
    pub(in crate::agent) fn read_before(&self, name: &str) -> Option<RecordedRead> {
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
        self.lost.load(Ordering::Acquire) || self.as_lent().is_some_and(ExternalJournal::is_stopped)
    }

    /// Writes a step of a run that goes on.
    pub(in crate::agent) async fn write(&self, step: JournalEvent) -> Result<(), StoreError> {
        self.put(step, &RunSnapshot::at(RunState::Running)).await
    }

    /// The run waits for people; nobody goes on with it until they have decided.
    pub(in crate::agent) async fn park(
        &self,
        waiting: Vec<PendingApproval>,
    ) -> Result<(), StoreError> {
        let standing = RunSnapshot {
            state: RunState::Waiting,
            waiting: waiting.clone(),
        };
        self.put(JournalEvent::Parked { waiting }, &standing).await
    }

    /// The run is over.
    pub(in crate::agent) async fn end(&self, step: JournalEvent) -> Result<(), StoreError> {
        self.put(step, &RunSnapshot::at(RunState::Ended)).await
    }

    /// Waits for a journal that is away: a step that nobody knows of would be made twice. One that
    /// was written although nobody said so is not written once more.
    async fn put(&self, step: JournalEvent, standing: &RunSnapshot) -> Result<(), StoreError> {
        // The step itself comes last: what others wait for is there with it, or not at all.
        let mut steps = std::mem::take(&mut self.doing().later);
        steps.push(step);
        match &self.pages {
            JournalBackend::Journal(claimed) => self.append(claimed, &steps, standing).await?,
            JournalBackend::Lent(lent) => lent.write(&steps),
        }
        let mut known = self.known();
        for step in steps {
            known.read(step);
        }
        Ok(())
    }

    async fn append(
        &self,
        claimed: &ClaimedRun,
        steps: &[JournalEvent],
        standing: &RunSnapshot,
    ) -> Result<(), StoreError> {
        let (journal, run) = (&claimed.journal, &claimed.run);
        let began = Instant::now();
        let mut last = claimed.last.lock().await;
        if standing.state != RunState::Running {
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

impl ReplayState {
    fn of(steps: impl IntoIterator<Item = JournalEvent>) -> Self {
        let mut known = ReplayState::default();
        for step in steps {
            known.read(step);
        }
        known
    }

    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.calls.is_empty()
    }

    fn read(&mut self, step: JournalEvent) {
        match step {
            JournalEvent::Answered { turn, events } => {
                self.answers.insert(turn, RecordedReply::Whole(events));
            }
            JournalEvent::Unanswered {
                turn,
                kind,
                message,
            } => {
                self.answers
                    .insert(turn, RecordedReply::Failed(kind, message));
            }
            JournalEvent::Read {
                name,
                source,
                path,
                text,
            } => {
                self.reads.insert(name, RecordedRead { source, path, text });
            }
            JournalEvent::Asked {
                turn,
                digest,
                place: Some(place),
            } => {
                self.asked = self.asked.max(turn);
                self.places.insert(place, (turn, digest));
            }
            JournalEvent::Called {
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
            JournalEvent::Returned { call, result } => {
                self.calls.entry(call).or_default().result = Some(result);
            }
            JournalEvent::Decided { call, decision, .. } => {
                self.calls.entry(call).or_default().decision = Some(decision);
            }
            JournalEvent::Admitted { .. }
            | JournalEvent::Prepared { .. }
            | JournalEvent::Asked { place: None, .. }
            | JournalEvent::Parked { .. }
            | JournalEvent::TakenOver { .. }
            | JournalEvent::Ended { .. } => {}
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
