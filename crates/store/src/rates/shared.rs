//! Rate limit buckets of all replicas, with a local fallback while the shared store is unavailable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::rates::{RateDecision, RateDraw, Rates};
use quillet_core::store::{Health, StoreError};

use super::MemoryRates;

/// Uses the shared buckets, or local ones while those are unavailable. Without any limit, an outage
/// would be more expensive than with a separate limit in each replica.
#[derive(Debug)]
pub(crate) struct SharedRates<R> {
    shared: R,
    own: MemoryRates,
    alone: AtomicBool,
}

impl<R: Rates> SharedRates<R> {
    pub(crate) fn new(shared: R) -> Self {
        SharedRates {
            shared,
            own: MemoryRates::new(),
            alone: AtomicBool::new(false),
        }
    }

    /// Returns the answer, or `None` after an error. Logs when the availability changes.
    fn log_outage<T>(&self, answer: Result<T, StoreError>) -> Option<T> {
        let was_alone = self.alone.swap(answer.is_err(), Ordering::Relaxed);
        match answer {
            Ok(answer) => {
                if was_alone {
                    tracing::info!(target: "quillet::rates", "model rate limits are shared by all replicas again");
                }
                Some(answer)
            }
            Err(error) => {
                if !was_alone {
                    tracing::warn!(
                        target: "quillet::rates",
                        "{error}; until it answers, this replica applies model rate limits on its own"
                    );
                }
                None
            }
        }
    }
}

impl<R: Rates> Rates for SharedRates<R> {
    fn describe(&self) -> String {
        self.shared.describe()
    }

    fn take<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        patience: Duration,
        in_line: bool,
    ) -> BoxFuture<'a, Result<RateDecision, StoreError>> {
        async move {
            let taken = self.shared.take(group, draws, patience, in_line).await;
            match self.log_outage(taken) {
                Some(turn) => Ok(turn),
                None => self.own.take(group, draws, patience, in_line).await,
            }
        }
        .boxed()
    }

    fn cancel_wait<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let left = self.shared.cancel_wait(group, draws).await;
            match self.log_outage(left) {
                Some(()) => Ok(()),
                None => self.own.cancel_wait(group, draws).await,
            }
        }
        .boxed()
    }

    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let settled = self.shared.adjust_usage(group, draws).await;
            match self.log_outage(settled) {
                Some(()) => Ok(()),
                None => self.own.adjust_usage(group, draws).await,
            }
        }
        .boxed()
    }

    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move {
            let held = self.shared.pause_buckets(group, draws, time).await;
            match self.log_outage(held) {
                Some(()) => Ok(()),
                None => self.own.pause_buckets(group, draws, time).await,
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
