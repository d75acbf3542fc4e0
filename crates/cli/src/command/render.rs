//! `quillet render`: renders a file or a stored prompt.

use std::sync::Arc;

use quillet::components;
use quillet::settings::Settings;
use quillet_core::Message;
use quillet_prompt::{RenderInput, RenderOutcome, RenderedPrompt};
use serde_json::json as tree;

use crate::args::Render;
use crate::failure::CliError;
use crate::prompt_target::{PromptArgs, PromptTarget};
use crate::source;
use crate::terminal::{self, Stream};

pub(crate) async fn run(args: &Render, config: &Settings) -> Result<(), CliError> {
    if args.target == "-" && args.data.as_deref() == Some("-") {
        return Err(CliError::Usage(
            "standard input cannot be both the template and the data".into(),
        ));
    }
    let variables = source::variables(args.data.as_deref(), &args.define)?;
    let asked = PromptArgs {
        name: &args.target,
        format: args.format.as_deref(),
        lenient: args.lenient,
    };
    let target = PromptTarget::find(&asked, config, &variables).await?;
    let service = components::service(config, target.store.clone(), None, Arc::default())?;
    service.load().await?;
    let input = RenderInput {
        explain: true,
        ..RenderInput::new(&variables, "render")
    };
    match service.render(&target.id, &input).await {
        Ok(outcome) => {
            target.print_warnings(&outcome, &args.define);
            print(args.json, &outcome)
        }
        Err(error) => Err(target.failure(error, &service, &variables)),
    }
}

fn print(json: bool, outcome: &RenderOutcome) -> Result<(), CliError> {
    if json {
        let mut shown = match &outcome.prompt {
            RenderedPrompt::Text(text) => tree!({"kind": "prompt", "prompt": text}),
            RenderedPrompt::Messages(messages) => tree!({"kind": "messages", "messages": messages}),
        };
        shown["warnings"] = tree!(outcome.failures);
        return Ok(terminal::line(&format!("{shown:#}"))?);
    }
    let text = match &outcome.prompt {
        RenderedPrompt::Text(text) => text.clone(),
        RenderedPrompt::Messages(messages) => as_text(messages),
    };
    // A file or pipe gets exactly the rendered text; a terminal also gets a final new line.
    let written = if Stream::Out.is_terminal() {
        terminal::line(&text)
    } else {
        terminal::result(&text)
    };
    Ok(written?)
}

/// Formats messages as text.
pub(crate) fn as_text(messages: &[Message]) -> String {
    let shown = messages
        .iter()
        .map(|message| format!("[{}]\n{}\n", message.role.as_str(), message.content));
    shown.collect::<Vec<_>>().join("\n")
}
