//! Resumable runs. Their events go into a log that every replica can read, so a run continues
//! without its reader, and a reader can return.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream::unfold;
use quillet_core::journal::{Journal, RunState};
use quillet_core::runs::{LogPage, LoggedEvent, Runs};
use quillet_core::store::StoreErrorKind;
use quillet_host::agent::AgentService;
use tokio::time::Instant;

use super::events::{self, ERROR, WireEvent, frame};
use super::stream::{AgentEventStream, PING, response};

/// The maximum number of events that wait for an unavailable log. The oldest ones are dropped
/// first.
const MOST_WAITING: usize = 10_000;
/// The maximum size of these events in bytes.
const MOST_BYTES: usize = 4 << 20;
/// The pause between two attempts to write to the log.
const PAUSE: Duration = Duration::from_millis(250);

/// Drives a run to its end and writes its log, with or without readers. Events of a burst are
/// written together, and a pause flushes them. If the log store is unavailable, the events wait and
/// the run continues.
pub(super) async fn write(service: Arc<AgentService>, mut telling: AgentEventStream) {
    let run = telling.running().run_id().to_owned();
    let runs = service.parts().runs.clone();
    let patience = service.options().log_patience;
    let (mut sequence, mut waiting) = (telling.running().first_event(), Vec::new());
    let mut ended = None;
    let mut is_told = false;
    loop {
        if ended.is_none() && gather(&mut telling, &mut waiting, &mut sequence).await {
            ended = Some(Instant::now());
        }
        // Another process now owns the run and writes its log. If two processes wrote the log,
        // their events would be mixed.
        if telling.running().is_lost() {
            return;
        }
        let error = match runs.append(&run, &waiting, ended.is_some()).await {
            Ok(()) if ended.is_some() => return,
            Ok(()) => {
                waiting.clear();
                is_told = false;
                continue;
            }
            Err(error) => error,
        };
        // A rejected write would also fail later. After the end of the run, retry only for
        // `log_patience`, so that shutdown does not wait forever.
        let is_over = error.kind == StoreErrorKind::Refused
            || ended.is_some_and(|since| since.elapsed() > patience);
        if is_over || !std::mem::replace(&mut is_told, true) {
            tracing::warn!(run, %error, is_over, "events of a run are missing from its log");
        }
        if is_over {
            return;
        }
        forget_oldest(&mut waiting);
        if ended.is_some() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Drops the oldest events, like the log itself.
fn forget_oldest(waiting: &mut Vec<LoggedEvent>) {
    let mut bytes: usize = waiting.iter().map(|event| event.data.len()).sum();
    let too_many = waiting.len().saturating_sub(MOST_WAITING);
    let mut gone = 0;
    for event in waiting.iter() {
        if gone >= too_many && bytes <= MOST_BYTES {
            break;
        }
        bytes -= event.data.len();
        gone += 1;
    }
    waiting.drain(..gone);
}

/// Adds events until the run pauses. Returns whether it has ended.
async fn gather(
    telling: &mut AgentEventStream,
    batch: &mut Vec<LoggedEvent>,
    sequence: &mut u64,
) -> bool {
    const MOST: usize = 256;
    let before = batch.len();
    while batch.len() < before + MOST {
        let patience = match (batch.len() > before, before > 0) {
            (true, _) => Some(Duration::ZERO),
            // Retry failed writes even without new events.
            (false, true) => Some(PAUSE),
            (false, false) => None,
        };
        let told = match patience {
            None => telling.next().await,
            Some(patience) => match tokio::time::timeout(patience, telling.next()).await {
                Ok(told) => told,
                Err(_) => return false,
            },
        };
        let Some(told) = told else { return true };
        for WireEvent { name, data } in told.drain(..) {
            *sequence += 1;
            batch.push(LoggedEvent {
                sequence: *sequence,
                name: name.into(),
                data: data.into(),
            });
        }
    }
    false
}

/// Reads a log.
struct LogReader {
    runs: Arc<dyn Runs>,
    /// The journal with the runs that another process may resume.
    journal: Option<Arc<dyn Journal>>,
    run: String,
    after: u64,
    /// A page that is already read.
    page: Option<LogPage>,
    /// The time since which the log is unavailable.
    unread: Option<Instant>,
    waits: PollTimeouts,
    ended: bool,
}

/// Timeouts of a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct PollTimeouts {
    /// The time without an event after which a comment is sent.
    pub(super) ping: Duration,
    /// The time for which an unavailable log is retried.
    pub(super) patience: Duration,
}

/// Returns a stream of the events of a run after a number, up to its end.
pub(super) fn answer(
    agents: &AgentService,
    run: String,
    after: u64,
    first: LogPage,
    waits: PollTimeouts,
) -> Response {
    let reader = LogReader {
        runs: agents.parts().runs.clone(),
        journal: agents.parts().journal.clone(),
        run,
        after,
        page: Some(first),
        unread: None,
        waits,
        ended: false,
    };
    let frames = unfold(reader, move |mut reader| async move {
        let bytes = reader.next().await?;
        Some((Ok::<_, Infallible>(bytes), reader))
    });
    response(Body::from_stream(frames))
}

impl LogReader {
    /// Returns the next bytes, or `None` after the last event of the run or an error event.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let until = Instant::now() + self.waits.ping;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let page = match self.page.take() {
                Some(page) => Ok(page),
                None => self.read(left).await,
            };
            let page = match page {
                Ok(page) => page,
                Err(why) => match self.wait_for_log(&why, left).await {
                    Some(last) => return Some(last),
                    None => LogPage::default(),
                },
            };
            if page.events.is_empty() && page.lost {
                self.give_up().await;
            } else {
                self.ended = page.ended && !page.lost;
            }
            if !page.events.is_empty() {
                return Some(self.frames(&page));
            }
            if self.ended {
                return None;
            }
            if Instant::now() >= until {
                return Some(Bytes::from_static(PING));
            }
        }
    }

    async fn read(&mut self, wait: Duration) -> Result<LogPage, String> {
        match self.runs.read(&self.run, self.after, wait).await {
            Ok(Some(page)) => {
                self.unread = None;
                Ok(page)
            }
            // If the store lost its data, the owner of the run writes the log again. A process that
            // resumes the run begins a new log.
            Ok(None) => Err("it no longer exists".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for a moment. If the log is unavailable for too long, returns an error event as the
    /// last one. That event has no number because it does not belong to the run. The run continues,
    /// and a client that reconnects receives the missed events.
    async fn wait_for_log(&mut self, why: &str, left: Duration) -> Option<Bytes> {
        let since = *self.unread.get_or_insert_with(Instant::now);
        if since.elapsed() < self.waits.patience {
            tokio::time::sleep(PAUSE.min(left)).await;
            return None;
        }
        self.ended = true;
        tracing::warn!(run = self.run, why, "cannot read the log of a run");
        let message = "the events of this response are unavailable: its log cannot be reached. If the run continues, read them at GET /v1/response/ID/events once the log is back";
        let data = events::interrupted(message);
        Some(format!("event: {ERROR}\ndata: {data}\n\n").into())
    }

    /// Writes the last event of a run whose replica is gone, so that all readers receive the same
    /// one.
    async fn give_up(&self) {
        if self.is_resumable().await {
            return tokio::time::sleep(PAUSE).await;
        }
        // The first reader that notices the loss writes this event, so that all readers receive the
        // same last event.
        let message = "the replica that ran this response is gone, and unwritten events are lost: send the request again";
        let data = events::interrupted(message);
        match self.runs.give_up(&self.run, ERROR, &data).await {
            Ok(true) => tracing::warn!(run = self.run, "abandoned a run: its replica is gone"),
            // Another reader wrote the event. If the write failed, the next read reports the error.
            Ok(false) => {}
            Err(error) => {
                tracing::debug!(run = self.run, %error, "cannot write the last event of a lost run yet")
            }
        }
    }

    /// Returns whether the journal has the run as unfinished, so that another process resumes it.
    async fn is_resumable(&self) -> bool {
        let Some(journal) = &self.journal else {
            return false;
        };
        match journal.head(&self.run).await {
            Ok(Some(head)) => matches!(head.standing.state, RunState::Running | RunState::Ready),
            Ok(None) => false,
            // The state of the run is unknown while the journal is unavailable.
            Err(_) => true,
        }
    }

    fn frames(&mut self, page: &LogPage) -> Bytes {
        let mut out = String::new();
        for event in &page.events {
            let missing = self.after + 1;
            // A resumed run begins with a later number, which is not a gap.
            if event.sequence > missing && &*event.name != "response.start" {
                let last = event.sequence - 1;
                out.push_str(&format!(
                    ": events {missing} to {last} are no longer available\n\n"
                ));
            }
            self.after = event.sequence;
            out.push_str(&frame(event.sequence, &event.name, &event.data));
        }
        out.into()
    }
}
