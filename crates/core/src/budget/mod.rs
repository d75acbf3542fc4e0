//! The contract between processes about what may be spent in a day, and who pays for what a request
//! asks of models ([`BudgetAccounts`]).
//!
//! What a call may cost at most is *reserved* before it is made and *settled* when its cost is
//! known, so that no two processes spend the last cent. Who dies with a reservation holds it until
//! its time is over. Days are those of UTC, and a call counts on the day on which it was reserved.
//!
//! Money is counted in whole billionths of a US dollar, so that sums are exact; tokens are those of
//! requests and answers together.

mod account;
mod ledger;
mod limits;

pub use account::{
    BudgetAccounts, InScope, RunBudget, RunBudgetExceeded, RunReservation, current, paid_here,
    paying, with,
};
pub use ledger::{Ledger, MAX_AMOUNT, day_of, left_of_day, over};
pub use limits::{BudgetLimit, BudgetLimits, LimitsError, NANO};

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::store::{Health, StoreError};

/// What is spent, or reserved.
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

    /// What is left when another amount is taken away; 0 where that is more.
    #[must_use]
    pub fn less(self, other: Amount) -> Amount {
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

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Tokens.
    Tokens,
    /// Money.
    Usd,
    /// Time.
    Seconds,
}

/// A budget of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name: `all`, `key:NAME`, `agent:NAME`. No line break is in it.
    pub name: Arc<str>,
    /// What a day brings.
    pub limit: BudgetLimit,
}

/// What an account has seen of the day that it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountUsage {
    /// What calls cost that are over.
    pub spent: Amount,
    /// What calls may cost that are under way.
    pub held: Amount,
}

/// A reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// An id that no other has. No line break is in it.
    pub id: Arc<str>,
    /// The day that it counts on, in days since 1970.
    pub day: u64,
    /// Names of the accounts that it is held in.
    pub accounts: Arc<[Arc<str>]>,
    /// How much is held in each.
    pub amount: Amount,
}

/// What is said to a call that wants to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReserveResult {
    /// It may be: what it may cost is held.
    Held {
        /// The reservation.
        hold: Reservation,
        /// What each account had seen before.
        seen: Vec<AccountUsage>,
    },
    /// It would be too much for an account. Nothing is held.
    Over {
        /// Which of the accounts.
        account: usize,
        /// Of what there is too little.
        unit: BudgetUnit,
        /// What the account has seen.
        used: AccountUsage,
        /// Time until the day is over.
        left: Duration,
    },
}

/// The books of one process, of those of a machine, or of all replicas.
pub trait Budgets: Send + Sync + fmt::Debug {
    /// What and where they are, without secrets.
    fn describe(&self) -> String;

    /// Holds an amount in all accounts, or in none. After `time` it is let go, whatever became of
    /// whoever holds it.
    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>>;

    /// Lets go of what is held, and counts what was spent: also where it is more than was held, or
    /// where the time of the reservation is over. Does nothing once its day is over.
    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What accounts have seen of the day that it is, and the time until it is over.
    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>>;

    /// Whether the books are those of all replicas, where they should be.
    fn health(&self) -> Health {
        Health::Ready
    }
}
