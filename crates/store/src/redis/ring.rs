//! All links of a moment, and which of them a key is asked on.

use futures_util::future::{join_all, try_join_all};
use quillet_core::store::StoreError;
use redis::{Cmd, PushInfo, ServerErrorKind, Value};
use tokio::sync::mpsc::UnboundedSender;

use super::fault;
use super::link::Link;
use super::settings::Settings;
use super::slot::slot;
use super::topology::Plan;
use crate::address::Node;

/// A command and the key that says where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) name: String,
    pub(crate) command: Cmd,
}

/// Links to every node that holds data. One server is a ring of one.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) plan: Plan,
    pub(crate) links: Vec<Link>,
}

impl Ring {
    /// Connects to all nodes; one that does not answer fails the ring, as Redis
    /// itself refuses a cluster that is not whole.
    pub(crate) async fn open(
        settings: &Settings,
        plan: Plan,
        pushes: &UnboundedSender<PushInfo>,
    ) -> Result<Self, StoreError> {
        let opening = plan
            .nodes
            .iter()
            .map(|node| Link::open(settings, node, pushes));
        let links = try_join_all(opening).await?;
        Ok(Ring { plan, links })
    }

    /// Whether every node sends notices of changes.
    pub(crate) fn tracked(&self) -> bool {
        self.links.iter().all(|link| link.tracked)
    }

    fn number_of(&self, name: &str) -> usize {
        let slots = self.plan.slots.as_ref();
        let number = slots.and_then(|slots| slots.get(slot(name.as_bytes())));
        number.map_or(0, |number| usize::from(*number))
    }

    /// Sends all requests, to all nodes at the same time and in one round trip
    /// each; one reply for each request, in order.
    pub(crate) async fn run(
        &self,
        settings: &Settings,
        requests: &[Request],
    ) -> Result<Vec<Value>, StoreError> {
        let mut parts = vec![(Vec::new(), Vec::new()); self.links.len()];
        for (index, request) in requests.iter().enumerate() {
            if let Some((indices, commands)) = parts.get_mut(self.number_of(&request.name)) {
                indices.push(index);
                commands.push(request.command.clone());
            }
        }
        let sent = self
            .links
            .iter()
            .zip(parts)
            .map(|(link, (indices, commands))| async move {
                if commands.is_empty() {
                    return Ok(Vec::new());
                }
                let replies = link.run(&commands).await;
                let replies = replies.map_err(|error| fault::of_connection(&link.node, &error))?;
                Ok::<_, StoreError>(indices.into_iter().zip(replies).collect())
            });
        let mut replies = vec![Value::Nil; requests.len()];
        for (index, reply) in try_join_all(sent).await?.into_iter().flatten() {
            if let Some(place) = replies.get_mut(index) {
                *place = reply;
            }
        }
        self.follow(settings, requests, &mut replies).await;
        Ok(replies)
    }

    /// Asks again where a node that is handing a slot over says to.
    async fn follow(&self, settings: &Settings, requests: &[Request], replies: &mut [Value]) {
        let redirected = requests.iter().zip(replies).filter_map(|(request, reply)| {
            let node = redirection(reply)?;
            Some(async move {
                if let Ok(answer) = self.ask_at(settings, node, request).await {
                    *reply = answer;
                }
            })
        });
        join_all(redirected).await;
    }

    async fn ask_at(
        &self,
        settings: &Settings,
        node: Node,
        request: &Request,
    ) -> Result<Value, StoreError> {
        let known = self.links.iter().find(|link| link.node == node);
        let link = match known {
            Some(link) => link.clone(),
            None => Link::plain(settings, &node, &settings.address.login, 0).await?,
        };
        let commands = [redis::cmd("ASKING"), request.command.clone()];
        let replies = link.run(&commands).await;
        let replies = replies.map_err(|error| fault::of_connection(&node, &error))?;
        Ok(replies.into_iter().nth(1).unwrap_or(Value::Nil))
    }
}

/// The node of an `ASK <slot> <host>:<port>` reply.
fn redirection(reply: &Value) -> Option<Node> {
    let Value::ServerError(error) = reply else {
        return None;
    };
    if error.kind() != Some(ServerErrorKind::Ask) {
        return None;
    }
    let (_, address) = error.details()?.split_once(' ')?;
    let (host, port) = address.rsplit_once(':')?;
    Some(Node {
        host: host.to_owned(),
        port: port.parse().ok()?,
    })
}
