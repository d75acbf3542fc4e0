//! Model whose answers are recorded before they take effect.

use std::future::pending;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use quillet_core::history::Digest;
use quillet_core::journal::JournalEvent;
use quillet_core::store::StoreError;
use quillet_script::run::call_sequence;

use super::run_journal::{BusyGuard, RecordedReply, ReplayLookup, RunJournal};

/// Model of an agent run with a journal. The loop calls it sequentially, so the call numbers are
/// the same in every replay.
#[derive(Debug)]
pub(super) struct JournalledModel {
    inner: Arc<dyn ChatModel>,
    book: Arc<RunJournal>,
}

impl JournalledModel {
    pub(super) fn new(inner: Arc<dyn ChatModel>, book: Arc<RunJournal>) -> Self {
        JournalledModel { inner, book }
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let (turn, known) = self.book.next_question();
        match known {
            Some(RecordedReply::Whole(events)) => {
                return Ok(Box::pin(iter(events.into_iter().map(Ok))));
            }
            Some(RecordedReply::Failed(kind, message)) => {
                return Err(ModelError::new(kind, message));
            }
            None => {}
        }
        if self.book.as_lent().is_some_and(|lent| !lent.may_ask()) {
            return Err(paused_error());
        }
        self.book.go_live();
        let messages = serde_json::to_vec(&request.messages).unwrap_or_default();
        let digest = Digest::of(&messages).to_string();
        let asked = JournalEvent::Asked {
            turn,
            digest,
            place: None,
        };
        self.book
            .write(asked)
            .await
            .map_err(|error| journal_error(&error))?;
        match self.inner.stream(request).await {
            Ok(stream) => Ok(journal_stream(stream, self.book.clone(), turn, None)),
            Err(error) => Err(failed(&self.book, turn, error).await),
        }
    }
}

/// Model of a script. A script may call models concurrently, in an order that changes between
/// replays, so its calls are identified by their positions.
#[derive(Debug)]
pub(in crate::agent) struct ScriptModel {
    inner: Arc<dyn ChatModel>,
    book: Arc<RunJournal>,
    /// Model that replaces the script's own model for new calls, as in a fork.
    other: Option<(Arc<dyn ChatModel>, Option<String>)>,
}

impl ScriptModel {
    pub(in crate::agent) fn new(
        inner: Arc<dyn ChatModel>,
        book: Arc<RunJournal>,
        other: Option<(Arc<dyn ChatModel>, Option<String>)>,
    ) -> Self {
        ScriptModel { inner, book, other }
    }

    async fn ask(&self, mut request: ChatRequest) -> Result<ChatStream, ModelError> {
        let Some(place) = call_sequence::next_place() else {
            let message = "unexpected model call: it is not part of the durable script";
            return Err(ModelError::new(ModelErrorKind::Configuration, message));
        };
        let Some(busy) = self.book.enter() else {
            return pending().await;
        };
        let messages = serde_json::to_vec(&request.messages).unwrap_or_default();
        let digest = Digest::of(&messages).to_string();
        let (turn, is_new, known) = match self.book.question(&place, &digest) {
            ReplayLookup::New(turn) => (turn, true, None),
            ReplayLookup::Known(turn, answer) => (turn, false, answer),
            ReplayLookup::Diverged => {
                drop(busy);
                return pending().await;
            }
        };
        match known {
            Some(RecordedReply::Whole(events)) => {
                return Ok(Box::pin(iter(events.into_iter().map(Ok))));
            }
            Some(RecordedReply::Failed(kind, message)) => {
                return Err(ModelError::new(kind, message));
            }
            None => {}
        }
        let asked = JournalEvent::Asked {
            turn,
            digest,
            place: Some(place.clone()),
        };
        let lent = self.book.as_lent();
        if lent.is_some_and(|lent| !lent.may_ask_at(&place, &asked, is_new)) {
            self.book.mark_held();
            drop(busy);
            return pending().await;
        }
        self.book.go_live();
        call_sequence::go_live();
        self.book
            .write(asked)
            .await
            .map_err(|error| journal_error(&error))?;
        let mut waits = ReplyGuard {
            book: self.book.clone(),
            turn,
            is_over: false,
        };
        let model = match &self.other {
            Some((model, name)) => {
                request.model.clone_from(name);
                model
            }
            None => &self.inner,
        };
        let answered = model.stream(request).await;
        waits.is_over = true;
        match answered {
            Ok(stream) => Ok(journal_stream(stream, self.book.clone(), turn, Some(busy))),
            Err(error) => Err(failed(&self.book, turn, error).await),
        }
    }
}

impl ChatModel for ScriptModel {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn is_configured(&self) -> bool {
        self.inner.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// Model call whose answer has not started. A script may stop waiting and continue without it, so
/// the drop of this guard is recorded.
struct ReplyGuard {
    book: Arc<RunJournal>,
    turn: u32,
    is_over: bool,
}

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        if !self.is_over {
            self.book.later(timeout_event(self.turn));
        }
    }
}

/// Journal event of an answer that exceeded the script's timeout.
fn timeout_event(turn: u32) -> JournalEvent {
    JournalEvent::Unanswered {
        turn,
        kind: ModelErrorKind::Timeout,
        message: "the model took longer than the script's timeout".to_owned(),
    }
}

impl ChatModel for JournalledModel {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn is_configured(&self) -> bool {
        self.inner.is_configured()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}

/// Answer that is being streamed.
struct JournalStream {
    stream: ChatStream,
    book: Arc<RunJournal>,
    turn: u32,
    events: Vec<ChatEvent>,
    is_over: bool,
    /// Whether the stream is waiting for the next event.
    is_waiting: bool,
    /// Position and number of a script's model call.
    busy: Option<BusyGuard>,
}

/// Records that a script stopped reading, because it has enough text (`stop`) or timed out. Its
/// next step depends on that, so both are recorded together.
impl Drop for JournalStream {
    fn drop(&mut self) {
        if self.is_over || self.busy.is_none() {
            return;
        }
        self.book.later(if self.is_waiting {
            timeout_event(self.turn)
        } else {
            JournalEvent::Answered {
                turn: self.turn,
                events: std::mem::take(&mut self.events),
            }
        });
    }
}

/// Forwards events. The last one is sent only after the answer is recorded.
fn journal_stream(
    stream: ChatStream,
    book: Arc<RunJournal>,
    turn: u32,
    busy: Option<BusyGuard>,
) -> ChatStream {
    let keeping = JournalStream {
        stream,
        book,
        turn,
        events: Vec::new(),
        is_over: false,
        is_waiting: false,
        busy,
    };
    Box::pin(unfold(keeping, |mut keeping| async move {
        if keeping.is_over {
            return None;
        }
        keeping.is_waiting = true;
        let next = keeping.stream.next().await;
        keeping.is_waiting = false;
        match next {
            Some(Ok(event)) => {
                keeping.events.push(event.clone());
                Some((Ok(event), keeping))
            }
            Some(Err(error)) => {
                keeping.is_over = true;
                let error = failed(&keeping.book, keeping.turn, error).await;
                Some((Err(error), keeping))
            }
            None => {
                keeping.is_over = true;
                let answered = JournalEvent::Answered {
                    turn: keeping.turn,
                    events: std::mem::take(&mut keeping.events),
                };
                // A recorded answer ends the stream here.
                let error = keeping.book.write(answered).await.err()?;
                Some((Err(journal_error(&error)), keeping))
            }
        }
    }))
}

/// Records a failure, because the loop may continue after it.
async fn failed(book: &RunJournal, turn: u32, error: ModelError) -> ModelError {
    let step = JournalEvent::Unanswered {
        turn,
        kind: error.kind,
        message: error.message.clone(),
    };
    match book.write(step).await {
        Ok(()) => error,
        Err(unkept) => journal_error(&unkept),
    }
}

fn journal_error(error: &StoreError) -> ModelError {
    let message = format!("cannot write the run's journal: {error}");
    ModelError::new(ModelErrorKind::Provider, message)
}

/// Placeholder error that ends the loop of a run that another process continues. Readers never see
/// it.
fn paused_error() -> ModelError {
    ModelError::new(
        ModelErrorKind::Provider,
        "the model call is made by another process",
    )
}
