//! What a run may still use. All scripts of a run share one budget.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::Span;
use quillet_core::chat::Usage;

use super::failure::limit;
use super::lock::lock;
use super::scope::NameScope;
use crate::error::{ErrorKind, ScriptError};
use crate::host::ScriptLimits;

/// Steps after which a run lets others have the thread.
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

/// What models have cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelSpend {
    pub(crate) tokens: Usage,
    pub(crate) cost: f64,
}

/// Time that went to models, tools and people. Waits overlap where branches run side by side.
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

    /// Counts an instruction or a turn of a loop, and gives way now and then.
    pub(crate) async fn step(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if step > self.limits.steps {
            let most = self.limits.steps;
            return Err(limit(
                scope,
                at,
                format!("the script ran {most} steps without an end"),
                "limits.steps",
            ));
        }
        if step.is_multiple_of(POLITE) {
            tokio::task::yield_now().await;
        }
        // At every step: one may take long, as JavaScript does that is handed megabytes.
        self.check_time(scope, at)
    }

    fn check_time(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        if self.own_time() <= self.limits.own_time {
            return Ok(());
        }
        let most = self.limits.own_time;
        let message = format!("the script worked for {most:?} without its models and tools");
        Err(limit(scope, at, message, "limits.own_time"))
    }

    /// Counts a call of a model.
    pub(crate) fn model_call(&self, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        let most = self.limits.model_calls;
        if self.calls.fetch_add(1, Ordering::Relaxed) < most {
            return Ok(());
        }
        let message = format!("the script asked models {most} times");
        Err(limit(scope, at, message, "limits.model_calls"))
    }

    /// Whether a model may be asked once more: an answer that has begun is never cut for its price.
    pub(crate) fn check_spent(
        &self,
        (model, has_price): (&str, bool),
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let spent = self.spent();
        let tokens = spent.tokens.total_tokens();
        if let Some(most) = self.limits.tokens.filter(|most| tokens >= *most) {
            let message = format!("models have taken {tokens} tokens of the {most} of this run");
            return Err(limit(scope, at, message, "limits.tokens"));
        }
        let Some(most) = self.limits.cost else {
            return Ok(());
        };
        if spent.cost >= most {
            let cost = rounded(spent.cost);
            let message = format!("models have cost {cost} USD of the {most} of this run");
            return Err(limit(scope, at, message, "limits.cost"));
        }
        if has_price {
            return Ok(());
        }
        let message =
            format!("the run may cost {most} USD, and the price of `{model}` is not known");
        let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
        let help = "ask a model whose price `quillet models` knows, or leave the limit out";
        Err(ScriptError::new(ErrorKind::Limit, finding.help(help)))
    }

    /// Books an answer.
    pub(crate) fn spend(&self, usage: &Usage, cost: Option<f64>) {
        let mut spent = lock(&self.spent);
        spent.tokens += *usage;
        spent.cost += cost.unwrap_or(0.0);
    }

    /// What models have cost so far.
    pub(crate) fn spent(&self) -> ModelSpend {
        *lock(&self.spent)
    }

    /// Calls of models so far.
    pub(crate) fn model_calls(&self) -> u64 {
        self.calls
            .load(Ordering::Relaxed)
            .min(self.limits.model_calls)
    }

    /// Until the guard is dropped, time does not count as the script's own.
    pub(crate) fn waiting(&self) -> WaitGuard<'_> {
        if let Ok(mut waits) = self.waits.lock() {
            waits.open += 1;
            if waits.open == 1 {
                waits.since = Some(Instant::now());
            }
        }
        WaitGuard(self)
    }

    fn own_time(&self) -> Duration {
        let waited = match self.waits.lock() {
            Ok(waits) => waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed()),
            Err(_) => Duration::ZERO,
        };
        self.started.elapsed().saturating_sub(waited)
    }
}

/// Without the digits that only adding up has made.
pub(crate) fn rounded(cost: f64) -> f64 {
    (cost * 1e9).round() / 1e9
}

/// Time that is not the script's own.
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
