//! Find, bind, render, send.

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

/// The name of a prompt that is not stored, in errors.
const INLINE: &str = "inline";

/// Options of the prompt service.
#[derive(Clone, Debug, Default)]
pub struct ServiceOptions {
    /// Bounds on one render.
    pub limits: RenderLimits,
    /// Text of a system message that goes before a prompt that is one text;
    /// prompts with messages bring their own.
    pub system: Option<String>,
    /// How often the model was asked again. Whoever gives the model its retries
    /// counts here.
    pub retries: Arc<AtomicU64>,
    /// How many prompts, and how many tools, are counted by their own names in
    /// [`PromptService::usage`]. Default 100.
    pub named_counts: Option<usize>,
}

/// Prompts and tools that are counted by their own names, unless it is said otherwise.
const NAMED_COUNTS: usize = 100;

/// Counters of the prompt service since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceCounters {
    /// Compiled templates that were found in the cache.
    pub template_hits: u64,
    /// Templates that were compiled.
    pub template_misses: u64,
    /// Renders whose shared variables were all cached.
    pub variable_hits: u64,
    /// Reads of shared variables from the store.
    pub variable_round_trips: u64,
    /// Times that the model was asked again.
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
    /// A service over a catalogue and its shared variables. Without a model it
    /// renders and does not chat.
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

    /// Sets the runner of stored scripts; the first one stays.
    pub fn run_scripts_with(&self, runner: Arc<dyn ScriptRunner>) {
        self.scripts.run_with(runner);
    }

    /// The definitions.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The shared variables.
    #[must_use]
    pub fn variables(&self) -> &Arc<Variables> {
        &self.variables
    }

    /// The model, if one is configured.
    #[must_use]
    pub fn model(&self) -> Option<&Arc<dyn ChatModel>> {
        self.model.as_ref()
    }

    /// What was counted so far.
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

    /// How often and for how long prompts and tools were used, each by its name.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Loads the store. After success the service is ready.
    ///
    /// # Errors
    /// The store does not answer; [`PromptService::watch`] keeps trying.
    pub async fn load(&self) -> Result<(), StoreError> {
        self.catalogue.load().await?;
        self.variables.load().await
    }

    /// Follows the store for as long as the future is polled.
    pub async fn watch(&self) {
        tokio::join!(self.catalogue.watch(), self.variables.watch());
    }

    /// Waits until everything that anybody wrote to the store before this was called is known
    /// here.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.catalogue.sync().await?;
        self.variables.caught_up().await
    }

    /// Whether the store answers, and everything was loaded at least once.
    #[must_use]
    pub fn health(&self) -> (Health, bool) {
        (self.catalogue.store().health(), self.catalogue.is_loaded())
    }

    /// Renders a prompt with the variables of a request.
    ///
    /// Of a script it says which requests the script would make ([`RenderOutcome::dry_run`]).
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

    /// The same with a snapshot that was taken before.
    ///
    /// # Errors
    /// As [`PromptService::render`].
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

    /// Counts a render under the id that was asked for, with its mark.
    fn count(&self, id: &str, started: Instant, rendered: &Result<RenderOutcome, ServiceError>) {
        // Ids that clients make up have no counts.
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
        // Asked before the compilation, which puts it into the cache.
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

    /// The number of the version that a request gets.
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

    /// The definition that an id, with a mark or without, names, for whoever only describes it: of
    /// a label in shares any version, of a version that was not asked for yet what readers get who
    /// name none.
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

    /// The number of the version that a chosen definition is; what the history has not seen yet is
    /// kept there first. `None` where there is no history, or it does not answer soon.
    pub async fn version_of(
        &self,
        snapshot: &CatalogueSnapshot,
        definition: &Definition<PromptEntry>,
    ) -> Option<u64> {
        let store = &**self.catalogue.store();
        self.numbers.of(store, snapshot, definition).await
    }

    /// The definition that an id, with a mark or without, names for a request.
    ///
    /// # Errors
    /// There is no such prompt, label or version; the store does not answer.
    pub async fn choose(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
    ) -> Result<Arc<Definition<PromptEntry>>, ServiceError> {
        let chosen = self.catalogue.choose(snapshot, id, input).await;
        chosen.map_err(|error| match error {
            // While nothing was loaded, "not found" would be a false answer.
            ServiceError::NotFound { .. } => self.absent(error),
            error => error,
        })
    }

    /// Renders a prompt that is not stored, from its definition, as
    /// [`PromptService::render_unstored`] does.
    ///
    /// # Errors
    /// As that has; the definition is named `inline`.
    pub async fn render_inline(
        &self,
        definition: serde_json::Map<String, serde_json::Value>,
        input: &RenderInput<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        self.render_unstored(None, &definition.into(), input).await
    }

    /// Renders a prompt that is not stored; shared variables, tools, partials and other prompts are
    /// there as for stored ones. It is read as if it stood under `id`, if that is given. Of a script
    /// the outcome is that of a dry run, as of stored ones.
    ///
    /// # Errors
    /// As [`PromptService::render`]; a definition that is not valid and has no id is named `inline`.
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
        // Asked before the compilation, which puts it into the cache.
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

    /// The run of a script that is not stored, read as if it stood under that id; `None` for
    /// another definition.
    ///
    /// # Errors
    /// It is broken.
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

    /// Renders a prompt and sends it to the model. What the request does not say
    /// of model and options, the prompt does.
    ///
    /// # Errors
    /// As [`PromptService::render`], and [`ServiceError::Model`].
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

    /// The same with a snapshot that was taken before.
    ///
    /// # Errors
    /// As [`PromptService::chat`].
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
        let ready = self.ready(snapshot, &definition, (id, input), model, options);
        let ready = ready.await?;
        let stream = match self.answering()?.stream(ready.request).await {
            Ok(stream) => stream,
            Err(error) => {
                // A failed tool may be why the model rejects the request, so both are reported.
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

    /// Returns the model request for a prompt that is a template, for callers that send it
    /// themselves.
    ///
    /// # Errors
    /// As [`PromptService::render`]. A script is rejected, because it calls models itself.
    pub async fn ready_in(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        id: &str,
        input: &RenderInput<'_>,
        model: Option<String>,
        options: ChatOptions,
    ) -> Result<ChatReady, ServiceError> {
        let definition = self.choose(snapshot, id, input).await?;
        self.ready(snapshot, &definition, (id, input), model, options)
            .await
    }

    async fn ready(
        &self,
        snapshot: &Arc<CatalogueSnapshot>,
        definition: &Definition<PromptEntry>,
        (id, input): (&str, &RenderInput<'_>),
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

    /// The model that chats are sent to.
    ///
    /// # Errors
    /// None is configured.
    pub fn answering(&self) -> Result<&Arc<dyn ChatModel>, ModelError> {
        self.model.as_ref().ok_or_else(|| {
            let message = "no model is configured: set OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY or model.base_url, or name the model mock";
            ModelError::new(ModelErrorKind::Configuration, message)
        })
    }

    /// The run that a request asks for, if the prompt is a script; `None` for a template.
    ///
    /// # Errors
    /// There is no such prompt, or it is broken.
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

    /// Runs a script and gives its result as the events of a model: what it says on the way is left
    /// out.
    ///
    /// # Errors
    /// As [`PromptService::run_script`], and what fails before there is any text.
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
        // The job moves into the run.
        let model = job.model.clone();
        // Rendering must not call a model.
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

    /// The messages that a rendered prompt is sent as.
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

    /// Names of the variables that a prompt takes from a request, as far as its text
    /// tells; none of a prompt that does not compile.
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
            // A root alone names no single variable.
            let [root, name, ..] = reference.path.as_slice() else {
                continue;
            };
            if REQUEST_ROOTS.contains(&root.as_str()) && !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// A prompt that is not there may be there in a store that was never read.
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
