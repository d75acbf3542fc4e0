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

/// The prompts of a store, which is followed: what others write there is seen. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundCatalogue(Quillet);

/// Which version of a prompt is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PromptVersion {
    /// The one that readers get who name none: that of the label `production`, else what stands in
    /// the store.
    #[default]
    Usual,
    /// The one that a label points at.
    Label(String),
    /// The one of this number.
    Version(u64),
}

/// Prompt to render.
#[derive(Clone, Debug, Default)]
pub struct RenderRequest {
    /// The prompt.
    pub id: String,
    /// Its version.
    pub which: PromptVersion,
    /// Its variables.
    pub variables: Map,
    /// Functions that it may call besides the tools of the store, which they go before.
    pub tools: Vec<HostFunction>,
    /// Whether to return messages instead of a text.
    pub as_messages: bool,
}

impl RenderRequest {
    /// The id with its mark, as all ways in write it.
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
    /// from the environment; `time` is what one render may take.
    ///
    /// # Errors
    /// The address is none, or a variable of the environment is wrong. That a server does not
    /// answer is told by whatever needs it.
    pub async fn open(store: &str, time: Duration) -> Result<Self, BindingError> {
        let mut settings = Settings::from_env()?;
        settings.set("store.url", store)?;
        settings.set("render.time_ms", &time.as_millis().max(1).to_string())?;
        Ok(BoundCatalogue(Quillet::with_settings(settings).await?))
    }

    /// Ids of all prompts, broken ones included, in order.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let snapshot = self.0.host().prompts().catalogue().snapshot();
        snapshot.prompts.keys().map(|id| id.to_string()).collect()
    }

    /// Everything that is wrong with the prompts of the store.
    #[must_use]
    pub fn findings(&self) -> Vec<Diagnostic> {
        let snapshot = self.0.host().prompts().catalogue().snapshot();
        let found = snapshot.prompts.values();
        found
            .flat_map(|prompt| prompt.diagnostics.clone())
            .collect()
    }

    /// Renders a prompt: a text (messages each with its role before it), or messages in OpenAI's
    /// shape.
    ///
    /// # Errors
    /// There is no such prompt, a variable is missing, a limit is reached.
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
            // Chosen among what all renders share: what was put together for a label is kept with
            // its snapshot, and this render's own is used once.
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

    /// Waits until all that was written to the store before this is seen here.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn sync(&self) -> Result<(), BindingError> {
        let synced = self.0.host().prompts().sync().await;
        synced.map_err(BindingError::from)
    }

    /// The labels of a prompt: an object of numbers of versions, or of shares.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn labels(&self, id: &str) -> Result<Value, BindingError> {
        let definitions = self.definitions();
        // There is an answer for prompts that are there only.
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
    /// There is no such prompt; the store keeps no history, or does not answer.
    pub async fn versions(&self, id: &str) -> Result<Value, BindingError> {
        let definitions = self.definitions();
        let versions = definitions.versions(EntryKind::Prompt, id, None, MOST_VERSIONS);
        let versions = serde_json::to_value(versions.await?);
        Ok(versions.unwrap_or_default().into())
    }

    /// Writes a prompt after the checks of `quillet check`, and moves labels to it; gives the
    /// number of its version. A definition that is there already makes no new one.
    ///
    /// # Errors
    /// It is broken, or the store does not let it be written.
    pub async fn put(
        &self,
        id: &str,
        definition: Map,
        labels: &[String],
        (author, message): (Option<&str>, &str),
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

    /// Moves a label to a version, or away; gives all labels of the prompt.
    ///
    /// # Errors
    /// There is no such prompt or version; the store does not let it be written.
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

    /// Removes a prompt with its labels; its versions stay.
    ///
    /// # Errors
    /// There is no such prompt; the store does not let it be written.
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
