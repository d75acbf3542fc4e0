//! Retries after transient errors. The default is two retries, after 100 ms and 300 ms, as
//! documented for ai-prompt-shell. A request's `model_config` can set `max_retries` and a
//! `retry_delay` that doubles each time. Only requests without any answer are retried; an error
//! after the first event is returned to the caller.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, WireRequest, WireStream,
};

/// Retry policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Wait before each retry; the length of the list is the number of retries. Default 100 ms and
    /// 300 ms.
    pub waits: Vec<Duration>,
    /// Longest `Retry-After` to wait for; if a provider requests a longer wait, the request is not
    /// retried. Default 2 s.
    pub most_wait: Duration,
    /// Whether each wait is randomly shortened by up to half, so clients that failed together do
    /// not retry together. A wait that a provider requests is never shortened. Default false.
    pub jitter: bool,
}

impl RetryPolicy {
    /// Creates a policy of at most 16 retries. The first wait is `first`, and each further wait
    /// doubles up to one minute, with jitter. A provider can request a wait of up to one minute.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use quillet_llm::RetryPolicy;
    ///
    /// let policy = RetryPolicy::doubling(3, Duration::from_secs(1));
    /// assert_eq!(policy.waits, [1, 2, 4].map(Duration::from_secs));
    /// ```
    #[must_use]
    pub fn doubling(retries: u32, first: Duration) -> Self {
        let most = Duration::from_secs(60);
        let wait = |retry| first.saturating_mul(1_u32 << retry).min(most);
        RetryPolicy {
            // 16 keeps `1 << retry` within 32 bits, and the wait reaches its maximum much earlier.
            waits: (0..retries.min(16)).map(wait).collect(),
            most_wait: most,
            jitter: true,
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            waits: vec![Duration::from_millis(100), Duration::from_millis(300)],
            most_wait: Duration::from_secs(2),
            jitter: false,
        }
    }
}

/// Information about a retry, passed to the observer before the wait. Displays as
/// `retrying in 100ms (1/2): …`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use quillet_core::chat::{ModelError, ModelErrorKind};
/// use quillet_llm::RetryNotice;
///
/// let notice = RetryNotice {
///     retry: 1,
///     of: 2,
///     wait: Duration::from_millis(100),
///     error: ModelError::new(ModelErrorKind::Connect, "connection refused"),
/// };
/// assert_eq!(notice.to_string(), "retrying in 100ms (1/2): connection refused");
/// ```
#[derive(Clone, Debug)]
pub struct RetryNotice {
    /// Number of the retry, starting at 1.
    pub retry: usize,
    /// Maximum number of retries.
    pub of: usize,
    /// Duration of the wait.
    pub wait: Duration,
    /// Error that causes the retry.
    pub error: ModelError,
}

impl fmt::Display for RetryNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetryNotice {
            retry,
            of,
            wait,
            error,
        } = self;
        write!(f, "retrying in {wait:?} ({retry}/{of}): {error}")
    }
}

type Observer = Arc<dyn Fn(&RetryNotice) + Send + Sync>;

/// A model that retries transient errors
/// ([`ModelErrorKind::retryable`](quillet_core::chat::ModelErrorKind::retryable)).
///
/// The retried kinds are `Connect`, `Timeout`, `RateLimited`, `Overloaded`, `Provider` and
/// `MalformedToolCall`. The provider API maps statuses to kinds: 408 and 504 are `Timeout`, 429 is
/// `RateLimited`, 503 and 529 are `Overloaded` or `Provider`, and 409 and all other 5xx are
/// `Provider`. An exhausted quota (status 402, or an error body that reports it) is never retried,
/// nor is `OverRate`, because that request has already waited.
///
/// By default there are two retries, after 100 and 300 ms, and a `Retry-After` of up to 2 s is
/// respected. A request's `model_config` sets `max_retries` (3) and `retry_delay` (1 s), which
/// doubles up to one minute, with jitter. If a rate limit is configured, `rate.rs` first handles up
/// to three 429 responses that specify a wait time: it waits and sends the request again. This
/// policy applies to later errors.
#[derive(Clone)]
pub struct Retry {
    model: Arc<dyn ChatModel>,
    policy: RetryPolicy,
    observer: Option<Observer>,
}

impl Retry {
    /// Wraps a model with the default policy.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Retry {
            model,
            policy: RetryPolicy::default(),
            observer: None,
        }
    }

    /// Sets the number of retries and the waits.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Calls this function before every retry, in addition to the `tracing` event.
    #[must_use]
    pub fn observe(mut self, observer: impl Fn(&RetryNotice) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        self.retry(|| self.model.stream(request.clone())).await
    }

    /// Calls `ask` until it succeeds, fails permanently or the retries are used up.
    async fn retry<'a, T>(
        &'a self,
        mut ask: impl FnMut() -> BoxFuture<'a, Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        // The last attempt is made after the loop, because its error is returned without a wait.
        let of = self.policy.waits.len();
        for (index, wait) in self.policy.waits.iter().enumerate() {
            let error = match ask().await {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            let asked = error.retry_after.unwrap_or_default();
            // An `OverRate` request has already waited as long as allowed.
            let may_pass = error.kind.retryable() && error.kind != ModelErrorKind::OverRate;
            // A long `Retry-After` is returned to the caller, who may prefer another model.
            if !may_pass || asked > self.policy.most_wait {
                return Err(tried(error, index + 1));
            }
            let wait = asked.max(self.apply_jitter(*wait));
            self.notify(&RetryNotice {
                retry: index + 1,
                of,
                wait,
                error,
            });
            tokio::time::sleep(wait).await;
        }
        let last = ask().await;
        last.map_err(|error| tried(error, of + 1))
    }

    fn apply_jitter(&self, wait: Duration) -> Duration {
        if !self.policy.jitter {
            return wait;
        }
        // One random byte is enough to spread clients, and it avoids a dependency on a random
        // generator.
        let [byte, ..] = *uuid::Uuid::new_v4().as_bytes();
        wait.mul_f64(0.5 + f64::from(byte) / 510.0)
    }

    fn notify(&self, notice: &RetryNotice) {
        tracing::warn!(target: "quillet::llm", "{notice}");
        if let Some(observer) = &self.observer {
            observer(notice);
        }
    }
}

/// Adds the number of attempts to the error message, if there was more than one.
fn tried(mut error: ModelError, times: usize) -> ModelError {
    if times > 1 {
        error.message = format!("{} (tried {times} times)", error.message);
    }
    error
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("model", &self.model)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl ChatModel for Retry {
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
        let mut first = Some(self.model.pass(request)?);
        Some(Box::pin(async move {
            let ask = move || {
                let asking = first.take().or_else(|| self.model.pass(request));
                asking.unwrap_or_else(|| Box::pin(async { Err(lost_passthrough()) }))
            };
            self.retry(ask).await
        }))
    }
}

/// Error if a model accepts a request for pass-through once but not on retry.
pub(crate) fn lost_passthrough() -> ModelError {
    let cause = "the model accepted the request once but not on retry";
    ModelError::new(ModelErrorKind::Protocol, cause)
}
