//! Traces of runs: spans below one root, collected during a run and sent to a sink at its end.
//!
//! Attribute names follow OpenTelemetry's conventions for generative AI (`gen_ai.request.model`,
//! `gen_ai.usage.input_tokens` and so on). Texts of prompts and answers are recorded only if the
//! tracer is configured to do so.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::lock::lock;
use crate::store::StoreError;

/// Attribute of a root span that identifies the durable run of the trace. Its value is the id of
/// the run's answer, which can be used to find the journal.
pub const RUN_ATTRIBUTE: &str = "quillet.run";

/// Trace of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Trace id: 32 hexadecimal digits.
    pub id: String,
    /// Spans in order of their start; the first is the root.
    pub spans: Vec<Span>,
}

/// A recorded operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Span id: 16 hexadecimal digits.
    pub id: String,
    /// Id of the parent span; `None` for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Display name: `chat gpt-6-sol`, `execute_tool search`.
    pub name: String,
    /// Kind of work.
    pub kind: SpanKind,
    /// Start time, in microseconds since 1970.
    pub started_us: u64,
    /// Duration in microseconds.
    pub duration_us: u64,
    /// Attributes.
    pub attributes: Map<String, Value>,
    /// Error message, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The kind of work that a span records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// An agent's run, or a request.
    Run,
    /// A render of a prompt.
    Render,
    /// A call to a model.
    Model,
    /// A call to a tool.
    Tool,
    /// Anything else, such as a compaction.
    Step,
}

/// Receiver of traces. Implementations must not block, and may drop traces.
pub trait TraceSink: Send + Sync + fmt::Debug {
    /// Receives the trace of an ended run.
    fn record(&self, trace: Arc<Trace>);
}

/// Sends each trace to all sinks.
impl TraceSink for Vec<Arc<dyn TraceSink>> {
    fn record(&self, trace: Arc<Trace>) {
        self.iter().for_each(|sink| sink.record(trace.clone()));
    }
}

/// Filter for lists of traces.
#[derive(Clone, Debug, Default)]
pub struct TraceFilter {
    /// Only traces that started at or after this time, in microseconds since 1970.
    pub since_us: u64,
    /// Only traces with a failed span.
    pub failed: bool,
    /// Only traces whose name or model contains this text. The case of the letters A to Z is
    /// ignored.
    pub text: Option<String>,
    /// Only traces of the durable run with this id ([`RUN_ATTRIBUTE`]).
    pub run: Option<String>,
    /// Only traces stored before the trace with this number ([`TraceInfo::number`]).
    pub before: Option<u64>,
}

/// A trace, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceInfo {
    /// Number among all traces ever stored here, from 1.
    pub number: u64,
    /// Trace id: 32 hexadecimal digits.
    pub id: String,
    /// Start time, in microseconds since 1970.
    pub started_us: u64,
    /// Duration of the root span in microseconds.
    pub duration_us: u64,
    /// Name of the root span.
    pub name: String,
    /// The first model that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Input tokens of all model calls.
    pub input_tokens: u64,
    /// Output tokens of all model calls.
    pub output_tokens: u64,
    /// The first error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of spans.
    pub spans: u64,
}

/// Stored traces. A trace that was sent in several parts is returned as one.
pub trait TraceReader: Send + Sync + fmt::Debug {
    /// Returns the latest `most` traces that match the filter, latest first.
    fn list<'a>(
        &'a self,
        filter: &'a TraceFilter,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<TraceInfo>, StoreError>>;

    /// Returns the trace with this id, if any part of it is stored.
    fn trace<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;

    /// Returns the trace that contains the span with this id, or the latest of several.
    fn trace_of_span<'a>(&'a self, id: &'a str)
    -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;
}

/// Collects the spans of one run. Clones share one collection. The trace is sent to the sink when
/// the last clone is dropped, so a cancelled run is recorded too.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use quillet_core::trace::{SpanKind, Trace, TraceSink, Tracer};
///
/// #[derive(Debug, Default)]
/// struct Collected(Mutex<Vec<Arc<Trace>>>);
///
/// impl TraceSink for Collected {
///     fn record(&self, trace: Arc<Trace>) {
///         self.0.lock().unwrap().push(trace);
///     }
/// }
///
/// let sink = Arc::new(Collected::default());
/// let tracer = Tracer::new("4bf92f3577b34da6a3ce929d0e0e4736", sink.clone(), false);
/// let span = tracer.span(SpanKind::Model, "chat mock", None);
/// span.set("gen_ai.request.model", || "mock");
/// drop((span, tracer));
/// assert_eq!(sink.0.lock().unwrap()[0].spans[0].name, "chat mock");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tracer(Option<Arc<Collection>>);

#[derive(Debug)]
struct Collection {
    id: String,
    sink: Arc<dyn TraceSink>,
    texts: bool,
    spans: Mutex<Vec<Span>>,
}

impl Tracer {
    /// Creates the tracer of a new run. `id` is the trace id, 32 hexadecimal digits. `texts` states
    /// whether prompts and answers are recorded.
    pub fn new(id: impl Into<String>, sink: Arc<dyn TraceSink>, texts: bool) -> Self {
        Tracer(Some(Arc::new(Collection {
            id: id.into(),
            sink,
            texts,
            spans: Mutex::default(),
        })))
    }

    /// Creates a tracer that records nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::trace::{SpanKind, Tracer};
    ///
    /// let tracer = Tracer::off();
    /// assert_eq!(tracer.trace_id(), None);
    /// assert_eq!(tracer.span(SpanKind::Run, "agent", None).id(), None);
    /// ```
    #[must_use]
    pub fn off() -> Self {
        Tracer(None)
    }

    /// Whether the texts of prompts and answers are recorded.
    #[must_use]
    pub fn records_texts(&self) -> bool {
        self.0.as_ref().is_some_and(|collection| collection.texts)
    }

    /// Returns the trace id; `None` if the tracer is off.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        self.0.as_ref().map(|collection| collection.id.as_str())
    }

    /// Starts a span, which ends when the guard is dropped.
    pub fn span(&self, kind: SpanKind, name: impl Into<String>, parent: Option<&str>) -> OpenSpan {
        let Some(collection) = &self.0 else {
            return OpenSpan(None);
        };
        let mut spans = collection.lock();
        let place = spans.len();
        let id = span_id(&collection.id, place);
        spans.push(Span {
            id: id.clone(),
            parent: parent.map(str::to_owned),
            name: name.into(),
            kind,
            started_us: micros(crate::clock::since_epoch()),
            duration_us: 0,
            attributes: Map::new(),
            error: None,
        });
        // Released before the guard is returned: setting an attribute locks again.
        drop(spans);
        OpenSpan(Some(ActiveSpan {
            collection: collection.clone(),
            place,
            id,
            begun: Instant::now(),
        }))
    }
}

/// A running span; ends when it is dropped.
#[derive(Debug)]
pub struct OpenSpan(Option<ActiveSpan>);

#[derive(Debug)]
struct ActiveSpan {
    collection: Arc<Collection>,
    place: usize,
    id: String,
    begun: Instant,
}

impl OpenSpan {
    /// Returns its id, for use as a parent.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.0.as_ref().map(|open| open.id.as_str())
    }

    /// Sets an attribute. The value is evaluated only if the span is recorded.
    pub fn set<V: Into<Value>>(&self, name: &str, value: impl FnOnce() -> V) {
        self.change(|span| {
            span.attributes.insert(name.to_owned(), value().into());
        });
    }

    /// Marks the span as failed.
    pub fn fail(&self, error: impl fmt::Display) {
        self.change(|span| span.error = Some(error.to_string()));
    }

    fn change(&self, change: impl FnOnce(&mut Span)) {
        let Some(open) = &self.0 else { return };
        if let Some(span) = open.collection.lock().get_mut(open.place) {
            change(span);
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let took = self.0.as_ref().map(|open| open.begun.elapsed());
        let took = micros(took.unwrap_or_default());
        self.change(|span| span.duration_us = took);
    }
}

impl Collection {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Span>> {
        lock(&self.spans)
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        // The last owner is dropped here, so no other thread holds the lock.
        let spans = std::mem::take(&mut *self.lock());
        if !spans.is_empty() {
            let id = std::mem::take(&mut self.id);
            self.sink.record(Arc::new(Trace { id, spans }));
        }
    }
}

/// Id of a span, unique within the trace and different between traces: FNV-1a over both arguments.
fn span_id(trace: &str, place: usize) -> String {
    let bytes = trace.bytes().chain(place.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // W3C Trace Context treats an id of zeros as invalid.
    format!("{:016x}", hash.max(1))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct TraceBuffer(Mutex<Vec<Arc<Trace>>>);

    impl TraceSink for TraceBuffer {
        fn record(&self, trace: Arc<Trace>) {
            self.0.lock().unwrap().push(trace);
        }
    }

    #[test]
    fn a_trace_goes_out_when_everybody_is_done() {
        let kept = Arc::new(TraceBuffer::default());
        let tracer = Tracer::new("0123456789abcdef0123456789abcdef", kept.clone(), false);
        let root = tracer.span(SpanKind::Run, "run", None);
        let call = tracer.span(SpanKind::Model, "chat m", root.id());
        call.set("gen_ai.request.model", || "m");
        call.fail("no");
        drop(tracer);
        drop(root);
        assert!(kept.0.lock().unwrap().is_empty());
        drop(call);
        let traces = kept.0.lock().unwrap();
        let spans = &traces[0].spans;
        assert_eq!(spans[1].parent.as_deref(), Some(spans[0].id.as_str()));
        assert_eq!(spans[1].attributes["gen_ai.request.model"], "m");
        assert_eq!(spans[1].error.as_deref(), Some("no"));
        assert_ne!(spans[0].id, spans[1].id);
    }

    #[test]
    fn nothing_is_evaluated_when_nobody_records() {
        let span = Tracer::off().span(SpanKind::Run, "run", None);
        span.set("x", || -> Value { unreachable!("nobody records") });
        assert_eq!(span.id(), None);
    }
}
