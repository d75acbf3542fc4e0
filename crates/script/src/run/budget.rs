//! What a run may still use. All scripts of a run share one budget.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::Span;

use super::scope::Scope;
use crate::error::{ErrorKind, ScriptError};
use crate::host::Limits;

/// Steps after which a run lets others have the thread.
const POLITE: u64 = 256;

#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    steps: AtomicU64,
    calls: AtomicU64,
    started: Instant,
    waits: Mutex<Waits>,
}

/// Time that went to models, tools and people. Waits overlap where branches run side by side.
#[derive(Debug, Default)]
struct Waits {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Budget {
            limits,
            steps: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            started: Instant::now(),
            waits: Mutex::default(),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts an instruction or a turn of a loop, and gives way now and then.
    pub(crate) async fn step(&self, scope: &Scope, at: Span) -> Result<(), ScriptError> {
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

    fn check_time(&self, scope: &Scope, at: Span) -> Result<(), ScriptError> {
        if self.own_time() <= self.limits.own_time {
            return Ok(());
        }
        let most = self.limits.own_time;
        let message = format!("the script worked for {most:?} without its models and tools");
        Err(limit(scope, at, message, "limits.own_time"))
    }

    /// Counts a call of a model.
    pub(crate) fn model_call(&self, scope: &Scope, at: Span) -> Result<(), ScriptError> {
        let most = self.limits.model_calls;
        if self.calls.fetch_add(1, Ordering::Relaxed) < most {
            return Ok(());
        }
        let message = format!("the script asked models {most} times");
        Err(limit(scope, at, message, "limits.model_calls"))
    }

    /// Calls of models so far.
    pub(crate) fn model_calls(&self) -> u64 {
        self.calls
            .load(Ordering::Relaxed)
            .min(self.limits.model_calls)
    }

    /// Until the guard is dropped, time does not count as the script's own.
    pub(crate) fn waiting(&self) -> Waiting<'_> {
        if let Ok(mut waits) = self.waits.lock() {
            waits.open += 1;
            if waits.open == 1 {
                waits.since = Some(Instant::now());
            }
        }
        Waiting(self)
    }

    fn own_time(&self) -> Duration {
        let waited = match self.waits.lock() {
            Ok(waits) => waits.total + waits.since.map_or(Duration::ZERO, |since| since.elapsed()),
            Err(_) => Duration::ZERO,
        };
        self.started.elapsed().saturating_sub(waited)
    }
}

/// A failure that names a limit and how to raise it.
pub(crate) fn limit(scope: &Scope, at: Span, message: String, setting: &str) -> ScriptError {
    let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
    let help = format!("if it is meant to take that much, raise {setting}");
    ScriptError::new(ErrorKind::Limit, finding.help(help))
}

/// A task of the run that ended without a result: its thread broke off.
pub(crate) fn broke(scope: &Scope, at: Span) -> ScriptError {
    let message = "the script's task broke off";
    let finding = scope.source.error(ErrorKind::Aborted.code(), message, at);
    ScriptError::new(ErrorKind::Aborted, finding)
}

/// Time that is not the script's own.
#[derive(Debug)]
pub(crate) struct Waiting<'a>(&'a Budget);

impl Drop for Waiting<'_> {
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
