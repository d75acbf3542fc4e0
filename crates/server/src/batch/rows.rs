//! Runs the rows of a chunk concurrently, retries each until its result is final, and writes
//! results as they arrive.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quillet_core::ErrorCode;
use quillet_core::batch::{BatchChunk, BatchOptions, Batches, Report, RowResult, lines};
use quillet_core::store::{StoreError, StoreErrorKind};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::leases::BatchLease;
use super::line::{self, BatchRequest};
use super::order::seconds;

/// The time to collect results of a chunk for one write.
const GATHER: Duration = Duration::from_millis(20);
/// The first and the longest pause before a retry without a delay from the server. The pause
/// doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);
/// The pause before a retry while the store is unavailable.
const STORE_PAUSE: Duration = Duration::from_millis(300);

/// The outcome of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkResult {
    /// All rows have results.
    Whole,
    /// Another worker must continue.
    Partly,
    /// The batch accepts no more results.
    Ended,
}

/// Runs the rows of a chunk.
#[derive(Debug)]
pub(super) struct RowWorker<'a> {
    pub(super) store: &'a dyn Batches,
    pub(super) options: &'a BatchOptions,
    pub(super) hand: &'a BatchLease,
    /// Closed at shutdown, so that no new rows start.
    pub(super) places: &'a Arc<Semaphore>,
}

/// A row to send.
pub(super) struct BatchRow {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) body: Box<RawValue>,
}

impl RowWorker<'_> {
    /// Runs a chunk.
    pub(super) async fn work(&self, unit: BatchChunk) -> Result<ChunkResult, StoreError> {
        let order = &self.hand.order;
        let page = self.store.pieces(&order.input, unit.number, 1).await?;
        let piece = page
            .pieces
            .into_iter()
            .find(|piece| piece.number == unit.number);
        let mut rows: Vec<BatchRow> = Vec::new();
        if let Some(piece) = &piece {
            rows.extend(lines(piece).filter_map(row));
        }
        let mut report = Report {
            unit: unit.number,
            ..Report::default()
        };
        // An earlier worker may have stored results, so only the rows without results run again.
        if unit.again
            && let (Some(first), Some(last)) = (rows.first(), rows.last())
        {
            let answered = self.store.answered(&order.id, first.number, last.number);
            let answered = answered.await?;
            rows.retain(|row| !answered.contains(&row.number));
            report.again = rows.len() as u64;
        }
        let mut asked: FuturesUnordered<_> = rows.iter().map(|row| self.result(row)).collect();
        let mut is_whole = true;
        loop {
            let next = if report.results.is_empty() {
                asked.next().await
            } else {
                // Dropping `next()` is safe, because the futures stay in the set.
                match timeout(GATHER, asked.next()).await {
                    Ok(next) => next,
                    Err(_) => {
                        if self.write(&mut report).await? {
                            continue;
                        }
                        return Ok(ChunkResult::Ended);
                    }
                }
            };
            match next {
                Some(Some(result)) => report.results.push(result),
                Some(None) => is_whole = false,
                None => break,
            }
        }
        // The last report also completes the chunk, in one transaction with its results.
        report.done = is_whole;
        if !self.write(&mut report).await? {
            return Ok(ChunkResult::Ended);
        }
        Ok(if is_whole {
            ChunkResult::Whole
        } else {
            ChunkResult::Partly
        })
    }

    /// Writes a report and retries while the store is unavailable. Returns `false` if the batch
    /// accepts no more results.
    async fn write(&self, report: &mut Report) -> Result<bool, StoreError> {
        loop {
            match self
                .store
                .report(&self.hand.order.id, report, seconds())
                .await
            {
                Ok(status) => {
                    report.results.clear();
                    report.again = 0;
                    // The report of the last chunk moves the batch to finalizing, but its results
                    // were still accepted.
                    let done = report.done;
                    return Ok(status.is_some_and(|status| status.accepts_results() || done));
                }
                Err(error) if error.kind == StoreErrorKind::Unavailable => {
                    tracing::debug!(%error, "results wait for the batch store");
                    sleep(STORE_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the result of a row, or `None` at shutdown.
    async fn result(&self, row: &BatchRow) -> Option<RowResult> {
        // An error means that the semaphore was closed for shutdown. The permit is held during
        // retries, so that other rows do not flood a provider that is already limiting requests.
        let _place = self.places.acquire().await.ok()?;
        let batch = &self.hand.order.id;
        let (mut asked, mut failed) = (0, 0_u32);
        loop {
            if self.hand.is_expiring() {
                let message = "the batch expired before this request was answered";
                return Some(RowResult {
                    row: row.number,
                    failed: true,
                    line: line::unasked(
                        batch,
                        row.number,
                        &row.id,
                        ErrorCode::BatchExpired,
                        message,
                    ),
                });
            }
            // Each retry after a failure is a new run. If the row is leased again, the next worker
            // starts again with the id of the first run.
            let id = format!("{}-{}-{failed}", self.hand.order.id, row.number);
            let answer = self.hand.door.send_row(row.body.get(), &id).await;
            asked += 1;
            // A response with a rate limit error is not a failure of the row. The row is retried
            // under the same run id until the batch expires.
            let is_told_to_wait = answer.status == 429;
            failed += u32::from(!is_told_to_wait);
            match answer.again {
                Some(wait) if is_told_to_wait || asked <= self.options.retries => {
                    let pause = FIRST_PAUSE.saturating_mul(1 << asked.clamp(1, 7)) / 2;
                    self.pause(wait.unwrap_or(pause.min(LAST_PAUSE))).await?;
                }
                _ => {
                    return Some(RowResult {
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
                    });
                }
            }
        }
    }

    /// Waits, at most until the batch expires. Returns `None` at shutdown.
    async fn pause(&self, time: Duration) -> Option<()> {
        let left = self.hand.order.expires.saturating_sub(seconds());
        let time = time.min(Duration::from_secs(left + 1));
        let step = Duration::from_millis(100);
        let mut waited = Duration::ZERO;
        while waited < time {
            // Poll in short steps, because closing a semaphore only wakes tasks that wait for it.
            if self.places.is_closed() {
                return None;
            }
            let next = step.min(time - waited);
            sleep(next).await;
            waited += next;
        }
        Some(())
    }
}

/// Parses a line that was validated before.
pub(super) fn row((number, line): (u64, &[u8])) -> Option<BatchRow> {
    let read: BatchRequest<'_> = serde_json::from_slice(line).ok()?;
    Some(BatchRow {
        number,
        id: read.custom_id?.into_owned(),
        body: read.body?.to_owned(),
    })
}
