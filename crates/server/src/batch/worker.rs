//! The batch worker of a process. It polls the state of batches, leases chunks and renews its
//! leases.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use quillet_core::ErrorCode;
use quillet_core::batch::{
    Batch, BatchChunk, BatchOptions, BatchService, BatchTransition, Batches, FileInfo, LineError,
    Status,
};
use quillet_core::store::StoreError;
use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::check::{InputCheck, error};
use super::dispatch::RowDispatcher;
use super::jobs::Jobs;
use super::leases::{BatchLease, LeasedBatches};
use super::order::{new_tag, seconds};
use super::provider::{self, ProviderHandoff};
use super::rows::{ChunkResult, RowWorker};
use crate::app::App;

/// The polling interval. A cancelled batch stops within this time.
const LOOK: Duration = Duration::from_millis(300);
/// The wait for chunks when none are available.
const IDLE: Duration = Duration::from_millis(200);
/// The interval between deletions of expired batches and files.
const SWEEP: Duration = Duration::from_secs(60);
/// The number of bytes validated at a time.
const LOOKED_AT: usize = 1 << 20;

/// A chunk whose lease is renewed until it is dropped, even after a panic. Another worker can lease
/// it after the lease expires.
struct ChunkLease<'a> {
    hands: &'a LeasedBatches,
    batch: &'a str,
    unit: u64,
}

impl Drop for ChunkLease<'_> {
    fn drop(&mut self) {
        self.hands.release(self.batch, self.unit);
    }
}

/// Processes batches.
#[derive(Debug)]
pub(crate) struct Worker {
    app: Arc<App>,
    batching: BatchService,
    name: String,
    hands: LeasedBatches,
    places: Arc<Semaphore>,
    changed: Notify,
    units: TaskTracker,
    /// Cancels running rows.
    cut: CancellationToken,
}

impl Worker {
    pub(crate) fn new(app: Arc<App>, batching: BatchService, cut: CancellationToken) -> Arc<Self> {
        Arc::new(Worker {
            app,
            name: new_tag(),
            hands: LeasedBatches::default(),
            places: Arc::new(Semaphore::new(batching.options.concurrency.max(1))),
            batching,
            changed: Notify::new(),
            units: TaskTracker::new(),
            cut,
        })
    }

    fn store(&self) -> &dyn Batches {
        &*self.batching.store
    }

    fn options(&self) -> &BatchOptions {
        &self.batching.options
    }

    /// Runs until `stop`. Running rows then finish or are cancelled, and their chunks are released.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let work = async {
            tokio::join!(
                self.poll_batches(),
                self.lease_chunks(),
                self.renew_leases()
            );
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
        // Closing the semaphore signals rows that wait for a permit or a retry. Such rows return
        // without a result, and their chunk is released.
        self.places.close();
        self.units.close();
        tokio::select! {
            () = self.units.wait() => {}
            // Leases must stay valid while the last rows finish, or another worker would run them
            // again.
            () = self.renew_leases() => {}
        }
    }

    /// Polls the state of batches.
    async fn poll_batches(&self) {
        let mut swept: Option<Instant> = None;
        let mut is_away = false;
        loop {
            let started = Instant::now();
            // Log errors once per outage instead of every 300 ms.
            let looked = self.poll_once().await;
            match &looked {
                Err(error) if !is_away => {
                    tracing::warn!(%error, "batches wait because the batch store is unavailable")
                }
                Ok(()) if is_away => tracing::info!("the batch store is available again"),
                _ => {}
            }
            is_away = looked.is_err();
            if swept.is_none_or(|at| at.elapsed() > SWEEP) {
                swept = Some(Instant::now());
                if let Err(error) = self.store().sweep(seconds()).await {
                    tracing::debug!(%error, "cannot remove expired files and batches yet");
                }
            }
            // The pause ensures that with very many batches, polling takes at most a tenth of the
            // time.
            sleep(LOOK.max(started.elapsed() * 9)).await;
        }
    }

    async fn poll_once(&self) -> Result<(), StoreError> {
        let active = self.store().active().await?;
        self.hands.keep_only(&active);
        let (mut turns, mut queued) = (Vec::new(), 0);
        for id in &active {
            let Some(batch) = self.store().batch(id).await? else {
                continue;
            };
            queued += u64::from(batch.status == Status::Validating);
            if let Some(hand) = self.advance_batch(batch).await? {
                turns.push(hand);
            }
        }
        self.hands.set_turns(turns);
        let counts = &self.app.metrics.batches;
        counts.queued.store(queued, Ordering::Relaxed);
        let running = (active.len() as u64).saturating_sub(queued);
        counts.running.store(running, Ordering::Relaxed);
        // The notification wakes `lease_chunks`, so that a new batch does not wait for the idle
        // interval.
        self.changed.notify_one();
        Ok(())
    }

    /// Performs the due transition of a batch. Returns the batch if it may have chunks.
    async fn advance_batch(&self, batch: Batch) -> Result<Option<Arc<BatchLease>>, StoreError> {
        let id = batch.order.id.clone();
        let is_over = seconds() >= batch.order.expires;
        match batch.status {
            Status::Validating if is_over => {
                let step = BatchTransition::new(&[Status::Validating], Status::Expired, seconds());
                if self.store().step(&id, &step).await? {
                    self.app.metrics.batches.end(Status::Expired);
                }
                self.hands.drop(&id);
                return Ok(None);
            }
            Status::InProgress if is_over => {
                let step = BatchTransition::new(&[Status::InProgress], Status::Expiring, seconds());
                self.store().step(&id, &step).await?;
            }
            Status::Cancelling => {
                self.hands.drop(&id);
                if batch.order.provider {
                    let jobs = Jobs::read(self.store(), &batch.order).await?;
                    provider::cancel(&self.app, &jobs).await;
                }
                self.seal(&batch, Status::Cancelled).await?;
                return Ok(None);
            }
            Status::Finalizing => {
                self.seal(&batch, Status::Completed).await?;
                return Ok(None);
            }
            Status::Expiring if batch.units == 0 => {
                self.seal(&batch, Status::Expired).await?;
                return Ok(None);
            }
            _ => {}
        }
        let hand = match self.hands.get(&id) {
            Some(hand) => hand,
            None => {
                let order = batch.order;
                let door = RowDispatcher::new(&self.app, &order.endpoint, &order.owner);
                let hand = Arc::new(BatchLease::new(order, door));
                self.hands.put(hand.clone());
                hand
            }
        };
        if is_over {
            hand.expire();
        }
        Ok(Some(hand))
    }

    /// Publishes the files of a batch and ends it. The files no longer change, so two workers can
    /// safely do this.
    async fn seal(&self, batch: &Batch, to: Status) -> Result<(), StoreError> {
        let order = &batch.order;
        let now = seconds();
        let files = [
            (order.output(), "output", batch.output_bytes),
            (order.errors(), "error", batch.error_bytes),
        ];
        for (id, what, bytes) in files.into_iter().filter(|(_, _, bytes)| *bytes > 0) {
            let file = FileInfo {
                id,
                owner: order.owner.clone(),
                name: format!("{}_{what}.jsonl", order.id),
                purpose: "batch_output".to_owned(),
                bytes,
                created: now,
                expires: now + order.keep,
            };
            self.store().keep_file(&file).await?;
        }
        let from: &[Status] = match to {
            Status::Completed => &[Status::Finalizing],
            Status::Expired => &[Status::Expiring],
            _ => &[Status::Cancelling],
        };
        // The transition requires the old status, so only one worker counts the end of the batch.
        let step = BatchTransition::new(from, to, now);
        if self.store().step(&order.id, &step).await? {
            self.app.metrics.batches.end(to);
        }
        Ok(())
    }

    /// Leases chunks while permits for rows are available.
    async fn lease_chunks(self: &Arc<Self>) {
        loop {
            match self.places.acquire().await {
                // This only checks for free capacity. Each row acquires its own permit later.
                Ok(place) => drop(place),
                Err(_) => return,
            }
            match self.take().await {
                Ok(Some((hand, unit))) => self.spawn(hand, unit),
                Ok(None) => {
                    tokio::select! {
                        () = self.changed.notified() => {}
                        () = sleep(IDLE) => {}
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot lease a chunk of a batch");
                    sleep(LOOK).await;
                }
            }
            // Let the rows of this chunk acquire their permits first.
            tokio::task::yield_now().await;
        }
    }

    async fn take(&self) -> Result<Option<(Arc<BatchLease>, BatchChunk)>, StoreError> {
        for hand in self.hands.turns() {
            // The list may still contain a batch that was dropped since the last poll.
            if hand.end.is_cancelled() {
                continue;
            }
            let claiming = self
                .store()
                .claim(&hand.order.id, &self.name, self.options().lease);
            if let Some(unit) = claiming.await? {
                self.hands.add_chunk(&hand.order.id, unit.number);
                return Ok(Some((hand, unit)));
            }
        }
        Ok(None)
    }

    fn spawn(self: &Arc<Self>, hand: Arc<BatchLease>, unit: BatchChunk) {
        let worker = self.clone();
        self.units.spawn(async move {
            let (id, number) = (hand.order.id.as_str(), unit.number);
            let held = ChunkLease {
                hands: &worker.hands,
                batch: id,
                unit: number,
            };
            let worked = tokio::select! {
                worked = worker.work(&hand, unit) => worked,
                () = hand.end.cancelled() => Ok(ChunkResult::Ended),
                () = worker.cut.cancelled() => Ok(ChunkResult::Partly),
            };
            // Stop the renewal before the chunk is released. A late renewal could lease the chunk
            // again.
            drop(held);
            match worked {
                Ok(ChunkResult::Whole | ChunkResult::Ended) => return,
                Ok(ChunkResult::Partly) => {}
                Err(error) => {
                    tracing::warn!(batch = id, unit = number, %error, "released a chunk after an error");
                    // The error is unlikely to disappear immediately, so wait before the next
                    // attempt.
                    sleep(LOOK).await;
                }
            }
            if let Err(error) = worker.store().release_chunk(id, &worker.name, number).await {
                tracing::debug!(batch = id, unit = number, %error, "cannot release a chunk before its lease expires");
            }
        });
    }

    async fn work(&self, hand: &BatchLease, unit: BatchChunk) -> Result<ChunkResult, StoreError> {
        // Chunk 0 represents the validation of the input. The chunks with rows have the numbers
        // after 0.
        if unit.number == 0 {
            self.check(hand).await?;
            self.changed.notify_one();
            return Ok(ChunkResult::Whole);
        }
        if hand.order.provider {
            let handing = ProviderHandoff {
                app: &self.app,
                store: self.store(),
                options: self.options(),
                hand,
                places: &self.places,
                unit,
            };
            return handing.work().await;
        }
        let rows = RowWorker {
            store: self.store(),
            options: self.options(),
            hand,
            places: &self.places,
        };
        rows.work(unit).await
    }

    /// Validates the input of a batch. The batch then begins or fails.
    async fn check(&self, hand: &BatchLease) -> Result<(), StoreError> {
        let order = &hand.order;
        let found = match self.store().file(&order.input).await? {
            Some(_) => self.validate_input(hand).await?,
            None => {
                let message = format!("the file {} no longer exists", order.input);
                let wrong = error(
                    ErrorCode::FileNotFound,
                    message,
                    None,
                    Some("input_file_id"),
                );
                Err(vec![wrong])
            }
        };
        let step = match found {
            Ok((rows, mut units)) => {
                if order.provider {
                    // One worker submits all rows. The chunk represents the whole file, and the
                    // provider processes it as separate jobs.
                    units.truncate(1);
                }
                // Chunks are added before the status changes. After a crash in between, the
                // validation is repeated and adds the same chunks.
                self.store().add_units(&order.id, &units).await?;
                BatchTransition {
                    counted: Some((rows, units.len() as u64)),
                    ..BatchTransition::new(&[Status::Validating], Status::InProgress, seconds())
                }
            }
            Err(wrong) => BatchTransition {
                wrong,
                ..BatchTransition::new(&[Status::Validating], Status::Failed, seconds())
            },
        };
        if self.store().step(&order.id, &step).await? && step.to == Status::Failed {
            self.app.metrics.batches.end(Status::Failed);
        }
        Ok(())
    }

    async fn validate_input(
        &self,
        hand: &BatchLease,
    ) -> Result<Result<(u64, Vec<u64>), Vec<LineError>>, StoreError> {
        let order = &hand.order;
        let mut check = InputCheck::new(&order.endpoint, self.options());
        let mut from = Some(1);
        while let Some(number) = from {
            let page = self.store().pieces(&order.input, number, LOOKED_AT).await?;
            from = page.next;
            for piece in &page.pieces {
                if !check.piece(piece) {
                    from = None;
                    break;
                }
            }
            tokio::task::yield_now().await;
        }
        // The second pass reads the input only if two hashes are equal, which is rare.
        let alike = check.equal_hashes();
        let mut first = HashMap::new();
        let mut from = (!alike.is_empty()).then_some(1);
        while let Some(number) = from {
            let page = self.store().pieces(&order.input, number, LOOKED_AT).await?;
            from = page.next;
            for piece in &page.pieces {
                check.check_duplicates(piece, &alike, &mut first);
            }
        }
        Ok(check.end())
    }

    /// Renews all leases three times per lease period. Never returns.
    async fn renew_leases(&self) {
        loop {
            // Two renewals may fail before a lease expires.
            sleep(self.options().lease / 3).await;
            for (id, units) in self.hands.leased_chunks() {
                let lease = self.options().lease;
                let renewed = self.store().renew(&id, &self.name, &units, lease).await;
                if let Err(error) = renewed {
                    tracing::debug!(batch = id, %error, "cannot renew chunk leases");
                }
            }
        }
    }
}
