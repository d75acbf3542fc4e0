//! Event stream of a script run, including its end and its waits for approval.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::unfold;
use quillet_agent::{AgentError, AgentEvent, AgentOutcome, EndReason, EventStream};
use quillet_core::chat::FinishReason;
use quillet_core::{BoxFuture, ErrorCode, Message, Role, Value};
use quillet_prompt::{ScriptEvent, ServiceError, StoredScriptOutcome};
use quillet_script::host::{self, Observer, RunAccess, RunEvent};
use quillet_script::library::{BuiltinLibrary, Folders, LayeredLibrary, Library};
use quillet_script::reader;
use quillet_script::run::{ScriptInput, ScriptRun, call_sequence};
use quillet_script::syntax::{Script, ScriptSource};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use super::library::JournaledLibrary;
use super::models::JournaledModels;
use super::tools::{JournalContext, JournaledTools};
use super::{ScriptRequest, ScriptSetup};
use crate::agent::durable::{ApprovalGate, RunJournal};
use crate::script::{ScriptService, input, watch};

/// Number of times that a run yields to other tasks before it stops for approval, so that calls
/// that begin concurrently are all pending together.
const TURNS: usize = 32;

/// Script run with a journal.
pub(in crate::agent) struct JournaledRun {
    pub(in crate::agent) book: Arc<RunJournal>,
    /// Whether another process started it.
    pub(in crate::agent) is_resumed: bool,
    pub(in crate::agent) stop: CancellationToken,
}

/// Returns the events of a script run. Events sent by an earlier process are not repeated; their
/// text precedes the first new event.
pub(in crate::agent) fn events(
    scripts: Option<&Arc<ScriptService>>,
    request: &ScriptRequest,
    setup: &ScriptSetup,
    begun: JournaledRun,
) -> Result<EventStream, AgentError> {
    let engine = scripts.and_then(|scripts| scripts.engine_now());
    let (Some(scripts), Some(mut engine)) = (scripts, engine) else {
        let message = "scripts are not run here".to_owned();
        return Err(wrong(ErrorCode::RunServerError, message));
    };
    let script = script(request)?;
    let options = scripts.options();
    if request.text.contains("ENV") && !options.grants.env.is_empty() {
        let message = format!(
            "{}: ENV is not available in a durable script, because its journal would store the \
             values: pass them as arguments",
            request.id
        );
        return Err(wrong(ErrorCode::RunInvalidRequest, message));
    }
    let book = &begun.book;
    if request.path.is_some() {
        engine.library = around(request);
    }
    engine.library = Arc::new(JournaledLibrary::new(engine.library, book.clone()));
    engine.models = Arc::new(JournaledModels {
        inner: engine.models,
        book: book.clone(),
        other: setup.model.clone(),
    });
    engine.tools = Arc::new(JournaledTools {
        inner: engine.tools,
        keeping: Arc::new(JournalContext {
            book: book.clone(),
            gate: ApprovalGate::new(book.clone(), setup.permissions()),
            id: setup.id.clone(),
        }),
    });
    let (sender, receiver) = unbounded_channel();
    let question = request.question.as_deref();
    let (input, history) =
        input::parse_input(&request.arguments, question, &request.history, &script);
    let job = ScriptRun {
        script,
        arguments: match &request.single {
            Some(single) => ScriptInput::Single(single.clone()),
            None => input,
        },
        stream: request.stream,
        parameters: input::parameters(request.model.as_deref(), &request.options),
        history,
        seed: Some(setup.seed),
        reach: RunAccess::Kept(host::ReplayAccess {
            net: request.net || options.grants.net,
            began_ms: setup.began_ms,
        }),
        observer: Arc::new(EventForwarder { sender }),
    };
    let (id, most) = (request.id.clone(), options.time);
    let run = async move {
        match tokio::time::timeout(most, engine.run(job)).await {
            Ok(Ok(outcome)) => Ok(watch::outcome(outcome)),
            Ok(Err(error)) => Err(failed(&watch::failure(&id, error))),
            Err(_) => Err(wrong(
                ErrorCode::ScriptLimit,
                format!("{id}: the script took longer than {most:?}: raise scripts.time_ms"),
            )),
        }
    };
    let telling = ScriptEventStream {
        events: receiver,
        run: Some(Box::pin(run)),
        begun,
        ready: VecDeque::new(),
        text: String::new(),
        said: String::new(),
        reasoning: String::new(),
        open: VecDeque::new(),
        calls: 0,
        goes_on: false,
        is_over: false,
    };
    Ok(Box::pin(unfold(telling, async |mut telling| {
        let event = telling.next().await?;
        Some((event, telling))
    })))
}

fn wrong(code: ErrorCode, message: String) -> AgentError {
    AgentError::Setup { code, message }
}

fn failed(error: &ServiceError) -> AgentError {
    if let ServiceError::Script(failure) = error
        && let Some(model) = &failure.model
    {
        return AgentError::Model(model.clone());
    }
    let code = match error {
        ServiceError::Script(failure) => failure.code,
        _ => ErrorCode::RunServerError,
    };
    wrong(code, error.to_string())
}

/// Builds the script from the text in the request.
fn script(request: &ScriptRequest) -> Result<Arc<Script>, AgentError> {
    let source = ScriptSource {
        name: request.name.clone(),
        path: request.path.clone(),
        text: request.text.as_str().into(),
    };
    let read = reader::read(Arc::new(source)).finish();
    read.map(Arc::new).map_err(|found| {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        wrong(ErrorCode::ScriptInvalid, found.join("; "))
    })
}

/// Library for the files around the script. Folders that no longer exist count as empty, because
/// files that the script has read are in the journal.
fn around(request: &ScriptRequest) -> Arc<dyn Library> {
    let own = request.path.as_deref().and_then(Path::parent);
    let own = own.map(|folder| match folder {
        folder if folder == Path::new("") => PathBuf::from("."),
        folder => folder.to_owned(),
    });
    let folders: Vec<PathBuf> = own.into_iter().chain(request.search.clone()).collect();
    let mut layers: Vec<Arc<dyn Library>> = Vec::new();
    if let Ok(folders) = Folders::new(&folders) {
        layers.push(Arc::new(folders));
    }
    layers.push(Arc::new(BuiltinLibrary));
    Arc::new(LayeredLibrary::new(layers))
}

/// Forwards events, and marks new ones.
#[derive(Debug)]
struct EventForwarder {
    sender: UnboundedSender<(ScriptEvent, bool)>,
}

impl Observer for EventForwarder {
    fn event(&self, event: RunEvent) {
        if let Some(event) = watch::to_script_event(event) {
            // A failed send means that the reader has dropped the run.
            let _ = self.sender.send((event, call_sequence::is_live()));
        }
    }
}

/// Call whose end was not reported yet.
struct UnfinishedCall {
    id: String,
    name: String,
    input: serde_json::Map<String, serde_json::Value>,
    began: Instant,
    /// Whether the start event was sent.
    is_told: bool,
}

/// State of a run and its reported events.
struct ScriptEventStream {
    events: UnboundedReceiver<(ScriptEvent, bool)>,
    run: Option<BoxFuture<'static, Result<StoredScriptOutcome, AgentError>>>,
    begun: JournaledRun,
    /// Events to be sent.
    ready: VecDeque<AgentEvent>,
    /// All text so far: printed lines and the result.
    text: String,
    /// Text of the result.
    said: String,
    reasoning: String,
    open: VecDeque<UnfinishedCall>,
    calls: u64,
    /// Whether a resumed run has sent a new event.
    goes_on: bool,
    is_over: bool,
}

impl ScriptEventStream {
    async fn next(&mut self) -> Option<AgentEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            self.advance().await;
        }
    }

    async fn advance(&mut self) {
        let Some(run) = self.run.as_mut() else {
            return self.end(EndReason::Cancelled);
        };
        let ended = tokio::select! {
            biased;
            // Drain events before polling the run: a slow reader thereby slows the run down instead
            // of filling memory.
            Some((event, is_new)) = self.events.recv() => return self.forward_event(event, is_new),
            () = self.begun.stop.cancelled() => {
                self.run = None;
                return self.end(EndReason::Cancelled);
            }
            ended = run => Some(ended),
            () = self.begun.book.changed.notified() => None,
        };
        match ended {
            None => self.look().await,
            Some(ended) => {
                self.run = None;
                while let Ok((event, is_new)) = self.events.try_recv() {
                    self.forward_event(event, is_new);
                }
                match ended {
                    Ok(outcome) => self.done(&outcome),
                    Err(error) => self.end(EndReason::Failed(error)),
                }
            }
        }
    }

    /// Stops the run for approvals, or because it diverged from its journal.
    async fn look(&mut self) {
        let book = self.begun.book.clone();
        if let Some(how) = book.diverged() {
            self.run = None;
            let message = format!("the script differs from its journal: {how}");
            return self.end(EndReason::Failed(wrong(
                ErrorCode::DurableDiverged,
                message,
            )));
        }
        for _ in 0..TURNS {
            if !book.is_waiting() {
                return;
            }
            // The yield lets calls that are about to begin do so before the stop.
            if let Some(run) = self.run.as_mut()
                && let Some(ended) = futures_util::FutureExt::now_or_never(run)
            {
                self.run = Some(Box::pin(std::future::ready(ended)));
                return;
            }
            yield_now().await;
        }
        let Some(waiting) = book.stop_to_wait() else {
            return;
        };
        self.run = None;
        while let Ok((event, is_new)) = self.events.try_recv() {
            self.forward_event(event, is_new);
        }
        for call in waiting {
            self.push(AgentEvent::ApprovalRequired {
                id: call.call,
                name: call.tool,
                input: call.arguments,
                why: call.why,
            });
        }
        self.end(EndReason::ApprovalRequired);
    }

    /// Sends a new event, preceded by the earlier text if necessary.
    fn push(&mut self, event: AgentEvent) {
        if self.begun.is_resumed && !std::mem::replace(&mut self.goes_on, true) {
            let before = match &event {
                AgentEvent::Text(text) => self.text.len().saturating_sub(text.len()),
                _ => self.text.len(),
            };
            let text = self.text.get(..before).unwrap_or_default().to_owned();
            self.ready.push_back(AgentEvent::Resumed { text });
        }
        self.ready.push_back(event);
    }

    fn forward_event(&mut self, event: ScriptEvent, is_new: bool) {
        let is_new = is_new || !self.begun.is_resumed;
        let told = match event {
            ScriptEvent::Text(text) => {
                self.said.push_str(&text);
                self.text.push_str(&text);
                AgentEvent::Text(text)
            }
            ScriptEvent::Printed(line) => {
                let text = format!("{line}\n");
                self.text.push_str(&text);
                AgentEvent::Text(text)
            }
            ScriptEvent::Reasoning(text) => {
                self.reasoning.push_str(&text);
                AgentEvent::Reasoning(text)
            }
            ScriptEvent::ToolCall { name, arguments } => {
                return self.called(name, &arguments, is_new);
            }
            ScriptEvent::ToolResult { name, result } => {
                return self.returned(&name, result, is_new);
            }
            ScriptEvent::Said { .. }
            | ScriptEvent::Request(_)
            | ScriptEvent::Warning(_)
            | ScriptEvent::Ended(_) => return,
        };
        if is_new {
            self.push(told);
        }
    }

    fn called(&mut self, name: String, arguments: &Value, is_new: bool) {
        self.calls += 1;
        let input = match serde_json::Value::from(arguments) {
            serde_json::Value::Object(input) => input,
            _ => serde_json::Map::new(),
        };
        let open = UnfinishedCall {
            id: format!("call_{}", self.calls),
            name,
            input,
            began: Instant::now(),
            is_told: is_new,
        };
        if is_new {
            self.push(started(&open));
        }
        self.open.push_back(open);
    }

    /// Equal calls that end concurrently are interchangeable, so any of them matches.
    fn returned(&mut self, name: &str, result: Result<Value, String>, is_new: bool) {
        let at = self.open.iter().position(|open| open.name == name);
        let Some(open) = at.and_then(|at| self.open.remove(at)) else {
            return;
        };
        if !is_new {
            return;
        }
        // The call started in a previous process, so this stream has not reported its start yet.
        if !open.is_told {
            self.push(started(&open));
        }
        let (output, error) = match result {
            Ok(output) => (output, None),
            Err(error) => (Value::Null, Some(error)),
        };
        let for_model = match (&error, &output) {
            (Some(error), _) => error.clone(),
            (None, Value::Str(text)) => text.to_string(),
            (None, output) => quillet_core::json::to_string(output),
        };
        let took: Duration = open.began.elapsed();
        self.push(AgentEvent::ToolDone {
            id: open.id,
            name: open.name,
            output,
            for_model,
            error,
            took,
            sources: Vec::new(),
        });
    }

    fn done(&mut self, outcome: &StoredScriptOutcome) {
        let whole = outcome.text();
        let rest = match whole.strip_prefix(self.said.as_str()) {
            Some(rest) => rest.to_owned(),
            // The streamed text was printed and is not a part of the result, so the whole result
            // follows.
            None => whole.clone(),
        };
        if !rest.is_empty() {
            self.text.push_str(&rest);
            self.push(AgentEvent::Text(rest));
        }
        let mut ended = self.outcome(EndReason::Finished(FinishReason::Stop));
        if outcome.model_calls > 0 {
            ended.usage = Some(outcome.usage);
            ended.model_calls = u32::try_from(outcome.model_calls).unwrap_or(u32::MAX);
        }
        if !whole.is_empty() {
            ended.messages = vec![Message::new(Role::Assistant, whole)];
        }
        self.close(ended);
    }

    fn end(&mut self, ending: EndReason) {
        let ended = self.outcome(ending);
        self.close(ended);
    }

    fn close(&mut self, outcome: AgentOutcome) {
        self.is_over = true;
        self.ready.push_back(AgentEvent::Ended(Box::new(outcome)));
    }

    fn outcome(&self, ending: EndReason) -> AgentOutcome {
        AgentOutcome {
            ending,
            text: self.text.clone(),
            reasoning: self.reasoning.clone(),
            messages: Vec::new(),
            usage: None,
            model_calls: 0,
            rounds: 0,
            tool_limit_reached: false,
            loaded_skills: Vec::new(),
            sources: Vec::new(),
        }
    }
}

fn started(open: &UnfinishedCall) -> AgentEvent {
    AgentEvent::ToolStarted {
        id: open.id.clone(),
        name: open.name.clone(),
        input: open.input.clone(),
    }
}
