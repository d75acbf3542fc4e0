//! Batches of a program, without a port: what `quillet batch` stands on.

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

/// Whose batches they are: everybody's who needs no token.
const OWNER: &str = "any";

/// Works on batches as a server does that has no port and no tokens.
#[derive(Debug)]
pub struct LocalWork {
    app: Arc<App>,
    batching: BatchService,
}

impl LocalWork {
    /// Over the services of a server, and where its batches are kept.
    #[must_use]
    pub fn new(services: Services, batching: BatchService) -> Self {
        let config = ServerConfig::default();
        let (app, _) = routes::build(config, Hosts::default(), services);
        LocalWork { app, batching }
    }

    /// A batch over a file that is kept already; with `provider`, for the batch API of its model's
    /// provider.
    #[must_use]
    pub fn order(
        &self,
        input: &str,
        endpoint: &str,
        (window, seconds): (&str, u64),
        provider: bool,
    ) -> BatchOrder {
        let options = &self.batching.options;
        let time = (window, seconds);
        order(OWNER, (input, endpoint), time, (None, provider), options)
    }

    /// An id for a file, and whose it is.
    #[must_use]
    pub fn new_file(&self) -> (String, &'static str) {
        (format!("file-{}", new_tag()), OWNER)
    }

    /// Works until `stop` is ready. Rows that are under way then are given back.
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
