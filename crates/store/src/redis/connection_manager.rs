//! Connects the store, monitors the connections, reports changes and reconnects.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use quillet_core::store::{EntryKey, EntryKind, StoreChange, StoreError};
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::connections::NodeConnections;
use super::settings::RedisSettings;
use super::{error, poll, topology};
use crate::address::{Deployment, RedisNode};
use crate::changes::ChangeBus;

/// Pause after the first failure; doubled up to `retry_pause`.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Interval of health checks for each node.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Interval of topology checks, in a cluster or with sentinels. Moved slots and replaced masters
/// are also detected immediately by other means.
const TOPOLOGY_CHECK: Duration = Duration::from_secs(5);
/// Maximum number of keys in one notification to report separately; more are reported as changes of
/// whole kinds.
const MANY: usize = 256;

/// State of the connection.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionState {
    /// The first connection attempt is in progress.
    Connecting,
    /// Connected.
    Up(Arc<NodeConnections>),
    /// Not connected, with the reason.
    Away(StoreError),
}

/// Reason for the end of monitoring.
enum WatchEnd {
    /// The connections are lost.
    Lost(StoreError),
    /// The topology has changed; the connections remain in use until new ones are open.
    Moved,
}

/// Background task of a store.
#[derive(Debug)]
pub(crate) struct ConnectionManager {
    pub(crate) settings: Arc<RedisSettings>,
    pub(crate) state: watch::Sender<ConnectionState>,
    pub(crate) hub: ChangeBus,
}

impl ConnectionManager {
    /// Never returns; dropping the future closes all connections.
    pub(crate) async fn run(self) {
        let mut known = Vec::new();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect(&known).await {
                Ok((ring, pushes)) => {
                    // The nodes of the last topology are also asked, because the configured nodes
                    // may have been replaced.
                    known.clone_from(&ring.plan.nodes);
                    self.up(&ring);
                    let start = Instant::now();
                    // After a topology change the old connections stay in use until new ones are
                    // open, so calls do not fail during a slot migration.
                    if let WatchEnd::Lost(error) = self.watch(&ring, pushes).await {
                        self.away(error);
                    }
                    // If new connections repeatedly fail immediately, the pause continues to grow.
                    if start.elapsed() > self.settings.retry_pause {
                        pause = FIRST_PAUSE;
                    }
                }
                Err(error) => self.away(error),
            }
            sleep(pause).await;
            pause = (pause * 2).min(self.settings.retry_pause);
        }
    }

    async fn connect(
        &self,
        known: &[RedisNode],
    ) -> Result<(Arc<NodeConnections>, UnboundedReceiver<PushInfo>), StoreError> {
        let plan = topology::discover(&self.settings, known).await?;
        let (sender, pushes) = unbounded_channel();
        let ring = NodeConnections::open(&self.settings, plan, &sender).await?;
        if let Deployment::Sentinel { .. } = self.settings.address.deployment {
            // Writing to a replica fails with READONLY, so wait until the failover is complete.
            expect_master(&ring).await?;
        }
        Ok((Arc::new(ring), pushes))
    }

    /// Reports that changes may have been missed, except for the first connection.
    fn up(&self, ring: &Arc<NodeConnections>) {
        let before = self.state.send_replace(ConnectionState::Up(ring.clone()));
        // No caller can have read anything before the first connection.
        if matches!(before, ConnectionState::Connecting) {
            return;
        }
        tracing::info!(store = %self.settings.address, "connected again");
        self.hub.send(StoreChange::All);
    }

    fn away(&self, error: StoreError) {
        // Log one warning per outage, not one per attempt.
        let was_away = matches!(*self.state.borrow(), ConnectionState::Away(_));
        if !was_away {
            tracing::warn!(store = %self.settings.address, %error, "not connected");
        }
        self.state.send_replace(ConnectionState::Away(error));
    }

    async fn watch(&self, ring: &NodeConnections, pushes: UnboundedReceiver<PushInfo>) -> WatchEnd {
        tokio::select! {
            error = self.forward(ring, pushes) => WatchEnd::Lost(error),
            error = heartbeat(ring) => WatchEnd::Lost(error),
            error = self.poll(ring) => WatchEnd::Lost(error),
            () = self.topology_changes(ring) => WatchEnd::Moved,
            () = ring.moved.notified() => WatchEnd::Moved,
        }
    }

    /// Reports the changes that the nodes push, until a connection closes.
    async fn forward(
        &self,
        ring: &NodeConnections,
        mut pushes: UnboundedReceiver<PushInfo>,
    ) -> StoreError {
        while let Some(push) = pushes.recv().await {
            match push.kind {
                _ if ring.acknowledge_mark(&push) => {}
                PushKind::Disconnection => {
                    return error::unavailable("redis closed the connection");
                }
                PushKind::Invalidate => self.report_changes(&push.data),
                _ => {}
            }
        }
        // Without push notifications, no sender is left and nothing will arrive.
        std::future::pending().await
    }

    /// Reports changed keys. The data is a list of names, or nil after FLUSHALL.
    fn report_changes(&self, data: &[Value]) {
        let [Value::Array(names)] = data else {
            return self.hub.send(StoreChange::All);
        };
        let changed = names.iter().filter_map(|name| match name {
            Value::BulkString(name) => self.settings.layout.parse(name),
            _ => None,
        });
        // Reloading a kind is cheaper than loading very many entries one by one.
        if names.len() <= MANY {
            changed.for_each(|(kind, key)| self.hub.send(StoreChange::Entry(kind, key)));
            return;
        }
        let changed: Vec<(EntryKind, EntryKey)> = changed.collect();
        for kind in EntryKind::ALL {
            if changed.iter().any(|(of, _)| *of == kind) {
                self.hub.send(StoreChange::Kind(kind));
            }
        }
    }

    async fn poll(&self, ring: &NodeConnections) -> StoreError {
        // Polling is needed only if the server sends no notifications. Clients that want no
        // notifications do not need polling either.
        if ring.tracked() || !self.settings.notices {
            return std::future::pending().await;
        }
        poll::watch(&self.settings, ring, &self.hub).await
    }

    /// Returns after the nodes or their slots have changed. A failed check does not count as a
    /// change.
    async fn topology_changes(&self, ring: &NodeConnections) {
        if let Deployment::Single(_) = self.settings.address.deployment {
            return std::future::pending().await;
        }
        loop {
            sleep(TOPOLOGY_CHECK).await;
            match topology::discover(&self.settings, &ring.plan.nodes).await {
                Ok(plan) if plan != ring.plan => return,
                _ => {}
            }
        }
    }
}

/// Pings every node, until one does not answer in time.
async fn heartbeat(ring: &NodeConnections) -> StoreError {
    loop {
        sleep(HEARTBEAT).await;
        let pings = ring.links.iter().map(|link| link.ask(redis::cmd("PING")));
        if let Err(error) = try_join_all(pings).await {
            return error;
        }
    }
}

/// Returns an error if a node is not a master yet, which can happen after a failover by sentinels.
async fn expect_master(ring: &NodeConnections) -> Result<(), StoreError> {
    for link in &ring.links {
        let reply = link.ask(redis::cmd("ROLE")).await?;
        if let Value::Array(parts) = &reply
            && let Some(Value::BulkString(role)) = parts.first()
            && role != b"master"
        {
            let role = String::from_utf8_lossy(role);
            let message = format!("redis at {} is a {role}, not yet the master", link.node);
            return Err(error::unavailable(message));
        }
    }
    Ok(())
}
