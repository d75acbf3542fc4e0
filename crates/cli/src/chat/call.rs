//! Tool calls in the JSON output of `quillet ask`.

use quillet_agent::AgentEvent;
use serde::Serialize;
use serde_json::{Map, Value};

/// A tool call and its result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ToolCallDisplay {
    id: String,
    tool: String,
    input: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u64>,
}

impl ToolCallDisplay {
    /// Records an event of a tool call.
    pub(super) fn record_event(calls: &mut Vec<ToolCallDisplay>, event: &AgentEvent) {
        match event {
            AgentEvent::ToolStarted { id, name, input }
            | AgentEvent::CallRequired { id, name, input } => calls.push(ToolCallDisplay {
                id: id.clone(),
                tool: name.clone(),
                input: input.clone(),
                output: None,
                error: None,
                milliseconds: None,
            }),
            AgentEvent::ToolDone {
                id,
                output,
                error,
                took,
                ..
            } => {
                let call = calls.iter_mut().rev().find(|call| call.id == *id);
                if let Some(call) = call {
                    call.output = serde_json::to_value(output).ok();
                    call.error.clone_from(error);
                    // This practically cannot fail: `u64` holds millions of years in milliseconds.
                    call.milliseconds = u64::try_from(took.as_millis()).ok();
                }
            }
            _ => {}
        }
    }
}
