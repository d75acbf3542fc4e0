//! Scripted replies, independent of the provider API.

use std::time::Duration;

use crate::fault::InjectedFault;

/// A scripted reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedReply {
    /// The parts, in order. Adjacent parts of one kind form one block.
    pub pieces: Vec<ReplyPart>,
    /// The finish reason. `None` means tool calls if there are any, else stop.
    pub finish: Option<Finish>,
    /// The usage. `None` means 12 input tokens and one output token per part.
    pub spent: Option<TokenUsage>,
    /// The opaque value attached to the reasoning or the first call: a signature or encrypted
    /// reasoning.
    pub signature: Option<String>,
    /// The pause before the response head.
    pub delay: Duration,
    /// The pause before each delta.
    pub pause: Duration,
    /// Whether a complete response is sent even if a stream was requested.
    pub whole: bool,
    /// Additional response headers.
    pub headers: Vec<(String, String)>,
    /// The injected fault.
    pub fault: Option<InjectedFault>,
}

/// A delta, or a call and its deltas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// A part of the text.
    Text(String),
    /// A part of the visible reasoning.
    Reasoning(String),
    /// A call of a tool.
    Call(ScriptedCall),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedCall {
    /// The provider's id of the call. Gemini sends no id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The JSON text of the arguments, in the parts in which it is sent. If the text is not JSON,
    /// an API that sends an object (Gemini) sends the text unchanged.
    pub arguments: Vec<String>,
}

/// The finish reason of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// A complete reply.
    Stop,
    /// A request for tool calls.
    ToolCalls,
    /// The token limit.
    Length,
    /// The provider's content filter.
    ContentFilter,
}

/// The token usage of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Cached input tokens.
    pub cached: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Reasoning tokens.
    pub reasoning: u64,
}

impl ScriptedReply {
    /// Creates a reply from these parts.
    #[must_use]
    pub fn new(pieces: Vec<ReplyPart>) -> Self {
        ScriptedReply {
            pieces,
            finish: None,
            spent: None,
            signature: None,
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            whole: false,
            headers: Vec::new(),
            fault: None,
        }
    }

    /// Creates a reply with text in these parts.
    pub fn text<S: Into<String>>(pieces: impl IntoIterator<Item = S>) -> Self {
        let pieces = pieces.into_iter().map(|text| ReplyPart::Text(text.into()));
        ScriptedReply::new(pieces.collect())
    }

    /// Creates a reply with one call, `call_1`, whose arguments are sent in these parts.
    pub fn call<S: Into<String>>(
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        ScriptedReply::new(Vec::new()).and_call("call_1", name, arguments)
    }

    /// Creates a reply that has three parts and this fault.
    #[must_use]
    pub fn failing(fault: InjectedFault) -> Self {
        ScriptedReply::text(["one ", "two ", "three"]).fault(fault)
    }

    /// Appends text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(ReplyPart::Text(text.into()));
        self
    }

    /// Appends reasoning.
    #[must_use]
    pub fn and_reasoning(mut self, text: impl Into<String>) -> Self {
        self.pieces.push(ReplyPart::Reasoning(text.into()));
        self
    }

    /// Appends a call.
    #[must_use]
    pub fn and_call<S: Into<String>>(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        self.pieces.push(ReplyPart::Call(ScriptedCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }));
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, finish: Finish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Sets the token usage.
    #[must_use]
    pub fn spent(mut self, input: u64, output: u64) -> Self {
        let before = self.spent.unwrap_or_default();
        self.spent = Some(TokenUsage {
            input,
            output,
            ..before
        });
        self
    }

    /// Sets the opaque value attached to the reasoning or the first call.
    #[must_use]
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        self.signature = Some(signature.into());
        self
    }

    /// Sets the pause before each delta.
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sets the pause before the response head.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sends a complete response even if a stream was requested.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the injected fault.
    #[must_use]
    pub fn fault(mut self, fault: InjectedFault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Returns the finish reason.
    pub(crate) fn reason(&self) -> Finish {
        let calls = self
            .pieces
            .iter()
            .any(|piece| matches!(piece, ReplyPart::Call(_)));
        self.finish.unwrap_or(if calls {
            Finish::ToolCalls
        } else {
            Finish::Stop
        })
    }

    /// Returns the token usage.
    pub(crate) fn cost(&self) -> TokenUsage {
        self.spent.unwrap_or(TokenUsage {
            input: 12,
            output: self.pieces.len() as u64,
            ..TokenUsage::default()
        })
    }

    /// Returns the parts, with adjacent parts of one kind joined into blocks.
    pub(crate) fn blocks(&self) -> Vec<ContentBlock<'_>> {
        let mut blocks = Vec::new();
        for piece in &self.pieces {
            match (piece, blocks.last_mut()) {
                // Real providers send consecutive deltas of one kind in one block.
                (ReplyPart::Text(text), Some(ContentBlock::Text(texts)))
                | (ReplyPart::Reasoning(text), Some(ContentBlock::Reasoning(texts))) => {
                    texts.push(text)
                }
                (ReplyPart::Text(text), _) => blocks.push(ContentBlock::Text(vec![text])),
                (ReplyPart::Reasoning(text), _) => blocks.push(ContentBlock::Reasoning(vec![text])),
                (ReplyPart::Call(call), _) => blocks.push(ContentBlock::Call(call)),
            }
        }
        blocks
    }

    /// Returns the text, or `None` if there is none.
    pub(crate) fn all_text(&self) -> Option<String> {
        self.joined(|piece| match piece {
            ReplyPart::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Returns the reasoning, or `None` if there is none.
    pub(crate) fn all_reasoning(&self) -> Option<String> {
        self.joined(|piece| match piece {
            ReplyPart::Reasoning(text) => Some(text),
            _ => None,
        })
    }

    fn joined(&self, pick: impl Fn(&ReplyPart) -> Option<&String>) -> Option<String> {
        let texts: Vec<&str> = self
            .pieces
            .iter()
            .filter_map(pick)
            .map(String::as_str)
            .collect();
        (!texts.is_empty()).then(|| texts.concat())
    }

    /// Returns the calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &ScriptedCall> {
        self.pieces.iter().filter_map(|piece| match piece {
            ReplyPart::Call(call) => Some(call),
            _ => None,
        })
    }
}

impl Default for ScriptedReply {
    /// Returns a reply with three parts of text.
    fn default() -> Self {
        ScriptedReply::text(["Hello", ", ", "world."])
    }
}

/// Adjacent parts of one kind.
pub(crate) enum ContentBlock<'a> {
    Text(Vec<&'a str>),
    Reasoning(Vec<&'a str>),
    Call(&'a ScriptedCall),
}

impl ScriptedCall {
    /// Returns the full text of the arguments.
    pub(crate) fn text(&self) -> String {
        self.arguments.concat()
    }
}
