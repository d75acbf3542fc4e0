//! Input and result of a model call.

use std::sync::Arc;

use quillet_core::chat::{FinishReason, Usage};
use quillet_core::tool::Tool;
use quillet_core::{Map, Message, Value};

use super::CallSettings;
use super::constraint::Constraint;
use crate::host::ModelHandle;
use crate::run::EnforcedConstraint;
use crate::text::bias::Bias;

/// The input of one model call.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The model.
    pub model: ModelHandle,
    /// The rendered dialogue. The system message, if any, comes first.
    pub messages: Vec<Message>,
    /// Settings for the answer.
    pub settings: CallSettings,
    /// The required form of the answer.
    pub constraint: Option<Constraint>,
    /// The author's text that follows the answer in the same message. The suffix is parsed together
    /// with the answer if `response_format.conversionScope` is `message`.
    pub suffix: String,
    /// Tools that the model may call. Each tool checks the permissions itself.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Strings that the model should use more or less often. The marks `((text:bias))` are already
    /// removed from the messages.
    pub biases: Vec<Bias>,
    /// Seed of random choices.
    pub seed: u64,
    /// Whether the request is only reported and not sent. The answer is then empty.
    pub dry: bool,
}

impl ModelCall {
    /// Creates a call with default values.
    #[must_use]
    pub fn new(model: ModelHandle, messages: Vec<Message>) -> Self {
        ModelCall {
            model,
            messages,
            settings: CallSettings::default(),
            constraint: None,
            suffix: String::new(),
            // There are no tools by default, so a call can use only those that its caller lists.
            tools: Vec::new(),
            biases: Vec::new(),
            seed: 0,
            dry: false,
        }
    }
}

/// Result of a model call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// The visible text, without the model's thinking. For a choice, the selected options in their
    /// original spelling.
    pub content: String,
    /// The value in the requested format. `None` if no format was requested, or if the settings
    /// allow text in another format.
    pub value: Option<Value>,
    /// The model's reasoning.
    pub thinking: Option<String>,
    /// The complete output of the model, including its reasoning.
    pub original: String,
    /// The reason why the answer ended.
    pub finish_reason: FinishReason,
    /// The model name as reported by the provider.
    pub model: String,
    /// Total tokens of all requests.
    pub usage: Usage,
    /// Number of continuations.
    pub retries: u32,
    /// How the constraint was enforced. The caller sets `variable`.
    pub enforced: Option<EnforcedConstraint>,
    /// Tool calls, in order.
    pub tools: Vec<ToolUse>,
    /// Warnings for the author.
    pub warnings: Vec<String>,
}

/// A tool call that was made while producing an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// The result of the tool, or an error message.
    pub result: Result<Value, String>,
}

impl ModelAnswer {
    /// Returns the complete result as an object for `llmReturnResult` and for listeners of `llm`:
    /// `{content, finishReason, model, usage, retries, value?, thinking?, tools?}`.
    #[must_use]
    pub fn raw(&self) -> Map {
        // Values have no unsigned integers. In practice, no token count exceeds `i64`.
        let count = |tokens: u64| Value::Int(i64::try_from(tokens).unwrap_or(i64::MAX));
        let usage: Map = [
            ("inputTokens", count(self.usage.input_tokens)),
            ("outputTokens", count(self.usage.output_tokens)),
        ]
        .into_iter()
        .collect();
        let mut fields: Vec<(&str, Value)> = vec![
            ("content", self.content.as_str().into()),
            ("finishReason", self.finish_reason.as_str().into()),
            ("model", self.model.as_str().into()),
            ("usage", usage.into()),
            ("retries", Value::Int(self.retries.into())),
        ];
        if let Some(value) = &self.value {
            fields.push(("value", value.clone()));
        }
        if let Some(thinking) = &self.thinking {
            fields.push(("thinking", thinking.as_str().into()));
        }
        if !self.tools.is_empty() {
            let tools = self.tools.iter().map(ToolUse::raw).collect::<Vec<_>>();
            fields.push(("tools", tools.into()));
        }
        fields.into_iter().collect()
    }
}

impl ToolUse {
    fn raw(&self) -> Value {
        let outcome = match &self.result {
            Ok(value) => ("result", value.clone()),
            Err(failure) => ("error", failure.as_str().into()),
        };
        let fields = [
            ("name", self.name.as_str().into()),
            ("arguments", self.arguments.clone()),
            outcome,
        ];
        Value::Map(fields.into_iter().collect())
    }
}
