//! Client commands for runs: start, inspect, decide, cancel. None of them needs a worker in the
//! same process.

use std::fmt::Write;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use quillet::components;
use quillet::prompt::RenderInput;
use quillet::settings::{self, Settings};
use quillet::{Host, Map, core};
use quillet_core::journal::{DecisionInput, JournalEvent, PendingApproval};
use quillet_core::json;
use quillet_host::agent::{Admission, AgentRequest, ModelSettings, Principal, ScriptRequest};
use serde_json::{Value, json as object};
use temporalio_client::errors::WorkflowStartError;
use temporalio_client::{
    Client, WorkflowCancelOptions, WorkflowDescribeOptions, WorkflowExecuteUpdateOptions,
    WorkflowExecutionStatus, WorkflowGetResultOptions, WorkflowHandle, WorkflowIdReusePolicy,
    WorkflowListOptions, WorkflowQueryOptions, WorkflowStartOptions,
};
use temporalio_common::MemoValues;

use crate::args::{TemporalArgs, WorkflowCommand};
use crate::batch;
use crate::failure::CliError;
use crate::run::{self, AgentRun};
use crate::step_store::StepStore;
use crate::worker;
use crate::workflow_state::{DecisionRequest, RunResult, StepRef, WorkflowState, WorkflowView};

/// Timeout of one workflow task, which takes milliseconds. If its worker has died, another worker
/// gets the task after this time.
const TASK: Duration = Duration::from_secs(5);
/// Polling interval of a run that a command waits for.
const LOOK: Duration = Duration::from_millis(200);
/// Principal of the commands: every client with access to Temporal may see all runs.
const ASKER: &str = "temporal";
/// Prefix of script ids in model names.
const PROMPT: &str = "prompt/";

/// Executes a command.
///
/// # Errors
/// Temporal is unavailable or rejects the request.
pub async fn run(
    command: &WorkflowCommand,
    place: &TemporalArgs,
    settings: &Settings,
) -> Result<(), CliError> {
    let desk = WorkflowClient {
        client: worker::connect(place).await?,
        place,
        settings,
    };
    match command {
        WorkflowCommand::Run {
            question,
            model,
            id,
            session,
            variables,
            ask,
            wait,
        } => {
            let host = desk.host().await?;
            let variables = parse_variables(variables.as_deref())?;
            let question = question.clone().unwrap_or_default();
            let mut request = build_request(&host, model.as_deref(), question, variables).await?;
            request.session.clone_from(session);
            request.tools.ask.extend_from_slice(ask);
            let shelf = desk.step_store_of(&host)?;
            let run = match desk.begin(&shelf, request, id.as_deref()).await? {
                StartResult::Now(run) => run,
                StartResult::Before(run) => {
                    let what = format!("run {run} already exists: choose another --id");
                    return Err(CliError::Usage(what));
                }
            };
            print_line(&run)?;
            if *wait { desk.wait(&run).await } else { Ok(()) }
        }
        WorkflowCommand::Batch(batch) => batch::run(&desk, batch).await,
        WorkflowCommand::List { most, json } => desk.list(*most, *json).await,
        WorkflowCommand::Show { id, json } => desk.show(&full_run_id(id), *json).await,
        WorkflowCommand::Decide {
            id,
            decision,
            call,
            arguments,
            text,
            by,
        } => {
            let words =
                DecisionInput::from_command_line(decision, arguments.as_deref(), text.as_deref());
            let decision = words.and_then(DecisionInput::decide);
            let deciding = DecisionRequest {
                call: call.clone(),
                decision: decision.map_err(|error| CliError::Usage(error.to_string()))?,
                by: by.clone(),
            };
            let call = desk.decide(&full_run_id(id), deciding).await?;
            print_line(&format!("decided {call}"))
        }
        WorkflowCommand::Cancel { id } => {
            let run = full_run_id(id);
            let handle = desk.handle(&run);
            let done = handle.cancel(WorkflowCancelOptions::default()).await;
            done.map_err(|error| desk.failed(&run, error))
        }
    }
}

/// Whether a run was started by this request.
pub(crate) enum StartResult {
    /// It was started.
    Now(String),
    /// A run with this id already existed.
    Before(String),
}

/// Input of a run for a model, an agent or a script.
///
/// # Errors
/// The id names a prompt that is not a script, the script does not exist, or variables were passed
/// to a model or an agent.
pub(crate) async fn build_request(
    host: &Host,
    model: Option<&str>,
    question: String,
    variables: Map,
) -> Result<AgentRequest, CliError> {
    let Some(id) = model.and_then(|model| model.strip_prefix(PROMPT)) else {
        if !variables.is_empty() {
            let what = "variables need a script: pass -m prompt/ID";
            return Err(CliError::Usage(what.to_owned()));
        }
        return Ok(AgentRequest {
            model: model.map(|name| ModelSettings {
                model_id: name.to_owned(),
                ..ModelSettings::default()
            }),
            ..AgentRequest::question(question)
        });
    };
    let prompts = host.prompts();
    let snapshot = prompts.catalogue().snapshot();
    let input = RenderInput::new(&variables, "worker");
    let job = prompts.script_in(&snapshot, id, &input).await;
    let job = job.map_err(|error| CliError::Usage(error.to_string()))?;
    let job = job.ok_or_else(|| {
        CliError::Usage(format!(
            "{id} is a prompt, not a script: run an agent with this prompt instead"
        ))
    })?;
    Ok(AgentRequest::of_script(ScriptRequest {
        question: (!question.is_empty()).then_some(question),
        ..ScriptRequest::of_job(&job)
    }))
}

fn parse_variables(variables: Option<&str>) -> Result<Map, CliError> {
    let Some(text) = variables else {
        return Ok(Map::default());
    };
    match json::parse(text) {
        Ok(core::Value::Map(variables)) => Ok(variables),
        Ok(_) => Err(CliError::Usage(
            "--variables must be a JSON object".to_owned(),
        )),
        Err(error) => Err(CliError::Usage(format!("--variables: {error}"))),
    }
}

/// Connection to Temporal, with the settings, for commands on runs.
pub(crate) struct WorkflowClient<'a> {
    client: Client,
    place: &'a TemporalArgs,
    settings: &'a Settings,
}

impl WorkflowClient<'_> {
    fn handle(&self, run: &str) -> WorkflowHandle<Client, AgentRun> {
        self.client.get_workflow_handle(run)
    }

    fn failed(&self, run: &str, error: impl Into<crate::failure::ServiceError>) -> CliError {
        CliError::of(&self.place.temporal, run, error)
    }

    pub(crate) async fn host(&self) -> Result<Host, CliError> {
        Ok(Host::open(self.settings).await?)
    }

    pub(crate) async fn step_store(&self) -> Result<StepStore, CliError> {
        self.step_store_of(&self.host().await?)
    }

    pub(crate) fn step_store_of(&self, host: &Host) -> Result<StepStore, CliError> {
        worker::open_step_store(host, self.settings)
    }

    pub(crate) async fn begin(
        &self,
        shelf: &StepStore,
        request: AgentRequest,
        id: Option<&str>,
    ) -> Result<StartResult, CliError> {
        let title = match (&request.script, &request.model) {
            (Some(script), _) => script.title(),
            (None, Some(model)) => model.model_id.clone(),
            (None, None) => String::new(),
        };
        let id = id.map_or_else(components::new_id, str::to_owned);
        let (run, admitted) = Admission::admit(&Principal::from_address(ASKER), &id, request)
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let kept = shelf.store_large(vec![admitted]).await?;
        let lease = self.settings.milliseconds(&settings::AGENT_LEASE_MS);
        let course = WorkflowState::new(run.clone(), kept, lease);
        let mut memo = MemoValues::new();
        memo.insert(run::TITLE, title)
            .insert(run::STATE, "running".to_owned());
        let options = WorkflowStartOptions::new(&self.place.queue, &run)
            .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
            .task_timeout(TASK)
            .memo(memo)
            .build();
        match self
            .client
            .start_workflow(AgentRun::run, course, options)
            .await
        {
            Ok(_) => Ok(StartResult::Now(run)),
            Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(StartResult::Before(run)),
            Err(error) => Err(self.failed(&run, error)),
        }
    }

    /// Waits until the run has ended or needs approval.
    async fn wait(&self, run: &str) -> Result<(), CliError> {
        let handle = self.handle(run);
        loop {
            let found = handle.describe(WorkflowDescribeOptions::default()).await;
            let found = found.map_err(|error| self.failed(run, error))?;
            if found.status() != WorkflowExecutionStatus::Running {
                break;
            }
            if found
                .memo()
                .get::<String>(run::STATE)
                .ok()
                .flatten()
                .as_deref()
                == Some("waiting")
            {
                let waiting = self.view(run).await?.waiting;
                eprintln!("pending approvals: {}", format_pending(&waiting));
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        let end = self.end(run).await?;
        let steps = self.step_store().await?.steps(&end.kept).await?;
        if let Some(JournalEvent::Ended { text, .. }) = steps.last() {
            print_line(text)?;
        }
        match end.error {
            Some(error) => Err(CliError::Ended(error)),
            None => Ok(()),
        }
    }

    pub(crate) async fn end(&self, run: &str) -> Result<RunResult, CliError> {
        let end = self
            .handle(run)
            .get_result(WorkflowGetResultOptions::default())
            .await;
        end.map_err(|error| self.failed(run, error))
    }

    async fn view(&self, run: &str) -> Result<WorkflowView, CliError> {
        let handle = self.handle(run);
        let view = handle.query(AgentRun::view, (), WorkflowQueryOptions::default());
        view.await.map_err(|error| self.failed(run, error))
    }

    async fn list(&self, most: usize, as_json: bool) -> Result<(), CliError> {
        let query = format!("WorkflowType = '{}'", run::NAME);
        let options = WorkflowListOptions::builder().limit(most).build();
        let mut runs = self.client.list_workflows(query, options);
        let mut shown = String::new();
        while let Some(found) = runs.next().await {
            let found = found.map_err(|error| CliError::Temporal {
                address: self.place.temporal.clone(),
                what: error.to_string(),
            })?;
            if found.status() == WorkflowExecutionStatus::ContinuedAsNew {
                continue;
            }
            let memo = found.memo();
            let text = |key| memo.get::<String>(key).ok().flatten().unwrap_or_default();
            let state = state(found.status(), &text(run::STATE));
            let begun = found.start_time().map_or(0, millis);
            if as_json {
                let line = object!({"id": found.id(), "state": state, "title": text(run::TITLE), "created_ms": begun});
                let _ = writeln!(shown, "{line}");
            } else {
                let _ = writeln!(
                    shown,
                    "{}  {}  {state:<9} {}",
                    found.id(),
                    moment(begun),
                    text(run::TITLE)
                );
            }
        }
        print_line(shown.trim_end())
    }

    async fn show(&self, run: &str, as_json: bool) -> Result<(), CliError> {
        let found = self
            .handle(run)
            .describe(WorkflowDescribeOptions::default())
            .await;
        let found = found.map_err(|error| self.failed(run, error))?;
        let memo = found.memo().get::<String>(run::STATE).ok().flatten();
        let state = state(found.status(), &memo.unwrap_or_default());
        let view = match found.status() {
            WorkflowExecutionStatus::Completed => WorkflowView {
                waiting: Vec::new(),
                kept: self.end(run).await?.kept,
            },
            _ => self.view(run).await?,
        };
        let steps = self.step_store().await?.steps(&view.kept).await?;
        if as_json {
            let away: usize = view
                .kept
                .iter()
                .filter(|kept| matches!(kept, StepRef::Away(_)))
                .count();
            let shown = object!({"id": run, "state": state, "waiting": view.waiting, "journal": steps,
                "away": away, "events": found.history_length()});
            return print_line(&format!("{shown:#}"));
        }
        let mut shown = format!("run    {run}\nstate  {state}");
        for waiting in &view.waiting {
            let arguments = Value::Object(waiting.arguments.clone());
            let _ = write!(
                shown,
                "\nwaits  {} {}({arguments}): {}",
                waiting.call,
                waiting.tool,
                approval_reason(waiting)
            );
        }
        for (number, step) in (1..).zip(&steps) {
            let about: String = summarize_event(step).chars().take(90).collect();
            let _ = write!(
                shown,
                "\n{number:>4}  {:<10} {}",
                step.name(),
                about.replace('\n', " ")
            );
        }
        print_line(&shown)
    }

    async fn decide(&self, run: &str, deciding: DecisionRequest) -> Result<String, CliError> {
        let options = WorkflowExecuteUpdateOptions::default();
        let decided = self
            .handle(run)
            .execute_update(AgentRun::decide, deciding, options)
            .await;
        let failure = match decided {
            Ok(call) => return Ok(call),
            Err(error) => self.failed(run, error),
        };
        let CliError::NoRun(_) = failure else {
            return Err(failure);
        };
        // Temporal reports an ended workflow as not found for updates, so its state is looked up.
        let found = self
            .handle(run)
            .describe(WorkflowDescribeOptions::default())
            .await;
        let found = found.map_err(|error| self.failed(run, error))?;
        let memo = found.memo().get::<String>(run::STATE).ok().flatten();
        let state = state(found.status(), &memo.unwrap_or_default());
        Err(CliError::NotWaiting(format!(
            "run.not_waiting: run {run:?} has no pending calls: it has ended ({state})"
        )))
    }
}

/// Returns the full id of a run.
fn full_run_id(id: &str) -> String {
    let (who, id) = Principal::of_run(id);
    who.run_id(&id)
}

/// Returns the state of a run as a word.
fn state(status: WorkflowExecutionStatus, memo: &str) -> String {
    match status {
        WorkflowExecutionStatus::Running | WorkflowExecutionStatus::Completed => memo.to_owned(),
        WorkflowExecutionStatus::Canceled => "cancelled".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn format_pending(waiting: &[PendingApproval]) -> String {
    let calls = waiting.iter().map(|call| {
        let arguments = Value::Object(call.arguments.clone());
        format!("{} {}({arguments})", call.call, call.tool)
    });
    calls.collect::<Vec<_>>().join(", ")
}

fn approval_reason(waiting: &PendingApproval) -> &'static str {
    match waiting.why {
        core::journal::ApprovalReason::Permission => "needs approval",
        core::journal::ApprovalReason::Unknown => "may have been made already",
    }
}

/// Returns a one-line summary of an event.
fn summarize_event(step: &JournalEvent) -> String {
    match step {
        JournalEvent::Admitted { request } => match request["request"]["script"]["id"].as_str() {
            Some(script) => format!("{PROMPT}{script}"),
            None => request["request"]["model"]["model_id"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        },
        JournalEvent::Prepared { setup } => setup["system"].as_str().unwrap_or_default().to_owned(),
        JournalEvent::Asked { turn, digest, .. } => {
            format!(
                "question {turn}, sha256 {}",
                digest.get(..12).unwrap_or(digest)
            )
        }
        JournalEvent::Answered { turn, events } => {
            format!("question {turn}, {} events", events.len())
        }
        JournalEvent::Unanswered { turn, message, .. } => format!("question {turn}: {message}"),
        JournalEvent::Called {
            tool,
            arguments,
            call,
            ..
        } => {
            format!("{call} {tool}({})", Value::Object(arguments.clone()))
        }
        JournalEvent::Returned { call, result } => match result {
            Ok(made) => format!("{call} {}", made.value),
            Err(failed) => format!("{call} failed: {}", failed.message),
        },
        JournalEvent::Parked { waiting } => format_pending(waiting),
        JournalEvent::Decided { call, decision, by } => {
            let what = serde_json::to_value(decision).unwrap_or_default();
            let what = what["decision"].as_str().unwrap_or_default().to_owned();
            format!("{call} {what}, by {by}")
        }
        JournalEvent::Read { name, .. } => name.to_string(),
        JournalEvent::TakenOver { by } => by.to_string(),
        JournalEvent::Ended { how, error, text } => {
            format!("{how}: {}", error.as_deref().unwrap_or(text))
        }
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn moment(at_ms: u64) -> String {
    let at = i64::try_from(at_ms / 1_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(at)
        .unwrap_or_default()
        .to_string()
}

fn print_line(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Loads the settings; the store of the command line takes precedence.
///
/// # Errors
/// A file or a value is invalid.
pub fn settings(place: &TemporalArgs) -> Result<Settings, CliError> {
    let store = place
        .store
        .clone()
        .map(|store| (&settings::STORE_URL, "--store", store));
    let mut settings = Settings::load(place.config.as_deref(), &store.into_iter().collect())?;
    settings.warn_with(|text| eprintln!("warning: {text}"));
    Ok(settings)
}
