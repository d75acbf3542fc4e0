//! Rate limit buckets in Redis, shared by all replicas.
//!
//! `<prefix>rates:{<group>}` is a hash with two times for each bucket, `<bucket>:full` and
//! `<bucket>:due`, in milliseconds since 1970; [`crate::rates`] explains them. They use the clock
//! of Redis, because the clocks of replicas differ. The hash expires a minute after all buckets are
//! full; `until` contains that time.

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::rates::{RateDecision, RateDraw, Rates};
use quillet_core::store::StoreError;

use super::client::RedisClient;
use super::script::{count, list, number, script};
use super::settings::RedisSettings;
use crate::StoreOptions;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;
use crate::rates::NEAR_MS;

/// Prefix of all scripts: determines the time and defines functions to read, write and expire
/// buckets. Numbers are formatted with `%.3f`, because Lua formats large ones with an exponent.
// Buckets are stored as times instead of levels, so they refill without a periodic task.
const BUCKETS: &str = "
local key, t = KEYS[1], redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local last = now
local function read(bucket)
  local kept = redis.call('HMGET', key, bucket .. ':full', bucket .. ':due')
  local full = math.max(tonumber(kept[1] or '0'), now)
  return full, math.max(tonumber(kept[2] or '0'), full)
end
local function write(bucket, full, due)
  redis.call('HSET', key, bucket .. ':full', string.format('%.3f', full),
    bucket .. ':due', string.format('%.3f', due))
  last = math.max(last, full, due)
end
local function keep()
  local until_ = math.max(tonumber(redis.call('HGET', key, 'until') or '0'), last + 60000)
  redis.call('HSET', key, 'until', string.format('%.3f', until_))
  redis.call('PEXPIRE', key, math.ceil(until_ - now))
end
";

/// ARGV: maximum wait, whether the request is queued, maximum earliness of a queued request; name,
/// capacity, interval and amount of each draw. Returns `[0]` if the request may be sent,
/// `[1, milliseconds]` if it is queued, `[2, milliseconds, draw]` if the wait is too long.
// A request in the queue has added its amount to `due` already. When its turn comes, the request
// adds the amount only to `full`.
const TAKE: &str = "
local patience, in_line, near = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[3])
local ready, turn, tightest, draws = now, now, 0, {}
for i = 4, #ARGV, 4 do
  local capacity, interval, amount = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local full, due = read(ARGV[i])
  local slack = (capacity - math.min(amount, capacity)) * interval
  ready = math.max(ready, full - slack)
  if due - slack > turn then turn, tightest = due - slack, #draws end
  draws[#draws + 1] = {ARGV[i], full, due, amount * interval}
end
local goes = turn <= now
if in_line then goes = ready <= now end
if not goes and in_line and ready - now <= near then return {1, math.ceil(ready - now)} end
if not goes and turn - now > patience then return {2, math.ceil(turn - now), tightest} end
for _, draw in ipairs(draws) do
  local full, due = draw[2], draw[3]
  if goes then full = full + draw[4] end
  if not (goes and in_line) then due = due + draw[4] end
  write(draw[1], full, due)
end
keep()
if goes then return {0} end
return {1, math.ceil(turn - now)}";

/// ARGV: name of each bucket, and the shifts of its two times.
const SHIFT: &str = "
for i = 1, #ARGV, 3 do
  local full, due = read(ARGV[i])
  write(ARGV[i], full + tonumber(ARGV[i + 1]), due + tonumber(ARGV[i + 2]))
end
keep()
return 0";

/// ARGV: name of each bucket, and the earliest time in milliseconds at which it is full.
const HOLD: &str = "
for i = 1, #ARGV, 2 do
  local full = math.max(read(ARGV[i]), now + tonumber(ARGV[i + 1]))
  write(ARGV[i], full, full)
end
keep()
return 0";

/// Rate limit buckets in Redis.
#[derive(Debug)]
pub(crate) struct RedisRates {
    settings: RedisSettings,
    /// Created by the first request, because it needs a runtime.
    client: OnceLock<RedisClient>,
}

impl RedisRates {
    /// Creates the buckets without connecting.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub(crate) fn new(address: &RedisAddress, options: &StoreOptions) -> Result<Self, StoreError> {
        Ok(RedisRates {
            settings: RedisSettings::quiet(address, options)?,
            client: OnceLock::new(),
        })
    }

    async fn run(
        &self,
        text: &str,
        group: &str,
        arguments: &[String],
    ) -> Result<Vec<redis::Value>, StoreError> {
        let client = self
            .client
            .get_or_init(|| RedisClient::open(self.settings.clone(), ChangeBus::new()));
        let key = self.settings.layout.tagged("rates", group);
        let whole = [BUCKETS, text].concat();
        let reply = client.ask(script(&whole, &[&key], arguments)).await?;
        Ok(list(reply))
    }

    async fn turn(
        &self,
        group: &str,
        draws: &[RateDraw],
        patience: Duration,
        in_line: bool,
    ) -> Result<RateDecision, StoreError> {
        let mut arguments = vec![
            patience.as_millis().to_string(),
            u8::from(in_line).to_string(),
            NEAR_MS.to_string(),
        ];
        for draw in draws {
            arguments.extend([
                draw.bucket.to_string(),
                draw.capacity().to_string(),
                draw.interval().to_string(),
                draw.amount.to_string(),
            ]);
        }
        let reply = self.run(TAKE, group, &arguments).await?;
        let at = |place: usize| reply.get(place).map_or(0, count);
        let wait = Duration::from_millis(at(1));
        Ok(match reply.first().map_or(0, number) {
            0 => RateDecision::Now,
            1 => RateDecision::After(wait),
            _ => RateDecision::Never {
                wait,
                draw: usize::try_from(at(2)).unwrap_or_default(),
            },
        })
    }

    /// Shifts both times of each bucket by fractions of the time that its draw is worth.
    async fn shift(&self, group: &str, draws: &[RateDraw], by: [f64; 2]) -> Result<(), StoreError> {
        let of = |draw: &RateDraw| {
            let worth = draw.amount as f64 * draw.interval();
            let [full, due] = by.map(|part| (part * worth).to_string());
            [draw.bucket.to_string(), full, due]
        };
        let arguments: Vec<String> = draws.iter().flat_map(of).collect();
        self.run(SHIFT, group, &arguments).await.map(|_| ())
    }
}

impl Rates for RedisRates {
    fn describe(&self) -> String {
        self.settings.address.to_string()
    }

    fn take<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        patience: Duration,
        in_line: bool,
    ) -> BoxFuture<'a, Result<RateDecision, StoreError>> {
        self.turn(group, draws, patience, in_line).boxed()
    }

    fn cancel_wait<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        // Only `due` is corrected, because a waiting request has a queue position but has drawn
        // nothing from the bucket.
        self.shift(group, draws, [0.0, -1.0]).boxed()
    }

    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        // Both times are corrected, so queued requests also wait for the correction.
        self.shift(group, draws, [1.0, 1.0]).boxed()
    }

    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let of = |draw: &RateDraw| {
                // After the pause, one request is available.
                let rest = (draw.capacity() - 1.0) * draw.interval();
                let full = time.as_secs_f64() * 1000.0 + rest;
                [draw.bucket.to_string(), full.to_string()]
            };
            let arguments: Vec<String> = draws.iter().flat_map(of).collect();
            self.run(HOLD, group, &arguments).await.map(|_| ())
        }
        .boxed()
    }
}
