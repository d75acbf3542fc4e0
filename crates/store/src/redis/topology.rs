//! Data nodes and their hash slots.

use std::collections::HashMap;

use quillet_core::store::StoreError;
use redis::Value;

use super::error::unavailable;
use super::link::Link;
use super::settings::RedisSettings;
use super::slot::SLOTS;
use crate::address::{Deployment, Login, RedisNode};

/// Nodes to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterTopology {
    /// The masters.
    pub(crate) nodes: Vec<RedisNode>,
    /// Index of the node for each slot; `None` outside a cluster.
    pub(crate) slots: Option<Vec<u16>>,
}

impl ClusterTopology {
    fn single(node: RedisNode) -> Self {
        ClusterTopology {
            nodes: vec![node],
            slots: None,
        }
    }
}

/// Discovers the nodes. `known` are those of the last topology: in a cluster they may be available
/// when those in the address are not.
pub(crate) async fn discover(
    settings: &RedisSettings,
    known: &[RedisNode],
) -> Result<ClusterTopology, StoreError> {
    match &settings.address.deployment {
        Deployment::Single(node) => Ok(ClusterTopology::single(node.clone())),
        Deployment::Sentinel { sentinels, master } => {
            let answers = |link| master_of(link, master);
            first_answer(
                settings,
                sentinels,
                &settings.address.sentinel_login,
                answers,
            )
            .await
        }
        Deployment::Cluster(seeds) => {
            let nodes: Vec<RedisNode> = seeds.iter().chain(known).cloned().collect();
            first_answer(settings, &nodes, &settings.address.login, slots_of).await
        }
    }
}

/// Asks the nodes in order until one answers.
async fn first_answer<F: Future<Output = Result<ClusterTopology, StoreError>>>(
    settings: &RedisSettings,
    nodes: &[RedisNode],
    login: &Login,
    question: impl Fn(Link) -> F,
) -> Result<ClusterTopology, StoreError> {
    let mut reasons = Vec::new();
    for node in nodes {
        let answer = match Link::plain(settings, node, login, 0).await {
            Ok(link) => question(link).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(plan) => return Ok(plan),
            Err(error) => reasons.push(error.message),
        }
    }
    Err(unavailable(reasons.join("; ")))
}

async fn master_of(sentinel: Link, master: &str) -> Result<ClusterTopology, StoreError> {
    let mut command = redis::cmd("SENTINEL");
    command.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
    let reply = sentinel.ask(command).await?;
    if let Value::Array(parts) = &reply
        && let [host, port] = parts.as_slice()
        && let (Some(host), Some(port)) = (text(host), text(port))
        && let Ok(port) = port.parse()
    {
        return Ok(ClusterTopology::single(RedisNode { host, port }));
    }
    let node = &sentinel.node;
    Err(unavailable(match reply {
        Value::ServerError(error) => format!("sentinel {node}: {error}"),
        _ => format!("sentinel {node} has no master {master:?}"),
    }))
}

async fn slots_of(node: Link) -> Result<ClusterTopology, StoreError> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SLOTS");
    match node.ask(command).await? {
        Value::Array(ranges) => plan_of(&node.node, &ranges),
        Value::ServerError(error) => Err(unavailable(format!("redis at {}: {error}", node.node))),
        other => Err(unavailable(format!(
            "redis at {}: unexpected reply to CLUSTER SLOTS: {other:?}",
            node.node
        ))),
    }
}

/// Parses the reply to CLUSTER SLOTS: ranges of `[first, last, [host, port, …], …]`.
fn plan_of(asked: &RedisNode, ranges: &[Value]) -> Result<ClusterTopology, StoreError> {
    let mut numbers = HashMap::new();
    let mut nodes = Vec::new();
    let mut slots = vec![None; SLOTS];
    for range in ranges {
        let Some((first, last, node)) = range_of(asked, range) else {
            return Err(unavailable(format!(
                "redis at {asked}: unexpected range in CLUSTER SLOTS: {range:?}"
            )));
        };
        let number = *numbers.entry(node.clone()).or_insert_with(|| {
            nodes.push(node);
            u16::try_from(nodes.len() - 1).unwrap_or(u16::MAX)
        });
        for slot in slots.iter_mut().take(last + 1).skip(first) {
            *slot = Some(number);
        }
    }
    let covered: Option<Vec<u16>> = slots.into_iter().collect();
    match covered {
        Some(slots) => Ok(ClusterTopology {
            nodes,
            slots: Some(slots),
        }),
        None => Err(unavailable(format!(
            "redis at {asked}: the cluster does not cover all slots"
        ))),
    }
}

fn range_of(asked: &RedisNode, range: &Value) -> Option<(usize, usize, RedisNode)> {
    let Value::Array(parts) = range else {
        return None;
    };
    let [
        Value::Int(first),
        Value::Int(last),
        Value::Array(master),
        ..,
    ] = parts.as_slice()
    else {
        return None;
    };
    let [host, Value::Int(port), ..] = master.as_slice() else {
        return None;
    };
    // A node that does not know its own host name returns an empty one, so the host is the node
    // that was asked.
    let host = text(host).filter(|host| !host.is_empty());
    let node = RedisNode {
        host: host.unwrap_or_else(|| asked.host.clone()),
        port: u16::try_from(*port).ok()?,
    };
    Some((
        usize::try_from(*first).ok()?,
        usize::try_from(*last).ok()?,
        node,
    ))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}
