//! Arguments of `quillet run`, `test`, `fmt` and `lsp`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use quillet::settings::{self, Flags};

use super::{SchemaArgs, demo, set, temperature};

/// Run a script, or send a prompt to its model.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet run hello.ai.yaml                    run a script file
  quillet run translator '{lang: \"fr\"}' -I lib  run a script of lib/ by id
  echo \"A long text\" | quillet run summary     pass standard input as `content`
  quillet run -i -e char.ai.yaml               chat with a script
  quillet run hello.ai.yaml --dry-run          show the requests
  quillet run ask.prompty -D question=\"Why?\"   send a prompt file
  quillet run greet.hello -s dir:st -m mock    send a stored prompt")]
pub(crate) struct RunArgs {
    /// Script (file, id, folder that contains a script of the same name, or - for standard input)
    /// or prompt (prompt file, template file, or id of a stored prompt).
    #[arg(value_name = "SCRIPT", required_unless_present = "file")]
    pub(crate) script: Option<String>,
    /// Input of the script, as JSON, a JavaScript object or text.
    #[arg(value_name = "ARGUMENTS")]
    pub(crate) arguments: Option<String>,
    /// Script file; the positional argument is then the input.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<String>,
    /// Input of the script, as an option; values of the positional argument take precedence.
    #[arg(short, long = "arguments", value_name = "JSON")]
    pub(crate) argument: Option<String>,
    /// JSON, YAML or TOML file that contains arguments.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) data: Option<String>,
    /// Argument, as name=value (parsed as JSON if it is valid JSON) or name=@file; a.b=x sets a
    /// field; repeatable.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) with: ScriptArgs,
    /// Print the answer only when it is complete.
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Print the answer of a prompt as plain text, without formatting its Markdown.
    #[arg(long)]
    pub(crate) raw: bool,
    /// Show messages on standard error, complete or as they stream.
    #[arg(short, long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) echo: EchoMode,
    /// Print JSON with the result, messages, tokens and how the answer format was enforced.
    #[arg(long, conflicts_with = "interactive")]
    pub(crate) json: bool,
    /// Print the requests without sending them.
    #[arg(long, visible_alias = "explain", conflicts_with = "interactive")]
    pub(crate) dry_run: bool,
    /// Continue the conversation in the terminal.
    #[arg(short, long)]
    pub(crate) interactive: bool,
    /// Record the run in a journal, so that it survives a crash (see `quillet runs`).
    #[arg(long, conflicts_with_all = ["interactive", "dry_run", "json"])]
    pub(crate) durable: bool,
    /// Pattern for the tools that need approval before each call; requires --durable; repeatable.
    #[arg(long, value_name = "PATTERN", requires = "durable")]
    pub(crate) ask: Vec<String>,
    #[command(flatten)]
    pub(crate) chats: Chats,
    /// Seed for random choices.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Sampling temperature, 0 to 2.
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(crate) temperature: Option<f64>,
    /// Maximum number of tokens in an answer.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
}

/// Options for running scripts and prompts.
#[derive(Debug, Args)]
pub(crate) struct ScriptArgs {
    /// Folder to search for scripts by id; repeatable.
    #[arg(short = 'I', long, value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// Model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME or mock; repeat the option to compare
    /// models on a prompt or test.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Vec<String>,
    /// Provider: openai, anthropic or google, or provider and model as PROVIDER://MODEL.
    #[arg(short = 'P', long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Address of an OpenAI-compatible API.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Store whose tools and prompts scripts may call: dir:PATH, redis://HOST or memory:demo.
    #[arg(short, long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Use the built-in examples and a mock model.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) grants: Grants,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Access that scripts have to files, network, programs and environment.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct Grants {
    /// Allow scripts to read a folder, in addition to their own folders; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Allow scripts to write to a folder; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) allow_write: Vec<PathBuf>,
    /// Allow scripts to connect to public addresses.
    #[arg(long)]
    pub(crate) allow_net: bool,
    /// Allow scripts to run other interpreters, such as python3.
    #[arg(long)]
    pub(crate) allow_run: bool,
    /// Allow scripts to read an environment variable; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_env: Vec<String>,
}

/// Limits of a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Maximum number of instructions and loop iterations; 1,000,000 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_steps: Option<u64>,
    /// Maximum number of model calls; 1,000 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_calls: Option<u64>,
    /// Maximum number of tokens in all requests and answers; unlimited by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_tokens_total: Option<u64>,
    /// Maximum total cost of all answers, in US dollars; unlimited by default.
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,
    /// Maximum depth of nested script calls; 64 by default.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_depth: Option<usize>,
    /// Timeout of the whole run, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
}

/// Options that store conversations in files.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Conversations")]
pub(crate) struct Chats {
    /// Store the conversation in DIR/ID/history.yaml and continue it.
    #[arg(long, value_name = "DIR")]
    pub(crate) histories: Option<PathBuf>,
    /// Start a new conversation and rename the previous one.
    #[arg(short, long, requires = "histories")]
    pub(crate) new_chat: bool,
    /// Back up the previous conversation.
    #[arg(short = 'k', long, requires = "histories")]
    pub(crate) backup_chat: bool,
    /// Neither read nor write stored conversations.
    #[arg(long)]
    pub(crate) no_chats: bool,
}

/// How `--echo` shows messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EchoMode {
    /// Complete messages.
    True,
    /// No messages.
    False,
    /// Answers as they stream, line by line.
    Line,
}

/// Run the tests of scripts and prompts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet test translator.fixture.yaml      run the tests of one file
  quillet test support.prompty -m gpt-6-sol -m claude-sonnet-5-5
                                            compare two models on a prompt
  quillet test scripts/ --junit out.xml     run a folder and write a report for CI
  quillet test a.fixture.yaml -i 2 -c 5     run the second test five times
  quillet test a.fixture.yaml --update      update the snapshots

Exit codes: 0 all passed, 1 a test failed, 3 a script or fixture is invalid.")]
pub(crate) struct Test {
    /// Fixture files, scripts or prompts that have fixtures, or folders of such files.
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Run only the tests with these numbers.
    #[arg(short, long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) include: Vec<usize>,
    /// Skip the tests with these numbers.
    #[arg(short = 'x', long, value_name = "NUMBER", value_delimiter = ',')]
    pub(crate) exclude: Vec<usize>,
    /// Run only tests whose title contains this text.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Save the actual output as the expected output of each test that has none.
    #[arg(short, long)]
    pub(crate) generate: bool,
    /// Number of runs of each test; all must pass.
    #[arg(short, long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) count: u32,
    /// Update snapshots.
    #[arg(long)]
    pub(crate) update: bool,
    /// Call models and record their responses in the cassette folders of the fixtures.
    #[arg(long)]
    pub(crate) record_cassettes: bool,
    /// Model that evaluates `judge:` expectations.
    #[arg(long, value_name = "MODEL")]
    pub(crate) judge: Option<String>,
    /// Write a JUnit XML report.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print a JSON report.
    #[arg(long)]
    pub(crate) json: bool,
    /// Request answers without streaming.
    #[arg(long)]
    pub(crate) no_stream: bool,
    #[command(flatten)]
    pub(crate) schemas: SchemaArgs,
    #[command(flatten)]
    pub(crate) with: ScriptArgs,
}

/// Start the language server.
#[derive(Debug, Args)]
pub(crate) struct Lsp {
    /// Folder to search for scripts, in addition to the editor's folders; repeatable.
    #[arg(short = 'I', long, value_name = "DIR")]
    pub(crate) search: Vec<PathBuf>,
    /// Ignored, and accepted only because editors pass it; the transport is always standard input
    /// and output.
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

/// Format scripts.
#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// Script files, or - to format standard input to standard output.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Check the files without changing them; the exit code is 1 if a file is not formatted.
    #[arg(long)]
    pub(crate) check: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    // The upper bound keeps `Duration::from_secs_f64` from panicking, and rejects `inf`.
    let number = number.filter(|number| *number > 0.0 && *number < 1e9);
    number.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected an amount of money, such as 0.50".to_owned())
}

impl ScriptArgs {
    pub(super) fn flags(&self, flags: &mut Flags) {
        demo(flags, self.demo);
        let store = self.store.as_deref();
        set(flags, &settings::STORE_URL, "--store", store);
        set(
            flags,
            &settings::MODEL,
            "--model",
            self.first_model().as_deref(),
        );
        let base_url = self.base_url.as_deref();
        set(flags, &settings::BASE_URL, "--base-url", base_url);
    }

    /// Returns the first model that `--provider` and `--model` select.
    pub(crate) fn first_model(&self) -> Option<String> {
        self.models().into_iter().next()
    }

    /// Returns all models that `--provider` and `--model` select.
    pub(crate) fn models(&self) -> Vec<String> {
        let Some(provider) = &self.provider else {
            return self.model.clone();
        };
        if self.model.is_empty() {
            // `-P openai://MODEL` already contains the model.
            let is_whole = provider.contains("://");
            let all = if is_whole { "" } else { "://" };
            return vec![format!("{provider}{all}")];
        }
        // `--model` replaces a model that `--provider` contains.
        let provider = provider.split("://").next().unwrap_or_default();
        let models = self.model.iter();
        models
            .map(|model| format!("{provider}://{model}"))
            .collect()
    }
}
