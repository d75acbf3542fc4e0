//! Runs the rows of one chunk concurrently, retries each until it has a final result, and writes
//! the results as they arrive.

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

/// Results wait so long for others of their unit, with which they are written down.
const GATHER: Duration = Duration::from_millis(20);
/// First pause before a row is asked again, where nobody says how long; doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_secs(30);
/// Pause before a store that is away is asked again.
const STORE_PAUSE: Duration = Duration::from_millis(300);

/// Whether a unit was worked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkResult {
    /// All of its rows have results.
    Whole,
    /// Somebody else is to go on with it.
    Partly,
    /// The batch takes nothing more.
    Ended,
}

/// Works on rows.
#[derive(Debug)]
pub(super) struct RowWorker<'a> {
    pub(super) store: &'a dyn Batches,
    pub(super) options: &'a BatchOptions,
    pub(super) hand: &'a BatchLease,
    /// Closed when no more rows are to be begun.
    pub(super) places: &'a Arc<Semaphore>,
}

/// A row that is asked.
pub(super) struct BatchRow {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) body: Box<RawValue>,
}

impl RowWorker<'_> {
    /// Works through a unit.
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
        // Results of the earlier worker may be stored already; only the other rows run again.
        if unit.again
            && let (Some(first), Some(last)) = (rows.first(), rows.last())
        {
            let between = (first.number, last.number);
            let answered = self.store.answered(&order.id, between).await?;
            rows.retain(|row| !answered.contains(&row.number));
            report.again = rows.len() as u64;
        }
        let mut asked: FuturesUnordered<_> = rows.iter().map(|row| self.result(row)).collect();
        let mut is_whole = true;
        loop {
            let next = if report.results.is_empty() {
                asked.next().await
            } else {
                // Dropping `next()` loses nothing: the futures stay in the set.
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

    /// Writes down what there is to say, however long the store is away; `false` if the batch takes
    /// nothing more.
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
                    // The last unit of a batch makes it finalizing, and is taken.
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

    /// What a row comes to; nothing if no more rows are to be begun.
    async fn result(&self, row: &BatchRow) -> Option<RowResult> {
        // An error means that the semaphore was closed for shutdown. The permit is held during
        // retries, so that a provider with rate limits is not flooded by other rows.
        let _place = self.places.acquire().await.ok()?;
        let of = (self.hand.order.id.as_str(), row.number, row.id.as_str());
        let (mut asked, mut failed) = (0, 0_u32);
        loop {
            if self.hand.is_expiring() {
                let message = "the batch expired before this request was answered";
                return Some(RowResult {
                    row: row.number,
                    failed: true,
                    line: line::unasked(of, ErrorCode::BatchExpired, message),
                });
            }
            // What failed is tried as another run; whoever is handed the row again begins with the
            // first.
            let id = format!("{}-{}-{failed}", self.hand.order.id, row.number);
            let answer = self.hand.door.send_row(row.body.get(), &id).await;
            asked += 1;
            // A rate limit is no failure of the row: it is retried without limit until the batch
            // expires, under the same run id.
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
                        line: line::answered(of, (answer.status, &answer.request_id), answer.body),
                    });
                }
            }
        }
    }

    /// Waits, unless no more rows are to be begun; then there is nothing to wait for. No wait is
    /// longer than the time of the batch.
    async fn pause(&self, time: Duration) -> Option<()> {
        let left = self.hand.order.expires.saturating_sub(seconds());
        let time = time.min(Duration::from_secs(left + 1));
        let step = Duration::from_millis(100);
        let mut waited = Duration::ZERO;
        while waited < time {
            // Polled in short steps, because closing a semaphore wakes only tasks that wait for it.
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

/// A line that was found to be a request.
pub(super) fn row((number, line): (u64, &[u8])) -> Option<BatchRow> {
    let read: BatchRequest<'_> = serde_json::from_slice(line).ok()?;
    Some(BatchRow {
        number,
        id: read.custom_id?.into_owned(),
        body: read.body?.to_owned(),
    })
}
