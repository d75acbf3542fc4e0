//! Everything that Quillet does over one store, for a program that embeds it.

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

/// How requests of this program are named in logs and traces.
const REQUEST: &str = "library";
/// Who offers the tools of [`Quillet::register`] to the catalogue.
const OWNER: &str = "program";

/// Everything that Quillet does, over one store. Cheap to clone; clones are the same service.
///
/// Its store is followed in a task, so that what others write there is seen; the task ends with the
/// last clone.
#[derive(Clone)]
pub struct Quillet {
    host: Arc<Host>,
    settings: Arc<Settings>,
    /// Tools of this program.
    tools: Arc<Mutex<Vec<Arc<dyn Tool>>>>,
    /// What scripts may call, once one has run: servers of tools are connected to then.
    script_tools: Arc<OnceCell<Arc<dyn Tools>>>,
    _watch: Arc<AbortOnDropHandle<()>>,
}

impl Quillet {
    /// Opens a store: `memory:`, `dir:PATH`, `sqlite:FILE`, `redis://HOST`. Keys of models and all other
    /// settings come from the environment, under the names of `quillet serve`.
    ///
    /// Must be called inside of a Tokio runtime.
    ///
    /// # Errors
    /// The store cannot be opened, or a variable of the environment is wrong.
    pub async fn open(store: &str) -> Result<Self, Error> {
        let mut settings = Settings::from_env()?;
        settings.set("store.url", store)?;
        Quillet::with(settings).await
    }

    /// The same with settings of one's own.
    ///
    /// ```
    /// use quillet::{Quillet, Settings};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut settings = Settings::default();
    /// settings.set("model.name", "mock")?;
    /// let quillet = Quillet::with(settings).await?;
    /// assert_eq!(quillet.host().models().default_model(), Some("mock"));
    /// # Ok::<(), quillet::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// A setting is wrong, or something that it names cannot be opened.
    pub async fn with(settings: Settings) -> Result<Self, Error> {
        let host = Arc::new(Host::open(&settings).await?);
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

    /// The parts, one by one.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Has a tool of this program called by its name: by templates of every format, agents, scripts
    /// and MCP clients. A stored tool of the same name goes before it.
    pub async fn register(&self, tool: Arc<dyn Tool>) {
        let mut tools = self.tools.lock().await;
        tools.push(tool);
        let catalogue = self.host.prompts().catalogue();
        catalogue.offer(OWNER, tools.clone()).await;
    }

    /// Renders a stored prompt: its text or its messages, and how it came to be.
    ///
    /// # Errors
    /// There is no such prompt, a variable is missing, a tool without a default failed.
    pub async fn render(
        &self,
        id: &str,
        variables: impl Into<Map>,
    ) -> Result<RenderOutcome, Error> {
        let variables = variables.into();
        let input = RenderInput::new(&variables, REQUEST);
        Ok(self.host.prompts().render(id, &input).await?)
    }

    /// Renders a template that is not stored; shared variables, tools and other prompts are there as
    /// for stored ones.
    ///
    /// # Errors
    /// There is no such format, the template is broken, or as [`Quillet::render`].
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

    /// The messages of a stored prompt, as a model would get them.
    ///
    /// # Errors
    /// As [`Quillet::render`].
    pub async fn messages(
        &self,
        id: &str,
        variables: impl Into<Map>,
    ) -> Result<Vec<Message>, Error> {
        let rendered = self.render(id, variables).await?;
        Ok(self.host.prompts().messages(rendered.prompt))
    }

    /// Renders a stored prompt, asks its model, and waits for the whole answer.
    ///
    /// # Errors
    /// As [`Quillet::render`], and what the model's provider says.
    pub async fn chat(&self, id: &str, variables: impl Into<Map>) -> Result<Reply, Error> {
        let mut stream = self.stream(id, variables).await?.stream;
        let mut reply = Reply::default();
        while let Some(event) = stream.next().await {
            reply.fold(event?);
        }
        Ok(reply)
    }

    /// The same, with the answer as it comes.
    ///
    /// # Errors
    /// As [`Quillet::chat`], until the model begins to answer.
    pub async fn stream(&self, id: &str, variables: impl Into<Map>) -> Result<ChatOutcome, Error> {
        let variables = variables.into();
        let input = RenderInput::new(&variables, REQUEST);
        let prompts = self.host.prompts();
        Ok(prompts
            .chat(id, &input, None, ChatOptions::default())
            .await?)
    }

    /// Asks the model, which may call the tools of the store, until it is done.
    ///
    /// # Errors
    /// A limit on runs is reached. What fails on the way is in the outcome.
    pub async fn ask(&self, question: &str) -> Result<AgentOutcome, Error> {
        self.agent(AgentRequest::question(question)).await
    }

    /// The same for a stored agent, a session, chosen tools: whatever a request may say.
    ///
    /// # Errors
    /// As [`Quillet::ask`].
    pub async fn agent(&self, request: AgentRequest) -> Result<AgentOutcome, Error> {
        let id = components::new_id();
        let who = Principal::at(REQUEST);
        let begun = self.host.agents().begin(request, &who, &id);
        let mut run = begun
            .await
            .map_err(|refused| Error::other_from(refused.to_string(), refused))?;
        while let Some(event) = run.next().await {
            if let AgentEvent::Ended(outcome) = event {
                return Ok(*outcome);
            }
        }
        Err(Error::other("the run of the agent did not end".into()))
    }

    /// Runs a script, `.ai.yaml`, of this disk, with nothing granted: it asks models, and touches
    /// no file, no process and no network.
    ///
    /// # Errors
    /// It cannot be read, or it fails; the error names the line.
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

    /// Tools and prompts of the store, tools of this program and of MCP servers, built-in ones.
    async fn script_tools(&self) -> Result<Arc<dyn Tools>, Error> {
        let prompts = self.host.prompts();
        let tools = self.script_tools.get_or_try_init(|| async {
            let tools = scripts::service_tools(&self.settings, prompts).await?;
            Ok::<_, Error>(Arc::new(tools.stored(prompts.clone())) as Arc<dyn Tools>)
        });
        Ok(tools.await?.clone())
    }

    /// Has the model write a query that answers a question to a database of the store, checks it,
    /// and runs it read-only.
    ///
    /// # Errors
    /// There is no such database, no query passes the guard, or the database refuses.
    #[cfg(feature = "sql")]
    pub async fn ask_database(
        &self,
        name: &str,
        question: &str,
    ) -> Result<(quillet_sql::chain::GeneratedQuery, quillet_sql::QueryRun), Error> {
        let options = quillet_sql::RunOptions::default();
        Ok(self.databases().ask(name, question, &options).await?)
    }

    /// The databases of the store: connections, catalogues, checked queries, exports.
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
