//! Parts of the system prompt that the service adds.

use quillet_core::chat::ToolOffer;
use serde_json::json;

use super::AgentRequest;

/// Name of the tool with which a model asks the user for clarification. The client answers its
/// calls.
pub const CLARIFY: &str = "ask_clarification";

const CLARIFICATION: &str = "\
# Asking back
When the request can be read in ways that lead to different answers, or something is missing that only the user knows, \
ask before you work: call the tool `ask_clarification` with one short question and, where the answers can be foreseen, two to five options. \
Ask at most once per turn and never for what you can find out with your tools. When the request is clear, answer it.";

const DEEP_THINKING: &str = "\
# Thinking thoroughly
Take the time that the question needs. First make out what is really asked and what an answer has to satisfy. \
Split the question into parts, look each up with your tools where facts may have changed, and check results against each other: \
one source is a claim, two that do not depend on each other are evidence. Say what you could not find out. \
Give the answer first, then what it rests on. The current time stands at the end of the user's message.";

const STRICT: &str = "\
# Knowledge base
The user chose collections of documents for this question. Search them with the knowledge base tools before you answer, \
and answer only from what you find there. Where they do not hold the answer, say so, and do not fill in from what you know. \
Name the documents that you used.";

const RELAXED: &str = "\
# Knowledge base
Collections of documents are at hand. Search them with the knowledge base tools where the question may be answered there; \
where it is not, answer from what you know and say that the documents did not help.";

/// Returns the system prompt without the part about skills.
pub(super) fn system(request: &AgentRequest, given: Option<String>) -> String {
    let knowledge = request.knowledge.as_ref();
    let searched = !request.metadata.knowledge_base_ids.is_empty();
    let parts = [
        given,
        knowledge.and_then(|knowledge| knowledge.meta_prompt.clone()),
        request
            .features
            .clarification
            .then(|| CLARIFICATION.to_owned()),
        request
            .features
            .deep_thinking
            .then(|| DEEP_THINKING.to_owned()),
        searched.then(|| {
            if request.metadata.is_user_selected_kb {
                STRICT.to_owned()
            } else {
                RELAXED.to_owned()
            }
        }),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("\n\n")
}

/// Definition of the tool `ask_clarification`.
pub(super) fn clarify() -> ToolOffer {
    ToolOffer::Function {
        name: CLARIFY.to_owned(),
        description: "Asks the user a question when the request is unclear. The turn ends; the answer comes with the next message.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "One short question"},
                "options": {
                    "type": "array",
                    "description": "Answers to choose from, if they can be foreseen",
                    "items": {
                        "type": "object",
                        "properties": {"label": {"type": "string"}, "value": {"type": "string"}},
                        "required": ["label", "value"],
                    },
                },
            },
            "required": ["question"],
        }),
        strict: None,
        extra: serde_json::Map::new(),
    }
}
