//! Commands on histories, with errors that name missing permissions.

use quillet_core::store::StoreError;
use redis::{ServerError, Value};

use super::super::client::RedisClient;
use super::super::connections::KeyedCommand;
use super::super::error;

/// Additional permissions for histories.
const RIGHTS: &str = "histories need the permissions +eval +get +@hash +xadd +xrevrange";

/// Error reply to a command on a history.
pub(crate) fn refused(name: &str, error: &ServerError) -> StoreError {
    let mut refused = error::of_reply(name, error);
    // A script that may not run one of its commands fails with a different message.
    let details = error.details().unwrap_or_default();
    if error.code() == "NOPERM" || details.contains("can't run this command") {
        refused.message = format!("{}; {RIGHTS}", refused.message);
    }
    refused
}

/// Runs one command on the history `name`, and converts an error reply into an error.
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
