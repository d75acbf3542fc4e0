//! Entry point of a run: takes a [`ScriptRun`], returns a [`ScriptOutcome`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use quillet_core::Value;

use super::content_parts::display_text;
use super::dialogue::DialogueEntry;
use super::instance::{Instance, RunShared};
use super::state::ScriptState;
use super::{DialogueTurn, DryRunReport, ScriptEngine, ScriptOutcome, ScriptRun};
use crate::error::ScriptError;
use crate::host::Grants;
use crate::js::{FixedEnvironment, JsOptions, WorkerLimits};
use crate::syntax::ScriptSource;
use quillet_core::lock::lock;

impl ScriptEngine {
    /// Runs a script to completion. Dropping the future cancels all work that the run has started.
    ///
    /// # Errors
    /// Returns the first error, with its location and the text that a model had written so far.
    pub async fn run(&self, job: ScriptRun) -> Result<ScriptOutcome, ScriptError> {
        let (_, outcome) = self.begin(job, false).await?;
        Ok(outcome)
    }

    pub(super) fn shared_state(&self, job: &ScriptRun) -> RunShared {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH);
        let clock = clock.map_or(0, |now| {
            // The low bits of the clock change most often, and the high bits stay the same for
            // years.
            u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap_or(0)
        });
        let mut world = RunShared::new(
            self.clone(),
            &job.script.source,
            job.observer.clone(),
            job.seed.unwrap_or(clock),
            &job.reach,
        );
        world.parameters = job.parameters.clone();
        world.stream = job.stream;
        world
    }

    /// Returns the JavaScript options of a run. Modules load from the script's folder and from the
    /// folders of the host.
    pub(super) fn js_options(
        &self,
        source: &ScriptSource,
        grants: Grants,
        withheld: Option<Arc<DryRunReport>>,
        fixed: Option<FixedEnvironment>,
    ) -> JsOptions {
        let own = source.path.as_deref().and_then(Path::parent);
        // The script's own folder comes first, so its modules take precedence over the search path.
        let own = own.map(|folder| {
            if folder.as_os_str().is_empty() {
                // The parent of a bare file name is the empty path, which cannot be canonicalized.
                PathBuf::from(".")
            } else {
                folder.to_owned()
            }
        });
        let roots = own.into_iter().chain(self.javascript.roots.iter().cloned());
        // Module files are not recorded in the journal and may differ on a replay, so a durable run
        // does not load any.
        let roots = roots.filter(|_| fixed.is_none());
        JsOptions {
            roots: roots.collect(),
            grants,
            withheld,
            bounds: WorkerLimits {
                time: self.limits.js_time,
                memory: self.limits.js_memory,
                stack: self.limits.js_stack,
                fixed,
            },
            ..self.javascript.clone()
        }
    }
}

impl Instance {
    /// Stores an earlier conversation until the hidden prefix is complete.
    pub(super) fn remember(&self, history: Vec<DialogueTurn>) {
        let root = self.root();
        let entries = history.into_iter().map(|turn| {
            let mut entry = DialogueEntry::done(
                turn.role,
                Value::from(turn.content),
                root.clone(),
                Default::default(),
            );
            entry.name = turn.name;
            entry.private = !turn.to.is_empty();
            entry.to = turn.to;
            entry.thinking = turn.thinking;
            // Observers already received these turns during the earlier conversation.
            entry.shown = true;
            entry
        });
        self.dialogue().remember(entries.collect());
    }

    pub(super) fn outcome(&self, value: Option<Value>) -> ScriptOutcome {
        // Locks are acquired in this order: tally, state, dialogue.
        let mut tally = lock(&self.world.tally);
        let mut state = self.state();
        let dialogue = self.dialogue();
        let ScriptState {
            hidden, printed, ..
        } = &mut *state;
        ScriptOutcome {
            value,
            printed: *printed,
            hidden: std::mem::take(hidden),
            prefix: dialogue.prefix().unwrap_or(0),
            messages: dialogue.messages().iter().map(turn).collect(),
            usage: tally.usage,
            model_calls: self.world.budget.model_calls(),
            enforced: std::mem::take(&mut tally.enforced),
            warnings: std::mem::take(&mut tally.warnings),
        }
    }
}

fn turn(entry: &DialogueEntry) -> DialogueTurn {
    DialogueTurn {
        role: entry.role.clone(),
        content: display_text(&entry.content),
        name: entry.name.clone(),
        to: if entry.private {
            entry.to.clone()
        } else {
            Vec::new()
        },
        thinking: entry.thinking.clone(),
    }
}
