//! Arguments of `quillet runs`.

use clap::Subcommand;

use super::StoreArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List runs, latest first.
    List {
        /// Maximum number of runs.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20")]
        most: usize,
        /// List only runs in this state: running, waiting, ready or ended.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Show every event of a run.
    Show {
        /// Run id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Decide a pending approval; a server that uses the same journal then resumes the run.
    Decide {
        /// Run id.
        id: String,
        /// Decision: approve, deny, edit or result.
        decision: String,
        /// Id of the call, if several are pending.
        #[arg(long, value_name = "ID")]
        call: Option<String>,
        /// For edit: new arguments of the call, as a JSON object.
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
        /// For deny: reason that the model sees; for result: result of the call.
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Resume an abandoned run and print its output.
    Resume {
        /// Run id.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Start a run that continues from an event of another run.
    Fork {
        /// Id of the run to fork.
        id: String,
        /// Number of the last event to copy; all events by default.
        #[arg(long, value_name = "N")]
        at: Option<u64>,
        /// Model that continues the run.
        #[arg(short, long, value_name = "MODEL")]
        model: Option<String>,
        /// Stored prompt that contains the instructions for the rest of the run: ID or ID@8.
        #[arg(long, value_name = "ID")]
        prompt: Option<String>,
        /// Instructions for the rest of the run.
        #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
        system: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Remove an ended run.
    Remove {
        /// Run id.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
}

impl Runs {
    /// Returns the options that select the store.
    pub(super) fn store(&self) -> &StoreArgs {
        match self {
            Runs::List { store, .. }
            | Runs::Show { store, .. }
            | Runs::Decide { store, .. }
            | Runs::Resume { store, .. }
            | Runs::Fork { store, .. }
            | Runs::Remove { store, .. } => store,
        }
    }
}
