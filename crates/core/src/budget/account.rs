//! Who pays for what is asked of models while a future runs.
//!
//! The payer goes with the future and not with each request to a model: whatever a request brings
//! about, in whichever part, is paid by whoever made it. A task of its own has no payer until it is
//! given one ([`current`], [`paying`]).

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::ledger::over;
use super::{Account, AccountUsage, Amount, BudgetLimit, BudgetLimits, BudgetUnit};

thread_local! {
    static PAYER: RefCell<Option<BudgetAccounts>> = const { RefCell::new(None) };
}

/// Who pays: a key, budgets of days, and budgets of the run that is under way. Copies share them.
#[derive(Clone, Debug, Default)]
pub struct BudgetAccounts {
    /// The name of the key, where there are keys.
    pub key: Option<Arc<str>>,
    /// What the request itself allows, which only lowers what its key has.
    pub asked: Option<BudgetLimits>,
    accounts: Vec<Account>,
    runs: Vec<Arc<RunBudget>>,
}

impl BudgetAccounts {
    /// Somebody without any budget.
    #[must_use]
    pub fn of(key: Option<Arc<str>>) -> Self {
        BudgetAccounts {
            key,
            ..BudgetAccounts::default()
        }
    }

    /// The same, within further limits. `account` names the budget of a day, `title` says whose
    /// limits they are, as errors name them: `budget`, `server.token.ci`, `agent writer`. The run
    /// begins now.
    #[must_use]
    pub fn within(mut self, account: &str, title: &str, limits: &BudgetLimits) -> Self {
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

    /// The same, within what the request allows its run.
    #[must_use]
    pub fn asking(self, limits: &BudgetLimits) -> Self {
        let run = BudgetLimits {
            day: BudgetLimit::default(),
            ..*limits
        };
        BudgetAccounts {
            asked: Some(run),
            ..self.within("", "the request's budget", &run)
        }
    }

    /// Budgets of days.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Whether anything limits what is asked.
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

    /// The time that the run has left, where it is limited, and whose limit it is.
    #[must_use]
    pub fn time_left(&self) -> Option<(Duration, &Arc<RunBudget>)> {
        let left = |run: &'_ Arc<RunBudget>| run.left();
        let timed = self.runs.iter().filter_map(|run| Some((left(run)?, run)));
        timed.min_by_key(|(left, _)| *left)
    }

    /// Counts what the run spent, and how long it ran, before this process went on with it.
    pub fn remember(&self, spent: Amount, time: Duration) {
        for run in &self.runs {
            let mut used = run.used();
            used.seen.spent += spent;
            used.before += time;
        }
    }

    /// Holds an amount in all budgets of the run, or in none.
    ///
    /// # Errors
    /// One of them has too little left.
    pub fn reserve(&self, amount: Amount) -> Result<RunReservation, RunBudgetExceeded> {
        let mut held = RunReservation {
            runs: Vec::new(),
            amount,
        };
        for run in &self.runs {
            // What was held until then is let go as `held` is dropped.
            run.hold(amount)?;
            held.runs.push(run.clone());
        }
        Ok(held)
    }
}

/// The budget of one run.
pub struct RunBudget {
    /// Whose limit it is.
    pub title: Arc<str>,
    /// What the run may spend.
    pub limit: BudgetLimit,
    /// How long it may ask.
    pub time: Option<Duration>,
    began: Instant,
    used: Mutex<RunUsage>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RunUsage {
    seen: AccountUsage,
    /// How long the run ran in other processes.
    before: Duration,
}

impl fmt::Debug for RunBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spender({} {:?})", self.title, self.limit)
    }
}

impl RunBudget {
    fn used(&self) -> MutexGuard<'_, RunUsage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the run has been asking.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.began.elapsed().saturating_add(self.used().before)
    }

    fn left(&self) -> Option<Duration> {
        Some(self.time?.saturating_sub(self.took()))
    }

    fn hold(self: &Arc<Self>, amount: Amount) -> Result<(), RunBudgetExceeded> {
        if self.left().is_some_and(|left| left.is_zero()) {
            return Err(self.over(BudgetUnit::Seconds, self.used().seen));
        }
        let mut used = self.used();
        let account = Account {
            name: self.title.clone(),
            limit: self.limit,
        };
        if let Some(unit) = over(&account, used.seen, amount) {
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

/// The budget of a run has too little left.
#[derive(Clone, Debug)]
pub struct RunBudgetExceeded {
    /// Which.
    pub run: Arc<RunBudget>,
    /// Of what.
    pub unit: BudgetUnit,
    /// What it has seen.
    pub used: AccountUsage,
}

/// What is held in the budgets of a run; dropping it lets go.
#[derive(Debug, Default)]
pub struct RunReservation {
    runs: Vec<Arc<RunBudget>>,
    amount: Amount,
}

impl RunReservation {
    /// Counts what was spent, and lets go.
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
            used.seen.held = used.seen.held.less(self.amount);
        }
    }
}

/// Who pays for what the future that is polled asks for.
#[must_use]
pub fn current() -> Option<BudgetAccounts> {
    PAYER.with_borrow(Clone::clone)
}

/// The future, paid by somebody.
pub fn paying<F: Future>(payer: BudgetAccounts, future: F) -> InScope<F> {
    InScope {
        payer: Some(payer),
        future: Box::pin(future),
    }
}

/// The future, paid by whoever pays here: for what goes on as a task of its own.
pub fn paid_here<F: Future>(future: F) -> InScope<F> {
    InScope {
        payer: current(),
        future: Box::pin(future),
    }
}

/// A future with its payer.
#[derive(Debug)]
pub struct InScope<F> {
    payer: Option<BudgetAccounts>,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let payer = self.payer.clone();
        with(payer, || self.future.as_mut().poll(context))
    }
}

/// Does something that asks while somebody pays, such as polling a stream.
pub fn with<T>(payer: Option<BudgetAccounts>, work: impl FnOnce() -> T) -> T {
    /// Puts back who paid before, also where the work panics.
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
            .within("all", "budget", &limits(100))
            .within("key:ci", "server.token.ci", &limits(30));
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
        // The wider budget was let go each time that the narrower one refused.
        assert_eq!(payer.runs[0].used().seen.spent, tokens(30));
        assert_eq!(payer.runs[0].used().seen.held, tokens(0));
    }

    #[test]
    fn what_was_spent_before_counts() {
        let payer = BudgetAccounts::of(None).within("all", "budget", &limits(100));
        payer.remember(tokens(90), Duration::from_secs(3));
        assert!(payer.reserve(tokens(11)).is_err());
        assert!(payer.reserve(tokens(10)).is_ok());
        assert!(payer.runs[0].took() >= Duration::from_secs(3));
    }

    #[test]
    fn a_payer_goes_with_its_future_and_with_nothing_else() {
        let name = || current().and_then(|payer| payer.key);
        let ada = BudgetAccounts::of(Some("ada".into()));
        let bob = BudgetAccounts::of(Some("bob".into()));
        assert_eq!(name(), None);
        let seen = with(Some(ada), || {
            let inner = with(Some(bob), name);
            (name(), inner, with(None, name))
        });
        assert_eq!(seen, (Some("ada".into()), Some("bob".into()), None));
        assert_eq!(name(), None);
        let broken = std::panic::catch_unwind(|| {
            with(Some(BudgetAccounts::of(Some("eve".into()))), || {
                panic!("on purpose")
            })
        });
        assert!(broken.is_err());
        assert_eq!(name(), None);
    }
}
