//! Arguments of `quillet runs`.

use clap::Subcommand;

use super::StoreArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List runs, the latest first.
    List {
        /// How many.
        #[arg(short = 'n', long = "number", value_name = "N", default_value = "20")]
        most: usize,
        /// Only those that are running, waiting, ready or ended.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Show every step of a run.
    Show {
        /// The id.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Decide about a call that waits for somebody. Whoever serves the journal goes on with the run.
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
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Go on with a run that nobody goes on with, and show what it says.
    Resume {
        /// The run.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Begin a run with the first steps of another, and go on with it.
    Fork {
        /// The other run.
        id: String,
        /// Number of the last step that it has of the other run; all by default.
        #[arg(long, value_name = "N")]
        at: Option<u64>,
        /// The model that is asked from there on.
        #[arg(short, long, value_name = "MODEL")]
        model: Option<String>,
        /// A stored prompt, ID or ID@8, that the instructions are from there on.
        #[arg(long, value_name = "ID")]
        prompt: Option<String>,
        /// The instructions from there on.
        #[arg(long, value_name = "TEXT", conflicts_with = "prompt")]
        system: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Forget a run that has ended.
    Remove {
        /// The run.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
}

impl Runs {
    /// Which store it works on.
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
