//! The main type of the library: all features over one store.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use quillet_agent::{AgentEvent, AgentOutcome};
use quillet_core::chat::{ChatOptions, Reply};
use quillet_core::tool::Tool;
use quillet_core::{Map, Message};
use quillet_host::agent::{AgentRequest, Principal};
use quillet_prompt::{ChatOutcome, RenderInput, RenderOutcome, RenderedPrompt};
use quillet_script::host::{Grants, NoObserver, RunAccess, Tools};
use quillet_script::js::JsOptions;
use quillet_script::library;
use quillet_script::run::{ScriptEngine, ScriptInput as Arguments, ScriptOutcome, ScriptRun};
use quillet_template::TemplateFactory;
use tokio::sync::{Mutex, OnceCell};
use tokio_util::task::AbortOnDropHandle;

use crate::components::{self, scripts};
use crate::error::Error;
use crate::host::Host;
use crate::settings::Settings;

/// Name of the requests of this program in logs and traces.
const REQUEST: &str = "library";
/// Owner of the tools of [`Quillet::register`] in the catalogue.
const OWNER: &str = "program";

/// All features of Quillet for one store. Cheap to clone; clones share one service.
///
/// A background task follows the store, so changes by other writers become visible. The task ends
/// when the last clone is dropped.
#[derive(Clone)]
pub struct Quillet {
    host: Arc<Host>,
    settings: Arc<Settings>,
    /// Tools registered by this program.
    tools: Arc<Mutex<Vec<Arc<dyn Tool>>>>,
    /// Tools of scripts. Set by the first script run, which connects to the MCP servers.
    script_tools: Arc<OnceCell<Arc<dyn Tools>>>,
    _watch: Arc<AbortOnDropHandle<()>>,
}

impl Quillet {
    /// Opens a store: `memory:`, `dir:PATH`, `sqlite:FILE` or `redis://HOST`. API keys and all
    /// other settings come from the environment, under the names of `quillet serve`.
    ///
    /// Must be called inside a Tokio runtime.
    ///
    /// # Errors
    /// The store cannot be opened, or an environment variable is invalid.
    pub async fn open(store: &str) -> Result<Self, Error> {
        let mut settings = Settings::from_env()?;
        settings.set("store.url", store)?;
        Quillet::with_settings(settings).await
    }

    /// Opens the store of the given settings.
    ///
    /// ```
    /// use quillet::{Quillet, Settings};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut settings = Settings::default();
    /// settings.set("model.name", "mock")?;
    /// let quillet = Quillet::with_settings(settings).await?;
    /// assert_eq!(quillet.host().models().default_model(), Some("mock"));
    /// # Ok::<(), quillet::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// A setting is invalid, or a file, store or service that it names cannot be opened.
    pub async fn with_settings(settings: Settings) -> Result<Self, Error> {
        let host = Arc::new(Host::open(&settings).await?);
        // The task holds the host and not a clone of `Quillet`, which would keep the task alive
        // forever.
        let watched = host.clone();
        let watch = tokio::spawn(async move { watched.watch().await });
        Ok(Quillet {
            host,
            settings: Arc::new(settings),
            tools: Arc::default(),
            script_tools: Arc::default(),
            _watch: Arc::new(AbortOnDropHandle::new(watch)),
        })
    }

    /// Returns the components of this service.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Registers a tool of this program for templates of every format, agents, scripts and MCP
    /// clients. A stored tool of the same name takes precedence.
    ///
    /// ```
    /// use quillet::{Quillet, Settings, Value};
    /// use serde_json::json;
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    /// let weather = quillet::tool("weather", "The weather of a city.", parameters, async |given| {
    ///     let city = given.get("city").and_then(Value::as_str);
    ///     Ok(format!("18° in {}", city.unwrap_or("nowhere")).into())
    /// });
    /// let quillet = Quillet::with_settings(Settings::default()).await?;
    /// quillet.register(weather).await;
    /// let template = "{{ weather(variables.city) }}";
    /// let text = quillet.render_text("jinja", template, [("city", "Oslo")]);
    /// assert_eq!(text.await?, "18° in Oslo");
    /// # Ok::<(), quillet::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn register(&self, tool: Arc<dyn Tool>) {
        // The lock is held until the catalogue has the list. The catalogue gets the whole list each
        // time, so two concurrent registrations could otherwise lose a tool.
        let mut tools = self.tools.lock().await;
        tools.push(tool);
        let catalogue = self.host.prompts().catalogue();
        catalogue.offer(OWNER, tools.clone()).await;
    }

    /// Renders a stored prompt to text or messages, and explains the result.
    ///
    /// # Errors
    /// The prompt is unknown, a variable is missing, or a tool without a fallback value failed.
    pub async fn render(
        &self,
        id: &str,
        variables: impl Into<Map>,
    ) -> Result<RenderOutcome, Error> {
        let variables = variables.into();
        let input = RenderInput::new(&variables, REQUEST);
        Ok(self.host.prompts().render(id, &input).await?)
    }

    /// Renders a template that is not stored, with the shared variables, tools and prompts of the
    /// store.
    ///
    /// # Errors
    /// The format is unknown, the template is invalid, or as for [`Quillet::render`].
    ///
    /// # Examples
    /// ```
    /// use quillet::{Quillet, Settings};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// let quillet = Quillet::with_settings(Settings::default()).await?;
    /// let text = quillet.render_text("jinja", "Hello {{ variables.name }}!", [("name", "Ada")]);
    /// assert_eq!(text.await?, "Hello Ada!");
    /// # Ok::<(), quillet::Error>(())
    /// # }).unwrap();
    /// ```
    pub async fn render_text(
        &self,
        format: &str,
        template: &str,
        variables: impl Into<Map>,
    ) -> Result<String, Error> {
        let variables = variables.into();
        let definition = serde_json::Map::from_iter([
            ("prompt".to_owned(), template.into()),
            ("format".to_owned(), format.into()),
        ]);
        let input = RenderInput::new(&variables, REQUEST);
        let rendered = self
            .host
            .prompts()
            .render_inline(definition, &input)
            .await?;
        Ok(match rendered.prompt {
            RenderedPrompt::Text(text) => text,
            RenderedPrompt::Messages(messages) => {
                let texts = messages.iter().map(|message| message.content.to_string());
                texts.collect::<Vec<_>>().join("\n")
            }
        })
    }

    /// Renders a stored prompt and returns the messages for a model.
    ///
    /// # Errors
    /// As for [`Quillet::render`].
    pub async fn messages(
        &self,
        id: &str,
        variables: impl Into<Map>,
    ) -> Result<Vec<Message>, Error> {
        let rendered = self.render(id, variables).await?;
        Ok(self.host.prompts().messages(rendered.prompt))
    }

    /// Renders a stored prompt, calls its model, and returns the complete answer.
    ///
    /// # Errors
    /// As for [`Quillet::render`], and errors of the provider.
    pub async fn chat(&self, id: &str, variables: impl Into<Map>) -> Result<Reply, Error> {
        let mut stream = self.stream(id, variables).await?.stream;
        let mut reply = Reply::default();
        while let Some(event) = stream.next().await {
            reply.fold(event?);
        }
        Ok(reply)
    }

    /// Renders a stored prompt, calls its model, and returns a stream of the answer.
    ///
    /// # Errors
    /// As for [`Quillet::chat`], until the answer starts; later errors are in the stream.
    pub async fn stream(&self, id: &str, variables: impl Into<Map>) -> Result<ChatOutcome, Error> {
        let variables = variables.into();
        let input = RenderInput::new(&variables, REQUEST);
        let prompts = self.host.prompts();
        Ok(prompts
            .chat(id, &input, None, ChatOptions::default())
            .await?)
    }

    /// Asks the model a question; the model may call the tools of the store.
    ///
    /// # Errors
    /// A limit on runs is reached. A failure during the run is in the outcome.
    pub async fn ask(&self, question: &str) -> Result<AgentOutcome, Error> {
        self.agent(AgentRequest::question(question)).await
    }

    /// Runs an agent request, which can select a stored agent, a session and tools.
    ///
    /// # Errors
    /// As for [`Quillet::ask`].
    pub async fn agent(&self, request: AgentRequest) -> Result<AgentOutcome, Error> {
        let id = components::new_id();
        let who = Principal::from_address(REQUEST);
        let begun = self.host.agents().begin(request, &who, &id);
        let mut run = begun
            .await
            .map_err(|refused| Error::other_from(refused.to_string(), refused))?;
        while let Some(event) = run.next().await {
            // The outcome contains the complete result, so the other events are skipped.
            if let AgentEvent::Ended(outcome) = event {
                return Ok(*outcome);
            }
        }
        Err(Error::other("the agent run ended without a result".into()))
    }

    /// Runs a script file (`.ai.yaml`) without permissions: it can call models, but cannot access
    /// files, processes or the network.
    ///
    /// # Errors
    /// The script cannot be read, or it fails; the error has the line.
    pub async fn run_script(
        &self,
        path: &str,
        arguments: impl Into<Map>,
    ) -> Result<ScriptOutcome, Error> {
        let opened = library::open(path, &[]).await?;
        let settings = &self.settings;
        let engine = ScriptEngine {
            models: Arc::new(scripts::models(settings)?),
            tools: self.script_tools().await?,
            library: opened.library,
            templates: Arc::new(TemplateFactory::standard()),
            limits: scripts::limits(settings),
            javascript: JsOptions {
                transport: settings.javascript(),
                ..JsOptions::default()
            },
        };
        let job = ScriptRun {
            script: opened.script,
            arguments: Arguments::Named(arguments.into()),
            stream: false,
            parameters: Map::default(),
            history: Vec::new(),
            seed: None,
            reach: RunAccess::Granted(Grants::default()),
            observer: Arc::new(NoObserver),
        };
        Ok(engine.run(job).await?)
    }

    /// Returns the tools of scripts: stored tools and prompts, tools of this program, of MCP
    /// servers, and built-in ones.
    async fn script_tools(&self) -> Result<Arc<dyn Tools>, Error> {
        let prompts = self.host.prompts();
        // An error is not stored, so the next run tries to connect again.
        let tools = self.script_tools.get_or_try_init(|| async {
            let tools = scripts::service_tools(&self.settings, prompts).await?;
            Ok::<_, Error>(Arc::new(tools.stored(prompts.clone())) as Arc<dyn Tools>)
        });
        Ok(tools.await?.clone())
    }

    /// Asks a stored database a question: the model writes a query, which is checked and runs
    /// read-only.
    ///
    /// # Errors
    /// The database is unknown, no query passes the SQL guard, or the database rejects it.
    #[cfg(feature = "sql")]
    pub async fn ask_database(
        &self,
        name: &str,
        question: &str,
    ) -> Result<(quillet_sql::chain::GeneratedQuery, quillet_sql::QueryRun), Error> {
        let options = quillet_sql::RunOptions::default();
        Ok(self.databases().ask(name, question, &options).await?)
    }

    /// Returns the databases of the store: connections, catalogues, checked queries and exports.
    #[cfg(feature = "sql")]
    #[must_use]
    pub fn databases(&self) -> &quillet_sql::Databases {
        self.host.databases().databases()
    }
}

impl fmt::Debug for Quillet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quillet")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}
