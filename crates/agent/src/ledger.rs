//! What a run leaves behind: kept while it goes, so that it is whole whenever the run ends, even in
//! the middle of a turn or of a call.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{FinishReason, Usage};
use quillet_core::{ContentPart, MediaUrl, Message, MessageContent, Role, ToolCall, Value};
use tokio::time::Instant;

use crate::answer::{CompletedTurn, PartialTurn};
use crate::compact::Conversation;
use crate::repeats::Round;
use crate::skills::LoadedSkills;
use crate::sources::Sources;
use crate::{AgentError, AgentEvent, AgentOutcome, EndReason};

/// The books of a run.
pub(crate) struct Ledger {
    /// What the model is sent.
    pub(crate) conversation: Conversation,
    /// The turn that is being streamed.
    pub(crate) partial: PartialTurn,
    /// Rounds of calls so far.
    pub(crate) rounds: u32,
    /// Calls of the model so far.
    pub(crate) model_calls: u32,
    /// Where the answer is from.
    pub(crate) sources: Sources,
    /// The skills, and which of them are loaded.
    pub(crate) skills: LoadedSkills,
    run: Arc<str>,
    messages: Vec<Message>,
    open: Vec<OpenCall>,
    round: Round,
    text: String,
    reasoning: String,
    usage: Option<Usage>,
    tool_limit_reached: bool,
}

/// A call of the last turn that has no result in the history yet.
struct OpenCall {
    call: ToolCall,
    started: Option<Instant>,
    result: Option<Message>,
}

impl Ledger {
    /// Of a run that begins.
    pub(crate) fn new(run: &Arc<str>, conversation: Conversation, skills: LoadedSkills) -> Self {
        Ledger {
            run: run.clone(),
            conversation,
            partial: PartialTurn::default(),
            rounds: 0,
            model_calls: 0,
            sources: Sources::default(),
            skills,
            messages: Vec::new(),
            open: Vec::new(),
            round: Round::new(),
            text: String::new(),
            reasoning: String::new(),
            usage: None,
            tool_limit_reached: false,
        }
    }

    /// Tells the model that it has to answer now. The notice is not part of what the
    /// conversation keeps: it would hold later turns back from calling tools.
    pub(crate) fn limit_reached(&mut self, notice: &str) {
        self.tool_limit_reached = true;
        self.notice(notice);
    }

    /// Tells the model something that is no part of what the conversation keeps.
    pub(crate) fn notice(&mut self, notice: &str) {
        self.conversation.push(Message::new(Role::User, notice));
    }

    /// The calls of the last turn and their results.
    pub(crate) fn take_round(&mut self) -> Round {
        mem::take(&mut self.round)
    }

    /// The streamed turn is whole: it becomes a message, and its calls are open.
    pub(crate) fn finish_turn(&mut self, reason: FinishReason) -> CompletedTurn {
        let mut message = self.take_partial();
        if has_unusable_ids(&message.tool_calls) {
            give_ids(&mut message.tool_calls, &self.run, self.model_calls);
            // Its provider's own words have the old ids.
            message.native = None;
        }
        let calls = message.tool_calls.clone();
        let open = |call: &ToolCall| OpenCall {
            call: call.clone(),
            started: None,
            result: None,
        };
        self.open = calls.iter().map(open).collect();
        let says_something = message.content != "" || !calls.is_empty() || message.native.is_some();
        if says_something {
            self.push(message);
        }
        CompletedTurn::new(reason, calls)
    }

    /// A call of the model cost this, if its provider said.
    pub(crate) fn spent(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    /// A call is being made.
    pub(crate) fn started(&mut self, index: usize) {
        if let Some(open) = self.open.get_mut(index) {
            open.started = Some(Instant::now());
        }
    }

    /// A call has a result. It goes into the history when all have.
    pub(crate) fn answered(
        &mut self,
        index: usize,
        text: String,
        images: Vec<MediaUrl>,
        is_error: bool,
    ) {
        let Some(open) = self.open.get_mut(index) else {
            return;
        };
        let mut message = result(&open.call, text, is_error);
        if let (false, MessageContent::Text(text)) = (images.is_empty(), &message.content) {
            let images = images.into_iter();
            let images = images.map(|image_url| ContentPart::ImageUrl { image_url });
            let parts = [ContentPart::text(text.as_str())].into_iter().chain(images);
            message.content = MessageContent::Parts(parts.collect());
        }
        open.result = Some(message);
    }

    /// All calls of the run are made: results go into the history, in the order of
    /// the calls. Calls of the client stay open.
    pub(crate) fn close_calls(&mut self) {
        for open in mem::take(&mut self.open) {
            match open.result {
                Some(message) => {
                    self.round.push((open.call, message.clone()));
                    self.push(message);
                }
                None => self.open.push(open),
            }
        }
    }

    /// The run is over: what was said is kept, and every open call gets a result that
    /// says what became of it, except where the client is to give one. The events are
    /// of calls that had begun.
    pub(crate) fn finish_run(&mut self, ending: &EndReason) -> Vec<AgentEvent> {
        self.keep_partial();
        if matches!(
            ending,
            EndReason::CallsRequired | EndReason::ApprovalRequired
        ) {
            return Vec::new();
        }
        let fate = fate_of_open_calls(ending);
        let mut events = Vec::new();
        for open in mem::take(&mut self.open) {
            if let (Some(started), None) = (open.started, &open.result) {
                events.push(ended_early(&open.call, &fate, started.elapsed()));
            }
            let message = open.result;
            self.push(message.unwrap_or_else(|| result(&open.call, fate.clone(), true)));
        }
        events
    }

    /// What the run leaves.
    pub(crate) fn outcome(self, ending: EndReason) -> AgentOutcome {
        AgentOutcome {
            ending,
            text: self.text,
            reasoning: self.reasoning,
            messages: self.messages,
            usage: self.usage,
            model_calls: self.model_calls,
            rounds: self.rounds,
            tool_limit_reached: self.tool_limit_reached,
            loaded_skills: self.skills.names(),
            sources: self.sources.all(),
        }
    }

    /// Text of a turn that did not come to its end is kept. Its calls are not: nobody
    /// knows whether they were whole. Nor are its provider's own words.
    fn keep_partial(&mut self) {
        let mut message = self.take_partial();
        message.tool_calls.clear();
        message.native = None;
        if message.content != "" {
            self.push(message);
        }
    }

    fn take_partial(&mut self) -> Message {
        let partial = mem::take(&mut self.partial);
        self.text.push_str(&partial.text);
        self.reasoning.push_str(&partial.reasoning);
        self.spent(partial.rest.usage);
        let mut choice = partial.rest.choices.into_iter().next().unwrap_or_default();
        choice.text = partial.text;
        choice.reasoning = partial.reasoning;
        choice.into_message()
    }

    fn push(&mut self, message: Message) {
        self.conversation.push(message.clone());
        self.messages.push(message);
    }
}

fn result(call: &ToolCall, text: String, is_error: bool) -> Message {
    let mut message = Message::tool(call.id.as_str(), text);
    message.name = Some(call.name.clone()).filter(|name| !name.is_empty());
    message.is_error = is_error;
    message
}

/// What the model reads, should the conversation go on.
fn fate_of_open_calls(ending: &EndReason) -> String {
    match ending {
        EndReason::Cancelled => "The call was cancelled before it had a result.".to_owned(),
        EndReason::Failed(AgentError::Time(limit)) => {
            format!("The call was stopped: the run reached its limit on run_time ({limit:?}).")
        }
        EndReason::Repeated { times } => {
            format!("The call was not made: the same calls were made {times} times.")
        }
        EndReason::Finished(FinishReason::Stop | FinishReason::ToolCalls) => {
            "The call was not made: the limit on tool calls is reached.".to_owned()
        }
        EndReason::Finished(reason) => {
            format!("The call was not made: the turn ended with {reason}.")
        }
        _ => "The call was not made: the run ended.".to_owned(),
    }
}

fn ended_early(call: &ToolCall, fate: &str, took: Duration) -> AgentEvent {
    AgentEvent::ToolDone {
        id: call.id.clone(),
        name: call.name.clone(),
        output: Value::Null,
        for_model: fate.to_owned(),
        error: Some(fate.to_owned()),
        took,
        sources: Vec::new(),
    }
}

/// Results find their calls by id, so each needs one of its own.
fn has_unusable_ids(calls: &[ToolCall]) -> bool {
    let mut taken = HashSet::new();
    let mut calls = calls.iter();
    calls.any(|call| call.id.is_empty() || !taken.insert(&call.id))
}

/// Ids of the run and the place, so that a run that is gone through once more has them again.
fn give_ids(calls: &mut [ToolCall], run: &str, turn: u32) {
    let mut taken = HashSet::new();
    for (index, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || !taken.insert(call.id.clone()) {
            let mut hasher = DefaultHasher::new();
            (run, turn, index).hash(&mut hasher);
            call.id = format!("call_{:016x}{index:08x}", hasher.finish());
        }
    }
}
