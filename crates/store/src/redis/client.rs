//! Redis client that reconnects automatically.

use std::sync::Arc;

use quillet_core::store::StoreError;
use redis::Value;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::connection_manager::{ConnectionManager, ConnectionState};
use super::connections::{KeyedCommand, NodeConnections};
use super::error;
use super::settings::RedisSettings;
use crate::changes::ChangeBus;

/// Sends commands to the nodes that store their keys.
#[derive(Debug)]
pub(crate) struct RedisClient {
    pub(crate) settings: Arc<RedisSettings>,
    pub(crate) state: watch::Receiver<ConnectionState>,
    _keeper: AbortOnDropHandle<()>,
}

impl RedisClient {
    /// Starts connecting without waiting for Redis. Changes are sent to `hub`.
    pub(crate) fn open(settings: RedisSettings, hub: ChangeBus) -> Self {
        let settings = Arc::new(settings);
        let (sender, state) = watch::channel(ConnectionState::Connecting);
        let keeper = ConnectionManager {
            settings: settings.clone(),
            state: sender,
            hub,
        };
        RedisClient {
            settings,
            state,
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
        }
    }

    /// Returns the current connections; waits only for the first connection attempt.
    pub(crate) async fn connections(&self) -> Result<Arc<NodeConnections>, StoreError> {
        self.ring_when(|state| !matches!(state, ConnectionState::Connecting))
            .await
    }

    /// Waits for newer connections than these, which are out of date.
    async fn ring_after(
        &self,
        old: &Arc<NodeConnections>,
    ) -> Result<Arc<NodeConnections>, StoreError> {
        let other = |state: &ConnectionState| match state {
            ConnectionState::Up(ring) => !Arc::ptr_eq(ring, old),
            ConnectionState::Away(_) => true,
            ConnectionState::Connecting => false,
        };
        self.ring_when(other).await
    }

    async fn ring_when(
        &self,
        ready: impl Fn(&ConnectionState) -> bool,
    ) -> Result<Arc<NodeConnections>, StoreError> {
        let patience = self.settings.connect_timeout + self.settings.response_timeout;
        let mut state = self.state.clone();
        let state = match timeout(patience, state.wait_for(ready)).await {
            Ok(Ok(state)) => state.clone(),
            _ => ConnectionState::Connecting,
        };
        match state {
            ConnectionState::Up(ring) => Ok(ring),
            ConnectionState::Away(error) => Err(error),
            ConnectionState::Connecting => Err(error::unavailable(format!(
                "{} did not answer within {patience:?}",
                self.settings.address
            ))),
        }
    }

    /// Runs commands, and retries them once on new connections if a node is no longer the master.
    pub(crate) async fn run(&self, requests: &[KeyedCommand]) -> Result<Vec<Value>, StoreError> {
        let ring = self.connections().await?;
        let replies = ring.run(&self.settings, requests).await?;
        if !replies.iter().any(error::is_elsewhere) {
            return Ok(replies);
        }
        let ring = self.ring_after(&ring).await?;
        ring.run(&self.settings, requests).await
    }

    /// Runs one command, and converts an error reply into an error.
    pub(crate) async fn ask(&self, request: KeyedCommand) -> Result<Value, StoreError> {
        let name = request.name.clone();
        let replies = self.run(&[request]).await?;
        match replies.into_iter().next().unwrap_or(Value::Nil) {
            Value::ServerError(error) => Err(error::of_reply(&name, &error)),
            reply => Ok(reply),
        }
    }
}
