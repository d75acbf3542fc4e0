//! Arguments of `quillet sql`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use quillet::settings::{self, Flags};

use super::set;

/// Asks a database.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet sql \"Which five products brought in the most?\" --db demo
  quillet sql \"上个月每个城市的订单数\" --db shop.db --run -o csv
  quillet sql \"Sales by region?\" --db sales.csv --db regions.parquet
  quillet sql run 'SELECT count(*) FROM orders' --db postgresql://ann@localhost/shop
  quillet sql tables \"customers and their orders\" --db shop
  quillet sql add shop postgresql://ann@db/shop --password

Queries only read: each is checked, runs in a read-only transaction and is rolled back.
Exit codes: 0 fine, 1 failure, 2 usage, 3 prompt or catalogue, 4 model, 5 refused, 130 interrupted.")]
pub(crate) struct Sql {
    #[command(subcommand)]
    pub(crate) command: Option<SqlCommand>,
    /// What is asked, in any language; - for standard input.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    #[command(flatten)]
    pub(crate) with: SqlWith,
    #[command(flatten)]
    pub(crate) chain: ChainArgs,
    /// Run this query, which you wrote, in place of asking a model.
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["question", "dry_run", "no_run"])]
    pub(crate) sql: Option<String>,
    /// Run the query without asking.
    #[arg(long, conflicts_with = "no_run")]
    pub(crate) run: bool,
    /// Print the query and do not run it.
    #[arg(long)]
    pub(crate) no_run: bool,
    #[command(flatten)]
    pub(crate) show: ShowRows,
}

/// Which database, and who writes queries for it.
#[derive(Debug, Args)]
pub(crate) struct SqlWith {
    /// The database: a name in the store, an address, a file of SQLite, or demo; or files of rows
    /// (CSV, TSV, JSON lines, Parquet), one --db for each, or a folder of them.
    #[arg(long, global = true, value_name = "NAME|URL|FILE")]
    pub(crate) db: Vec<String>,
    /// Ask for the database's password without showing it, or read it from standard input.
    #[arg(short = 'W', long, global = true)]
    pub(crate) password: bool,
    /// The model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME, or mock.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The address of the server that speaks OpenAI's wire.
    #[arg(short = 'u', long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The store of connections: dir:PATH, redis://HOST, sqlite:PATH.
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Print everything as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// How a model is asked for the query.
#[derive(Debug, Args)]
pub(crate) struct ChainArgs {
    /// How tables are chosen: budget (by tokens) or seed (by their number).
    #[arg(long, value_name = "MODE", value_parser = ["budget", "seed"])]
    pub(crate) chain: Option<String>,
    /// Show what the model is asked on standard error.
    #[arg(long)]
    pub(crate) show_prompts: bool,
    /// Print what a model would be asked and ask none; the mock chooses the tables.
    #[arg(long, conflicts_with_all = ["run", "show_prompts"])]
    pub(crate) dry_run: bool,
}

/// How rows are read and shown.
#[derive(Debug, Default, Args)]
pub(crate) struct ShowRows {
    /// The form of the rows; by default the ending of --output says, else a table.
    #[arg(short = 'o', long, value_name = "FORM")]
    pub(crate) format: Option<OutputFormat>,
    /// Where to write them.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write over the file of --output if it is there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show each row as lines of name and value.
    #[arg(short = 'x', long)]
    pub(crate) expanded: bool,
    /// Most rows that are read.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Seconds that the query may take.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// A form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// A table for people.
    Table,
    /// One JSON array of objects.
    Json,
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated values.
    Csv,
    /// A table of Markdown.
    Markdown,
    /// Arrow's IPC file.
    Arrow,
    /// Parquet.
    Parquet,
    /// A workbook of Excel.
    Xlsx,
}

/// What else there is to do with databases.
#[derive(Debug, Subcommand)]
pub(crate) enum SqlCommand {
    /// Run a query that you wrote, under the same guard.
    Run {
        /// The query; - or nothing for standard input.
        sql: Option<String>,
        #[command(flatten)]
        show: ShowRows,
    },
    /// List tables: all, those of a name such as 'order*', or those that a question is about.
    Tables {
        /// A name, a pattern with *, or words.
        words: Option<String>,
        /// Most tables that a question may find.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "10")]
        most: usize,
    },
    /// Show columns, keys and comments of tables; without any, of all.
    Schema {
        /// Names of tables.
        tables: Vec<String>,
    },
    /// Read the catalogue of a database anew.
    Refresh,
    /// Measure how well tables are chosen for questions whose tables are known.
    Eval(SqlEval),
    /// Keep a connection in the store, after a look whether it works.
    Add {
        /// Its name.
        name: String,
        /// Its address: postgresql://user@host/name, mysql://user@host/name, sqlite:FILE.
        url: String,
        /// What it holds, for people and models.
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Do without TLS.
        #[arg(long)]
        ssl_disabled: bool,
        /// A file of what its users say and what its tables call it.
        #[arg(long, value_name = "FILE")]
        glossary: Option<PathBuf>,
        /// Whether values of its short text columns are read and shown to models.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        values: Option<bool>,
        /// Replace a connection of that name.
        #[arg(long)]
        force: bool,
    },
    /// List the connections of the store.
    List,
    /// Forget a connection, its catalogue and its history.
    #[command(visible_alias = "rm")]
    Remove {
        /// Its name.
        name: String,
    },
    /// Look whether connections work and what their roles may do; without one, all.
    Test {
        /// A name, an address or a file.
        database: Option<String>,
    },
    /// List queries that ran, newest first.
    History {
        /// Words that the query or its question has.
        words: Vec<String>,
        /// Accept the query of this number as an answer to its question: an example for others.
        #[arg(long, value_name = "ID", conflicts_with_all = ["words", "unaccept"])]
        accept: Option<u64>,
        /// Accept it no longer.
        #[arg(long, value_name = "ID", conflicts_with = "words")]
        unaccept: Option<u64>,
        /// How many.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20", value_parser = clap::value_parser!(u64).range(1..=100))]
        most: u64,
    },
    /// Lay out a query.
    Format {
        /// The query, a file of it, or - for standard input.
        #[arg(default_value = "-")]
        sql: String,
        /// Whose SQL it is: postgresql, mysql or sqlite.
        #[arg(long, value_name = "DIALECT", default_value = "postgresql")]
        dialect: String,
    },
}

/// Measures the choice of tables.
#[derive(Debug, Args)]
pub(crate) struct SqlEval {
    /// Files of questions and the tables that they need.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Recorded answers of a model: chosen tables are scored with and without repair, queries with
    /// --db.
    #[arg(long, value_name = "FILE")]
    pub(crate) recorded: Option<PathBuf>,
    /// How many of the best tables are looked at.
    #[arg(
        short,
        value_name = "K,K…",
        value_delimiter = ',',
        default_value = "5,10,20"
    )]
    pub(crate) k: Vec<usize>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let time = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "a number of seconds above 0 is wanted".to_owned())
}

impl Sql {
    pub(super) fn flags(&self, flags: &mut Flags) {
        let with = &self.with;
        let database = with.db.first().map(String::as_str);
        set(flags, &settings::SQL_DATABASE, "--db", database);
        set(
            flags,
            &settings::SQL_MODEL,
            "--model",
            with.model.as_deref(),
        );
        set(
            flags,
            &settings::BASE_URL,
            "--base-url",
            with.base_url.as_deref(),
        );
        set(
            flags,
            &settings::STORE_URL,
            "--store",
            with.store.as_deref(),
        );
        set(
            flags,
            &settings::SQL_CHAIN,
            "--chain",
            self.chain.chain.as_deref(),
        );
    }

    /// How rows are shown, whatever gives them.
    pub(crate) fn shown(&self) -> &ShowRows {
        match &self.command {
            Some(SqlCommand::Run { show, .. }) => show,
            _ => &self.show,
        }
    }
}
