//! Renders a message as a model receives it, as far as that is known without a run.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::{Map, MapTable, Value};
use quillet_template::{NoFunctions, RenderLimits, TemplateFactory};
use quillet_yaml::Node;

use super::{EditorContext, ScriptDocument, hover_text};
use crate::answer::{AnswerSchema, Inputs, describe};
use crate::library::resolve;
use crate::syntax::MessageTemplate;
use crate::text::hole::may_have_holes;
use crate::text::prefix::{self, FormatTime, TextPosition};
use crate::text::system::{System, Titles};
use crate::text::template::{DEFAULT_FORMAT, TemplateJob, Templates};

/// Time limit for rendering one hover.
const TIME: Duration = Duration::from_millis(200);

/// Maximum number of bytes of a rendered message to display.
const MOST_SHOWN: usize = 8_000;

/// Standard roles of providers.
const SENT: [&str; 4] = ["system", "user", "assistant", "tool"];

/// Renders the message with the values of the front matter and the defaults and examples of the
/// inputs.
pub(super) async fn message(
    document: &ScriptDocument,
    message: &MessageTemplate,
    around: EditorContext<'_>,
) -> String {
    let role = message.role.as_ref().map_or("user", |role| &role.value);
    let values = values(document, around).await;
    let renderer = Renderer {
        templates: Templates::new(Arc::new(TemplateFactory::standard())),
        format: format(document, message),
        values,
    };
    let mut notes = Vec::new();
    let text = renderer.message(message, role, &mut notes).await;
    let text = shortened(&text);
    let mut out = format!("{}\n\n{}", heading(role), hover_text::fenced(text));
    if may_have_holes(text) {
        notes.push("`[[…]]` is filled at run time.".to_owned());
    }
    for note in notes {
        out += &format!("\n\n{note}");
    }
    out
}

fn heading(role: &str) -> String {
    if SENT.contains(&role) {
        format!("**{role}**, as the model gets it")
    } else {
        format!("**{role}**, as the model receives it: a user message with the prefix `{role}: `")
    }
}

fn format(document: &ScriptDocument, message: &MessageTemplate) -> String {
    let own = message
        .fields
        .iter()
        .find(|field| field.name() == "templateFormat");
    let own = own.and_then(|field| field.value.as_str());
    let all = document
        .script
        .config
        .get("templateFormat")
        .and_then(Node::as_str);
    own.or(all).unwrap_or(DEFAULT_FORMAT).to_owned()
}

/// Returns the variables before the first instruction.
async fn values(document: &ScriptDocument, around: EditorContext<'_>) -> MapTable {
    let resolved = resolve(document.script.clone(), around.library).await;
    let config = match resolved {
        Ok(resolved) => resolved.config,
        Err(_) => document
            .script
            .config
            .value()
            .as_map()
            .cloned()
            .unwrap_or_default(),
    };
    let mut table = config.to_table();
    let inputs = config
        .get("input")
        .and_then(|input| Inputs::read(input).ok());
    for field in inputs.unwrap_or_default().fields {
        let value = field.default.or_else(|| field.examples.into_iter().next());
        if let Some(value) = value {
            table.entry(field.name.into()).or_insert(value);
        }
    }
    if let Some(prompt) = config.get("prompt").and_then(Value::as_map) {
        table.extend(
            prompt
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    let output = config
        .get("output")
        .map(|output| AnswerSchema::new(&output.into()));
    if let Some(Ok(schema)) = output {
        table.insert("output".into(), describe(schema.tree()).into());
    }
    table
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MOST_SHOWN);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

struct Renderer {
    templates: Templates,
    format: String,
    values: MapTable,
}

impl Renderer {
    async fn message(
        &self,
        message: &MessageTemplate,
        role: &str,
        notes: &mut Vec<String>,
    ) -> String {
        let position = match message.role {
            Some(_) => TextPosition::Argument,
            None => TextPosition::Message,
        };
        let value = message.content.value();
        let rendered = self.value(&value, position, notes).await;
        match rendered {
            Value::Str(text) => text.to_string(),
            Value::Map(_) | Value::List(_) if role == "system" => self.system(&rendered),
            other => quillet_core::json::to_string(&other),
        }
    }

    /// Renders a single structured system message. A run combines those of the whole dialogue.
    fn system(&self, value: &Value) -> String {
        let text = |key: &str| self.values.get(key).and_then(Value::as_str);
        let mut system = System::default();
        if let Err(why) = system.add(value) {
            return why;
        }
        let format = self.values.get("response_format").and_then(Value::as_map);
        system.render(&Titles {
            notes: text("SystemNotesTitle"),
            output: text("SystemOutputTitle"),
            output_type: format
                .and_then(|format| format.get("type"))
                .and_then(Value::as_str),
        })
    }

    fn value<'a>(
        &'a self,
        value: &'a Value,
        position: TextPosition,
        notes: &'a mut Vec<String>,
    ) -> quillet_core::BoxFuture<'a, Value> {
        Box::pin(async move {
            match value {
                Value::Str(text) => self.text(text, position, notes).await.into(),
                Value::List(items) => {
                    let mut out = Vec::new();
                    for item in items.iter() {
                        out.push(self.value(item, TextPosition::Argument, notes).await);
                    }
                    out.into()
                }
                Value::Map(map) => {
                    let mut out = MapTable::default();
                    for (name, value) in map {
                        let value = self.value(value, TextPosition::Argument, notes).await;
                        out.insert(name.clone(), value);
                    }
                    Value::Map(Map::new(out))
                }
                other => other.clone(),
            }
        })
    }

    async fn text(&self, text: &str, position: TextPosition, notes: &mut Vec<String>) -> String {
        let read = prefix::read(text, position);
        match read.form {
            FormatTime::Raw => return read.text.to_owned(),
            FormatTime::Expression => {
                notes.push("An expression: its value is the message.".to_owned());
                return read.text.to_owned();
            }
            FormatTime::Default | FormatTime::Immediate => {}
        }
        let values = self.with_unknown(read.text, notes);
        let limits = RenderLimits {
            time: TIME,
            ..RenderLimits::default()
        };
        let job = TemplateJob {
            format: &self.format,
            text: read.text,
            variables: &values,
            functions: &NoFunctions,
            limits: &limits,
            authored: &|name| self.values.contains_key(name),
            declared: &|_| true,
        };
        match self.templates.render(&job).await {
            Ok(text) => text,
            Err(error) => {
                notes.push(format!("Not rendered: {}.", error.message));
                read.text.to_owned()
            }
        }
    }

    /// Adds placeholders for variables that are known only at run time, with their text as written.
    fn with_unknown(&self, text: &str, notes: &mut Vec<String>) -> Map {
        let mut table = self.values.clone();
        let Ok(template) = self.templates.compile(&self.format, text) else {
            return Map::new(table);
        };
        let mut unknown: Vec<&str> = Vec::new();
        for reference in &template.references().variables {
            let [name] = reference.path.as_slice() else {
                continue;
            };
            if !table.contains_key(name.as_str()) {
                table.insert(name.as_str().into(), format!("{{{{{name}}}}}").into());
                unknown.push(name);
            }
        }
        if !unknown.is_empty() {
            notes.push(format!(
                "Known only at run time: `{}`.",
                unknown.join("`, `")
            ));
        }
        Map::new(table)
    }
}
