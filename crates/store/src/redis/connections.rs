//! Connections to all nodes, and the routing of commands by key.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::{join_all, try_join_all};
use quillet_core::store::StoreError;
use redis::{Cmd, PushInfo, PushKind, ServerErrorKind, Value};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};

use super::error;
use super::link::Link;
use super::settings::RedisSettings;
use super::slot::slot;
use super::topology::ClusterTopology;
use crate::address::RedisNode;

/// Kind of the markers among the push notifications; Redis does not use this name.
const MARK: &str = "quillet-mark";

/// A command with the key that determines its node.
#[derive(Clone, Debug)]
pub(crate) struct KeyedCommand {
    pub(crate) name: String,
    pub(crate) command: Cmd,
}

/// Commands for one node, with the indexes of their requests.
type NodeCommands = Vec<(usize, Cmd)>;

/// Connections to every data node. A single server is treated as one node.
#[derive(Debug)]
pub(crate) struct NodeConnections {
    pub(crate) plan: ClusterTopology,
    pub(crate) links: Vec<Link>,
    /// Notified when a reply shows that the topology has changed.
    pub(crate) moved: Arc<Notify>,
    marks: DeliveryMarks,
}

/// Markers among the notifications, which show how far they have been delivered.
#[derive(Debug)]
struct DeliveryMarks {
    notices: UnboundedSender<PushInfo>,
    last: AtomicI64,
    /// The last delivered marker.
    told: watch::Sender<i64>,
}

impl NodeConnections {
    /// Connects to all nodes. Fails if one does not answer, just as Redis rejects commands in an
    /// incomplete cluster.
    pub(crate) async fn open(
        settings: &RedisSettings,
        plan: ClusterTopology,
        pushes: &UnboundedSender<PushInfo>,
    ) -> Result<Self, StoreError> {
        let opening = plan
            .nodes
            .iter()
            .map(|node| Link::open(settings, node, pushes));
        // All nodes are connected concurrently, because connecting one after the other would take
        // one round trip per node.
        let links = try_join_all(opening).await?;
        Ok(NodeConnections {
            plan,
            links,
            moved: Arc::new(Notify::new()),
            marks: DeliveryMarks {
                notices: pushes.clone(),
                last: AtomicI64::new(0),
                told: watch::Sender::new(0),
            },
        })
    }

    /// Waits until the notifications of all earlier changes have been delivered.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        // Replies and notifications of a node share one ordered connection. After a node has
        // replied, its earlier notifications are in the channel, and the marker is added after
        // them.
        let pings = self.links.iter().map(|link| link.ask(redis::cmd("PING")));
        try_join_all(pings).await?;
        let mark = self.marks.last.fetch_add(1, Ordering::Relaxed) + 1;
        // The subscription starts before the mark is sent, so its arrival cannot be missed.
        let mut told = self.marks.told.subscribe();
        let sent = self.marks.notices.send(PushInfo {
            kind: PushKind::Other(MARK.to_owned()),
            data: vec![Value::Int(mark)],
        });
        let reached = async { told.wait_for(|told| *told >= mark).await.is_ok() };
        if sent.is_ok() && reached.await {
            Ok(())
        } else {
            Err(error::unavailable("the connection to redis has ended"))
        }
    }

    /// Records a delivered marker; `false` if the notification is not a marker.
    pub(crate) fn acknowledge_mark(&self, push: &PushInfo) -> bool {
        match (&push.kind, push.data.as_slice()) {
            (PushKind::Other(kind), [Value::Int(mark)]) if kind == MARK => {
                self.marks.told.send_if_modified(|told| {
                    // Several calls of `sync` may overlap, and the value must never go back.
                    let is_later = *mark > *told;
                    *told = (*told).max(*mark);
                    is_later
                });
                true
            }
            _ => false,
        }
    }

    /// Whether every node sends change notifications.
    pub(crate) fn tracked(&self) -> bool {
        self.links.iter().all(|link| link.tracked)
    }

    fn number_of(&self, name: &str) -> usize {
        let slots = self.plan.slots.as_ref();
        let number = slots.and_then(|slots| slots.get(slot(name.as_bytes())));
        number.map_or(0, |number| usize::from(*number))
    }

    /// Sends the commands to all nodes concurrently, in one round trip each. Returns one reply per
    /// command, in order.
    pub(crate) async fn run(
        &self,
        settings: &RedisSettings,
        requests: &[KeyedCommand],
    ) -> Result<Vec<Value>, StoreError> {
        let parts = self.links.iter().zip(self.parts(requests));
        let sent = parts.map(|(link, part)| send(link, part));
        let mut replies = vec![Value::Nil; requests.len()];
        for (place, reply) in try_join_all(sent).await?.into_iter().flatten() {
            if let Some(slot) = replies.get_mut(place) {
                *slot = reply;
            }
        }
        if replies.iter().any(error::is_elsewhere) {
            // The redirection is followed now and the topology is refreshed in the background, so
            // the caller need not wait for it.
            self.moved.notify_one();
        }
        self.follow(settings, requests, &mut replies).await;
        Ok(replies)
    }

    /// Groups the commands by connection.
    fn parts(&self, requests: &[KeyedCommand]) -> Vec<NodeCommands> {
        let mut parts = vec![NodeCommands::new(); self.links.len()];
        for (place, request) in requests.iter().enumerate() {
            if let Some(part) = parts.get_mut(self.number_of(&request.name)) {
                part.push((place, request.command.clone()));
            }
        }
        parts
    }

    /// Repeats redirected commands on the node that now has the key.
    async fn follow(
        &self,
        settings: &RedisSettings,
        requests: &[KeyedCommand],
        replies: &mut [Value],
    ) {
        let redirected = requests.iter().zip(replies).filter_map(|(request, reply)| {
            let (node, asking) = redirection(reply)?;
            Some(async move {
                // If this fails, the redirection remains the reply, and the caller reports it as an
                // error.
                if let Ok(answer) = self.ask_at(settings, node, asking, request).await {
                    *reply = answer;
                }
            })
        });
        join_all(redirected).await;
    }

    /// `asking` is set for a node that is importing the slot but does not own it yet.
    async fn ask_at(
        &self,
        settings: &RedisSettings,
        node: RedisNode,
        asking: bool,
        request: &KeyedCommand,
    ) -> Result<Value, StoreError> {
        let known = self.links.iter().find(|link| link.node == node);
        let link = match known {
            Some(link) => link.clone(),
            // This node joined after the last topology check. The connection is used only for this
            // command.
            None => Link::plain(settings, &node, &settings.address.login, 0).await?,
        };
        let mut commands = vec![request.command.clone()];
        if asking {
            // Without ASKING, a node that is importing a slot redirects back to the old owner.
            commands.insert(0, redis::cmd("ASKING"));
        }
        let replies = link.run(&commands).await;
        let mut replies = replies.map_err(|error| error::of_connection(&node, &error))?;
        Ok(replies.pop().unwrap_or(Value::Nil))
    }
}

async fn send(link: &Link, part: NodeCommands) -> Result<Vec<(usize, Value)>, StoreError> {
    if part.is_empty() {
        return Ok(Vec::new());
    }
    let (places, commands): (Vec<usize>, Vec<Cmd>) = part.into_iter().unzip();
    let replies = link.run(&commands).await;
    let replies = replies.map_err(|error| error::of_connection(&link.node, &error))?;
    Ok(places.into_iter().zip(replies).collect())
}

/// Parses the node in a reply `ASK <slot> <host>:<port>` or `MOVED <slot> <host>:<port>`, and
/// returns whether it is ASK.
fn redirection(reply: &Value) -> Option<(RedisNode, bool)> {
    let Value::ServerError(error) = reply else {
        return None;
    };
    let asking = match error.kind()? {
        ServerErrorKind::Ask => true,
        ServerErrorKind::Moved => false,
        _ => return None,
    };
    let (_, address) = error.details()?.split_once(' ')?;
    let (host, port) = address.rsplit_once(':')?;
    let node = RedisNode {
        host: host.to_owned(),
        port: port.parse().ok()?,
    };
    Some((node, asking))
}
