//! A way to Redis that is kept open by itself.

use std::sync::Arc;

use quillet_core::store::StoreError;
use redis::Value;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::fault;
use super::keeper::{Keeper, State};
use super::ring::{Request, Ring};
use super::settings::Settings;
use crate::changes::Hub;

/// Sends requests to wherever their keys are.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) settings: Arc<Settings>,
    pub(crate) state: watch::Receiver<State>,
    _keeper: AbortOnDropHandle<()>,
}

impl Client {
    /// Begins to connect; does not wait for Redis. Changes are sent to `hub`.
    pub(crate) fn open(settings: Settings, hub: Hub) -> Self {
        let settings = Arc::new(settings);
        let (sender, state) = watch::channel(State::Connecting);
        let keeper = Keeper {
            settings: settings.clone(),
            state: sender,
            hub,
        };
        Client {
            settings,
            state,
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.keep())),
        }
    }

    /// The links of this moment; waits only for the first attempt to connect.
    pub(crate) async fn ring(&self) -> Result<Arc<Ring>, StoreError> {
        self.ring_when(|state| !matches!(state, State::Connecting))
            .await
    }

    /// Another ring than this one, which is out of date.
    async fn ring_after(&self, old: &Arc<Ring>) -> Result<Arc<Ring>, StoreError> {
        let other = |state: &State| match state {
            State::Up(ring) => !Arc::ptr_eq(ring, old),
            State::Away(_) => true,
            State::Connecting => false,
        };
        self.ring_when(other).await
    }

    async fn ring_when(&self, ready: impl Fn(&State) -> bool) -> Result<Arc<Ring>, StoreError> {
        let patience = self.settings.connect_timeout + self.settings.response_timeout;
        let mut state = self.state.clone();
        let state = match timeout(patience, state.wait_for(ready)).await {
            Ok(Ok(state)) => state.clone(),
            _ => State::Connecting,
        };
        match state {
            State::Up(ring) => Ok(ring),
            State::Away(error) => Err(error),
            State::Connecting => Err(fault::unavailable(format!(
                "{} did not answer within {patience:?}",
                self.settings.address
            ))),
        }
    }

    /// Runs the requests; once more on other links if the ones at hand turn out to lead to a node
    /// that is no longer the master.
    pub(crate) async fn run(&self, requests: &[Request]) -> Result<Vec<Value>, StoreError> {
        let ring = self.ring().await?;
        let replies = ring.run(&self.settings, requests).await?;
        if !replies.iter().any(fault::is_elsewhere) {
            return Ok(replies);
        }
        let ring = self.ring_after(&ring).await?;
        ring.run(&self.settings, requests).await
    }

    /// Runs one request; an answer that is an error is one here.
    pub(crate) async fn ask(&self, request: Request) -> Result<Value, StoreError> {
        let name = request.name.clone();
        let replies = self.run(&[request]).await?;
        match replies.into_iter().next().unwrap_or(Value::Nil) {
            Value::ServerError(error) => Err(fault::of_reply(&name, &error)),
            reply => Ok(reply),
        }
    }
}
