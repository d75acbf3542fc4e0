//! `quillet render`: a file or a stored prompt, with the variables of the command line.

use std::path::Path;
use std::sync::Arc;

use quillet_core::store::{Entry, Key, Kind, Store};
use quillet_core::{Map, json};
use quillet_prompt::{Input, RenderOutcome, RenderedPrompt, ToolFailure};
use quillet_store::MemoryStore;
use serde_json::json as tree;

use crate::args::Render;
use crate::assemble;
use crate::beside;
use crate::config::Config;
use crate::explain::Texts;
use crate::failure::Failure;
use crate::overlay::Overlay;
use crate::source::{self, Form};
use crate::terminal::{self, Stream};

/// What is rendered.
struct Target {
    /// The id under which the service finds it.
    id: String,
    /// Whether it is a template itself, and no definition of a prompt.
    is_template: bool,
    store: Arc<dyn Store>,
}

pub(crate) async fn run(args: &Render, config: &Config) -> Result<(), Failure> {
    if args.target == "-" && args.data.as_deref() == Some("-") {
        return Err(Failure::Usage(
            "standard input cannot be the template and the data at once".into(),
        ));
    }
    let variables = source::variables(args.data.as_deref(), &args.define)?;
    let target = target(args, config, &variables).await?;
    let service = assemble::service(config, target.store, None, Arc::default())?;
    service.load().await?;
    let outcome = match service
        .render(&target.id, &Input::new(&variables, "render"))
        .await
    {
        Ok(outcome) => outcome,
        Err(error) => {
            tell_failures(error.failures());
            let snapshot = service.catalogue().snapshot();
            let definition = snapshot.prompt(&target.id);
            let texts = definition
                .ok()
                .map(|definition| Texts::of(definition, target.is_template, &snapshot));
            let found =
                texts.and_then(|texts| texts.explain(&error, service.catalogue(), &variables));
            return Err(found.map_or_else(|| error.into(), Failure::Findings));
        }
    };
    tell(&outcome);
    print(args.json, &outcome)
}

async fn target(args: &Render, config: &Config, variables: &Map) -> Result<Target, Failure> {
    let name = &args.target;
    let store = assemble::optional_store(config).await?;
    if name == "-" || Path::new(name).is_file() {
        return file(args, store, variables);
    }
    match store.filter(|_| !source::looks_like_a_path(name)) {
        Some(store) => Ok(Target {
            id: name.clone(),
            is_template: false,
            store,
        }),
        None => Err(Failure::Other(format!(
            "there is no file {name:?}; for a stored prompt pass its id and --store URL"
        ))),
    }
}

/// A file as a prompt over the store, if there is one.
fn file(args: &Render, store: Option<Arc<dyn Store>>, variables: &Map) -> Result<Target, Failure> {
    let name = &args.target;
    let text = source::read(name)?;
    let mut over = Overlay::new(store.unwrap_or_else(|| Arc::new(MemoryStore::new())));
    let key = Key::new(source::stem(name));
    // As the key maps to it: colons become dots.
    let id = key.id();
    for partial in beside::partials(name, &id, &text)? {
        over.add(Kind::Prompt, partial);
    }
    let form = form(args, &text);
    let definition = match form {
        Form::Template(format) => {
            // A template file sees its variables at the root too.
            shared(&mut over, variables);
            source::template(&text, Some(format), args.lenient)
        }
        Form::Prompt => text,
        _ => source::definition(name, &text)?,
    };
    let entry = beside::entry(key, definition, name)?;
    over.add(Kind::Prompt, entry);
    Ok(Target {
        id,
        is_template: matches!(form, Form::Template(_)),
        store: Arc::new(over),
    })
}

fn form<'a>(args: &'a Render, text: &str) -> Form<'a> {
    if let Some(format) = &args.format {
        return Form::Template(format);
    }
    match source::form(&args.target, text) {
        Some(form) => form,
        // Standard input and files without an ending are templates, unless they
        // are plainly the definition of a prompt.
        None => {
            let prompt = json::parse(text)
                .ok()
                .and_then(|value| source::kind_of(&value));
            match prompt {
                Some(Kind::Prompt) => Form::Json,
                _ => Form::Template("go"),
            }
        }
    }
}

fn shared(over: &mut Overlay, variables: &Map) {
    for (name, value) in variables {
        let entry = Entry::new(Key::new(name.clone()), json::to_string(value), "-D");
        over.add(Kind::Environ, entry);
    }
}

fn tell_failures(failures: &[ToolFailure]) {
    for failure in failures {
        terminal::warning(&format!(
            "tool {} failed, its default stands in: {}",
            failure.tool, failure.message
        ));
    }
}

/// What a person should know besides the result.
fn tell(outcome: &RenderOutcome) {
    tell_failures(&outcome.failures);
    if outcome.stale {
        terminal::warning("the store is away: shared variables may be old");
    }
}

fn print(json: bool, outcome: &RenderOutcome) -> Result<(), Failure> {
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
        RenderedPrompt::Messages(messages) => {
            let shown = messages
                .iter()
                .map(|message| format!("[{}]\n{}\n", message.role.as_str(), message.content));
            shown.collect::<Vec<_>>().join("\n")
        }
    };
    // A file gets what was rendered and nothing more; a person gets a whole line.
    let written = match Stream::Out.is_terminal() {
        true => terminal::line(&text),
        false => terminal::result(&text),
    };
    Ok(written?)
}
