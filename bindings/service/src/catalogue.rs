//! Prompts of a store.

use std::sync::Arc;
use std::time::Duration;

use quillet::core::Diagnostic;
use quillet::core::history::{LabelTarget, Labels, VersionSelector};
use quillet::core::store::EntryKind;
use quillet::hosting::definitions::{Actor, DefinitionService, LabelChange, Relabel, Write};
use quillet::prompt::{RenderInput, RenderOutcome};
use quillet::{Map, Quillet, Settings, Value};
use serde_json::{Value as Json, json};

use crate::REQUEST;
use crate::call_queue::CallQueue;
use crate::functions::{HostFunction, HostFunctions};
use crate::refusal::BindingError;
use crate::work::TaskOutput;

/// Default author of versions written through a package.
const AUTHOR: &str = "program";
/// Default number of listed versions.
const MOST_VERSIONS: usize = 1000;

/// The prompts of a store, including changes by other programs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundCatalogue(Quillet);

/// Selects a version of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PromptVersion {
    /// Default for requests without a selector: the version of the label `production`, or else the
    /// current text in the store.
    #[default]
    Usual,
    /// The version that a label points to.
    Label(String),
    /// The version with this number.
    Version(u64),
}

/// Prompt to render.
#[derive(Clone, Debug, Default)]
pub struct RenderRequest {
    /// Id of the prompt.
    pub id: String,
    /// Version selector.
    pub which: PromptVersion,
    /// Variables of the render.
    pub variables: Map,
    /// Functions that the prompt may call; they take precedence over the store's tools.
    pub tools: Vec<HostFunction>,
    /// Whether to return messages instead of text.
    pub as_messages: bool,
}

impl RenderRequest {
    /// The id with its version selector.
    fn marked(&self) -> String {
        match &self.which {
            PromptVersion::Usual => self.id.clone(),
            PromptVersion::Label(label) => format!("{}@{label}", self.id),
            PromptVersion::Version(number) => format!("{}@{number}", self.id),
        }
    }
}

impl BoundCatalogue {
    /// Opens a store: `memory:`, `dir:PATH`, `sqlite:FILE`, `redis://HOST`. All other settings come
    /// from the environment; `time` is the timeout of one render.
    ///
    /// # Errors
    /// The address or an environment variable is invalid. If the store's server does not respond,
    /// only the operations that need it fail.
    pub async fn open(store: &str, time: Duration) -> Result<Self, BindingError> {
        let mut settings = Settings::from_env()?;
        settings.set("store.url", store)?;
        settings.set("render.time_ms", &time.as_millis().max(1).to_string())?;
        Ok(BoundCatalogue(Quillet::with_settings(settings).await?))
    }

    /// Sorted ids of all prompts, including invalid ones.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let snapshot = self.0.host().prompts().catalogue().snapshot();
        snapshot.prompts.keys().map(|id| id.to_string()).collect()
    }

    /// Diagnostics of all prompts in the store.
    #[must_use]
    pub fn findings(&self) -> Vec<Diagnostic> {
        let snapshot = self.0.host().prompts().catalogue().snapshot();
        let found = snapshot.prompts.values();
        found
            .flat_map(|prompt| prompt.diagnostics.clone())
            .collect()
    }

    /// Renders a prompt to text, with the role before each message, or to messages in OpenAI's
    /// format.
    ///
    /// # Errors
    /// The prompt does not exist, a variable is missing, or a limit is reached.
    pub async fn render(
        &self,
        request: RenderRequest,
        board: &CallQueue,
    ) -> Result<TaskOutput, BindingError> {
        let id = request.marked();
        let input = RenderInput::new(&request.variables, REQUEST);
        let prompts = self.0.host().prompts();
        let outcome = if request.tools.is_empty() {
            prompts.render(&id, &input).await?
        } else {
            let snapshot = prompts.catalogue().snapshot();
            // Resolve the version in the shared snapshot, which caches prompts compiled for a
            // label; this render's own snapshot is used only once.
            let chosen = prompts.choose(&snapshot, &id, &input).await?;
            let tools = HostFunctions::new(request.tools, board);
            let mut own = snapshot.with_tools(tools.into_tools());
            own.prompts.insert(id.as_str().into(), chosen);
            prompts.render_in(&Arc::new(own), &id, &input).await?
        };
        let RenderOutcome {
            prompt, failures, ..
        } = outcome;
        let value = if request.as_messages {
            let messages = serde_json::to_value(prompts.messages(prompt));
            Value::from(messages.unwrap_or_default())
        } else {
            Value::from(prompt.to_string())
        };
        let failures = failures.into_iter();
        Ok(TaskOutput {
            value: Some(value),
            failures: failures.map(|one| (one.tool, one.message)).collect(),
        })
    }

    /// Waits until the catalogue has seen all earlier writes to the store.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn sync(&self) -> Result<(), BindingError> {
        let synced = self.0.host().prompts().sync().await;
        synced.map_err(BindingError::from)
    }

    /// Returns the labels of a prompt: an object that maps each label to a version number or to
    /// weights.
    ///
    /// # Errors
    /// The store does not respond.
    pub async fn labels(&self, id: &str) -> Result<Value, BindingError> {
        let definitions = self.definitions();
        // Fails if the prompt does not exist.
        definitions
            .find(EntryKind::Prompt, id, Some(&VersionSelector::latest()))
            .await?;
        let key = definitions.key(EntryKind::Prompt, id).await?;
        let labels = definitions.labels(EntryKind::Prompt, &key).await?;
        Ok(said(&labels))
    }

    /// The versions of a prompt, newest first: a list of objects.
    ///
    /// # Errors
    /// The prompt does not exist, or the store keeps no history or does not respond.
    pub async fn versions(&self, id: &str) -> Result<Value, BindingError> {
        let definitions = self.definitions();
        let versions = definitions.versions(EntryKind::Prompt, id, None, MOST_VERSIONS);
        let versions = serde_json::to_value(versions.await?);
        Ok(versions.unwrap_or_default().into())
    }

    /// Writes a prompt after the checks of `quillet check`, moves labels to the version, and
    /// returns its number. An unchanged definition does not create a version.
    ///
    /// # Errors
    /// The prompt is invalid, or the store rejects the write.
    pub async fn put(
        &self,
        id: &str,
        definition: Map,
        labels: &[String],
        author: Option<&str>,
        message: &str,
    ) -> Result<u64, BindingError> {
        let text = quillet::core::json::to_string(&definition.into());
        let write = Write {
            labels,
            message,
            ..Write::new(EntryKind::Prompt, id, text)
        };
        let written = self.definitions().write(&actor(author), write).await?;
        self.sync().await?;
        Ok(written.committed.version.number)
    }

    /// Moves a label to a version, or removes it. Returns all labels of the prompt.
    ///
    /// # Errors
    /// The prompt or version does not exist, or the store rejects the write.
    pub async fn label(
        &self,
        id: &str,
        label: &str,
        version: Option<u64>,
    ) -> Result<Value, BindingError> {
        let relabel = Relabel {
            kind: EntryKind::Prompt,
            id,
            label,
            wanted: version.map_or(LabelChange::Nowhere, |number| {
                LabelChange::At(VersionSelector::Number(number))
            }),
            expect: None,
            message: "",
        };
        let labels = self.definitions().relabel(&actor(None), relabel).await?;
        self.sync().await?;
        Ok(said(&labels))
    }

    /// Removes a prompt and its labels, but keeps its versions.
    ///
    /// # Errors
    /// The prompt does not exist, or the store rejects the write.
    pub async fn remove(&self, id: &str) -> Result<(), BindingError> {
        let expect = quillet::core::history::WritePrecondition::Anything;
        let actor = actor(None);
        let removed = self
            .definitions()
            .remove(&actor, EntryKind::Prompt, id, "", expect);
        removed.await?;
        self.sync().await
    }

    fn definitions(&self) -> &DefinitionService {
        self.0.host().definitions()
    }
}

fn actor(author: Option<&str>) -> Actor {
    Actor::all(author.unwrap_or(AUTHOR), REQUEST)
}

fn said(labels: &Labels) -> Value {
    let target = |target: &LabelTarget| match target {
        LabelTarget::Version(number) => json!(number),
        split => json!(split),
    };
    let labels = labels.0.iter();
    let labels = labels.map(|(name, at)| (name.clone(), target(at)));
    Value::from(Json::Object(labels.collect()))
}
