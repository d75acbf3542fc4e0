//! Messages of channels, as bells that ring.
//!
//! One connection of its own listens for everybody. A bell says only that it is time to look again,
//! and also rings when the connection was made again, since messages may have been missed: what is
//! so is always read from keys.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::store::StoreError;
use redis::RedisResult;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::client::Client;
use super::{fault, link};
use crate::address::Node;

/// Time without messages after which the connection is tried.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// The bells of one process.
#[derive(Debug)]
pub(crate) struct Bells {
    tower: Arc<Tower>,
    _listening: AbortOnDropHandle<()>,
}

#[derive(Debug)]
struct Tower {
    bells: Mutex<HashMap<String, Bell>>,
    /// Names of bells whose channels may have to be listened to, or no longer.
    wishes: mpsc::UnboundedSender<String>,
}

#[derive(Debug)]
struct Bell {
    listeners: usize,
    /// Whether it has a channel of its own name.
    channel: bool,
    sender: watch::Sender<()>,
}

/// Somebody who waits for a bell.
#[derive(Debug)]
pub(crate) struct Listener {
    tower: Arc<Tower>,
    name: String,
    receiver: watch::Receiver<()>,
}

impl Listener {
    /// Waits until the bell rings; at once if it has since the last time.
    pub(crate) async fn rings(&mut self) {
        // The tower holds the sender for as long as somebody listens.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tower.leave(&self.name);
    }
}

impl Bells {
    /// Listens to one channel for all; its messages, and those of every other channel,
    /// are names of bells.
    pub(crate) fn hang(client: Arc<Client>, common: String) -> Self {
        let (sender, wishes) = mpsc::unbounded_channel();
        let tower = Arc::new(Tower {
            bells: Mutex::default(),
            wishes: sender,
        });
        let ringer = Ringer {
            client,
            common,
            tower: tower.clone(),
            wishes,
        };
        Bells {
            tower,
            _listening: AbortOnDropHandle::new(tokio::spawn(ringer.keep())),
        }
    }

    /// Waits for a bell, which has a channel of its own or not.
    pub(crate) fn listen(&self, name: String, channel: bool) -> Listener {
        let receiver = self.tower.join(&name, channel);
        Listener {
            tower: self.tower.clone(),
            name,
            receiver,
        }
    }

    /// Rings a bell in this process.
    pub(crate) fn ring(&self, name: &str) {
        self.tower.ring(name);
    }
}

impl Tower {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Bell>) -> T) -> T {
        work(&mut self.bells.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn join(&self, name: &str, channel: bool) -> watch::Receiver<()> {
        let (receiver, new) = self.with(|bells| {
            let bell = bells.entry(name.to_owned()).or_insert_with(|| Bell {
                listeners: 0,
                channel,
                sender: watch::Sender::new(()),
            });
            bell.listeners += 1;
            (bell.sender.subscribe(), bell.listeners == 1)
        });
        if new && channel {
            self.wish(name);
        }
        receiver
    }

    fn leave(&self, name: &str) {
        let silent = self.with(|bells| {
            let bell = bells.get_mut(name)?;
            bell.listeners -= 1;
            if bell.listeners > 0 {
                return None;
            }
            bells.remove(name)
        });
        if silent.is_some_and(|bell| bell.channel) {
            self.wish(name);
        }
    }

    /// The task that receives these ends only with everything else, so sending does not fail
    /// before.
    fn wish(&self, name: &str) {
        let _ = self.wishes.send(name.to_owned());
    }

    fn ring(&self, name: &str) {
        self.with(|bells| {
            if let Some(bell) = bells.get(name) {
                bell.sender.send_replace(());
            }
        });
    }

    fn ring_all(&self) {
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

/// The task that listens.
struct Ringer {
    client: Arc<Client>,
    common: String,
    tower: Arc<Tower>,
    wishes: mpsc::UnboundedReceiver<String>,
}

impl Ringer {
    /// Never ends.
    async fn keep(mut self) {
        loop {
            let Err(error) = self.listen().await;
            tracing::debug!(%error, "no messages of channels");
            sleep(self.client.settings.retry_pause).await;
        }
    }

    async fn listen(&mut self) -> Result<Infallible, StoreError> {
        let ring = self.client.ring().await?;
        let Some(node) = ring.plan.nodes.first() else {
            return Err(fault::unavailable("redis has no nodes"));
        };
        let (mut sink, mut messages) = link::listen(&self.client.settings, node).await?.split();
        let mut channels = self.tower.channels();
        channels.push(self.common.clone());
        self.within(node, sink.subscribe(&channels)).await?;
        self.tower.ring_all();
        self.serve(node, &mut sink, &mut messages).await
    }

    async fn serve(
        &mut self,
        node: &Node,
        sink: &mut PubSubSink,
        messages: &mut PubSubStream,
    ) -> Result<Infallible, StoreError> {
        loop {
            tokio::select! {
                message = messages.next() => match message {
                    Some(message) => {
                        self.tower.ring(&String::from_utf8_lossy(message.get_payload_bytes()));
                    }
                    None => return Err(fault::unavailable("redis closed the connection")),
                },
                Some(name) = self.wishes.recv() => self.fulfil(node, sink, &name).await?,
                () = sleep(HEARTBEAT) => self.check(node, sink).await?,
            }
        }
    }

    async fn fulfil(
        &self,
        node: &Node,
        sink: &mut PubSubSink,
        name: &str,
    ) -> Result<(), StoreError> {
        if !self.tower.is_wanted(name) {
            return self.within(node, sink.unsubscribe(name)).await;
        }
        self.within(node, sink.subscribe(name)).await?;
        // What was said before is said no more.
        self.tower.ring(name);
        Ok(())
    }

    /// Whether the node still answers, and still belongs to the others.
    async fn check(&self, node: &Node, sink: &mut PubSubSink) -> Result<(), StoreError> {
        if !self.client.ring().await?.plan.nodes.contains(node) {
            return Err(fault::unavailable(format!("redis at {node} has left")));
        }
        self.within(node, sink.ping::<redis::Value>()).await?;
        Ok(())
    }

    async fn within<T>(
        &self,
        node: &Node,
        answer: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, StoreError> {
        match timeout(self.client.settings.response_timeout, answer).await {
            Ok(answer) => answer.map_err(|error| fault::of_connection(node, &error)),
            Err(_) => Err(fault::unavailable(format!(
                "redis at {node} does not answer"
            ))),
        }
    }
}
