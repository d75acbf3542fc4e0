//! Plans the calls of a turn before any of them is made.

use std::collections::VecDeque;
use std::sync::Arc;

use quillet_core::ToolCall;
use quillet_core::tool::Tool;
use serde_json::{Map, Value as Json};

use crate::answer::CompletedTurn;
use crate::failure::CallFailure;
use crate::repeats::DuplicateCalls;
use crate::toolbox::{CallExecutor, Toolbox};
use crate::{AgentEvent, RunLimits};

/// Calls of a turn, by executor.
#[derive(Default)]
pub(crate) struct SortedCalls {
    /// Calls that this run executes, in order.
    pub(crate) ours: VecDeque<PlannedCall>,
    /// Calls that the client executes.
    pub(crate) for_client: Vec<AgentEvent>,
    /// Reason of the silent exit, if the model requested one.
    pub(crate) silent: Option<String>,
}

/// A planned call of this run.
pub(crate) struct PlannedCall {
    /// Index in its turn.
    pub(crate) index: usize,
    /// The call.
    pub(crate) call: ToolCall,
    /// Its arguments; empty if they cannot be parsed.
    pub(crate) input: Map<String, Json>,
    /// The plan.
    pub(crate) plan: CallAction,
}

/// Planned handling of a call.
pub(crate) enum CallAction {
    /// Make the call.
    Make(Arc<dyn Tool>),
    /// Load a skill.
    LoadSkill,
    /// End the run silently.
    SilentExit,
    /// Reply with this error without making the call.
    Refuse(CallFailure),
    /// Reply with a result that a person provided.
    Answer(String),
}

/// Plans the calls of a turn.
pub(crate) fn judge(turn: CompletedTurn, toolbox: &Toolbox, limits: &RunLimits) -> SortedCalls {
    let mut doubles = DuplicateCalls::default();
    // If the turn has no calls, the loop below does not run and the index is not used.
    let last = turn.calls.len().saturating_sub(1);
    let mut judged = SortedCalls::default();
    for (index, call) in turn.calls.into_iter().enumerate() {
        let checked = match index {
            // Surplus calls get an error instead of being dropped, because providers reject a call
            // without a result.
            _ if index >= limits.turn_calls => Err(CallFailure::too_many(limits.turn_calls).into()),
            _ if turn.cut_call && index == last => Err(CallFailure::cut(&call).into()),
            _ => check(&call, toolbox, &mut doubles, limits.repeated_calls),
        };
        match checked {
            Ok((input, by)) => judged.sort(index, call, input, by),
            // A rejected call is planned too, so that the model gets the reason as its result.
            Err(RejectedCall { input, failure }) => {
                judged.plan(index, call, input, CallAction::Refuse(failure));
            }
        }
    }
    judged
}

impl SortedCalls {
    fn plan(&mut self, index: usize, call: ToolCall, input: Map<String, Json>, plan: CallAction) {
        self.ours.push_back(PlannedCall {
            index,
            call,
            input,
            plan,
        });
    }

    fn sort(&mut self, index: usize, call: ToolCall, input: Map<String, Json>, by: &CallExecutor) {
        match by {
            CallExecutor::Run(tool) => {
                self.plan(index, call, input, CallAction::Make(tool.clone()))
            }
            CallExecutor::LoadSkill => self.plan(index, call, input, CallAction::LoadSkill),
            CallExecutor::SilentExit => {
                // The call is still planned, so that it has a result in the history.
                self.silent = Some(argument(&input, "reason"));
                self.plan(index, call, input, CallAction::SilentExit);
            }
            CallExecutor::Client | CallExecutor::Provider => {
                let (id, name) = (call.id, call.name);
                let required = AgentEvent::CallRequired { id, name, input };
                self.for_client.push(required);
            }
        }
    }
}

/// A call that is rejected without being made.
struct RejectedCall {
    /// Its arguments, as far as they could be parsed.
    input: Map<String, Json>,
    failure: CallFailure,
}

impl From<CallFailure> for RejectedCall {
    fn from(failure: CallFailure) -> Self {
        let input = Map::new();
        RejectedCall { input, failure }
    }
}

/// Validates a call. Returns its arguments and its executor.
fn check<'t>(
    call: &ToolCall,
    toolbox: &'t Toolbox,
    doubles: &mut DuplicateCalls,
    most: u32,
) -> Result<(Map<String, Json>, &'t CallExecutor), RejectedCall> {
    let input = match read(&call.arguments) {
        Ok(input) => input,
        Err(error) => return Err(CallFailure::unreadable(&error).into()),
    };
    let Some(entry) = toolbox.find(&call.name) else {
        let failure = CallFailure::unknown(toolbox.unknown(&call.name));
        return Err(RejectedCall { input, failure });
    };
    if let Some(problems) = entry.problems(&input) {
        let failure = CallFailure::arguments(problems);
        return Err(RejectedCall { input, failure });
    }
    // Repetitions are checked last, because an invalid call does not count as one.
    if doubles.too_often(&call.name, &input, most) {
        let failure = CallFailure::repeated(most);
        return Err(RejectedCall { input, failure });
    }
    Ok((input, &entry.by))
}

/// Parses arguments. A blank text or `null` means that there are none, because some models write
/// these for tools without parameters.
fn read(text: &str) -> Result<Map<String, Json>, serde_json::Error> {
    match text.trim() {
        "" | "null" => Ok(Map::new()),
        _ => serde_json::from_str(text),
    }
}

/// Returns a string argument; empty if it is missing.
pub(crate) fn argument(input: &Map<String, Json>, name: &str) -> String {
    let given = input.get(name).and_then(Json::as_str);
    given.unwrap_or_default().to_owned()
}
