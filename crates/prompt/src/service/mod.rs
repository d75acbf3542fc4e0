//! The prompt service: finds, binds, renders and sends prompts.

mod outcome;
mod rendering;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_core::chat::{
    ChatModel, ChatOptions, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use quillet_core::store::{EntryKind, Health, StoreError};
use quillet_core::{Message, Role};
use quillet_template::RenderLimits;
use tokio::time::Instant;

pub use self::outcome::{ChatOutcome, ChatReady, RenderOutcome};
use self::rendering::{PromptRendering, Resources};
use crate::catalogue::Catalogue;
use crate::compile::CompiledPrompt;
use crate::context::REQUEST_ROOTS;
use crate::definition::{Prompt, PromptBody};
use crate::error::ServiceError;
use crate::inline_prompt::InlinePrompt;
use crate::input::RenderInput;
use crate::messages::RenderedPrompt;
use crate::script::{self, ScriptJob, ScriptRunner, ScriptStream, Scripts};
use crate::snapshot::{CatalogueSnapshot, Definition, PromptEntry};
use crate::sources::SourceSet;
use crate::usage::Usage;
use crate::variables::Variables;
use crate::versions::VersionNumbers;

/// Name of prompts that are not stored, used in errors.
const INLINE: &str = "inline";

/// Options of the prompt service.
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    /// Limits on one render.
    pub limits: RenderLimits,
    /// System message to send before a prompt that is a single text. Prompts with messages define
    /// their own system message.
    pub system: Option<String>,
    /// Counter of model retries, shared with the component that performs the retries.
    pub retries: Arc<AtomicU64>,
    /// Maximum number of prompts, and of tools, with their own counters in
    /// [`PromptService::usage`]. Default 100.
    pub named_counts: Option<usize>,
}

/// Default for [`ServiceOptions::named_counts`].
const NAMED_COUNTS: usize = 100;

/// Counters since the prompt service was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceCounters {
    /// Compiled templates found in the cache.
    pub template_hits: u64,
    /// Templates that were compiled.
    pub template_misses: u64,
    /// Renders whose shared variables were all cached.
    pub variable_hits: u64,
    /// Reads of shared variables from the store.
    pub variable_round_trips: u64,
    /// Model retries.
    pub model_retries: u64,
}

/// The prompt service.
#[derive(Debug)]
pub struct PromptService {
    catalogue: Catalogue,
    variables: Arc<Variables>,
    model: Option<Arc<dyn ChatModel>>,
    options: ServiceOptions,
    scripts: Scripts,
    usage: Usage,
    numbers: VersionNumbers,
}

impl PromptService {
    /// Creates a service from a catalogue and its shared variables. Without a model, the service
    /// can render but not chat.
    #[must_use]
    pub fn new(
        catalogue: Catalogue,
        variables: impl Into<Arc<Variables>>,
        model: Option<Arc<dyn ChatModel>>,
        options: ServiceOptions,
    ) -> Self {
        PromptService {
            catalogue,
            variables: variables.into(),
            model,
            usage: Usage::new(options.named_counts.unwrap_or(NAMED_COUNTS)),
            options,
            scripts: Scripts::default(),
            numbers: VersionNumbers::default(),
        }
    }

    /// Sets the runner of stored scripts, unless a runner is already set.
    pub fn run_scripts_with(&self, runner: Arc<dyn ScriptRunner>) {
        self.scripts.run_with(runner);
    }

    /// Returns the catalogue of definitions.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the shared variables.
    #[must_use]
    pub fn variables(&self) -> &Arc<Variables> {
        &self.variables
    }

    /// Returns the model, if one is configured.
    #[must_use]
    pub fn model(&self) -> Option<&Arc<dyn ChatModel>> {
        self.model.as_ref()
    }

    /// Returns the current counters.
    #[must_use]
    pub fn counts(&self) -> ServiceCounters {
        let (template_hits, template_misses) = self.catalogue.compiler().hits_and_misses();
        ServiceCounters {
            template_hits,
            template_misses,
            variable_hits: self.variables.hits(),
            variable_round_trips: self.variables.round_trips(),
            model_retries: self.options.retries.load(Ordering::Relaxed),
        }
    }

    /// Returns usage counts and durations of prompts and tools by name.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Loads all definitions. The service is ready if this succeeds.
    ///
    /// # Errors
    /// The store is unavailable; [`PromptService::watch`] keeps trying.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.catalogue.load().await?;
        self.variables.load().await
    }

    /// Applies store changes for as long as the future is polled.
    pub async fn watch(&self) {
        tokio::join!(self.catalogue.watch(), self.variables.watch());
    }

    /// Waits until all changes that were written to the store before this call are applied.
    ///
    /// # Errors
    /// The store is unavailable.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.catalogue.sync().await?;
        self.variables.caught_up().await
    }

    /// Returns the health of the store, and whether all definitions were loaded at least once.
    #[must_use]
    pub fn health(&self) -> (Health, bool) {
        (self.catalogue.store().health(), self.catalogue.is_loaded())
    }

    /// Renders a prompt with the variables of a request.
    ///
    /// If the prompt is a script, the render is a dry run, which reports the requests that the
    /// script would make ([`RenderOutcome::dry_run`]).
    ///
    /// # Errors
    /// Every variant of [`ServiceError`] except [`ServiceError::Model`].
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
    ///
    /// let variables = Map::from([("name", "Ada")]);
    /// let input = RenderInput::new(&variables, "request-1");
    /// let rendered = service.render("greet", &input).await.unwrap();
    /// assert_eq!(rendered.prompt.to_string(), "Hello Ada!");
    /// # });
    /// ```
    pub async fn render(
        &self,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        self.render_in(&self.catalogue.snapshot(), id, input).await
    }

    /// Like [`PromptService::render`], but uses this snapshot.
    ///
    /// # Errors
    /// The same as [`PromptService::render`].
    pub async fn render_in(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        let started = Instant::now();
        let rendered = self.render_stored(snapshot, id, input, started).await;
        self.count(id, started, &rendered);
        rendered
    }

    /// Counts a render under the requested id, including its version selector.
    fn count(&self, id: &str, started: Instant, rendered: &Result<RenderOutcome, ServiceError>) {
        // Unknown ids are chosen by clients, so they are not counted.
        if !matches!(rendered, Err(ServiceError::NotFound { .. })) {
            let outcome = rendered.as_ref();
            let time = outcome.map_or_else(|_| started.elapsed(), |outcome| outcome.time);
            self.usage.rendered(id, time, outcome.is_ok());
        }
    }

    async fn render_stored(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
        started: Instant,
    ) -> Result<RenderOutcome, ServiceError> {
        let definition = self.choose(snapshot, id, input).await?;
        self.render_chosen(snapshot, &definition, input, started)
            .await
    }

    async fn render_chosen(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        definition: &Definition<PromptEntry>,
        input: &RenderInput<'_>,
        started: Instant,
    ) -> Result<RenderOutcome, ServiceError> {
        let entry = definition.usable(EntryKind::Prompt)?;
        let version = self.number(snapshot, definition, input).await;
        if let Some(script) = entry.script() {
            let job = script::job(&definition.id, script, snapshot, input);
            let outcome = self.render_script(job, started).await?;
            return Ok(RenderOutcome {
                version,
                revision: Some(definition.revision),
                ..outcome
            });
        }
        // Checked before the compilation, which adds the template to the cache.
        let cached = input.explain && self.catalogue.compiler().knows(&entry.sources);
        let compiled = self.compile(&definition.id, &entry.sources)?;
        let rendering = PromptRendering {
            resources: self.resources(),
            started,
            input,
            snapshot,
            prompt: &entry.prompt,
            sources: &entry.sources,
            stored: Some(definition),
            version,
            compiled: &compiled,
            cached,
        };
        rendering.run().await
    }

    /// Returns the version number for the outcome of a request.
    async fn number(
        &self,
        snapshot: &CatalogueSnapshot,
        definition: &Definition<PromptEntry>,
        input: &RenderInput<'_>,
    ) -> Option<u64> {
        if !input.numbered {
            return definition.usable(EntryKind::Prompt).ok()?.version;
        }
        self.version_of(snapshot, definition).await
    }

    /// Resolves an id, with or without a version selector, for callers that only describe the
    /// prompt. A weighted label may resolve to any of its versions. A version that is not cached
    /// resolves to the default version.
    ///
    /// # Errors
    /// There is no such prompt or label.
    pub fn describe(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
    ) -> Result<Arc<Definition<PromptEntry>>, ServiceError> {
        self.catalogue.choose_now(snapshot, id)
    }

    /// Returns the version number of a definition. If the history does not contain the definition
    /// yet, the definition is added. Returns `None` if the store keeps no history or does not
    /// respond in time.
    pub async fn version_of(
        &self,
        snapshot: &CatalogueSnapshot,
        definition: &Definition<PromptEntry>,
    ) -> Option<u64> {
        let store = &**self.catalogue.store();
        self.numbers.of(store, snapshot, definition).await
    }

    /// Resolves an id, with or without a version selector, for a request.
    ///
    /// # Errors
    /// The prompt, label or version does not exist, or the store is unavailable.
    pub async fn choose(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<Arc<Definition<PromptEntry>>, ServiceError> {
        let chosen = self.catalogue.choose(snapshot, id, input).await;
        chosen.map_err(|error| match error {
            // As long as nothing is loaded, the prompt may exist in the store.
            ServiceError::NotFound { .. } => self.absent(error),
            error => error,
        })
    }

    /// Renders a prompt definition that is not stored, like [`PromptService::render_unstored`].
    ///
    /// # Errors
    /// The same as [`PromptService::render_unstored`]. The prompt's name in errors is `inline`.
    pub async fn render_inline(
        &self,
        definition: serde_json::Map<String, serde_json::Value>,
        input: &RenderInput<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        self.render_unstored(None, &definition.into(), input).await
    }

    /// Renders a prompt that is not stored. The prompt can use shared variables, tools, partials
    /// and other prompts like a stored one. If `id` is set, the prompt is parsed as if it were
    /// stored under that id. If the prompt is a script, the render is a dry run.
    ///
    /// # Errors
    /// The same as [`PromptService::render`]. The name of an invalid definition without an id is
    /// `inline`.
    pub async fn render_unstored(
        &self,
        id: Option<&str>,
        unstored: &InlinePrompt,
        input: &RenderInput<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        let started = Instant::now();
        let snapshot = self.catalogue.snapshot();
        let id = id.unwrap_or(INLINE);
        let (prompt, sources) = self.read_unstored(id, unstored, &snapshot, input).await?;
        if let PromptBody::Script(script) = &prompt.body {
            let job = script::job(id, script, &snapshot, input);
            return self.render_script(job, started).await;
        }
        // Checked before the compilation, which adds the template to the cache.
        let cached = input.explain && self.catalogue.compiler().knows(&sources);
        let compiled = self.compile(id, &sources)?;
        let rendering = PromptRendering {
            resources: self.resources(),
            started,
            input,
            snapshot: &snapshot,
            prompt: &prompt,
            sources: &sources,
            stored: None,
            version: None,
            compiled: &compiled,
            cached,
        };
        rendering.run().await
    }

    async fn read_unstored(
        &self,
        id: &str,
        unstored: &InlinePrompt,
        snapshot: &CatalogueSnapshot,
        input: &RenderInput<'_>,
    ) -> Result<(Arc<Prompt>, Arc<SourceSet>), ServiceError> {
        let made = self.catalogue.inline_for(id, unstored, snapshot, input);
        made.await?.map_err(|diagnostics| ServiceError::Invalid {
            kind: EntryKind::Prompt,
            id: id.to_owned(),
            diagnostics,
        })
    }

    /// Creates the run of a script that is not stored, parsed as if it were stored under this id.
    /// Returns `None` if the definition is not a script.
    ///
    /// # Errors
    /// The definition is invalid.
    pub async fn script_unstored(
        &self,
        id: Option<&str>,
        unstored: &InlinePrompt,
        input: &RenderInput<'_>,
    ) -> Result<Option<ScriptJob>, ServiceError> {
        let snapshot = self.catalogue.snapshot();
        let id = id.unwrap_or(INLINE);
        let (prompt, _) = self.read_unstored(id, unstored, &snapshot, input).await?;
        Ok(match &prompt.body {
            PromptBody::Script(script) => Some(script::job(id, script, &snapshot, input)),
            PromptBody::Text(_) | PromptBody::Messages(_) => None,
        })
    }

    /// Renders a prompt and sends it to the model. The prompt provides the model and options that
    /// the request does not set.
    ///
    /// # Errors
    /// The same as [`PromptService::render`], and [`ServiceError::Model`].
    pub async fn chat(
        &self,
        id: &str,
        input: &RenderInput<'_>,
        model: Option<String>,
        options: ChatOptions,
    ) -> Result<ChatOutcome, ServiceError> {
        let snapshot = self.catalogue.snapshot();
        self.chat_in(&snapshot, id, input, model, options).await
    }

    /// Like [`PromptService::chat`], but uses this snapshot.
    ///
    /// # Errors
    /// The same as [`PromptService::chat`].
    pub async fn chat_in(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
        model: Option<String>,
        options: ChatOptions,
    ) -> Result<ChatOutcome, ServiceError> {
        let definition = self.choose(snapshot, id, input).await?;
        let entry = definition.usable(EntryKind::Prompt)?;
        if let Some(script) = entry.script() {
            let version = self.number(snapshot, &definition, input).await;
            let job = script::job(&definition.id, script, snapshot, input);
            let stream = options.extra.get("stream") != Some(&false.into());
            let job = ScriptJob {
                model,
                options,
                stream,
                ..job
            };
            return Ok(ChatOutcome {
                stream: self.chat_script(job).await?,
                failures: Vec::new(),
                unused: Vec::new(),
                absent: Vec::new(),
                explanation: None,
                version,
            });
        }
        let ready = self.ready(snapshot, &definition, id, input, model, options);
        let ready = ready.await?;
        let stream = match self.answering()?.stream(ready.request).await {
            Ok(stream) => stream,
            Err(error) => {
                // Both errors are reported, because a failed tool may be the reason why the model
                // rejects the request.
                let failures = ready.failures;
                return Err(ServiceError::Model { error, failures });
            }
        };
        Ok(ChatOutcome {
            stream,
            failures: ready.failures,
            unused: ready.unused,
            absent: ready.absent,
            explanation: ready.explanation,
            version: ready.version,
        })
    }

    /// Renders a template and returns the model request, for callers that send it themselves.
    ///
    /// # Errors
    /// The same as [`PromptService::render`]. A script is rejected, because it calls models itself.
    pub async fn ready_in(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
        model: Option<String>,
        options: ChatOptions,
    ) -> Result<ChatReady, ServiceError> {
        let definition = self.choose(snapshot, id, input).await?;
        self.ready(snapshot, &definition, id, input, model, options)
            .await
    }

    async fn ready(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        definition: &Definition<PromptEntry>,
        id: &str,
        input: &RenderInput<'_>,
        model: Option<String>,
        options: ChatOptions,
    ) -> Result<ChatReady, ServiceError> {
        let started = Instant::now();
        let rendered = self
            .render_chosen(snapshot, definition, input, started)
            .await;
        self.count(id, started, &rendered);
        let rendered = rendered?;
        Ok(ChatReady {
            request: ChatRequest {
                model: model.or(rendered.model),
                messages: self.messages(rendered.prompt),
                options: options.or_defaults((*rendered.options).clone()),
            },
            failures: rendered.failures,
            unused: rendered.unused,
            absent: rendered.absent,
            explanation: rendered.explanation,
            version: rendered.version,
        })
    }

    /// Returns the model for chats.
    ///
    /// # Errors
    /// No model is configured.
    pub fn answering(&self) -> Result<&Arc<dyn ChatModel>, ModelError> {
        self.model.as_ref().ok_or_else(|| {
            let message = "no model is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY or model.base_url, or use the model mock";
            ModelError::new(ModelErrorKind::Configuration, message)
        })
    }

    /// Creates the run of a prompt that is a script. Returns `None` for a template.
    ///
    /// # Errors
    /// The prompt does not exist or is invalid.
    pub async fn script_in(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<Option<ScriptJob>, ServiceError> {
        let definition = self.choose(snapshot, id, input).await?;
        let script = definition.usable(EntryKind::Prompt)?.script();
        Ok(script.map(|script| script::job(&definition.id, script, snapshot, input)))
    }

    /// Runs a script.
    ///
    /// # Errors
    /// There is no script runner, or prompts and scripts are nested too deeply.
    pub fn run_script(&self, job: ScriptJob) -> Result<ScriptStream, ServiceError> {
        self.scripts.run(job)
    }

    /// Runs a script and converts its result to model events. Intermediate output is left out.
    ///
    /// # Errors
    /// The same as [`PromptService::run_script`], and failures before the first text.
    pub async fn chat_script(&self, job: ScriptJob) -> Result<ChatStream, ServiceError> {
        let id = format!("chatcmpl-{}", job.request_id);
        let name = format!("prompt/{}", job.id);
        script::chat_stream(self.run_script(job)?, &id, &name).await
    }

    async fn render_script(
        &self,
        job: ScriptJob,
        started: Instant,
    ) -> Result<RenderOutcome, ServiceError> {
        // Copied, because the job moves into the run.
        let model = job.model.clone();
        // Rendering must not call a model, so this is a dry run.
        let run = self.run_script(ScriptJob { dry: true, ..job })?;
        let (prompt, dry_run) = script::dry_run(run).await?;
        Ok(RenderOutcome {
            prompt,
            model,
            options: Arc::default(),
            failures: Vec::new(),
            calls: 0,
            stale: false,
            time: started.elapsed(),
            dry_run: Some(dry_run),
            unused: Vec::new(),
            absent: Vec::new(),
            explanation: None,
            segments: Vec::new(),
            version: None,
            revision: None,
        })
    }

    /// Converts a rendered prompt to the messages for the model.
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
    /// # let formats = TemplateFactory::standard();
    /// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
    /// let options = ServiceOptions {
    ///     system: Some("Be brief.".to_owned()),
    ///     ..ServiceOptions::default()
    /// };
    /// let service = PromptService::new(catalogue, Variables::new(store), None, options);
    /// let messages = service.messages(RenderedPrompt::Text("Hi".to_owned()));
    /// assert_eq!(messages[0], Message::new(Role::System, "Be brief."));
    /// assert_eq!(messages[1], Message::new(Role::User, "Hi"));
    /// # });
    /// ```
    #[must_use]
    pub fn messages(&self, prompt: RenderedPrompt) -> Vec<Message> {
        match prompt {
            RenderedPrompt::Messages(messages) => messages,
            RenderedPrompt::Text(text) => {
                let system = self
                    .options
                    .system
                    .iter()
                    .map(|text| Message::new(Role::System, text));
                system.chain([Message::new(Role::User, text)]).collect()
            }
        }
    }

    /// Returns the names of the request variables that a prompt's text refers to. Empty if the
    /// prompt does not compile.
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
    ///
    /// let snapshot = service.catalogue().snapshot();
    /// let entry = snapshot.prompt("greet").unwrap().usable(EntryKind::Prompt).unwrap();
    /// assert_eq!(service.request_variables(entry), ["name"]);
    /// # });
    /// ```
    #[must_use]
    pub fn request_variables(&self, entry: &PromptEntry) -> Vec<String> {
        let Ok(compiled) = self.catalogue.compiler().compile(&entry.sources) else {
            return Vec::new();
        };
        let references = &compiled.template.references().variables;
        let mut names: Vec<String> = Vec::new();
        for reference in references {
            // A top-level name alone does not refer to a single variable.
            let [root, name, ..] = reference.path.as_slice() else {
                continue;
            };
            if REQUEST_ROOTS.contains(&root.as_str()) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Replaces "not found" by the store error if the store was never read, because the prompt may
    /// exist there.
    fn absent(&self, error: ServiceError) -> ServiceError {
        self.catalogue.ready().err().map_or(error, Into::into)
    }

    fn resources(&self) -> Resources<'_> {
        Resources {
            catalogue: &self.catalogue,
            variables: &self.variables,
            limits: &self.options.limits,
            scripts: &self.scripts,
            usage: &self.usage,
        }
    }

    fn compile(
        &self,
        id: &str,
        sources: &Arc<SourceSet>,
    ) -> Result<Arc<CompiledPrompt>, ServiceError> {
        self.catalogue
            .compiler()
            .compile(sources)
            .map_err(|error| ServiceError::Invalid {
                kind: EntryKind::Prompt,
                id: id.to_owned(),
                diagnostics: error.diagnostics,
            })
    }
}
