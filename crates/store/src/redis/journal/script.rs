//! Lua scripts of journals, and their replies.

use quillet_core::journal::RunState;
use quillet_core::store::StoreError;
use redis::Value;

use super::super::connections::KeyedCommand;
use super::super::error::corrupt;
use super::super::script::{count, list, number, script, text};

/// Prefix of all scripts on a run. Determines the time of Redis, because the clocks of replicas
/// differ, and defines the reply with the status of the run. KEYS are the run and its events.
const RUN: &str = "
local run, steps, t = KEYS[1], KEYS[2], redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function facts(code)
  local it = redis.call('HMGET', run, 'last', 'epoch', 'free', 'state', 'scope', 'created')
  return {code, it[1], it[2], it[3], it[4], it[5], it[6], now}
end
local function add(last, first)
  for i = first, #ARGV do
    last = last + 1
    redis.call('XADD', steps, string.format('%.0f-0', last), 'at', now, 'step', ARGV[i])
  end
  redis.call('HSET', run, 'last', string.format('%.0f', last), 'updated', now)
end
";

/// ARGV: head, scope, creation time, lease, events. Returns 0 if the run already exists.
pub(super) const BEGIN: &str = "
if redis.call('EXISTS', run) == 1 then return {0} end
redis.call('DEL', steps)
add(0, 5)
redis.call('HSET', run, 'head', ARGV[1], 'scope', ARGV[2], 'created', ARGV[3], 'epoch', 1,
  'state', 'running', 'waiting', '[]', 'free', now + ARGV[4])
return facts(1)";

/// ARGV: lease. Returns 0 if the run cannot be claimed.
pub(super) const CLAIM: &str = "
local free = redis.call('HGET', run, 'free')
if not free or tonumber(free) > now then return {0} end
redis.call('HINCRBY', run, 'epoch', 1)
redis.call('HSET', run, 'state', 'running', 'free', now + ARGV[1])
return facts(1)";

/// ARGV: epoch, lease. Returns 0 if the run has another owner or none; otherwise the previous end
/// of the lease.
pub(super) const RENEW: &str = "
local it = redis.call('HMGET', run, 'epoch', 'state', 'free')
if it[1] ~= ARGV[1] or it[2] ~= 'running' then return {0} end
redis.call('HSET', run, 'free', now + ARGV[2])
return facts(it[3])";

/// ARGV: `owner` or `other`, the epoch or the last event that the writer knows, state, pending
/// calls, maximum number of events, time to store the run after its end, events. Returns 0 if the
/// writer is not allowed to, 1 if the state is unchanged, 2 if it has changed, 3 for too many
/// events.
pub(super) const WRITE: &str = "
local it = redis.call('HMGET', run, 'last', 'epoch', 'state')
if not it[1] then return {0} end
local may = it[2] == ARGV[2] and it[3] == 'running'
if ARGV[1] == 'other' then
  may = it[1] == ARGV[2] and (it[3] == 'waiting' or it[3] == 'ready')
end
if not may then return {0} end
local last, state = tonumber(it[1]), ARGV[3]
if state ~= 'ended' and last + #ARGV - 6 > tonumber(ARGV[5]) then return facts(3) end
add(last, 7)
redis.call('HSET', run, 'waiting', ARGV[4])
if state == it[3] then return facts(1) end
redis.call('HSET', run, 'state', state)
if state == 'ready' then
  redis.call('HSET', run, 'free', now)
else
  redis.call('HDEL', run, 'free')
end
local answer = facts(2)
if state == 'ended' then
  redis.call('PEXPIRE', run, ARGV[6])
  redis.call('PEXPIRE', steps, ARGV[6])
end
return answer";

/// Returns 0 if the run does not exist.
pub(super) const LOOK: &str = "
if redis.call('EXISTS', run) == 0 then return {0} end
return facts(1)";

/// Returns 0 if the run does not exist, 2 if it has not ended.
pub(super) const REMOVE: &str = "
local state = redis.call('HGET', run, 'state')
if not state then return {0} end
if state ~= 'ended' then return facts(2) end
local answer = facts(1)
redis.call('DEL', run, steps)
return answer";

/// ARGV: number of the event before the first, maximum number of events, size after which the reply
/// ends. Returns whether the reply is complete, followed by number, time and text of each event.
pub(super) const READ: &str = "
local found, bytes, at, most = {1}, 0, '(' .. ARGV[1] .. '-0', tonumber(ARGV[2])
for i = 1, most do
  local entry = redis.call('XRANGE', steps, at, '+', 'COUNT', 1)[1]
  if not entry then return found end
  found[#found + 1] = entry[1]
  found[#found + 1] = entry[2][2]
  found[#found + 1] = entry[2][4]
  bytes = bytes + #entry[2][4]
  if bytes >= tonumber(ARGV[3]) then
    found[1] = 0
    return found
  end
  at = '(' .. entry[1]
end
return found";

/// Key names of a run and its events, which share a hash slot.
#[derive(Clone, Debug)]
pub(super) struct RunKeys {
    pub(super) run: String,
    pub(super) steps: String,
}

impl RunKeys {
    pub(super) fn new(run: String) -> Self {
        let steps = format!("{run}:steps");
        RunKeys { run, steps }
    }

    /// Returns a command for one of the scripts above.
    pub(super) fn script(&self, text: &str, arguments: &[String]) -> KeyedCommand {
        script(&[RUN, text].concat(), &[&self.run, &self.steps], arguments)
    }
}

/// Status of a run in the reply of a script.
#[derive(Clone, Debug)]
pub(super) struct RunStatus {
    /// Result code of the script.
    pub(super) code: i64,
    pub(super) last: u64,
    pub(super) epoch: u64,
    /// Time from which the run can be claimed; `None` for waiting and ended runs.
    pub(super) free: Option<u64>,
    pub(super) state: RunState,
    pub(super) scope: String,
    pub(super) created: u64,
    /// Current time of Redis.
    pub(super) now: u64,
}

impl RunStatus {
    /// Parses a reply; `None` for 0.
    pub(super) fn of(name: &str, reply: Value) -> Result<Option<Self>, StoreError> {
        let reply = list(reply);
        if reply.first().is_some_and(|code| number(code) == 0) {
            return Ok(None);
        }
        let facts = RunStatus::read(reply);
        facts
            .map(Some)
            .ok_or_else(|| corrupt(name, "its value is not a run"))
    }

    fn read(reply: Vec<Value>) -> Option<Self> {
        let [code, last, epoch, free, state, scope, created, now] =
            <[Value; 8]>::try_from(reply).ok()?;
        Some(RunStatus {
            code: number(&code),
            last: count(&last),
            epoch: count(&epoch),
            free: (free != Value::Nil).then(|| count(&free)),
            state: RunState::from_name(&text(state)?)?,
            scope: text(scope)?,
            created: count(&created),
            now: count(&now),
        })
    }
}
