//! Budget accounts that pay for the model calls of a future.
//!
//! The accounts belong to the future, not to each model call, so all calls of a request are charged
//! to its caller. A spawned task starts without accounts; use [`charge_to_current`] to pass them
//! on.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::ledger::exceeded_unit;
use super::{Account, AccountUsage, Amount, BudgetLimit, BudgetLimits, BudgetUnit};
use crate::lock::lock;

thread_local! {
    // A thread local instead of a task local: core has no runtime, and the value is set only while
    // a future is polled, so it follows the future when that moves between threads.
    static PAYER: RefCell<Option<BudgetAccounts>> = const { RefCell::new(None) };
}

/// Accounts that a call is charged to: the accounts of a key, daily budgets, and the budgets of the
/// current run. Clones share these accounts.
#[derive(Clone, Debug, Default)]
pub struct BudgetAccounts {
    /// Name of the key, if there are keys.
    pub key: Option<Arc<str>>,
    /// Limits set by the request. They can only lower the limits of the key.
    pub asked: Option<BudgetLimits>,
    accounts: Vec<Account>,
    runs: Vec<Arc<RunBudget>>,
}

impl BudgetAccounts {
    /// Creates accounts of a key, without any budget.
    #[must_use]
    pub fn of(key: Option<Arc<str>>) -> Self {
        BudgetAccounts {
            key,
            ..BudgetAccounts::default()
        }
    }

    /// Adds limits. `account` is the name of the daily budget. `title` is the source of the limits
    /// in errors: `budget`, `server.token.ci`, `agent writer`. The run's time limit starts now.
    #[must_use]
    pub fn with_limits(mut self, account: &str, title: &str, limits: &BudgetLimits) -> Self {
        if limits.day.is_set() && self.accounts.iter().all(|known| &*known.name != account) {
            self.accounts.push(Account {
                name: account.into(),
                limit: limits.day,
            });
        }
        if limits.has_run() {
            self.runs.push(Arc::new(RunBudget {
                title: title.into(),
                limit: limits.run,
                time: limits.run_time,
                began: Instant::now(),
                used: Mutex::default(),
            }));
        }
        self
    }

    /// Adds the limits that the request sets for its run.
    #[must_use]
    pub fn with_request_limits(self, limits: &BudgetLimits) -> Self {
        let run = BudgetLimits {
            day: BudgetLimit::default(),
            ..*limits
        };
        BudgetAccounts {
            asked: Some(run),
            ..self.with_limits("", "the request's budget", &run)
        }
    }

    /// The daily budgets.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Whether any budget applies.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        !self.accounts.is_empty() || !self.runs.is_empty()
    }

    /// Whether money is limited.
    #[must_use]
    pub fn counts_money(&self) -> bool {
        let days = self.accounts.iter().map(|account| account.limit);
        let runs = self.runs.iter().map(|run| run.limit);
        days.chain(runs).any(|limit| limit.nano_usd.is_some())
    }

    /// Returns the remaining time of the run and the budget that limits it, if any.
    #[must_use]
    pub fn time_left(&self) -> Option<(Duration, &Arc<RunBudget>)> {
        let left = |run: &'_ Arc<RunBudget>| run.left();
        let timed = self.runs.iter().filter_map(|run| Some((left(run)?, run)));
        timed.min_by_key(|(left, _)| *left)
    }

    /// Adds usage and time from before this process resumed the run.
    pub fn add_previous_usage(&self, spent: Amount, time: Duration) {
        for run in &self.runs {
            let mut used = run.used();
            used.seen.spent += spent;
            used.before += time;
        }
    }

    /// Reserves an amount in all budgets of the run, or in none.
    ///
    /// # Errors
    /// One of them has too little left.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::budget::{Amount, BudgetAccounts, BudgetLimits};
    ///
    /// let mut limits = BudgetLimits::default();
    /// limits.set("run_tokens", 100.0)?;
    /// let payer = BudgetAccounts::default().with_limits("all", "budget", &limits);
    ///
    /// let tokens = |tokens| Amount { tokens, ..Amount::default() };
    /// let reservation = payer.reserve(tokens(80)).unwrap();
    /// assert!(payer.reserve(tokens(80)).is_err());
    /// reservation.settle(tokens(10));
    /// assert!(payer.reserve(tokens(80)).is_ok());
    /// # Ok::<(), quillet_core::budget::LimitsError>(())
    /// ```
    pub fn reserve(&self, amount: Amount) -> Result<RunReservation, RunBudgetExceeded> {
        let mut held = RunReservation {
            runs: Vec::new(),
            amount,
        };
        for run in &self.runs {
            // On error, dropping `held` releases the reservations made in earlier iterations.
            run.hold(amount)?;
            held.runs.push(run.clone());
        }
        Ok(held)
    }
}

/// The budget of one run.
pub struct RunBudget {
    /// Source of the limit, as in errors.
    pub title: Arc<str>,
    /// Maximum usage of the run.
    pub limit: BudgetLimit,
    /// Time limit of the run.
    pub time: Option<Duration>,
    began: Instant,
    used: Mutex<RunUsage>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RunUsage {
    seen: AccountUsage,
    /// Running time in other processes.
    before: Duration,
}

impl fmt::Debug for RunBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spender({} {:?})", self.title, self.limit)
    }
}

impl RunBudget {
    fn used(&self) -> MutexGuard<'_, RunUsage> {
        lock(&self.used)
    }

    /// Total running time, over all processes.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed().saturating_add(self.used().before)
    }

    fn left(&self) -> Option<Duration> {
        Some(self.time?.saturating_sub(self.elapsed()))
    }

    fn hold(self: &Arc<Self>, amount: Amount) -> Result<(), RunBudgetExceeded> {
        if self.left().is_some_and(|left| left.is_zero()) {
            // Locked separately here and below: the lock is not reentrant, so it must not be held
            // during `left`, which locks it too.
            return Err(self.over(BudgetUnit::Seconds, self.used().seen));
        }
        let mut used = self.used();
        let account = Account {
            name: self.title.clone(),
            limit: self.limit,
        };
        // Check and reservation happen under one lock. Otherwise concurrent calls could both use
        // the remaining amount.
        if let Some(unit) = exceeded_unit(&account, used.seen, amount) {
            return Err(self.over(unit, used.seen));
        }
        used.seen.held += amount;
        Ok(())
    }

    fn over(self: &Arc<Self>, unit: BudgetUnit, used: AccountUsage) -> RunBudgetExceeded {
        RunBudgetExceeded {
            run: self.clone(),
            unit,
            used,
        }
    }
}

/// Error of an exhausted run budget.
#[derive(Clone, Debug)]
pub struct RunBudgetExceeded {
    /// The budget.
    pub run: Arc<RunBudget>,
    /// The exhausted unit.
    pub unit: BudgetUnit,
    /// Usage of the budget.
    pub used: AccountUsage,
}

/// A reservation in the budgets of a run; released on drop.
#[derive(Debug, Default)]
pub struct RunReservation {
    runs: Vec<Arc<RunBudget>>,
    amount: Amount,
}

impl RunReservation {
    /// Records the actual amount and releases the reservation.
    pub fn settle(self, spent: Amount) {
        for run in &self.runs {
            run.used().seen.spent += spent;
        }
    }
}

impl Drop for RunReservation {
    fn drop(&mut self) {
        for run in &self.runs {
            let mut used = run.used();
            used.seen.held = used.seen.held.saturating_sub(self.amount);
        }
    }
}

/// Returns the accounts of the future that is being polled.
#[must_use]
pub fn current_accounts() -> Option<BudgetAccounts> {
    PAYER.with_borrow(Clone::clone)
}

/// Wraps a future so that its model calls are charged to `payer`.
pub fn charge_to<F: Future>(payer: BudgetAccounts, future: F) -> InScope<F> {
    InScope {
        payer: Some(payer),
        future: Box::pin(future),
    }
}

/// Wraps a future so that its model calls are charged to the current accounts. Use it for spawned
/// tasks.
pub fn charge_to_current<F: Future>(future: F) -> InScope<F> {
    InScope {
        payer: current_accounts(),
        future: Box::pin(future),
    }
}

/// A future and its budget accounts.
#[derive(Debug)]
pub struct InScope<F> {
    payer: Option<BudgetAccounts>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // Set for each poll and not once: other futures are polled on this thread in between.
        let payer = self.payer.clone();
        with_accounts(payer, || self.future.as_mut().poll(context))
    }
}

/// Runs a closure, such as a poll of a stream, with the given accounts.
///
/// # Examples
///
/// ```
/// use quillet_core::budget::{BudgetAccounts, current_accounts, with_accounts};
///
/// let payer = BudgetAccounts::of(Some("ci".into()));
/// let key = with_accounts(Some(payer), || current_accounts().and_then(|payer| payer.key));
/// assert_eq!(key.as_deref(), Some("ci"));
/// assert!(current_accounts().is_none());
/// ```
pub fn with_accounts<T>(payer: Option<BudgetAccounts>, work: impl FnOnce() -> T) -> T {
    /// Restores the previous accounts, even if the closure panics.
    struct PayerGuard(Option<BudgetAccounts>);
    impl Drop for PayerGuard {
        fn drop(&mut self) {
            PAYER.set(self.0.take());
        }
    }
    let _before = PayerGuard(PAYER.replace(payer));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(tokens: u64) -> BudgetLimits {
        let mut limits = BudgetLimits::default();
        limits.set("run_tokens", tokens as f64).unwrap();
        limits
    }

    fn tokens(tokens: u64) -> Amount {
        Amount {
            tokens,
            nano_usd: 0,
        }
    }

    #[test]
    fn the_narrowest_budget_of_a_run_counts_and_lets_go_of_all() {
        let payer = BudgetAccounts::of(None)
            .with_limits("all", "budget", &limits(100))
            .with_limits("key:ci", "server.token.ci", &limits(30));
        let first = payer.reserve(tokens(20)).unwrap();
        let over = payer.reserve(tokens(20)).unwrap_err();
        assert_eq!(
            (&*over.run.title, over.unit),
            ("server.token.ci", BudgetUnit::Tokens)
        );
        assert_eq!(over.used.held, tokens(20));
        first.settle(tokens(5));
        let second = payer.reserve(tokens(25)).unwrap();
        drop(second);
        payer.reserve(tokens(25)).unwrap().settle(tokens(25));
        assert!(payer.reserve(tokens(1)).is_err());
        // Each rejection by the narrower budget released the reservation in the wider budget.
        assert_eq!(payer.runs[0].used().seen.spent, tokens(30));
        assert_eq!(payer.runs[0].used().seen.held, tokens(0));
    }

    #[test]
    fn what_was_spent_before_counts() {
        let payer = BudgetAccounts::of(None).with_limits("all", "budget", &limits(100));
        payer.add_previous_usage(tokens(90), Duration::from_secs(3));
        assert!(payer.reserve(tokens(11)).is_err());
        assert!(payer.reserve(tokens(10)).is_ok());
        assert!(payer.runs[0].elapsed() >= Duration::from_secs(3));
    }

    #[test]
    fn a_payer_goes_with_its_future_and_with_nothing_else() {
        let name = || current_accounts().and_then(|payer| payer.key);
        let ada = BudgetAccounts::of(Some("ada".into()));
        let bob = BudgetAccounts::of(Some("bob".into()));
        assert_eq!(name(), None);
        let seen = with_accounts(Some(ada), || {
            let inner = with_accounts(Some(bob), name);
            (name(), inner, with_accounts(None, name))
        });
        assert_eq!(seen, (Some("ada".into()), Some("bob".into()), None));
        assert_eq!(name(), None);
        let broken = std::panic::catch_unwind(|| {
            with_accounts(Some(BudgetAccounts::of(Some("eve".into()))), || {
                panic!("on purpose")
            })
        });
        assert!(broken.is_err());
        assert_eq!(name(), None);
    }
}
