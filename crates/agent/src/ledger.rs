//! State that remains when a run ends. It is always consistent, because a run may be dropped in the
//! middle of a turn or a call.

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
use crate::repeats::CallRound;
use crate::skills::LoadedSkills;
use crate::sources::Sources;
use crate::{AgentError, AgentEvent, AgentOutcome, EndReason};

/// State of a run.
pub(crate) struct Ledger {
    /// Conversation for the model.
    pub(crate) conversation: Conversation,
    /// Turn that is currently streamed.
    pub(crate) partial: PartialTurn,
    /// Number of rounds so far.
    pub(crate) rounds: u32,
    /// Number of model calls so far.
    pub(crate) model_calls: u32,
    /// Sources of the answer.
    pub(crate) sources: Sources,
    /// Skills, including which of them are loaded.
    pub(crate) skills: LoadedSkills,
    run: Arc<str>,
    messages: Vec<Message>,
    open: Vec<OpenCall>,
    round: CallRound,
    text: String,
    reasoning: String,
    usage: Option<Usage>,
    tool_limit_reached: bool,
}

/// Call of the last turn whose result is not in the history yet.
struct OpenCall {
    call: ToolCall,
    started: Option<Instant>,
    result: Option<Message>,
}

impl Ledger {
    /// Creates the state of a new run.
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
            round: CallRound::new(),
            text: String::new(),
            reasoning: String::new(),
            usage: None,
            tool_limit_reached: false,
        }
    }

    /// Adds the notice that the model must answer now. The notice is not part of the history,
    /// because it would discourage tool calls in later turns.
    pub(crate) fn limit_reached(&mut self, notice: &str) {
        self.tool_limit_reached = true;
        self.notice(notice);
    }

    /// Adds a notice for the model that is not part of the history.
    pub(crate) fn notice(&mut self, notice: &str) {
        self.conversation.push(Message::new(Role::User, notice));
    }

    /// Takes the calls of the last turn with their results.
    pub(crate) fn take_round(&mut self) -> CallRound {
        mem::take(&mut self.round)
    }

    /// Converts the streamed turn to a message with open calls.
    pub(crate) fn finish_turn(&mut self, reason: FinishReason) -> CompletedTurn {
        let mut message = self.take_partial();
        if has_unusable_ids(&message.tool_calls) {
            give_ids(&mut message.tool_calls, &self.run, self.model_calls);
            // The provider's own form still contains the old ids.
            message.native = None;
        }
        let calls = message.tool_calls.clone();
        let open = |call: &ToolCall| OpenCall {
            call: call.clone(),
            started: None,
            result: None,
        };
        self.open = calls.iter().map(open).collect();
        // Providers reject a turn without text and calls.
        let says_something = message.content != "" || !calls.is_empty() || message.native.is_some();
        if says_something {
            self.push(message);
        }
        CompletedTurn::new(reason, calls)
    }

    /// Adds the usage of a model call, if the provider reported it.
    pub(crate) fn spent(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage {
            *self.usage.get_or_insert_default() += usage;
        }
    }

    /// Marks a call as started.
    pub(crate) fn started(&mut self, index: usize) {
        if let Some(open) = self.open.get_mut(index) {
            open.started = Some(Instant::now());
        }
    }

    /// Stores the result of a call. Results are added to the history when all calls have one.
    pub(crate) fn record_result(
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

    /// Adds all results to the history, in the order of the calls. Calls of the client remain open.
    pub(crate) fn close_calls(&mut self) {
        for open in mem::take(&mut self.open) {
            match open.result {
                Some(message) => {
                    self.round.push((open.call, message.clone()));
                    self.push(message);
                }
                // Calls of the client and pending calls get their results later.
                None => self.open.push(open),
            }
        }
    }

    /// Ends the run. Stores the partial text, and adds results with the state of unfinished calls,
    /// except calls of the client. Returns the end events of calls that had started.
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
            // A call that already has a result has sent its end event.
            if let (Some(started), None) = (open.started, &open.result) {
                events.push(ended_early(&open.call, &fate, started.elapsed()));
            }
            let message = open.result;
            self.push(message.unwrap_or_else(|| result(&open.call, fate.clone(), true)));
        }
        events
    }

    /// Returns the outcome of the run.
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

    /// Stores the text of an incomplete turn. Its calls may be truncated, so they are dropped
    /// together with the provider's own form of the turn.
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
        // An incomplete turn is billed too.
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

/// Result text of an unfinished call, for a continued conversation.
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

/// Whether ids are missing or duplicate. Results refer to calls by id, so ids must be unique.
fn has_unusable_ids(calls: &[ToolCall]) -> bool {
    let mut taken = HashSet::new();
    let mut calls = calls.iter();
    calls.any(|call| call.id.is_empty() || !taken.insert(&call.id))
}

/// Assigns ids derived from run and position, so that a replay produces the same ids.
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
