//! Checks that request variables are only printed, for templates that the neutral tree cannot
//! express.
//!
//! The check replaces each expression that prints a variable with a literal text. It succeeds under
//! two conditions. First, the format's own compiler finds no other reference to a request variable,
//! so nothing else depends on one. Second, the result renders to the same text as the original
//! template with those texts as variables, so each replaced expression prints exactly its variable.
//! Both together prove the export for all values, independently of the tree.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::{Diagnostic, Map, Span};

use super::inline::{ResidualError, definition};
use super::notation::FilledPlaceholders;
use super::open::{OpenVariables, VariableOwner};
use crate::definition::{Prompt, PromptBody, TemplateMessage};
use crate::input::RenderInput;
use crate::messages::RenderedPrompt;
use crate::service::PromptService;

/// Renders the prompt with literal texts in place of its open variables.
///
/// # Errors
/// Another part of the prompt depends on a request variable, or the render fails.
pub(super) async fn render(
    service: &PromptService,
    prompt: &Prompt,
    open: &OpenVariables,
    filling: &FilledPlaceholders,
    request_id: &str,
) -> Result<RenderedPrompt, ResidualError> {
    let body = masked(&prompt.body, open, filling);
    let Some(definition) = definition(prompt, &open.threads, &body) else {
        return Ok(RenderedPrompt::Messages(Vec::new()));
    };
    let catalogue = service.catalogue();
    let snapshot = catalogue.snapshot();
    let inline = catalogue.inline(&prompt.id, definition.clone(), &snapshot);
    let (_, sources) = inline.map_err(ResidualError::Refused)?;
    let compiled = catalogue
        .compiler()
        .compile(&sources)
        .map_err(|error| ResidualError::Refused(error.diagnostics))?;
    let references = compiled.template.references();
    if references.dynamic {
        let mut refused = open.unread.clone();
        let what = "all variables of the request are read together";
        refused.push(Diagnostic::error("convert.refused", &prompt.id, what));
        return Err(ResidualError::Refused(refused));
    }
    let depends = references.variables.iter().find_map(|variable| {
        let (VariableOwner::Request(name) | VariableOwner::Inside(name)) =
            open.scope.of(&variable.path)
        else {
            return None;
        };
        let what = format!("the variable {name} of the request is used for more than printing");
        let (source, text) = sources.text(variable.source)?;
        let found = Diagnostic::error("convert.refused", &source, what);
        // Locations in the masked text do not match the author's text.
        let is_own = sources.owner(&source) == Some(&*prompt.id);
        Some(if is_own {
            found
        } else {
            found.at(text, variable.span)
        })
    });
    if let Some(depends) = depends {
        let mut refused = vec![depends];
        refused.extend(open.unread.iter().cloned());
        return Err(ResidualError::Refused(refused));
    }
    let nothing = Map::default();
    let input = RenderInput::new(&nothing, request_id);
    Ok(service.render_inline(definition, &input).await?.prompt)
}

/// Range of the expression in a tag. The span from the format may include trim markers or the whole
/// tag.
fn expression(text: &str, span: Span) -> Option<Range<usize>> {
    let around = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '-' | '+');
    let tag = text.get(span.start..span.end)?;
    let start = span.start + tag.len() - tag.trim_start_matches(around).len();
    Some(start..start + tag.trim_matches(around).len())
}

fn masked(body: &PromptBody, open: &OpenVariables, filling: &FilledPlaceholders) -> PromptBody {
    let mask = |template: usize, text: &Arc<str>| {
        let mut text = text.to_string();
        let prints = open.prints.iter().filter(|one| one.template == template);
        let mut prints: Vec<(Span, String)> = prints
            .map(|one| (one.span, filling.mark(one.name)))
            .collect();
        // The spans are replaced in reverse order, so that earlier spans stay valid.
        prints.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        for (span, mark) in prints {
            let literal = format!("\"{}\"", mark.replace('"', "\\\""));
            if let Some(expression) = expression(&text, span) {
                text.replace_range(expression, &literal);
            }
        }
        Arc::from(text)
    };
    match body {
        PromptBody::Text(text) => PromptBody::Text(mask(0, text)),
        PromptBody::Messages(messages) => {
            let messages = messages.iter().enumerate();
            let message = |(index, message): (usize, &TemplateMessage)| TemplateMessage {
                role: message.role,
                content: mask(index, &message.content),
            };
            PromptBody::Messages(messages.map(message).collect())
        }
        PromptBody::Script(script) => PromptBody::Script(script.clone()),
    }
}
