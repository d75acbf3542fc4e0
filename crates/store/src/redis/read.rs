//! Finding keys and reading their values, with bounds.

use std::sync::Arc;

use futures_util::future::try_join_all;
use quillet_core::Diagnostic;
use quillet_core::store::{Entry, Key, Kind, StoreError};
use redis::{Cmd, Value};

use super::fault;
use super::link::Link;
use super::ring::{Request, Ring};
use super::settings::Settings;

/// Keys that one SCAN looks at.
const SCAN_COUNT: usize = 1000;
/// Keys that one pipeline reads.
const CHUNK: usize = 512;

/// What rests under a key.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// A text.
    Text(Arc<str>),
    /// No such key.
    Nothing,
    /// Something that is not a text, or too long.
    Broken(Box<Diagnostic>),
}

/// The keys of a kind, sorted.
pub(crate) async fn keys(
    settings: &Settings,
    ring: &Ring,
    kind: Kind,
) -> Result<Vec<Key>, StoreError> {
    let scans = ring.links.iter().map(|link| scan(settings, link, kind));
    let mut keys = try_join_all(scans).await?.concat();
    // SCAN may give a key twice, and so may two nodes while a slot moves.
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

async fn scan(settings: &Settings, link: &Link, kind: Kind) -> Result<Vec<Key>, StoreError> {
    let pattern = settings.layout.pattern(kind);
    let mut keys = Vec::new();
    let mut cursor = b"0".to_vec();
    loop {
        let mut command = redis::cmd("SCAN");
        command
            .arg(&cursor)
            .arg("MATCH")
            .arg(&pattern)
            .arg("COUNT")
            .arg(SCAN_COUNT);
        let (next, names) = page(link, link.ask(command).await?)?;
        keys.extend(names.iter().filter_map(|name| key_of(settings, name)));
        if next == b"0" {
            return Ok(keys);
        }
        cursor = next;
    }
}

fn page(link: &Link, reply: Value) -> Result<(Vec<u8>, Vec<Value>), StoreError> {
    match reply {
        Value::Array(parts) => match <[Value; 2]>::try_from(parts) {
            Ok([Value::BulkString(cursor), Value::Array(names)]) => Ok((cursor, names)),
            other => Err(fault::unavailable(format!(
                "redis at {}: SCAN gave {other:?}",
                link.node
            ))),
        },
        Value::ServerError(error) => Err(fault::of_reply("SCAN", &error)),
        other => Err(fault::unavailable(format!(
            "redis at {}: SCAN gave {other:?}",
            link.node
        ))),
    }
}

fn key_of(settings: &Settings, name: &Value) -> Option<Key> {
    let Value::BulkString(name) = name else {
        return None;
    };
    let key = settings.layout.parse(name);
    if key.is_none() {
        let name = String::from_utf8_lossy(name);
        tracing::warn!(%name, "this key has no name after its prefix, or none in UTF-8: left out");
    }
    key.map(|(_, key)| key)
}

/// Every entry of a kind, sorted by key. A key that vanishes meanwhile is left out.
pub(crate) async fn entries(
    settings: &Settings,
    ring: &Ring,
    kind: Kind,
) -> Result<Vec<Entry>, StoreError> {
    let keys = keys(settings, ring, kind).await?;
    let mut entries = Vec::with_capacity(keys.len());
    for chunk in keys.chunks(CHUNK) {
        let replies = ring.run(settings, &requests(settings, kind, chunk)).await?;
        let found = found(settings, kind, chunk, replies)?;
        entries.extend(chunk.iter().zip(found).filter_map(|(key, found)| {
            let origin = settings.layout.name(kind, key);
            match found {
                Found::Text(text) => Some(Entry::new(key.clone(), text, origin)),
                Found::Broken(problem) => Some(Entry::broken(key.clone(), "", *problem)),
                Found::Nothing => None,
            }
        }));
    }
    Ok(entries)
}

/// The commands that read these keys, two for each: GETRANGE bounds what is sent,
/// and since it gives an empty text for a key that is not there, EXISTS tells the two apart.
pub(crate) fn requests(settings: &Settings, kind: Kind, keys: &[Key]) -> Vec<Request> {
    let names = keys.iter().map(|key| settings.layout.name(kind, key));
    let both = names.flat_map(|name| {
        let mut range = redis::cmd("GETRANGE");
        range.arg(&name).arg(0).arg(settings.max_value_bytes);
        [range, with_name("EXISTS", &name)].map(|command| Request {
            name: name.clone(),
            command,
        })
    });
    both.collect()
}

pub(crate) fn with_name(command: &str, name: &str) -> Cmd {
    let mut command = redis::cmd(command);
    command.arg(name);
    command
}

/// What the replies to [`requests`] say, in the order of the keys.
pub(crate) fn found(
    settings: &Settings,
    kind: Kind,
    keys: &[Key],
    replies: Vec<Value>,
) -> Result<Vec<Found>, StoreError> {
    let mut replies = replies.into_iter();
    let each = keys.iter().map(|key| {
        let name = settings.layout.name(kind, key);
        let text = replies.next().unwrap_or(Value::Nil);
        let exists = replies.next().unwrap_or(Value::Nil);
        judge(settings, &name, text, &exists)
    });
    each.collect()
}

fn judge(
    settings: &Settings,
    name: &str,
    text: Value,
    exists: &Value,
) -> Result<Found, StoreError> {
    let bytes = match text {
        Value::BulkString(bytes) => bytes,
        Value::ServerError(error) if fault::is_wrong_type(&error) => return Ok(wrong_type(name)),
        Value::ServerError(error) => return Err(fault::of_reply(name, &error)),
        other => {
            return Err(fault::unavailable(format!(
                "redis gave {other:?} for {name}"
            )));
        }
    };
    if bytes.is_empty() && matches!(exists, Value::Int(0)) {
        return Ok(Found::Nothing);
    }
    if bytes.len() > settings.max_value_bytes {
        return Ok(too_long(settings, name));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Found::Text(text.into()),
        Err(error) => not_text(name, error.utf8_error().valid_up_to()),
    })
}

fn broken(name: &str, message: impl Into<String>, help: &str) -> Found {
    let problem = Diagnostic::error("store.corrupt", name, message).help(help);
    Found::Broken(Box::new(problem))
}

fn wrong_type(name: &str) -> Found {
    let message = "the key holds a list, hash, set or stream, not a string";
    broken(name, message, "delete it and write the JSON with SET")
}

fn too_long(settings: &Settings, name: &str) -> Found {
    let limit = settings.max_value_bytes;
    let message = format!("the value is longer than the limit of {limit} bytes (max_value_bytes)");
    broken(name, message, "make the value shorter or raise the limit")
}

fn not_text(name: &str, byte: usize) -> Found {
    let message = format!("the value is not UTF-8 from byte {byte} on");
    broken(name, message, "write JSON in UTF-8")
}
