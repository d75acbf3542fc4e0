//! Thinking options of each model generation.

use serde_json::{Value, json};

use super::generation::generation;

/// Thinking options of a request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ThinkingRequest {
    /// The member `thinking`.
    pub(super) thinking: Option<Value>,
    /// The member `output_config.effort`.
    pub(super) effort: Option<String>,
    /// Maximum thinking tokens, which count toward the answer's limit.
    pub(super) budget: u64,
}

/// The smallest budget that the provider accepts.
const LEAST_BUDGET: u64 = 1024;

/// Converts a reasoning effort for a model. Models up to generation 3.5 do not support thinking. Up
/// to 4.5, and in models of other vendors, thinking has a token budget. Since 4.6 the model adapts
/// its thinking to the effort; budgets are deprecated there and rejected since 4.7.
pub(super) fn of_effort(model: &str, effort: &str, max_tokens: Option<u64>) -> ThinkingRequest {
    match generation(model) {
        Some(generation) if generation < (3, 7) => ThinkingRequest::default(),
        Some(generation) if generation >= (4, 6) => adaptive(effort, generation),
        _ => budgeted(effort, max_tokens),
    }
}

fn adaptive(effort: &str, generation: (u32, u32)) -> ThinkingRequest {
    if effort == "none" {
        return ThinkingRequest {
            thinking: Some(json!({"type": "disabled"})),
            ..ThinkingRequest::default()
        };
    }
    let mut thinking = json!({"type": "adaptive"});
    let since_4_7 = generation >= (4, 7);
    if since_4_7 {
        // Since this generation, the thinking text is only returned on request.
        thinking["display"] = json!("summarized");
    }
    let effort = match effort {
        "minimal" => "low",
        "xhigh" if !since_4_7 => "max",
        other => other,
    };
    ThinkingRequest {
        thinking: Some(thinking),
        effort: Some(effort.to_owned()),
        budget: 0,
    }
}

fn budgeted(effort: &str, max_tokens: Option<u64>) -> ThinkingRequest {
    let budget: u64 = match effort {
        "none" => return ThinkingRequest::default(),
        "minimal" => 1024,
        "low" => 2048,
        "medium" => 8192,
        "high" => 16_384,
        _ => 32_768,
    };
    // Thinking counts toward the answer's token limit, so some tokens must remain for the answer.
    let budget = budget.min(max_tokens.map_or(u64::MAX, |most| most.saturating_sub(1)));
    if budget < LEAST_BUDGET {
        return ThinkingRequest::default();
    }
    ThinkingRequest {
        thinking: Some(json!({"type": "enabled", "budget_tokens": budget})),
        effort: None,
        budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_is_told_in_its_own_words() {
        let enabled = |budget: u64| Some(json!({"type": "enabled", "budget_tokens": budget}));
        let adaptive = Some(json!({"type": "adaptive"}));
        let shown = Some(json!({"type": "adaptive", "display": "summarized"}));
        let cases = [
            ("claude-3-5-haiku", "high", None, None, None),
            ("claude-3-7-sonnet", "low", None, enabled(2048), None),
            ("claude-sonnet-4-5", "high", Some(5000), enabled(4999), None),
            ("claude-sonnet-4-5", "high", Some(900), None, None),
            ("claude-sonnet-4-5", "none", None, None, None),
            ("deepseek-chat", "medium", None, enabled(8192), None),
            (
                "claude-opus-4-6",
                "minimal",
                None,
                adaptive.clone(),
                Some("low"),
            ),
            ("claude-sonnet-4-6", "xhigh", None, adaptive, Some("max")),
            (
                "claude-opus-4-7",
                "xhigh",
                None,
                shown.clone(),
                Some("xhigh"),
            ),
            ("claude-opus-5", "medium", None, shown, Some("medium")),
            (
                "claude-opus-4-6",
                "none",
                None,
                Some(json!({"type": "disabled"})),
                None,
            ),
        ];
        for (model, effort, most, thinking, told) in cases {
            let written = of_effort(model, effort, most);
            assert_eq!(written.thinking, thinking, "{model} {effort}");
            assert_eq!(written.effort.as_deref(), told, "{model} {effort}");
        }
    }
}
