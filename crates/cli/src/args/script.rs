//! Arguments of the commands for scripts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quillet::settings::{self, Flags};

use super::{SchemaArgs, demo, set, temperature};

/// Runs a script, or sends a prompt to its model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet run hello.ai.yaml                    a file
  quillet run translator '{lang: \"fr\"}' -I lib  an id, looked for in lib/
  echo \"A long text\" | quillet run summary     standard input is `content`
  quillet run -i -e char.ai.yaml               go on talking
  quillet run hello.ai.yaml --dry-run          the requests, and no model
  quillet run ask.prompty -D question=\"Why?\"   a prompt file goes to its model
  quillet run greet.hello -s dir:st -m mock    and so does a stored prompt")]
pub(crate) struct RunArgs {
    /// A script: its file, a folder with a script of its name, an id, or - for standard input;
    /// or a prompt: its file (.prompt, .prompty, a template), or its id in the store.
    #[arg(value_name = "SCRIPT", required_unless_present = "file")]
    pub(crate) script: Option<String>,
    /// What it is given: JSON, an object as JavaScript writes it, or a text.
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Option<String>,
    /// The script's file; what stands alone is the arguments then.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Arguments as an option.
    #[arg(short, long = "arguments", value_name = "JSON")]
    pub(crate) argument: Option<String>,
    /// A file of arguments: JSON, YAML or TOML.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    /// An argument: name=value, which is JSON where it reads as such; name=@file; a.b=x sets a
    /// field.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) with: ScriptArgs,
    /// Print the answer when it is whole.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Show a prompt's answer as the model wrote it: on a terminal, Markdown is laid out otherwise.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show messages on standard error: whole ones, or as they come, line by line.
    #[arg(short, long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) echo: EchoMode,
    /// Print JSON: the result, the messages, the tokens, and how answers were held to their form.
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,
    /// Print the requests that would be sent, and ask no model.
    #[arg(long, visible_alias = "explain", conflicts_with = "interactive")]
    pub(crate) dry_run: bool,
    /// Go on with the dialogue in the terminal.
    #[arg(short, long)]
    pub(crate) interactive: bool,
    /// Keep what the script does step by step, so that it outlives this process: `quillet runs`.
    #[arg(long, conflicts_with_all = ["interactive", "dry_run", "json"])]
    pub(crate) durable: bool,
    /// With --durable: tools that are not called before somebody has agreed, as patterns; may be
    /// given several times.
    #[arg(long, value_name = "PATTERN", requires = "durable")]
    pub(crate) ask: Vec<String>,
    #[command(flatten)]
    pub(crate) chats: Chats,
    /// Where random choices start from.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Randomness of models, 0 to 2.
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,
    /// Most tokens of an answer.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
}

/// What scripts run with.
#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// A folder in which scripts are looked for by their ids; may be given several times.
    #[arg(short = 'I', long, value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// The model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME, or mock. Given several times, a
    /// prompt or a test goes to each, and a table compares them.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// The provider: openai, anthropic, google, or PROVIDER://MODEL.
    #[arg(short = 'P', long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The address of the server that speaks OpenAI's wire.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The store whose tools and prompts scripts may call: dir:PATH, redis://HOST, memory:demo.
    #[arg(short, long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// The built-in examples with a mock model.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) grants: Grants,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// What scripts may do outside of themselves.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct Grants {
    /// Let scripts read a folder; their own they may read always.
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Let scripts write into a folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_write: Vec<PathBuf>,
    /// Let scripts connect to public addresses.
    #[arg(long)]
    pub(crate) allow_net: bool,
    /// Let scripts start interpreters of other languages, such as python3.
    #[arg(long)]
    pub(crate) allow_run: bool,
    /// Let scripts see a variable of the environment.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_env: Vec<String>,
}

/// Bounds of a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Instructions and turns of loops; 1,000,000 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_steps: Option<u64>,
    /// Calls of models; 1,000 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_calls: Option<u64>,
    /// Tokens of all requests and answers together; none by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_tokens_total: Option<u64>,
    /// US dollars that all answers may cost together; none by default.
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,
    /// Scripts that call each other; 64 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_depth: Option<usize>,
    /// Seconds of the whole run, with all that it waits for.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
}

/// Conversations that are kept in files.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Conversations")]
pub(crate) struct Chats {
    /// Keep the dialogue in DIR/ID/history.yaml, and go on with it.
    #[arg(long, value_name = "DIR")]
    pub(crate) histories: Option<PathBuf>,
    /// Begin a new one; the one before gets another name.
    #[arg(short, long, requires = "histories")]
    pub(crate) new_chat: bool,
    /// Keep a copy of the one before.
    #[arg(short = 'k', long, requires = "histories")]
    pub(crate) backup_chat: bool,
    /// Neither read nor write it.
    #[arg(long)]
    pub(crate) no_chats: bool,
}

/// How messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EchoMode {
    /// Whole messages.
    True,
    /// Not at all.
    False,
    /// Answers as they come, line by line.
    Line,
}

/// Runs tests of scripts and prompts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet test translator.fixture.yaml      the tests of one file
  quillet test support.prompty -m gpt-6-sol -m claude-sonnet-5-5
                                            those of a prompt, with two models and a table
  quillet test scripts/ --junit out.xml     all below a folder, with a report for CI
  quillet test a.fixture.yaml -i 2 -c 5     the second test, five times
  quillet test a.fixture.yaml --update      keep the requests as they are now

Exit codes: 0 all passed, 1 something was not as wanted, 3 a script or fixture is broken.")]
pub(crate) struct Test {
    /// Fixtures, the scripts and prompts beside them, and folders of them.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Only the tests of these numbers.
    #[arg(short, long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) include: Vec<usize>,
    /// Not the tests of these numbers.
    #[arg(short = 'x', long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) exclude: Vec<usize>,
    /// Only tests with this text in their title.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Write outputs into fixtures, behind tests that expect none yet.
    #[arg(short, long)]
    pub(crate) generate: bool,
    /// Run each test so often; all runs have to pass.
    #[arg(short, long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) count: u32,
    /// Write snapshots anew.
    #[arg(long)]
    pub(crate) update: bool,
    /// Ask models, and write down what they answer where a fixture has a cassette.
    #[arg(long)]
    pub(crate) record_cassettes: bool,
    /// The model that decides about judge:.
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// Write a report as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print a report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask for whole answers.
    #[arg(long)]
    pub(crate) no_stream: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) with: ScriptArgs,
}

/// Serves an editor.
#[derive(Debug, Args)]
pub(crate) struct Lsp {
    /// A folder in which scripts are looked for, besides those of the editor.
    #[arg(short = 'I', long, value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// What editors say of their own accord; there is no other way.
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

/// Formats scripts.
#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// Scripts, or - for standard input, whose result goes to standard output.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Write nothing; exit with 1 if something would change.
    #[arg(long)]
    pub(crate) check: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number < 1e9);
    number.ok_or_else(|| "a number of seconds above 0 is wanted".to_owned())
}

fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "an amount of money is wanted, such as 0.50".to_owned())
}

impl ScriptArgs {
    pub(super) fn flags(&self, flags: &mut Flags) {
        demo(flags, self.demo);
        let store = self.store.as_deref();
        set(flags, &settings::STORE_URL, "--store", store);
        set(flags, &settings::MODEL, "--model", self.named().as_deref());
        let base_url = self.base_url.as_deref();
        set(flags, &settings::BASE_URL, "--base-url", base_url);
    }

    /// The model that provider and model name together: the first, where several are named.
    pub(crate) fn named(&self) -> Option<String> {
        self.models().into_iter().next()
    }

    /// All models that are named.
    pub(crate) fn models(&self) -> Vec<String> {
        let Some(provider) = &self.provider else {
            return self.model.clone();
        };
        if self.model.is_empty() {
            let is_whole = provider.contains("://");
            let all = if is_whole { "" } else { "://" };
            return vec![format!("{provider}{all}")];
        }
        let provider = provider.split("://").next().unwrap_or_default();
        let models = self.model.iter();
        models
            .map(|model| format!("{provider}://{model}"))
            .collect()
    }
}
