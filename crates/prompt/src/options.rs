//! Model settings, and their names in each kind of prompt file.

use quillet_core::chat::ChatOptions;
use serde_json::{Map as Object, Value as Tree, json};

/// Names of [`ChatOptions`] fields in prompt files. All other settings are passed on unchanged.
const NAMES: [(&str, &str); 14] = [
    ("topP", "top_p"),
    ("topK", "top_k"),
    ("maxTokens", "max_tokens"),
    ("maxOutputTokens", "max_tokens"),
    ("max_output_tokens", "max_tokens"),
    ("frequencyPenalty", "frequency_penalty"),
    ("presencePenalty", "presence_penalty"),
    ("stopSequences", "stop"),
    ("stop_sequences", "stop"),
    ("responseFormat", "response_format"),
    ("reasoningEffort", "reasoning_effort"),
    ("allowMultipleToolCalls", "parallel_tool_calls"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("results_per_prompt", "n"),
];

/// Converts the settings of a file to chat options. Both naming styles are accepted
/// (`maxOutputTokens`, `max_tokens`).
///
/// # Errors
/// A setting has the wrong type; the error names it.
///
/// # Examples
///
/// ```
/// use quillet_prompt::file::chat_options;
/// use serde_json::json;
///
/// let settings = json!({"maxOutputTokens": 256, "seed": 1});
/// let options = chat_options(settings.as_object().unwrap())?;
/// assert_eq!(options.max_tokens, Some(256));
/// assert_eq!(options.extra.get("seed"), Some(&json!(1)));
/// # Ok::<(), String>(())
/// ```
pub fn chat_options(settings: &Object<String, Tree>) -> Result<ChatOptions, String> {
    let mut options = ChatOptions::default();
    for (name, value) in settings.iter().filter(|(_, value)| !value.is_null()) {
        let known = NAMES.iter().find(|(theirs, _)| theirs == name);
        let ours = known.map_or(name.as_str(), |(_, ours)| ours);
        set(&mut options, ours, value)
            .map_err(|wanted| format!("{name} must be {wanted}, not {value}"))?;
    }
    Ok(options)
}

fn set(options: &mut ChatOptions, name: &str, value: &Tree) -> Result<(), &'static str> {
    let number = || value.as_f64().ok_or("a number").map(Some);
    let whole = || value.as_u64().ok_or("a whole number").map(Some);
    match name {
        "temperature" => options.temperature = number()?,
        "top_p" => options.top_p = number()?,
        "max_tokens" => options.max_tokens = whole()?,
        "frequency_penalty" => options.frequency_penalty = number()?,
        "presence_penalty" => options.presence_penalty = number()?,
        "n" => {
            let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
            options.n = Some(count.ok_or("a whole number")?);
        }
        "user" => options.user = Some(value.as_str().ok_or("a string")?.to_owned()),
        "stop" => options.stop = Some(value.clone()),
        // Semantic Kernel specifies only the type, such as `json_object`.
        "response_format" => {
            options.response_format = Some(match value {
                Tree::String(form) => json!({ "type": form }),
                Tree::Object(_) => value.clone(),
                _ => return Err("a format or its name"),
            });
        }
        "reasoning_effort" => {
            let effort = value.as_str().ok_or("a string")?;
            options.reasoning_effort = Some(effort.to_owned());
        }
        "parallel_tool_calls" => {
            options.parallel_tool_calls = Some(value.as_bool().ok_or("true or false")?);
        }
        // Provider-specific settings are passed on unchanged.
        other => {
            options.extra.insert(other.to_owned(), value.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &Tree) -> Result<ChatOptions, String> {
        chat_options(settings.as_object().unwrap())
    }

    #[test]
    fn every_style_of_names_means_the_same() {
        let styles = [
            json!({"temperature": 0.5, "max_tokens": 9, "top_p": 1, "stop": ["x"], "seed": 1}),
            json!({"temperature": 0.5, "maxOutputTokens": 9, "topP": 1, "stopSequences": ["x"], "seed": 1}),
        ];
        for style in styles {
            let options = of(&style).unwrap();
            assert_eq!(options.max_tokens, Some(9));
            assert_eq!(options.top_p, Some(1.0));
            assert_eq!(options.stop, Some(json!(["x"])));
            assert_eq!(options.extra.get("seed"), Some(&json!(1)));
        }
        let forms = [json!("json_object"), json!({"type": "json_object"})];
        for form in forms {
            let options = of(
                &json!({"responseFormat": form, "reasoning_effort": "low", "parallelToolCalls": false}),
            );
            let options = options.unwrap();
            assert_eq!(
                options.response_format,
                Some(json!({"type": "json_object"}))
            );
            assert_eq!(options.reasoning_effort.as_deref(), Some("low"));
            assert_eq!(options.parallel_tool_calls, Some(false));
            assert!(options.extra.is_empty(), "{options:?}");
        }
        assert!(
            of(&json!({"maxTokens": -1}))
                .unwrap_err()
                .contains("maxTokens")
        );
    }
}
