//! Audit log: a stream with consecutive entry numbers.

use quillet_core::history::{LogEntry, LogFilter};
use quillet_core::store::{StoreError, StoreErrorKind};
use redis::Value;

use super::super::client::RedisClient;
use super::super::connections::KeyedCommand;
use super::super::error::corrupt;
use super::super::read::with_name;
use super::super::script::{list, script, text};
use super::ask::ask;
use crate::history::log::MOST_LINES;

/// Name of the stream after the prefix.
const LOG: &str = "log";
/// Number of entries per command, which limits how long other clients wait.
const PAGE: usize = 500;

/// KEYS: log. ARGV: entry as JSON, maximum number of entries. The first part of a stream id is the
/// entry number.
const APPEND: &str = "
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local number = newest and string.match(newest[1], '%d+') + 1 or 1
local id = string.format('%.0f-0', number)
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], id, 'entry', ARGV[1])
return number";

pub(super) async fn append(client: &RedisClient, entry: &LogEntry) -> Result<(), StoreError> {
    let name = client.settings.layout.group(LOG);
    let json = serde_json::to_string(entry);
    let json = json.map_err(|error| StoreError::new(StoreErrorKind::Refused, error.to_string()))?;
    ask(
        client,
        &name,
        script(APPEND, &[&name], &[json, MOST_LINES.to_string()]),
    )
    .await?;
    Ok(())
}

pub(super) async fn below(
    client: &RedisClient,
    filter: &LogFilter,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<LogEntry>, StoreError> {
    let mut found = Vec::new();
    let mut before = before;
    while found.len() < limit {
        let entries = page(client, before).await?;
        let Some(last) = entries.last() else {
            break;
        };
        before = Some(last.number);
        found.extend(entries.into_iter().filter(|entry| filter.matches(entry)));
    }
    found.truncate(limit);
    Ok(found)
}

async fn page(client: &RedisClient, before: Option<u64>) -> Result<Vec<LogEntry>, StoreError> {
    let name = client.settings.layout.group(LOG);
    let highest = before.map_or("+".to_owned(), |before| {
        before.saturating_sub(1).to_string()
    });
    let mut command = with_name("XREVRANGE", &name);
    command.arg(highest).arg("-").arg("COUNT").arg(PAGE);
    let request = KeyedCommand {
        name: name.clone(),
        command,
    };
    let entries = list(ask(client, &name, request).await?).into_iter();
    let read = entries
        .map(|entry| read(entry).ok_or_else(|| corrupt(&name, "its value is not a log entry")));
    read.collect()
}

/// Parses a stream entry: its id, and names and values of its fields.
fn read(entry: Value) -> Option<LogEntry> {
    let [id, fields] = <[Value; 2]>::try_from(list(entry)).ok()?;
    let (id, json) = (text(id)?, text(list(fields).into_iter().nth(1)?)?);
    let entry: LogEntry = serde_json::from_str(&json).ok()?;
    Some(LogEntry {
        number: id.split('-').next()?.parse().ok()?,
        ..entry
    })
}
