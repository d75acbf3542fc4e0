//! Enforces the limits of a call: time, stop texts, repetition at the end.
//!
//! It is itself a [`ChatModel`], so that the limits also apply to requests of the tool loop.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind,
};
use quillet_core::lock::lock;
use tokio::time::{Instant, timeout_at};

use super::CallSettings;
use crate::text::repeat::Repeats;

/// A model with limits.
#[derive(Clone)]
pub(super) struct BoundedModel {
    model: Arc<dyn ChatModel>,
    bounds: StreamLimits,
    repeated: Arc<AtomicBool>,
}

#[derive(Clone)]
struct StreamLimits {
    timeout: Duration,
    idle: Duration,
    stops: Vec<String>,
    repeats: usize,
}

impl BoundedModel {
    pub(super) fn new(model: Arc<dyn ChatModel>, settings: &CallSettings) -> Self {
        let bounds = StreamLimits {
            timeout: settings.timeout,
            idle: settings.idle,
            stops: settings.stops.clone(),
            repeats: settings.repeats,
        };
        BoundedModel {
            model,
            bounds,
            repeated: Arc::default(),
        }
    }

    /// Returns whether an answer was cut because its end was repeated.
    pub(super) fn repeated(&self) -> bool {
        self.repeated.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for BoundedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

impl ChatModel for BoundedModel {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        // Only a stream can be cut before it is complete.
        let streams = request.options.extra.get("stream") != Some(&false.into());
        let repeats = Repeats::new(if streams { self.bounds.repeats } else { 0 });
        Box::pin(async move {
            let begun = Instant::now();
            let mut watched = BoundedStream {
                inner: None,
                deadline: begun + self.bounds.timeout,
                bounds: self.bounds.clone(),
                held: String::new(),
                repeats,
                repeated: self.repeated.clone(),
                ready: Vec::new(),
                over: false,
            };
            let inner = self.model.stream(request);
            let due = watched.due();
            let inner = timeout_at(due, inner)
                .await
                .map_err(|_| watched.too_late())??;
            watched.inner = Some(inner);
            Ok(Box::pin(stream::unfold(watched, step)) as ChatStream)
        })
    }
}

/// A model that records its requests, for observers that cannot be called immediately.
#[derive(Debug)]
pub(super) struct RecordingModel {
    model: BoundedModel,
    asked: Mutex<Vec<ChatRequest>>,
}

impl RecordingModel {
    pub(super) fn new(model: BoundedModel) -> Self {
        RecordingModel {
            model,
            asked: Mutex::default(),
        }
    }

    /// Takes the requests recorded since the last call.
    pub(super) fn take(&self) -> Vec<ChatRequest> {
        std::mem::take(&mut *lock(&self.asked))
    }
}

impl ChatModel for RecordingModel {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let mut asked = lock(&self.asked);
        asked.push(request.clone());
        drop(asked);
        self.model.stream(request)
    }
}

struct BoundedStream {
    inner: Option<ChatStream>,
    deadline: Instant,
    bounds: StreamLimits,
    /// Text that may be the start of a stop text.
    held: String,
    repeats: Repeats,
    repeated: Arc<AtomicBool>,
    /// Events to forward, in reverse order.
    ready: Vec<ChatEvent>,
    over: bool,
}

async fn step(
    mut watched: BoundedStream,
) -> Option<(Result<ChatEvent, ModelError>, BoundedStream)> {
    loop {
        if let Some(event) = watched.ready.pop() {
            return Some((Ok(event), watched));
        }
        if watched.over {
            return None;
        }
        let due = watched.due();
        let next = timeout_at(due, watched.inner.as_mut()?.next()).await;
        match next {
            Err(_) => {
                watched.over = true;
                let error = watched.too_late();
                watched.inner = None;
                return Some((Err(error), watched));
            }
            Ok(None) => {
                watched.over = true;
                watched.release();
            }
            Ok(Some(Err(error))) => {
                watched.over = true;
                return Some((Err(error), watched));
            }
            Ok(Some(Ok(event))) => watched.take(event),
        }
    }
}

impl BoundedStream {
    fn due(&self) -> Instant {
        self.deadline.min(Instant::now() + self.bounds.idle)
    }

    fn too_late(&self) -> ModelError {
        let (name, limit) = if Instant::now() >= self.deadline {
            ("timeout", self.bounds.timeout)
        } else {
            ("idleTimeout", self.bounds.idle)
        };
        let message = format!(
            "model timeout: no answer within parameters.{name} ({} ms)",
            limit.as_millis()
        );
        ModelError::new(ModelErrorKind::Timeout, message)
    }

    fn take(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Text { choice: 0, text } => self.take_text(&text),
            finish @ ChatEvent::Finish { .. } => {
                self.ready.push(finish);
                self.release();
            }
            other => self.ready.push(other),
        }
    }

    fn take_text(&mut self, text: &str) {
        self.held.push_str(text);
        let stop = self.bounds.stops.iter();
        if let Some(at) = stop.filter_map(|stop| self.held.find(stop.as_str())).min() {
            self.held.truncate(at);
            self.end("stop");
            return;
        }
        let keep = beginning_of_stop(&self.held, &self.bounds.stops);
        let kept = self.held.split_off(self.held.len() - keep);
        let piece = std::mem::replace(&mut self.held, kept);
        if self.repeats.push(&piece).is_some() {
            self.repeated.store(true, Ordering::Relaxed);
            self.held = piece;
            self.end("repetition");
        } else if !piece.is_empty() {
            self.ready.push(text_event(piece));
        }
    }

    /// Ends the answer here and closes the connection to the provider.
    fn end(&mut self, raw: &str) {
        self.over = true;
        self.inner = None;
        self.ready.push(ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::Stop,
            raw: raw.to_owned(),
        });
        self.release();
    }

    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.ready.push(text_event(held));
        }
    }
}

fn text_event(text: String) -> ChatEvent {
    ChatEvent::Text { choice: 0, text }
}

/// Returns the length of the suffix that may be the start of a stop text, in bytes.
fn beginning_of_stop(text: &str, stops: &[String]) -> usize {
    let longest = |stop: &String| {
        let ends = stop.char_indices().map(|(at, _)| at).skip(1);
        let begun = ends.filter(|end| stop.get(..*end).is_some_and(|part| text.ends_with(part)));
        begun.max().unwrap_or(0)
    };
    stops.iter().map(longest).max().unwrap_or(0)
}
