//! Journal of one run: its recorded events, and the events that this process adds.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use quillet_core::chat::{ChatEvent, ModelErrorKind};
use quillet_core::journal::{
    Claim, Decision, Journal, JournalEntry, JournalEvent, PendingApproval, RecordedFailure,
    RecordedOutput, RunSnapshot, RunState,
};
use quillet_core::lock::lock;
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::tool::Idempotency;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::external_journal::ExternalJournal;

/// How long a run waits for an unavailable journal before it fails.
const PATIENCE: Duration = Duration::from_secs(90);
/// Interval between attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// Recorded events of one run, and the destination of new ones.
pub(in crate::agent) struct RunJournal {
    pages: JournalBackend,
    known: Mutex<ReplayState>,
    /// Whether this process has added a new event.
    live: AtomicBool,
    /// Whether another process has taken over the run.
    lost: Arc<AtomicBool>,
    /// Current activity of a script.
    doing: Mutex<ScriptActivity>,
    /// Notified when the activity changes.
    pub(in crate::agent) changed: Notify,
}

/// Destination of new events.
enum JournalBackend {
    /// A journal in which this process holds the lease of the run.
    Journal(ClaimedRun),
    /// An external system, which also permits activities.
    Lent(Arc<ExternalJournal>),
}

/// Run that this process holds a lease for.
struct ClaimedRun {
    journal: Arc<dyn Journal>,
    run: Arc<str>,
    epoch: u64,
    /// Number of the last event. The lock is held while the next one is written.
    last: tokio::sync::Mutex<u64>,
    /// Whether this process has released the run. The lost lease is then not a takeover.
    given_back: Arc<AtomicBool>,
    _renewing: AbortOnDropHandle<()>,
}

/// Current activity of a script.
#[derive(Default)]
struct ScriptActivity {
    /// Number of tool and model calls in progress.
    busy: usize,
    /// Calls with a pending approval.
    waiting: Vec<ScriptApproval>,
    /// Whether an activity was held back for an external system.
    is_held: bool,
    /// Events to be written together with the next one.
    later: Vec<JournalEvent>,
    /// Whether the script has stopped, so that no new call begins.
    has_stopped: bool,
    /// How the script diverged from its journal.
    diverged: Option<String>,
}

impl ScriptActivity {
    fn is_waiting(&self) -> bool {
        self.busy == 0 && (self.is_held || !self.waiting.is_empty())
    }
}

/// Call of a script with a pending approval.
#[derive(Clone, Debug)]
pub(in crate::agent) struct ScriptApproval {
    pub(in crate::agent) call: String,
    pub(in crate::agent) tool: String,
    pub(in crate::agent) arguments: serde_json::Map<String, serde_json::Value>,
    pub(in crate::agent) why: &'static str,
}

/// Guard of an activity in progress; ends it on drop.
pub(in crate::agent) struct BusyGuard(Arc<RunJournal>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.doing().busy -= 1;
        self.0.changed.notify_one();
    }
}

/// Recorded state of a model call of a script.
pub(in crate::agent) enum ReplayLookup {
    /// Nothing; the call gets this number.
    New(u32),
    /// Its number, and its answer if recorded.
    Known(u32, Option<RecordedReply>),
    /// Another call is recorded at this position.
    Diverged,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pages {
            JournalBackend::Journal(claimed) => {
                write!(f, "RunJournal({} {})", claimed.run, claimed.epoch)
            }
            JournalBackend::Lent(lent) => write!(f, "Book({lent:?})"),
        }
    }
}

/// Recorded events, by turn and by call.
#[derive(Default)]
struct ReplayState {
    answers: HashMap<u32, RecordedReply>,
    /// Number of model calls in this process so far.
    asked: u32,
    calls: HashMap<Arc<str>, CallRecord>,
    /// Model calls of a script by position: number and digest.
    places: HashMap<String, (u32, String)>,
    /// Files that a script has read, by name.
    reads: HashMap<String, RecordedRead>,
}

/// File that a script has read.
#[derive(Clone)]
pub(in crate::agent) struct RecordedRead {
    pub(in crate::agent) source: String,
    pub(in crate::agent) path: Option<String>,
    pub(in crate::agent) text: String,
}

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// Recorded outcome of a model call.
#[derive(Clone)]
pub(in crate::agent) enum RecordedReply {
    /// The answer.
    Whole(Vec<ChatEvent>),
    /// The failure.
    Failed(ModelErrorKind, String),
}

/// Recorded state of a tool call.
#[derive(Clone, Default)]
pub(in crate::agent) struct CallRecord {
    /// How the call was made, if it was.
    pub(in crate::agent) made: Option<Idempotency>,
    /// Tool and arguments of the call. Arguments edited by a person differ from those of the
    /// script.
    pub(in crate::agent) called: Option<(Arc<str>, Option<JsonObject>)>,
    /// The result.
    pub(in crate::agent) result: Option<Result<RecordedOutput, RecordedFailure>>,
    /// The decision since the call was last made.
    pub(in crate::agent) decision: Option<Decision>,
}

impl RunJournal {
    /// Opens the journal of a run whose lease was acquired. Renews the lease until the value is
    /// dropped; `stop` ends the run if another process takes over.
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
            journal.clone(),
            run.clone(),
            claim.epoch,
            lease,
            lost.clone(),
            given_back.clone(),
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

    /// Journal of a run that an external system stores.
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

    /// New events and held-back calls of an externally journaled run.
    pub(in crate::agent) fn as_lent(&self) -> Option<&ExternalJournal> {
        match &self.pages {
            JournalBackend::Journal(_) => None,
            JournalBackend::Lent(lent) => Some(lent),
        }
    }

    fn known(&self) -> MutexGuard<'_, ReplayState> {
        // Each event is applied as a whole, so the state is valid even after a panic.
        lock(&self.known)
    }

    /// Returns the number of the next model call, and its recorded answer if any.
    pub(super) fn next_question(&self) -> (u32, Option<RecordedReply>) {
        let mut known = self.known();
        known.asked += 1;
        let turn = known.asked;
        // Removed, not cloned: a replay uses every answer once, and answers can be large.
        (turn, known.answers.remove(&turn))
    }

    /// Recorded state of a tool call.
    pub(in crate::agent) fn call(&self, id: &str) -> CallRecord {
        self.known().calls.get(id).cloned().unwrap_or_default()
    }

    /// Whether the result of a call is recorded.
    pub(in crate::agent) fn has_result(&self, id: &str) -> bool {
        let known = self.known();
        known
            .calls
            .get(id)
            .is_some_and(|call| call.result.is_some())
    }

    fn doing(&self) -> MutexGuard<'_, ScriptActivity> {
        lock(&self.doing)
    }

    /// Registers an activity of a script; `None` if the script has stopped.
    pub(in crate::agent) fn enter(self: &Arc<Self>) -> Option<BusyGuard> {
        let mut doing = self.doing();
        if doing.has_stopped {
            return None;
        }
        doing.busy += 1;
        drop(doing);
        Some(BusyGuard(self.clone()))
    }

    /// Looks up the model call at a position.
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
            "model call {turn} differs from the recorded one: its messages have changed"
        ));
        ReplayLookup::Diverged
    }

    /// Stops the script because it diverged from its journal.
    pub(in crate::agent) fn diverge(&self, how: String) {
        let mut doing = self.doing();
        doing.has_stopped = true;
        // The first divergence is the cause; later ones may only follow from it.
        doing.diverged.get_or_insert(how);
        drop(doing);
        self.changed.notify_one();
    }

    /// How the script diverged from its journal, if it did.
    pub(in crate::agent) fn diverged(&self) -> Option<String> {
        self.doing().diverged.clone()
    }

    /// Registers a call with a pending approval.
    pub(in crate::agent) fn wait(&self, call: ScriptApproval) {
        let mut doing = self.doing();
        if doing.waiting.iter().all(|other| other.call != call.call) {
            doing.waiting.push(call);
        }
        drop(doing);
        self.changed.notify_one();
    }

    /// Marks an activity as held back: the script stops when no other activity is in progress.
    pub(in crate::agent) fn mark_held(&self) {
        self.doing().is_held = true;
        self.changed.notify_one();
    }

    /// Whether the script waits only for approvals or held-back activities, with nothing else in
    /// progress.
    pub(in crate::agent) fn is_waiting(&self) -> bool {
        self.doing().is_waiting()
    }

    /// Stops a script that only waits, and returns its calls with pending approvals.
    pub(in crate::agent) fn stop_to_wait(&self) -> Option<Vec<ScriptApproval>> {
        let mut doing = self.doing();
        if !doing.is_waiting() {
            return None;
        }
        doing.has_stopped = true;
        Some(std::mem::take(&mut doing.waiting))
    }

    /// Queues an event for the next write, for code that cannot await, such as `Drop`.
    pub(in crate::agent) fn later(&self, step: JournalEvent) {
        let mut doing = self.doing();
        // Results that arrive after the stop are discarded. The process that resumes the run makes
        // those calls again.
        if !doing.has_stopped {
            doing.later.push(step);
        }
    }

    /// Writes queued events when no further event follows.
    pub(super) fn flush(&self) {
        let steps = std::mem::take(&mut self.doing().later);
        if let Some(lent) = self.as_lent() {
            lent.write(&steps);
        }
    }

    /// File that the script has read before.
    pub(in crate::agent) fn read_before(&self, name: &str) -> Option<RecordedRead> {
        self.known().reads.get(name).cloned()
    }

    /// Marks the replay as complete: from now on, calls are live.
    pub(in crate::agent) fn go_live(&self) {
        self.live.store(true, Ordering::Release);
    }

    /// Whether everything so far comes from the journal.
    pub(in crate::agent) fn is_replaying(&self) -> bool {
        !self.live.load(Ordering::Acquire)
    }

    /// Whether another process has taken over the run.
    pub(in crate::agent) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire) || self.as_lent().is_some_and(ExternalJournal::is_stopped)
    }

    /// Writes an event of a running run.
    pub(in crate::agent) async fn write(&self, step: JournalEvent) -> Result<(), StoreError> {
        self.put(step, &RunSnapshot::at(RunState::Running)).await
    }

    /// Records that the run is waiting for approvals. It is not resumed before they are decided.
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

    /// Records the end of the run.
    pub(in crate::agent) async fn end(&self, step: JournalEvent) -> Result<(), StoreError> {
        self.put(step, &RunSnapshot::at(RunState::Ended)).await
    }

    /// Writes an event, and waits if the journal is unavailable: the next process would repeat an
    /// activity that is not recorded. A write whose confirmation was lost is detected, not
    /// repeated.
    async fn put(&self, step: JournalEvent, standing: &RunSnapshot) -> Result<(), StoreError> {
        // The queued events come first in the same write, so that an event is never recorded
        // without those that it depends on.
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
        // Held across all attempts: a lost confirmation is detected by comparing the journal's head
        // with `last`, so no other write of this process may come between.
        let mut last = claimed.last.lock().await;
        if standing.state != RunState::Running {
            // Set before the write: the renewal task may notice the released lease before the write
            // returns, and must not take it for a takeover.
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
            // The epoch was outdated, because another process has acquired the lease.
            if error.kind == StoreErrorKind::Conflict {
                self.lost.store(true, Ordering::Release);
            }
            if error.kind != StoreErrorKind::Unavailable || began.elapsed() > PATIENCE {
                return Err(error);
            }
            sleep(PAUSE).await;
            // The events may be in the journal although the confirmation was lost.
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
                // A decision covers one attempt of the call; a repetition needs its own.
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

/// Renews the lease until another process takes over.
async fn renew(
    journal: Arc<dyn Journal>,
    run: Arc<str>,
    epoch: u64,
    lease: Duration,
    lost: Arc<AtomicBool>,
    given_back: Arc<AtomicBool>,
    stop: CancellationToken,
) {
    loop {
        // A third of the lease leaves time for another attempt before it expires.
        sleep(lease / 3).await;
        match journal.renew(&run, epoch, lease).await {
            Ok(true) => {}
            // The lease of a run that is waiting or has ended was released by this process.
            Ok(false) if given_back.load(Ordering::Acquire) => return,
            Ok(false) => {
                tracing::warn!(run = &*run, "another process has resumed this run");
                lost.store(true, Ordering::Release);
                return stop.cancel();
            }
            // The journal may return before the lease expires; if not, the epoch rejects the writes
            // of the older owner.
            Err(error) => tracing::debug!(run = &*run, %error, "cannot renew the lease of a run"),
        }
    }
}
