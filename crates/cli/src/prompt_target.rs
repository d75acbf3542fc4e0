//! A prompt that the command line names: a file, over what a store has, or an id in the store.

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

/// Whether a file is a prompt by its name, or by what is in it where that is JSON.
///
/// # Errors
/// It cannot be read.
pub(crate) fn is_prompt(name: &str) -> Result<bool, CliError> {
    if source::is_script(name) || source::form_of(name).is_none() {
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

/// Whether the store, if there is one, has a prompt of this id, which may have a mark.
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
    // Which version it is, and whether there is one, is found when it is rendered.
    Ok(has(name) || VersionSelector::divide(name).is_some_and(|(id, _)| has(id)))
}

/// A prompt that was rendered, for whoever sends it.
pub(crate) struct RenderedMessages {
    pub(crate) messages: Vec<Message>,
    /// The model that it names.
    pub(crate) model: Option<String>,
    /// How that model is to answer.
    pub(crate) options: ChatOptions,
}

/// Renders a prompt, and reports what the user should know besides the result. `defined` is what
/// `-D` says.
///
/// # Errors
/// It is not there, or cannot be rendered with these variables.
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
    target.tell(&rendered, defined);
    Ok(RenderedMessages {
        messages: service.messages(rendered.prompt),
        model: rendered.model,
        options: (*rendered.options).clone(),
    })
}

/// What was asked for.
pub(crate) struct PromptArgs<'a> {
    /// A file, `-` for standard input, or an id.
    pub(crate) name: &'a str,
    /// The format of a template, where its ending does not say.
    pub(crate) format: Option<&'a str>,
    /// Whether missing variables pass.
    pub(crate) lenient: bool,
}

/// Where a prompt service finds it.
pub(crate) struct PromptTarget {
    /// The id under which the service finds it.
    pub(crate) id: String,
    /// Whether it is a template itself, and no definition of a prompt.
    is_template: bool,
    /// Whether nothing said which format the template is in.
    is_guessed: bool,
    pub(crate) store: Arc<dyn Store>,
}

impl PromptTarget {
    /// Finds it. A template file sees these variables at its root too.
    ///
    /// # Errors
    /// There is no such file and no store, or it cannot be read.
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
                "{name:?} is a folder: `quillet check` and `quillet convert` take folders"
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
                "there is no file {name:?}; for a stored prompt pass its id and --store URL"
            ))),
        }
    }

    /// Why a service that was asked for it failed, with places where they are known.
    pub(crate) fn failure(
        &self,
        error: ServiceError,
        service: &PromptService,
        variables: &Map,
    ) -> CliError {
        tell_failures(error.failures());
        let snapshot = service.catalogue().snapshot();
        let definition = snapshot.prompt(&self.id);
        let texts = definition
            .ok()
            .map(|definition| PromptTemplates::of(definition, self.is_template, &snapshot));
        let found = texts.as_ref().and_then(|texts| {
            let mut found = texts.explain(&error, service.catalogue(), variables)?;
            // What cannot be found is often text, or a tag of another format.
            if let ServiceError::Missing { .. } | ServiceError::UnknownFunctions { .. } = error {
                found.extend(texts.braces(service.catalogue()));
                if self.is_guessed {
                    terminal::note(
                        "nothing says which format the template is in, so it was read as go; --format jinja, mustache, liquid or another reads it otherwise",
                    );
                }
            }
            Some(found)
        });
        found.map_or_else(|| error.into(), CliError::Findings)
    }

    /// Reports what the user should know besides the result. The render has to be explained.
    /// `defined` is what `-D` says: a file of data may have more than one prompt uses.
    pub(crate) fn tell(&self, outcome: &RenderOutcome, defined: &[String]) {
        tell_failures(&outcome.failures);
        if outcome.stale {
            terminal::warning("the store is away: shared variables may be old");
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
                "the prompt uses {name}, which it does not declare and nobody gave{near}"
            ));
        }
    }
}

fn unused_text(unused: &UnusedVariable) -> String {
    if matches!(unused.name.as_str(), "variables" | "args") {
        let name = &unused.name;
        return format!(
            "what -D names is below {name} already: write -D name=… and not -D {name}.name=…"
        );
    }
    let near = unused.nearest.as_deref();
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("nothing uses the variable {}{near}", unused.name)
}

/// A file as a prompt over the store, if there is one.
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
    // As the key maps to it: colons become dots.
    let id = key.id();
    for partial in file_entry::partials(name, &id, &text)? {
        over.add(EntryKind::Prompt, partial);
    }
    let known = form(asked, &text);
    let is_guessed = known.is_none();
    let form = known.unwrap_or(InputFileKind::Template("go"));
    let definition = match form {
        InputFileKind::Template(format) => {
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

/// What a file is, if anything says so. Standard input and files without an ending that are not
/// plainly the definition of a prompt are templates.
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

/// Tells of tools that failed while a prompt was rendered.
pub(crate) fn tell_failures(failures: &[ToolFailure]) {
    for failure in failures {
        terminal::warning(&format!(
            "tool {} failed, its default stands in: {}",
            failure.tool, failure.message
        ));
    }
}
