//! The command line.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::batch::BatchArgs;

/// Durable runs of Quillet on Temporal. Without a command it is a worker: it runs what others begin,
/// until it is told to stop.
#[derive(Debug, Parser)]
#[command(name = "quillet-worker", bin_name = "quillet worker", version)]
pub struct Cli {
    /// Where things are.
    #[command(flatten)]
    pub place: TemporalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<WorkflowCommand>,
}

/// Where Temporal and Quillet's settings are.
#[derive(Args)]
pub struct TemporalArgs {
    /// Address of Temporal's frontend, HOST:PORT; https://HOST:PORT with TLS.
    #[arg(
        long,
        global = true,
        value_name = "HOST:PORT",
        env = "QUILLET_TEMPORAL",
        default_value = "127.0.0.1:7233"
    )]
    pub temporal: String,
    /// Key for Temporal, where it wants one. Of the environment alone: arguments are read by all.
    #[arg(skip = std::env::var("QUILLET_TEMPORAL_API_KEY").ok().filter(|key| !key.is_empty()))]
    pub api_key: Option<String>,
    /// Namespace at Temporal.
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "QUILLET_TEMPORAL_NAMESPACE",
        default_value = "default"
    )]
    pub namespace: String,
    /// Task queue at Temporal: workers take what was begun on theirs.
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "QUILLET_TEMPORAL_QUEUE",
        default_value = "quillet"
    )]
    pub queue: String,
    /// Configuration file, in place of the nearest quillet.toml.
    #[arg(long, global = true, value_name = "FILE", env = "QUILLET_CONFIG")]
    pub config: Option<PathBuf>,
    /// Store, in place of store.url: dir:PATH, sqlite:FILE, redis://HOST.
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,
    /// What to log on standard error: error, warn, info, debug, or a filter.
    #[arg(long, global = true, value_name = "FILTER")]
    pub log: Option<String>,
}

/// Without the key.
impl fmt::Debug for TemporalArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("temporal", &self.temporal)
            .field("namespace", &self.namespace)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// What somebody does with runs.
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    /// Begin a run; its id goes to standard output.
    Run {
        /// The question; a script may do without.
        #[arg(required_unless_present = "variables")]
        question: Option<String>,
        /// The model, agent/NAME, or prompt/ID of a script.
        #[arg(short, long, value_name = "MODEL")]
        model: Option<String>,
        /// What a script is given, a JSON object.
        #[arg(long, value_name = "JSON")]
        variables: Option<String>,
        /// Id of the request; made if missing. The same id is never run twice.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// The session that the run is part of.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// A tool, or a pattern of tools, that is not called before somebody has agreed.
        #[arg(long, value_name = "PATTERN")]
        ask: Vec<String>,
        /// Wait until the run is over or waits for somebody, and print what it said.
        #[arg(long)]
        wait: bool,
    },
    /// Run every line of a file, each as a run of its own; begun again, it goes on.
    Batch(BatchArgs),
    /// List runs, the latest first.
    List {
        /// How many.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20")]
        most: usize,
        /// Print JSON, a run on each line.
        #[arg(long)]
        json: bool,
    },
    /// Show every step of a run.
    Show {
        /// The id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Decide about a call that waits for somebody.
    Decide {
        /// The run.
        id: String,
        /// What: approve, deny, edit or result.
        decision: String,
        /// The call, where more than one waits.
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// With edit: the arguments in place of the model's, a JSON object.
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
        /// With deny: what the model is told. With result: what the call gives.
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
        /// Who decides, for the run's steps.
        #[arg(long, value_name = "NAME", default_value = "command line")]
        by: String,
    },
    /// Stop a run.
    Cancel {
        /// The run.
        id: String,
    },
}
