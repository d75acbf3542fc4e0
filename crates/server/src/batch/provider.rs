//! Runs the rows of a batch through the batch API of the model's provider. Rows are rendered as
//! usual and submitted in jobs, and results are written as they arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use quillet_core::ErrorCode;
use quillet_core::batch::{BatchChunk, BatchOptions, Batches, Report, RowResult, lines};
use quillet_core::budget::Amount;
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_llm::batches::{JobState, ProviderBatches, RowOutcome, pauses};
use quillet_llm::models::ModelRouter;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::fixed_reply::{Collector, FixedReply};
use super::jobs::{Jobs, ProviderJob, row_id};
use super::leases::BatchLease;
use super::line;
use super::order::{new_tag, seconds};
use super::rows::{BatchRow, ChunkResult, row};
use crate::app::App;

/// The number of bytes read from the input at a time.
const READ: usize = 1 << 20;
/// The number of results per write.
const WRITTEN: usize = 64;
/// The maximum size of a job in bytes. It is below the limit of every provider, because the job is
/// held in memory.
const PORTION: usize = 64 << 20;
/// The wait for results after an expired batch was cancelled.
const LAST: Duration = Duration::from_secs(60);
/// The timeout for the provider when a client cancels a batch.
const CANCEL: Duration = Duration::from_secs(10);

/// Processes a batch as a whole, which has only one chunk.
pub(super) struct ProviderHandoff<'a> {
    pub(super) app: &'a App,
    pub(super) store: &'a dyn Batches,
    pub(super) options: &'a BatchOptions,
    pub(super) hand: &'a BatchLease,
    /// Closed at shutdown, so that no new work starts.
    pub(super) places: &'a Arc<Semaphore>,
    pub(super) unit: BatchChunk,
}

/// Rows to submit together.
struct JobChunk {
    api: ProviderBatches,
    mark: String,
    numbers: Vec<u64>,
    rows: Vec<Vec<u8>>,
    bytes: usize,
    most: Amount,
}

/// Whether to continue with a batch.
enum JobStatus {
    Go,
    /// Another worker must continue.
    Partly,
    /// The batch accepts no more results.
    Ended,
}

impl ProviderHandoff<'_> {
    pub(super) async fn work(&self) -> Result<ChunkResult, StoreError> {
        let Some(models) = self.app.models.clone() else {
            let message = "no configured model has a batch API";
            return Err(StoreError::new(StoreErrorKind::Configuration, message));
        };
        let mut jobs = Jobs::read(self.store, &self.hand.order).await?;
        loop {
            // A job without an id belongs to a worker that stopped between the record and the
            // submission.
            self.find_lost(&models, &mut jobs).await?;
            if !jobs.collected {
                match self.collect(&models, &mut jobs).await? {
                    JobStatus::Go => jobs.all_collected().await?,
                    JobStatus::Partly => return Ok(ChunkResult::Partly),
                    JobStatus::Ended => return Ok(ChunkResult::Ended),
                }
            }
            match self.fetch(&models, &mut jobs).await? {
                JobStatus::Go if jobs.collected && jobs.open.is_empty() => break,
                JobStatus::Go => {}
                JobStatus::Partly => return Ok(ChunkResult::Partly),
                JobStatus::Ended => return Ok(ChunkResult::Ended),
            }
        }
        let report = Report {
            unit: self.unit.number,
            done: true,
            ..Report::default()
        };
        self.store
            .report(&self.hand.order.id, &report, seconds())
            .await?;
        Ok(ChunkResult::Whole)
    }

    /// Searches the provider for jobs that may have been submitted. Rows of unknown jobs are
    /// submitted again.
    async fn find_lost(&self, models: &ModelRouter, jobs: &mut Jobs<'_>) -> Result<(), StoreError> {
        let lost: Vec<ProviderJob> = jobs
            .open
            .iter()
            .filter(|job| job.id.is_none())
            .cloned()
            .collect();
        for job in lost {
            let found = match ProviderBatches::by_name(models, &job.group) {
                Ok(api) => self.found(&api, &job).await,
                Err(_) => None,
            };
            match found {
                Some(id) => jobs.taken(&job.mark, &id).await?,
                None => {
                    self.settle(&job, Amount::default()).await;
                    jobs.void(&job.mark).await?;
                }
            }
        }
        Ok(())
    }

    /// Returns the provider's id of a job that may have been submitted. Temporary errors are
    /// retried until the batch expires.
    async fn found(&self, api: &ProviderBatches, job: &ProviderJob) -> Option<String> {
        for pause in pauses() {
            match api.find(&job.mark, job.rows.len()).await {
                Ok(found) => return found,
                Err(error) if error.kind.retryable() && !self.hand.is_expiring() => {
                    tracing::debug!(batch = self.hand.order.id, %error, "waiting for a provider");
                    self.wait(pause).await?;
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// Submits every row without a result or a job.
    async fn collect(
        &self,
        models: &ModelRouter,
        jobs: &mut Jobs<'_>,
    ) -> Result<JobStatus, StoreError> {
        let order = &self.hand.order;
        let mut portions: BTreeMap<String, JobChunk> = BTreeMap::new();
        let mut refused: BTreeMap<u64, RowOutcome> = BTreeMap::new();
        let mut results = Vec::new();
        let mut from = Some(1);
        while let Some(number) = from {
            let page = self.store.pieces(&order.input, number, READ).await?;
            from = page.next;
            let rows: Vec<BatchRow> = page.pieces.iter().flat_map(lines).filter_map(row).collect();
            let mut answered = BTreeSet::new();
            if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
                let found = self.store.answered(&order.id, first.number, last.number);
                answered.extend(found.await?);
            }
            for row in rows {
                if jobs.has(row.number) || answered.contains(&row.number) {
                    continue;
                }
                if self.places.is_closed() {
                    return Ok(JobStatus::Partly);
                }
                let collector = Arc::new(Collector::default());
                let answer = self
                    .hand
                    .door
                    .send_to_model(row.body.get(), collector.clone());
                let answer = answer.await;
                let Some(request) = collector.take() else {
                    results.push(self.answered(&row, answer));
                    if results.len() >= WRITTEN && !self.write(&mut results).await? {
                        return Ok(JobStatus::Ended);
                    }
                    continue;
                };
                let named = ProviderBatches::of(models, &request).and_then(|(api, body)| {
                    let most = api.max_cost(models, &self.hand.door.payer(), &request)?;
                    Ok((api, body, most))
                });
                let (api, body, most) = match named {
                    Ok(named) => named,
                    Err(error) => {
                        refused.insert(row.number, RowOutcome::Failed(error));
                        continue;
                    }
                };
                let name = api.name();
                let portion = portions
                    .entry(name.clone())
                    .or_insert_with(|| JobChunk::new(api));
                let bytes = portion.api.row(&row_id(&portion.mark, row.number), &body);
                if !portion.takes(&bytes)
                    && let Some(full) = portions.remove(&name)
                {
                    let again = ProviderBatches::by_name(models, &name);
                    self.submit(models, jobs, full).await?;
                    match again {
                        Ok(api) => portions.insert(name.clone(), JobChunk::new(api)),
                        Err(_) => continue,
                    };
                }
                if let Some(portion) = portions.get_mut(&name) {
                    portion.add(row.number, &body, most);
                }
            }
        }
        for (_, portion) in portions {
            self.submit(models, jobs, portion).await?;
        }
        if !self.write(&mut results).await? || !self.answer(refused).await? {
            return Ok(JobStatus::Ended);
        }
        Ok(JobStatus::Go)
    }

    /// Submits a job. If the provider rejects it, its rows get the error.
    async fn submit(
        &self,
        models: &ModelRouter,
        jobs: &mut Jobs<'_>,
        portion: JobChunk,
    ) -> Result<(), StoreError> {
        if portion.rows.is_empty() {
            return Ok(());
        }
        // The reservation expires an hour after the batch, because results may arrive late.
        let time = self.hand.order.expires.saturating_sub(seconds()) + 3600;
        let payer = self.hand.door.payer();
        let held = match models.spending() {
            Some(spending) => {
                let time = Duration::from_secs(time);
                spending.hold_batch(&payer, portion.most, time).await
            }
            None => Ok(None),
        };
        let job = ProviderJob {
            mark: portion.mark.clone(),
            group: portion.api.name(),
            rows: portion.numbers.clone(),
            hold: held.as_ref().ok().cloned().flatten(),
            id: None,
        };
        // The job is recorded before the submission. After a crash, the tag identifies the job at
        // the provider, so that the job is not paid for twice.
        jobs.intended(job.clone()).await?;
        if let Err(error) = held {
            return self.fail(jobs, &job, error).await;
        }
        let mut asked = 0;
        for pause in pauses() {
            let error = match portion.api.submit(&job.mark, &portion.rows).await {
                Ok(id) => return jobs.taken(&job.mark, &id).await,
                Err(error) => error,
            };
            asked += 1;
            if !error.kind.retryable() || asked > self.options.retries {
                return self.fail(jobs, &job, error).await;
            }
            let wait = error.retry_after.unwrap_or(pause);
            if self.wait(wait).await.is_none() {
                return Ok(());
            }
            // The provider may have accepted the job despite the error.
            if let Ok(Some(id)) = portion.api.find(&job.mark, job.rows.len()).await {
                return jobs.taken(&job.mark, &id).await;
            }
        }
        Ok(())
    }

    /// Writes an error for all rows of a job.
    async fn fail(
        &self,
        jobs: &mut Jobs<'_>,
        job: &ProviderJob,
        error: ModelError,
    ) -> Result<(), StoreError> {
        let rows = job.rows.iter();
        let all = rows.map(|row| (*row, RowOutcome::Failed(error.clone())));
        self.answer(all.collect()).await?;
        self.settle(job, Amount::default()).await;
        jobs.done(&job.mark).await
    }

    /// Polls the providers and writes the results.
    async fn fetch(
        &self,
        models: &ModelRouter,
        jobs: &mut Jobs<'_>,
    ) -> Result<JobStatus, StoreError> {
        let mut cancelled: Option<Instant> = None;
        for pause in pauses() {
            for job in jobs.open.clone() {
                let Some(id) = job.id.clone() else {
                    return Ok(JobStatus::Go);
                };
                let api = match ProviderBatches::by_name(models, &job.group) {
                    Ok(api) => api,
                    Err(error) => {
                        self.fail(jobs, &job, error).await?;
                        continue;
                    }
                };
                if self.hand.is_expiring() && cancelled.is_none() {
                    // The results so far are available after the cancellation. An error is ignored,
                    // because the state below decides.
                    let _ = api.cancel(&id).await;
                }
                let is_late = cancelled.is_some_and(|at| at.elapsed() > LAST);
                match api.state(&id).await {
                    Ok(JobState::Ended) => match api.results(&id).await {
                        Ok(results) => {
                            if !self.take(models, jobs, &job, &api, results).await? {
                                return Ok(JobStatus::Ended);
                            }
                        }
                        Err(error) if error.kind.retryable() => {}
                        Err(error) => self.fail(jobs, &job, error).await?,
                    },
                    Ok(JobState::Failed(why)) => {
                        let message = format!("the provider rejected the batch: {why}");
                        let error = ModelError::new(ModelErrorKind::Refused, message);
                        self.fail(jobs, &job, error).await?;
                    }
                    Ok(JobState::Working) if is_late => {
                        self.take(models, jobs, &job, &api, Vec::new()).await?;
                    }
                    Ok(JobState::Working) => {}
                    Err(error) if error.kind.retryable() && !is_late => {
                        tracing::debug!(batch = self.hand.order.id, %error, "waiting for a provider");
                    }
                    Err(error) => self.fail(jobs, &job, error).await?,
                }
            }
            if self.hand.is_expiring() {
                cancelled.get_or_insert_with(Instant::now);
            }
            if jobs.open.is_empty() || !jobs.collected {
                return Ok(JobStatus::Go);
            }
            if self.wait(pause).await.is_none() {
                return Ok(JobStatus::Partly);
            }
        }
        Ok(JobStatus::Partly)
    }

    /// Writes the results of a job. Rows without a result count as not processed. Returns `false`
    /// if the batch accepts no more results.
    async fn take(
        &self,
        models: &ModelRouter,
        jobs: &mut Jobs<'_>,
        job: &ProviderJob,
        api: &ProviderBatches,
        results: Vec<(String, RowOutcome)>,
    ) -> Result<bool, StoreError> {
        let is_other =
            !results.is_empty() && results.iter().all(|(id, _)| job.row_of(id).is_none());
        if is_other {
            // The results belong to another job, so these rows were never submitted.
            self.settle(job, Amount::default()).await;
            jobs.void(&job.mark).await?;
            return Ok(true);
        }
        let mut outcomes: BTreeMap<u64, RowOutcome> = BTreeMap::new();
        let mut spent = Amount::default();
        for (id, outcome) in results {
            let Some(row) = job.row_of(&id) else { continue };
            if let RowOutcome::Answered(events) = &outcome {
                spent += api.cost(models, events);
            }
            outcomes.insert(row, outcome);
        }
        for row in &job.rows {
            // Providers omit rows that they did not process in time.
            outcomes.entry(*row).or_insert(RowOutcome::Unasked);
        }
        if !self.answer(outcomes).await? {
            return Ok(false);
        }
        // Settle the cost before the job is marked as done. After a crash in between, the cost
        // counts twice, which is safer than not at all.
        self.settle(job, spent).await;
        jobs.done(&job.mark).await?;
        Ok(true)
    }

    async fn settle(&self, job: &ProviderJob, spent: Amount) {
        if let (Some(spending), Some(hold)) = (&self.app.spending, &job.hold) {
            let payer = self.hand.door.payer();
            spending.settle_batch(&payer, hold, spent).await;
        }
    }

    /// Writes the results of rows, each in the format of its route. Returns `false` if the batch
    /// accepts no more results.
    async fn answer(&self, mut outcomes: BTreeMap<u64, RowOutcome>) -> Result<bool, StoreError> {
        let order = &self.hand.order;
        let mut results = Vec::new();
        let mut from = (!outcomes.is_empty()).then_some(1);
        while let Some(number) = from {
            let page = self.store.pieces(&order.input, number, READ).await?;
            from = page.next;
            for row in page.pieces.iter().flat_map(lines).filter_map(row) {
                let Some(outcome) = outcomes.remove(&row.number) else {
                    continue;
                };
                let known = match outcome {
                    RowOutcome::Answered(events) => Ok(events),
                    RowOutcome::Failed(error) => Err(error),
                    RowOutcome::Unasked => {
                        results.push(self.unasked(&row));
                        continue;
                    }
                };
                let known = Arc::new(FixedReply::new(known));
                let answer = self.hand.door.send_to_model(row.body.get(), known).await;
                results.push(self.answered(&row, answer));
                if results.len() >= WRITTEN && !self.write(&mut results).await? {
                    return Ok(false);
                }
            }
        }
        self.write(&mut results).await
    }

    fn answered(&self, row: &BatchRow, answer: super::dispatch::RowReply) -> RowResult {
        let batch = &self.hand.order.id;
        RowResult {
            row: row.number,
            failed: !(200..300).contains(&answer.status),
            line: line::answered(
                batch,
                row.number,
                &row.id,
                answer.status,
                &answer.request_id,
                answer.body,
            ),
        }
    }

    fn unasked(&self, row: &BatchRow) -> RowResult {
        let batch = &self.hand.order.id;
        let message = "the batch expired before the provider answered this request";
        RowResult {
            row: row.number,
            failed: true,
            line: line::unasked(batch, row.number, &row.id, ErrorCode::BatchExpired, message),
        }
    }

    async fn write(&self, results: &mut Vec<RowResult>) -> Result<bool, StoreError> {
        if results.is_empty() {
            return Ok(true);
        }
        let report = Report {
            unit: self.unit.number,
            results: std::mem::take(results),
            ..Report::default()
        };
        let status = self
            .store
            .report(&self.hand.order.id, &report, seconds())
            .await?;
        Ok(status.is_some_and(|status| status.accepts_results()))
    }

    /// Waits. Returns `None` at shutdown.
    async fn wait(&self, time: Duration) -> Option<()> {
        let until = Instant::now() + time;
        let was_expiring = self.hand.is_expiring();
        while Instant::now() < until {
            if self.places.is_closed() {
                return None;
            }
            // Wake early to cancel the provider's jobs in time.
            if self.hand.is_expiring() != was_expiring {
                break;
            }
            sleep(Duration::from_millis(100).min(until - Instant::now())).await;
        }
        Some(())
    }
}

impl JobChunk {
    fn new(api: ProviderBatches) -> Self {
        JobChunk {
            api,
            mark: new_tag(),
            numbers: Vec::new(),
            rows: Vec::new(),
            bytes: 0,
            most: Amount::default(),
        }
    }

    /// Returns whether the job has space for another row.
    fn takes(&self, row: &[u8]) -> bool {
        let (rows, bytes) = self.api.limits();
        self.rows.is_empty()
            || self.rows.len() < rows && self.bytes + row.len() < bytes.min(PORTION)
    }

    fn add(&mut self, number: u64, body: &serde_json::Value, most: Amount) {
        let row = self.api.row(&row_id(&self.mark, number), body);
        self.bytes += row.len() + 1;
        self.rows.push(row);
        self.numbers.push(number);
        self.most += most;
    }
}

/// Cancels the provider jobs of a batch.
pub(super) async fn cancel(app: &App, jobs: &Jobs<'_>) {
    let Some(models) = &app.models else { return };
    for job in &jobs.open {
        let api = ProviderBatches::by_name(models, &job.group);
        let (Ok(api), Some(id)) = (api, &job.id) else {
            continue;
        };
        match timeout(CANCEL, api.cancel(id)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(job = id, %error, "could not cancel a provider's batch")
            }
            Err(_) => tracing::warn!(job = id, "could not cancel a provider's batch in time"),
        }
    }
}
