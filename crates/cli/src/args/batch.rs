//! The arguments of `quillet batch`.

use std::path::PathBuf;

use clap::Args;
use quillet::settings::{self, Flags};

use super::{StoreArgs, demo, set};

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// A file with one JSON object on each line: variables of the prompt, or requests of OpenAI's
    /// batches.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Who answers: prompt/ID, agent/NAME or a model. Requests that name a model keep theirs.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Where the answers go; what was not answered goes to OUT.errors.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Tell how far it is where nobody looks at a terminal, too.
    #[arg(long)]
    pub(crate) progress: bool,
    /// Hand the rows to the batch API of their model's provider (OpenAI, Anthropic): half the price,
    /// within a day. Rows for models and prompts only.
    #[arg(long)]
    pub(crate) provider_batch: bool,
    /// Rows at the same time, in place of batch.concurrency.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) concurrency: Option<u64>,
    /// The address of the server that speaks OpenAI's wire.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The built-in examples with a mock model.
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl BatchArgs {
    pub(super) fn flags(&self, flags: &mut Flags) {
        demo(flags, self.demo);
        let base_url = self.base_url.as_deref();
        set(flags, &settings::BASE_URL, "--base-url", base_url);
        let concurrency = self.concurrency.map(|number| number.to_string());
        let concurrency = concurrency.as_deref();
        set(
            flags,
            &settings::BATCH_CONCURRENCY,
            "--concurrency",
            concurrency,
        );
    }
}
