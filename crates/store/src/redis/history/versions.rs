//! Reads versions. They are immutable, so no script needs to read them together with the
//! definition.

use quillet_core::history::{Version, VersionRecord};
use quillet_core::store::{EntryKey, EntryKind, StoreError};
use redis::Value;

use super::super::client::RedisClient;
use super::super::connections::KeyedCommand;
use super::super::error::corrupt;
use super::super::layout::KeyLayout;
use super::super::read::{self, with_name};
use super::super::script::{list, script, text};
use super::ask::{ask, refused};
use super::content;
use super::exchange::version;
use super::numbers::VersionRanges;

/// Number of versions per command.
const PAGE: usize = 1000;

/// KEYS: history. ARGV: number. Returns the version and its content. Quotation marks inside JSON
/// texts are escaped, so the pattern only matches the digest member.
const KEPT: &str = "
local version = redis.call('HGET', KEYS[1], 'v' .. ARGV[1])
if not version then return {} end
local digest = string.match(version, '\"digest\":\"(%x+)\"') or ''
return {version, redis.call('HGET', KEYS[1], 't' .. digest)}";

fn fields(command: &str, history: &str, fields: &[String]) -> KeyedCommand {
    let mut command = with_name(command, history);
    command.arg(fields);
    KeyedCommand {
        name: history.to_owned(),
        command,
    }
}

async fn numbers(client: &RedisClient, history: &str) -> Result<VersionRanges, StoreError> {
    let request = fields("HGET", history, &["numbers".to_owned()]);
    let reply = ask(client, history, request).await?;
    let numbers = VersionRanges::parse(&text(reply).unwrap_or_default());
    numbers.ok_or_else(|| corrupt(history, "its field `numbers` is invalid"))
}

/// Returns the versions with these numbers in order; missing ones are omitted.
pub(super) async fn numbered(
    client: &RedisClient,
    history: &str,
    numbers: &[u64],
) -> Result<Vec<Version>, StoreError> {
    let mut found = Vec::new();
    for page in numbers.chunks(PAGE) {
        let names: Vec<String> = page.iter().map(|number| format!("v{number}")).collect();
        let values = list(ask(client, history, fields("HMGET", history, &names)).await?);
        for value in &values {
            found.extend(version(history, value)?);
        }
    }
    Ok(found)
}

pub(super) async fn below(
    client: &RedisClient,
    kind: EntryKind,
    key: &EntryKey,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Version>, StoreError> {
    let history = client.settings.layout.history(kind, key);
    let numbers = numbers(client, &history).await?;
    let mut older = numbers.below(before);
    let mut found = Vec::new();
    // Some may have been deleted since; a short page would mean that there are no more.
    while found.len() < limit {
        let most = PAGE.min(limit - found.len());
        let page: Vec<u64> = older.by_ref().take(most).collect();
        if page.is_empty() {
            break;
        }
        found.extend(numbered(client, &history, &page).await?);
    }
    Ok(found)
}

pub(super) async fn find(
    client: &RedisClient,
    kind: EntryKind,
    key: &EntryKey,
    digits: &str,
) -> Result<Option<Version>, StoreError> {
    let mut before = None;
    loop {
        let page = below(client, kind, key, before, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(None);
        };
        before = Some(last.number);
        let begins = |one: &Version| !one.removed && one.digest.to_string().starts_with(digits);
        if let Some(found) = page.into_iter().find(begins) {
            return Ok(Some(found));
        }
    }
}

pub(super) async fn load_records(
    client: &RedisClient,
    kind: EntryKind,
    wanted: &[(EntryKey, u64)],
) -> Result<Vec<Option<VersionRecord>>, StoreError> {
    let request = |(key, number): &(EntryKey, u64)| {
        let history = client.settings.layout.history(kind, key);
        script(KEPT, &[&history], &[number.to_string()])
    };
    let requests: Vec<KeyedCommand> = wanted.iter().map(request).collect();
    let replies = client.run(&requests).await?;
    let mut all = Vec::with_capacity(wanted.len());
    for (KeyedCommand { name, .. }, reply) in requests.iter().zip(replies) {
        all.push(one(client, name, reply).await?);
    }
    Ok(all)
}

/// Parses a version with its content from a reply of [`KEPT`].
async fn one(
    client: &RedisClient,
    history: &str,
    reply: Value,
) -> Result<Option<VersionRecord>, StoreError> {
    let values = match reply {
        Value::ServerError(error) => return Err(refused(history, &error)),
        reply => list(reply),
    };
    let Ok([json, stored]) = <[Value; 2]>::try_from(values) else {
        return Ok(None);
    };
    let Some(version) = version(history, &json)? else {
        return Ok(None);
    };
    let content = match stored {
        _ if version.removed => None,
        Value::BulkString(stored) => {
            let longest = client.settings.max_value_bytes;
            Some(content::unpacked(history, stored, longest).await?)
        }
        _ => return Ok(None),
    };
    Ok(Some(VersionRecord { version, content }))
}

pub(super) async fn keys(
    client: &RedisClient,
    kind: EntryKind,
) -> Result<Vec<EntryKey>, StoreError> {
    let ring = client.connections().await?;
    let settings = &client.settings;
    let pattern = settings.layout.pattern_of_histories();
    let found = read::names(settings, &ring, &pattern, KeyLayout::parse_history).await?;
    let of_kind = found.into_iter().filter(|(of, _)| *of == kind);
    Ok(of_kind.map(|(_, key)| key).collect())
}
