//! Runs stored scripts for the prompt service, which only knows the trait [`ScriptRunner`].

use std::sync::{Arc, Weak};

use futures_util::stream::{once, unfold};
use quillet_core::{BoxFuture, ErrorCode, budget};
use quillet_prompt::{
    CatalogueSnapshot, PromptService, ScriptEvent, ScriptJob, ScriptRunner, ScriptStream,
    ServiceError, StoredScriptOutcome,
};
use quillet_script::host::{ModelSource, RunAccess, Tools};
use quillet_script::js::JsOptions;
use quillet_script::run::{ScriptEngine, ScriptRun};
use quillet_script::syntax::Script;
use quillet_template::TemplateFactory;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use super::library::Libraries;
use super::tools::OfSnapshot;
use super::watch::{self, EventSender};
use super::{ScriptOptions, input, reader};

/// Runner of stored scripts. A run is one future, which advances while its events are read and ends
/// when the reader is dropped. Scripts without JavaScript need no thread.
#[derive(Debug)]
pub struct ScriptService {
    prompts: Weak<PromptService>,
    models: Arc<dyn ModelSource>,
    /// Tools of every script, in addition to those of its snapshot.
    tools: Arc<dyn Tools>,
    templates: Arc<TemplateFactory>,
    libraries: Libraries,
    options: ScriptOptions,
}

impl ScriptService {
    /// Creates the runner with these models. `tools` are available in addition to the tools of the
    /// store.
    pub fn run_for(
        prompts: &Arc<PromptService>,
        models: Arc<dyn ModelSource>,
        tools: Arc<dyn Tools>,
        options: ScriptOptions,
    ) -> Arc<Self> {
        let service = Arc::new(ScriptService {
            // The reference is weak, because the prompt service owns this runner.
            prompts: Arc::downgrade(prompts),
            models,
            tools,
            templates: Arc::new(prompts.catalogue().factory().clone()),
            libraries: Libraries::default(),
            options,
        });
        prompts.run_scripts_with(service.clone());
        service
    }

    /// Settings of scripts.
    pub(crate) fn options(&self) -> &ScriptOptions {
        &self.options
    }

    /// Returns an engine with the current definitions; `None` after the service has ended.
    pub(crate) fn engine_now(&self) -> Option<ScriptEngine> {
        let prompts = self.prompts.upgrade()?;
        let snapshot = prompts.catalogue().snapshot();
        Some(self.engine(prompts, &snapshot, 0))
    }

    fn engine(
        &self,
        prompts: Arc<PromptService>,
        snapshot: &Arc<CatalogueSnapshot>,
        depth: usize,
    ) -> ScriptEngine {
        let tools = OfSnapshot {
            prompts,
            snapshot: snapshot.clone(),
            depth: depth + 1,
            more: self.tools.clone(),
        };
        ScriptEngine {
            models: self.models.clone(),
            tools: Arc::new(tools),
            library: self.libraries.of(snapshot),
            templates: self.templates.clone(),
            limits: self.options.limits.clone(),
            javascript: JsOptions {
                transport: self.options.javascript.clone(),
                ..JsOptions::default()
            },
        }
    }

    /// Creates a run without starting it.
    fn start(&self, job: &ScriptJob, script: Arc<Script>) -> Option<ScriptRunHandle> {
        let engine = self.engine(self.prompts.upgrade()?, &job.snapshot, job.depth);
        // Unbounded, because an observer cannot wait; a slow reader slows the run down instead.
        let (sender, events) = unbounded_channel();
        let question = job.question.as_deref();
        let (arguments, history) =
            input::parse_input(&job.arguments, question, &job.history, &script);
        let run = ScriptRun {
            script,
            arguments,
            stream: job.stream,
            parameters: input::parameters(job.model.as_deref(), &job.options),
            history,
            seed: None,
            reach: if job.dry {
                RunAccess::Nothing
            } else {
                RunAccess::Granted(self.options.grants.clone())
            },
            observer: Arc::new(EventSender { sender }),
        };
        let (id, most) = (job.id.clone(), self.options.time);
        let end = async move {
            match tokio::time::timeout(most, engine.run(run)).await {
                Ok(Ok(outcome)) => Ok(watch::outcome(outcome)),
                Ok(Err(error)) => Err(watch::failure(&id, error)),
                Err(_) => {
                    let message = format!("the script took longer than {most:?}");
                    let help = "if the script needs more time, raise scripts.time_ms";
                    Err(watch::plain(&id, ErrorCode::ScriptLimit, message, help))
                }
            }
        };
        let end: OutcomeFuture = match job.depth {
            0 => Box::pin(end),
            _ => apart(&job.id, end),
        };
        Some(ScriptRunHandle {
            events,
            end: Some(end),
        })
    }
}

impl ScriptRunner for ScriptService {
    fn run(&self, job: ScriptJob) -> ScriptStream {
        let running = reader::script(&job.script).and_then(|script| self.start(&job, script));
        match running {
            Some(running) => Box::pin(unfold(running, ScriptRunHandle::next)),
            None => {
                let message = "the service is shutting down".to_owned();
                let error = watch::plain(&job.id, ErrorCode::ScriptAborted, message, "try again");
                Box::pin(once(async { Err(error) }))
            }
        }
    }
}

/// Runs a nested script as a task, so that deep nesting of scripts and prompts does not exhaust the
/// stack of one poll. Dropping the reader ends it.
fn apart(
    id: &Arc<str>,
    run: impl Future<Output = Result<StoredScriptOutcome, ServiceError>> + Send + 'static,
) -> OutcomeFuture {
    let id = id.clone();
    // A spawned task does not inherit its caller's account, and must end with its caller.
    let task = AbortOnDropHandle::new(tokio::spawn(budget::charge_to_current(run)));
    Box::pin(async move {
        match task.await {
            Ok(ended) => ended,
            Err(error) => {
                let help = "see the server log";
                Err(watch::plain(
                    &id,
                    ErrorCode::ScriptAborted,
                    error.to_string(),
                    help,
                ))
            }
        }
    })
}

type OutcomeFuture = BoxFuture<'static, Result<StoredScriptOutcome, ServiceError>>;

/// A run with the events that it has sent.
struct ScriptRunHandle {
    events: UnboundedReceiver<ScriptEvent>,
    /// The run; `None` once it has ended.
    end: Option<OutcomeFuture>,
}

impl ScriptRunHandle {
    async fn next(mut self) -> Option<(Result<ScriptEvent, ServiceError>, Self)> {
        let run = self.end.as_mut()?;
        // Drain events before polling the run: a slow reader thereby slows the run down.
        let ended = tokio::select! {
            biased;
            Some(event) = self.events.recv() => return Some((Ok(event), self)),
            ended = run => ended,
        };
        // The last poll may have sent events too.
        if let Ok(event) = self.events.try_recv() {
            // The end is stored until the reader has taken the remaining events.
            self.end = Some(Box::pin(async { ended }));
            return Some((Ok(event), self));
        }
        self.end = None;
        let last = ended.map(|outcome| ScriptEvent::Ended(Box::new(outcome)));
        Some((last, self))
    }
}
