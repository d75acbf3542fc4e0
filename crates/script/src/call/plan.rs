//! Which options of a call its provider has, and which become words for the model.

use quillet_core::chat::ChatOptions;
use quillet_core::{Content, ContentPart, Message, Role};
use serde_json::json;

use super::form::Form;
use super::{Ask, CallError, bias, protocol};
use crate::answer::{self, Format, Provided};
use crate::host::Abilities;
use crate::run::EnforcedBy;

/// What is sent besides the dialogue.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) form: Option<Form>,
    pub(super) options: ChatOptions,
    /// What goes into the system message.
    pub(super) words: Vec<String>,
    /// The schema that the provider keeps to.
    pub(super) provided: Option<Provided>,
    pub(super) by: EnforcedBy,
    /// What the author should know.
    pub(super) warnings: Vec<String>,
}

impl Plan {
    pub(super) fn new(ask: &Ask) -> Result<Plan, CallError> {
        let form = ask.constraint.as_ref().map(Form::new).transpose()?;
        let mut plan = Plan {
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
            Some(Form::Choice(choice)) => {
                if ask.model.abilities.json_schema && plan.words.is_empty() {
                    plan.provide(Provided::new(&choice.schema()))
                } else {
                    plan.words.push(choice.instruction())
                }
            }
            Some(form) => plan.shape(ask, form),
        }
        plan.form = form;
        Ok(plan)
    }

    fn provide(&mut self, provided: Provided) {
        self.options.response_format = Some(provided.response_format());
        self.provided = Some(provided);
        self.by = EnforcedBy::Provider;
    }

    fn shape(&mut self, ask: &Ask, form: &Form) {
        let Form::Value { format, .. } = form else {
            return;
        };
        // A provider that keeps to a schema leaves no room for thoughts or calls in words.
        let speaks = !self.words.is_empty();
        let told = told(&ask.messages);
        let tree = form.tree();
        if let Some(tree) = tree.filter(|_| ask.settings.output_prompt) {
            let section = answer::section(tree, *format, &told);
            let section = section.filter(|_| !told.contains(&answer::describe(tree)));
            self.words.extend(section);
        }
        let Abilities {
            json_schema,
            json_object,
            ..
        } = ask.model.abilities;
        if *format != Format::Json || speaks {
            return;
        }
        match tree {
            Some(tree) if json_schema => self.provide(Provided::new(tree)),
            _ if json_object && is_object(tree) => self.json_object(&told),
            _ => {}
        }
    }

    /// OpenAI refuses this format where no message has its name.
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

/// All that the messages say.
fn told(messages: &[Message]) -> String {
    let texts = messages.iter().map(|message| match &message.content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                ContentPart::Text { text } => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Puts words behind the first message, if that is the system's, else before all.
pub(super) fn tell(messages: &mut Vec<Message>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let words = words.join("\n\n");
    match messages.first_mut() {
        Some(Message {
            role: Role::System,
            content: Content::Text(text),
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
