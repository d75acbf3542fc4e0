//! A model wrapper that prints its requests.

use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_core::chat::{ChatModel, ChatRequest, ChatStream, ModelError};

use crate::chat::sanitize;
use crate::terminal::{self, Stream, TextStyle, styled};

/// Prints each request, either on standard error or as the result.
#[derive(Debug)]
pub(super) struct PromptPrinter {
    model: Arc<dyn ChatModel>,
    is_result: bool,
}

impl PromptPrinter {
    pub(super) fn new(model: Arc<dyn ChatModel>, is_result: bool) -> Self {
        PromptPrinter { model, is_result }
    }

    fn show(&self, request: &ChatRequest) {
        let stream = if self.is_result {
            Stream::Out
        } else {
            Stream::Err
        };
        let looked_at = stream.is_terminal();
        for message in &request.messages {
            let head = format!("[{}]", message.role.as_str());
            let head = styled(&head, TextStyle::Dim, stream.has_colour());
            let said = message.content.to_string();
            let said = if looked_at {
                sanitize(&said)
            } else {
                said.into()
            };
            let text = format!("{head}\n{}\n", said.trim_end());
            if self.is_result {
                // If the output is closed, this is detected when the command ends.
                drop(terminal::line(&text))
            } else {
                terminal::note(&text)
            }
        }
    }
}

impl ChatModel for PromptPrinter {
    fn describe(&self) -> String {
        self.model.describe()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        self.show(&request);
        self.model.stream(request)
    }
}
