//! A run as server-sent events.
//!
//! The next event of the run is requested only when the connection has accepted the previous bytes,
//! so a stalled reader stalls the model. A client that disconnects drops the body and with it the
//! run.

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

/// A comment that keeps proxies from closing a silent connection.
pub(super) const PING: &[u8] = b": ping\n\n";

/// A run and the encoder of its events, which are numbered from 1.
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

    /// Returns the next events, at least one, or `None` after the terminal event. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<&mut Vec<WireEvent>> {
        // Most calls produce one event, so the buffer is reused.
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

    /// Returns the next event of the run without encoding it.
    pub(super) async fn next_event(&mut self) -> Option<AgentEvent> {
        self.running.next().await
    }

    pub(super) fn encoder(&mut self) -> &mut AgentEncoder {
        &mut self.teller
    }
}

/// Returns a stream of the events of a run. The run ends when the client disconnects.
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
