//! Limits and usage of a run. All scripts of a run share one budget.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::Span;
use quillet_core::chat::Usage;

use super::failure::limit;
use super::scope::NameScope;
use crate::error::{ErrorKind, ScriptError};
use crate::host::ScriptLimits;
use quillet_core::lock::lock;

/// Number of steps after which a run yields its thread.
// Large enough to make the cost of yielding negligible, and small enough to let other tasks run.
const POLITE: u64 = 256;

#[derive(Debug)]
pub(crate) struct ScriptBudget {
    limits: ScriptLimits,
    steps: AtomicU64,
    calls: AtomicU64,
    spent: Mutex<ModelSpend>,
    started: Instant,
    waits: Mutex<WaitClock>,
}

/// Tokens and cost of model calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelSpend {
    pub(crate) tokens: Usage,
    pub(crate) cost: f64,
}

/// Time spent waiting for models, tools and people. Waits of concurrent branches overlap.
#[derive(Debug, Default)]
struct WaitClock {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl ScriptBudget {
    pub(crate) fn new(limits: ScriptLimits) -> Self {
        ScriptBudget {
            limits,
            steps: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            spent: Mutex::default(),
            started: Instant::now(),
            waits: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> &ScriptLimits {
        &self.limits
    }

    /// Counts an instruction or a loop iteration, and yields the thread every [`POLITE`] steps.
    pub(crate) async fn step(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if step > self.limits.steps {
            let most = self.limits.steps;
            return Err(limit(
                scope,
                at,
                format!("the script exceeded {most} steps"),
                "limits.steps",
            ));
        }
        if step.is_multiple_of(POLITE) {
            // A loop without model calls never awaits a pending future, so it would block its
            // thread.
            tokio::task::yield_now().await;
        }
        // The time is checked at every step, because a single step can be slow, such as JavaScript
        // on a large value.
        self.check_time(scope, at)
    }

    fn check_time(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        if self.own_time() <= self.limits.own_time {
            return Ok(());
        }
        let most = self.limits.own_time;
        let message = format!(
            "the script exceeded {most:?} of its own running time, not counting \
        models and tools"
        );
        Err(limit(scope, at, message, "limits.own_time"))
    }

    /// Counts a model call.
    pub(crate) fn model_call(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let most = self.limits.model_calls;
        if self.calls.fetch_add(1, Ordering::Relaxed) < most {
            return Ok(());
        }
        let message = format!("the script exceeded {most} model calls");
        Err(limit(scope, at, message, "limits.model_calls"))
    }

    /// Checks the budget before a model call. A response that is already running is never stopped
    /// because of its cost.
    pub(crate) fn check_spent(
        &self,
        model: &str,
        has_price: bool,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let spent = self.spent();
        let tokens = spent.tokens.total_tokens();
        if let Some(most) = self.limits.tokens.filter(|most| tokens >= *most) {
            let message = format!("the models used {tokens} tokens (limit of this run: {most})");
            return Err(limit(scope, at, message, "limits.tokens"));
        }
        let Some(most) = self.limits.cost else {
            return Ok(());
        };
        if spent.cost >= most {
            let cost = rounded(spent.cost);
            let message = format!("the models cost {cost} USD (limit of this run: {most})");
            return Err(limit(scope, at, message, "limits.cost"));
        }
        // A model without a known price could cost any amount, so a cost limit excludes it.
        if has_price {
            return Ok(());
        }
        let message = format!(
            "cannot enforce the cost limit of {most} USD: the price of `{model}` is \
            unknown"
        );
        let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
        let help = "use a model that `quillet models` lists with a price, or remove the limit";
        Err(ScriptError::new(ErrorKind::Limit, finding.help(help)))
    }

    /// Adds the usage of a model response.
    pub(crate) fn spend(&self, usage: &Usage, cost: Option<f64>) {
        let mut spent = lock(&self.spent);
        spent.tokens += *usage;
        spent.cost += cost.unwrap_or(0.0);
    }

    /// Returns tokens and cost so far.
    pub(crate) fn spent(&self) -> ModelSpend {
        *lock(&self.spent)
    }

    /// Returns the number of model calls so far.
    pub(crate) fn model_calls(&self) -> u64 {
        self.calls
            .load(Ordering::Relaxed)
            // The counter includes rejected calls, so it may exceed the limit.
            .min(self.limits.model_calls)
    }

    /// Stops the clock of the script's own time until the guard is dropped.
    pub(crate) fn waiting(&self) -> WaitGuard<'_> {
        if let Ok(mut waits) = self.waits.lock() {
            waits.open += 1;
            // Only the first of several overlapping waits starts the clock, so overlapping time is
            // counted once.
            if waits.open == 1 {
                waits.since = Some(Instant::now());
            }
        }
        WaitGuard(self)
    }

    fn own_time(&self) -> Duration {
        let waited = match self.waits.lock() {
            Ok(waits) => waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed()),
            // After a panic the waiting time is unknown. The script's time limit is then stricter,
            // not looser.
            Err(_) => Duration::ZERO,
        };
        // Saturating, because the clocks are read at different times.
        self.started.elapsed().saturating_sub(waited)
    }
}

/// Rounds away floating-point noise from adding costs.
pub(crate) fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
}

/// Pauses the clock of the script's own time until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitGuard<'a>(&'a ScriptBudget);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let Ok(mut waits) = self.0.waits.lock() else {
            return;
        };
        waits.open = waits.open.saturating_sub(1);
        if waits.open == 0
            && let Some(since) = waits.since.take()
        {
            waits.total += since.elapsed();
        }
    }
}
