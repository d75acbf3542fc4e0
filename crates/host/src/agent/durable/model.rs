//! A model whose answers are kept before anybody acts on them.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind,
};
use quillet_core::history::Digest;
use quillet_core::journal::Step;
use quillet_core::store::StoreError;

use super::book::{Answer, Book};

/// A model of a run with a journal. Of the loop's questions one is asked after the other, so their
/// numbers are the same each time.
#[derive(Debug)]
pub(super) struct JournalledModel {
    inner: Arc<dyn ChatModel>,
    book: Arc<Book>,
}

impl JournalledModel {
    pub(super) fn new(inner: Arc<dyn ChatModel>, book: Arc<Book>) -> Self {
        JournalledModel { inner, book }
    }

    async fn ask(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let (turn, known) = self.book.next_question();
        match known {
            Some(Answer::Whole(events)) => return Ok(Box::pin(iter(events.into_iter().map(Ok)))),
            Some(Answer::Failed(kind, message)) => return Err(ModelError::new(kind, message)),
            None => {}
        }
        if self.book.as_lent().is_some_and(|lent| !lent.may_ask()) {
            return Err(held());
        }
        self.book.go_live();
        let messages = serde_json::to_vec(&request.messages).unwrap_or_default();
        let digest = Digest::of(&messages).to_string();
        let asked = Step::Asked { turn, digest };
        self.book
            .write(asked)
            .await
            .map_err(|error| unwritten(&error))?;
        match self.inner.stream(request).await {
            Ok(stream) => Ok(kept(stream, self.book.clone(), turn)),
            Err(error) => Err(failed(&self.book, turn, error).await),
        }
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
struct Keeping {
    stream: ChatStream,
    book: Arc<Book>,
    turn: u32,
    events: Vec<ChatEvent>,
    is_over: bool,
}

/// The same events; the end is told when the answer is in the journal.
fn kept(stream: ChatStream, book: Arc<Book>, turn: u32) -> ChatStream {
    let keeping = Keeping {
        stream,
        book,
        turn,
        events: Vec::new(),
        is_over: false,
    };
    Box::pin(unfold(keeping, |mut keeping| async move {
        if keeping.is_over {
            return None;
        }
        match keeping.stream.next().await {
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
                let answered = Step::Answered {
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
async fn failed(book: &Book, turn: u32, error: ModelError) -> ModelError {
    let step = Step::Unanswered {
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
fn held() -> ModelError {
    ModelError::new(ModelErrorKind::Provider, "the question is asked elsewhere")
}
