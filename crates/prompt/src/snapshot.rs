//! Snapshot of a store's definitions with their states and diagnostics. It is immutable, so a
//! request uses the same definitions from start to end.

use std::path::Path;
use std::sync::Arc;

use quillet_core::store::{EntryKey, EntryKind};
use quillet_core::tool::Tool;
use quillet_core::{Diagnostic, Severity};
use serde::Serialize;
use serde_json::Value as Tree;

use crate::definition::{Prompt, PromptBody, RawDefinition};
use crate::error::{BrokenDefinition, ServiceError};
use crate::extension::{Extension, said_name};
use crate::revision::Revision;
use crate::script::StoredScript;
use crate::sources::SourceSet;
use crate::table::ChunkedTable;
use crate::versions::{LabelledVersions, VersionedPrompt};

/// Where a prompt comes from: registered directly, or part of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptOrigin {
    /// Stored as a separate entry.
    Direct,
    /// Provided by an extension.
    Extension,
}

/// The state of a definition: usable or broken.
#[derive(Clone, Debug)]
pub enum DefinitionState<T> {
    /// It can be used.
    Valid(T),
    /// It is broken; [`Definition::diagnostics`] says why.
    Invalid,
}

/// A stored definition, valid or not.
#[derive(Clone, Debug)]
pub struct Definition<T> {
    /// The id in URLs.
    pub id: Arc<str>,
    /// Storage location: a file or a key.
    pub origin: Arc<str>,
    /// The stored text.
    pub text: Arc<str>,
    /// Revision of the stored text.
    pub revision: Revision,
    /// The parsed definition, if it is valid.
    pub state: DefinitionState<T>,
    /// Errors of a broken definition, warnings of a usable one.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Definition<T> {
    /// Returns `"valid"` or `"invalid"`.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.state {
            DefinitionState::Valid(_) => "valid",
            DefinitionState::Invalid => "invalid",
        }
    }

    /// Returns the parsed definition if it is valid.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] with all errors of the definition.
    pub fn usable(&self, kind: EntryKind) -> Result<&T, ServiceError> {
        match &self.state {
            DefinitionState::Valid(value) => Ok(value),
            DefinitionState::Invalid => Err(ServiceError::Invalid {
                kind,
                id: self.id.to_string(),
                diagnostics: self.errors(),
            }),
        }
    }
}

impl<T> Definition<T> {
    /// Describes the invalid definition for an error of a dependent that uses it under this name.
    fn broken(&self, kind: EntryKind, name: &str) -> BrokenDefinition {
        BrokenDefinition {
            kind,
            name: name.to_owned(),
            origin: self.origin.to_string(),
            diagnostics: self.errors(),
        }
    }

    fn errors(&self) -> Vec<Diagnostic> {
        let errors = self.diagnostics.iter();
        errors
            .filter(|found| found.severity == Severity::Error)
            .cloned()
            .collect()
    }
}

impl Definition<PromptEntry> {
    /// Returns the definition as it was written, or the front matter of a prompt file. Returns
    /// `None` if the prompt is invalid.
    #[must_use]
    pub fn raw(&self) -> Option<Tree> {
        let DefinitionState::Valid(entry) = &self.state else {
            return None;
        };
        match &entry.prompt.raw {
            RawDefinition::Whole(tree) => Some((**tree).clone()),
            RawDefinition::Said { .. } => serde_json::from_str(&self.text).ok(),
        }
    }
}

/// A prompt that can be rendered, and the sources from which it is compiled.
#[derive(Clone, Debug)]
pub struct PromptEntry {
    /// The prompt.
    pub prompt: Arc<Prompt>,
    /// Whether it is a separate entry or part of an extension.
    pub origin: PromptOrigin,
    pub(crate) sources: Arc<SourceSet>,
    /// Version number, if the request selected a version.
    pub version: Option<u64>,
    /// Whether a weighted label is involved, so that requests get different versions.
    pub(crate) drawn: bool,
}

impl PromptEntry {
    /// Returns the id of the prompt that contains this source, as used in errors. This is either
    /// this prompt or one that it calls, such as a partial.
    #[must_use]
    pub fn owner(&self, source: &str) -> Option<&str> {
        self.sources.owner(source)
    }

    /// Returns the script, or `None` if the prompt is a template.
    #[must_use]
    pub fn script(&self) -> Option<&StoredScript> {
        match &self.prompt.body {
            PromptBody::Script(script) => Some(script),
            PromptBody::Text(_) | PromptBody::Messages(_) => None,
        }
    }

    /// Returns the title, if there is one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        match self.script() {
            Some(script) => script.title.as_deref(),
            None => self.prompt.raw.title(),
        }
    }

    /// Returns the description, if there is one.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        match self.script() {
            Some(script) => Some(script.spec.description.as_str()).filter(|text| !text.is_empty()),
            None => self.prompt.raw.description(),
        }
    }

    /// Returns names and texts of the called templates, including partials.
    pub fn called(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.called()
    }
}

/// A tool and its function name in templates.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// The function name.
    pub name: Arc<str>,
    /// The tool.
    pub tool: Arc<dyn Tool>,
}

/// All definitions of a store at one moment. Immutable and shared by requests.
#[derive(Clone, Debug, Default)]
pub struct CatalogueSnapshot {
    /// Extensions by id.
    pub extensions: ChunkedTable<Arc<Definition<Arc<Extension>>>>,
    /// Prompts by id, including those of extensions.
    pub prompts: ChunkedTable<Arc<Definition<PromptEntry>>>,
    /// Tools by id.
    pub tools: ChunkedTable<Arc<Definition<ToolEntry>>>,
    /// Tools by function name.
    pub functions: ChunkedTable<Arc<dyn Tool>>,
    /// Prompts that have labels, by id.
    pub(crate) labelled: ChunkedTable<Arc<LabelledVersions>>,
    /// Versions that templates select by number or digest, by id with selector.
    pub(crate) pinned: ChunkedTable<Arc<VersionedPrompt>>,
    /// Storage locations of prompts that cannot be derived from the id, by id.
    pub(crate) places: ChunkedTable<StoredLocation>,
}

/// Storage location of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredLocation {
    pub(crate) key: EntryKey,
    /// The folder of its file.
    pub(crate) folder: Option<Arc<Path>>,
}

impl CatalogueSnapshot {
    /// Returns the prompt with this id.
    ///
    /// # Errors
    /// There is no prompt with this id.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::ErrorCode;
    /// use quillet_prompt::CatalogueSnapshot;
    ///
    /// let error = CatalogueSnapshot::default().prompt("greet").map(|_| ()).unwrap_err();
    /// assert_eq!(error.code(), ErrorCode::NotFound);
    /// ```
    pub fn prompt(&self, id: &str) -> Result<&Definition<PromptEntry>, ServiceError> {
        let found = self.prompts.get(id);
        found.map(AsRef::as_ref).ok_or_else(|| self.no_prompt(id))
    }

    /// Creates the error for a missing prompt.
    pub(crate) fn no_prompt(&self, id: &str) -> ServiceError {
        let known = self.prompts.keys().map(AsRef::as_ref);
        match ServiceError::not_found(EntryKind::Prompt, id, known) {
            ServiceError::NotFound {
                kind, id, nearest, ..
            } => ServiceError::NotFound {
                broken: self.broken_extension(&id).map(Box::new),
                kind,
                id,
                nearest,
            },
            other => other,
        }
    }

    /// Returns the store key of a prompt.
    pub(crate) fn key_of(&self, id: &str) -> EntryKey {
        match self.places.get(id) {
            Some(placed) => placed.key.clone(),
            None => EntryKey::new(id.replace('.', ":")),
        }
    }

    /// Returns the folder of a prompt's file.
    pub(crate) fn folder_of(&self, id: &str) -> Option<&Arc<Path>> {
        self.places.get(id)?.folder.as_ref()
    }

    /// Finds an invalid extension that would have provided a prompt with this id.
    fn broken_extension(&self, prompt: &str) -> Option<BrokenDefinition> {
        let holds = |name: &str| {
            let rest = prompt.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let known = self.extensions.iter().find(|(id, definition)| {
            let is_broken = matches!(definition.state, DefinitionState::Invalid);
            let last = id.rsplit('.').next().unwrap_or_default();
            let said = || said_name(&definition.text).is_some_and(|name| holds(&name));
            // Checked last, because it reads the text.
            is_broken && (holds(id) || holds(last) || said())
        });
        known.map(|(id, definition)| definition.broken(EntryKind::Extension, id))
    }

    /// Returns the tool with this function name if it is invalid.
    pub(crate) fn broken_tool(&self, name: &str) -> Option<BrokenDefinition> {
        let is_named = |id: &str| {
            let own = EntryKey::new(id).function_name();
            own == name || own.to_lowercase() == name
        };
        let known = self.tools.iter().find(|(id, definition)| {
            matches!(definition.state, DefinitionState::Invalid) && (&***id == name || is_named(id))
        });
        known.map(|(_, definition)| definition.broken(EntryKind::Tool, name))
    }

    /// Whether any prompt is a valid script.
    #[must_use]
    pub fn has_scripts(&self) -> bool {
        let mut prompts = self.prompts.values();
        prompts
            .any(|prompt| matches!(&prompt.state, DefinitionState::Valid(entry) if entry.script().is_some()))
    }

    /// Returns a copy in which these tools replace functions with the same names. Used for requests
    /// that contain their own tools.
    #[must_use]
    pub fn with_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        // A cheap copy, because the tables share their chunks until one changes.
        let mut with = self.clone();
        for tool in tools {
            let name = Arc::from(tool.spec().name.as_str());
            with.functions.insert(name, tool);
        }
        with
    }

    /// Returns the tool with this id.
    ///
    /// # Errors
    /// There is no tool with this id.
    pub fn tool(&self, id: &str) -> Result<&Definition<ToolEntry>, ServiceError> {
        find(&self.tools, EntryKind::Tool, id)
    }

    /// Returns the extension with this id.
    ///
    /// # Errors
    /// There is no extension with this id.
    pub fn extension(&self, id: &str) -> Result<&Definition<Arc<Extension>>, ServiceError> {
        find(&self.extensions, EntryKind::Extension, id)
    }
}

fn find<'a, T>(
    table: &'a ChunkedTable<Arc<Definition<T>>>,
    kind: EntryKind,
    id: &str,
) -> Result<&'a Definition<T>, ServiceError> {
    match table.get(id) {
        Some(found) => Ok(found),
        None => Err(ServiceError::not_found(
            kind,
            id,
            table.keys().map(AsRef::as_ref),
        )),
    }
}
