//! A dialogue that continues after its script has ended, for example in a terminal.

use std::sync::Arc;

use quillet_core::{Map, Span, Value};

use super::call_sequence;
use super::control::ScriptFrame;
use super::dialogue::DialogueEntry;
use super::instance::Instance;
use super::model_call::ModelClient;
use super::scope::NameScope;
use super::{ScriptEngine, ScriptOutcome, ScriptRun};
use crate::error::{ErrorKind, ScriptError};
use crate::library::resolve;
use crate::reader;
use crate::syntax::ScriptSource;

/// Source name of typed text in diagnostics.
const TYPED: &str = "what was typed";

/// A completed script run whose variables and dialogue can still be used.
#[derive(Debug)]
pub struct ScriptSession {
    instance: Arc<Instance>,
}

impl ScriptEngine {
    /// Runs a script to completion and keeps its state. No model is called automatically after the
    /// last message, because the user answers it. Dropping the future cancels all work that the run
    /// has started.
    ///
    /// # Errors
    /// Returns the same errors as [`ScriptEngine::run`].
    pub async fn open(
        &self,
        job: ScriptRun,
    ) -> Result<(ScriptSession, ScriptOutcome), ScriptError> {
        self.begin(job, true).await
    }

    pub(super) async fn begin(
        &self,
        job: ScriptRun,
        talks: bool,
    ) -> Result<(ScriptSession, ScriptOutcome), ScriptError> {
        let lane = job.reach.replay_access().map(|_| call_sequence::root());
        call_sequence::within(lane, self.begin_in_lane(job, talks)).await
    }

    async fn begin_in_lane(
        &self,
        job: ScriptRun,
        talks: bool,
    ) -> Result<(ScriptSession, ScriptOutcome), ScriptError> {
        let mut world = self.shared_state(&job);
        world.talks = talks;
        let world = Arc::new(world);
        let resolved = resolve(job.script.clone(), &*self.library).await?;
        let instance = Instance::of(world, resolved, None)?;
        instance.remember(job.history);
        let value = instance.run(job.arguments).await.map_err(|mut error| {
            if error.chain.is_empty() {
                // Errors before the first instruction have no chain yet, but callers always display
                // at least the id of the script.
                error.chain = vec![instance.id.clone()];
            }
            error
        })?;
        let outcome = instance.outcome(value);
        Ok((ScriptSession { instance }, outcome))
    }
}

impl ScriptSession {
    /// Sends a user message and returns the answer. The text is never treated as a template. If
    /// there is no answer or the future is dropped, the message is removed.
    ///
    /// # Errors
    /// Returns the same errors as [`ScriptEngine::run`].
    pub async fn send_message(&self, text: &str) -> Result<ScriptOutcome, ScriptError> {
        let draft = MessageDraft::new(&self.instance);
        let entry = DialogueEntry::done(
            "user",
            Value::from(text),
            self.instance.root(),
            Span::default(),
        );
        let index = self.instance.dialogue().push_message(entry);
        self.instance.show(index);
        self.answer(draft).await
    }

    /// Sends the current dialogue to the model and returns the answer.
    ///
    /// # Errors
    /// Returns the same errors as [`ScriptEngine::run`].
    pub async fn continue_dialogue(&self) -> Result<ScriptOutcome, ScriptError> {
        self.answer(MessageDraft::new(&self.instance)).await
    }

    async fn answer(&self, draft: MessageDraft<'_>) -> Result<ScriptOutcome, ScriptError> {
        let scope = self.instance.root();
        let end = Span::default();
        let asker = ModelClient::new(&self.instance, &scope, end);
        let value = asker.next_message(Map::default()).await?;
        // Done before anything that can fail, because the answer is already paid for.
        draft.keep();
        self.instance.finish(Some(value));
        self.instance.saved(&scope, end).await?;
        Ok(self.outcome())
    }

    /// Executes an instruction, such as `$echo(1)`.
    ///
    /// # Errors
    /// The text is not an instruction, or the instruction failed.
    pub async fn call(&self, text: &str) -> Result<ScriptOutcome, ScriptError> {
        self.instance.finish(None);
        self.instruction(text).await?;
        self.instance.render_messages().await?;
        Ok(self.outcome())
    }

    /// Returns the value of a variable, or of a path that starts with a variable. `None` stands for
    /// JavaScript's `undefined`.
    ///
    /// # Errors
    /// The name is unknown, or the path cannot be read.
    pub async fn variable(&self, path: &str) -> Result<Option<Value>, ScriptError> {
        let source = typed(path);
        let span = full_span(path);
        let scope = NameScope::of(&source);
        self.instance.expression_text(path, &scope, span).await
    }

    async fn instruction(&self, text: &str) -> Result<(), ScriptError> {
        let source = typed(text);
        let item = reader::text_item(text, full_span(text), &source);
        let item = item.map_err(|diagnostics| ScriptError {
            diagnostics,
            ..ScriptError::plain(ErrorKind::Script, TYPED, "")
        })?;
        let scope = NameScope::of(&source);
        ScriptFrame::new(&self.instance, &scope).item(&item).await?;
        Ok(())
    }

    /// Returns the current dialogue and the last result.
    #[must_use]
    pub fn outcome(&self) -> ScriptOutcome {
        let value = self.instance.state().last.clone();
        self.instance.outcome(value)
    }
}

fn typed(text: &str) -> Arc<ScriptSource> {
    Arc::new(ScriptSource {
        name: TYPED.to_owned(),
        path: None,
        text: text.into(),
    })
}

fn full_span(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}

/// Removes new messages on drop, unless `keep` was called.
struct MessageDraft<'a> {
    instance: &'a Instance,
    before: usize,
    kept: bool,
}

impl<'a> MessageDraft<'a> {
    fn new(instance: &'a Instance) -> Self {
        let before = instance.dialogue().messages().len();
        MessageDraft {
            instance,
            before,
            kept: false,
        }
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for MessageDraft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Done on drop, so that a cancelled answer leaves no question that the next request
            // would repeat.
            self.instance.dialogue().truncate(self.before);
        }
    }
}
