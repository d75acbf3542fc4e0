//! Execution of one run.
//!
//! A run does not have its own task: it advances as its events are read. Dropping it stops the
//! model and the tools immediately. A short task of the service then stores the text so far.

use std::future::pending;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use quillet_agent::{AgentError, AgentEvent, AgentOutcome, Citation, EndReason, EventStream};
use quillet_core::budget::{self, Amount, BudgetAccounts, BudgetLimits, NANO};
use quillet_core::chat::Usage;
use quillet_core::journal::{self, ApprovalReason, PendingApproval};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, Role, clock};
use tokio_util::sync::CancellationToken;

use super::durable::{Admission, RunJournal, Setup};
use super::prepared::PreparedRun;
use super::script::ScriptSetup;
use super::service::RunPermits;
use super::session_writer::{QuestionState, SessionWriter};
use super::start::{RunStart, StartedRun, defect};
use super::{AgentRequest, AgentService, Principal, history};

/// Time limit for the final writes after a reader has left.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A run in progress.
pub struct RunHandle {
    id: String,
    run_id: String,
    model: String,
    provider: Option<String>,
    /// Name of the model as sent to the provider.
    asked_model: Option<String>,
    service: Arc<AgentService>,
    started: Instant,
    began_to_speak: bool,
    /// Sources of the documents in the question.
    sources: Vec<Citation>,
    /// Warnings for the caller.
    warnings: Vec<String>,
    stop: CancellationToken,
    /// Resolves when a stop is requested.
    asked_to_stop: BoxFuture<'static, ()>,
    stage: RunStage,
    // Released when the run ends, even if the handle still exists. A run with an event log releases
    // them after its last event is written.
    places: Option<RunPermits>,
    has_log: bool,
    durability: Durability,
    /// Whether this is a script, which repeats earlier text itself.
    is_script: bool,
    /// Account that pays for the run's calls.
    payer: BudgetAccounts,
    /// Event to send after an earlier one.
    unsaid: Option<AgentEvent>,
}

/// Upper bound of the number of events of one run in one process.
const EVENTS_OF_ONE_OWNER: u64 = 10_000_000;

/// State of a durable run; unused by others.
#[derive(Default)]
struct Durability {
    /// Journal of the run, once it exists.
    book: Arc<OnceLock<Arc<RunJournal>>>,
    /// Number of times that the run was leased, from 1.
    epoch: u64,
    /// Whether this process resumed the run of another one.
    is_resumed: bool,
    /// Text from the recorded part of the run.
    text: String,
    /// Calls with pending approvals.
    waiting: Vec<PendingApproval>,
    /// Usage in earlier processes.
    before: PriorUsage,
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("id", &self.id)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

enum RunStage {
    Preparing(BoxFuture<'static, Result<StartedRun, AgentError>>),
    Going(EventStream, SessionWriter),
    /// The session is being written before the last event is sent.
    Keeping(BoxFuture<'static, ()>, Box<AgentOutcome>),
    Over,
}

/// Leased run with its recorded events.
pub(super) struct ResumedRun {
    pub(super) book: Arc<RunJournal>,
    pub(super) setup: Option<Setup>,
    pub(super) script: Option<ScriptSetup>,
    pub(super) epoch: u64,
    /// Whether its question is already in the session, and its events up to the last recorded one
    /// were sent.
    pub(super) is_known: bool,
    pub(super) before: PriorUsage,
}

/// Usage before this process resumed the run.
#[derive(Default)]
pub(super) struct PriorUsage {
    /// Usage of each model answer.
    pub(super) usage: Vec<Usage>,
    /// Running time without the time spent waiting for approvals and for a process.
    pub(super) time: Duration,
}

impl RunHandle {
    pub(super) fn new(
        service: Arc<AgentService>,
        mut request: AgentRequest,
        who: &Principal,
        request_id: &str,
        places: RunPermits,
    ) -> Self {
        // Stored with the request, so that it applies after a takeover too.
        request.budget = budget::current_accounts().and_then(|payer| payer.asked);
        let admission = Admission {
            who: who.clone(),
            request_id: request_id.to_owned(),
            request,
        };
        let durability = Durability {
            epoch: 1,
            ..Durability::default()
        };
        let stop = CancellationToken::new();
        RunHandle::at(
            service,
            admission,
            durability,
            None,
            None,
            stop,
            Some(places),
        )
    }

    /// Run that another process began and this one resumes.
    pub(super) fn resumed(
        service: Arc<AgentService>,
        admission: Admission,
        resumed: ResumedRun,
        stop: CancellationToken,
        places: Option<RunPermits>,
    ) -> Self {
        let durability = Durability {
            book: Arc::new(OnceLock::from(resumed.book)),
            epoch: resumed.epoch,
            is_resumed: resumed.is_known,
            before: resumed.before,
            ..Durability::default()
        };
        let (setup, script) = (resumed.setup, resumed.script);
        let mut running =
            RunHandle::at(service, admission, durability, setup, script, stop, places);
        running.has_log = true;
        running
    }

    fn at(
        service: Arc<AgentService>,
        admission: Admission,
        durability: Durability,
        setup: Option<Setup>,
        script: Option<ScriptSetup>,
        stop: CancellationToken,
        places: Option<RunPermits>,
    ) -> Self {
        let id = admission.who.response_id(&admission.request_id);
        let run_id = admission.who.run_id(&admission.request_id);
        let named = admission.request.model.as_ref();
        let model = match (&admission.request.script, named) {
            (Some(script), _) => Some(script.title()),
            (None, Some(settings)) => Some(settings.model_id.clone()),
            (None, None) => service.parts.models.default_model(),
        };
        let is_script = admission.request.script.is_some();
        // A resumed run has no current caller, so its account comes from the admission.
        let payer = budget::current_accounts().unwrap_or_else(|| {
            let payer = service.parts.models.payer(admission.who.name());
            match &admission.request.budget {
                Some(limits) => payer.with_request_limits(limits),
                None => payer,
            }
        });
        let (runs, run) = (service.parts.runs.clone(), run_id.clone());
        // Paired with the decrement in `Drop`, so a handle that is never read counts too.
        service.counts.active.fetch_add(1, Ordering::Relaxed);
        let beginning = RunStart {
            service: service.clone(),
            admission,
            setup,
            script,
            is_resumed: durability.is_resumed,
            stop: stop.clone(),
            book: durability.book.clone(),
        };
        RunHandle {
            id,
            run_id,
            model: model.unwrap_or_default(),
            provider: None,
            asked_model: None,
            started: Instant::now(),
            began_to_speak: false,
            sources: Vec::new(),
            warnings: Vec::new(),
            stop,
            // Another replica may receive the stop request; the shared state forwards it.
            asked_to_stop: Box::pin(async move { runs.cancelled(&run).await }),
            stage: RunStage::Preparing(Box::pin(beginning.prepare())),
            places,
            has_log: false,
            unsaid: None,
            is_script,
            durability,
            payer,
            service,
        }
    }

    /// Number that precedes the number of the first event of this handle. Each process that resumes
    /// the run uses a higher range, because it does not know how many events were sent before.
    #[must_use]
    pub fn first_event(&self) -> u64 {
        // Each owner has its own range, so its numbers never collide with those of an earlier
        // owner.
        self.durability.epoch.saturating_sub(1) * EVENTS_OF_ONE_OWNER
    }

    /// Whether another process has taken over, so that no further events may be sent.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        let book = self.durability.book.get();
        book.is_some_and(|book| book.is_lost())
    }

    /// Id of the answer: `resp-` and 12 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Id of the run in the state shared by replicas.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Name of the model as requested.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Cost of the run in US dollars, if the model's price is known.
    #[must_use]
    pub fn cost(&self, outcome: &AgentOutcome) -> Option<f64> {
        let model = self.asked_model.as_deref()?;
        let models = &self.service.parts.models;
        models.cost(model, &outcome.usage?, outcome.model_calls)
    }

    /// The provider, if it is known.
    #[must_use]
    pub fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// Warnings for the caller, such as tool patterns of the agent that match no tool.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Attaches the event log. The run then stays registered until the handle is dropped.
    pub fn logged(&mut self) {
        self.has_log = true;
    }

    /// Requests a stop; the last event reports it.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns the next event; the last event is [`AgentEvent::Ended`], which occurs exactly once.
    /// Cancel-safe: the caller may drop the future and call the method again.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        loop {
            // Read again for each step, because preparation adds the agent's budget to the account.
            let payer = self.payer.clone();
            let advanced = if payer.is_limited() {
                budget::charge_to(payer, self.advance()).await
            } else {
                self.advance().await
            };
            if let Advance::To(event) = advanced {
                return event;
            }
        }
    }

    /// The next event, charged to the given account.
    async fn advance(&mut self) -> Advance {
        if let Some(event) = self.unsaid.take() {
            self.count(&event);
            return Advance::To(Some(event));
        }
        loop {
            let preparing = matches!(self.stage, RunStage::Preparing(_));
            let event = tokio::select! {
                biased;
                // Checked first, so that events that have already happened are sent before the
                // stop.
                step = step(&mut self.stage) => step,
                () = &mut self.asked_to_stop => {
                    // A completed future must not be polled again.
                    self.asked_to_stop = Box::pin(pending());
                    self.stop.cancel();
                    continue;
                }
                () = stopped_early(&self.stop, preparing) => {
                    StageEvent::Failed(EndReason::Cancelled)
                }
            };
            match event {
                StageEvent::Prepared(StartedRun::Script(events)) => {
                    self.stage = RunStage::Going(events, SessionWriter::nothing(&self.id));
                }
                StageEvent::Prepared(StartedRun::Agent(prepared)) => {
                    let question = self.write_question(&prepared);
                    self.provider = Some(prepared.provider);
                    self.asked_model.clone_from(&prepared.run.model_name);
                    self.sources = prepared.sources;
                    self.warnings = prepared.warnings;
                    let kept = SessionWriter {
                        question,
                        session: prepared.session,
                        run: self.id.clone(),
                        asked: prepared.asked,
                        is_durable: self.durability.book.get().is_some(),
                    };
                    self.stage = RunStage::Going(quillet_agent::run(prepared.run), kept);
                    self.limit(prepared.budget);
                    return Advance::Prepared;
                }
                // The process that took over reports the end; another end event from here would
                // contradict it.
                StageEvent::Told(AgentEvent::Ended(_)) | StageEvent::Failed(_)
                    if self.is_lost() =>
                {
                    self.stage = RunStage::Over;
                    return Advance::To(None);
                }
                StageEvent::Told(AgentEvent::Ended(mut outcome)) => {
                    // The documents of the question come before the sources that tools found.
                    outcome.sources.splice(0..0, self.sources.drain(..));
                    self.keep(outcome);
                }
                StageEvent::Told(event) => {
                    if let Some(event) = self.unknown_yet(event) {
                        return Advance::To(Some(event));
                    }
                }
                StageEvent::Failed(ending) => self.close(Box::new(nothing(ending))),
                StageEvent::Kept(outcome) => return Advance::To(Some(self.finish(outcome))),
                StageEvent::Over => return Advance::To(None),
            }
        }
    }

    /// Applies the budgets of the agent, and counts earlier usage.
    fn limit(&mut self, budget: Option<(String, BudgetLimits)>) {
        if let Some((agent, limits)) = budget {
            let (account, title) = (format!("agent:{agent}"), format!("agent {agent}: budget"));
            let payer = std::mem::take(&mut self.payer);
            self.payer = payer.with_limits(&account, &title, &limits);
        }
        let before = std::mem::take(&mut self.durability.before);
        let model = self.asked_model.as_deref().unwrap_or_default();
        let models = &self.service.parts.models;
        let mut spent = Amount::default();
        for usage in &before.usage {
            let usd = models.cost(model, usage, 1).unwrap_or_default();
            spent += Amount {
                tokens: usage.total_tokens(),
                // Rounded up, so that rounding never lets a run exceed its budget.
                nano_usd: (usd * NANO).ceil() as u64,
            };
        }
        self.payer.add_previous_usage(spent, before.time);
    }

    /// Starts writing the user's message to the session while the run continues. Results of calls
    /// are written with the answer: alone they would follow no call.
    fn write_question(&self, prepared: &PreparedRun) -> QuestionState {
        let Some(session) = prepared.session.clone() else {
            return QuestionState::Unwritten;
        };
        if prepared.is_asked_again || self.durability.is_resumed {
            return QuestionState::Known;
        }
        let asked = &prepared.asked;
        if asked.is_empty() || asked.iter().any(|message| message.role != Role::User) {
            return QuestionState::Unwritten;
        }
        let turns = history::question_turns(&self.id, asked);
        let (service, run) = (self.service.clone(), self.id.clone());
        // A task of the service performs the write, so that it continues if the reader leaves.
        QuestionState::Writing(self.service.tasks.spawn(async move {
            let written = service.parts.sessions.append(&session, &turns).await;
            if let Err(error) = &written {
                tracing::warn!(session, run, %error, "cannot store the user's message");
            }
            written.is_ok()
        }))
    }

    /// Returns the event unless the previous process has already sent it. The earlier text is sent
    /// before the first new event.
    fn unknown_yet(&mut self, event: AgentEvent) -> Option<AgentEvent> {
        if let AgentEvent::ApprovalRequired {
            id,
            name,
            input,
            why,
        } = &event
        {
            let expires = self.service.options.approval_time.as_millis();
            self.durability.waiting.push(PendingApproval {
                call: id.as_str().into(),
                tool: name.as_str().into(),
                arguments: input.clone(),
                why: if *why == "unknown" {
                    ApprovalReason::Unknown
                } else {
                    ApprovalReason::Permission
                },
                // A time that does not fit means that the approval never expires.
                expires_ms: u64::try_from(expires)
                    .ok()
                    .map(|time| clock::millis().saturating_add(time)),
            });
        }
        let durability = &mut self.durability;
        if !durability.is_resumed || self.is_script {
            self.count(&event);
            return Some(event);
        }
        let is_known = durability.book.get().is_some_and(|book| match &event {
            // Sent before the tool is called, so that the client sees which call is in progress.
            AgentEvent::ToolStarted { id, .. } => book.has_result(id),
            AgentEvent::ApprovalRequired { .. } => false,
            _ => book.is_replaying(),
        });
        if is_known {
            if let AgentEvent::Text(text) = event {
                durability.text.push_str(&text);
            }
            return None;
        }
        durability.is_resumed = false;
        let text = std::mem::take(&mut durability.text);
        self.unsaid = Some(event);
        Some(AgentEvent::Resumed { text })
    }

    fn keep(&mut self, outcome: Box<AgentOutcome>) {
        if let RunStage::Going(_, kept) = std::mem::replace(&mut self.stage, RunStage::Over) {
            let (service, said) = (self.service.clone(), outcome.clone());
            let book = self.durability.book.get().cloned();
            let waiting = std::mem::take(&mut self.durability.waiting);
            let keeping = Box::pin(async move {
                // A parked run has not ended; its session is written at the end.
                if let (EndReason::ApprovalRequired, Some(book)) = (&said.ending, &book) {
                    return warn_if_unwritten(&said, book.park(waiting).await);
                }
                // Written before the end is recorded: if the process dies in between, the run is
                // resumed and the session is written again.
                kept.keep(&*service.parts.sessions, &said).await;
                if let Some(book) = book {
                    warn_if_unwritten(&said, book.end(ended(&said)).await);
                }
            });
            self.stage = RunStage::Keeping(keeping, outcome);
        }
    }

    /// Ends a run before its first event.
    fn close(&mut self, outcome: Box<AgentOutcome>) {
        let (said, book) = (outcome.clone(), self.durability.book.get().cloned());
        let keeping = Box::pin(async move {
            if let Some(book) = book {
                warn_if_unwritten(&said, book.end(ended(&said)).await);
            }
        });
        self.stage = RunStage::Keeping(keeping, outcome);
    }

    fn finish(&mut self, outcome: Box<AgentOutcome>) -> AgentEvent {
        self.stage = RunStage::Over;
        self.service.counts.ended(&outcome);
        // The permits of a run with an event log are released after its last event is written:
        // until then its readers consider it running.
        if !self.has_log {
            self.places = None;
        }
        AgentEvent::Ended(outcome)
    }

    fn count(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text(_) | AgentEvent::Reasoning(_) if !self.began_to_speak => {
                self.began_to_speak = true;
                self.service.counts.first_token(self.started.elapsed());
            }
            AgentEvent::ToolDone { error, .. } => self.service.counts.tool(error.is_some()),
            _ => {}
        }
    }
}

/// Progress of a run.
enum Advance {
    /// Prepared.
    Prepared,
    /// Advanced up to an event, or to the end if `None`.
    To(Option<AgentEvent>),
}

enum StageEvent {
    Prepared(StartedRun),
    Told(AgentEvent),
    Failed(EndReason),
    Kept(Box<AgentOutcome>),
    Over,
}

async fn step(stage: &mut RunStage) -> StageEvent {
    match stage {
        RunStage::Preparing(preparing) => match preparing.await {
            Ok(ready) => StageEvent::Prepared(ready),
            Err(error) => StageEvent::Failed(EndReason::Failed(error)),
        },
        RunStage::Going(events, _) => match events.next().await {
            Some(event) => StageEvent::Told(event),
            None => StageEvent::Failed(EndReason::Failed(defect())),
        },
        RunStage::Keeping(keeping, outcome) => {
            keeping.await;
            StageEvent::Kept(outcome.clone())
        }
        RunStage::Over => StageEvent::Over,
    }
}

/// Journal event for the end of a run.
fn ended(outcome: &AgentOutcome) -> journal::JournalEvent {
    let (how, error) = match &outcome.ending {
        EndReason::Failed(error) => ("error", Some(error.to_string())),
        EndReason::Cancelled => ("cancelled", None),
        EndReason::CallsRequired => ("calls_required", None),
        _ => ("done", None),
    };
    journal::JournalEvent::Ended {
        how: how.into(),
        error,
        text: outcome.text.clone(),
    }
}

/// A run whose last event is not recorded is resumed, and ends a second time.
fn warn_if_unwritten(outcome: &AgentOutcome, written: Result<(), StoreError>) {
    if let Err(error) = written {
        tracing::warn!(ending = ?outcome.ending, %error, "cannot record the end of a run");
    }
}

/// Waits for a stop request during preparation, before the loop itself checks for it.
async fn stopped_early(stop: &CancellationToken, preparing: bool) {
    if preparing {
        stop.cancelled().await
    } else {
        pending().await
    }
}

/// Outcome of a run without any text.
fn nothing(ending: EndReason) -> AgentOutcome {
    AgentOutcome {
        ending,
        text: String::new(),
        reasoning: String::new(),
        messages: Vec::new(),
        usage: None,
        model_calls: 0,
        rounds: 0,
        tool_limit_reached: false,
        loaded_skills: Vec::new(),
        sources: Vec::new(),
    }
}

/// The reader has left, so the text so far is stored. The calls end at the next poll of the loop.
impl Drop for RunHandle {
    fn drop(&mut self) {
        self.service.counts.active.fetch_sub(1, Ordering::Relaxed);
        self.stop.cancel();
        let (service, places) = (self.service.clone(), self.places.take());
        // A durable run has not ended: the next poll for abandoned runs resumes it.
        if self.durability.book.get().is_some() && !matches!(self.stage, RunStage::Keeping(..)) {
            return;
        }
        let last = match std::mem::replace(&mut self.stage, RunStage::Over) {
            RunStage::Going(events, kept) => FinalStage::Loop(events, kept),
            RunStage::Keeping(keeping, outcome) => FinalStage::Keeping(keeping, outcome),
            RunStage::Preparing(_) | RunStage::Over => return,
        };
        // Writes need a Tokio runtime.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let words = async move {
            // The write is limited in time, because shutdown waits for this task.
            let _ = tokio::time::timeout(LAST_WORDS, last.store_partial(service)).await;
            // Until this line, a request with the same id is rejected, because the run still counts
            // as running.
            drop(places);
        };
        self.service.tasks.spawn_on(words, &runtime);
    }
}

/// Work that remains after the run has stopped.
enum FinalStage {
    Loop(EventStream, SessionWriter),
    Keeping(BoxFuture<'static, ()>, Box<AgentOutcome>),
}

impl FinalStage {
    async fn store_partial(self, service: Arc<AgentService>) {
        match self {
            FinalStage::Keeping(keeping, outcome) => {
                keeping.await;
                service.counts.ended(&outcome);
            }
            FinalStage::Loop(mut events, kept) => {
                while let Some(event) = events.next().await {
                    if let AgentEvent::Ended(outcome) = event {
                        // Frees the model and the tools before the write, which may take a while.
                        drop(events);
                        service.counts.ended(&outcome);
                        return kept.keep(&*service.parts.sessions, &outcome).await;
                    }
                }
            }
        }
    }
}
