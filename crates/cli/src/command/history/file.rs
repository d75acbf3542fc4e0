//! Reads definitions from a folder or a file, as a folder store would return them.

use std::collections::BTreeMap;
use std::path::Path;

use quillet::settings::{self, Settings};
use quillet_core::Diagnostic;
use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_prompt::convert::{self, ConvertTarget, FileOptions};
use quillet_prompt::file::{self, NoEnvironment, PromptFile};
use quillet_store::{Address, FolderStore, StoreOptions, entry_of_file};
use quillet_template::TemplateFactory;

use crate::agent_file;
use crate::args::Push;
use crate::failure::CliError;
use crate::report::LocatedDiagnostic;
use crate::source::{self, InputFileKind};
use crate::terminal;

/// Definitions read from files, each with its origin.
#[derive(Default)]
pub(super) struct DefinitionFiles {
    entries: BTreeMap<(EntryKind, EntryKey), StoreEntry>,
    /// Kinds that have a subfolder.
    pub(super) kinds: Vec<EntryKind>,
}

impl DefinitionFiles {
    /// Reads the files selected by the arguments.
    ///
    /// # Errors
    /// A file cannot be read, or two files contain the same definition.
    pub(super) async fn read(args: &Push) -> Result<Self, CliError> {
        let mut files = DefinitionFiles::default();
        if args.id.is_some() && (args.paths.len() != 1 || args.paths.iter().any(|it| it.is_dir())) {
            return Err(CliError::Usage("--id needs exactly one file".into()));
        }
        for path in &args.paths {
            if path.is_dir() {
                files.folder(path, args.which.kind).await?;
            } else {
                files.file(path, args)?;
            }
        }
        if files.entries.is_empty() {
            return Err(CliError::Other(format!(
                "no definition in {}",
                args.paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect::<Vec<_>>()
                    .join(", ")
            )));
        }
        Ok(files)
    }

    async fn folder(&mut self, path: &Path, kind: Option<EntryKind>) -> Result<(), CliError> {
        let holds = |kind: EntryKind| {
            let mut names = quillet_store::folders(kind).iter();
            names.any(|name| path.join(name).is_dir())
        };
        let kinds = EntryKind::ALL
            .into_iter()
            .filter(|kind| kind.has_versions());
        let kinds: Vec<EntryKind> = kinds.filter(|kind| holds(*kind)).collect();
        if kinds.is_empty() {
            return Err(CliError::Other(format!(
                "{} does not have the layout of a store: missing prompts/, tools/, extensions/, agents/ and databases/; pass their parent folder, or single files",
                path.display()
            )));
        }
        let wanted = kinds
            .into_iter()
            .filter(|it| kind.is_none_or(|kind| kind == *it));
        let store = FolderStore::open(path, &StoreOptions::default()).await?;
        for kind in wanted {
            for entry in store.load(kind).await? {
                let origin = path.join(&*entry.origin).to_string_lossy().into_owned();
                self.add(kind, entry, &origin)?;
            }
            self.kinds.push(kind);
        }
        if holds(EntryKind::Environ) {
            let path = path.display();
            terminal::note(&format!(
                "skipped {path}/environs: shared variables are values, not definitions"
            ));
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, args: &Push) -> Result<(), CliError> {
        let name = path.to_string_lossy();
        let kind = match args.which.kind {
            Some(kind) => kind,
            None => kind_of(&name)?,
        };
        let most = StoreOptions::default().max_file_bytes;
        let entry = entry_of_file(kind, path, most);
        let entry = entry.map_err(|error| CliError::Other(format!("{name}: {error}")))?;
        let Some(mut entry) = entry else {
            return Err(CliError::Usage(format!(
                "{name}: unknown file extension for a {}",
                kind.name()
            )));
        };
        if let Some(id) = &args.id {
            // In keys, colons separate the parts of an id.
            entry.key = EntryKey::new(id.replace('.', ":"));
        }
        self.add(kind, entry, &name)
    }

    fn add(
        &mut self,
        kind: EntryKind,
        mut entry: StoreEntry,
        origin: &str,
    ) -> Result<(), CliError> {
        let origin = origin.strip_prefix("./").unwrap_or(origin);
        entry.origin = origin.into();
        if let Some(problem) = &mut entry.problem {
            origin.clone_into(&mut problem.source);
        }
        let at = (kind, entry.key.clone());
        if let Some(known) = self.entries.get(&at) {
            return Err(CliError::Other(format!(
                "{} and {origin} both define the {} {}: remove one of them",
                known.origin,
                kind.name(),
                entry.key.id()
            )));
        }
        self.entries.insert(at, entry);
        Ok(())
    }

    /// Returns the definitions to store and the texts to check. Prompt files are converted to JSON
    /// unless the store is a folder.
    ///
    /// # Errors
    /// A prompt file has no exact counterpart in JSON.
    pub(super) fn into_definitions(
        self,
        config: &Settings,
    ) -> Result<Vec<FileDefinition>, CliError> {
        let is_folder = is_folder(config);
        let formats = TemplateFactory::standard();
        let (mut kept, mut found) = (Vec::new(), Vec::new());
        for ((kind, _), entry) in self.entries {
            let content = DefinitionContent::of(&entry);
            // An entry with a problem cannot be converted. It stays unchanged, so the check reports
            // it.
            if is_folder || content.file.is_empty() || entry.problem.is_some() {
                kept.push(FileDefinition {
                    kind,
                    entry,
                    content,
                });
                continue;
            }
            match converted(&entry, &formats) {
                Ok(text) => {
                    let content = DefinitionContent::new(text);
                    kept.push(FileDefinition {
                        kind,
                        entry,
                        content,
                    });
                }
                Err(wrong) => found.extend(wrong),
            }
        }
        if found.is_empty() {
            Ok(kept)
        } else {
            terminal::note("prompt files are stored as JSON unless the store is a folder");
            Err(CliError::Findings(found))
        }
    }
}

/// A definition from a file, and its stored form.
pub(super) struct FileDefinition {
    pub(super) kind: EntryKind,
    /// The entry as it was read.
    pub(super) entry: StoreEntry,
    /// The content to store.
    pub(super) content: DefinitionContent,
}

/// Whether the store is a folder, which stores prompt files unchanged.
pub(super) fn is_folder(config: &Settings) -> bool {
    let address = config.text(&settings::STORE_URL).unwrap_or_default();
    matches!(address.parse::<Address>(), Ok(Address::Folder(_)))
}

/// Converts a prompt file to a JSON definition.
///
/// # Errors
/// Parts of the file without an exact counterpart.
pub(super) fn converted(
    entry: &StoreEntry,
    formats: &TemplateFactory,
) -> Result<String, Vec<LocatedDiagnostic>> {
    let config = entry.companion.as_ref();
    let prompt = PromptFile {
        id: file::stem(&entry.origin),
        name: &entry.origin,
        text: &entry.text,
        config: config.map(|(name, text)| (&**name, &**text)),
    };
    let options = FileOptions::default();
    let done = convert::convert(
        &prompt,
        ConvertTarget::Definition,
        &NoEnvironment,
        formats,
        &options,
    );
    let finding = |diagnostic: Diagnostic| LocatedDiagnostic {
        diagnostic,
        text: Some(entry.text.to_string()),
    };
    let done = done.map_err(|found| found.into_iter().map(finding).collect::<Vec<_>>());
    Ok(done?.text)
}

/// Returns the kind of a single file, based on its content.
fn kind_of(name: &str) -> Result<EntryKind, CliError> {
    if source::is_script(name) {
        return Ok(EntryKind::Prompt);
    }
    let text = source::read(name)?;
    let form = source::form(name, &text);
    let Some(form @ (InputFileKind::Json | InputFileKind::Yaml)) = form else {
        return Ok(EntryKind::Prompt);
    };
    // The later check reports parse errors with their locations.
    let Ok(definition) = source::parse(name, &text, form) else {
        return Ok(EntryKind::Prompt);
    };
    if agent_file::is_agent(name, &definition) {
        return Ok(EntryKind::Agent);
    }
    Ok(source::kind_of(&definition).unwrap_or(EntryKind::Prompt))
}
