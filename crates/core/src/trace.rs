//! Traces of runs: spans below one root, collected during the run and sent to a sink at its end.
//!
//! Names of attributes follow OpenTelemetry's conventions for generative AI
//! (`gen_ai.request.model`, `gen_ai.usage.input_tokens` and so on). Texts of prompts and answers
//! are only recorded where the collector is set up to.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::BoxFuture;
use crate::lock::lock;
use crate::store::StoreError;

/// The attribute of a root that names the durable run which it is a part of: the id of its answer,
/// by which its journal is found.
pub const RUN_ATTRIBUTE: &str = "quillet.run";

/// Trace of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// 32 hexadecimal digits.
    pub id: String,
    /// In the order of their beginning; the first is the root.
    pub spans: Vec<Span>,
}

/// A recorded operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// 16 hexadecimal digits.
    pub id: String,
    /// The span that it is part of; `None` for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// For people: `chat gpt-6-sol`, `execute_tool search`.
    pub name: String,
    /// What it is.
    pub kind: SpanKind,
    /// Microseconds since 1970.
    pub started_us: u64,
    /// Microseconds.
    pub duration_us: u64,
    /// What is known of it.
    pub attributes: Map<String, Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The kind of work that a span records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// An agent's run, or a request.
    Run,
    /// A prompt that was rendered.
    Render,
    /// A call to a model.
    Model,
    /// A call to a tool.
    Tool,
    /// Anything else, such as a compaction.
    Step,
}

/// Receiver of traces. Must not block; may drop traces.
pub trait TraceSink: Send + Sync + fmt::Debug {
    /// Takes a run that has ended.
    fn record(&self, trace: Arc<Trace>);
}

/// Every one of them gets each trace.
impl TraceSink for Vec<Arc<dyn TraceSink>> {
    fn record(&self, trace: Arc<Trace>) {
        self.iter().for_each(|sink| sink.record(trace.clone()));
    }
}

/// Which traces to list.
#[derive(Clone, Debug, Default)]
pub struct TraceFilter {
    /// Begun at this time or later, in microseconds since 1970.
    pub since_us: u64,
    /// Only those with a span that failed.
    pub failed: bool,
    /// Only those whose name or model has this text in it; case counts for nothing
    /// between A and Z.
    pub text: Option<String>,
    /// Only those of the durable run of this id ([`RUN_ATTRIBUTE`]).
    pub run: Option<String>,
    /// Only those that were kept before the one of this number ([`TraceInfo::number`]).
    pub before: Option<u64>,
}

/// A trace, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceInfo {
    /// Its place among all that were ever kept here, from 1.
    pub number: u64,
    /// 32 hexadecimal digits.
    pub id: String,
    /// When it began, in microseconds since 1970.
    pub started_us: u64,
    /// How long the root took, in microseconds.
    pub duration_us: u64,
    /// Name of the root.
    pub name: String,
    /// The first model that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that all models read.
    pub input_tokens: u64,
    /// Tokens that all models wrote.
    pub output_tokens: u64,
    /// The first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many spans it has.
    pub spans: u64,
}

/// Stored traces. A trace that was sent in several parts is read as one.
pub trait TraceReader: Send + Sync + fmt::Debug {
    /// The `most` latest traces that pass the filter, the latest first.
    fn list<'a>(
        &'a self,
        filter: &'a TraceFilter,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<TraceInfo>, StoreError>>;

    /// The trace of this id, if anything of it was kept.
    fn trace<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;

    /// The trace that the span of this id is in; the latest of several.
    fn trace_of_span<'a>(&'a self, id: &'a str)
    -> BoxFuture<'a, Result<Option<Trace>, StoreError>>;
}

/// Collects the spans of one run. Copies share one collection; the trace goes to
/// the sink when the last copy is dropped, so a cancelled run is recorded too.
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
    /// A tracer of a new run. `id` are the 32 hexadecimal digits of the trace;
    /// `texts` says whether prompts and answers are recorded.
    pub fn new(id: impl Into<String>, sink: Arc<dyn TraceSink>, texts: bool) -> Self {
        Tracer(Some(Arc::new(Collection {
            id: id.into(),
            sink,
            texts,
            spans: Mutex::default(),
        })))
    }

    /// A tracer that records nothing.
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

    /// Whether texts of prompts and answers are to be recorded.
    #[must_use]
    pub fn records_texts(&self) -> bool {
        self.0.as_ref().is_some_and(|collection| collection.texts)
    }

    /// The id of the trace, if there is one.
    #[must_use]
    pub fn trace_id(&self) -> Option<&str> {
        self.0.as_ref().map(|collection| collection.id.as_str())
    }

    /// Begins a span; it ends when the guard is dropped.
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
    /// Its id, to be the parent of others.
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
        // Nothing else can hold the lock while the last owner is dropped.
        let spans = std::mem::take(&mut *self.lock());
        if !spans.is_empty() {
            let id = std::mem::take(&mut self.id);
            self.sink.record(Arc::new(Trace { id, spans }));
        }
    }
}

/// Differs in every trace and span; FNV-1a over both.
fn span_id(trace: &str, place: usize) -> String {
    let bytes = trace.bytes().chain(place.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // W3C Trace Context takes an id of zeros for none.
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
