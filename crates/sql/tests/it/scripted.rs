//! A scripted model that records its requests.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::stream;
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind,
};

/// Reaction of the model to a request.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// Answers with this text.
    Text(String),
    /// Fails with this error.
    Fails(ModelErrorKind),
    /// Answers incompletely, with this finish reason.
    Cut(String, FinishReason),
    /// Starts to answer, and then the stream fails.
    Breaks(String),
}

/// A model with scripted reactions. The last one repeats.
#[derive(Debug)]
pub(crate) struct Scripted {
    lines: Mutex<VecDeque<Says>>,
    asked: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    pub(crate) fn new(lines: impl IntoIterator<Item = Says>) -> Self {
        Scripted {
            lines: Mutex::new(lines.into_iter().collect()),
            asked: Mutex::default(),
        }
    }

    /// Creates a model that answers with these texts.
    pub(crate) fn texts(lines: &[&str]) -> Self {
        Scripted::new(lines.iter().map(|line| Says::Text((*line).to_owned())))
    }

    /// Returns all requests so far.
    pub(crate) fn asked(&self) -> Vec<ChatRequest> {
        self.asked.lock().unwrap().clone()
    }

    fn next(&self) -> Says {
        let mut lines = self.lines.lock().unwrap();
        match lines.len() {
            0 => Says::Fails(ModelErrorKind::Provider),
            1 => lines[0].clone(),
            _ => lines.pop_front().unwrap(),
        }
    }
}

fn text(text: &str) -> Result<ChatEvent, ModelError> {
    Ok(ChatEvent::Text {
        choice: 0,
        text: text.to_owned(),
    })
}

impl ChatModel for Scripted {
    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        self.asked.lock().unwrap().push(request);
        let says = self.next();
        Box::pin(async move {
            let events = match says {
                Says::Fails(kind) => return Err(ModelError::new(kind, "scripted: it fails")),
                Says::Breaks(said) => {
                    let cut = ModelError::new(ModelErrorKind::Cut, "scripted: it breaks off");
                    vec![text(&said), Err(cut)]
                }
                Says::Cut(said, reason) => {
                    let finish = ChatEvent::Finish {
                        choice: 0,
                        reason,
                        raw: reason.to_string(),
                    };
                    vec![text(&said), Ok(finish)]
                }
                Says::Text(said) => {
                    let finish = ChatEvent::Finish {
                        choice: 0,
                        reason: FinishReason::Stop,
                        raw: "stop".to_owned(),
                    };
                    vec![text(&said), Ok(finish)]
                }
            };
            Ok(Box::pin(stream::iter(events)) as ChatStream)
        })
    }
}
