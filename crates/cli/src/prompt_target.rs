//! A prompt named on the command line: a file combined with a store, or an id in the store.

use std::path::Path;
use std::sync::Arc;

use quillet::components;
use quillet::settings::{self, Settings};
use quillet_core::chat::ChatOptions;
use quillet_core::history::VersionSelector;
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_core::{Map, Message, json};
use quillet_prompt::{
    PromptService, RenderInput, RenderOutcome, ServiceError, ToolFailure, UnusedVariable,
};
use quillet_store::MemoryStore;

use crate::explain::PromptTemplates;
use crate::failure::CliError;
use crate::file_entry;
use crate::overlay::Overlay;
use crate::source::{self, InputFileKind};
use crate::terminal;

/// Returns whether a file is a prompt, by its name or, for JSON, by its content.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn is_prompt(name: &str) -> Result<bool, CliError> {
    if source::is_script(name) || source::kind_of_file(name).is_none() {
        return Ok(false);
    }
    let text = source::read(name)?;
    Ok(match source::form(name, &text) {
        Some(InputFileKind::Prompt | InputFileKind::Template(_)) => true,
        Some(form @ InputFileKind::Json) => {
            let definition = source::parse(name, &text, form).ok();
            definition.is_some_and(|it| source::kind_of(&it) == Some(EntryKind::Prompt))
        }
        _ => false,
    })
}

/// Returns whether the configured store has a prompt with this id, which may include a version
/// selector.
///
/// # Errors
/// The store cannot be opened or read.
pub(crate) async fn is_stored(name: &str, config: &Settings) -> Result<bool, CliError> {
    if source::looks_like_a_path(name) || config.text(&settings::STORE_URL).is_none() {
        return Ok(false);
    }
    let catalogue = components::catalogue(config, components::store(config).await?)?;
    catalogue.load().await?;
    let snapshot = catalogue.snapshot();
    let has = |id: &str| snapshot.prompts.get(id).is_some();
    // The selector is resolved during rendering, so an unknown version is reported there.
    Ok(has(name) || VersionSelector::split_id(name).is_some_and(|(id, _)| has(id)))
}

/// A rendered prompt, ready to send.
pub(crate) struct RenderedMessages {
    pub(crate) messages: Vec<Message>,
    /// Model set by the prompt.
    pub(crate) model: Option<String>,
    /// Model options set by the prompt.
    pub(crate) options: ChatOptions,
}

/// Renders a prompt and prints warnings. `defined` contains the `-D` arguments.
///
/// # Errors
/// The prompt is unknown, or cannot be rendered with these variables.
pub(crate) async fn render(
    name: &str,
    config: &Settings,
    variables: &Map,
    defined: &[String],
) -> Result<RenderedMessages, CliError> {
    let asked = PromptArgs {
        name,
        format: None,
        lenient: false,
    };
    let target = PromptTarget::find(&asked, config, variables).await?;
    let service = components::service(config, target.store.clone(), None, Arc::default())?;
    service.load().await?;
    let input = RenderInput {
        explain: true,
        ..RenderInput::new(variables, "command")
    };
    let rendered = match service.render(&target.id, &input).await {
        Ok(rendered) => rendered,
        Err(error) => return Err(target.failure(error, &service, variables)),
    };
    target.print_warnings(&rendered, defined);
    Ok(RenderedMessages {
        messages: service.messages(rendered.prompt),
        model: rendered.model,
        options: (*rendered.options).clone(),
    })
}

/// Arguments that select a prompt.
pub(crate) struct PromptArgs<'a> {
    /// A file, `-` for standard input, or an id.
    pub(crate) name: &'a str,
    /// Template format, if the file ending is unknown.
    pub(crate) format: Option<&'a str>,
    /// Whether to accept missing variables.
    pub(crate) lenient: bool,
}

/// A prompt in a store that a prompt service can render.
pub(crate) struct PromptTarget {
    /// Id of the prompt in the store.
    pub(crate) id: String,
    /// Whether the file is a plain template, not a prompt definition.
    is_template: bool,
    /// Whether the template format was guessed.
    is_guessed: bool,
    pub(crate) store: Arc<dyn Store>,
}

impl PromptTarget {
    /// Finds the prompt. A template file can also read the variables at its root.
    ///
    /// # Errors
    /// The file does not exist and no store is set, or it cannot be read.
    pub(crate) async fn find(
        asked: &PromptArgs<'_>,
        config: &Settings,
        variables: &Map,
    ) -> Result<Self, CliError> {
        let name = asked.name;
        let store = components::optional_store(config).await?;
        if name == "-" || Path::new(name).is_file() {
            return of_file(asked, store, variables);
        }
        if Path::new(name).is_dir() {
            return Err(CliError::Usage(format!(
                "{name:?} is a folder: only `quillet check` and `quillet convert` accept folders"
            )));
        }
        match store.filter(|_| !source::looks_like_a_path(name)) {
            Some(store) => Ok(PromptTarget {
                id: name.to_owned(),
                is_template: false,
                is_guessed: false,
                store,
            }),
            None => Err(CliError::Other(format!(
                "no such file: {name:?}; for a stored prompt, pass its id and --store URL"
            ))),
        }
    }

    /// Converts a service error to a command error, with locations if known.
    pub(crate) fn failure(
        &self,
        error: ServiceError,
        service: &PromptService,
        variables: &Map,
    ) -> CliError {
        print_tool_failures(error.failures());
        let snapshot = service.catalogue().snapshot();
        let definition = snapshot.prompt(&self.id);
        let texts = definition
            .ok()
            .map(|definition| PromptTemplates::of(definition, self.is_template, &snapshot));
        let found = texts.as_ref().and_then(|texts| {
            let mut found = texts.explain(&error, service.catalogue(), variables)?;
            // An unknown name is often plain text, or a tag of another format.
            if let ServiceError::Missing { .. } | ServiceError::UnknownFunctions { .. } = error {
                found.extend(texts.braces(service.catalogue()));
                if self.is_guessed {
                    terminal::note(
                        "unknown template format, so it was read as go; set another with --format jinja, mustache, liquid and so on",
                    );
                }
            }
            Some(found)
        });
        found.map_or_else(|| error.into(), CliError::Findings)
    }

    /// Prints warnings about a rendering, which must include its explanation. Reports unused
    /// variables of `-D` (`defined`) only: a data file may contain variables of other prompts.
    pub(crate) fn print_warnings(&self, outcome: &RenderOutcome, defined: &[String]) {
        print_tool_failures(&outcome.failures);
        if outcome.stale {
            terminal::warning("the store is unavailable: shared variables may be outdated");
        }
        let known = outcome.explanation.iter().flat_map(|it| &it.variables);
        let roots: Vec<&str> = known
            .filter_map(|variable| variable.path.split('.').next())
            .collect();
        let is_used = |name: &str| self.is_template && roots.contains(&name);
        let is_defined = |name: &str| {
            let mut names = defined
                .iter()
                .filter_map(|it| it.split(['=', ':', '.']).next());
            names.any(|it| it == name)
        };
        let unused = outcome.unused.iter();
        for unused in unused.filter(|it| is_defined(&it.name) && !is_used(&it.name)) {
            terminal::warning(&unused_text(unused));
        }
        for absent in &outcome.absent {
            let near = absent.nearest.as_deref();
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let name = &absent.name;
            terminal::warning(&format!(
                "the prompt uses {name}, which is neither declared nor set{near}"
            ));
        }
    }
}

fn unused_text(unused: &UnusedVariable) -> String {
    if matches!(unused.name.as_str(), "variables" | "args") {
        let name = &unused.name;
        return format!("-D already sets fields of {name}: write -D name=…, not -D {name}.name=…");
    }
    let near = unused.nearest.as_deref();
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("unused variable {}{near}", unused.name)
}

/// Adds a prompt file to the configured store.
fn of_file(
    asked: &PromptArgs<'_>,
    store: Option<Arc<dyn Store>>,
    variables: &Map,
) -> Result<PromptTarget, CliError> {
    let name = asked.name;
    if source::is_script(name) {
        return Err(CliError::Usage(format!(
            "{name} is a script: `quillet run {name} --dry-run` shows what it would send"
        )));
    }
    let text = source::read(name)?;
    let mut over = Overlay::new(store.unwrap_or_else(|| Arc::new(MemoryStore::new())));
    let key = EntryKey::new(source::stem(name));
    // The key converts the colons in the name, so the id comes from the key.
    let id = key.id();
    for partial in file_entry::partials(name, &id, &text)? {
        over.add(EntryKind::Prompt, partial);
    }
    let known = form(asked, &text);
    let is_guessed = known.is_none();
    let form = known.unwrap_or(InputFileKind::Template("go"));
    let definition = match form {
        InputFileKind::Template(format) => {
            // A plain template declares no inputs, so it may also use the names without a prefix.
            shared(&mut over, variables);
            source::template(&text, Some(format), asked.lenient)
        }
        InputFileKind::Prompt => text,
        _ => source::definition(name, &text)?,
    };
    let entry = file_entry::entry(key, definition, name)?;
    over.add(EntryKind::Prompt, entry);
    Ok(PromptTarget {
        id,
        is_template: matches!(form, InputFileKind::Template(_)),
        is_guessed,
        store: Arc::new(over),
    })
}

/// Returns the kind of a file, if known. Standard input and files with an unknown ending are
/// templates, unless they are JSON prompt definitions.
fn form<'a>(asked: &PromptArgs<'a>, text: &str) -> Option<InputFileKind<'a>> {
    if let Some(format) = asked.format {
        return Some(InputFileKind::Template(format));
    }
    source::form(asked.name, text).or_else(|| {
        let kind = source::kind_of(&json::parse(text).ok()?);
        (kind == Some(EntryKind::Prompt)).then_some(InputFileKind::Json)
    })
}

fn shared(over: &mut Overlay, variables: &Map) {
    for (name, value) in variables {
        let entry = StoreEntry::new(EntryKey::new(name.clone()), json::to_string(value), "-D");
        over.add(EntryKind::Environ, entry);
    }
}

/// Prints warnings about tools that failed during rendering.
pub(crate) fn print_tool_failures(failures: &[ToolFailure]) {
    for failure in failures {
        terminal::warning(&format!(
            "tool {} failed, so its fallback value is used: {}",
            failure.tool, failure.message
        ));
    }
}
