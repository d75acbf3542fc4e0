//! A model whose answers are kept before anybody acts on them.

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

/// A model of a run with a journal. Of the loop's questions one is asked after the other, so their
/// numbers are the same each time.
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
            .map_err(|error| unwritten(&error))?;
        match self.inner.stream(request).await {
            Ok(stream) => Ok(journal_stream(stream, self.book.clone(), turn, None)),
            Err(error) => Err(failed(&self.book, turn, error).await),
        }
    }
}

/// A model of a script. Which of its questions comes first is no part of a script that does several
/// things side by side: they are known by their places.
#[derive(Debug)]
pub(in crate::agent) struct ScriptModel {
    inner: Arc<dyn ChatModel>,
    book: Arc<RunJournal>,
    /// The model that answers what is asked now, in place of the script's own.
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
            let message = "a question of a durable script has no place in it";
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
            self.book.hold();
            drop(busy);
            return pending().await;
        }
        self.book.go_live();
        call_sequence::go_live();
        self.book
            .write(asked)
            .await
            .map_err(|error| unwritten(&error))?;
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

/// A question whose answer has not begun. A script that stops waiting for it goes on all the same,
/// so that has to be known.
struct ReplyGuard {
    book: Arc<RunJournal>,
    turn: u32,
    is_over: bool,
}

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        if !self.is_over {
            self.book.later(late(self.turn));
        }
    }
}

/// What the journal says of an answer that took too long for a script.
fn late(turn: u32) -> JournalEvent {
    JournalEvent::Unanswered {
        turn,
        kind: ModelErrorKind::Timeout,
        message: "the model took longer than the script waits".to_owned(),
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

/// An answer on its way.
struct JournalStream {
    stream: ChatStream,
    book: Arc<RunJournal>,
    turn: u32,
    events: Vec<ChatEvent>,
    is_over: bool,
    /// Whether the next event is waited for.
    is_waiting: bool,
    /// Of a question of a script: what it counts for.
    busy: Option<BusyGuard>,
}

/// A script stops reading when it has what it wants (`stop`), or when it has waited too long. What
/// it does next depends on it, so it is kept along with the next step.
impl Drop for JournalStream {
    fn drop(&mut self) {
        if self.is_over || self.busy.is_none() {
            return;
        }
        self.book.later(if self.is_waiting {
            late(self.turn)
        } else {
            JournalEvent::Answered {
                turn: self.turn,
                events: std::mem::take(&mut self.events),
            }
        });
    }
}

/// The same events; the end is told when the answer is in the journal.
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
                let error = keeping.book.write(answered).await.err()?;
                Some((Err(unwritten(&error)), keeping))
            }
        }
    }))
}

/// Keeps a failure, since the loop may go on after it.
async fn failed(book: &RunJournal, turn: u32, error: ModelError) -> ModelError {
    let step = JournalEvent::Unanswered {
        turn,
        kind: error.kind,
        message: error.message.clone(),
    };
    match book.write(step).await {
        Ok(()) => error,
        Err(unkept) => unwritten(&unkept),
    }
}

fn unwritten(error: &StoreError) -> ModelError {
    let message = format!("the run's journal was not written: {error}");
    ModelError::new(ModelErrorKind::Provider, message)
}

/// Ends the loop, which goes on elsewhere; nobody is told of it.
fn paused_error() -> ModelError {
    ModelError::new(ModelErrorKind::Provider, "the question is asked elsewhere")
}
