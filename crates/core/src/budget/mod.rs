//! Daily budgets shared by processes, and the accounts that pay for the model calls of a request
//! ([`BudgetAccounts`]).
//!
//! The maximum cost of a call is *reserved* before the call and *settled* when the cost is known,
//! so two processes never spend the last cent twice. The reservation of a crashed process expires.
//! Days are UTC days; a call counts on the day of its reservation.
//!
//! Money is counted in whole billionths of a US dollar, so that sums are exact. Tokens include both
//! requests and answers.

mod account;
mod ledger;
mod limits;

pub use account::{
    BudgetAccounts, InScope, RunBudget, RunBudgetExceeded, RunReservation, charge_to,
    charge_to_current, current_accounts, with_accounts,
};
pub use ledger::{Ledger, MAX_AMOUNT, day_of, exceeded_unit, left_of_day};
pub use limits::{BudgetLimit, BudgetLimits, LimitsError, NANO};

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// A spent or reserved amount.
///
/// # Examples
///
/// ```
/// use quillet_core::budget::Amount;
///
/// let spent = Amount { tokens: 100, nano_usd: 500_000_000 };
/// assert_eq!(spent.usd(), 0.5);
/// let more = Amount { tokens: 150, nano_usd: 0 };
/// assert_eq!(spent.saturating_sub(more), Amount { tokens: 0, nano_usd: 500_000_000 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Tokens of requests and answers.
    pub tokens: u64,
    /// Billionths of a US dollar.
    pub nano_usd: u64,
}

impl Amount {
    /// US dollars.
    #[must_use]
    pub fn usd(&self) -> f64 {
        self.nano_usd as f64 / NANO
    }

    /// Subtracts another amount; the result is never below 0.
    #[must_use]
    pub fn saturating_sub(self, other: Amount) -> Amount {
        Amount {
            tokens: self.tokens.saturating_sub(other.tokens),
            nano_usd: self.nano_usd.saturating_sub(other.nano_usd),
        }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.nano_usd = self.nano_usd.saturating_add(other.nano_usd);
    }
}

/// Unit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Tokens.
    Tokens,
    /// Money.
    Usd,
    /// Time.
    Seconds,
}

/// A daily budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name: `all`, `key:NAME`, `agent:NAME`. Contains no line break.
    pub name: Arc<str>,
    /// Limit per day.
    pub limit: BudgetLimit,
}

/// Usage of an account on the current day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// Cost of finished calls.
    pub spent: Amount,
    /// Maximum cost of running calls.
    pub held: Amount,
}

/// An amount set aside for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Unique id. Contains no line break.
    pub id: Arc<str>,
    /// Day to which it is charged, in days since 1970.
    pub day: u64,
    /// Names of the reserved accounts.
    pub accounts: Arc<[Arc<str>]>,
    /// Amount reserved in each account.
    pub amount: Amount,
}

/// Result of a reservation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReserveResult {
    /// The call is allowed, and its maximum cost is reserved.
    Held {
        /// The reservation.
        hold: Reservation,
        /// Usage of each account before the reservation.
        seen: Vec<AccountUsage>,
    },
    /// The call would exceed the limit of an account. Nothing is reserved.
    Over {
        /// Index of the account.
        account: usize,
        /// The exhausted unit.
        unit: BudgetUnit,
        /// Usage of the account.
        used: AccountUsage,
        /// Time until the end of the day.
        left: Duration,
    },
}

/// Usage records of one process, of the processes of one machine, or of all replicas.
pub trait Budgets: Send + Sync + fmt::Debug {
    /// Describes the store and its address, without secrets.
    fn describe(&self) -> String;

    /// Reserves an amount in all accounts, or in none. The reservation expires after `time`, even
    /// if its process crashes.
    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>>;

    /// Releases a reservation and records the actual amount, even if that is larger or the
    /// reservation has expired. Does nothing after the day of the reservation.
    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the usage of accounts on the current day, and the time until its end.
    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>>;

    /// Whether usage is shared with all replicas, if it is meant to be.
    fn health(&self) -> Health {
        Health::Ready
    }
}
