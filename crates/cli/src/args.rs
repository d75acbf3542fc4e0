//! The command line.

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
use quillet::settings::keys::Provider;
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

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// A prompt engine: templates compiled once, variables and tools bound late.
#[derive(Debug, Parser)]
#[command(
    name = "quillet",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(after_help = "Examples:
  quillet demo                                 a tour, offline
  quillet serve --demo                         a prompt service to try
  quillet ask \"What is a monad?\" -m gpt-6-sol  ask a model
  quillet chat --demo                          talk with a mock model
  quillet sql \"How many orders?\" --db demo     ask a database
  quillet render greeting.tmpl -D name=Ada     fill in a template
  quillet run support.prompty -m gpt-6-sol     send a prompt to a model
  quillet run hello.ai.yaml                    run a script
  quillet batch names.jsonl -m prompt/hello -o out.jsonl   one answer for each line
  quillet test scripts/                        run the tests beside scripts
  quillet check prompts/                       find what is wrong with templates
  quillet convert old.j2 --to go               write it in another format
  quillet push prompts-repo --dry-run          what would become a new version

Exit codes: 0 fine, 1 failure, 2 usage, 3 template or variable, 4 model,
5 refused.")]
pub(crate) struct Cli {
    /// Configuration file, in place of the nearest quillet.toml.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILE", env = "QUILLET_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// What to log on standard error: error, warn, info, debug, or a filter such as quillet=debug.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Write down what models answer, one file for each answer.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", conflicts_with = "replay")]
    pub(crate) record: Option<String>,
    /// Play recorded answers in place of asking models.
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR")]
    pub(crate) replay: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What a tour is about.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DemoTopic {
    /// One prompt in six template formats, at once.
    Formats,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve prompts over HTTP.
    Serve(Serve),
    /// Show what Quillet does, offline.
    Demo {
        /// What the tour is about, in place of everything.
        about: Option<DemoTopic>,
    },
    /// Render a template file, a prompt file, or a stored prompt.
    Render(Render),
    /// Find syntax errors and unknown names in templates and definitions.
    Check(CheckArgs),
    /// Write a template or a prompt file in another format, where there is an exact counterpart.
    Convert(Convert),
    /// Run a script, or send a prompt file or a stored prompt to its model.
    Run(Box<RunArgs>),
    /// Send a prompt to its model for every line of a file; started again, it goes on.
    Batch(Box<BatchArgs>),
    /// Run the tests of scripts and prompts.
    Test(Box<Test>),
    /// Format scripts.
    Fmt(Fmt),
    /// Serve an editor on standard input and output: findings, hovers, completion for scripts.
    Lsp(Lsp),
    /// Serve the stored prompts and tools to an MCP client on standard input and output.
    Mcp(Mcp),
    /// Ask a model one question; its answer goes to standard output.
    Ask(AskArgs),
    /// Talk with a model in the terminal.
    Chat(Chat),
    /// Ask a database: a question becomes a checked query, and the query rows.
    Sql(Box<Sql>),
    /// List models: what is known of them, and which can be reached.
    Models(ModelsArgs),
    /// Keep API keys in a file that only you can read.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Show what runs did, how long that took and what it cost.
    #[command(subcommand)]
    Trace(Trace),
    /// Durable runs: what they did and what they wait for; decide, go on, fork.
    #[command(subcommand)]
    Runs(Runs),
    /// Run durable runs on Temporal, with the program quillet-worker: it gets all that follows.
    #[command(disable_help_flag = true)]
    Worker {
        /// For quillet-worker.
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "ARGUMENT"
        )]
        arguments: Vec<OsString>,
    },
    /// List, show, add and remove agents of the store.
    #[command(subcommand)]
    Agent(DefinitionCommand),
    /// List, show, add and remove prompts of the store.
    #[command(subcommand)]
    Prompt(DefinitionCommand),
    /// List, show, add and remove tools of the store.
    #[command(subcommand)]
    Tool(DefinitionCommand),
    /// List, show, add and remove shared variables of the store.
    #[command(subcommand)]
    Var(DefinitionCommand),
    /// List, show, add and remove extensions of the store.
    #[command(subcommand)]
    Ext(DefinitionCommand),
    #[command(flatten)]
    Versions(Box<Versions>),
    /// Show settings, and where they come from.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check that everything that is configured works.
    Doctor(Doctor),
    /// Serve one script's JavaScript on standard input and output: started by other commands only.
    #[command(hide = true)]
    JsWorker,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Which store.
#[derive(Debug, Default, Args)]
pub(crate) struct StoreArgs {
    /// The store: dir:PATH, redis://HOST, memory:demo.
    #[arg(short, long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

/// Schemas that prompt files name.
#[derive(Debug, Default, Args)]
pub(crate) struct SchemaArgs {
    /// A JSON Schema that .prompt files name, as in `schema: NAME`: a file of JSON or YAML. May be
    /// given several times.
    #[arg(long = "schema", value_name = "NAME=FILE")]
    pub(crate) schemas: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Serve built-in examples with a mock model; nothing needs to be configured.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Where to listen.
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Permit an address that others reach, without any token.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// A path before every route, such as /ai-prompt-shell.
    #[arg(long, value_name = "PATH")]
    pub(crate) prefix: Option<String>,
    /// The model of requests that name none; mock answers without a network.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The model's address, such as https://api.openai.com/v1.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Serve built-in examples with a mock model; nothing needs to be configured.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// The model that answers where a prompt is called as a tool.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// Who is talked to, and what that one may do.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME, or mock.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The address of the server that speaks OpenAI's wire.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// A stored agent: its model, instructions, tools and skills.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Instructions for the model.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Tools that the model may call, by pattern: weather, docs*, prompt/*, '!search'.
    #[arg(short, long, value_name = "PATTERN")]
    pub(crate) tool: Vec<String>,
    /// A skill that the model may load, or a folder of them.
    #[arg(long, value_name = "DIR")]
    pub(crate) skill: Vec<PathBuf>,
    /// Randomness, 0 to 2.
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,
    /// Most tokens of an answer.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Whether the model's reasoning is shown on standard error.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) reasoning: ReasoningDisplay,
    /// Show the answer as the model wrote it: on a terminal, Markdown is laid out otherwise.
    #[arg(long)]
    pub(crate) raw: bool,
    /// The built-in examples with a mock model, which may call all of their tools.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// When something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReasoningDisplay {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (0.0..=2.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 2 is wanted".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// What is asked; standard input is appended to it, and - is standard input alone. Or the
    /// file of a prompt, whose messages are sent.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// A variable of the prompt: name=text, name=@file, name:=json.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// A file of variables of the prompt: JSON, YAML or TOML.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) talk: ModelArgs,
    /// An image that belongs to the question: a file, or an https address.
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) image: Vec<String>,
    /// Go on with a session, or begin one of this name.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print JSON: the text, the calls, the tokens, the cost.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer when it is whole.
    #[arg(long)]
    pub(crate) no_stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) talk: ModelArgs,
    /// Go on with a session, or begin one of this name.
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(crate) session: Option<String>,
    /// Go on with the session that was used last.
    #[arg(short, long = "continue")]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// One model, in place of a list.
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Providers by their names.
fn providers() -> impl TypedValueParser<Value = Provider> {
    let names =
        Provider::ALL.map(|provider| PossibleValue::new(provider.name()).help(provider.describe()));
    PossibleValuesParser::new(names).try_map(|name| Provider::named(&name).ok_or("no provider"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// List which keys there are, where each is from and how it ends.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Keep a key, which is read from standard input or asked for.
    Set {
        /// Whose it is.
        #[arg(value_parser = providers())]
        provider: Provider,
    },
    /// Forget a key.
    #[command(alias = "rm")]
    Remove {
        /// Whose it is.
        #[arg(value_parser = providers())]
        provider: Provider,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// List the latest runs.
    List {
        /// How many.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20")]
        most: usize,
        /// Only of models, or with names, that have this text in them.
        #[arg(short, long, value_name = "TEXT")]
        model: Option<String>,
        /// Only those in which something failed.
        #[arg(long)]
        failed: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what a run did.
    Show {
        /// The id, its beginning, or last.
        #[arg(default_value = "last")]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Render {
    /// A template (.tmpl, .j2, .hbs, .liquid and so on), a prompt file (.prompt, .prompty, .json,
    /// .yaml), - for standard input, or the id of a stored prompt.
    #[arg(value_name = "FILE|ID")]
    pub(crate) target: String,
    /// A variable: name=text, name=@file, name:=json; a.b=x sets a field.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// A file of variables, JSON, YAML or TOML; - for JSON or YAML on standard input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    /// The template's format: go, jinja, handlebars, mustache, liquid,
    /// semantic-kernel, f-string and so on, or an alias (docs/formats). By default its ending says.
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// Let missing variables pass, as the format itself does.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Print JSON with what failed on the way.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Files and folders; without any, everything in the store.
    #[arg(required_unless_present = "store", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The format of templates whose name does not tell.
    #[arg(short, long)]
    pub(crate) format: Option<String>,
    /// Look for scripts that scripts name here, too, as `quillet run` does.
    #[arg(short = 'I', long = "search", value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// Of prompts in a store, look at the version of this label in place of the one that readers
    /// get; `latest` is what was written last.
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    /// A store whose tools and variables count as known.
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// A template, a prompt file, a folder of them, or - for standard input.
    #[arg(value_name = "PATH")]
    pub(crate) source: String,
    /// What it becomes: go, jinja, jinja-plain, semantic-kernel, handlebars, mustache, liquid,
    /// f-string, dotprompt, prompty or json.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// What it is, where its name does not tell.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,
    /// Where to write it; of a folder, the folder to write to.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<String>,
    /// Replace files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// The kind of a variable: NAME=text, integer, number, boolean, list or object;
    /// items[].title=text for fields of items.
    #[arg(short, long, value_name = "NAME=KIND")]
    pub(crate) kind: Vec<String>,
    /// Take what is not declared for text and whole numbers.
    #[arg(long)]
    pub(crate) assume_text: bool,
    /// Refuse what is exact for some values only.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Leave out what a prompt file says of where its model is served: connection, configuration,
    /// provider, apiType chat.
    #[arg(long)]
    pub(crate) drop_deployment: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DefinitionCommand {
    /// List ids, and which are broken.
    List {
        #[command(flatten)]
        store: StoreArgs,
        /// Print JSON with the state of each.
        #[arg(long)]
        json: bool,
    },
    /// Print one as it is stored.
    #[command(visible_alias = "show")]
    Get {
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Write one, after a check.
    #[command(visible_alias = "put")]
    Add {
        id: String,
        /// A file, - for standard input, or the value itself of a variable.
        source: String,
        /// Write it even if it is broken.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        why: MessageArgs,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove one.
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
    /// The store that is meant.
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
    /// Print every setting; secrets are hidden.
    Show {
        /// Say where each value comes from.
        #[arg(long)]
        origin: bool,
    },
    /// Print the configuration files that are read.
    Path,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Do not reach out to the model.
    #[arg(long)]
    pub(crate) offline: bool,
}

impl Cli {
    /// The settings that flags set.
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
    /// Whether sessions and traces are stored with the user, where nothing else is set.
    pub(crate) fn is_personal(&self) -> bool {
        matches!(self, Command::Ask(_) | Command::Chat(_) | Command::Trace(_))
    }

    /// Whether it may read prompt files, which name schemas.
    pub(crate) fn reads_prompts(&self) -> bool {
        !matches!(
            self,
            Command::Config(_)
                | Command::Keys(_)
                | Command::Trace(_)
                | Command::Fmt(_)
                | Command::Models(_)
                | Command::Demo { .. }
        )
    }

    /// The schemas that it hands to prompt files.
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

    /// Which store it works on.
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
            // It names its store itself, for all of its commands.
            Command::Sql(_) => None,
            // Scripts name their store themselves, with what else they run with.
            Command::Run(_)
            | Command::Test(_)
            | Command::Fmt(_)
            | Command::Lsp(_)
            | Command::Convert(_)
            | Command::Demo { .. }
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
        let insecure = self.insecure.then_some("true");
        set(flags, &settings::INSECURE, "--insecure", insecure);
    }
}

/// The examples with the mock: a demo costs nobody money, even where a key is set.
fn demo(flags: &mut Flags, wanted: bool) {
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
