//! `quillet demo formats`: renders one prompt in six template formats with one service. Each calls
//! the same tool.

use std::time::Instant;

use futures_util::future::try_join_all;
use quillet_core::Map;
use quillet_core::store::EntryKind;
use quillet_prompt::{PromptService, RenderInput};

use super::demo::{self, DemoTour, TOOL_TIME};
use crate::failure::CliError;

/// Each format with its version of the prompt. `issues_open` is a tool.
const PROMPTS: [(&str, &str); 6] = [
    (
        "go",
        "{{.variables.name}} reviews {{.variables.language}} code. Open issues: {{issues_open}}",
    ),
    (
        "jinja",
        "{{ name }} reviews {{ language }} code. Open issues: {{ issues_open() }}",
    ),
    (
        "handlebars",
        "{{name}} reviews {{language}} code. Open issues: {{issues_open}}",
    ),
    (
        "mustache",
        "{{name}} reviews {{language}} code. Open issues: {{issues_open}}",
    ),
    (
        "semantic-kernel",
        "{{$name}} reviews {{$language}} code. Open issues: {{issues.open}}",
    ),
    (
        "f-string",
        "{name} reviews {language} code. Open issues: {issues_open}",
    ),
];

pub(crate) async fn run() -> Result<(), CliError> {
    let prompts = PROMPTS.map(|(format, template)| {
        let definition = serde_json::json!({"userPrompt": template, "format": format});
        (EntryKind::Prompt, format, definition.to_string())
    });
    let tool = (EntryKind::Tool, "issues:open", "7".to_owned());
    let service = demo::service_of(prompts.into_iter().chain([tool]));
    service.load().await?;
    let tour = DemoTour::new();
    tour.step("One prompt in six template formats. Each prompt sets its format; one process serves them all.")?;
    tour.show(&table(PROMPTS))?;
    let variables = [("name", "Ada".into()), ("language", "Rust".into())];
    let variables: Map = variables.into_iter().collect();
    let begun = Instant::now();
    let render = |(format, _)| render(&service, format, &variables);
    let rendered = try_join_all(PROMPTS.map(render)).await?;
    let calls: usize = rendered.iter().map(|(.., calls)| calls).sum();
    tour.step(&format!(
        "All six rendered in {} ms. Each called the tool issues_open: {calls} concurrent calls of {} ms.",
        begun.elapsed().as_millis(),
        TOOL_TIME.as_millis()
    ))?;
    tour.show(&table(
        rendered
            .iter()
            .map(|(format, text, _)| (*format, text.as_str())),
    ))?;
    tour.step("Next: `quillet render FILE --format NAME`; docs/formats has a page for each format.")
}

/// Returns the rendered text in a format, and the number of tool calls.
async fn render<'a>(
    service: &PromptService,
    format: &'a str,
    variables: &Map,
) -> Result<(&'a str, String, usize), CliError> {
    let input = RenderInput::new(variables, "demo");
    let outcome = service.render(format, &input).await?;
    Ok((format, demo::text(outcome.prompt), outcome.calls))
}

fn table<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let line = |(format, text): (&str, &str)| format!("{format:<16} {text}\n");
    rows.into_iter().map(line).collect()
}
