//! Features of each model generation. The rest of this folder does not depend on model names.

use serde_json::{Value, json};

/// Returns the generation in a model name: (2, 5) for `gemini-2.5-pro`. A `latest` name counts as
/// 3.0, the first generation with strict checks. `None` for other models.
fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, name) = model.rsplit_once("gemini-")?;
    let mut numbers = name.split(['-', '.']).map_while(|word| word.parse().ok());
    match numbers.next() {
        Some(major) => Some((major, numbers.next().unwrap_or(0))),
        None => name.contains("latest").then_some((3, 0)),
    }
}

/// Since generation 3, a call without its thought signature is rejected, and tool results may
/// contain media.
pub(super) fn is_strict(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= (3, 0))
}

/// Converts a reasoning effort. Generation 3 has levels, 2.5 has a budget (with the values that
/// Google documents for its OpenAI-compatible endpoint), and earlier models do not support
/// thinking.
pub(super) fn thinking(model: &str, effort: &str) -> Option<Value> {
    let generation = generation(model)?;
    let is_pro = model.contains("pro");
    if generation >= (3, 0) {
        let level = match effort {
            // Thinking cannot be disabled for these models. The larger models do not support the
            // `minimal` level either.
            "none" | "minimal" if is_pro => "low",
            "none" => "minimal",
            "xhigh" | "max" => "high",
            level => level,
        };
        return Some(json!({"thinkingLevel": level, "includeThoughts": effort != "none"}));
    }
    let budget = match effort {
        "none" if is_pro => 128,
        "none" => 0,
        "minimal" | "low" => 1024,
        "medium" => 8192,
        _ => 24_576,
    };
    (generation >= (2, 5))
        .then(|| json!({"thinkingBudget": budget, "includeThoughts": effort != "none"}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generation_is_told_in_its_own_words() {
        let budget = |budget: u64, shown: bool| {
            Some(json!({"thinkingBudget": budget, "includeThoughts": shown}))
        };
        let level = |level: &str, shown: bool| {
            Some(json!({"thinkingLevel": level, "includeThoughts": shown}))
        };
        let cases = [
            ("gemini-2.0-flash", "high", None),
            ("gemini-2.5-flash", "none", budget(0, false)),
            ("gemini-2.5-pro", "none", budget(128, false)),
            ("gemini-2.5-flash", "medium", budget(8192, true)),
            ("gemini-2.5-flash", "xhigh", budget(24_576, true)),
            ("gemini-3-pro-preview", "minimal", level("low", true)),
            (
                "models/gemini-3.1-flash-lite",
                "minimal",
                level("minimal", true),
            ),
            ("gemini-flash-latest", "none", level("minimal", false)),
            ("gemma-3-27b", "high", None),
        ];
        for (model, effort, expected) in cases {
            assert_eq!(thinking(model, effort), expected, "{model} {effort}");
        }
    }
}
