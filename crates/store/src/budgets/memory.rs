//! Budget usage in memory, for one process.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::budget::{
    Account, AccountUsage, Amount, Budgets, Ledger, Reservation, ReserveResult,
};
use quillet_core::lock::lock;
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};

/// Budget usage in memory.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use quillet_core::budget::{Account, Amount, BudgetLimit, Budgets, ReserveResult};
/// use quillet_store::MemoryBudgets;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let budgets = MemoryBudgets::at(|| 0);
/// let limit = BudgetLimit { tokens: Some(100), nano_usd: None };
/// let accounts = [Account { name: "all".into(), limit }];
/// let amount = Amount { tokens: 80, nano_usd: 0 };
/// let minute = Duration::from_secs(60);
/// let first = budgets.reserve("call-1", &accounts, amount, minute).await?;
/// assert!(matches!(first, ReserveResult::Held { .. }));
/// let second = budgets.reserve("call-2", &accounts, amount, minute).await?;
/// assert!(matches!(second, ReserveResult::Over { .. }));
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
pub struct MemoryBudgets {
    ledger: Mutex<Ledger>,
    clock: fn() -> u64,
}

impl Default for MemoryBudgets {
    fn default() -> Self {
        MemoryBudgets::new()
    }
}

impl fmt::Debug for MemoryBudgets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryBudgets")
    }
}

impl MemoryBudgets {
    /// Creates a store without any usage.
    #[must_use]
    pub fn new() -> Self {
        MemoryBudgets::at(clock::millis)
    }

    /// Creates a store that uses the given clock. The clock returns milliseconds since 1970.
    #[must_use]
    pub fn at(clock: fn() -> u64) -> Self {
        MemoryBudgets {
            ledger: Mutex::default(),
            clock,
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// Adopts the usage of accounts that another store reported.
    pub(super) fn adopt_usage(&self, hold: &Reservation, seen: &[AccountUsage]) {
        self.ledger().adopt_usage(hold, seen, (self.clock)());
    }
}

impl Budgets for MemoryBudgets {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>> {
        async move {
            let now = (self.clock)();
            Ok(self.ledger().reserve(id, accounts, amount, time, now))
        }
        .boxed()
    }

    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            self.ledger().settle(hold, spent, (self.clock)());
            Ok(())
        }
        .boxed()
    }

    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>> {
        async move { Ok(self.ledger().used(accounts, (self.clock)())) }.boxed()
    }
}
