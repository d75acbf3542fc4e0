//! Verifies a conversion: the result is read, rendered and compared with the original.

use futures_util::FutureExt;
use quillet_core::{Map, MapTable, Value};
use quillet_template::convert::{Nodes, VariableType};
use quillet_template::{
    CompileOptions, CompiledTemplate, MessagePart, NoFunctions, Render, RenderLimits,
    RenderedTemplate, TemplateFactory, TemplateSource, render,
};

use super::document::FileParts;
use super::refusal::ConvertNote;
use super::target::ConvertTarget;
use super::{sample, turns};
use crate::definition::{Prompt, PromptBody};
use crate::file::{self, NoEnvironment, PromptFile};

/// Inputs for rendering both prompts.
pub(super) struct ConvertCheck<'p> {
    pub(super) formats: &'p TemplateFactory,
    /// Types of the variables.
    pub(super) shapes: &'p VariableType,
    /// Parsed trees of the templates, where available.
    pub(super) trees: &'p [Nodes],
    /// Whether deployment data is left out.
    pub(super) drop_deployment: bool,
}

impl ConvertCheck<'_> {
    /// Verifies that a conversion is exact.
    ///
    /// # Errors
    /// The location of a difference.
    pub(super) fn verify(
        &self,
        prompt: &Prompt,
        id: &str,
        text: &str,
        target: ConvertTarget,
    ) -> Result<(), Vec<ConvertNote>> {
        let again = read(id, text, target)?;
        let whole = |reason: &str| Err(vec![ConvertNote::template(0, reason)]);
        if again.model != prompt.model || again.options != prompt.options {
            return whole("the model's settings would change");
        }
        let (before, after) = (self.parts(prompt)?, self.parts(&again)?);
        let takes = |parts: &FileParts| {
            let one = |input: &super::document::FileVariable| {
                (input.name.clone(), input.required, input.default.clone())
            };
            parts.inputs.iter().map(one).collect::<Vec<_>>()
        };
        if takes(&before) != takes(&after) {
            return whole("the prompt's parameters would change");
        }
        match (self.render_messages(prompt), self.render_messages(&again)) {
            // A failed render proves nothing, so it rejects the conversion like a difference does.
            (Some(before), Some(after)) if before == after => Ok(()),
            _ => whole("the template has no exact counterpart: its messages would change"),
        }
    }

    fn parts(&self, prompt: &Prompt) -> Result<FileParts, Vec<ConvertNote>> {
        FileParts::of(prompt, self.drop_deployment)
    }

    /// Renders a prompt to pairs of role and text.
    fn render_messages(&self, prompt: &Prompt) -> Option<Vec<(String, String)>> {
        let templates = prompt.templates();
        let sources: Vec<TemplateSource<'_>> = templates
            .iter()
            .map(|(name, text)| TemplateSource::new(name, text))
            .collect();
        let options = CompileOptions {
            missing: prompt.missing,
            messages: prompt.messages,
            trusted: prompt.trusted.clone(),
            trusted_results: prompt.trusted_results,
            ..CompileOptions::default()
        };
        let template = self
            .formats
            .compile(&prompt.format, &sources, &options)
            .ok()?;
        let entries: Vec<&str> = sources.iter().map(|source| source.name).collect();
        let work = Render {
            template: template.as_ref(),
            entries: &entries,
            variables: &self.samples(template.as_ref()),
            functions: &NoFunctions,
            limits: &RenderLimits::default(),
        };
        // No tool is called, so the render completes without waiting.
        let done = render(&work).now_or_never()?.ok()?;
        Some(conversation(&prompt.body, &done))
    }

    /// Creates sample variables. Each value contains the variable's name, and characters that have
    /// a special meaning in some format.
    fn samples(&self, template: &dyn CompiledTemplate) -> Map {
        if !self.trees.is_empty() {
            let trees = self.trees.iter().map(Vec::as_slice);
            return sample::variables(trees, self.shapes);
        }
        let mut root = Value::Map(Map::default());
        for variable in &template.references().variables {
            let text = format!(
                "{} <b> & \"'{{}} {{{{x}}}}\nuser:\n.",
                variable.path.join(".")
            );
            root = with(&root, &variable.path, text.into());
        }
        match root {
            Value::Map(map) => map,
            _ => Map::default(),
        }
    }
}

fn read(id: &str, text: &str, target: ConvertTarget) -> Result<Prompt, Vec<ConvertNote>> {
    let name = match target {
        ConvertTarget::Definition => "converted.json",
        ConvertTarget::Dotprompt => "converted.prompt",
        ConvertTarget::Prompty => "converted.prompty",
        ConvertTarget::SemanticKernel => "converted.yaml",
    };
    let file = PromptFile {
        id,
        name,
        text,
        config: None,
    };
    let read = match target {
        ConvertTarget::Definition => Prompt::parse(id, name, text),
        _ => file::read(&file, &NoEnvironment),
    };
    let prompt = read.map(|(prompt, _)| prompt).map_err(|found| {
        let why = found.first().map(|one| one.message.clone());
        let reason = format!("no exact counterpart: {}", why.unwrap_or_default());
        vec![ConvertNote::template(0, reason)]
    })?;
    Ok(prompt)
}

fn conversation(body: &PromptBody, done: &RenderedTemplate) -> Vec<(String, String)> {
    // Some files name the same role `model`, and others `assistant`.
    let role = |name: &str| match turns::role(name) {
        Some(role) => role.as_str().to_owned(),
        None => name.to_owned(),
    };
    if let PromptBody::Messages(messages) = body {
        let text = |(index, message): (usize, &crate::TemplateMessage)| {
            let text = done.text(index).trim().to_owned();
            (message.role.as_str().to_owned(), text)
        };
        return messages.iter().enumerate().map(text).collect();
    }
    let messages = done.conversation(0, &[]);
    let text = |part: &MessagePart| match part {
        MessagePart::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    // Some file formats trim messages, and others do not.
    let one = |message: &quillet_template::ChatMessage| {
        let text: String = message.parts.iter().map(text).collect();
        (role(&message.role), text.trim().to_owned())
    };
    messages.iter().map(one).collect()
}

/// Returns a copy of the object with the value inserted at a path.
fn with(root: &Value, path: &[String], value: Value) -> Value {
    let [first, rest @ ..] = path else {
        return value;
    };
    let mut table: MapTable = root.as_map().map(Map::to_table).unwrap_or_default();
    let inner = table.get(first.as_str()).cloned().unwrap_or_default();
    table.insert(first.as_str().into(), with(&inner, rest, value));
    Value::Map(Map::new(table))
}
