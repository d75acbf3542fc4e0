//! Admission and start of runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quillet_core::ErrorCode;
use quillet_core::runs::{AdmissionDenied, Permit};
use quillet_core::store::{StoreError, StoreErrorKind};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use super::{AgentCounts, AgentOptions, AgentParts, AgentRequest, Principal, RunHandle};

/// Default `Retry-After` of a rejected client.
const AGAIN: Duration = Duration::from_secs(1);

/// Agents of this process. Cheap to clone.
#[derive(Debug)]
pub struct AgentService {
    pub(super) parts: AgentParts,
    pub(super) options: AgentOptions,
    pub(super) counts: Arc<AgentCounts>,
    /// Runs without a reader, and writes that continue after a reader has left.
    pub(super) tasks: TaskTracker,
    places: Arc<Semaphore>,
    /// Notified when a run may have become ready to resume.
    pub(super) wake: Notify,
}

/// Error of a run that is not admitted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AdmissionError {
    /// This process has reached its limit.
    #[error("too many concurrent answers: the limit agent.concurrent is {limit}")]
    Busy {
        /// The limit.
        limit: usize,
    },
    /// The key has reached its limit of concurrent runs or of requests.
    #[error(transparent)]
    Limit(AdmissionDenied),
    /// A run with this id is in progress.
    #[error("request id {0:?} is in use by a request in progress: choose another X-Request-ID")]
    Running(String),
    /// The limits cannot be checked.
    #[error(transparent)]
    Store(StoreError),
}

impl AdmissionError {
    /// Stable code, which determines the status.
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

    /// Time to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AdmissionError::Limit(AdmissionDenied::Rate { retry_after, .. }) => Some(*retry_after),
            // The client must choose another id, because the current run may take long.
            AdmissionError::Running(_) => None,
            AdmissionError::Busy { .. } | AdmissionError::Limit(_) | AdmissionError::Store(_) => {
                Some(AGAIN)
            }
        }
    }
}

/// Permits of a run: one for the process and one for the key.
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

    /// Connects to the configured MCP servers in the background, so that runs do not wait for them.
    /// Called at the start of the service.
    pub fn greet_servers(&self) {
        self.parts.tools.connect_ahead(&self.parts.mcp_servers);
    }

    /// Creates the service from its parts.
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

    /// Parts of the service.
    #[must_use]
    pub fn parts(&self) -> &AgentParts {
        &self.parts
    }

    /// Options of the service.
    #[must_use]
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Number of runs in progress.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.counts.active.load(Ordering::Relaxed)
    }

    /// Counters of runs.
    #[must_use]
    pub fn counts(&self) -> &AgentCounts {
        &self.counts
    }

    /// Spawns a task that [`AgentService::finish`] waits for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// Waits for the tasks of [`AgentService::spawn`]. Abandoned runs are no longer resumed after
    /// this.
    pub async fn finish(&self) {
        // `wait` completes only for a closed tracker.
        self.tasks.close();
        // Wakes the watcher of abandoned runs, which returns because the tracker is closed.
        self.wake.notify_one();
        self.tasks.wait().await;
    }

    /// Admits a request. The run advances as its events are read, and ends when the handle is
    /// dropped. `request_id` identifies the run for [`AgentService::cancel`].
    ///
    /// # Errors
    /// A limit is reached. Errors in the request itself are reported by the run.
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
        // The limit of the process is checked first, because it needs no request to the shared
        // store.
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
            // The store rejects an id that is in use. This is not a failure of the store.
            AdmissionDenied::Store(error) if error.kind == StoreErrorKind::Refused => {
                AdmissionError::Running(request_id.to_owned())
            }
            AdmissionDenied::Store(error) => AdmissionError::Store(error),
            limit => AdmissionError::Limit(limit),
        })?;
        Ok(RunPermits::new(process, key))
    }

    /// Stops a run by the id of its request or of its answer. `false` if the client has no such run
    /// in progress.
    ///
    /// # Errors
    /// The store of runs does not answer.
    pub async fn cancel(&self, who: &Principal, id: &str) -> Result<bool, StoreError> {
        self.parts.runs.cancel(&who.run_id(id)).await
    }
}
