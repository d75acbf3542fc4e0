//! A model that says what a test tells it to, and keeps what it was asked.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::stream;
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind,
};

/// What the model does when it is asked.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// It answers.
    Text(String),
    /// It fails.
    Fails(ModelErrorKind),
    /// Its answer ends at a limit, or otherwise before it is whole.
    Cut(String, FinishReason),
    /// It begins to answer and breaks off.
    Breaks(String),
}

/// A model with its lines written down. The last one is said again when there are no more.
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

    /// A model that answers with these texts.
    pub(crate) fn texts(lines: &[&str]) -> Self {
        Scripted::new(lines.iter().map(|line| Says::Text((*line).to_owned())))
    }

    /// Everything that it was asked.
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
