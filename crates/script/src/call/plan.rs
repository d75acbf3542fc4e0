//! Decides which parts of a call use provider features and which become instructions in the prompt.

use quillet_core::chat::ChatOptions;
use quillet_core::{ContentPart, Message, MessageContent, Role};
use serde_json::json;

use super::form::AnswerConstraint;
use super::{CallError, ModelCall, bias, protocol};
use crate::answer::{self, AnswerFormat, ProviderSchema};
use crate::host::ModelCapabilities;
use crate::run::EnforcedBy;

/// Parts of a request besides the dialogue.
#[derive(Debug)]
pub(super) struct CallPlan {
    pub(super) form: Option<AnswerConstraint>,
    pub(super) options: ChatOptions,
    /// Instructions for the system message.
    pub(super) words: Vec<String>,
    /// The schema that the provider enforces.
    pub(super) provided: Option<ProviderSchema>,
    pub(super) by: EnforcedBy,
    /// Warnings for the author.
    pub(super) warnings: Vec<String>,
}

impl CallPlan {
    pub(super) fn new(ask: &ModelCall) -> Result<CallPlan, CallError> {
        let form = ask
            .constraint
            .as_ref()
            .map(AnswerConstraint::new)
            .transpose()?;
        let mut plan = CallPlan {
            form: None,
            options: ask.settings.options.clone(),
            words: ask.settings.thinking.instruction().into_iter().collect(),
            provided: None,
            by: EnforcedBy::Check,
            warnings: Vec::new(),
        };
        let warning = bias::apply(&ask.biases, &ask.model, &mut plan.options);
        plan.warnings.extend(warning);
        if ask.settings.stream == Some(false) {
            plan.options.extra.insert("stream".to_owned(), false.into());
        }
        if !ask.tools.is_empty() && !ask.model.abilities.tools {
            plan.words.push(protocol::words(&ask.tools));
        }
        match &form {
            None => {}
            Some(AnswerConstraint::Choice(choice)) => {
                if ask.model.abilities.json_schema && plan.words.is_empty() {
                    plan.provide(ProviderSchema::new(&choice.schema()))
                } else {
                    plan.words.push(choice.instruction())
                }
            }
            Some(form) => plan.shape(ask, form),
        }
        plan.form = form;
        Ok(plan)
    }

    fn provide(&mut self, provided: ProviderSchema) {
        self.options.response_format = Some(provided.response_format());
        self.provided = Some(provided);
        self.by = EnforcedBy::Provider;
    }

    fn shape(&mut self, ask: &ModelCall, form: &AnswerConstraint) {
        let AnswerConstraint::Value { format, .. } = form else {
            return;
        };
        // If the provider enforces a schema, the model cannot write thinking or tool calls as text.
        let speaks = !self.words.is_empty();
        let told = messages_text(&ask.messages);
        let tree = form.tree();
        if let Some(tree) = tree.filter(|_| ask.settings.output_prompt) {
            let section = answer::section(tree, *format, &told);
            let section = section.filter(|_| !told.contains(&answer::describe(tree)));
            self.words.extend(section);
        }
        let ModelCapabilities {
            json_schema,
            json_object,
            ..
        } = ask.model.abilities;
        if *format != AnswerFormat::Json || speaks {
            return;
        }
        match tree {
            Some(tree) if json_schema => self.provide(ProviderSchema::new(tree)),
            _ if json_object && is_object(tree) => self.json_object(&told),
            _ => {}
        }
    }

    /// Requests `json_object`. OpenAI rejects this format unless a message contains the word
    /// "JSON".
    fn json_object(&mut self, told: &str) {
        self.options.response_format = Some(json!({"type": "json_object"}));
        self.by = EnforcedBy::Provider;
        let all = self.words.iter().map(String::as_str).chain([told]);
        if !all.into_iter().any(|text| text.contains("JSON")) {
            self.words
                .push("Answer with one JSON object, and with nothing else.".to_owned());
        }
    }
}

fn is_object(tree: Option<&serde_json::Value>) -> bool {
    tree.is_none_or(|tree| tree.get("type") == Some(&"object".into()))
}

/// Joins the texts of all messages.
fn messages_text(messages: &[Message]) -> String {
    let texts = messages.iter().map(|message| match &message.content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::Text { text } => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Adds instructions to a leading system message, or adds one at the start.
pub(super) fn add_instructions(messages: &mut Vec<Message>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let words = words.join("\n\n");
    match messages.first_mut() {
        Some(Message {
            role: Role::System,
            content: MessageContent::Text(text),
            native,
            ..
        }) => {
            text.push_str("\n\n");
            text.push_str(&words);
            *native = None;
        }
        _ => messages.insert(0, Message::new(Role::System, words)),
    }
}
