//! A run as server-sent events.
//!
//! Nothing is read ahead: the next event of the run is asked for when the connection
//! has taken the ones before, so a reader that stalls stalls the model. A client that
//! leaves drops the body, and with it the run.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream::unfold;
use quillet_agent::AgentEvent;
use quillet_host::agent::RunHandle;

use super::events::{AgentEncoder, WireEvent, frame};

/// A comment, so that no proxy takes a silent stream for dead.
pub(super) const PING: &[u8] = b": ping\n\n";

/// A run and the words for it: events in their order, numbered from 1.
pub(super) struct AgentEventStream {
    running: RunHandle,
    teller: AgentEncoder,
    told: Vec<WireEvent>,
    started: bool,
}

impl AgentEventStream {
    pub(super) fn new(running: RunHandle, teller: AgentEncoder) -> Self {
        AgentEventStream {
            running,
            teller,
            told: Vec::new(),
            started: false,
        }
    }

    pub(super) fn running(&self) -> &RunHandle {
        &self.running
    }

    /// The next events, at least one; nothing after the terminal one. May be dropped and called
    /// again.
    pub(super) async fn next(&mut self) -> Option<&mut Vec<WireEvent>> {
        // The buffer is reused, since most calls produce one event.
        self.told.clear();
        if !self.started {
            self.started = true;
            self.told.push(self.teller.start(self.running.model()));
            return Some(&mut self.told);
        }
        while self.told.is_empty() {
            let event = self.running.next().await?;
            self.teller.provider(self.running.provider());
            if let AgentEvent::Ended(outcome) = &event {
                self.teller.cost(self.running.cost(outcome));
            }
            self.teller.warn(self.running.warnings());
            self.teller.encode(&event, &mut self.told);
        }
        Some(&mut self.told)
    }

    /// The next event of the run as it is, for those who fold them.
    pub(super) async fn next_event(&mut self) -> Option<AgentEvent> {
        self.running.next().await
    }

    pub(super) fn encoder(&mut self) -> &mut AgentEncoder {
        &mut self.teller
    }
}

/// Answers with the events of a run, which ends when the client leaves.
pub(super) fn answer(telling: AgentEventStream, ping: Duration) -> Response {
    let frames = unfold(
        (telling, 0),
        move |(mut telling, mut sequence)| async move {
            let bytes = match tokio::time::timeout(ping, telling.next()).await {
                Err(_) => Bytes::from_static(PING),
                Ok(told) => frames(told?, &mut sequence),
            };
            Some((Ok::<_, Infallible>(bytes), (telling, sequence)))
        },
    );
    response(Body::from_stream(frames))
}

fn frames(told: &[WireEvent], sequence: &mut u64) -> Bytes {
    let mut out = String::new();
    for told in told {
        *sequence += 1;
        out.push_str(&frame(*sequence, told.name, &told.data));
    }
    out.into()
}

/// Returns a response whose body is a stream of events.
pub(super) fn response(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx buffers responses unless this header disables it.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
