//! A complete answer: the folded stream.

use super::{ChatEvent, FinishReason, IncompleteReply, Usage};
use crate::message::{Message, NativeTurn, Role, ToolCall};

/// A complete answer, folded from the stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The provider's id of the answer.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// Creation time in seconds since 1970.
    pub created: u64,
    /// The answers; one for each requested answer.
    pub choices: Vec<ChatChoice>,
    /// Token usage, if the provider reported it.
    pub usage: Option<Usage>,
}

/// One of the answers to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatChoice {
    /// The text.
    pub text: String,
    /// The model's visible reasoning.
    pub reasoning: String,
    /// The refusal text, if the model refused.
    pub refusal: String,
    /// Tool calls of the model.
    pub tool_calls: Vec<ToolCall>,
    /// The turn in the provider's own format.
    pub native: Option<NativeTurn>,
    /// Finish reason; `None` if the stream had none.
    pub finish_reason: Option<FinishReason>,
    /// Finish reason in the provider's own term.
    pub finish_raw: String,
}

impl ChatChoice {
    /// Returns this answer if it is complete. Callers that execute, evaluate or parse model output
    /// must call this method.
    ///
    /// # Errors
    /// The reason why it is incomplete: a token limit, a filter, a refusal, a pause, a failure, or
    /// a stream without a finish reason.
    pub fn ensure_complete(&self) -> Result<&Self, IncompleteReply> {
        self.finish_reason
            .ok_or(IncompleteReply(None))?
            .ensure_complete()?;
        Ok(self)
    }

    /// Converts the turn to a message of the conversation.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::ChatChoice;
    /// use quillet_core::{Message, Role};
    ///
    /// let choice = ChatChoice { text: "Hello".into(), ..ChatChoice::default() };
    /// assert_eq!(choice.into_message(), Message::new(Role::Assistant, "Hello"));
    /// ```
    #[must_use]
    pub fn into_message(self) -> Message {
        let said = if self.text.is_empty() {
            self.refusal
        } else {
            self.text
        };
        let mut message = Message::new(Role::Assistant, said);
        message.reasoning = Some(self.reasoning).filter(|text| !text.is_empty());
        message.tool_calls = self.tool_calls;
        message.native = self.native;
        message
    }
}

impl Reply {
    /// Returns the first answer if it is complete; see [`ChatChoice::ensure_complete`].
    ///
    /// # Errors
    /// The reason why it is incomplete.
    pub fn ensure_complete(&self) -> Result<&ChatChoice, IncompleteReply> {
        self.choices
            .first()
            .ok_or(IncompleteReply(None))?
            .ensure_complete()
    }

    /// Adds one event of the stream to the answer.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::{ChatEvent, FinishReason, Reply};
    ///
    /// let mut reply = Reply::default();
    /// for text in ["Hel", "lo"] {
    ///     reply.fold(ChatEvent::Text { choice: 0, text: text.into() });
    /// }
    /// reply.fold(ChatEvent::Finish {
    ///     choice: 0,
    ///     reason: FinishReason::Stop,
    ///     raw: "stop".into(),
    /// });
    /// assert_eq!(reply.ensure_complete()?.text, "Hello");
    /// # Ok::<(), quillet_core::chat::IncompleteReply>(())
    /// ```
    pub fn fold(&mut self, event: ChatEvent) {
        match event {
            ChatEvent::Start { id, model, created } => {
                (self.id, self.model, self.created) = (id, model, created);
            }
            ChatEvent::Text { choice, text } => self.choice(choice).text.push_str(&text),
            ChatEvent::Reasoning { choice, text } => self.choice(choice).reasoning.push_str(&text),
            ChatEvent::Refusal { choice, text } => self.choice(choice).refusal.push_str(&text),
            ChatEvent::ToolCall {
                choice,
                index,
                id,
                name,
                arguments,
            } => {
                let calls = &mut self.choice(choice).tool_calls;
                // A provider may number its calls with gaps. The list stays dense, so a huge number
                // cannot make it grow.
                let index = (index as usize).min(calls.len());
                if index == calls.len() {
                    calls.push(ToolCall::default());
                }
                let call = &mut calls[index];
                call.id.push_str(&id.unwrap_or_default());
                call.name.push_str(&name.unwrap_or_default());
                call.arguments.push_str(&arguments);
            }
            ChatEvent::Native { choice, turn } => self.choice(choice).native = Some(turn),
            ChatEvent::Finish {
                choice,
                reason,
                raw,
            } => {
                let choice = self.choice(choice);
                (choice.finish_reason, choice.finish_raw) = (Some(reason), raw);
            }
            ChatEvent::Usage(usage) => self.usage = Some(usage),
        }
    }

    // The provider's index is not trusted as a size. 128 is far above the maximum `n` of any
    // provider.
    fn choice(&mut self, index: u32) -> &mut ChatChoice {
        let index = index.min(127) as usize;
        if self.choices.len() <= index {
            self.choices.resize_with(index + 1, ChatChoice::default);
        }
        &mut self.choices[index]
    }
}
