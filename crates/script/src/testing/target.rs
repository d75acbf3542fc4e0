//! Subjects of tests: scripts, and other things that call a model and return a result.

use std::fmt;
use std::sync::Arc;

use quillet_core::chat::ChatRequest;
use quillet_core::{BoxFuture, Map, Value};

use crate::error::ScriptError;
use crate::host::{Grants, ModelSource, Observer, RunAccess, RunEvent};
use crate::run::{ScriptEngine, ScriptInput, ScriptOutcome, ScriptRun};
use crate::syntax::Script;

/// The subject of a test. [`ScriptSubject`] implements this for scripts. A program can implement
/// this for other subjects, such as prompts that are rendered and sent to a model.
pub trait TestTarget: Send + Sync {
    /// Returns the name for reports: a file name or an id.
    fn name(&self) -> &str;

    /// Runs the subject once. It may use only the models of the request.
    ///
    /// # Errors
    /// Returns the reason why there is no result. A test may expect that.
    fn run(&self, trial: TestRequest) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>>;
}

/// One run of a test.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// Input of the subject.
    pub input: ScriptInput,
    /// Model parameters that override the subject's own. The parameter `model`, if set, is a model
    /// name.
    pub parameters: Map,
    /// Provides the models.
    pub models: Arc<dyn ModelSource>,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Seed of random choices.
    pub seed: u64,
    /// The observer.
    pub observer: Arc<dyn Observer>,
}

impl TestRequest {
    /// Reports a request to the expectations. For scripts, requests are reported automatically.
    pub fn asks(&self, request: &ChatRequest) {
        let request = Box::new(request.clone());
        self.observer.event(RunEvent::Request(request));
    }

    /// Reports a tool call of the model to the expectations.
    pub fn calls(&self, name: &str, arguments: Value) {
        let name = name.to_owned();
        self.observer.event(RunEvent::ToolCall { name, arguments });
    }
}

/// A script and the engine that runs it.
#[derive(Clone, Debug)]
pub struct ScriptSubject {
    /// Runs the script. In a test, the engine's models are replaced by the models of the test.
    pub engine: ScriptEngine,
    /// The script.
    pub script: Arc<Script>,
    /// Permissions of the script.
    pub grants: Grants,
}

impl TestTarget for ScriptSubject {
    fn name(&self) -> &str {
        &self.script.source.name
    }

    fn run(&self, trial: TestRequest) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>> {
        Box::pin(async move {
            let engine = ScriptEngine {
                models: trial.models,
                ..self.engine.clone()
            };
            let job = ScriptRun {
                script: self.script.clone(),
                arguments: trial.input,
                stream: trial.stream,
                parameters: trial.parameters,
                history: Vec::new(),
                seed: Some(trial.seed),
                reach: RunAccess::Granted(self.grants.clone()),
                observer: trial.observer,
            };
            engine.run(job).await
        })
    }
}

impl fmt::Debug for dyn TestTarget + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subject").field(&self.name()).finish()
    }
}
