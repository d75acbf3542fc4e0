//! Scripts, `.ai.yaml`, whose model and tools are functions of the program.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quillet::components::scripts::{self, McpSources, folders};
use quillet::core::ErrorCode;
use quillet::script::ScriptError;
use quillet::script::host::{Grants, NoObserver, Observer, RunAccess, RunEvent, ScriptLimits};
use quillet::script::js::JsOptions;
use quillet::script::library::{
    self, BuiltinLibrary, LayeredLibrary, Library, Memory, OpenedScript,
};
use quillet::script::run::{ScriptEngine, ScriptInput, ScriptRun};
use quillet::template::TemplateFactory;
use quillet::{Error, Map, Settings, Value};

use crate::call_queue::CallQueue;
use crate::functions::{HostFunction, HostFunctions};
use crate::model::{Abilities, Model};
use crate::refusal::{BindingError, ExceptionKind};
use crate::work::TaskOutput;

/// Name of a script that was passed as text.
const UNNAMED: &str = "script.ai.yaml";

/// Where a script comes from.
#[derive(Clone, Debug)]
pub enum ScriptSource {
    /// A file, a package folder or an id.
    Path(String),
    /// The text of the script.
    Itself(String),
}

/// Options of a script run.
#[derive(Clone, Debug)]
pub struct ScriptRequest {
    /// The script.
    pub script: ScriptSource,
    /// Folders to search for scripts that this script calls, in addition to its own folder.
    pub search: Vec<PathBuf>,
    /// Inputs: an object that contains them by name, or any other value as the first input.
    pub inputs: Option<Value>,
    /// Functions that the script and its models may call.
    pub tools: Vec<HostFunction>,
    /// Capabilities of the model.
    pub abilities: Abilities,
    /// Model parameters that override those of the script.
    pub parameters: Map,
    /// Seed for random choices; taken from the clock if `None`.
    pub seed: Option<u64>,
    /// Timeout of the whole run.
    pub time: Option<Duration>,
    /// Access granted to the script; none by default.
    pub grants: Grants,
    /// Limits of the run.
    pub limits: ScriptLimits,
    /// Whether events are added to the queue.
    pub is_watched: bool,
}

impl ScriptRequest {
    /// Creates options without any granted access.
    #[must_use]
    pub fn new(script: ScriptSource) -> Self {
        ScriptRequest {
            script,
            search: Vec::new(),
            inputs: None,
            tools: Vec::new(),
            abilities: Abilities::default(),
            parameters: Map::default(),
            seed: None,
            time: None,
            grants: Grants::default(),
            limits: ScriptLimits::default(),
            is_watched: false,
        }
    }

    /// Sets a limit by name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn limit(&mut self, name: &str, most: u64) -> Result<(), BindingError> {
        let size = usize::try_from(most).unwrap_or(usize::MAX);
        let time = Duration::from_millis(most);
        match name {
            "steps" => self.limits.steps = most,
            "depth" => self.limits.depth = size,
            "model_calls" => self.limits.model_calls = most,
            "tokens" => self.limits.tokens = Some(most),
            "messages" => self.limits.messages = size,
            "bytes" => self.limits.bytes = size,
            "own_ms" => self.limits.own_time = time,
            "js_ms" => self.limits.js_time = time,
            "js_bytes" => self.limits.js_memory = size,
            other => {
                let message = format!("unknown limit {other:?}");
                let hint = "limits are steps, depth, model_calls, tokens, messages, bytes, own_ms, \
                    js_ms, js_bytes";
                return Err(BindingError::option(message, hint));
            }
        }
        Ok(())
    }
}

/// Runs a script to its end. A model call is a queued call without a tool name.
///
/// # Errors
/// The script cannot be read, or it fails; the error has the line.
pub async fn run(run: ScriptRequest, board: CallQueue) -> Result<TaskOutput, BindingError> {
    let time = run.time;
    let running = go(run, board);
    let Some(time) = time else {
        return running.await;
    };
    tokio::time::timeout(time, running)
        .await
        .unwrap_or_else(|_| {
            let seconds = time.as_secs_f64();
            let message = format!("the script took longer than {seconds} s");
            let mut refusal =
                BindingError::new(ExceptionKind::Limit, ErrorCode::ScriptLimit, message);
            refusal.hint = Some("raise its timeout".into());
            Err(refusal)
        })
}

async fn go(run: ScriptRequest, board: CallQueue) -> Result<TaskOutput, BindingError> {
    let opened = open(&run).await?;
    let mut grants = run.grants;
    grants.read = folders("read", &grants.read)?;
    grants.write = folders("write", &grants.write)?;
    let network = network(grants.net).await?;
    let engine = ScriptEngine {
        models: Arc::new(Model {
            board: board.clone(),
            abilities: run.abilities,
        }),
        tools: Arc::new(HostFunctions::new(run.tools, &board).with_network(network)),
        library: opened.library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: run.limits,
        javascript: JsOptions::default(),
    };
    let observer: Arc<dyn Observer> = if run.is_watched {
        Arc::new(EventNotifier(board))
    } else {
        Arc::new(NoObserver)
    };
    let job = ScriptRun {
        script: opened.script,
        arguments: match run.inputs {
            None => ScriptInput::None,
            Some(Value::Map(named)) => ScriptInput::Named(named),
            Some(single) => ScriptInput::Single(single),
        },
        stream: false,
        parameters: run.parameters,
        history: Vec::new(),
        seed: run.seed,
        reach: RunAccess::Granted(grants),
        observer,
    };
    let outcome = engine.run(job).await?;
    Ok(TaskOutput {
        value: outcome.value,
        failures: Vec::new(),
    })
}

async fn open(run: &ScriptRequest) -> Result<OpenedScript, ScriptError> {
    let text = match &run.script {
        ScriptSource::Path(path) => return library::open(path, &run.search).await,
        ScriptSource::Itself(text) => text,
    };
    let mut layers: Vec<Arc<dyn Library>> = vec![Arc::new(Memory::new([(UNNAMED, text)]))];
    if !run.search.is_empty() {
        layers.push(Arc::new(library::Folders::new(&run.search)?));
    }
    layers.push(Arc::new(BuiltinLibrary));
    let library: Arc<dyn Library> = Arc::new(LayeredLibrary::new(layers));
    let found = library.find(UNNAMED, None).await?;
    let script = found.ok_or_else(|| {
        let kind = quillet::script::ErrorKind::NotFound;
        ScriptError::plain(kind, UNNAMED, "the text contains no script")
    })?;
    Ok(OpenedScript { script, library })
}

/// Network access of scripts that may connect, with the same address checks as tools.
async fn network(
    is_granted: bool,
) -> Result<Option<Arc<dyn quillet::script::host::Network>>, Error> {
    if !is_granted {
        return Ok(None);
    }
    let tools = scripts::tools(&Settings::from_env()?, McpSources::None, true).await?;
    Ok(tools.network())
}

/// Adds the script's events to the queue.
#[derive(Debug)]
struct EventNotifier(CallQueue);

impl Observer for EventNotifier {
    fn event(&self, event: RunEvent) {
        let event: Map = match event {
            RunEvent::Printed(line) => of("printed", [("text", line.into())]),
            RunEvent::Message { role, content } => of(
                "message",
                [("role", role.into()), ("content", content.into())],
            ),
            RunEvent::Thinking { text } => of("thinking", [("text", text.into())]),
            RunEvent::ToolCall { name, arguments } => of(
                "tool_call",
                [("name", name.into()), ("arguments", arguments)],
            ),
            RunEvent::ToolResult { name, result } => {
                let (key, value) = match result {
                    Ok(value) => ("result", value),
                    Err(why) => ("error", why.into()),
                };
                of("tool_result", [("name", name.into()), (key, value)])
            }
            RunEvent::Warning(found) => of("warning", [("text", found.to_string().into())]),
            RunEvent::Delta { .. } | RunEvent::Request(_) => return,
        };
        self.0.event(event);
    }
}

fn of<const N: usize>(kind: &str, fields: [(&str, Value); N]) -> Map {
    let kind = [("type", Value::from(kind))];
    kind.into_iter().chain(fields).collect()
}
