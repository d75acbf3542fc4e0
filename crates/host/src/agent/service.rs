//! Who may begin a run, and how it begins.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quillet_core::ErrorCode;
use quillet_core::runs::{AdmissionDenied, Permit};
use quillet_core::store::{StoreError, StoreErrorKind};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use super::{AgentCounts, AgentOptions, AgentParts, AgentRequest, Principal, RunHandle};

/// When a client that was turned away may try again, where nobody knows better.
const AGAIN: Duration = Duration::from_secs(1);

/// Agents of this process.
#[derive(Debug)]
pub struct AgentService {
    pub(super) parts: AgentParts,
    pub(super) options: AgentOptions,
    pub(super) counts: Arc<AgentCounts>,
    /// Runs that go on without a reader, and what is kept after a reader left.
    pub(super) tasks: TaskTracker,
    places: Arc<Semaphore>,
    /// Rung when a run may have become ready to go on.
    pub(super) wake: Notify,
}

/// The reason why a run does not begin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AdmissionError {
    /// This process has as many as it may.
    #[error("{limit} answers are on their way, which is the limit on agent.concurrent")]
    Busy {
        /// How many may run.
        limit: usize,
    },
    /// This key has as many as it may, or began too many.
    #[error(transparent)]
    Limit(AdmissionDenied),
    /// A run of this id is on its way.
    #[error("a request with the id {0:?} is being answered, choose another X-Request-ID")]
    Running(String),
    /// Nobody can tell whether it may.
    #[error(transparent)]
    Store(StoreError),
}

impl AdmissionError {
    /// Stable code, which has the status.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            AdmissionError::Busy { .. } | AdmissionError::Limit(_) => ErrorCode::AgentLimit,
            AdmissionError::Running(_) => ErrorCode::AgentRunning,
            AdmissionError::Store(error) => error.kind.code(),
        }
    }

    /// Stable code, as in the events.
    #[must_use]
    pub fn event_code(&self) -> ErrorCode {
        match self {
            AdmissionError::Busy { .. } | AdmissionError::Limit(_) => ErrorCode::RunRateLimit,
            AdmissionError::Running(_) => ErrorCode::RunInvalidRequest,
            AdmissionError::Store(_) => ErrorCode::RunServerError,
        }
    }

    /// When to try again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AdmissionError::Limit(AdmissionDenied::Rate { retry_after, .. }) => Some(*retry_after),
            AdmissionError::Running(_) => None,
            AdmissionError::Busy { .. } | AdmissionError::Limit(_) | AdmissionError::Store(_) => {
                Some(AGAIN)
            }
        }
    }
}

/// The places of a run: in this process and under its key.
#[derive(Debug)]
pub(super) struct RunPermits {
    _process: OwnedSemaphorePermit,
    _key: Box<dyn Permit>,
}

impl RunPermits {
    pub(super) fn new(process: OwnedSemaphorePermit, key: Box<dyn Permit>) -> Self {
        RunPermits {
            _process: process,
            _key: key,
        }
    }
}

impl AgentService {
    pub(super) fn places(&self) -> Arc<Semaphore> {
        self.places.clone()
    }

    /// Greets the MCP servers of the configuration in the background, so that no run waits for one.
    /// For a service at its start.
    pub fn greet_servers(&self) {
        self.parts.tools.greet(&self.parts.mcp_servers);
    }

    /// Agents made of these parts.
    #[must_use]
    pub fn new(parts: AgentParts, options: AgentOptions) -> Arc<Self> {
        Arc::new(AgentService {
            places: Arc::new(Semaphore::new(options.concurrent)),
            parts,
            options,
            counts: Arc::default(),
            tasks: TaskTracker::new(),
            wake: Notify::new(),
        })
    }

    /// What they are made of.
    #[must_use]
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// How they behave.
    #[must_use]
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Runs on their way.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.counts.active.load(Ordering::Relaxed)
    }

    /// What is counted about runs.
    #[must_use]
    pub fn counts(&self) -> &AgentCounts {
        &self.counts
    }

    /// Runs a task that [`AgentService::finish`] waits for: what goes on without a reader.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Waits for the tasks of [`AgentService::spawn`]. None begins after this.
    pub async fn finish(&self) {
        self.tasks.close();
        self.wake.notify_one();
        self.tasks.wait().await;
    }

    /// Admits a request; the run goes as its events are read, and ends when the value
    /// is dropped. `request_id` names it for [`AgentService::cancel`].
    ///
    /// # Errors
    /// A limit is reached. What is wrong with the request itself is reported by the run.
    pub async fn begin(
        self: &Arc<Self>,
        request: AgentRequest,
        who: &Principal,
        request_id: &str,
    ) -> Result<RunHandle, AdmissionError> {
        let places = self.admit(who, request_id).await;
        let places =
            places.inspect_err(|refused| self.counts.refused.count(refused.event_code()))?;
        Ok(RunHandle::new(
            self.clone(),
            request,
            who,
            request_id,
            places,
        ))
    }

    async fn admit(&self, who: &Principal, request_id: &str) -> Result<RunPermits, AdmissionError> {
        let process = self.places.clone().try_acquire_owned();
        let process = process.map_err(|_| AdmissionError::Busy {
            limit: self.options.concurrent,
        })?;
        let run = who.run_id(request_id);
        let admitted = self
            .parts
            .runs
            .admit(&who.key, &run, self.options.allowance);
        let key = admitted.await.map_err(|refused| match refused {
            AdmissionDenied::Store(error) if error.kind == StoreErrorKind::Refused => {
                AdmissionError::Running(request_id.to_owned())
            }
            AdmissionDenied::Store(error) => AdmissionError::Store(error),
            limit => AdmissionError::Limit(limit),
        })?;
        Ok(RunPermits::new(process, key))
    }

    /// Asks a run to stop, by the id of its request or of its answer; `false` if none
    /// of this asker's is on its way.
    ///
    /// # Errors
    /// The store of runs does not answer.
    pub async fn cancel(&self, who: &Principal, id: &str) -> Result<bool, StoreError> {
        self.parts.runs.cancel(&who.run_id(id)).await
    }
}
