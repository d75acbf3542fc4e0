//! A complete chat completion in OpenAI's format.

use quillet_core::chat::{ChatChoice, FinishReason, Reply, Usage};
use quillet_core::{ToolCall, clock};
use quillet_prompt::Explanation;
use serde::Serialize;
use utoipa::ToSchema;

use super::script_report::ScriptReport;
use crate::warning::Warning;

/// A complete chat completion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Completion)]
pub(crate) struct ChatCompletion {
    /// The provider's id of the response.
    id: String,
    /// Always `chat.completion`.
    object: &'static str,
    /// Seconds since 1970.
    created: u64,
    /// The model that answered.
    model: String,
    /// One choice per requested reply.
    choices: Vec<CompletionChoice>,
    /// The usage, if the provider reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CompletionUsage>,
    /// Tool calls that failed while the prompt was rendered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
    /// The explanation of the prompt, if requested: `template`, `variables`, `calls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explanation: Option<Box<Explanation>>,
    /// The result of a script in addition to its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<ScriptReport>,
}

/// One reply.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionChoice {
    /// Index of the choice, from 0.
    index: usize,
    /// The message of the model.
    message: CompletionMessage,
    /// The finish reason.
    finish_reason: Option<&'static str>,
}

/// The message of the model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionMessage {
    /// Always `assistant`.
    role: &'static str,
    /// The text, or `null` if there are only calls.
    content: Option<String>,
    /// The model's visible reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    /// The refusal, if the model refused to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    /// Tool calls that the model requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionCall>,
}

/// A tool call that the model requests.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionCall {
    /// The provider's id of the call.
    id: String,
    /// Always `function`.
    r#type: &'static str,
    /// Name and arguments.
    function: CompletionFunction,
}

/// Name and arguments of a call.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionFunction {
    /// The tool.
    name: String,
    /// JSON text of the arguments, as the model wrote it.
    arguments: String,
}

/// Token usage of a response.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct CompletionUsage {
    /// Tokens of the request, including cached ones.
    prompt_tokens: u64,
    /// Tokens of the response, including reasoning.
    completion_tokens: u64,
    /// The sum of both.
    total_tokens: u64,
    /// Details of the request tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptTokens>,
    /// Details of the response tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionTokens>,
}

/// Details of the tokens of a request.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct PromptTokens {
    /// Tokens read from the provider's cache.
    cached_tokens: u64,
    /// Tokens written to the provider's cache.
    cache_write_tokens: u64,
}

/// Details of the tokens of a response.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct CompletionTokens {
    /// Tokens used for reasoning.
    reasoning_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        let prompt = PromptTokens {
            cached_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
        };
        let completion = CompletionTokens {
            reasoning_tokens: usage.reasoning_tokens,
        };
        // Details that are all zero are omitted.
        let cached = usage.cache_read_tokens + usage.cache_write_tokens > 0;
        CompletionUsage {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens(),
            prompt_tokens_details: cached.then_some(prompt),
            completion_tokens_details: (usage.reasoning_tokens > 0).then_some(completion),
        }
    }
}

/// Returns OpenAI's finish reason. For refusals OpenAI sends `stop` and the text in `refusal`.
pub(super) fn finish_word(reason: FinishReason, raw: &str) -> &'static str {
    match reason {
        FinishReason::Refusal if matches!(raw, "stop" | "completed") => "stop",
        FinishReason::Refusal | FinishReason::ContentFilter | FinishReason::Error => {
            "content_filter"
        }
        FinishReason::Pause => "stop",
        other => other.as_str(),
    }
}

impl ChatCompletion {
    /// Adds an explanation.
    pub(crate) fn with_explanation(mut self, explanation: Option<Box<Explanation>>) -> Self {
        self.explanation = explanation;
        self
    }

    pub(crate) fn new(reply: Reply, warnings: Vec<Warning>) -> Self {
        let choice = |(index, choice): (usize, ChatChoice)| CompletionChoice {
            index,
            finish_reason: choice
                .finish_reason
                .map(|reason| finish_word(reason, &choice.finish_raw)),
            message: message(choice),
        };
        ChatCompletion {
            id: reply.id,
            object: "chat.completion",
            created: or_now(reply.created),
            model: reply.model,
            choices: reply.choices.into_iter().enumerate().map(choice).collect(),
            usage: reply.usage.map(CompletionUsage::from),
            warnings,
            explanation: None,
            script: None,
        }
    }

    /// Adds the report of a script.
    pub(crate) fn with_script_report(self, script: ScriptReport) -> Self {
        ChatCompletion {
            script: Some(script),
            ..self
        }
    }
}

fn message(choice: ChatChoice) -> CompletionMessage {
    let only_calls = choice.text.is_empty() && !choice.tool_calls.is_empty();
    CompletionMessage {
        role: "assistant",
        content: (!only_calls).then_some(choice.text),
        reasoning_content: Some(choice.reasoning).filter(|text| !text.is_empty()),
        refusal: Some(choice.refusal).filter(|text| !text.is_empty()),
        tool_calls: choice.tool_calls.into_iter().map(call).collect(),
    }
}

fn call(call: ToolCall) -> CompletionCall {
    CompletionCall {
        id: call.id,
        r#type: "function",
        function: CompletionFunction {
            name: call.name,
            arguments: call.arguments,
        },
    }
}

pub(super) fn or_now(created: u64) -> u64 {
    if created > 0 {
        return created;
    }
    clock::since_epoch().as_secs()
}
