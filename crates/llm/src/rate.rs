//! Rate limits of providers and models, shared by all replicas.
//!
//! A request waits for its turn, or is rejected immediately with a retry time if the wait would be
//! too long. A provider's 429 with a wait time pauses all replicas. Rate limiting happens below
//! retries, so each retry counts.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, Usage, WireRequest,
    WireStream,
};
use quillet_core::rates::{RateCounts, RateDecision, RateDraw, Rates};
use tokio::time::{Instant, sleep};

use crate::models::Vendor;
use crate::tokens::counter_for;

/// Maximum number of retries after a provider asks to wait.
// A provider that keeps asking to wait would otherwise hold a request until its timeout.
const MOST_HOLDS: usize = 3;

/// Limits per minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Requests; unlimited if `None`. 0 counts as 1.
    pub requests: Option<u32>,
    /// Tokens of requests and answers; unlimited if `None`. 0 counts as 1.
    pub tokens: Option<u32>,
}

/// Rate limits of providers and models, and the buckets that enforce them.
#[derive(Clone, Debug)]
pub struct RateLimits {
    rates: HashMap<String, Rate>,
    buckets: Arc<dyn Rates>,
    patience: Duration,
    counts: Arc<RateCounts>,
}

/// Amounts that one request draws: first from the provider's buckets, then from the model's.
#[derive(Clone, Debug)]
struct TokenDraws {
    group: &'static str,
    all: Vec<RateDraw>,
    /// Index of the first bucket that a 429 pauses: the model's bucket if it has a rate limit.
    narrowest: usize,
    /// Estimated tokens of the request; `None` if tokens are not limited.
    tokens: Option<i64>,
}

/// A model with the rate limits of its provider.
#[derive(Clone)]
pub(crate) struct RateLimitedModel {
    model: Arc<dyn ChatModel>,
    group: &'static str,
    limits: Arc<RateLimits>,
}

impl RateLimits {
    /// Creates limits by provider alias ([`Vendor::of_alias`]) or by the provider's name for a
    /// model. A request must satisfy both limits. It waits at most `patience`.
    pub fn new(
        rates: impl IntoIterator<Item = (String, Rate)>,
        buckets: Arc<dyn Rates>,
        patience: Duration,
    ) -> Self {
        let named = |(name, rate): (String, Rate)| match Vendor::of_alias(&name) {
            Some(vendor) => (vendor.name().to_owned(), rate),
            None => (name, rate),
        };
        RateLimits {
            rates: rates.into_iter().map(named).collect(),
            buckets,
            patience,
            counts: Arc::default(),
        }
    }

    /// Returns the buckets that enforce the limits.
    #[must_use]
    pub fn buckets(&self) -> &dyn Rates {
        &*self.buckets
    }

    /// Returns counters of delayed and rejected requests.
    #[must_use]
    pub fn counts(&self) -> &RateCounts {
        &self.counts
    }

    /// Wraps the model with these limits.
    pub(crate) fn wrap(
        self: &Arc<Self>,
        model: Arc<dyn ChatModel>,
        vendor: Vendor,
    ) -> Arc<dyn ChatModel> {
        Arc::new(RateLimitedModel {
            model,
            // OpenAI applies one limit to both of its APIs, so they share the buckets.
            group: vendor.name(),
            limits: Arc::clone(self),
        })
    }
}

fn add(draws: &mut TokenDraws, name: &str, rate: Rate) {
    let mut add = |of: &str, per_minute: Option<u32>, amount: i64| {
        draws.all.extend(per_minute.map(|per_minute| RateDraw {
            bucket: format!("{name}:{of}").into(),
            per_minute,
            amount,
        }));
    };
    add("requests", rate.requests, 1);
    // The tokens of the answer are drawn when it ends.
    add("tokens", rate.tokens, draws.tokens.unwrap_or_default());
}

impl RateLimitedModel {
    /// Returns the draws for a request; `None` without a limit. Tokens are estimated only if a
    /// token limit applies.
    fn draws(&self, model: Option<&str>, tokens: impl FnOnce() -> i64) -> Option<TokenDraws> {
        let provider = self.limits.rates.get(self.group).copied();
        // If the model has the same name as its provider, the request must not draw twice from one
        // bucket.
        let model = model.filter(|model| *model != self.group);
        let own = model.and_then(|model| Some((model, *self.limits.rates.get(model)?)));
        let counts = |rate: Option<Rate>| rate.is_some_and(|rate| rate.tokens.is_some());
        let counted = counts(provider) || counts(own.map(|(_, rate)| rate));
        let mut draws = TokenDraws {
            group: self.group,
            all: Vec::new(),
            narrowest: 0,
            tokens: counted.then(tokens),
        };
        if let Some(rate) = provider {
            add(&mut draws, self.group, rate);
        }
        if let Some((model, rate)) = own {
            draws.narrowest = draws.all.len();
            add(&mut draws, model, rate);
        }
        (!draws.all.is_empty()).then_some(draws)
    }

    /// Waits until the request may be sent, at most until the given time.
    async fn admit(&self, draws: &TokenDraws, until: Instant) -> Result<(), ModelError> {
        let counts = &self.limits.counts;
        let began = Instant::now();
        let mut place: Option<QueueTicket> = None;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let in_line = place.is_some();
            let buckets = &self.limits.buckets;
            let turn = buckets.take(draws.group, &draws.all, left, in_line).await;
            match turn {
                // An unavailable rate limiter must not block requests; the shared one has logged a
                // warning.
                Ok(RateDecision::Now) | Err(_) => {
                    if let Some(place) = place.take() {
                        place.complete();
                        let waited = u64::try_from(began.elapsed().as_millis());
                        counts.waited.fetch_add(1, Ordering::Relaxed);
                        let waited = waited.unwrap_or(u64::MAX);
                        counts.waited_ms.fetch_add(waited, Ordering::Relaxed);
                    }
                    return Ok(());
                }
                Ok(RateDecision::After(wait)) => {
                    // The ticket stays alive across iterations, because dropping it gives up the
                    // position, for example on cancellation.
                    place.get_or_insert_with(|| QueueTicket::of(self, draws));
                    // The wait is at least a millisecond, so that rounding in a shared store cannot
                    // cause a busy loop.
                    sleep(wait.max(Duration::from_millis(1))).await;
                }
                Ok(RateDecision::Never { wait, draw }) => {
                    // Relaxed ordering is enough, because the counters are only metrics.
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    return Err(self.refused(draws.all.get(draw), wait));
                }
            }
        }
    }

    fn refused(&self, draw: Option<&RateDraw>, wait: Duration) -> ModelError {
        let patience = self.limits.patience;
        let (name, unit, rate) = draw.map_or(("it", "requests", 0), |draw| {
            let (name, unit) = draw.bucket.rsplit_once(':').unwrap_or((&draw.bucket, ""));
            (name, unit, draw.per_minute)
        });
        let message = format!(
            "rate limit of {name}: this request would wait {wait:.1?}, and the limit is {patience:?} (model.rate_wait_ms): model.{unit}_per_minute permits {rate} {unit} a minute, or the provider asked to wait"
        );
        ModelError {
            retry_after: Some(wait),
            ..ModelError::new(ModelErrorKind::OverRate, message)
        }
    }

    /// Pauses all replicas if the provider asks to wait. Returns whether the request can wait that
    /// long.
    async fn hold(&self, draws: &TokenDraws, error: &mut ModelError, until: Instant) -> bool {
        let Some(wait) = asked_to_wait(error) else {
            return false;
        };
        self.limits.counts.held.fetch_add(1, Ordering::Relaxed);
        let held = draws.all.get(draws.narrowest..).unwrap_or_default();
        // If the pause cannot be shared, the other replicas receive their own 429 responses.
        let _ = self
            .limits
            .buckets
            .pause_buckets(draws.group, held, wait)
            .await;
        // `OverRate` prevents the retries from waiting again for the same reason.
        let outlasts = Instant::now() + wait <= until;
        if !outlasts {
            error.kind = ModelErrorKind::OverRate;
        }
        outlasts
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let tokens = || estimated(&request);
        let Some(draws) = self.draws(request.model.as_deref(), tokens) else {
            return self.model.stream(request).await;
        };
        let until = Instant::now() + self.limits.patience;
        let mut holds = 0;
        loop {
            self.admit(&draws, until).await?;
            // Cloned because a 429 may need the request again.
            match self.model.stream(request.clone()).await {
                Ok(stream) => return Ok(self.settle_at_end(stream, draws)),
                Err(mut error) => {
                    holds += 1;
                    if !self.hold(&draws, &mut error, until).await || holds > MOST_HOLDS {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Returns a stream that corrects the token usage at its end.
    fn settle_at_end(&self, stream: ChatStream, draws: TokenDraws) -> ChatStream {
        let Some(tokens) = draws.tokens else {
            return stream;
        };
        Box::pin(SettleGuard {
            stream,
            usage: None,
            tokens,
            draws,
            buckets: Arc::clone(&self.limits.buckets),
        })
    }
}

/// Returns the wait time requested by the provider, if any.
fn asked_to_wait(error: &ModelError) -> Option<Duration> {
    let wait = error.retry_after.filter(|wait| !wait.is_zero());
    wait.filter(|_| error.kind == ModelErrorKind::RateLimited)
}

/// Estimates the tokens of a request, until the provider reports the exact number.
fn estimated(request: &ChatRequest) -> i64 {
    // An exact counter would load its vocabulary for a number that is soon corrected.
    let counter = counter_for("");
    let messages = request.messages.iter();
    let tokens: u64 = messages.map(|message| counter.count_message(message)).sum();
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// A position in the queue; dropping it leaves the queue.
struct QueueTicket {
    left: Option<(Arc<dyn Rates>, TokenDraws)>,
}

impl QueueTicket {
    fn of(rated: &RateLimitedModel, draws: &TokenDraws) -> Self {
        QueueTicket {
            left: Some((Arc::clone(&rated.limits.buckets), draws.clone())),
        }
    }

    /// Marks the wait as complete, so dropping the ticket gives nothing back.
    fn complete(mut self) {
        self.left = None;
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        if let Some((buckets, draws)) = self.left.take() {
            spawn(async move {
                let _ = buckets.cancel_wait(draws.group, &draws.all).await;
            });
        }
    }
}

/// A stream that corrects the estimated token usage at its end.
struct SettleGuard {
    stream: ChatStream,
    usage: Option<Usage>,
    tokens: i64,
    draws: TokenDraws,
    buckets: Arc<dyn Rates>,
}

impl Stream for SettleGuard {
    type Item = Result<ChatEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = self.stream.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(ChatEvent::Usage(usage)))) = &event {
            self.usage = Some(*usage);
        }
        event
    }
}

impl Drop for SettleGuard {
    fn drop(&mut self) {
        let Some(usage) = self.usage else {
            return;
        };
        let spent = i64::try_from(usage.total_tokens()).unwrap_or(i64::MAX);
        // The difference may be negative, because an estimate that was too high is given back.
        let more = spent.saturating_sub(self.tokens);
        if more == 0 {
            return;
        }
        let (buckets, group) = (Arc::clone(&self.buckets), self.draws.group);
        let tokens = self.draws.all.iter();
        let tokens = tokens.filter(|draw| draw.bucket.ends_with(":tokens"));
        let draws: Vec<RateDraw> = tokens
            .map(|draw| RateDraw {
                amount: more,
                ..draw.clone()
            })
            .collect();
        spawn(async move {
            let _ = buckets.adjust_usage(group, &draws).await;
        });
    }
}

/// Runs a task in the background. Without a runtime the process is ending, and its buckets end too.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}

impl fmt::Debug for RateLimitedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rated")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl ChatModel for RateLimitedModel {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn is_configured(&self) -> bool {
        self.model.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn pass<'a>(
        &'a self,
        request: &'a WireRequest,
    ) -> Option<BoxFuture<'a, Result<WireStream, ModelError>>> {
        // The model is asked before tokens are drawn, because a request that cannot be passed
        // through takes the other path, which draws tokens itself.
        let mut first = Some(self.model.pass(request)?);
        let Some(draws) = self.draws(request.model.as_deref(), || 0) else {
            return first;
        };
        // Usage is only available in decoded events.
        if draws.tokens.is_some() {
            return None;
        }
        Some(Box::pin(async move {
            let until = Instant::now() + self.limits.patience;
            let mut holds = 0;
            loop {
                self.admit(&draws, until).await?;
                let asking = first.take().or_else(|| self.model.pass(request));
                let answer = match asking {
                    Some(asking) => asking.await,
                    None => Err(crate::retry::lost_passthrough()),
                };
                let mut error = match answer {
                    Ok(stream) => return Ok(stream),
                    Err(error) => error,
                };
                holds += 1;
                if !self.hold(&draws, &mut error, until).await || holds > MOST_HOLDS {
                    return Err(error);
                }
            }
        }))
    }
}
