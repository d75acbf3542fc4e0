//! Command line arguments of `quillet`.

mod batch;
mod history;
mod runs;
mod script;
mod sql;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use quillet::settings::keys::KeyProvider;
use quillet::settings::{self, Flags, Setting};

pub(crate) use batch::BatchArgs;
pub(crate) use history::{
    Collect, Diff, ExportArgs, Label, Labels, LogArgs, MessageArgs, Promote, Pull, Push, Remove,
    Rollback, Show, Versions,
};
pub(crate) use runs::Runs;
pub(crate) use script::{Chats, EchoMode, Fmt, Lsp, RunArgs, ScriptArgs, Test};
pub(crate) use sql::Sql;
#[cfg(feature = "sql")]
pub(crate) use sql::{OutputFormat, ShowRows, SqlCommand, SqlEval};

/// Heading of the options that every command accepts.
const GLOBAL: &str = "Global options";

/// A prompt engine for templates, scripts, agents and databases.
#[derive(Debug, Parser)]
#[command(
    name = "quillet",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = "Examples:
  quillet demo                                 take a tour, offline
  quillet serve --demo                         try the prompt service
  quillet ask \"What is a monad?\" -m gpt-6-sol  ask a model
  quillet chat --demo                          chat with a mock model
  quillet sql \"How many orders?\" --db demo     ask a database
  quillet render greeting.tmpl -D name=Ada     render a template
  quillet run support.prompty -m gpt-6-sol     send a prompt to a model
  quillet run hello.ai.yaml                    run a script
  quillet batch names.jsonl -m prompt/hello -o out.jsonl   run a prompt per line
  quillet test scripts/                        run the tests of scripts
  quillet check prompts/                       check templates for errors
  quillet convert old.j2 --to go               convert a template
  quillet push prompts-repo --dry-run          preview new versions

Exit codes: 0 success, 1 failure, 2 usage, 3 template or variable, 4 model,
5 permission denied.")]
pub(crate) struct Cli {
    /// Configuration file, instead of the nearest quillet.toml.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE", env = "QUILLET_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Log level on standard error: error, warn, info, debug, or a filter such as quillet=debug.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Record model responses in this folder, one file per response.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<String>,
    /// Replay recorded responses instead of calling models.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub(crate) replay: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve prompts over HTTP.
    Serve(Serve),
    /// Take a tour of Quillet, offline.
    Demo,
    /// Render a template file, a prompt file, or a stored prompt.
    Render(Render),
    /// Find syntax errors and unknown names in templates and definitions.
    Check(CheckArgs),
    /// Convert a template or prompt file to an equivalent file in another format.
    Convert(Convert),
    /// Run a script, or send a prompt file or a stored prompt to its model.
    Run(Box<RunArgs>),
    /// Run a prompt for every line of a file; rerun to resume.
    Batch(Box<BatchArgs>),
    /// Run the tests of scripts and prompts.
    Test(Box<Test>),
    /// Format scripts.
    Fmt(Fmt),
    /// Start the language server for scripts on standard input and output.
    Lsp(Lsp),
    /// Serve the stored prompts and tools over MCP on standard input and output.
    Mcp(Mcp),
    /// Ask a model one question.
    Ask(AskArgs),
    /// Chat with a model in the terminal.
    Chat(Chat),
    /// Ask a database a question: Quillet writes the SQL query, checks it and runs it.
    Sql(Box<Sql>),
    /// List models, their capabilities and whether they are configured.
    Models(ModelsArgs),
    /// Manage API keys in a file that only you can read.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Show traces of runs: steps, time and cost.
    #[command(subcommand)]
    Trace(Trace),
    /// Inspect, approve, resume and fork durable runs.
    #[command(subcommand)]
    Runs(Runs),
    /// Pass all arguments to quillet-worker, which executes durable runs on Temporal.
    #[command(disable_help_flag = true)]
    Worker {
        /// Arguments of quillet-worker.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENT"
        )]
        arguments: Vec<OsString>,
    },
    /// List, show, add and remove stored agents.
    #[command(subcommand)]
    Agent(DefinitionCommand),
    /// List, show, add and remove stored prompts.
    #[command(subcommand)]
    Prompt(DefinitionCommand),
    /// List, show, add and remove stored tools.
    #[command(subcommand)]
    Tool(DefinitionCommand),
    /// List, show, add and remove stored variables.
    #[command(subcommand)]
    Var(DefinitionCommand),
    /// List, show, add and remove stored extensions.
    #[command(subcommand)]
    Ext(DefinitionCommand),
    #[command(flatten)]
    Versions(Box<Versions>),
    /// Show settings and their origins.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the configuration, the store, models and databases.
    Doctor(Doctor),
    /// Run the JavaScript of one script in this process; for internal use only.
    #[command(hide = true)]
    JsWorker,
    /// Print a completion script for a shell.
    Completions {
        /// Shell that runs the completion script.
        shell: Shell,
    },
}

/// The `--store` option.
#[derive(Debug, Default, Args)]
pub(crate) struct StoreArgs {
    /// Store: dir:PATH, sqlite:FILE, redis://HOST or memory:demo.
    #[arg(short, long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

/// The `--schema` option.
#[derive(Debug, Default, Args)]
pub(crate) struct SchemaArgs {
    /// JSON Schema file (JSON or YAML) that .prompt files refer to as `schema: NAME`; repeatable.
    #[arg(long = "schema", value_name = "NAME=FILE")]
    pub(crate) schemas: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Serve built-in examples with a mock model; no configuration needed.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Address to listen on.
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Allow a non-loopback address without a token.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Path prefix of every route, such as /ai-prompt-shell.
    #[arg(long, value_name = "PATH")]
    pub(crate) prefix: Option<String>,
    /// Default model for requests that don't set one; `mock` works offline.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of the model API, such as https://api.openai.com/v1.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serve built-in examples with a mock model; no configuration needed.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Model that answers when a client calls a prompt as a tool.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// Options that select a model or an agent, and its tools.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME or mock.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of an OpenAI-compatible API.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Stored agent, which sets the model, instructions, tools and skills.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// System prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Pattern for the tools that the model may call, such as weather, docs*, prompt/* or
    /// '!search'; repeatable.
    #[arg(short, long, value_name = "PATTERN")]
    pub(crate) tool: Vec<String>,
    /// Skill the model may load, or a folder of skills; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) skill: Vec<PathBuf>,
    /// Sampling temperature, 0 to 2.
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,
    /// Maximum number of tokens in the answer.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// When to show the model's reasoning on standard error.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) reasoning: ReasoningDisplay,
    /// Print the answer as plain text, without formatting its Markdown.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Use the built-in examples and a mock model, which may call all example tools.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// When reasoning is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReasoningDisplay {
    /// If standard error is a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "expected a number from 0 to 2".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// Question, prompt file to render and send, or - to read the question from standard input;
    /// otherwise, piped input is appended to the question.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// Variable of the prompt, as name=text, name=@file or name:=json; repeatable.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// JSON, YAML or TOML file that contains variables of the prompt.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) talk: ModelArgs,
    /// Image to send with the question: a file or an https address; repeatable.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) image: Vec<String>,
    /// Session to continue; created if it does not exist.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print JSON with the text, tool calls, tokens and cost.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer only when it is complete.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) talk: ModelArgs,
    /// Session to continue; created if it does not exist.
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(crate) session: Option<String>,
    /// Continue the last session.
    #[arg(short, long = "continue")]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Model to show; all models by default.
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Parser of provider names.
fn providers() -> impl TypedValueParser<Value = KeyProvider> {
    let names = KeyProvider::ALL
        .map(|provider| PossibleValue::new(provider.name()).help(provider.describe()));
    PossibleValuesParser::new(names)
        .try_map(|name| KeyProvider::from_name(&name).ok_or("unknown provider"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List the source and the last four characters of each API key.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Save a key that you type in the terminal or pass on standard input.
    Set {
        /// Provider of the key.
        #[arg(value_parser = providers())]
        provider: KeyProvider,
    },
    /// Remove a saved key.
    #[command(alias = "rm")]
    Remove {
        /// Provider of the key.
        #[arg(value_parser = providers())]
        provider: KeyProvider,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// List the latest traces.
    List {
        /// Maximum number of entries.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20")]
        most: usize,
        /// List only traces whose model or name contains this text.
        #[arg(short, long, value_name = "TEXT")]
        model: Option<String>,
        /// List only traces that have a failed step.
        #[arg(long)]
        failed: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the steps of a run.
    Show {
        /// Trace id, the first characters of one, or last for the latest trace.
        #[arg(default_value = "last")]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Render {
    /// Template (.tmpl, .j2, .hbs, .liquid and others), prompt file (.prompt, .prompty, .json or
    /// .yaml), id of a stored prompt, or - for standard input.
    #[arg(value_name = "FILE|ID")]
    pub(crate) target: String,
    /// Variable, as name=text, name=@file or name:=json; a.b=x sets a field; repeatable.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// JSON, YAML or TOML file that contains variables; - reads JSON or YAML from standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    /// Template format, such as go, jinja, handlebars, mustache, liquid, semantic-kernel or
    /// f-string (docs/formats lists all formats and aliases); by default determined by the file
    /// extension.
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// Treat missing variables as the template format does, instead of reporting an error.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Print JSON, including tool calls that failed.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files and folders to check; by default everything in the store.
    #[arg(required_unless_present = "store", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Format of templates that have an unknown file extension.
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// Folder to search for scripts by id, as in `quillet run`; repeatable.
    #[arg(short = 'I', long = "search", value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// Label of the prompt versions to check, instead of the served versions; `latest` is the
    /// newest version.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Print diagnostics as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    /// Store whose tools and variables the files may use.
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Template, prompt file, folder of such files, or - for standard input.
    #[arg(value_name = "PATH")]
    pub(crate) source: String,
    /// Target format: go, jinja, jinja-plain, semantic-kernel, handlebars, mustache, liquid,
    /// f-string, dotprompt, prompty or json.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Source format; by default determined by the file name.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Output file, or output folder if PATH is a folder.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Type of a variable: text, integer, number, boolean, list or object; items[].title=text sets
    /// the type of a field of each list item; repeatable.
    #[arg(short, long, value_name = "NAME=KIND")]
    pub(crate) kind: Vec<String>,
    /// Assume that undeclared variables are text or integers.
    #[arg(long)]
    pub(crate) assume_text: bool,
    /// Reject conversions that are exact only for some values.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Omit the deployment settings of a prompt file: connection, configuration, provider and
    /// `apiType: chat`.
    #[arg(long)]
    pub(crate) drop_deployment: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DefinitionCommand {
    /// List ids and mark invalid definitions.
    List {
        #[command(flatten)]
        store: StoreArgs,
        /// Print JSON with the state of each definition.
        #[arg(long)]
        json: bool,
    },
    /// Print a definition as it is stored.
    #[command(visible_alias = "show")]
    Get {
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Check a definition and save it.
    #[command(visible_alias = "put")]
    Add {
        id: String,
        /// File that contains the definition, or - for standard input; for a variable, the value
        /// itself.
        source: String,
        /// Save the definition even if it is invalid.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        why: MessageArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove a definition.
    #[command(visible_alias = "remove")]
    Rm {
        id: String,
        #[command(flatten)]
        why: MessageArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
}

impl DefinitionCommand {
    /// Returns the options that select the store.
    pub(crate) fn store(&self) -> &StoreArgs {
        match self {
            DefinitionCommand::List { store, .. }
            | DefinitionCommand::Get { store, .. }
            | DefinitionCommand::Add { store, .. }
            | DefinitionCommand::Rm { store, .. } => store,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print all settings, without secrets.
    Show {
        /// Show the origin of each value.
        #[arg(long)]
        origin: bool,
    },
    /// Print the paths of the configuration files in use.
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Skip checks that need the network.
    #[arg(long)]
    pub(crate) offline: bool,
}

impl Cli {
    /// Returns the settings that flags override, each with the name of its flag.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags::new();
        set(
            &mut flags,
            &settings::LOG_FILTER,
            "--log",
            self.log.as_deref(),
        );
        set(
            &mut flags,
            &settings::RECORD,
            "--record",
            self.record.as_deref(),
        );
        set(
            &mut flags,
            &settings::REPLAY,
            "--replay",
            self.replay.as_deref(),
        );
        match &self.command {
            Command::Serve(serve) => serve.flags(&mut flags),
            Command::Ask(ask) => ask.talk.flags(&mut flags),
            Command::Chat(chat) => chat.talk.flags(&mut flags),
            Command::Run(run) => {
                run.with.flags(&mut flags);
                raw(&mut flags, run.raw);
            }
            Command::Batch(batch) => batch.flags(&mut flags),
            Command::Sql(sql) => sql.flags(&mut flags),
            Command::Test(test) => test.with.flags(&mut flags),
            _ => {}
        }
        if let Command::Mcp(mcp) = &self.command {
            demo(&mut flags, mcp.demo);
            set(
                &mut flags,
                &settings::MODEL,
                "--model",
                mcp.model.as_deref(),
            );
        }
        let store = self.command.store().and_then(|args| args.store.as_deref());
        set(&mut flags, &settings::STORE_URL, "--store", store);
        flags
    }
}

impl Command {
    /// Whether sessions and traces are stored in the user's data folder by default.
    pub(crate) fn is_personal(&self) -> bool {
        matches!(self, Command::Ask(_) | Command::Chat(_) | Command::Trace(_))
    }

    /// Whether the command may read prompt files, which can refer to schemas by name.
    pub(crate) fn reads_prompts(&self) -> bool {
        !matches!(
            self,
            Command::Config(_)
                | Command::Keys(_)
                | Command::Trace(_)
                | Command::Fmt(_)
                | Command::Models(_)
                | Command::Demo
        )
    }

    /// Returns the `--schema` options of the command.
    pub(crate) fn schemas(&self) -> &[String] {
        match self {
            Command::Render(render) => &render.schemas.schemas,
            Command::Check(check) => &check.schemas.schemas,
            Command::Run(run) => &run.schemas.schemas,
            Command::Ask(ask) => &ask.schemas.schemas,
            Command::Test(test) => &test.schemas.schemas,
            _ => &[],
        }
    }

    /// Returns the options that select the store of the command.
    fn store(&self) -> Option<&StoreArgs> {
        match self {
            Command::Serve(serve) => Some(&serve.store),
            Command::Mcp(mcp) => Some(&mcp.store),
            Command::Render(render) => Some(&render.store),
            Command::Check(check) => Some(&check.store),
            Command::Doctor(doctor) => Some(&doctor.store),
            Command::Ask(ask) => Some(&ask.talk.store),
            Command::Chat(chat) => Some(&chat.talk.store),
            Command::Models(models) => Some(&models.store),
            Command::Batch(batch) => Some(&batch.store),
            Command::Agent(stored)
            | Command::Prompt(stored)
            | Command::Tool(stored)
            | Command::Var(stored)
            | Command::Ext(stored) => Some(stored.store()),
            Command::Versions(versions) => Some(versions.store()),
            Command::Runs(runs) => Some(runs.store()),
            // `Sql::flags` sets the store, because all subcommands share the option.
            Command::Sql(_) => None,
            // `ScriptArgs::flags` sets the store together with the other options of scripts.
            Command::Run(_)
            | Command::Test(_)
            | Command::Fmt(_)
            | Command::Lsp(_)
            | Command::Convert(_)
            | Command::Demo
            | Command::Config(_)
            | Command::Keys(_)
            | Command::Trace(_)
            | Command::JsWorker
            | Command::Worker { .. }
            | Command::Completions { .. } => None,
        }
    }
}

impl ModelArgs {
    fn flags(&self, flags: &mut Flags) {
        demo(flags, self.demo);
        set(flags, &settings::MODEL, "--model", self.model.as_deref());
        let base_url = self.base_url.as_deref();
        set(flags, &settings::BASE_URL, "--base-url", base_url);
        raw(flags, self.raw);
    }
}

impl Serve {
    fn flags(&self, flags: &mut Flags) {
        demo(flags, self.demo);
        set(flags, &settings::LISTEN, "--listen", self.listen.as_deref());
        set(flags, &settings::PREFIX, "--prefix", self.prefix.as_deref());
        set(flags, &settings::MODEL, "--model", self.model.as_deref());
        set(
            flags,
            &settings::BASE_URL,
            "--base-url",
            self.base_url.as_deref(),
        );
        // A flag cannot turn off a setting in a file, so `false` is not passed on.
        let insecure = self.insecure.then_some("true");
        set(flags, &settings::INSECURE, "--insecure", insecure);
    }
}

/// A demo always uses the mock model, so it never costs money, even if an API key is configured.
fn demo(flags: &mut Flags, wanted: bool) {
    // A demo has its own store, so it never reads or writes the user's store.
    if wanted {
        set(flags, &settings::STORE_URL, "--demo", Some("memory:demo"));
        set(flags, &settings::MODEL, "--demo", Some("mock"));
    }
}

fn raw(flags: &mut Flags, wanted: bool) {
    set(
        flags,
        &settings::TERMINAL_RAW,
        "--raw",
        wanted.then_some("true"),
    );
}

fn set(flags: &mut Flags, setting: &'static Setting, flag: &'static str, value: Option<&str>) {
    flags.extend(value.map(|value| (setting, flag, value.to_owned())));
}
