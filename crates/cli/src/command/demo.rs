//! `quillet demo`: a tour that takes less than a second and needs no network. It shows a template,
//! its variables, late-bound tools, an error with its fix, and a mock answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use quillet_core::chat::{ChatOptions, Reply};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_core::tool::{
    BuiltTool, Tool, ToolBuilder, ToolContext, ToolError, ToolErrorKind, ToolSpec,
};
use quillet_core::{BoxFuture, Diagnostic, Map, Value, json};
use quillet_llm::Mock;
use quillet_prompt::{
    Catalogue, PromptService, RenderInput, RenderedPrompt, ServiceOptions, Variables,
};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;

use crate::explain::PromptTemplates;
use crate::failure::CliError;
use crate::overlay::Overlay;
use crate::report;
use crate::terminal::{self, Stream, TextStyle, styled};

const TEMPLATE: &str = "\
You review {{.project.language}} code. Answer in {{.variables.language}}.
{{if .variables.strict}}Be strict.
{{end}}Open issues: {{issues_open}}
Recent commits:{{range git_log 2}}
- {{.}}{{end}}
";

const MISTYPED: &str = "Answer in {{.variables.langage}}.\n";

/// Duration of each demo tool call.
const TOOL_TIME: Duration = Duration::from_millis(50);

pub(crate) async fn run() -> Result<(), CliError> {
    let service = service();
    service.load().await?;
    let tour = DemoTour::new();
    let variables = json::parse(r#"{"language": "English", "strict": true}"#);
    let variables = variables
        .ok()
        .and_then(|value| value.as_map().cloned())
        .unwrap_or_default();

    tour.step(
        "A prompt is a template. It uses shared variables and tools that other programs provide.",
    )?;
    tour.show(TEMPLATE)?;
    tour.step("Each request has its own variables.")?;
    tour.show(&json::to_string(&variables.clone().into()))?;
    let begun = Instant::now();
    let outcome = service
        .render("review", &RenderInput::new(&variables, "demo"))
        .await?;
    let took = begun.elapsed();
    tour.step(&format!(
        "Rendered in {} ms. Rendering called two tools of {} ms each, concurrently.",
        took.as_millis(),
        TOOL_TIME.as_millis()
    ))?;
    tour.show(&text(outcome.prompt))?;
    tour.step("Mistakes are reported before anything is sent, with a fix.")?;
    tour.show(&mistake(&service, &variables).await)?;
    tour.step(
        "Sent to the built-in mock model. A real one needs OPENAI_API_KEY or OPENAI_BASE_URL.",
    )?;
    tour.show(&answer(&service, &variables).await?)?;
    tour.step("Ask a database: Quillet writes the query, checks it, and runs it read-only.")?;
    tour.show(&super::sql::tour().await?)?;
    tour.step("Next: `quillet serve --demo`, `quillet sql \"…\" --db demo`, or `quillet render FILE -D name=value`.")
}

struct DemoTour {
    colour: bool,
}

impl DemoTour {
    fn new() -> Self {
        DemoTour {
            colour: Stream::Out.has_colour(),
        }
    }

    fn step(&self, text: &str) -> Result<(), CliError> {
        Ok(terminal::line(&styled(text, TextStyle::Bold, self.colour))?)
    }

    /// Prints an indented block of text.
    fn show(&self, text: &str) -> Result<(), CliError> {
        let line = |line: &str| match line {
            "" => "\n".to_owned(),
            _ => format!("    {line}\n"),
        };
        let block: String = text.lines().map(line).collect();
        Ok(terminal::line(&format!("\n{block}\n"))?)
    }
}

/// Creates a service with the demo's entries and tools.
fn service() -> PromptService {
    let prompt = |template: &str| serde_json::json!({"userPrompt": template}).to_string();
    let log = r#"["Bind names late", "Count steps in filters", "Say hello"]"#;
    let entries = [
        (EntryKind::Prompt, "review", prompt(TEMPLATE)),
        (EntryKind::Prompt, "mistyped", prompt(MISTYPED)),
        (
            EntryKind::Environ,
            "project:language",
            "\"Rust\"".to_owned(),
        ),
        (EntryKind::Tool, "git:log", log.to_owned()),
        (EntryKind::Tool, "issues:open", "7".to_owned()),
    ];
    let mut store = Overlay::new(Arc::new(MemoryStore::new()));
    for (kind, key, text) in entries {
        // The ids look like template file names, so that diagnostics show the templates.
        store.add(
            kind,
            StoreEntry::new(EntryKey::new(key), text, format!("{key}.tmpl")),
        );
    }
    let store: Arc<dyn Store> = Arc::new(store);
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(DemoTools),
        8,
    );
    PromptService::new(
        catalogue,
        Variables::new(store),
        Some(Arc::new(Mock)),
        ServiceOptions::default(),
    )
}

fn text(prompt: RenderedPrompt) -> String {
    match prompt {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => messages
            .into_iter()
            .map(|message| message.content.to_string())
            .collect(),
    }
}

async fn mistake(service: &PromptService, variables: &Map) -> String {
    let snapshot = service.catalogue().snapshot();
    let (Err(error), Ok(definition)) = (
        service
            .render("mistyped", &RenderInput::new(variables, "demo"))
            .await,
        snapshot.prompt("mistyped"),
    ) else {
        return String::new();
    };
    let texts = PromptTemplates::of(definition, false, &snapshot);
    let found = texts.explain(&error, service.catalogue(), variables);
    let colour = Stream::Out.has_colour();
    let found = found.unwrap_or_default();
    let shown: String = found
        .iter()
        .map(|finding| report::show(finding, colour))
        .collect();
    if shown.is_empty() {
        error.to_string()
    } else {
        shown
    }
}

async fn answer(service: &PromptService, variables: &Map) -> Result<String, CliError> {
    let model = Some("mock".to_owned());
    let outcome = service
        .chat(
            "review",
            &RenderInput::new(variables, "demo"),
            model,
            ChatOptions::default(),
        )
        .await?;
    let mut stream = outcome.stream;
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        reply.fold(event?);
    }
    Ok(reply.choices.into_iter().next().unwrap_or_default().text)
}

/// Demo tools. Each returns a fixed value from its definition after a delay.
#[derive(Debug)]
struct DemoTools;

#[derive(Debug)]
struct DemoTool {
    spec: ToolSpec,
    answer: Value,
}

impl ToolBuilder for DemoTools {
    fn build(
        &self,
        name: &str,
        id: &str,
        source: &str,
        text: &str,
    ) -> Result<BuiltTool, Vec<Diagnostic>> {
        let answer = json::parse(text);
        let answer = answer.map_err(|error| {
            vec![Diagnostic::error(
                "tool.definition",
                source,
                error.to_string(),
            )]
        })?;
        let spec = ToolSpec {
            name: name.to_owned(),
            also: vec![id.to_owned()],
            parameters: serde_json::json!({"properties": {"most": {"type": "integer"}}}),
            ..ToolSpec::default()
        };
        Ok(BuiltTool {
            tool: Arc::new(DemoTool { spec, answer }),
            warnings: Vec::new(),
        })
    }
}

impl Tool for DemoTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            tokio::time::sleep(TOOL_TIME).await;
            let Value::List(items) = &self.answer else {
                return Ok(self.answer.clone());
            };
            match arguments.get("most") {
                None => Ok(self.answer.clone()),
                Some(Value::Int(most)) => {
                    let most = usize::try_from(*most).unwrap_or(0);
                    Ok(items.iter().take(most).cloned().collect::<Vec<_>>().into())
                }
                Some(other) => {
                    let message = format!("`most` must be an integer, not {}", other.kind());
                    Err(ToolError::new(ToolErrorKind::Arguments, message))
                }
            }
        })
    }
}
