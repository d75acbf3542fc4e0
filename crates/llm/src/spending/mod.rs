//! Budgets. The maximum cost of a call is reserved before it is sent, and the actual cost is
//! recorded at its end. A call that would exceed a budget is rejected.
//!
//! Budgets wrap retries: failed attempts cost nothing, and one reservation covers all attempts. The
//! calling future determines the accounts ([`quillet_core::budget::current`]); without accounts the
//! call is a run by itself, without a key.

mod call;
mod counts;
mod message;
mod reservation;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_core::budget::{
    Account, AccountUsage, Amount, BudgetAccounts, BudgetLimits, Budgets, Reservation,
    ReserveResult, current_accounts,
};
use quillet_core::chat::{ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, Usage};
use quillet_core::store::{Health, StoreError};

pub(crate) use call::PricedModel;
use call::{CallEstimate, TokenPrice};
pub use counts::KeyCount;
use counts::KeyCounters;
use reservation::{ActiveReservation, guarded};

/// Options of budgets.
#[derive(Clone, Debug)]
pub struct SpendingOptions {
    /// Limits for all keys together, and for each run.
    pub all: BudgetLimits,
    /// Limits by key name.
    pub keys: BTreeMap<String, BudgetLimits>,
    /// Time after which an unsettled reservation expires. Default 20 minutes.
    pub hold: Duration,
    /// Tokens reserved for an answer if the request sets no limit. Default 4096.
    pub answer_tokens: u64,
    /// Price in US dollars per million tokens for models without a known price. If `None`, a money
    /// budget rejects such models.
    pub unpriced_usd: Option<f64>,
}

impl Default for SpendingOptions {
    fn default() -> Self {
        SpendingOptions {
            all: BudgetLimits::default(),
            keys: BTreeMap::new(),
            hold: Duration::from_secs(20 * 60),
            answer_tokens: 4096,
            unpriced_usd: None,
        }
    }
}

/// Budgets of a process, and the store of their usage.
#[derive(Debug)]
pub struct Spending {
    options: SpendingOptions,
    books: Arc<dyn Budgets>,
    counts: Arc<KeyCounters>,
}

impl Spending {
    /// Creates budgets that use this store.
    #[must_use]
    pub fn new(options: SpendingOptions, books: Arc<dyn Budgets>) -> Self {
        Spending {
            options,
            books,
            counts: Arc::default(),
        }
    }

    /// Returns the store of the usage.
    #[must_use]
    pub fn books(&self) -> &dyn Budgets {
        &*self.books
    }

    /// Returns the health of the store, which is not ready if the replicas should share usage but
    /// cannot.
    #[must_use]
    pub fn health(&self) -> Health {
        self.books.health()
    }

    /// Returns the accounts for a new run. `None` is a run without a key.
    #[must_use]
    pub fn payer(&self, key: Option<&str>) -> BudgetAccounts {
        let payer =
            BudgetAccounts::of(key.map(Into::into)).with_limits("all", "budget", &self.options.all);
        match key.and_then(|key| Some((key, self.options.keys.get(key)?))) {
            Some((key, limits)) => payer.with_limits(
                &format!("key:{key}"),
                &format!("server.token.{key}"),
                limits,
            ),
            None => payer,
        }
    }

    /// Returns the daily budgets: first the budget for all keys, then the budgets of single keys,
    /// by name.
    #[must_use]
    pub fn accounts(&self) -> Vec<Account> {
        let all = ("all".to_owned(), self.options.all);
        let keys = self.options.keys.iter();
        let keys = keys.map(|(key, limits)| (format!("key:{key}"), *limits));
        let limited = std::iter::once(all)
            .chain(keys)
            .filter(|(_, limits)| limits.day.is_set());
        limited
            .map(|(name, limits)| Account {
                name: name.into(),
                limit: limits.day,
            })
            .collect()
    }

    /// Returns the usage of accounts on the current day, and the time until the next day.
    ///
    /// # Errors
    /// The store is unavailable.
    pub async fn used(
        &self,
        accounts: &[Account],
    ) -> Result<(Vec<AccountUsage>, Duration), StoreError> {
        let names: Vec<Arc<str>> = accounts.iter().map(|it| it.name.clone()).collect();
        self.books.used(&names).await
    }

    /// Returns the usage in this process of all keys with budgets, by name.
    #[must_use]
    pub fn counts(&self) -> Vec<(Arc<str>, KeyCount)> {
        self.counts.all()
    }

    fn payer_here(&self) -> BudgetAccounts {
        current_accounts().unwrap_or_else(|| self.payer(None))
    }

    /// Whether a budget limits the current caller.
    pub(crate) fn limits(&self) -> bool {
        self.payer_here().is_limited()
    }

    /// Calls a model within the budgets of the caller.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        model: &dyn ChatModel,
        request: ChatRequest,
        asked: &PricedModel,
    ) -> Result<ChatStream, ModelError> {
        let payer = self.payer_here();
        if !payer.is_limited() {
            return model.stream(request).await;
        }
        let mut holding = match self.hold(payer, &request, asked).await {
            Ok(holding) => holding,
            Err((payer, error)) => {
                self.counts.change(&payer, |count| count.refused += 1);
                return Err(error);
            }
        };
        // Set before the call: if this future is dropped during it, the provider may have received
        // the request, so its cost counts.
        holding.asked = true;
        let until = holding.deadline();
        let answer = match &until {
            None => model.stream(request).await,
            Some((until, error)) => {
                let asking = tokio::time::timeout_at(*until, model.stream(request));
                // The time limit of the run ends the call even if there is no answer yet.
                asking.await.unwrap_or_else(|_| Err(error.clone()))
            }
        };
        match answer {
            Ok(stream) => Ok(guarded(stream, holding, until)),
            Err(error) => {
                // A failed call has generated nothing.
                // After the time limit of the run, the provider may still be generating, so the
                // cost counts.
                holding.asked = error.kind == ModelErrorKind::Budget;
                holding.settle().await;
                Err(error)
            }
        }
    }

    /// Reserves the maximum cost of a call.
    async fn hold(
        self: &Arc<Self>,
        payer: BudgetAccounts,
        request: &ChatRequest,
        asked: &PricedModel,
    ) -> Result<ActiveReservation, (BudgetAccounts, ModelError)> {
        let tariff = match TokenPrice::of(asked, self.options.unpriced_usd) {
            TokenPrice::Unknown if payer.counts_money() => {
                let error = message::unpriced(request.model.as_deref().unwrap_or(&asked.name));
                return Err((payer, error));
            }
            tariff => tariff,
        };
        let call = CallEstimate::of(request, asked, self.options.answer_tokens);
        let most = call.max_cost(&tariff);
        // The run is checked first, because its budget is in memory, and an exhausted run needs no
        // request to the store.
        let run = match payer.reserve(most) {
            Ok(run) => run,
            Err(over) => return Err((payer, message::over_run(&over, most))),
        };
        // The owner of a key that came with the request pays for it.
        let accounts = if asked.own_key { &[] } else { payer.accounts() };
        let mut held = None;
        if !accounts.is_empty() {
            let reserved = self
                .books
                .reserve(&new_id(), accounts, most, self.options.hold)
                .await;
            match reserved {
                Ok(ReserveResult::Held { hold, .. }) => held = Some(hold),
                Ok(ReserveResult::Over {
                    account,
                    unit,
                    used,
                    left,
                }) => {
                    let error = message::over_day(accounts.get(account), unit, used, most, left);
                    return Err((payer, error));
                }
                // Rejecting is the safe choice: a limit that cannot be checked must not be
                // exceeded.
                Err(error) => return Err((payer, message::away(&error))),
            }
        }
        Ok(ActiveReservation::new(
            self.books.clone(),
            self.counts.clone(),
            payer,
            held,
            run,
            tariff,
            call.input,
        ))
    }
}

/// Budgets for a provider's batch API, where many calls share one reservation.
impl Spending {
    /// Returns the maximum cost of one call at a fraction of the regular price.
    pub(crate) fn max_call_cost(
        &self,
        payer: &BudgetAccounts,
        request: &ChatRequest,
        asked: &PricedModel,
        part: f64,
    ) -> Result<Amount, ModelError> {
        match TokenPrice::of(asked, self.options.unpriced_usd) {
            TokenPrice::Unknown if payer.counts_money() => Err(message::unpriced(&asked.name)),
            tariff => {
                let call = CallEstimate::of(request, asked, self.options.answer_tokens);
                Ok(reduced(call.max_cost(&tariff), part))
            }
        }
    }

    /// Returns the actual cost of a call at a fraction of the regular price.
    pub(crate) fn call_cost(&self, asked: &PricedModel, usage: &Usage, part: f64) -> Amount {
        let tariff = TokenPrice::of(asked, self.options.unpriced_usd);
        reduced(tariff.amount(usage), part)
    }

    /// Reserves an amount in the daily budgets of the caller. The reservation expires after `time`.
    /// Returns `None` if no budget applies.
    ///
    /// # Errors
    /// A budget is exceeded, or the store is unavailable.
    pub async fn hold_batch(
        &self,
        payer: &BudgetAccounts,
        most: Amount,
        time: Duration,
    ) -> Result<Option<Reservation>, ModelError> {
        let accounts = payer.accounts();
        if accounts.is_empty() {
            return Ok(None);
        }
        let reserved = self.books.reserve(&new_id(), accounts, most, time).await;
        let error = match reserved {
            Ok(ReserveResult::Held { hold, .. }) => return Ok(Some(hold)),
            Ok(ReserveResult::Over {
                account,
                unit,
                used,
                left,
            }) => message::over_day(accounts.get(account), unit, used, most, left),
            Err(error) => message::away(&error),
        };
        self.counts.change(payer, |count| count.refused += 1);
        Err(error)
    }

    /// Records the actual cost of a reservation.
    pub async fn settle_batch(&self, payer: &BudgetAccounts, hold: &Reservation, spent: Amount) {
        self.counts.change(payer, |count| count.spent += spent);
        if let Err(error) = self.books.settle(hold, spent).await {
            tracing::warn!(target: "quillet::budgets", %error, "cannot record the cost of a batch");
        }
    }
}

/// Reduces the cost to a fraction of the price; the tokens stay the same.
fn reduced(amount: Amount, part: f64) -> Amount {
    Amount {
        // The amount is rounded up, so that many small calls cannot bypass a budget.
        nano_usd: (amount.nano_usd as f64 * part).ceil() as u64,
        ..amount
    }
}

/// Returns a unique id for a reservation.
fn new_id() -> String {
    // `RandomState` is seeded by the system, so ids are unique among replicas without another
    // dependency.
    static PROCESS: LazyLock<String> = LazyLock::new(|| {
        use std::hash::{BuildHasher, RandomState};
        let random = || RandomState::new().hash_one(std::process::id());
        format!("{:016x}{:016x}", random(), random())
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count:x}", *PROCESS)
}

/// A model with budgets.
pub(crate) struct BudgetedModel {
    pub(crate) model: Arc<dyn ChatModel>,
    pub(crate) spending: Arc<Spending>,
    pub(crate) asked: PricedModel,
}

impl fmt::Debug for BudgetedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budgeted")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl ChatModel for BudgetedModel {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn is_configured(&self) -> bool {
        self.model.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.spending.ask(&*self.model, request, &self.asked))
    }
}
