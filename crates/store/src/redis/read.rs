//! Finds keys and reads their values, within limits.

use std::sync::Arc;

use futures_util::future::try_join_all;
use quillet_core::Diagnostic;
use quillet_core::store::{EntryKey, EntryKind, StoreEntry, StoreError};
use redis::{Cmd, Value};

use super::connections::{KeyedCommand, NodeConnections};
use super::error;
use super::layout::KeyLayout;
use super::link::Link;
use super::settings::RedisSettings;

/// Number of keys per SCAN.
// The default of 10 would need a hundred times as many round trips.
const SCAN_COUNT: usize = 1000;
/// Number of keys per pipeline.
// This bounds the memory of one pipeline, because each value may have several mebibytes.
const CHUNK: usize = 512;

/// Value stored under a key.
#[derive(Clone, Debug)]
pub(crate) enum StoredText {
    /// A text.
    Text(Arc<str>),
    /// The key does not exist.
    Nothing,
    /// A value that is not a text, or is too long.
    Broken(Box<Diagnostic>),
}

/// Returns the keys of a kind, sorted.
pub(crate) async fn keys(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kind: EntryKind,
) -> Result<Vec<EntryKey>, StoreError> {
    let pattern = settings.layout.pattern(kind);
    let found = names(settings, ring, &pattern, KeyLayout::parse).await?;
    Ok(found.into_iter().map(|(_, key)| key).collect())
}

/// Function that parses a key name.
type Parse = fn(&KeyLayout, &[u8]) -> Option<(EntryKind, EntryKey)>;

/// Returns the keys that match a glob pattern, sorted.
pub(crate) async fn names(
    settings: &RedisSettings,
    ring: &NodeConnections,
    pattern: &str,
    parse: Parse,
) -> Result<Vec<(EntryKind, EntryKey)>, StoreError> {
    let scans = ring.links.iter();
    let scans = scans.map(|link| scan(settings, link, pattern, parse));
    let mut found = try_join_all(scans).await?.concat();
    // SCAN may return a key twice, and so may two nodes while a slot moves.
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Uses SCAN, because KEYS blocks the server for all clients.
async fn scan(
    settings: &RedisSettings,
    link: &Link,
    pattern: &str,
    parse: Parse,
) -> Result<Vec<(EntryKind, EntryKey)>, StoreError> {
    let mut found = Vec::new();
    // The cursor is stored as bytes, because it is an unsigned 64-bit number that is only sent
    // back.
    let mut cursor = b"0".to_vec();
    loop {
        let mut command = redis::cmd("SCAN");
        command
            .arg(&cursor)
            .arg("MATCH")
            .arg(pattern)
            .arg("COUNT")
            .arg(SCAN_COUNT);
        let (next, names) = page(link, link.ask(command).await?)?;
        let read = |name| key_of(&settings.layout, name, parse);
        found.extend(names.iter().filter_map(read));
        // SCAN may return empty pages before the end; only a zero cursor means that it is complete.
        if next == b"0" {
            return Ok(found);
        }
        cursor = next;
    }
}

fn page(link: &Link, reply: Value) -> Result<(Vec<u8>, Vec<Value>), StoreError> {
    match reply {
        Value::Array(parts) => match <[Value; 2]>::try_from(parts) {
            Ok([Value::BulkString(cursor), Value::Array(names)]) => Ok((cursor, names)),
            other => Err(error::unavailable(format!(
                "redis at {}: unexpected reply to SCAN: {other:?}",
                link.node
            ))),
        },
        Value::ServerError(error) => Err(error::of_reply("SCAN", &error)),
        other => Err(error::unavailable(format!(
            "redis at {}: unexpected reply to SCAN: {other:?}",
            link.node
        ))),
    }
}

fn key_of(layout: &KeyLayout, name: &Value, parse: Parse) -> Option<(EntryKind, EntryKey)> {
    let Value::BulkString(name) = name else {
        return None;
    };
    let parsed = parse(layout, name);
    if parsed.is_none() {
        let name = String::from_utf8_lossy(name);
        tracing::warn!(%name, "key without a UTF-8 name after its prefix: ignored");
    }
    parsed
}

/// Returns every entry of a kind, sorted by key.
pub(crate) async fn entries(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kind: EntryKind,
) -> Result<Vec<StoreEntry>, StoreError> {
    let keys = keys(settings, ring, kind).await?;
    entries_of(settings, ring, kind, &keys).await
}

/// Returns every entry of several kinds, in their order. All kinds share one pass over the keys,
/// because SCAN visits every key of the database regardless of the pattern.
pub(crate) async fn definitions(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kinds: &[EntryKind],
) -> Result<Vec<Vec<StoreEntry>>, StoreError> {
    let pattern = settings.layout.pattern_of_definitions();
    let names = names(settings, ring, &pattern, KeyLayout::parse).await?;
    let mut all = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let of_kind = names.iter().filter(|(of, _)| of == kind);
        let keys: Vec<EntryKey> = of_kind.map(|(_, key)| key.clone()).collect();
        all.push(entries_of(settings, ring, *kind, &keys).await?);
    }
    Ok(all)
}

/// Returns the entries of these keys. Keys that no longer exist are omitted.
pub(crate) async fn entries_of(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kind: EntryKind,
    keys: &[EntryKey],
) -> Result<Vec<StoreEntry>, StoreError> {
    let entries = entries_at(settings, ring, kind, keys).await?;
    Ok(entries.into_iter().flatten().collect())
}

/// Returns an optional entry for each key, in the same order.
pub(crate) async fn entries_at(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kind: EntryKind,
    keys: &[EntryKey],
) -> Result<Vec<Option<StoreEntry>>, StoreError> {
    let found = values(settings, ring, kind, keys).await?;
    let entry = |(key, found): (&EntryKey, StoredText)| match found {
        StoredText::Text(text) => {
            let origin = settings.layout.name(kind, key);
            Some(StoreEntry::new(key.clone(), text, origin))
        }
        StoredText::Broken(problem) => Some(StoreEntry::invalid(key.clone(), "", *problem)),
        StoredText::Nothing => None,
    };
    Ok(keys.iter().zip(found).map(entry).collect())
}

/// Returns the values of these keys in order. Needs one round trip, unless there are very many
/// keys.
pub(crate) async fn values(
    settings: &RedisSettings,
    ring: &NodeConnections,
    kind: EntryKind,
    keys: &[EntryKey],
) -> Result<Vec<StoredText>, StoreError> {
    let mut found = Vec::with_capacity(keys.len());
    for chunk in keys.chunks(CHUNK) {
        let requests: Vec<KeyedCommand> = chunk
            .iter()
            .flat_map(|key| requests(settings, kind, key))
            .collect();
        let mut replies = ring.run(settings, &requests).await?.into_iter();
        for request in requests.iter().step_by(2) {
            let text = replies.next().unwrap_or_default();
            let exists = replies.next().unwrap_or_default();
            found.push(judge(settings, &request.name, text, &exists)?);
        }
    }
    Ok(found)
}

/// Returns the commands that read a key. GETRANGE limits the size of the reply, but returns an
/// empty text for a missing key, so EXISTS is also needed.
fn requests(settings: &RedisSettings, kind: EntryKind, key: &EntryKey) -> [KeyedCommand; 2] {
    let name = settings.layout.name(kind, key);
    let mut range = with_name("GETRANGE", &name);
    range.arg(0).arg(settings.max_value_bytes);
    [range, with_name("EXISTS", &name)].map(|command| KeyedCommand {
        name: name.clone(),
        command,
    })
}

pub(crate) fn with_name(command: &str, name: &str) -> Cmd {
    let mut command = redis::cmd(command);
    command.arg(name);
    command
}

fn judge(
    settings: &RedisSettings,
    name: &str,
    text: Value,
    exists: &Value,
) -> Result<StoredText, StoreError> {
    let bytes = match text {
        Value::BulkString(bytes) => bytes,
        Value::ServerError(error) if error::is_wrong_type(&error) => return Ok(wrong_type(name)),
        Value::ServerError(error) => return Err(error::of_reply(name, &error)),
        other => {
            return Err(error::unavailable(format!(
                "unexpected reply of redis for {name}: {other:?}"
            )));
        }
    };
    if bytes.is_empty() && matches!(exists, Value::Int(0)) {
        return Ok(StoredText::Nothing);
    }
    if bytes.len() > settings.max_value_bytes {
        return Ok(too_long(settings, name));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => StoredText::Text(text.into()),
        Err(error) => not_text(name, error.utf8_error().valid_up_to()),
    })
}

fn broken(name: &str, message: impl Into<String>, help: &str) -> StoredText {
    let problem = Diagnostic::error("store.corrupt", name, message).help(help);
    StoredText::Broken(Box::new(problem))
}

fn wrong_type(name: &str) -> StoredText {
    let message = "the key holds a list, hash, set or stream, not a string";
    broken(name, message, "delete it and write the JSON with SET")
}

fn too_long(settings: &RedisSettings, name: &str) -> StoredText {
    let limit = settings.max_value_bytes;
    let message = format!("the value is longer than the limit of {limit} bytes (max_value_bytes)");
    broken(name, message, "make the value shorter or raise the limit")
}

fn not_text(name: &str, byte: usize) -> StoredText {
    let message = format!("invalid UTF-8 at byte offset {byte}");
    broken(name, message, "write JSON in UTF-8")
}
