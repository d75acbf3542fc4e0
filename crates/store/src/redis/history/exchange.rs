//! The compare-and-swap script that reads and changes histories.
//!
//! A request contains the state that the client knows, and a change to it. If the current state is
//! still equal, the script applies the whole change; otherwise it changes nothing and returns the
//! current state. A client can therefore compute its change in Rust without a lock. A client
//! without any state gets the current one in the same way.
//!
//! A history is one hash. `numbers` contains the numbers of all versions, `v<number>` is a version
//! as JSON, `t<digest>` the content of the versions with this digest, `r<digest>` their number, and
//! `stamp` the SHA-1 of the stored text of the newest version. The stamp shows, without reading the
//! text, whether another client has written since.

use std::sync::Arc;

use quillet_core::history::{DefinitionContent, Digest, Version, VersionRecord};
use quillet_core::store::StoreError;
use redis::Value;

use super::super::connections::KeyedCommand;
use super::super::error::{self, corrupt};
use super::super::layout::DefinitionKeys;
use super::super::script::{list, script, text};
use super::super::settings::RedisSettings;
use super::ask::refused;
use super::content;
use super::numbers::VersionRanges;

/// KEYS: definition, history, labels. ARGV: maximum bytes of a text to return, known state, new
/// definition, new labels, `1` for a new stamp, version numbers, number of added versions; number,
/// JSON, digest and content of each added version; then the numbers of deleted versions. `=`
/// precedes a new text, `-` deletes the key, and an empty argument leaves it unchanged.
///
/// Redis does not roll back a script after an error. After the first write, the only possible error
/// is a missing permission for a command. The order of the writes ensures that even then no label
/// points at a missing version; at worst, a definition is not recorded yet.
const EXCHANGE: &str = "
local function read(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then return text, text and redis.sha1hex(text) or '' end
  if not string.find(text.err, 'WRONGTYPE', 1, true) then redis.call('GET', key) end
  return false, '!'
end
local history = KEYS[2]
local text, stamp = read(KEYS[1])
local labels, pointed = read(KEYS[3])
local seen, numbers = unpack(redis.call('HMGET', history, 'stamp', 'numbers'))
local state = table.concat({stamp, pointed, seen or '', numbers or ''}, ' ')
if state ~= ARGV[2] then
  if text and (stamp == seen or #text > tonumber(ARGV[1])) then text = false end
  local last = string.match(numbers or '', '%d+$')
  return {state, text, last and redis.call('HGET', history, 'v' .. last) or false, labels}
end
local function put(key, change)
  if change == '-' then redis.call('DEL', key)
  elseif change ~= '' then redis.call('SET', key, string.sub(change, 2)) end
end
put(KEYS[1], ARGV[3])
local rest = 8 + 4 * ARGV[7]
for i = 8, rest - 1, 4 do
  local number, version, digest, content = unpack(ARGV, i, i + 3)
  redis.call('HSET', history, 'v' .. number, version)
  if digest ~= '' then redis.call('HINCRBY', history, 'r' .. digest, 1) end
  if content ~= '' then redis.call('HSETNX', history, 't' .. digest, content) end
end
if ARGV[6] ~= '' then redis.call('HSET', history, 'numbers', ARGV[6]) end
if ARGV[5] == '1' then
  local _, now = read(KEYS[1])
  redis.call('HSET', history, 'stamp', now)
end
put(KEYS[3], ARGV[4])
for i = rest, #ARGV do
  local old = redis.call('HGET', history, 'v' .. ARGV[i]) or ''
  redis.call('HDEL', history, 'v' .. ARGV[i])
  local digest = string.match(old, '\"digest\":\"(%x+)\"')
  local is_gone = string.find(old, '\"removed\":true', 1, true)
  if digest and not is_gone and redis.call('HINCRBY', history, 'r' .. digest, -1) < 1 then
    redis.call('HDEL', history, 'r' .. digest, 't' .. digest)
  end
end
return 1";

/// KEYS: definition, history. Returns whether the newest version equals the current text. A short
/// script for many definitions, few of which have changed.
const IS_KNOWN: &str = "
local text = redis.pcall('GET', KEYS[1])
if type(text) == 'table' then return 0 end
local stamp = text and redis.sha1hex(text) or ''
return redis.call('HGET', KEYS[2], 'stamp') == stamp and 1 or 0";

/// Current value under the key of a definition.
#[derive(Clone, Debug)]
pub(crate) enum CurrentDefinition {
    /// No value.
    Nothing,
    /// The content of the newest version.
    Head,
    /// A text written by another client, with its digest.
    Other(DefinitionContent, Digest),
    /// A value that is not a text, or is too long.
    Broken,
}

/// State that is needed to change one definition.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionState {
    /// State text from the script.
    known: String,
    pub(crate) now: CurrentDefinition,
    /// Whether the stamp matches the current text.
    pub(crate) is_stamped: bool,
    pub(crate) numbers: VersionRanges,
    /// The newest version.
    pub(crate) head: Option<Version>,
    /// Stored labels; an empty text if the value is not a string.
    pub(crate) labels: Option<String>,
}

/// Change of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyWrite {
    /// Leaves the key unchanged.
    #[default]
    Keep,
    Set(Arc<str>),
    Remove,
}

/// Change of one definition, applied completely or not at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct DefinitionChange {
    pub(crate) definition: KeyWrite,
    pub(crate) labels: KeyWrite,
    /// Whether to set the stamp to that of the resulting text.
    pub(crate) stamp: bool,
    /// Numbers of all versions after the change.
    pub(crate) numbers: VersionRanges,
    pub(crate) added: Vec<VersionRecord>,
    pub(crate) dropped: Vec<u64>,
}

/// Returns the command that reads the state.
pub(crate) fn look(settings: &RedisSettings, names: &DefinitionKeys) -> KeyedCommand {
    let most = settings.max_value_bytes.to_string();
    script(EXCHANGE, &keys(names), &[most.as_str(), ""])
}

/// Returns the command that checks whether the text has changed since the newest version.
pub(crate) fn is_known(names: &DefinitionKeys) -> KeyedCommand {
    let none: [&str; 0] = [];
    script(IS_KNOWN, &[&names.definition, &names.history], &none)
}

/// Returns the command that applies a change if the state is still the same.
pub(crate) async fn write(
    settings: &RedisSettings,
    names: &DefinitionKeys,
    state: &DefinitionState,
    change: &DefinitionChange,
) -> Result<KeyedCommand, StoreError> {
    let stamp = if change.stamp { "1" } else { "" };
    let mut arguments: Vec<Vec<u8>> = vec![
        settings.max_value_bytes.to_string().into(),
        state.known.clone().into(),
        change.definition.argument(),
        change.labels.argument(),
        stamp.into(),
        change.numbers.to_string().into(),
        change.added.len().to_string().into(),
    ];
    for VersionRecord { version, content } in &change.added {
        let digest = if version.removed {
            String::new()
        } else {
            version.digest.to_string()
        };
        let content = match content {
            Some(content) => content::packed(content).await?,
            None => Vec::new(),
        };
        let json =
            serde_json::to_vec(version).map_err(|error| error::unavailable(error.to_string()))?;
        arguments.extend([
            version.number.to_string().into(),
            json,
            digest.into(),
            content,
        ]);
    }
    let dropped = change.dropped.iter();
    arguments.extend(dropped.map(|number| number.to_string().into_bytes()));
    Ok(script(EXCHANGE, &keys(names), &arguments))
}

fn keys(names: &DefinitionKeys) -> [&str; 3] {
    [&names.definition, &names.history, &names.labels]
}

impl KeyWrite {
    fn argument(&self) -> Vec<u8> {
        match self {
            KeyWrite::Keep => Vec::new(),
            KeyWrite::Remove => b"-".to_vec(),
            KeyWrite::Set(text) => [b"=", text.as_bytes()].concat(),
        }
    }
}

impl DefinitionState {
    /// Returns the digest of the current text.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match &self.now {
            CurrentDefinition::Nothing | CurrentDefinition::Broken => None,
            CurrentDefinition::Head => self.head.as_ref().map(|head| head.digest),
            CurrentDefinition::Other(_, digest) => Some(*digest),
        }
    }

    /// Parses the reply of the script; `None` if the change was applied.
    pub(crate) fn of(names: &DefinitionKeys, reply: Value) -> Result<Option<Self>, StoreError> {
        let reply = match reply {
            Value::Int(_) => return Ok(None),
            Value::ServerError(error) => return Err(refused(&names.history, &error)),
            reply => list(reply),
        };
        let wrong = |what: &str| corrupt(&names.history, what);
        let Ok([known, now, head, labels]) = <[Value; 4]>::try_from(reply) else {
            return Err(wrong("the script gave no state"));
        };
        let known = text(known).unwrap_or_default();
        let [stamp, pointed, seen, numbers] = known.split(' ').collect::<Vec<_>>()[..] else {
            return Err(wrong("the script returned no state"));
        };
        let numbers = VersionRanges::parse(numbers);
        let numbers = numbers.ok_or_else(|| wrong("its field `numbers` is invalid"))?;
        let head = version(&names.history, &head)?;
        if head.as_ref().map(|head| head.number) != numbers.last() {
            return Err(wrong("its newest version is missing"));
        }
        let now = match (stamp, text(now)) {
            ("", _) => CurrentDefinition::Nothing,
            (_, Some(text)) => {
                let content = DefinitionContent::new(text);
                let digest = content.digest();
                CurrentDefinition::Other(content, digest)
            }
            _ if stamp == seen && stamp != "!" && head.is_some() => CurrentDefinition::Head,
            _ => CurrentDefinition::Broken,
        };
        let are_there = !pointed.is_empty();
        Ok(Some(DefinitionState {
            now,
            is_stamped: stamp == seen,
            numbers,
            head,
            labels: are_there.then(|| text(labels).unwrap_or_default()),
            known,
        }))
    }
}

/// Parses a stored version; `None` if it does not exist.
pub(crate) fn version(history: &str, value: &Value) -> Result<Option<Version>, StoreError> {
    let Value::BulkString(bytes) = value else {
        return Ok(None);
    };
    let version = serde_json::from_slice(bytes);
    let version = version
        .map_err(|error| corrupt(history, &format!("its value is not a version: {error}")))?;
    Ok(Some(version))
}
