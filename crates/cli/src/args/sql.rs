//! Arguments of `quillet sql`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use quillet::settings::{self, Flags};

use super::set;

/// Ask a database a question.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  quillet sql \"What are the top 5 products by price?\" --db demo
  quillet sql \"上个月每个城市的订单数\" --db shop.db --run -o csv
  quillet sql \"Sales by region?\" --db sales.csv --db regions.parquet
  quillet sql run 'SELECT count(*) FROM orders' --db postgresql://ann@localhost/shop
  quillet sql tables \"customers and their orders\" --db shop
  quillet sql add shop postgresql://ann@db/shop --password

Queries are read-only: each is checked, runs in a read-only transaction and is rolled back.
Exit codes: 0 success, 1 failure, 2 usage, 3 prompt or catalogue, 4 model, 5 permission denied,
130 interrupted.")]
pub(crate) struct Sql {
    #[command(subcommand)]
    pub(crate) command: Option<SqlCommand>,
    /// Question in any language; - for standard input.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    #[command(flatten)]
    pub(crate) with: SqlWith,
    #[command(flatten)]
    pub(crate) chain: ChainArgs,
    /// Run this query instead of asking a model.
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["question", "dry_run", "no_run"])]
    pub(crate) sql: Option<String>,
    /// Run the query without confirmation.
    #[arg(long, conflicts_with = "no_run")]
    pub(crate) run: bool,
    /// Print the query without running it.
    #[arg(long)]
    pub(crate) no_run: bool,
    #[command(flatten)]
    pub(crate) show: ShowRows,
}

/// Options that select the database and the model.
#[derive(Debug, Args)]
pub(crate) struct SqlWith {
    /// Database: name of a stored connection, address, SQLite file, data file (CSV, TSV, JSON Lines
    /// or Parquet), folder of data files, or demo; repeatable for data files.
    #[arg(long, global = true, value_name = "NAME|URL|FILE")]
    pub(crate) db: Vec<String>,
    /// Prompt for the database password, or read it from standard input.
    #[arg(short = 'W', long, global = true)]
    pub(crate) password: bool,
    /// Model: gpt-6-sol, claude-…, gemini-…, PROVIDER/NAME or mock.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of an OpenAI-compatible API.
    #[arg(short = 'u', long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Store of connections: dir:PATH, redis://HOST or sqlite:PATH.
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Print all output as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Options of the text-to-SQL pipeline.
#[derive(Debug, Args)]
pub(crate) struct ChainArgs {
    /// How to limit the tables shown to the model: budget (a number of tokens) or seed (a number of
    /// tables).
    #[arg(long, value_name = "MODE", value_parser = ["budget", "seed"])]
    pub(crate) chain: Option<String>,
    /// Show the prompts sent to the model on standard error.
    #[arg(long)]
    pub(crate) show_prompts: bool,
    /// Print the prompts without sending them; the mock model selects the tables.
    #[arg(long, conflicts_with_all = ["run", "show_prompts"])]
    pub(crate) dry_run: bool,
}

/// Options for limiting and printing rows.
#[derive(Debug, Default, Args)]
pub(crate) struct ShowRows {
    /// Output format; by default determined by the file extension of --output, or a table without
    /// --output.
    #[arg(short = 'o', long, value_name = "FORM")]
    pub(crate) format: Option<OutputFormat>,
    /// Output file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing --output file.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print each value on its own line, after the name of its column.
    #[arg(short = 'x', long)]
    pub(crate) expanded: bool,
    /// Maximum number of rows.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Timeout of the query, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// Output format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text table.
    Table,
    /// JSON array of objects.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Comma-separated values.
    Csv,
    /// Markdown table.
    Markdown,
    /// Arrow IPC file.
    Arrow,
    /// Parquet file.
    Parquet,
    /// Excel workbook.
    Xlsx,
}

/// Subcommands of `quillet sql`.
#[derive(Debug, Subcommand)]
pub(crate) enum SqlCommand {
    /// Run your own query; the same checks apply.
    Run {
        /// Query; read from standard input if omitted or -.
        sql: Option<String>,
        #[command(flatten)]
        show: ShowRows,
    },
    /// List all tables, the tables that match a pattern such as 'order*', or the tables that are
    /// relevant to a question.
    Tables {
        /// Table name, pattern that contains *, or question.
        words: Option<String>,
        /// Maximum number of tables for a question.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "10")]
        most: usize,
    },
    /// Show columns, keys and comments of tables.
    Schema {
        /// Table names; all tables by default.
        tables: Vec<String>,
    },
    /// Refresh the catalogue of a database.
    Refresh,
    /// Measure how often the correct tables are selected for questions.
    Eval(SqlEval),
    /// Test a connection and save it in the store.
    Add {
        /// Name of the connection.
        name: String,
        /// Address: postgresql://user@host/name, mysql://user@host/name or sqlite:FILE.
        url: String,
        /// Description of the data, for people and models.
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Connect without TLS.
        #[arg(long)]
        ssl_disabled: bool,
        /// Glossary file that maps the users' terms to tables and columns.
        #[arg(long, value_name = "FILE")]
        glossary: Option<PathBuf>,
        /// Read values of short text columns and show them to models.
        #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
        values: Option<bool>,
        /// Replace an existing connection.
        #[arg(long)]
        force: bool,
    },
    /// List stored connections.
    List,
    /// Remove a connection, its catalogue and its query history.
    #[command(visible_alias = "rm")]
    Remove {
        /// Name of the connection.
        name: String,
    },
    /// Test connections and show the privileges of their roles.
    Test {
        /// Name, address or file; all stored connections by default.
        database: Option<String>,
    },
    /// List past queries, newest first.
    History {
        /// Words to search for in queries and questions.
        words: Vec<String>,
        /// Accept the query with this id as an example for similar questions.
        #[arg(long, value_name = "ID", conflicts_with_all = ["words", "unaccept"])]
        accept: Option<u64>,
        /// Stop using the query with this id as an example.
        #[arg(long, value_name = "ID", conflicts_with = "words")]
        unaccept: Option<u64>,
        /// Maximum number of queries.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20", value_parser = clap::value_parser!(u64).range(1..=100))]
        most: u64,
    },
    /// Format a query.
    Format {
        /// Query, file, or - for standard input.
        #[arg(default_value = "-")]
        sql: String,
        /// SQL dialect: postgresql, mysql or sqlite.
        #[arg(long, value_name = "DIALECT", default_value = "postgresql")]
        dialect: String,
    },
}

/// Measure the accuracy of table selection.
#[derive(Debug, Args)]
pub(crate) struct SqlEval {
    /// Files that list questions and the tables that each question needs.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Score the model answers recorded in this file: the chosen tables, before and after repair,
    /// and, if --db is set, the queries.
    #[arg(long, value_name = "FILE")]
    pub(crate) recorded: Option<PathBuf>,
    /// Numbers of top-ranked tables in which to look for the correct tables.
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
    // The plain conversion panics on a number that is too large.
    let time = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a number of seconds above 0".to_owned())
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

    /// Returns the row options of the active subcommand.
    pub(crate) fn row_options(&self) -> &ShowRows {
        match &self.command {
            Some(SqlCommand::Run { show, .. }) => show,
            _ => &self.show,
        }
    }
}
