//! Asking again after a failure that may pass: two retries after 100 ms and 300 ms, the default and
//! what ai-prompt-shell documents, or the `max_retries` of a request's `model_config`, whose
//! `retry_delay` doubles each time. Only requests that nothing has answered are repeated; what
//! breaks after the first event is the caller's to see.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, WireRequest, WireStream,
};

/// The policy of retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The wait before each retry; there are as many retries as waits. Default
    /// 100 ms and 300 ms.
    pub waits: Vec<Duration>,
    /// The longest `Retry-After` that is waited for; a provider that asks for
    /// more gets no retry. Default 2 s.
    pub most_wait: Duration,
    /// Whether each of the waits is drawn between its half and its whole, so that
    /// clients that failed together do not come back together. What the provider
    /// asks for is never shortened. Default no.
    pub jitter: bool,
}

impl RetryPolicy {
    /// At most `retries` (of which 16 count) after waits that double from `first` on up to a
    /// minute, with jitter; a provider may ask for a minute.
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
            // 16 keeps `1 << retry` within 32 bits; waits have reached a minute long before.
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

/// What an observer gets before a wait. Prints as `retrying in 100ms (1/2): …`.
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
    /// Which retry it will be, from 1.
    pub retry: usize,
    /// How many there can be.
    pub of: usize,
    /// How long the wait is.
    pub wait: Duration,
    /// Why.
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

/// A model that is asked again when it fails in a way that may pass
/// ([`ModelErrorKind::retryable`](quillet_core::chat::ModelErrorKind::retryable)): these are
/// `Connect`, `Timeout`, `RateLimited`, `Overloaded`, `Provider` and `MalformedToolCall`. A status
/// is a kind by its wire: 408 and 504 are `Timeout`, 429 is `RateLimited`, 503 and 529 `Overloaded` or
/// `Provider`, 409 and all other 5xx `Provider`; a spent quota (402, or the body says so) is never
/// asked for again. `OverRate` is not either: it has waited. By default there are two retries, after
/// 100 and 300 ms, and a `Retry-After` of up to 2 s is kept to; of a request's `model_config` there
/// are `max_retries` (3) after `retry_delay` (1 s), doubled each time up to a minute, with jitter.
/// Where a rate is set, `rate.rs` waits out a 429 that names its wait below this, up to three times.
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

    /// Another policy.
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

    /// Asks until there is an answer, or none is to be hoped for.
    async fn retry<'a, T>(
        &'a self,
        mut ask: impl FnMut() -> BoxFuture<'a, Result<T, ModelError>>,
    ) -> Result<T, ModelError> {
        // The last attempt is after the loop: its error is returned instead of waited for.
        let of = self.policy.waits.len();
        for (index, wait) in self.policy.waits.iter().enumerate() {
            let error = match ask().await {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            let asked = error.retry_after.unwrap_or_default();
            // `OverRate` has waited as long as allowed already.
            let may_pass = error.kind.retryable() && error.kind != ModelErrorKind::OverRate;
            // A long `Retry-After` is left to the caller, who may prefer another model.
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
        // One random byte is enough to spread clients; it saves a dependency on a random generator.
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

/// Says how often it was tried, where that was more than once.
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

/// A model that takes a request in its words takes it again.
pub(crate) fn lost_passthrough() -> ModelError {
    let cause = "the model accepted the request once but not on retry";
    ModelError::new(ModelErrorKind::Protocol, cause)
}
