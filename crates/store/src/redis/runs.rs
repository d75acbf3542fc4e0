//! Registry of runs in Redis, shared by all replicas.
//!
//! `<prefix>runs:{<id>}` is a stream of events whose ids are their numbers. `…:state` is a hash
//! with `last`, `bytes`, `ended` (1: the last event is in the log, 2: it is missing), `cancelled`,
//! `place`, `lease` and `missed` (when a reader first noticed that the lease has expired).
//! `<prefix>keys:{<key>}:places` and `…:begun` are sorted sets of a key's slots (by the end of
//! their lease) and starts (by their time). All times are from the clock of Redis, because the
//! clocks of replicas differ.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::runs::{AdmissionDenied, LogPage, LoggedEvent, Permit, RunAllowance, Runs};
use quillet_core::store::{Health, StoreError, StoreErrorKind};
use redis::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::client::RedisClient;
use super::connection_manager::ConnectionState;
use super::lease::{LeaseEvent, LeaseRenewer, SemaphoreSlot, SlotLease, cancel_of, state_of};
use super::pubsub::Notifiers;
use super::script::{count, list, number, script, text};
use super::settings::RedisSettings;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;
use crate::runs::log::missing;
use crate::runs::{MINUTE, RunOptions, already_running, given_up};
use crate::{StoreOptions, ids};

/// KEYS: slots, starts. ARGV: slot, lease, maximum number of slots or -1, maximum starts per minute
/// or -1, one minute. Returns `[0]`, `[1, running]` or `[2, milliseconds to wait]`.
// Expired slots are removed first, so the slots of dead replicas become free. The rate entry is
// added only after both checks, or rejected runs would count.
const TAKE_PLACE: &str = "
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local most, rate, minute = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local running = redis.call('ZCARD', KEYS[1])
if most >= 0 and running >= most then return {1, running} end
if rate >= 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - minute)
  local over = redis.call('ZCARD', KEYS[2]) - rate
  if over >= 0 then
    local oldest = redis.call('ZRANGE', KEYS[2], over, over, 'WITHSCORES')
    if oldest[2] then return {2, oldest[2] + minute - now} end
    return {2, minute}
  end
  redis.call('ZADD', KEYS[2], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[2], minute)
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {0}";

/// KEYS: log, state. ARGV: slot, lease, retention time. Returns 0 if a run with this id is active.
// A run without `ended` may be replaced after its lease has expired: its replica is dead, and the
// id must not be blocked until the log expires.
const BEGIN_RUN: &str = "
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if redis.call('EXISTS', KEYS[2]) == 1 and redis.call('HEXISTS', KEYS[2], 'ended') == 0 then
  local lease = redis.call('HGET', KEYS[2], 'lease')
  if not lease or tonumber(lease) > now then return 0 end
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[2], 'place', ARGV[1], 'lease', now + ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1";

/// KEYS: log, state. ARGV: maximum events, maximum bytes, retention time, whether the run ended,
/// then number, name and payload of each event. Existing events are skipped. Returns -1 if the log
/// already has its last event, and this call contains more. Numbers are formatted with `%.0f`,
/// because Lua formats large ones with an exponent.
const APPEND: &str = "
local state = redis.call('HMGET', KEYS[2], 'last', 'bytes', 'ended')
local last, bytes = tonumber(state[1] or '0'), tonumber(state[2] or '0')
if state[3] == '1' then
  if ARGV[4] == '1' and tonumber(ARGV[#ARGV - 2] or '0') <= last then return 0 end
  return -1
end
for i = 5, #ARGV, 3 do
  if tonumber(ARGV[i]) > last then
    redis.call('XADD', KEYS[1], ARGV[i] .. '-0', 'n', ARGV[i + 1], 'd', ARGV[i + 2])
    last = tonumber(ARGV[i])
    bytes = bytes + #ARGV[i + 1] + #ARGV[i + 2]
  end
end
local count = redis.call('XLEN', KEYS[1])
while count > tonumber(ARGV[1]) or bytes > tonumber(ARGV[2]) do
  local old = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not old then break end
  redis.call('XDEL', KEYS[1], old[1])
  bytes = bytes - #old[2][2] - #old[2][4]
  count = count - 1
end
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', last), 'bytes', bytes)
if ARGV[4] == '1' then redis.call('HSET', KEYS[2], 'ended', 1) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('PUBLISH', KEYS[1], KEYS[1])
return 0";

/// KEYS: log, state. ARGV: number of the last known event, grace period after the lease. Returns
/// nothing if the run is unknown or never had a log; otherwise whether it is active (0), ended (1)
/// or lost (2), its last number and its events.
const READ: &str = "
if redis.call('EXISTS', KEYS[2]) == 0 then return false end
local state = redis.call('HMGET', KEYS[2], 'ended', 'lease', 'last', 'missed')
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ended = 0
if state[1] then
  ended = tonumber(state[1])
  if ended == 2 and not state[3] then return false end
elseif state[2] and tonumber(state[2]) <= now then
  if not state[4] then
    redis.call('HSET', KEYS[2], 'missed', now)
  elseif now - state[4] >= tonumber(ARGV[2]) then
    ended = 2
  end
end
return {ended, state[3] or '0', redis.call('XRANGE', KEYS[1], '(' .. ARGV[1] .. '-0', '+')}";

/// KEYS: log, state. ARGV: grace period after the lease, name and payload of the last event,
/// retention time. Returns whether the event was written, which means that this call found the run
/// lost and was the first to do so.
// All conditions are checked inside the script, because several readers may notice a lost run at
// the same time, and exactly one may write its last event.
const GIVE_UP: &str = "
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local state = redis.call('HMGET', KEYS[2], 'ended', 'missed', 'last', 'bytes', 'lease')
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if state[1] then
  if state[1] ~= '2' then return 0 end
elseif not state[2] or now - state[2] < tonumber(ARGV[1])
  or not state[5] or tonumber(state[5]) > now then
  return 0
end
local last = tonumber(state[3] or '0') + 1
redis.call('XADD', KEYS[1], string.format('%.0f', last) .. '-0', 'n', ARGV[2], 'd', ARGV[3])
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', last),
  'bytes', tonumber(state[4] or '0') + #ARGV[2] + #ARGV[3], 'ended', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PUBLISH', KEYS[1], KEYS[1])
return 1";

/// KEYS: log, state. ARGV: common channel, name of the notifier. Returns whether the run is active.
// The flag is set before the message is published. A listener that misses the message still finds
// the flag.
const CANCEL: &str = "
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local state = redis.call('HMGET', KEYS[2], 'ended', 'lease')
local t = redis.call('TIME')
if state[1] or (state[2] and tonumber(state[2]) <= t[1] * 1000 + math.floor(t[2] / 1000)) then
  return 0
end
redis.call('HSET', KEYS[2], 'cancelled', 1)
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1";

/// KEYS: log, state. Returns whether the run was cancelled.
const IS_CANCELLED: &str = "return tonumber(redis.call('HGET', KEYS[2], 'cancelled') or '0')";

/// Maximum wait for a notification before the log is read again, because a dead replica sends none.
// This also limits how late a reader notices a lost message.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Shared registry of runs in Redis.
#[derive(Debug)]
pub struct RedisRuns {
    client: Arc<RedisClient>,
    options: RunOptions,
    bells: Arc<Notifiers>,
    changes: mpsc::UnboundedSender<LeaseEvent>,
    _holder: AbortOnDropHandle<()>,
}

impl RedisRuns {
    /// Starts connecting without waiting for Redis. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(
        address: &RedisAddress,
        store: &StoreOptions,
        options: RunOptions,
    ) -> Result<Self, StoreError> {
        let settings = RedisSettings::quiet(address, store)?;
        let client = Arc::new(RedisClient::open(settings, ChangeBus::new()));
        let cancels = client.settings.layout.group("cancels");
        let bells = Arc::new(Notifiers::spawn(client.clone(), cancels));
        let (sender, changes) = mpsc::unbounded_channel();
        let holder = LeaseRenewer {
            client: client.clone(),
            bells: bells.clone(),
            lease: options.lease,
            keep: options.keep,
            changes,
        };
        Ok(RedisRuns {
            client,
            options,
            bells,
            changes: sender,
            _holder: AbortOnDropHandle::new(tokio::spawn(holder.run())),
        })
    }

    /// Returns the name of a run's log.
    fn log(&self, run: &str) -> Result<String, StoreError> {
        let id = ids::checked("run", run)?;
        Ok(self.client.settings.layout.tagged("runs", id))
    }

    /// Runs a script on a run.
    async fn on_run(&self, text: &str, log: &str, more: &[String]) -> Result<Value, StoreError> {
        self.client
            .ask(script(text, &[log, &state_of(log)], more))
            .await
    }

    async fn begin(
        &self,
        key: &str,
        run: &str,
        most: RunAllowance,
    ) -> Result<SlotLease, AdmissionDenied> {
        let key = ids::checked("key", key)?;
        let log = self.log(run)?;
        let tagged = self.client.settings.layout.tagged("keys", key);
        let place = SemaphoreSlot {
            id: uuid::Uuid::new_v4().to_string(),
            places: format!("{tagged}:places"),
            log,
        };
        // Slot and run are in different hash slots of a cluster, so one script cannot modify both.
        self.take(&place, &format!("{tagged}:begun"), most).await?;
        let times = [self.options.lease, self.options.keep];
        let mut arguments = vec![place.id.clone()];
        arguments.extend(times.map(|time| time.as_millis().to_string()));
        let begun = self.on_run(BEGIN_RUN, &place.log, &arguments).await;
        if begun.as_ref().is_ok_and(|reply| number(reply) == 1) {
            return Ok(SlotLease::new(place, &self.changes));
        }
        // If this also fails, the slot is released when its lease expires.
        let _ = self.client.ask(place.release_command()).await;
        // The result is checked after the slot is released, so an error does not leave the slot
        // taken.
        begun?;
        Err(already_running(run).into())
    }

    async fn take(
        &self,
        place: &SemaphoreSlot,
        begun: &str,
        most: RunAllowance,
    ) -> Result<(), AdmissionDenied> {
        let limit = |limit: Option<u32>| limit.map_or(-1, i64::from).to_string();
        let arguments = [
            place.id.clone(),
            self.options.lease.as_millis().to_string(),
            limit(most.concurrent),
            limit(most.per_minute),
            MINUTE.as_millis().to_string(),
        ];
        let reply = script(TAKE_PLACE, &[&place.places, begun], &arguments);
        let reply = list(self.client.ask(reply).await?);
        let detail = reply.get(1).map_or(0, count);
        match (reply.first().map_or(-1, number), most) {
            (0, _) => Ok(()),
            (
                1,
                RunAllowance {
                    concurrent: Some(limit),
                    ..
                },
            ) => Err(AdmissionDenied::Concurrent {
                running: u32::try_from(detail).unwrap_or(u32::MAX),
                limit,
            }),
            (
                2,
                RunAllowance {
                    per_minute: Some(limit),
                    ..
                },
            ) => Err(AdmissionDenied::Rate {
                limit,
                retry_after: Duration::from_millis(detail),
            }),
            _ => Err(unexpected(&place.places).into()),
        }
    }

    async fn add(&self, run: &str, events: &[LoggedEvent], ended: bool) -> Result<(), StoreError> {
        let log = self.log(run)?;
        let mut arguments = vec![
            self.options.max_log_events.to_string(),
            self.options.max_log_bytes.to_string(),
            self.options.keep.as_millis().to_string(),
            u8::from(ended).to_string(),
        ];
        for event in events {
            let parts = [
                event.sequence.to_string(),
                event.name.to_string(),
                event.data.to_string(),
            ];
            arguments.extend(parts);
        }
        let added = self.on_run(APPEND, &log, &arguments).await?;
        match number(&added) {
            -1 => Err(given_up(run)),
            _ => Ok(()),
        }
    }

    /// Grace period in which a disconnected replica can renew its leases; longer than its renewal
    /// interval.
    fn grace(&self) -> String {
        (self.options.lease / 2).as_millis().to_string()
    }

    async fn write_last_event(
        &self,
        run: &str,
        name: &str,
        data: &str,
    ) -> Result<bool, StoreError> {
        let log = self.log(run)?;
        let keep = self.options.keep.as_millis().to_string();
        let arguments = [self.grace(), name.to_owned(), data.to_owned(), keep];
        let told = self.on_run(GIVE_UP, &log, &arguments).await?;
        Ok(number(&told) == 1)
    }

    async fn look(&self, log: &str, after: u64) -> Result<Option<LogPage>, StoreError> {
        let arguments = [after.to_string(), self.grace()];
        let reply = self.on_run(READ, log, &arguments).await?;
        let mut parts = list(reply).into_iter();
        let (Some(ended), Some(last), Some(events)) = (parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let events: Option<Vec<LoggedEvent>> = list(events).into_iter().map(event).collect();
        let events = events.ok_or_else(|| unexpected(log))?;
        Ok(Some(LogPage {
            gap: missing(after, events.first(), count(&last)),
            ended: number(&ended) != 0,
            lost: number(&ended) == 2,
            events,
        }))
    }

    async fn page(
        &self,
        run: &str,
        after: u64,
        wait: Duration,
    ) -> Result<Option<LogPage>, StoreError> {
        let log = self.log(run)?;
        let until = Instant::now() + wait;
        let mut bell = None;
        loop {
            let Some(page) = self.look(&log, after).await? else {
                return Ok(None);
            };
            let left = until.saturating_duration_since(Instant::now());
            if page.ended || !page.events.is_empty() || left.is_zero() {
                return Ok(Some(page));
            }
            // The subscription starts only after the first empty read, because most reads find
            // events and need no subscription. The loop reads again right after subscribing,
            // because an event may have arrived in between.
            let bell = bell.get_or_insert_with(|| self.bells.listen(log.clone(), true));
            let _ = timeout(left.min(LOOK_AGAIN), bell.notified()).await;
        }
    }

    async fn stop(&self, run: &str) -> Result<bool, StoreError> {
        let log = self.log(run)?;
        let arguments = [
            self.client.settings.layout.group("cancels"),
            cancel_of(&log),
        ];
        let going = self.on_run(CANCEL, &log, &arguments).await?;
        Ok(number(&going) == 1)
    }

    /// Subscribes before the first read, so no message is missed.
    async fn wait_cancelled(&self, run: &str) {
        let Ok(log) = self.log(run) else {
            // A run with an invalid id was never admitted, so it cannot be cancelled.
            return std::future::pending().await;
        };
        let mut bell = self.bells.listen(cancel_of(&log), false);
        loop {
            match self.on_run(IS_CANCELLED, &log, &[]).await {
                Ok(stop) if number(&stop) == 1 => return,
                Ok(_) => bell.notified().await,
                // Redis is unavailable. The flag may be set when Redis is available again, so the
                // check continues.
                Err(_) => sleep(self.client.settings.retry_pause).await,
            }
        }
    }
}

/// Parses a stream entry: `[<number>-0, [n, name, d, payload]]`.
fn event(entry: Value) -> Option<LoggedEvent> {
    let [id, fields] = <[Value; 2]>::try_from(list(entry)).ok()?;
    let [_, name, _, data] = <[Value; 4]>::try_from(list(fields)).ok()?;
    let id = text(id)?;
    Some(LoggedEvent {
        sequence: id.split('-').next()?.parse().ok()?,
        name: text(name)?.into(),
        data: text(data)?.into(),
    })
}

fn unexpected(name: &str) -> StoreError {
    let message = format!("{name}: its value was not written by this program; delete it");
    StoreError::new(StoreErrorKind::Corrupt, message)
}

impl Runs for RedisRuns {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn admit<'a>(
        &'a self,
        key: &'a str,
        run: &'a str,
        allowance: RunAllowance,
    ) -> BoxFuture<'a, Result<Box<dyn Permit>, AdmissionDenied>> {
        async move {
            let held = self.begin(key, run, allowance).await?;
            Ok(Box::new(held) as Box<dyn Permit>)
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        run: &'a str,
        events: &'a [LoggedEvent],
        ended: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add(run, events, ended).boxed()
    }

    fn read<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Option<LogPage>, StoreError>> {
        self.page(run, after, wait).boxed()
    }

    fn give_up<'a>(
        &'a self,
        run: &'a str,
        name: &'a str,
        data: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.write_last_event(run, name, data).boxed()
    }

    fn health(&self) -> Health {
        match &*self.client.state.borrow() {
            ConnectionState::Up(_) | ConnectionState::Connecting => Health::Ready,
            ConnectionState::Away(error) => Health::Away {
                reason: error.message.clone(),
            },
        }
    }

    fn cancel<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.stop(run).boxed()
    }

    fn cancelled<'a>(&'a self, run: &'a str) -> BoxFuture<'a, ()> {
        self.wait_cancelled(run).boxed()
    }
}
