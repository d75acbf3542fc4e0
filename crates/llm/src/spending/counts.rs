//! Usage of keys with budgets in this process, for `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use quillet_core::budget::{Amount, BudgetAccounts};
use quillet_core::lock::lock;

/// Key name of requests without a key.
const NOBODY: &str = "anonymous";

/// Usage of one key since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCount {
    /// Tokens and cost.
    pub spent: Amount,
    /// Number of rejected calls.
    pub refused: u64,
}

/// Counters of all keys. The configuration bounds their number.
#[derive(Debug, Default)]
pub(super) struct KeyCounters(Mutex<BTreeMap<Arc<str>, KeyCount>>);

impl KeyCounters {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, KeyCount>> {
        lock(&self.0)
    }

    pub(super) fn all(&self) -> Vec<(Arc<str>, KeyCount)> {
        let counts = self.locked();
        counts
            .iter()
            .map(|(key, count)| (key.clone(), *count))
            .collect()
    }

    pub(super) fn change(&self, payer: &BudgetAccounts, change: impl FnOnce(&mut KeyCount)) {
        let key = payer.key.clone().unwrap_or_else(|| NOBODY.into());
        change(self.locked().entry(key).or_default());
    }
}
