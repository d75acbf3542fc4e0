//! What tests run: a script, or whatever else asks a model and gives a result.

use std::fmt;
use std::sync::Arc;

use quillet_core::chat::ChatRequest;
use quillet_core::{BoxFuture, Map, Value};

use crate::error::ScriptError;
use crate::host::{Grants, ModelSource, Observer, RunAccess, RunEvent};
use crate::run::{ScriptEngine, ScriptInput, ScriptOutcome, ScriptRun};
use crate::syntax::Script;

/// The subject of a test. A script is one ([`ScriptSubject`]); a program may have others, such as
/// prompts, which are rendered and sent.
pub trait TestTarget: Send + Sync {
    /// What reports call it: a file, or an id.
    fn name(&self) -> &str;

    /// Runs it once, with the models of the trial and no others.
    ///
    /// # Errors
    /// Why it gave no result. A test may want that.
    fn run(&self, trial: TestRequest) -> BoxFuture<'_, Result<ScriptOutcome, ScriptError>>;
}

/// One run of a test.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// What the subject is given.
    pub input: ScriptInput,
    /// Parameters of models that win over the subject's own; `model` among them is a name.
    pub parameters: Map,
    /// Where models come from.
    pub models: Arc<dyn ModelSource>,
    /// Whether answers stream.
    pub stream: bool,
    /// Where random choices start from.
    pub seed: u64,
    /// The observer.
    pub observer: Arc<dyn Observer>,
}

impl TestRequest {
    /// Has expectations see a request. Scripts report theirs by themselves.
    pub fn asks(&self, request: &ChatRequest) {
        let request = Box::new(request.clone());
        self.observer.event(RunEvent::Request(request));
    }

    /// Has expectations see that the model wants a tool called.
    pub fn calls(&self, name: &str, arguments: Value) {
        let name = name.to_owned();
        self.observer.event(RunEvent::ToolCall { name, arguments });
    }
}

/// A script, and what it runs over.
#[derive(Clone, Debug)]
pub struct ScriptSubject {
    /// Runs it; its models are replaced by those of a trial.
    pub engine: ScriptEngine,
    /// The script.
    pub script: Arc<Script>,
    /// What it may do outside automatically.
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
