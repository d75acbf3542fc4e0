//! Keeps the store connected: connects, watches the connections, reports changes and reconnects.

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

/// Pause after a first failure; doubled up to `retry_pause`.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// Time between two questions whether a node still answers.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Time between two questions who holds what, in a cluster or with sentinels. A
/// slot that moved or a master that was replaced is noticed at once by other means.
const TOPOLOGY_CHECK: Duration = Duration::from_secs(5);
/// One notice of more keys than this is reported as changes of whole kinds.
const MANY: usize = 256;

/// How the store stands.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionState {
    /// The first attempt to connect is under way.
    Connecting,
    /// Connected.
    Up(Arc<NodeConnections>),
    /// Not connected, and why.
    Away(StoreError),
}

/// What the watching ended in.
enum WatchEnd {
    /// The ring is of no use any more.
    Lost(StoreError),
    /// The ring serves on until another one is made: the nodes' parts have changed.
    Moved,
}

/// The task behind a store.
#[derive(Debug)]
pub(crate) struct ConnectionManager {
    pub(crate) settings: Arc<RedisSettings>,
    pub(crate) state: watch::Sender<ConnectionState>,
    pub(crate) hub: ChangeBus,
}

impl ConnectionManager {
    /// Never ends; dropping the future closes all links.
    pub(crate) async fn run(self) {
        let mut known = Vec::new();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect(&known).await {
                Ok((ring, pushes)) => {
                    // The nodes found last time are asked as well: the configured ones may have
                    // been replaced.
                    known.clone_from(&ring.plan.nodes);
                    self.up(&ring);
                    let start = Instant::now();
                    // After a topology change the old connections stay in use until new ones are
                    // open, so calls do not fail during a slot migration.
                    if let WatchEnd::Lost(error) = self.watch(&ring, pushes).await {
                        self.away(error);
                    }
                    // A ring that is lost at once, again and again, must not keep us busy.
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

    /// Changes may have been missed unless this is the first ring.
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
        // One warning per outage, not one per attempt.
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

    /// Tells the changes that the nodes push, until one of them closes its link.
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
        // Links without notices hold no sender: nothing will ever come.
        std::future::pending().await
    }

    /// The data is a list of names, or nil after FLUSHALL.
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
        // Polling replaces notifications that the server does not send. Clients that need none skip
        // both.
        if ring.tracked() || !self.settings.notices {
            return std::future::pending().await;
        }
        poll::watch(&self.settings, ring, &self.hub).await
    }

    /// Ends when the nodes or their parts are others. Not knowing is no change.
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

/// Asks every node whether it is there, until one does not answer in time.
async fn heartbeat(ring: &NodeConnections) -> StoreError {
    loop {
        sleep(HEARTBEAT).await;
        let pings = ring.links.iter().map(|link| link.ask(redis::cmd("PING")));
        if let Err(error) = try_join_all(pings).await {
            return error;
        }
    }
}

/// Sentinels may name a node that has not become the master yet.
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
