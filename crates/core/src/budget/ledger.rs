//! Accounting of one day, in memory. The memory store is built on it, and tests compare other
//! stores with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Account, AccountUsage, Amount, BudgetUnit, Reservation, ReserveResult};

/// Maximum of one sum: a million dollars in billionths, or as many tokens. Up to it, sums are exact
/// in every store.
// Lua in Redis calculates with 64-bit floats, which are exact only below 2^53.
pub const MAX_AMOUNT: u64 = 1_000_000_000_000_000;

const DAY_MS: u64 = 86_400_000;

/// Returns the UTC day, in days since 1970, of a time in milliseconds since 1970.
#[must_use]
pub fn day_of(now_ms: u64) -> u64 {
    now_ms / DAY_MS
}

/// Returns the time until the end of the UTC day.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use quillet_core::budget::{day_of, left_of_day};
///
/// let before_midnight = 86_399_000;
/// assert_eq!(day_of(before_midnight), 0);
/// assert_eq!(left_of_day(before_midnight), Duration::from_secs(1));
/// ```
#[must_use]
pub fn left_of_day(now_ms: u64) -> Duration {
    Duration::from_millis(DAY_MS - now_ms % DAY_MS)
}

/// Returns the unit whose limit a call would exceed, if any.
///
/// # Examples
///
/// ```
/// use quillet_core::budget::{Account, AccountUsage, Amount, BudgetLimit, BudgetUnit, exceeded_unit};
///
/// let account = Account {
///     name: "all".into(),
///     limit: BudgetLimit { tokens: Some(100), nano_usd: None },
/// };
/// let tokens = |tokens| Amount { tokens, ..Amount::default() };
/// let used = AccountUsage { spent: tokens(90), ..AccountUsage::default() };
/// assert_eq!(exceeded_unit(&account, used, tokens(10)), None);
/// assert_eq!(exceeded_unit(&account, used, tokens(11)), Some(BudgetUnit::Tokens));
/// ```
#[must_use]
pub fn exceeded_unit(account: &Account, used: AccountUsage, amount: Amount) -> Option<BudgetUnit> {
    let mut sum = used.spent;
    sum += used.held;
    sum += amount;
    let limit = account.limit;
    if limit.tokens.is_some_and(|most| sum.tokens > most) {
        return Some(BudgetUnit::Tokens);
    }
    let money = limit.nano_usd.is_some_and(|most| sum.nano_usd > most);
    money.then_some(BudgetUnit::Usd)
}

/// The accounts of a day, and the reservations in them. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    day: u64,
    spent: HashMap<Arc<str>, Amount>,
    holds: HashMap<Arc<str>, (Reservation, u64)>,
}

impl Ledger {
    /// Starts a new day if the date has changed, and drops expired reservations.
    fn advance_to(&mut self, now: u64) {
        if self.day != day_of(now) {
            *self = Ledger {
                day: day_of(now),
                ..Ledger::default()
            };
        }
        self.holds.retain(|_, (_, until)| *until > now);
    }

    /// Implements [`super::Budgets::reserve`].
    pub fn reserve(
        &mut self,
        id: &str,
        accounts: &[Account],
        amount: Amount,
        time: Duration,
        now: u64,
    ) -> ReserveResult {
        self.advance_to(now);
        let mut seen = Vec::with_capacity(accounts.len());
        for (place, account) in accounts.iter().enumerate() {
            let used = self.of(&account.name);
            seen.push(used);
            if let Some(unit) = exceeded_unit(account, used, amount) {
                return ReserveResult::Over {
                    account: place,
                    unit,
                    used,
                    left: left_of_day(now),
                };
            }
        }
        let hold = Reservation {
            id: id.into(),
            day: self.day,
            accounts: accounts
                .iter()
                .map(|account| account.name.clone())
                .collect(),
            amount,
        };
        let time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let until = now.saturating_add(time);
        self.holds.insert(hold.id.clone(), (hold.clone(), until));
        ReserveResult::Held { hold, seen }
    }

    /// Implements [`super::Budgets::settle`].
    pub fn settle(&mut self, hold: &Reservation, spent: Amount, now: u64) {
        self.advance_to(now);
        if hold.day != self.day {
            return;
        }
        // The amount is counted even if the reservation has expired, because it was spent.
        self.holds.remove(&hold.id);
        for name in &*hold.accounts {
            *self.spent.entry(name.clone()).or_default() += spent;
        }
    }

    /// Implements [`super::Budgets::used`].
    pub fn used(&mut self, accounts: &[Arc<str>], now: u64) -> (Vec<AccountUsage>, Duration) {
        self.advance_to(now);
        let used = accounts.iter().map(|name| self.of(name)).collect();
        (used, left_of_day(now))
    }

    /// Adopts usage reported by a shared store, if it is for the current day.
    pub fn adopt_usage(&mut self, hold: &Reservation, seen: &[AccountUsage], now: u64) {
        self.advance_to(now);
        if hold.day != self.day {
            return;
        }
        for (name, used) in hold.accounts.iter().zip(seen) {
            self.spent.insert(name.clone(), used.spent);
        }
    }

    fn of(&self, name: &Arc<str>) -> AccountUsage {
        let mut held = Amount::default();
        for (hold, _) in self.holds.values() {
            if hold.accounts.contains(name) {
                held += hold.amount;
            }
        }
        AccountUsage {
            spent: self.spent.get(name).copied().unwrap_or_default(),
            held,
        }
    }
}
