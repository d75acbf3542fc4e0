//! Budget usage shared by several processes, with a local fallback while the shared store is
//! unavailable.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::budget::{Account, AccountUsage, Amount, Budgets, Reservation, ReserveResult};
use quillet_core::lock::lock;
use quillet_core::store::{Health, StoreError};

use super::MemoryBudgets;

/// A day, and the accounts that were charged together.
type DayAccounts = (u64, Arc<[Arc<str>]>);

/// Uses the shared store. While it is unavailable, a local store continues from the last reported
/// usage. Costs recorded in that time are added to the shared store when it is available again.
#[derive(Debug)]
pub(crate) struct SharedBudgets<B> {
    shared: B,
    own: MemoryBudgets,
    alone: AtomicBool,
    /// Costs missing in the shared store, by day and accounts.
    owed: Mutex<HashMap<DayAccounts, Amount>>,
}

impl<B: Budgets> SharedBudgets<B> {
    pub(crate) fn new(shared: B) -> Self {
        SharedBudgets {
            shared,
            own: MemoryBudgets::new(),
            alone: AtomicBool::new(false),
            owed: Mutex::default(),
        }
    }

    /// Returns the answer, or `None` after an error. Logs when the availability changes, and
    /// records the missing costs after an outage.
    async fn log_outage<T>(&self, answer: Result<T, StoreError>) -> Option<T> {
        // `swap` makes exactly one of the concurrent calls log the change.
        let was_alone = self.alone.swap(answer.is_err(), Ordering::Relaxed);
        match answer {
            Ok(answer) => {
                if was_alone {
                    tracing::info!(target: "quillet::budgets", "budgets are shared by all replicas again");
                    self.settle_deferred().await;
                }
                Some(answer)
            }
            Err(error) => {
                if !was_alone {
                    tracing::warn!(
                        target: "quillet::budgets",
                        "{error}; until it answers, this process counts budgets on its own (budget.alone)"
                    );
                }
                None
            }
        }
    }

    fn defer_settlement(&self, hold: &Reservation, spent: Amount) {
        let mut owed = lock(&self.owed);
        // Usage of a past day no longer counts.
        owed.retain(|(day, _), _| *day >= hold.day);
        *owed.entry((hold.day, hold.accounts.clone())).or_default() += spent;
    }

    async fn settle_deferred(&self) {
        // The owed amounts are removed under the lock and sent without it, because sending waits
        // for the network.
        let owed = std::mem::take(&mut *lock(&self.owed));
        for ((day, accounts), spent) in owed {
            let hold = Reservation {
                // No reservation has this id, so settling only adds the amount.
                id: "owed".into(),
                day,
                accounts,
                amount: Amount::default(),
            };
            if self.shared.settle(&hold, spent).await.is_err() {
                self.defer_settlement(&hold, spent);
                self.alone.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl<B: Budgets> Budgets for SharedBudgets<B> {
    fn describe(&self) -> String {
        self.shared.describe()
    }

    fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [Account],
        amount: Amount,
        time: Duration,
    ) -> BoxFuture<'a, Result<ReserveResult, StoreError>> {
        async move {
            let reserved = self.shared.reserve(id, accounts, amount, time).await;
            match self.log_outage(reserved).await {
                Some(reserved) => {
                    if let ReserveResult::Held { hold, seen } = &reserved {
                        // Updates the local copy, so an outage continues from the last known usage
                        // instead of zero.
                        self.own.adopt_usage(hold, seen);
                    }
                    Ok(reserved)
                }
                None => self.own.reserve(id, accounts, amount, time).await,
            }
        }
        .boxed()
    }

    fn settle<'a>(
        &'a self,
        hold: &'a Reservation,
        spent: Amount,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let settled = self.shared.settle(hold, spent).await;
            match self.log_outage(settled).await {
                Some(()) => {}
                None => self.defer_settlement(hold, spent),
            }
            // Settle locally even while the shared store is available, because the local copy must
            // be correct if the next call fails.
            self.own.settle(hold, spent).await
        }
        .boxed()
    }

    fn used<'a>(
        &'a self,
        accounts: &'a [Arc<str>],
    ) -> BoxFuture<'a, Result<(Vec<AccountUsage>, Duration), StoreError>> {
        async move {
            let used = self.shared.used(accounts).await;
            match self.log_outage(used).await {
                Some(used) => Ok(used),
                None => self.own.used(accounts).await,
            }
        }
        .boxed()
    }

    fn health(&self) -> Health {
        if self.alone.load(Ordering::Relaxed) {
            let reason = format!("{} does not answer", self.shared.describe());
            return Health::Away { reason };
        }
        Health::Ready
    }
}
