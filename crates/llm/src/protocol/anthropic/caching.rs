//! Breakpoints of the provider's prompt cache: `cache_control` markers.

use serde_json::{Map, Value, json};

use super::blocks;
use super::message::AnthropicMessage;

/// Marks the last tool, the last instruction and the last block of the model's last turn, which
/// uses three of the four markers that a request may contain. The newest messages are not marked,
/// because they are never sent again in the same position. A request with its own markers is not
/// changed.
pub(super) fn mark(
    extra: &Map<String, Value>,
    tools: &mut [Value],
    system: &mut [Value],
    turns: &mut [AnthropicMessage],
) {
    let Some(mark) = wanted(extra) else { return };
    let marked = |block: &Value| block.get("cache_control").is_some();
    let own = extra.contains_key("cache_control")
        || tools.iter().chain(system.iter()).any(marked)
        || turns.iter().any(|turn| turn.blocks.iter().any(marked));
    if own {
        return;
    }
    let last_turn = turns.iter_mut().rev().find(|turn| turn.role == "assistant");
    let last_block = last_turn.and_then(|turn| {
        turn.blocks
            .iter_mut()
            .rev()
            .find(|block| can_be_marked(block))
    });
    for block in [tools.last_mut(), system.last_mut(), last_block]
        .into_iter()
        .flatten()
    {
        block["cache_control"] = mark.clone();
    }
}

/// Returns the marker, or `None` if caching is disabled.
fn wanted(extra: &Map<String, Value>) -> Option<Value> {
    match extra.get("prompt_caching") {
        Some(Value::Bool(false)) => None,
        Some(Value::String(ttl)) => Some(json!({"type": "ephemeral", "ttl": ttl})),
        _ => Some(json!({"type": "ephemeral"})),
    }
}

/// Thinking blocks must be sent back unchanged.
fn can_be_marked(block: &Value) -> bool {
    block.is_object() && !matches!(blocks::kind(block), "thinking" | "redacted_thinking")
}
