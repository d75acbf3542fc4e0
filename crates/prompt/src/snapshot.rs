//! What the catalogue makes of a store and requests read: definitions with their states and
//! diagnostics. It never changes, so a request that holds one sees the same store from start to
//! end.

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
    /// Registered by itself.
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

/// A definition as it was found: usable or broken, never hidden.
#[derive(Clone, Debug)]
pub struct Definition<T> {
    /// The id that routes use.
    pub id: Arc<str>,
    /// Where it is stored: a file, a key.
    pub origin: Arc<str>,
    /// The stored text.
    pub text: Arc<str>,
    /// Which text that is.
    pub revision: Revision,
    /// What it is.
    pub state: DefinitionState<T>,
    /// Errors of a broken definition, warnings of a usable one.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Definition<T> {
    /// `"valid"` or `"invalid"`.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.state {
            DefinitionState::Valid(_) => "valid",
            DefinitionState::Invalid => "invalid",
        }
    }

    /// What can be used.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] with everything that is wrong.
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
    /// What is wrong with it, where something needs it under this name.
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
    /// The definition as it was written; of a prompt file, its front matter. `None` where the
    /// prompt is broken.
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

/// A prompt that can be rendered, with the sources that it compiles from.
#[derive(Clone, Debug)]
pub struct PromptEntry {
    /// The prompt.
    pub prompt: Arc<Prompt>,
    /// Direct or from an extension.
    pub origin: PromptOrigin,
    pub(crate) sources: Arc<SourceSet>,
    /// The number of the version that it is, where a label or a mark has chosen one.
    pub version: Option<u64>,
    /// Whether a label in shares takes part, so that requests get different versions.
    pub(crate) drawn: bool,
}

impl PromptEntry {
    /// The id of the prompt whose template a source of that name is, as errors
    /// name it: this prompt, or one that it calls (a partial).
    #[must_use]
    pub fn owner(&self, source: &str) -> Option<&str> {
        self.sources.owner(source)
    }

    /// The script that it is, if it is no template.
    #[must_use]
    pub fn script(&self) -> Option<&StoredScript> {
        match &self.prompt.body {
            PromptBody::Script(script) => Some(script),
            PromptBody::Text(_) | PromptBody::Messages(_) => None,
        }
    }

    /// What people call it, if it says so.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        match self.script() {
            Some(script) => script.title.as_deref(),
            None => self.prompt.raw.title(),
        }
    }

    /// What it is for, if it says so.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        match self.script() {
            Some(script) => Some(script.spec.description.as_str()).filter(|text| !text.is_empty()),
            None => self.prompt.raw.description(),
        }
    }

    /// Names and texts of the templates that it calls, partials among them.
    pub fn called(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.called()
    }
}

/// A tool and the name that templates call it by.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// The function name.
    pub name: Arc<str>,
    /// The tool.
    pub tool: Arc<dyn Tool>,
}

/// Every definition of a store at one moment: immutable, shared by requests.
#[derive(Clone, Debug, Default)]
pub struct CatalogueSnapshot {
    /// Extensions by id.
    pub extensions: ChunkedTable<Arc<Definition<Arc<Extension>>>>,
    /// Prompts by id, those of extensions included.
    pub prompts: ChunkedTable<Arc<Definition<PromptEntry>>>,
    /// Tools by id.
    pub tools: ChunkedTable<Arc<Definition<ToolEntry>>>,
    /// Tools by function name.
    pub functions: ChunkedTable<Arc<dyn Tool>>,
    /// Prompts that have labels, by id.
    pub(crate) labelled: ChunkedTable<Arc<LabelledVersions>>,
    /// Versions that templates name by number or digest, by id with mark.
    pub(crate) pinned: ChunkedTable<Arc<VersionedPrompt>>,
    /// Where prompts are whose key or folder does not follow from the id, by id.
    pub(crate) places: ChunkedTable<StoredLocation>,
}

/// Where a prompt is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredLocation {
    pub(crate) key: EntryKey,
    /// The folder of its file.
    pub(crate) folder: Option<Arc<Path>>,
}

impl CatalogueSnapshot {
    /// The prompt of that id.
    ///
    /// # Errors
    /// There is none.
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

    /// The error of a prompt that is not there.
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

    /// The key that a prompt is stored under.
    pub(crate) fn key_of(&self, id: &str) -> EntryKey {
        match self.places.get(id) {
            Some(placed) => placed.key.clone(),
            None => EntryKey::new(id.replace('.', ":")),
        }
    }

    /// The folder that a prompt's file is in.
    pub(crate) fn folder_of(&self, id: &str) -> Option<&Arc<Path>> {
        self.places.get(id)?.folder.as_ref()
    }

    /// The extension that would provide a prompt of that id if it were not broken.
    fn broken_extension(&self, prompt: &str) -> Option<BrokenDefinition> {
        let holds = |name: &str| {
            let rest = prompt.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let known = self.extensions.iter().find(|(id, definition)| {
            let is_broken = matches!(definition.state, DefinitionState::Invalid);
            let last = id.rsplit('.').next().unwrap_or_default();
            let said = || said_name(&definition.text).is_some_and(|name| holds(&name));
            // `said` reads the text, so it is asked last.
            is_broken && (holds(id) || holds(last) || said())
        });
        known.map(|(id, definition)| definition.broken(EntryKind::Extension, id))
    }

    /// The tool of that function name, if it is registered and broken.
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

    /// Whether any prompt is a script that can be run.
    #[must_use]
    pub fn has_scripts(&self) -> bool {
        let mut prompts = self.prompts.values();
        prompts
            .any(|prompt| matches!(&prompt.state, DefinitionState::Valid(entry) if entry.script().is_some()))
    }

    /// The same definitions, where these tools are called by their names, whatever else has these:
    /// for one request that brings functions of its own.
    #[must_use]
    pub fn with_tools(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        // Cheap: the tables share their pieces until one changes.
        let mut with = self.clone();
        for tool in tools {
            let name = Arc::from(tool.spec().name.as_str());
            with.functions.insert(name, tool);
        }
        with
    }

    /// The tool of that id.
    ///
    /// # Errors
    /// There is none.
    pub fn tool(&self, id: &str) -> Result<&Definition<ToolEntry>, ServiceError> {
        find(&self.tools, EntryKind::Tool, id)
    }

    /// The extension of that id.
    ///
    /// # Errors
    /// There is none.
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
