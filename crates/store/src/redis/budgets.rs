//! Budget usage in Redis, shared by all replicas.
//!
//! `<prefix>budgets:{day}` is a hash. `day` is the day in days since 1970. Each account has
//! `<account>:t` and `<account>:u`, the used tokens and billionths of a dollar, and `<account>:ht`
//! and `<account>:hu`, the reserved ones. `<prefix>budgets:{day}:held` is a sorted set of the
//! reservations by their expiration time in milliseconds since 1970. A member consists of id,
//! tokens, billionths and accounts, one per line. The first script of a day clears both keys. They
//! use the clock of Redis, because the clocks of replicas differ, and expire two days after the last
//! change.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::budget::{
    Account, AccountUsage, Amount, BudgetUnit, Budgets, Reservation, ReserveResult,
};
use quillet_core::store::StoreError;
use redis::Value;

use super::client::RedisClient;
use super::script::{count, list, script};
use super::settings::RedisSettings;
use crate::StoreOptions;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;

/// Prefix of all scripts: determines the day, releases expired reservations, and defines the sums
/// of an account.
// The key does not contain the date: a script must know its keys before it runs, and only Redis
// knows the current time.
const BOOKS: &str = r"
local key, held, t = KEYS[1], KEYS[2], redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local day = math.floor(now / 86400000)
local left = 86400000 - now % 86400000
if tonumber(redis.call('HGET', key, 'day') or '-1') ~= day then
  redis.call('DEL', key, held)
  redis.call('HSET', key, 'day', day)
end
local function release(member)
  if redis.call('ZREM', held, member) == 0 then return end
  local part = {}
  for line in string.gmatch(member, '[^\n]+') do part[#part + 1] = line end
  for i = 4, #part do
    redis.call('HINCRBY', key, part[i] .. ':ht', 0 - tonumber(part[2]))
    redis.call('HINCRBY', key, part[i] .. ':hu', 0 - tonumber(part[3]))
  end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now)) do release(member) end
local function sums(account)
  local kept = redis.call('HMGET', key, account .. ':t', account .. ':u', account .. ':ht', account .. ':hu')
  for i = 1, 4 do kept[i] = tonumber(kept[i] or '0') end
  return kept
end
local function keep()
  redis.call('PEXPIRE', key, 172800000)
  redis.call('PEXPIRE', held, 172800000)
end
";

/// ARGV: reservation as stored, tokens, billionths, milliseconds until it expires; name and limits
/// of each account, with -1 for no limit. Returns `[0, day, sums of all accounts]`, or
/// `[1, left, index, unit, sums of the account]`, where the unit is 0 for tokens and 1 for money.
// Two loops: nothing may be written until every account has been checked, because a script is not
// rolled back.
const RESERVE: &str = r"
local tokens, nano, seen = tonumber(ARGV[2]), tonumber(ARGV[3]), {0, day}
for i = 5, #ARGV, 3 do
  local sum, unit = sums(ARGV[i]), -1
  local most_tokens, most_nano = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  if most_tokens >= 0 and sum[1] + sum[3] + tokens > most_tokens then unit = 0
  elseif most_nano >= 0 and sum[2] + sum[4] + nano > most_nano then unit = 1 end
  if unit >= 0 then return {1, left, (i - 5) / 3, unit, sum[1], sum[2], sum[3], sum[4]} end
  for j = 1, 4 do seen[#seen + 1] = sum[j] end
end
for i = 5, #ARGV, 3 do
  redis.call('HINCRBY', key, ARGV[i] .. ':ht', ARGV[2])
  redis.call('HINCRBY', key, ARGV[i] .. ':hu', ARGV[3])
end
redis.call('ZADD', held, now + tonumber(ARGV[4]), ARGV[1])
keep()
return seen";

/// ARGV: day, reservation as stored, tokens, billionths; names of accounts.
// `release` does nothing if the reservation has expired. The amount was spent anyway, so it is
// counted.
const SETTLE: &str = r"
if tonumber(ARGV[1]) ~= day then return {} end
release(ARGV[2])
for i = 5, #ARGV do
  redis.call('HINCRBY', key, ARGV[i] .. ':t', ARGV[3])
  redis.call('HINCRBY', key, ARGV[i] .. ':u', ARGV[4])
end
keep()
return {}";

/// ARGV: names of accounts. Returns the remaining time of the day, and all sums.
const USED: &str = r"
local seen = {left}
for _, account in ipairs(ARGV) do
  for _, sum in ipairs(sums(account)) do seen[#seen + 1] = sum end
end
return seen";

/// Budget usage in Redis.
#[derive(Debug)]
pub(crate) struct RedisBudgets {
    settings: RedisSettings,
    /// Created by the first call that a budget limits, because it needs a runtime.
    client: OnceLock<RedisClient>,
}

impl RedisBudgets {
    /// Creates the store without connecting.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub(crate) fn new(address: &RedisAddress, options: &StoreOptions) -> Result<Self, StoreError> {
        Ok(RedisBudgets {
            settings: RedisSettings::quiet(address, options)?,
            client: OnceLock::new(),
        })
    }

    async fn run(&self, text: &str, arguments: &[String]) -> Result<Vec<Value>, StoreError> {
        let client = self
            .client
            .get_or_init(|| RedisClient::open(self.settings.clone(), ChangeBus::new()));
        let key = self.settings.layout.tagged("budgets", "day");
        let held = format!("{key}:held");
        // The script is sent with EVAL each time. Scripts are short, and EVALSHA would need a
        // fallback after each restart of Redis.
        let whole = [BOOKS, text].concat();
        let reply = client
            .ask(script(&whole, &[&key, &held], arguments))
            .await?;
        Ok(list(reply))
    }
}

/// Encodes a reservation as stored.
fn member(hold: &Reservation) -> String {
    let Amount { tokens, nano_usd } = hold.amount;
    let accounts: Vec<&str> = hold.accounts.iter().map(|name| &**name).collect();
    // Line breaks separate the fields, and names contain none. The member contains everything
    // needed to release the reservation.
    format!("{}\n{tokens}\n{nano_usd}\n{}", hold.id, accounts.join("\n"))
}

/// Parses the sums of accounts, four numbers each.
fn seen(values: &[Value]) -> Vec<AccountUsage> {
    let of = |sums: &[Value]| {
        let at = |place: usize| sums.get(place).map_or(0, count);
        let amount = |place: usize| Amount {
            tokens: at(place),
            nano_usd: at(place + 1),
        };
        AccountUsage {
            spent: amount(0),
            held: amount(2),
        }
    };
    values.chunks(4).map(of).collect()
}

fn limit(most: Option<u64>) -> String {
    most.map_or_else(|| "-1".to_owned(), |most| most.to_string())
}

impl Budgets for RedisBudgets {
    fn describe(&self) -> String {
        self.settings.address.to_string()
    }

    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>> {
        async move {
            let names = accounts.iter().map(|account| account.name.clone());
            let mut hold = Reservation {
                id: id.into(),
                day: 0,
                accounts: names.collect(),
                amount,
            };
            let mut arguments = vec![
                member(&hold),
                amount.tokens.to_string(),
                amount.nano_usd.to_string(),
                time.as_millis().to_string(),
            ];
            for account in accounts {
                arguments.extend([
                    account.name.to_string(),
                    limit(account.limit.tokens),
                    limit(account.limit.nano_usd),
                ]);
            }
            let reply = self.run(RESERVE, &arguments).await?;
            let at = |place: usize| reply.get(place).map_or(0, count);
            if at(0) == 0 {
                hold.day = at(1);
                let seen = seen(reply.get(2..).unwrap_or_default());
                return Ok(ReserveResult::Held { hold, seen });
            }
            let used = seen(reply.get(4..).unwrap_or_default());
            Ok(ReserveResult::Over {
                account: usize::try_from(at(2)).unwrap_or_default(),
                unit: if at(3) == 0 {
                    BudgetUnit::Tokens
                } else {
                    BudgetUnit::Usd
                },
                used: used.first().copied().unwrap_or_default(),
                left: Duration::from_millis(at(1)),
            })
        }
        .boxed()
    }

    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let mut arguments = vec![
                hold.day.to_string(),
                member(hold),
                spent.tokens.to_string(),
                spent.nano_usd.to_string(),
            ];
            arguments.extend(hold.accounts.iter().map(|name| name.to_string()));
            self.run(SETTLE, &arguments).await.map(|_| ())
        }
        .boxed()
    }

    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>> {
        async move {
            let names: Vec<String> = accounts.iter().map(|name| name.to_string()).collect();
            let reply = self.run(USED, &names).await?;
            let left = Duration::from_millis(reply.first().map_or(0, count));
            Ok((seen(reply.get(1..).unwrap_or_default()), left))
        }
        .boxed()
    }
}
