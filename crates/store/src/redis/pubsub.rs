//! Notifications by pub/sub messages.
//!
//! One dedicated connection serves all listeners. A notification only means that the state should
//! be read again; the state itself is always read from keys. Notifications are also sent after a
//! reconnect, because messages may have been missed.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::lock::lock;
use quillet_core::store::StoreError;
use redis::RedisResult;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::client::RedisClient;
use super::{error, link};
use crate::address::RedisNode;

/// Time without messages after which the connection is checked.
// A subscribed connection carries no commands, so without a ping a dead peer would go unnoticed.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// The notifiers of one process.
#[derive(Debug)]
pub(crate) struct Notifiers {
    tower: Arc<SubscriptionTask>,
    _listening: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct SubscriptionTask {
    bells: Mutex<HashMap<String, KeyNotifier>>,
    /// Names of notifiers whose channels may have to be subscribed or unsubscribed.
    wishes: mpsc::UnboundedSender<String>,
}

#[derive(Debug)]
struct KeyNotifier {
    listeners: usize,
    /// Whether the notifier has a separate channel.
    channel: bool,
    sender: watch::Sender<()>,
}

/// A listener of one notifier.
#[derive(Debug)]
pub(crate) struct Listener {
    tower: Arc<SubscriptionTask>,
    name: String,
    receiver: watch::Receiver<()>,
}

impl Listener {
    /// Waits for the next notification; returns immediately if there was one since the last call.
    pub(crate) async fn notified(&mut self) {
        // The task holds the sender while there are listeners, so this never fails.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tower.leave(&self.name);
    }
}

impl Notifiers {
    /// Subscribes to a common channel. The messages in every channel are names of notifiers.
    pub(crate) fn spawn(client: Arc<RedisClient>, common: String) -> Self {
        let (sender, wishes) = mpsc::unbounded_channel();
        let tower = Arc::new(SubscriptionTask {
            bells: Mutex::default(),
            wishes: sender,
        });
        let ringer = NotifyTask {
            client,
            common,
            tower: tower.clone(),
            wishes,
        };
        Notifiers {
            tower,
            _listening: AbortOnDropHandle::new(tokio::spawn(ringer.keep())),
        }
    }

    /// Creates a listener for a notifier; `channel` tells whether it has a separate channel.
    pub(crate) fn listen(&self, name: String, channel: bool) -> Listener {
        let receiver = self.tower.join(&name, channel);
        Listener {
            tower: self.tower.clone(),
            name,
            receiver,
        }
    }

    /// Notifies the listeners in this process.
    pub(crate) fn notify(&self, name: &str) {
        self.tower.notify(name);
    }
}

impl SubscriptionTask {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, KeyNotifier>) -> T) -> T {
        work(&mut lock(&self.bells))
    }

    fn join(&self, name: &str, channel: bool) -> watch::Receiver<()> {
        let (receiver, new) = self.with(|bells| {
            let bell = bells.entry(name.to_owned()).or_insert_with(|| KeyNotifier {
                listeners: 0,
                channel,
                sender: watch::Sender::new(()),
            });
            bell.listeners += 1;
            (bell.sender.subscribe(), bell.listeners == 1)
        });
        if new && channel {
            self.request_subscription(name);
        }
        receiver
    }

    fn leave(&self, name: &str) {
        // The entry is removed under the lock, so a listener that joins later creates a new one and
        // subscribes again.
        let silent = self.with(|bells| {
            let bell = bells.get_mut(name)?;
            bell.listeners -= 1;
            if bell.listeners > 0 {
                return None;
            }
            bells.remove(name)
        });
        if silent.is_some_and(|bell| bell.channel) {
            self.request_subscription(name);
        }
    }

    /// The receiving task runs until the whole process state is dropped, so sending does not fail
    /// before.
    fn request_subscription(&self, name: &str) {
        let _ = self.wishes.send(name.to_owned());
    }

    fn notify(&self, name: &str) {
        self.with(|bells| {
            if let Some(bell) = bells.get(name) {
                // `send_replace` also notifies if no receiver is listening at this moment, unlike
                // `send`.
                bell.sender.send_replace(());
            }
        });
    }

    fn notify_all(&self) {
        self.with(|bells| bells.values().for_each(|bell| bell.sender.send_replace(())));
    }

    fn channels(&self) -> Vec<String> {
        self.with(|bells| {
            let own = bells.iter().filter(|(_, bell)| bell.channel);
            own.map(|(name, _)| name.clone()).collect()
        })
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.with(|bells| bells.contains_key(name))
    }
}

/// Background task that receives messages.
struct NotifyTask {
    client: Arc<RedisClient>,
    common: String,
    tower: Arc<SubscriptionTask>,
    wishes: mpsc::UnboundedReceiver<String>,
}

impl NotifyTask {
    /// Never returns.
    async fn keep(mut self) {
        loop {
            let Err(error) = self.listen().await;
            tracing::debug!(%error, "no pub/sub messages");
            sleep(self.client.settings.retry_pause).await;
        }
    }

    async fn listen(&mut self) -> Result<Infallible, StoreError> {
        let ring = self.client.connections().await?;
        let Some(node) = ring.plan.nodes.first() else {
            return Err(error::unavailable("redis has no nodes"));
        };
        let (mut sink, mut messages) = link::listen(&self.client.settings, node).await?.split();
        // All channels are subscribed again, because Redis forgets subscriptions with the
        // connection.
        let mut channels = self.tower.channels();
        channels.push(self.common.clone());
        self.within(node, sink.subscribe(&channels)).await?;
        // Messages sent before the subscription are lost, so every listener must read the state
        // once.
        self.tower.notify_all();
        self.serve(node, &mut sink, &mut messages).await
    }

    async fn serve(
        &mut self,
        node: &RedisNode,
        sink: &mut PubSubSink,
        messages: &mut PubSubStream,
    ) -> Result<Infallible, StoreError> {
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(message) => {
                        self.tower.notify(&String::from_utf8_lossy(message.get_payload_bytes()));
                    }
                    None => return Err(error::unavailable("redis closed the connection")),
                },
                Some(name) = self.wishes.recv() => self.update_subscription(node, sink, &name).await?,
                () = sleep(HEARTBEAT) => self.check(node, sink).await?,
            }
        }
    }

    async fn update_subscription(
        &self,
        node: &RedisNode,
        sink: &mut PubSubSink,
        name: &str,
    ) -> Result<(), StoreError> {
        // The queue contains names, not actions. A listener may have left and another joined
        // meanwhile; the current state decides.
        if !self.tower.is_wanted(name) {
            return self.within(node, sink.unsubscribe(name)).await;
        }
        self.within(node, sink.subscribe(name)).await?;
        // Messages sent before the subscription are lost.
        self.tower.notify(name);
        Ok(())
    }

    /// Whether the node still answers and still belongs to the topology.
    async fn check(&self, node: &RedisNode, sink: &mut PubSubSink) -> Result<(), StoreError> {
        if !self.client.connections().await?.plan.nodes.contains(node) {
            return Err(error::unavailable(format!(
                "redis at {node} has left the cluster"
            )));
        }
        self.within(node, sink.ping::<redis::Value>()).await?;
        Ok(())
    }

    async fn within<T>(
        &self,
        node: &RedisNode,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, StoreError> {
        match timeout(self.client.settings.response_timeout, answer).await {
            Ok(answer) => answer.map_err(|error| error::of_connection(node, &error)),
            Err(_) => Err(error::unavailable(format!(
                "redis at {node} does not answer"
            ))),
        }
    }
}
