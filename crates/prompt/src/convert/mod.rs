//! Conversion between kinds of prompt files. Only exact conversions are allowed.
//!
//! The converter supports text, variables, conditions, loops, messages, parameters, and the model
//! with its settings. It rejects everything else with a location and a reason, so nothing is lost
//! silently. It then parses and renders the result and compares it with the original. If they
//! differ, the conversion fails.

mod document;
mod refusal;
mod sample;
mod target;
mod template;
mod turns;
mod verify;
mod yaml;

use quillet_core::{Diagnostic, Severity, Span, Value};
use quillet_template::TemplateFactory;
use quillet_template::convert::{ConvertOptions, ConvertedTemplate, VariableType};

use self::refusal::{ConvertNote, NoteLocation};
pub use self::target::ConvertTarget;
use crate::definition::Prompt;
use crate::file::{self, FileEnvironment, PromptFile};

/// Options for converting a prompt file.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// Options for converting the template.
    pub template: ConvertOptions,
    /// Whether deployment data is left out instead of being rejected: `connection`,
    /// `configuration`, `provider`, and `apiType` or `api` with the value `chat`.
    pub drop_deployment: bool,
}

/// Converts a prompt file or a JSON definition. Variable types declared in the file can be
/// overridden in `options`.
///
/// # Errors
/// Errors in the file, or all parts without an exact counterpart, each with its location.
pub fn convert(
    source: &PromptFile<'_>,
    target: ConvertTarget,
    outside: &dyn FileEnvironment,
    formats: &TemplateFactory,
    options: &FileOptions,
) -> Result<ConvertedTemplate, Vec<Diagnostic>> {
    let prompt = read(source, outside)?;
    let lenient = match target {
        ConvertTarget::Definition => Ok(()),
        _ => document::lenient(&prompt),
    };
    let tell = |refusals: Vec<ConvertNote>| {
        let found = refusals
            .into_iter()
            .map(|one| finding(source, &prompt, one));
        found.collect::<Vec<_>>()
    };
    let drop_deployment = options.drop_deployment;
    let options = ConvertOptions {
        shapes: declared(&prompt, &options.template),
        ..options.template.clone()
    };
    let parts = document::FileParts::of(&prompt, drop_deployment);
    let body = template::of(&prompt, target, formats, &options);
    let (parts, body) = match (parts, body, lenient) {
        (Ok(parts), Ok(body), Ok(())) => (parts, body),
        // All reasons are reported together, so that one run shows everything to change.
        (parts, body, lenient) => {
            let all = [lenient.err(), parts.err(), body.err()];
            return Err(tell(all.into_iter().flatten().flatten().collect()));
        }
    };
    let text = document::write(&parts, &body, target).map_err(tell)?;
    // The new file is parsed and rendered, so that an inexact conversion is rejected.
    let proof = verify::ConvertCheck {
        formats,
        shapes: &options.shapes,
        trees: &body.trees,
        drop_deployment,
    };
    let held = proof.verify(&prompt, source.id, &text, target);
    held.map_err(tell)?;
    let mut notes = tell(body.notes);
    for note in &mut notes {
        // Notes apply to some values only, so they do not reject the conversion.
        note.severity = Severity::Warning;
        note.code = "convert.values";
    }
    Ok(ConvertedTemplate { text, notes })
}

/// Types of a prompt's variables.
fn declared(prompt: &Prompt, options: &ConvertOptions) -> VariableType {
    let schema = prompt.parameters.schema().map(Value::from);
    let mut shapes = schema
        .as_ref()
        .map(VariableType::of_schema)
        .unwrap_or_default();
    if let VariableType::Object(fields) = &options.shapes {
        for (name, shape) in fields {
            shapes.declare(name, shape.clone());
        }
    }
    shapes
}

fn read(source: &PromptFile<'_>, outside: &dyn FileEnvironment) -> Result<Prompt, Vec<Diagnostic>> {
    let read = match file::kind(source.name, source.text) {
        Some(_) => file::read(source, outside),
        None => Prompt::parse(source.id, source.name, source.text),
    };
    read.map(|(prompt, _)| prompt)
}

/// Converts a note to a diagnostic in the file.
fn finding(source: &PromptFile<'_>, prompt: &Prompt, refusal: ConvertNote) -> Diagnostic {
    let found = Diagnostic::error("convert.refused", source.name, refusal.reason);
    match refusal.at {
        NoteLocation::Template(byte) => {
            let templates = prompt.templates();
            let text = templates.first().map_or("", |(_, text)| text);
            let span = Span {
                start: byte,
                end: byte,
            };
            prompt.locate(found.at(text, span))
        }
        NoteLocation::Key(key) => match key_at(source.text, &key) {
            Some(start) => found.at(source.text, Span { start, end: start }),
            None => found,
        },
    }
}

/// Byte offset of a key in YAML or JSON: the first line that begins with the key.
fn key_at(text: &str, key: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let lead = line.len() - line.trim_start_matches([' ', '\t', '"', '{']).len();
        let rest = line[lead..]
            .strip_prefix(key)
            .map(|rest| rest.trim_start_matches('"'));
        if rest.is_some_and(|rest| rest.trim_start().starts_with(':')) {
            return Some(at + lead);
        }
        at += line.len();
    }
    None
}
