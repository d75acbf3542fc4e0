//! Prompts as tools, so that agents, scripts and MCP clients can call them.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use quillet_core::chat::{ChatOptions, ModelError, ModelErrorKind, Reply};
use quillet_core::store::EntryKind;
use quillet_core::tool::{Idempotency, Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Map as Object, Value as Tree, json};

use crate::error::ServiceError;
use crate::input::RenderInput;
use crate::messages::RenderedPrompt;
use crate::script;
use crate::service::PromptService;
use crate::snapshot::{CatalogueSnapshot, Definition, PromptEntry};

/// Result of a prompt that is called as a tool: its text, or a model's response.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use quillet_core::{Map, Message, Role, Value};
/// # use quillet_core::store::{EntryKey, EntryKind, Store};
/// # use quillet_core::tool::Tool;
/// # use quillet_prompt::*;
/// # use quillet_store::MemoryStore;
/// # use quillet_template::TemplateFactory;
/// # use quillet_test_support::EchoTools;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
/// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
/// # let formats = TemplateFactory::standard();
/// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
/// # let variables = Arc::new(Variables::new(store));
/// # let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
/// service.load().await.unwrap();
/// # let service = Arc::new(service);
///
/// let tools = service.tools(PromptResult::Text);
/// assert_eq!(tools[0].spec().name, "prompt_greet");
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptResult {
    /// The rendered text. Messages are joined, each after its role.
    Text,
    /// The model's response.
    #[default]
    Answer,
}

/// Maximum length of function names across providers.
const LONGEST_NAME: usize = 64;

struct PromptTool {
    service: Arc<PromptService>,
    /// Snapshot for all calls. If `None`, each call uses the current definitions.
    snapshot: Option<Arc<CatalogueSnapshot>>,
    depth: usize,
    dry: bool,
    id: Arc<str>,
    spec: ToolSpec,
    result: PromptResult,
}

impl PromptService {
    /// Returns a prompt as a tool. The prompt is looked up at each call, so changes apply
    /// immediately. Only the description is fixed.
    ///
    /// # Errors
    /// The prompt does not exist or is invalid.
    pub fn tool(
        self: &Arc<Self>,
        id: &str,
        result: PromptResult,
    ) -> Result<Arc<dyn Tool>, ServiceError> {
        let snapshot = self.catalogue().snapshot();
        Ok(Arc::new(self.named(&snapshot, id, result)?))
    }

    /// Like [`PromptService::tool`], but for a caller that uses one snapshot, such as a script.
    /// `depth` is the current nesting depth of prompts and scripts.
    ///
    /// # Errors
    /// The same as [`PromptService::tool`].
    pub fn tool_in(
        self: &Arc<Self>,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        result: PromptResult,
        depth: usize,
    ) -> Result<Arc<dyn Tool>, ServiceError> {
        let tool = self.named(snapshot, id, result)?;
        Ok(Arc::new(PromptTool {
            snapshot: Some(snapshot.clone()),
            depth,
            ..tool
        }))
    }

    /// Like [`PromptService::tool_in`], but for a dry run: prompts are rendered without their
    /// tools, and scripts only report the requests that they would make.
    ///
    /// # Errors
    /// The same as [`PromptService::tool`].
    pub fn dry_tool_in(
        self: &Arc<Self>,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        depth: usize,
    ) -> Result<Arc<dyn Tool>, ServiceError> {
        let tool = self.named(snapshot, id, PromptResult::Text)?;
        Ok(Arc::new(PromptTool {
            snapshot: Some(snapshot.clone()),
            depth,
            dry: true,
            ..tool
        }))
    }

    /// Returns all valid prompts as tools, in the order of their ids.
    #[must_use]
    pub fn tools(self: &Arc<Self>, result: PromptResult) -> Vec<Arc<dyn Tool>> {
        let snapshot = self.catalogue().snapshot();
        let tools = snapshot.prompts.values().filter_map(|definition| {
            let entry = definition.usable(EntryKind::Prompt).ok()?;
            let tool: Arc<dyn Tool> = Arc::new(self.wrap(definition, entry, result));
            Some(tool)
        });
        tools.collect()
    }

    /// Creates a tool for an id, with or without a version selector. Each call resolves the id
    /// again.
    fn named(
        self: &Arc<Self>,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        result: PromptResult,
    ) -> Result<PromptTool, ServiceError> {
        let definition = self.catalogue().choose_now(snapshot, id)?;
        let entry = definition.usable(EntryKind::Prompt)?;
        let mut tool = self.wrap(&definition, entry, result);
        // Includes the selector, so that two versions of a prompt have different names.
        tool.spec.name = prompt_function(id);
        if *id != *definition.id {
            tool.spec.also.extend(targets(id, entry));
        }
        tool.id = id.into();
        Ok(tool)
    }

    fn wrap(
        self: &Arc<Self>,
        definition: &Definition<PromptEntry>,
        entry: &PromptEntry,
        result: PromptResult,
    ) -> PromptTool {
        PromptTool {
            service: self.clone(),
            snapshot: None,
            depth: 0,
            dry: false,
            id: definition.id.clone(),
            spec: ToolSpec {
                name: prompt_function(&definition.id),
                also: targets(&definition.id, entry).collect(),
                description: described(&definition.id, entry),
                parameters: self.accepted(entry),
                returns: entry
                    .script()
                    .and_then(|script| script.spec.returns.clone()),
                // A render can be repeated safely. A script may have side effects.
                repeat: if entry.script().is_some() {
                    Idempotency::Never
                } else {
                    Idempotency::Freely
                },
                ..ToolSpec::default()
            },
            result,
        }
    }

    /// Returns the input schema of a prompt: its declared parameters, or else the variables in its
    /// text.
    #[must_use]
    pub fn accepted(&self, entry: &PromptEntry) -> Tree {
        if let Some(script) = entry.script() {
            return script.spec.parameters.clone();
        }
        if let Some(schema) = entry.prompt.parameters.schema() {
            return schema;
        }
        let names = self.request_variables(entry);
        let property = |name: String| (name, json!({}));
        let properties: Object<String, Tree> = names.into_iter().map(property).collect();
        json!({"type": "object", "properties": properties})
    }
}

/// Converts a prompt id to a function name: `codebase.lookup` becomes `prompt_codebase_lookup`. All
/// providers accept letters, digits, `_` and `-`.
///
/// # Examples
///
/// ```
/// use quillet_prompt::prompt_function;
///
/// assert_eq!(prompt_function("codebase.lookup"), "prompt_codebase_lookup");
/// ```
#[must_use]
pub fn prompt_function(id: &str) -> String {
    let safe = |c: char| match c {
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    let name: String = id.chars().map(safe).collect();
    let mut name = format!("prompt_{name}");
    // The name is pure ASCII here, so this cannot split a character.
    name.truncate(LONGEST_NAME);
    name
}

/// Names of a prompt in tool patterns. A script has two of them.
fn targets(id: &str, entry: &PromptEntry) -> impl Iterator<Item = String> {
    let script = entry.script().is_some();
    let script = script.then(|| format!("script/{id}"));
    std::iter::once(format!("prompt/{id}")).chain(script)
}

/// Returns the description of a prompt.
fn described(id: &str, entry: &PromptEntry) -> String {
    let text = entry.description().or(entry.title());
    let kind = if entry.script().is_some() {
        "script"
    } else {
        "prompt"
    };
    text.map_or_else(|| format!("The stored {kind} {id}."), str::to_owned)
}

impl PromptTool {
    /// Calls the prompt. A script always runs, regardless of the kind of result.
    async fn run(&self, arguments: &Map, request_id: &str) -> Result<Value, ServiceError> {
        // Read at each call, so that a changed definition applies immediately.
        let now = || self.service.catalogue().snapshot();
        let snapshot = &self.snapshot.clone().unwrap_or_else(now);
        let input = RenderInput {
            depth: self.depth,
            dry: self.dry,
            ..RenderInput::new(arguments, request_id)
        };
        if let Some(job) = self.service.script_in(snapshot, &self.id, &input).await? {
            return script::value(self.service.run_script(job)?).await;
        }
        self.text(snapshot, &input).await.map(Value::from)
    }

    async fn text(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        input: &RenderInput<'_>,
    ) -> Result<String, ServiceError> {
        if self.result == PromptResult::Text {
            let outcome = self.service.render_in(snapshot, &self.id, input).await?;
            return Ok(text(outcome.prompt));
        }
        let options = ChatOptions::default();
        let asked = self
            .service
            .chat_in(snapshot, &self.id, input, None, options);
        let mut stream = asked.await?.stream;
        let mut reply = Reply::default();
        while let Some(event) = stream.next().await {
            reply.fold(event?);
        }
        let whole = reply.ensure_complete().map_err(|cut| {
            // A refusal explains the missing response, so it is part of the error.
            let said = reply.choices.first().map_or("", |choice| &choice.refusal);
            let colon = if said.is_empty() { "" } else { ": " };
            ModelError::new(ModelErrorKind::Cut, format!("{cut}{colon}{said}"))
        })?;
        Ok(whole.text.clone())
    }
}

fn text(prompt: RenderedPrompt) -> String {
    match prompt {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => {
            let written = messages
                .iter()
                .map(|message| format!("{}: {}", message.role.as_str(), message.content));
            written.collect::<Vec<_>>().join("\n\n")
        }
    }
}

impl fmt::Debug for PromptTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptTool")
            .field("id", &self.id)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

impl Tool for PromptTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let ran = self.run(&arguments, &context.request_id).await;
            ran.map_err(|error| error.for_caller())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_every_provider() {
        let cases = [
            ("codebase.lookup", "prompt_codebase_lookup"),
            ("my-mod.x y", "prompt_my-mod_x_y"),
            ("翻译", "prompt___"),
        ];
        for (id, name) in cases {
            assert_eq!(prompt_function(id), name);
        }
        assert_eq!(prompt_function(&"a".repeat(200)).len(), LONGEST_NAME);
    }
}
