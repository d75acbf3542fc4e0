//! Questions on histories, and what to grant where they are refused.

use quillet_core::store::StoreError;
use redis::{ServerError, Value};

use super::super::client::RedisClient;
use super::super::connections::KeyedCommand;
use super::super::error;

/// What the commands of histories need, beyond what definitions do.
const RIGHTS: &str = "histories need the permissions +eval +get +@hash +xadd +xrevrange";

/// An error that Redis answered to a command on a history.
pub(crate) fn refused(name: &str, error: &ServerError) -> StoreError {
    let mut refused = error::of_reply(name, error);
    // A script that may not run one of its commands says so in words of its own.
    let details = error.details().unwrap_or_default();
    if error.code() == "NOPERM" || details.contains("can't run this command") {
        refused.message = format!("{}; {RIGHTS}", refused.message);
    }
    refused
}

/// Runs one request; an answer that is an error is one here, of what has this name.
pub(crate) async fn ask(
    client: &RedisClient,
    name: &str,
    request: KeyedCommand,
) -> Result<Value, StoreError> {
    let mut replies = client.run(&[request]).await?;
    match replies.pop().unwrap_or_default() {
        Value::ServerError(error) => Err(refused(name, &error)),
        reply => Ok(reply),
    }
}
