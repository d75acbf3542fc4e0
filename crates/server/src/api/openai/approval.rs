//! Pending approvals of a durable run as tool calls for OpenAI's clients. The call id contains the
//! response id. A tool result for it is the decision, and the run resumes.

use quillet_core::journal::{Decision, DecisionInput};
use quillet_core::{Message, Role};

/// The decision about one call.
pub(super) struct ApprovalResponse {
    /// The id of the response with the call.
    pub(super) response: String,
    pub(super) call: String,
    pub(super) decision: Decision,
}

/// Returns the public id of a pending call.
pub(super) fn public(response: &str, call: &str) -> String {
    format!("{response}.{call}")
}

/// Returns the decisions in the last messages of a conversation, which are results of pending
/// calls.
pub(super) fn decisions(messages: &[Message]) -> Vec<ApprovalResponse> {
    let results = messages.iter().rev();
    let results = results.take_while(|message| message.role == Role::Tool);
    let mut decided: Vec<ApprovalResponse> = results.filter_map(answered).collect();
    decided.reverse();
    decided
}

fn answered(message: &Message) -> Option<ApprovalResponse> {
    let id = message.tool_call_id.as_deref()?;
    let (response, call) = id.split_once('.')?;
    let hex = response.strip_prefix("resp-")?;
    // Other call ids may contain dots, so check the exact form.
    let is_ours = hex.len() == 12 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| ApprovalResponse {
        response: response.to_owned(),
        call: call.to_owned(),
        decision: read(&message.content.to_string()),
    })
}

/// Parses a word, or an object like that of the decision route. Only an explicit approval permits
/// the call. Any other text denies it and becomes the reason.
fn read(content: &str) -> Decision {
    let text = content.trim();
    if let Ok(words) = serde_json::from_str::<DecisionInput>(text) {
        let note = words.note.clone();
        return words.decide().unwrap_or(Decision::Deny { note });
    }
    match text.to_ascii_lowercase().as_str() {
        "approve" | "approved" | "yes" | "true" => Decision::Approve {
            arguments: None,
            note: None,
        },
        "" | "deny" | "denied" | "no" | "false" => Decision::Deny { note: None },
        _ => Decision::Deny {
            note: Some(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_agrees_lets_a_call_go() {
        let approve = |arguments| Decision::Approve {
            arguments,
            note: None,
        };
        let object = json!({"a": 1}).as_object().cloned();
        for (content, decision) in [
            ("approve", approve(None)),
            (" Yes ", approve(None)),
            ("{\"decision\": \"approve\"}", approve(None)),
            (
                "{\"decision\": \"edit\", \"arguments\": {\"a\": 1}}",
                approve(object),
            ),
            ("", Decision::Deny { note: None }),
            ("no", Decision::Deny { note: None }),
            ("{\"decision\": \"edit\"}", Decision::Deny { note: None }),
            ("{\"decision\": \"aprove\"}", Decision::Deny { note: None }),
            (
                "Not now",
                Decision::Deny {
                    note: Some("Not now".to_owned()),
                },
            ),
            (
                "{\"decision\": \"result\", \"text\": \"42\"}",
                Decision::Result {
                    text: "42".to_owned(),
                },
            ),
        ] {
            assert_eq!(read(content), decision, "{content}");
        }
    }

    #[test]
    fn only_the_last_results_of_calls_that_wait_decide() {
        let tool = |id: &str| Message::tool(id, "yes");
        let ours = "resp-0123456789ab.call_1";
        let user = Message::new(Role::User, "x");
        for (messages, found) in [
            (vec![tool(ours)], 1),
            (vec![tool("call_1"), tool(ours)], 1),
            (vec![tool(ours), user.clone()], 0),
            (vec![tool("call_1")], 0),
            (vec![tool("resp-0123.call")], 0),
            (vec![user], 0),
        ] {
            assert_eq!(decisions(&messages).len(), found, "{messages:?}");
        }
    }
}
