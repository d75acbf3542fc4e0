//! What a call is given, and what it gives.

use std::sync::Arc;

use quillet_core::chat::{FinishReason, Usage};
use quillet_core::tool::Tool;
use quillet_core::{Map, Message, Value};

use super::CallSettings;
use super::constraint::Constraint;
use crate::host::ModelHandle;
use crate::run::EnforcedConstraint;
use crate::text::bias::Bias;

/// One call of a model: everything that it needs.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The model.
    pub model: ModelHandle,
    /// The dialogue, rendered, the system message first.
    pub messages: Vec<Message>,
    /// How to answer.
    pub settings: CallSettings,
    /// The form that the answer has to have.
    pub constraint: Option<Constraint>,
    /// What the author wrote behind the answer in the same message; read together with it
    /// where `response_format.conversionScope` is `message`.
    pub suffix: String,
    /// What the model may call. Who may call what is checked by the tools themselves.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Texts whose probability is to change: `((text:bias))`, already taken out of the messages.
    pub biases: Vec<Bias>,
    /// Where a random choice starts from.
    pub seed: u64,
    /// Tell the request, and ask nobody: the answer is empty.
    pub dry: bool,
}

impl ModelCall {
    /// A call with every default.
    #[must_use]
    pub fn new(model: ModelHandle, messages: Vec<Message>) -> Self {
        ModelCall {
            model,
            messages,
            settings: CallSettings::default(),
            constraint: None,
            suffix: String::new(),
            // No tools by default: a call can use only what its caller lists.
            tools: Vec::new(),
            biases: Vec::new(),
            seed: 0,
            dry: false,
        }
    }
}

/// The result of a call of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelAnswer {
    /// The visible text: without the thinking; for a choice the options in their own spelling.
    pub content: String,
    /// What the text says in the form that was asked for; nothing where none was asked for, or
    /// where the text does not have it and need not.
    pub value: Option<Value>,
    /// What the model thought.
    pub thinking: Option<String>,
    /// All that the model wrote, before thinking was taken out.
    pub original: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// The model's name, as its provider gave it.
    pub model: String,
    /// Tokens of all requests together.
    pub usage: Usage,
    /// How often the answer was continued.
    pub retries: u32,
    /// How the form was enforced; its `variable` is the caller's to fill.
    pub enforced: Option<EnforcedConstraint>,
    /// Calls of tools, in order.
    pub tools: Vec<ToolUse>,
    /// What the author should know.
    pub warnings: Vec<String>,
}

/// A call of a tool that was made on the way to an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// What it gave, or its failure in words.
    pub result: Result<Value, String>,
}

impl ModelAnswer {
    /// The whole result, for `llmReturnResult` and listeners of `llm`:
    /// `{content, finishReason, model, usage, retries, value?, thinking?, tools?}`.
    #[must_use]
    pub fn raw(&self) -> Map {
        // Values have no unsigned integers; a count beyond `i64` is impossible in practice.
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
