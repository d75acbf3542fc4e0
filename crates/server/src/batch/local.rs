//! Batches without a server, for `quillet batch`.

use std::sync::Arc;

use quillet_core::batch::{BatchOrder, BatchService};
use tokio_util::sync::CancellationToken;

use super::order::{new_tag, order};
use super::worker::Worker;
use crate::app::App;
use crate::config::ServerConfig;
use crate::host::Hosts;
use crate::routes;
use crate::services::Services;

/// The owner of batches created without a token.
const OWNER: &str = "any";

/// Runs batches as a server does, but opens no port and needs no tokens.
#[derive(Debug)]
pub struct LocalWork {
    app: Arc<App>,
    batching: BatchService,
}

impl LocalWork {
    /// Creates a batch runner from services and a batch store.
    #[must_use]
    pub fn new(services: Services, batching: BatchService) -> Self {
        // Without tokens, all files and batches belong to the anonymous owner.
        let config = ServerConfig::default();
        let (app, _) = routes::build(config, Hosts::default(), services);
        LocalWork { app, batching }
    }

    /// Creates a batch for a stored file. If `provider` is set, rows are sent to the batch API of
    /// the model's provider.
    #[must_use]
    pub fn order(
        &self,
        input: &str,
        endpoint: &str,
        window: &str,
        seconds: u64,
        provider: bool,
    ) -> BatchOrder {
        let options = &self.batching.options;
        order(OWNER, input, endpoint, window, seconds, provider, options)
    }

    /// Returns a new file id and the owner of local files.
    #[must_use]
    pub fn new_file(&self) -> (String, &'static str) {
        (format!("file-{}", new_tag()), OWNER)
    }

    /// Processes batches until `stop` is ready, and then releases unfinished rows.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let (soft, cut) = (CancellationToken::new(), CancellationToken::new());
        let worker = Worker::new(self.app.clone(), self.batching.clone(), cut.clone());
        let working = worker.run(soft.clone());
        tokio::pin!(working);
        tokio::select! {
            () = &mut working => return,
            () = stop => {}
        }
        soft.cancel();
        cut.cancel();
        working.await;
    }
}
