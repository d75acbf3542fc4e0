//! Model requests, built from the compacted conversation and the tools.

use quillet_core::chat::{
    ChatOptions, ChatRequest, ChatStream, ModelError, ModelErrorKind, ToolChoice, ToolOffer,
};

use crate::compact::{self, Conversation};
use crate::ledger::Ledger;
use crate::scope::RunContext;
use crate::spans::{self, ModelSpan};
use crate::toolbox::Toolbox;
use crate::{AgentError, AgentEvent, CompactionReport};

/// Number of times that a conversation is shortened by a quarter and sent again, if the provider
/// rejects it as too long.
const SHORTER: u32 = 3;

/// Prepares the conversation for the next turn: adds instructions and tools of newly loaded skills,
/// and compacts it.
pub(crate) async fn prepare(
    scope: &RunContext,
    toolbox: &mut Toolbox,
    ledger: &mut Ledger,
) -> Result<(), AgentError> {
    let conversation = &mut ledger.conversation;
    conversation.set_system(system(&scope.system, &ledger.skills.block()));
    // The tools are set again only after a change, because serializing all schemas is expensive.
    if toolbox.add_loaded(&ledger.skills) || ledger.model_calls == 0 {
        conversation.set_tools(toolbox.offers());
    }
    let (model, name) = (&*scope.model, scope.model_name.as_deref());
    let summary = compact::summarize(conversation, scope.window, model, name, &scope.limits).await;
    if let Some(summary) = summary {
        // A failed summary may have been billed too.
        ledger.spent(summary.usage);
        if !summary.report.strategies.is_empty() {
            compacted(scope, summary.report).await;
        }
    }
    if let Some(report) =
        compact::compact_to_target(&mut ledger.conversation, scope.window, &scope.limits)?
    {
        compacted(scope, report).await;
    }
    Ok(())
}

async fn compacted(scope: &RunContext, report: CompactionReport) {
    spans::compacted(scope, &report);
    scope.events.send(AgentEvent::Compacted(report)).await;
}

fn system(given: &str, skills: &str) -> String {
    match (given.is_empty(), skills.is_empty()) {
        (_, true) => given.to_owned(),
        (true, false) => skills.to_owned(),
        (false, false) => format!("{given}\n\n{skills}"),
    }
}

/// Calls the model. If the provider rejects the conversation as too long although it fits by our
/// count, it is shortened and sent again. Retrying is free, because the provider has not generated
/// anything.
pub(crate) async fn ask(
    scope: &RunContext,
    toolbox: &Toolbox,
    last: bool,
    ledger: &mut Ledger,
) -> Result<(ChatStream, ModelSpan), AgentError> {
    let options = options(&scope.options, toolbox.offers(), last, ledger.rounds);
    let mut attempts = 0;
    loop {
        let request = ChatRequest {
            model: scope.model_name.clone(),
            messages: ledger.conversation.messages(),
            options: options.clone(),
        };
        let mut span = ModelSpan::begin(&scope.tracer, scope.span.id(), &request);
        // Counted before the answer, because a rejected request is a model call too.
        ledger.model_calls += 1;
        let error = match scope.model.stream(request).await {
            Ok(answer) => return Ok((answer, span)),
            Err(error) => error,
        };
        span.failed(&error);
        // A shorter conversation would not prevent other errors.
        if error.kind != ModelErrorKind::ContextLength || !scope.limits.compaction {
            return Err(error.into());
        }
        if attempts == SHORTER {
            return Err(too_long(scope, &ledger.conversation, &error));
        }
        attempts += 1;
        let target = ledger.conversation.count() / 4 * 3;
        match compact::fit_within(&mut ledger.conversation, target, &scope.limits) {
            Ok(report) => compacted(scope, report).await,
            // The provider's error is returned, because its window size is more reliable than the
            // estimate.
            Err(_) => return Err(error.into()),
        }
    }
}

fn too_long(scope: &RunContext, conversation: &Conversation, error: &ModelError) -> AgentError {
    AgentError::Window {
        needed: conversation.tokens(),
        window: compact::available(scope.window),
        what: format!(
            "shortened by a quarter {SHORTER} times, but the provider still answered: \
            {error}"
        ),
    }
}

/// Options for one turn. The last turn still has the tools, with `tool_choice` `none`, so that the
/// provider's prompt cache stays valid. A forced call applies to the first turn only, because the
/// model could otherwise never answer.
fn options(given: &ChatOptions, offers: &[ToolOffer], last: bool, rounds: u32) -> ChatOptions {
    let mut options = given.clone();
    // A run uses one answer, and further ones would be billed and dropped.
    options.n = None;
    options.tools = offers.to_vec();
    // Providers reject these options in a request without tools.
    if options.tools.is_empty() {
        options.tool_choice = None;
        options.parallel_tool_calls = None;
    } else if last {
        options.tool_choice = Some(ToolChoice::None);
    } else if rounds > 0 && options.tool_choice != Some(ToolChoice::None) {
        options.tool_choice = None;
    }
    options
}
