//! What keys with budgets have spent in this process, for `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use quillet_core::budget::{Amount, BudgetAccounts};
use quillet_core::lock::lock;

/// Who asks where there are no keys.
const NOBODY: &str = "anonymous";

/// What a key with a budget has spent in this process since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyCount {
    /// Tokens and money.
    pub spent: Amount,
    /// Calls that were not made.
    pub refused: u64,
}

/// The counts of all keys. Keys are bounded by the configuration.
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
