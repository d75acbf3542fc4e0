//! A scripted model.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind, Usage,
};
use tokio::sync::Notify;

/// The behaviour of the model.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    /// Sends these events.
    Says(Vec<ChatEvent>),
    /// Fails before the first event.
    Fails(ModelError),
    /// Fails after [`TestModel::go_on`].
    FailsLate(ModelError),
    /// Sends these events and fails.
    Breaks(Vec<ChatEvent>, ModelErrorKind),
    /// Sends these events and never ends.
    Hangs(Vec<ChatEvent>),
    /// Sends nothing.
    Silent,
    /// Sends text without end, as fast as it is read.
    Floods,
    /// Sends the events, but the last one only after [`TestModel::go_on`].
    Waits(Vec<ChatEvent>),
}

#[derive(Debug)]
pub(crate) struct TestModel {
    script: Script,
    pub(crate) requests: Mutex<Vec<ChatRequest>>,
    pub(crate) taken: Arc<AtomicUsize>,
    /// The number of replies that are awaited or read.
    pub(crate) open: Arc<AtomicUsize>,
    gate: Arc<Notify>,
}

impl TestModel {
    pub(crate) fn new(script: Script) -> Arc<Self> {
        Arc::new(TestModel {
            script,
            requests: Mutex::default(),
            taken: Arc::default(),
            open: Arc::default(),
            gate: Arc::default(),
        })
    }

    pub(crate) fn go_on(&self) {
        self.gate.notify_one();
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

/// Counts a reply until it is dropped.
struct Held(Arc<AtomicUsize>);

impl Held {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Held(count.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ChatModel for TestModel {
    fn describe(&self) -> String {
        "scripted model of a test".into()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        self.requests.lock().unwrap().push(request);
        let held = Held::new(&self.open);
        let (gate, taken) = (self.gate.clone(), self.taken.clone());
        Box::pin(async move {
            let events = match self.script.clone() {
                Script::Says(events) => stream::iter(events.into_iter().map(Ok)).boxed(),
                Script::Fails(error) => return Err(error),
                Script::FailsLate(error) => {
                    gate.notified().await;
                    return Err(error);
                }
                Script::Breaks(events, kind) => {
                    let end = Err(ModelError::new(kind, "the provider reset the connection"));
                    stream::iter(events.into_iter().map(Ok).chain([end])).boxed()
                }
                Script::Hangs(events) => stream::iter(events.into_iter().map(Ok))
                    .chain(stream::pending())
                    .boxed(),
                Script::Silent => std::future::pending().await,
                Script::Floods => stream::repeat_with(move || {
                    taken.fetch_add(1, Ordering::SeqCst);
                    Ok(text(&"x".repeat(10_000)))
                })
                .boxed(),
                Script::Waits(mut events) => {
                    let last = events.pop().unwrap();
                    let wait = async move {
                        gate.notified().await;
                        Ok(last)
                    };
                    stream::iter(events.into_iter().map(Ok))
                        .chain(stream::once(wait))
                        .boxed()
                }
            };
            let events = events.map(move |event| {
                let _ = &held;
                event
            });
            Ok(events.boxed() as ChatStream)
        })
    }
}

pub(crate) fn start() -> ChatEvent {
    ChatEvent::Start {
        id: "chatcmpl-1".into(),
        model: "test-1".into(),
        created: 1_677_652_288,
    }
}

pub(crate) fn text(text: &str) -> ChatEvent {
    ChatEvent::Text {
        choice: 0,
        text: text.into(),
    }
}

pub(crate) fn finish() -> ChatEvent {
    ChatEvent::Finish {
        choice: 0,
        reason: FinishReason::Stop,
        raw: "stop".into(),
    }
}

pub(crate) fn usage() -> ChatEvent {
    ChatEvent::Usage(Usage {
        input_tokens: 3,
        output_tokens: 2,
        ..Usage::default()
    })
}

/// Returns a short complete reply.
pub(crate) fn hello() -> Vec<ChatEvent> {
    vec![start(), text("Hel"), text("lo"), finish(), usage()]
}
