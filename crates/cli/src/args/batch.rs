//! Arguments of `quillet batch`.

use std::path::PathBuf;

use clap::Args;
use quillet::settings::{self, Flags};

use super::{StoreArgs, demo, set};

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// File that contains one JSON object per line: the variables of the prompt, or a request in
    /// OpenAI's batch format.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Model, agent/NAME or prompt/ID; used for each request that does not set a model.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Output file; failed rows go to OUT.errors.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Report progress even when stderr is not a terminal.
    #[arg(long)]
    pub(crate) progress: bool,
    /// Use the provider's batch API (OpenAI or Anthropic), which costs half as much and answers
    /// within a day; only for models and prompts.
    #[arg(long)]
    pub(crate) provider_batch: bool,
    /// Maximum number of concurrent rows; overrides batch.concurrency.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) concurrency: Option<u64>,
    /// Address of an OpenAI-compatible API.
    #[arg(short = 'u', long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Use the built-in examples and a mock model.
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
