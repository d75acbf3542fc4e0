//! Runs a case against its scripted model.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};
use quillet_script::host::{Grants, Observer, RunAccess, RunEvent, ScriptLimits, Tools};
use quillet_script::js::JsOptions;
use quillet_script::library::{self, Library};
use quillet_script::reader;
use quillet_script::run::{DialogueTurn, ScriptEngine, ScriptInput, ScriptRun};
use quillet_script::syntax::{Script, ScriptSource};
use quillet_template::TemplateFactory;
use serde_json::Value as Json;

use super::case::{CallCase, Case, ToolCase, TurnCase};
use super::check::{self, Ran};
use super::folder::Folder;
use super::model::{OneModel, Scripted, joined};

/// Runs a case both streamed and not streamed. Returns all differences from the expectation and
/// between the two runs.
pub(super) async fn twice(case: &Case) -> Vec<String> {
    match compare(case).await {
        Ok(differences) => differences,
        Err(problem) => vec![problem],
    }
}

async fn compare(case: &Case) -> Result<Vec<String>, String> {
    let folder = Folder::of(case)?;
    if let Some(name) = &case.read {
        return only_read(case, &folder, name);
    }
    let pieces = once(case, &folder, true).await?;
    let mut found = check::differences(case, &pieces);
    if case.streamed_only {
        return Ok(found);
    }
    // The second run needs a new folder, because the first run may have left files.
    let folder = Folder::of(case)?;
    let whole = once(case, &folder, false).await?;
    let other = check::differences(case, &whole);
    found.extend(
        other
            .into_iter()
            .map(|text| format!("without a stream: {text}")),
    );
    if found.is_empty() && told(&pieces) != told(&whole) {
        found.push(format!(
            "streamed {:#?}, without {:#?}",
            told(&pieces),
            told(&whole)
        ));
    }
    Ok(found)
}

/// Returns the parts of a run that must not depend on streaming.
fn told(ran: &Ran) -> (String, Vec<String>, Vec<String>) {
    let value = match &ran.outcome {
        Ok(outcome) => format!("{:?}", outcome.value),
        Err(error) => error.kind.code().to_string(),
    };
    let requests = ran.requests.iter().map(|request| joined(&request.messages));
    // Concurrent branches send their requests in any order.
    let mut requests: Vec<String> = requests.collect();
    requests.sort();
    (value, requests, ran.printed.clone())
}

fn only_read(case: &Case, folder: &Folder, name: &str) -> Result<Vec<String>, String> {
    let path = folder.path().join(name);
    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let source = ScriptSource {
        name: name.to_owned(),
        path: Some(path),
        text: text.into(),
    };
    let read = reader::read(Arc::new(source));
    let wanted = &case.expect;
    let errors: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
    let text = errors.join("\n");
    let mut found = Vec::new();
    if errors.is_empty() && wanted.error {
        found.push("an error is expected".to_owned());
    }
    let missing = wanted
        .error_contains
        .iter()
        .filter(|part| !text.contains(*part));
    found.extend(missing.map(|part| format!("the findings do not contain {part:?}: {text}")));
    if let Some(items) = wanted.items.filter(|items| *items != read.items) {
        found.push(format!(
            "{} items at the top, expected {items}: {text}",
            read.items
        ));
    }
    Ok(found)
}

async fn once(case: &Case, folder: &Folder, stream: bool) -> Result<Ran, String> {
    let name = case.run.as_deref().ok_or("the case runs nothing")?;
    let path = folder.path().join(name);
    let mut model = Scripted::new(&case.llm, case.abilities, stream)?;
    model.price = case.limits.price;
    let model = Arc::new(model);
    let watcher = Arc::new(Watcher::default());
    let opened = library::open(&path.to_string_lossy(), &[]).await;
    let outcome = match opened {
        Ok(opened) => {
            let engine = engine(case, OneModel(model.clone()), opened.library);
            engine
                .run(job(
                    case,
                    opened.script,
                    stream,
                    watcher.clone(),
                    reach(case, folder),
                ))
                .await
        }
        Err(error) => Err(error),
    };
    let seen = std::mem::take(&mut *watcher.0.lock().map_err(|error| error.to_string())?);
    let requests = model.requests();
    Ok(Ran {
        outcome,
        requests,
        printed: seen.printed,
        tool_calls: seen.tool_calls,
        thinking: seen.thinking,
        said: seen.said,
        rendered: seen.rendered,
    })
}

fn engine(case: &Case, model: OneModel, library: Arc<dyn Library>) -> ScriptEngine {
    ScriptEngine {
        models: Arc::new(model),
        tools: Arc::new(Given::of(case)),
        library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: limits(case),
        javascript: JsOptions::default(),
    }
}

fn reach(case: &Case, folder: &Folder) -> RunAccess {
    let under = |names: &[String]| names.iter().map(|name| folder.path().join(name)).collect();
    if case.dry {
        RunAccess::Nothing
    } else {
        RunAccess::Granted(Grants {
            read: under(&case.grants.read),
            write: under(&case.grants.write),
            net: case.grants.net,
            run: case.grants.run,
            env: case.grants.env.clone(),
        })
    }
}

fn limits(case: &Case) -> ScriptLimits {
    let (given, usual) = (&case.limits, ScriptLimits::default());
    ScriptLimits {
        steps: given.steps.unwrap_or(usual.steps),
        depth: given.depth.unwrap_or(usual.depth),
        model_calls: given.model_calls.unwrap_or(usual.model_calls),
        tokens: given.tokens,
        cost: given.cost,
        messages: given.messages.unwrap_or(usual.messages),
        bytes: given.bytes.unwrap_or(usual.bytes),
        js_time: given.js_time.map_or(usual.js_time, Duration::from_millis),
        js_memory: given.js_memory.unwrap_or(usual.js_memory),
        ..usual
    }
}

fn job(
    case: &Case,
    script: Arc<Script>,
    stream: bool,
    observer: Arc<Watcher>,
    reach: RunAccess,
) -> ScriptRun {
    let arguments = match case.args.as_ref().map(value) {
        None => ScriptInput::None,
        Some(Value::Map(map)) => ScriptInput::Named(map),
        Some(value) => ScriptInput::Single(value),
    };
    let turn = |turn: &TurnCase| DialogueTurn {
        role: turn.role.clone(),
        content: turn.content.clone(),
        name: turn.name.clone(),
        to: turn.to.clone().unwrap_or_default(),
        thinking: turn.thinking.clone(),
    };
    ScriptRun {
        script,
        arguments,
        stream,
        parameters: map(&Json::Object(case.parameters.clone())),
        history: case.history.iter().map(turn).collect(),
        seed: Some(case.seed.unwrap_or(1)),
        reach,
        observer,
    }
}

fn value(json: &Json) -> Value {
    quillet_core::json::parse(&json.to_string()).unwrap_or_default()
}

fn map(json: &Json) -> Map {
    value(json).as_map().cloned().unwrap_or_default()
}

/// Records the events of a run.
#[derive(Debug, Default)]
struct Watcher(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    printed: Vec<String>,
    tool_calls: Vec<CallCase>,
    thinking: String,
    said: Vec<(String, String)>,
    rendered: usize,
}

impl Observer for Watcher {
    fn event(&self, event: RunEvent) {
        let mut seen = self.0.lock().expect("no test panics here");
        match event {
            RunEvent::Printed(line) => seen.printed.push(line),
            RunEvent::Message { role, content } => seen.said.push((role, content)),
            RunEvent::Thinking { text } => seen.thinking.push_str(&text),
            RunEvent::Request(_) => seen.rendered += 1,
            RunEvent::ToolCall { name, arguments } => seen.tool_calls.push(CallCase {
                name,
                arguments: check::to_json(&arguments),
            }),
            RunEvent::Delta { .. } | RunEvent::ToolResult { .. } | RunEvent::Warning(_) => {}
        }
    }
}

/// The tools of a case.
#[derive(Debug)]
struct Given(Vec<Arc<Fixed>>);

impl Given {
    fn of(case: &Case) -> Self {
        let tool = |(name, tool): (&String, &ToolCase)| {
            Arc::new(Fixed {
                spec: ToolSpec {
                    name: name.clone(),
                    description: tool.description.clone(),
                    parameters: tool.parameters.clone(),
                    ..ToolSpec::default()
                },
                answer: match &tool.fails {
                    Some(why) => Err(why.clone()),
                    None => Ok(value(&tool.reply)),
                },
            })
        };
        Given(case.tools.iter().map(tool).collect())
    }
}

impl Tools for Given {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let found = self.0.iter().find(|tool| tool.spec.name == name)?;
        Some(found.clone())
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|tool| tool.spec.name.clone()).collect()
    }
}

/// A tool with a constant result.
#[derive(Debug)]
struct Fixed {
    spec: ToolSpec,
    answer: Result<Value, String>,
}

impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, ToolError>> {
        let answer = self.answer.clone();
        Box::pin(async move { answer.map_err(|why| ToolError::new(ToolErrorKind::Remote, why)) })
    }
}
