//! Conversion of Redis errors into store errors.

use quillet_core::store::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind, Value};

use crate::address::RedisNode;

pub(crate) fn unavailable(message: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, message)
}

/// Error that ended the connection to a node.
pub(crate) fn of_connection(node: &RedisNode, error: &RedisError) -> StoreError {
    let kind = match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) => StoreErrorKind::Refused,
        (_, Some("WRONGPASS" | "NOAUTH" | "NOPERM")) => StoreErrorKind::Refused,
        (ErrorKind::InvalidClientConfig, _) => StoreErrorKind::Configuration,
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, format!("redis at {node}: {error}"))
}

/// Error reply to one command.
pub(crate) fn of_reply(name: &str, error: &ServerError) -> StoreError {
    let text = format!("redis refused {name}: {}", described(error));
    let kind = match error.kind() {
        Some(
            ServerErrorKind::BusyLoading
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::TryAgain
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask,
        ) => StoreErrorKind::Unavailable,
        _ if is_wrong_type(error) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Refused,
    };
    StoreError::new(kind, text)
}

/// Error for a stored value with an unexpected format.
pub(crate) fn corrupt(name: &str, what: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Corrupt,
        format!("{name}: {what}; delete it"),
    )
}

fn described(error: &ServerError) -> String {
    format!("{} {}", error.code(), error.details().unwrap_or_default())
}

pub(crate) fn is_wrong_type(error: &ServerError) -> bool {
    error.code() == "WRONGTYPE"
}

/// Whether a reply shows that the topology has changed: a slot has moved, or the master has become
/// a replica.
pub(crate) fn is_elsewhere(reply: &Value) -> bool {
    let Value::ServerError(error) = reply else {
        return false;
    };
    matches!(
        error.kind(),
        Some(ServerErrorKind::Moved | ServerErrorKind::ReadOnly)
    )
}
