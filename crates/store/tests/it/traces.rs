//! Traces in an SQLite file.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quillet_core::store::StoreErrorKind;
use quillet_core::trace::{
    RUN_ATTRIBUTE, Span, SpanKind, Trace, TraceFilter, TraceReader, TraceSink, Tracer,
};
use quillet_store::{TraceOptions, TraceStore, open_traces};
use quillet_test_support::TempDir;

const A: &str = "0123456789abcdef0123456789abcdef";
const B: &str = "0123456789abcdef0123456789abcde0";
const C: &str = "fedcba9876543210fedcba9876543210";

async fn open(path: &Path, options: TraceOptions) -> Arc<TraceStore> {
    Arc::new(open_traces(path, options).await.unwrap())
}

fn run(store: &Arc<TraceStore>, id: &str, name: &str, error: Option<&str>) {
    let tracer = Tracer::new(id, store.clone(), true);
    let root = tracer.span(SpanKind::Run, name, None);
    for tokens in [3, 4] {
        let call = tracer.span(SpanKind::Model, "chat m", root.id());
        call.set("gen_ai.request.model", || "Gpt-X");
        call.set("gen_ai.usage.input_tokens", || tokens);
        call.set("gen_ai.usage.output_tokens", || 1);
        if let Some(error) = error {
            call.fail(error);
        }
    }
}

async fn names(store: &TraceStore, filter: TraceFilter, most: usize) -> Vec<String> {
    let list = store.list(&filter, most).await.unwrap();
    list.into_iter().map(|info| info.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_are_listed_found_and_kept() {
    let dir = TempDir::new();
    let path = dir.path().join("t.db");
    let store = open(&path, TraceOptions::default()).await;
    run(&store, A, "first", None);
    run(&store, B, "second", Some("no luck"));
    run(&store, C, "third", None);
    store.flush().await.unwrap();
    drop(store);

    let store = open(&path, TraceOptions::default()).await;
    let all = store.list(&TraceFilter::default(), 10).await.unwrap();
    let second = &all[1];
    assert_eq!((second.id.as_str(), second.name.as_str()), (B, "second"));
    assert_eq!(
        (second.input_tokens, second.output_tokens, second.spans),
        (7, 2, 3)
    );
    assert_eq!(second.model.as_deref(), Some("Gpt-X"));
    assert_eq!(second.error.as_deref(), Some("no luck"));

    let text = |text: &str| TraceFilter {
        text: Some(text.to_owned()),
        ..TraceFilter::default()
    };
    let failed = TraceFilter {
        failed: true,
        ..TraceFilter::default()
    };
    let later = TraceFilter {
        since_us: u64::MAX,
        ..TraceFilter::default()
    };
    assert_eq!(
        names(&store, TraceFilter::default(), 2).await,
        ["third", "second"]
    );
    assert_eq!(names(&store, failed, 9).await, ["second"]);
    assert_eq!(names(&store, text("FIR"), 9).await, ["first"]);
    assert_eq!(names(&store, text("gpt-x"), 9).await.len(), 3);
    assert_eq!(names(&store, text("%"), 9).await.len(), 0, "text is data");
    assert_eq!(names(&store, later, 9).await.len(), 0);

    let trace = store.get("FEDC").await.unwrap().expect("by its beginning");
    assert_eq!((trace.id.as_str(), trace.spans.len()), (C, 3));
    assert_eq!(trace.spans[1].parent.as_ref(), Some(&trace.spans[0].id));
    assert_eq!(store.get(A).await.unwrap().unwrap().spans[0].name, "first");
    assert_eq!(store.get("ff").await.unwrap(), None);
    assert_eq!(store.get("%").await.unwrap(), None);
    let error = store.get("0123").await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Refused);
    assert!(
        error.message.contains(A) && error.message.contains(B),
        "{error}"
    );
    assert!(store.get("").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_of_a_durable_run_are_found_by_its_id() {
    let dir = TempDir::new();
    let store = open(&dir.path().join("t.db"), TraceOptions::default()).await;
    for (id, name, of) in [
        (A, "one", Some("resp-1")),
        (B, "other", Some("resp-2")),
        (C, "none", None),
        ("00000000000000000000000000000001", "two", Some("resp-1")),
    ] {
        let tracer = Tracer::new(id, store.clone(), false);
        let root = tracer.span(SpanKind::Run, name, None);
        if let Some(of) = of {
            root.set(RUN_ATTRIBUTE, || of);
        }
    }
    store.flush().await.unwrap();
    let of = |run: &str| TraceFilter {
        run: Some(run.to_owned()),
        ..TraceFilter::default()
    };
    assert_eq!(names(&store, of("resp-1"), 9).await, ["two", "one"]);
    assert_eq!(names(&store, of("resp-2"), 9).await, ["other"]);
    assert_eq!(names(&store, of("resp"), 9).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_make_room() {
    let options = TraceOptions {
        max_traces: 10,
        ..TraceOptions::default()
    };
    let dir = TempDir::new();
    let path = dir.path().join("t.db");
    let store = open(&path, options.clone()).await;
    for n in 0..100 {
        run(&store, &format!("{n:032x}"), &n.to_string(), None);
    }
    store.flush().await.unwrap();
    assert!(names(&store, TraceFilter::default(), 1000).await.len() < 75);
    drop(store);
    let store = open(&path, options.clone()).await;
    let kept = names(&store, TraceFilter::default(), 1000).await;
    assert_eq!(kept.len(), 10);
    assert_eq!((kept[0].as_str(), kept[9].as_str()), ("99", "90"));
    drop(store);
    let young = TraceOptions {
        max_age: Duration::from_millis(1),
        ..options
    };
    tokio::time::sleep(Duration::from_millis(5)).await;
    let store = open(&path, young).await;
    assert_eq!(names(&store, TraceFilter::default(), 9).await.len(), 0);
}

/// While another process locks the file, traces are queued, and excess ones are counted.
#[tokio::test(flavor = "multi_thread")]
async fn recording_never_waits() {
    let dir = TempDir::new();
    let path = dir.path().join("t.db");
    let options = TraceOptions {
        max_waiting: 5,
        max_trace_bytes: 10_000,
        ..TraceOptions::default()
    };
    let store = open(&path, options).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..20 {
        run(&store, &format!("{n:032x}"), "r", None);
    }
    assert!((14..=15).contains(&store.dropped()), "{}", store.dropped());
    other.execute_batch("ROLLBACK").unwrap();
    store.flush().await.unwrap();
    let kept = names(&store, TraceFilter::default(), 99).await.len() as u64;
    assert_eq!(kept + store.dropped(), 20);

    let dropped = store.dropped();
    run(&store, A, &"x".repeat(10_001), None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let empty = Trace {
        id: format!("{:032x}", now.as_nanos()),
        spans: Vec::new(),
    };
    store.record(Arc::new(empty));
    store.flush().await.unwrap();
    assert_eq!(store.dropped(), dropped + 2);
}

/// Records a trace with spans given by id and text; the first span is the root.
fn sent(id: &str, spans: &[(&str, u64, &str)]) -> Arc<Trace> {
    let span = |(own, started_us, name): &(&str, u64, &str)| Span {
        id: (*own).to_owned(),
        parent: (*own != "root").then(|| "root".to_owned()),
        name: (*name).to_owned(),
        kind: SpanKind::Step,
        started_us: *started_us,
        duration_us: 1,
        attributes: serde_json::Map::new(),
        error: None,
    };
    Arc::new(Trace {
        id: id.to_owned(),
        spans: spans.iter().map(span).collect(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_trace_are_read_as_one() {
    let dir = TempDir::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_micros()).unwrap();
    let options = TraceOptions {
        max_trace_bytes: 2000,
        ..TraceOptions::default()
    };
    let store = open(&dir.path().join("t.db"), options).await;
    for part in [
        sent(A, &[("b", now + 2, "second")]),
        sent(B, &[("root", now, "of another one")]),
        sent(
            A,
            &[("a", now + 1, "first"), ("b", now + 2, "second again")],
        ),
        sent(A, &[("root", now, "root")]),
    ] {
        store.record(part);
    }
    let names = |trace: Option<Trace>| -> Vec<String> {
        let spans = trace.map(|trace| trace.spans).unwrap_or_default();
        spans.into_iter().map(|span| span.name).collect()
    };
    let whole = ["root", "first", "second again"];
    assert_eq!(names(store.trace(A).await.unwrap()), whole);
    for id in ["a", "b"] {
        assert_eq!(names(store.trace_of_span(id).await.unwrap()), whole, "{id}");
    }
    // A span id identifies its trace. If several traces contain the span, the latest one is
    // returned.
    assert_eq!(names(store.trace_of_span("root").await.unwrap()), whole);
    assert_eq!(names(store.trace(B).await.unwrap()), ["of another one"]);
    for id in ["", "ab", &A[..8], C] {
        assert_eq!(store.trace(id).await.unwrap(), None, "{id}");
        assert_eq!(store.trace_of_span(id).await.unwrap(), None, "{id}");
    }
    // A very large number of parts is read from the end, up to the maximum size of a trace.
    for number in 0..100 {
        store.record(sent(C, &[("x", now, &format!("part {number}"))]));
    }
    let flood = store.trace(C).await.unwrap();
    assert_eq!(names(flood), ["part 99"]);
}
