//! Builds single definitions from stored texts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::tool::ToolBuilder;
use quillet_core::{Diagnostic, Severity};
use quillet_template::{CompileLimits, CompileOptions, TemplateSource};
use serde_json::{Map as Object, Value as Tree};

use crate::checked::CheckResult;
use crate::compile::Compiler;
use crate::definition::Prompt;
use crate::extension::Extension;
use crate::file::{self, EnvironmentProvider, NoEnvironment, PromptFile};
use crate::inline_prompt::InlinePrompt;
use crate::loader::{PromptLoader, Prompts};
use crate::referenced_files::ReferencedFiles;
use crate::revision::Revision;
use crate::script::{self, NoScripts, ScriptReader};
use crate::snapshot::{Definition, DefinitionState, PromptEntry, PromptOrigin, ToolEntry};
use crate::sources::SourceSet;

#[derive(Debug)]
pub(crate) struct Builder {
    compiler: Compiler,
    tools: Arc<dyn ToolBuilder>,
    /// Provides the environment of prompt files on disk.
    outside: Arc<dyn EnvironmentProvider>,
    scripts: Arc<dyn ScriptReader>,
}

/// Parsed prompt whose templates are not compiled yet.
pub(crate) struct Candidate<'a> {
    pub(crate) origin: PromptOrigin,
    pub(crate) place: &'a Arc<str>,
    pub(crate) text: &'a Arc<str>,
    pub(crate) read: Result<(&'a Prompt, &'a [Diagnostic]), &'a [Diagnostic]>,
    /// The prompt, if it can be shared.
    pub(crate) shared: Option<&'a Arc<Prompt>>,
    /// Version number, if the request selected a version.
    pub(crate) version: Option<u64>,
}

impl Builder {
    pub(crate) fn new(compiler: Compiler, tools: Arc<dyn ToolBuilder>) -> Self {
        Builder {
            compiler,
            tools,
            // Files and the environment are not available by default, because a stored prompt must
            // not read them.
            outside: Arc::new(NoEnvironment),
            scripts: Arc::new(NoScripts),
        }
    }

    pub(crate) fn with_outside(self, outside: Arc<dyn EnvironmentProvider>) -> Self {
        Builder { outside, ..self }
    }

    pub(crate) fn with_limits(mut self, limits: CompileLimits) -> Self {
        self.compiler.limits = limits;
        self
    }

    pub(crate) fn with_scripts(self, scripts: Arc<dyn ScriptReader>) -> Self {
        Builder { scripts, ..self }
    }

    pub(crate) fn look_ahead(&self) {
        self.tools.prepare();
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    pub(crate) fn check_prompt(
        &self,
        id: &str,
        source: &str,
        text: &str,
        prompts: &dyn Prompts,
    ) -> Vec<Diagnostic> {
        let entry = StoreEntry::new(key(id), text, source);
        let read = match self.script(id, &entry) {
            Some(script) => script,
            None => Prompt::parse(id, source, text),
        };
        self.resolved(
            read.map(|(prompt, found)| (Arc::new(prompt), found)),
            prompts,
        )
    }

    pub(crate) fn check(
        &self,
        kind: EntryKind,
        entry: &StoreEntry,
        prompts: &dyn Prompts,
    ) -> Vec<Diagnostic> {
        let id: Arc<str> = entry.key.id().into();
        match kind {
            EntryKind::Prompt => self.resolved(self.read(&id, entry).0, prompts),
            EntryKind::Tool => {
                let name = entry.key.function_name().into();
                self.tool(entry, &id, &name).diagnostics
            }
            EntryKind::Extension => extension(&id, entry).diagnostics,
            EntryKind::Environ | EntryKind::Agent | EntryKind::Database | EntryKind::Label => {
                Vec::new()
            }
        }
    }

    /// Returns the diagnostics of a parsed prompt, given the other prompts.
    fn resolved(&self, read: CheckResult<Arc<Prompt>>, prompts: &dyn Prompts) -> Vec<Diagnostic> {
        let (prompt, mut found) = match read {
            Ok((prompt, found)) => (prompt, found),
            Err(found) => return found,
        };
        if let Err(errors) = self.compiler.resolve(&prompt, &PromptLoader::new(prompts)) {
            found.extend(errors);
        }
        found
    }

    /// Parses a prompt that is not stored, and finds the sources that it needs.
    pub(crate) fn inline(
        &self,
        id: &str,
        unstored: &InlinePrompt,
        prompts: &dyn Prompts,
    ) -> Result<(Arc<Prompt>, Arc<SourceSet>), Vec<Diagnostic>> {
        let (prompt, _) = match unstored {
            InlinePrompt::Definition(object) => match script::source(object) {
                Some(text) => self.read_script(id, &key(id), object.clone(), text)?,
                None => Prompt::from_object(id, id, "", object.clone())?,
            },
            InlinePrompt::File { name, text } => {
                let entry = StoreEntry::new(key(id), text.clone(), name.clone());
                // The text comes from a request, so it gets no files and no environment.
                read_file(id, &entry, &NoEnvironment, &ReferencedFiles::default())?
            }
        };
        let prompt = Arc::new(prompt);
        let sources = self
            .compiler
            .resolve(&prompt, &PromptLoader::new(prompts))?;
        Ok((prompt, sources))
    }

    /// Parses the entry of a prompt; also returns the files that it refers to.
    pub(crate) fn read(
        &self,
        id: &Arc<str>,
        entry: &StoreEntry,
    ) -> (CheckResult<Arc<Prompt>>, Vec<PathBuf>) {
        if let Some(problem) = &entry.problem {
            return (Err(vec![problem.clone()]), Vec::new());
        }
        if let Some(script) = self.script(id, entry) {
            let script = script.map(|(prompt, found)| (shared(id, prompt), found));
            return (script, Vec::new());
        }
        if !is_file(entry) {
            let read = Prompt::parse(id, &format!("prompt {id}"), &entry.text);
            let lean = read.map(|(prompt, found)| (shared(id, prompt.without_source()), found));
            return (lean, Vec::new());
        }
        let referred = ReferencedFiles::default();
        let read = read_file(id, entry, &*self.outside, &referred);
        let read = read.map(|(prompt, found)| (shared(id, prompt), found));
        (read, referred.paths())
    }

    /// Combines a prompt with the sources of the prompts that it calls.
    pub(crate) fn prompt(
        &self,
        id: &Arc<str>,
        candidate: &Candidate<'_>,
        shelf: &PromptLoader<'_>,
    ) -> Definition<PromptEntry> {
        let (state, diagnostics) = match candidate.read {
            Err(errors) => (DefinitionState::Invalid, errors.to_vec()),
            Ok((prompt, warnings)) => {
                let prompt = match candidate.shared {
                    Some(prompt) => prompt.clone(),
                    None => Arc::new(prompt.clone()),
                };
                match self.compiler.resolve(&prompt, shelf) {
                    Err(errors) => (DefinitionState::Invalid, [warnings, &errors].concat()),
                    Ok(sources) => {
                        let entry = PromptEntry {
                            prompt,
                            origin: candidate.origin,
                            sources,
                            version: candidate.version,
                            drawn: false,
                        };
                        (DefinitionState::Valid(entry), warnings.to_vec())
                    }
                }
            }
        };
        Definition {
            id: id.clone(),
            origin: candidate.place.clone(),
            text: candidate.text.clone(),
            revision: Revision::of(candidate.text.as_bytes()),
            state,
            diagnostics,
        }
    }

    /// Parses an entry that holds a script; `None` for any other entry.
    fn script(&self, id: &str, entry: &StoreEntry) -> Option<CheckResult<Prompt>> {
        let (definition, text) = script::script_text(&entry.text)?;
        Some(self.read_script(id, &entry.key, definition, text))
    }

    /// Parses the script stored under a key.
    fn read_script(
        &self,
        id: &str,
        key: &EntryKey,
        definition: Object<String, Tree>,
        text: Result<Arc<str>, String>,
    ) -> CheckResult<Prompt> {
        let text = text.map_err(|lacks| {
            let source = format!("prompt {id}");
            vec![Diagnostic::error("prompt.script", &source, lacks)]
        })?;
        let segments: Vec<&str> = key.segments().collect();
        let name = format!("{}.ai.yaml", segments.join("/"));
        let (script, warnings) = self.scripts.read(&name, &text)?;
        Ok((Prompt::script(id, definition, script), warnings))
    }

    /// Builds the tool with this function name.
    pub(crate) fn tool(
        &self,
        entry: &StoreEntry,
        id: &Arc<str>,
        name: &Arc<str>,
    ) -> Definition<ToolEntry> {
        let source = format!("tool {id}");
        let built = match &entry.problem {
            Some(problem) => Err(vec![problem.clone()]),
            None => self.tools.build(name, id, &source, &entry.text),
        };
        let (state, mut diagnostics) = match built {
            Err(errors) => (DefinitionState::Invalid, errors),
            Ok(built) => {
                let tool = ToolEntry {
                    name: name.clone(),
                    tool: built.tool,
                };
                (DefinitionState::Valid(tool), built.warnings)
            }
        };
        if self.is_builtin(name) {
            let message = format!("{name} is reserved by the template language");
            let help = format!("templates call this tool as {{{{tool {name:?} …}}}}");
            diagnostics.push(Diagnostic::warning("tool.name", &source, message).help(help));
        }
        Definition {
            id: id.clone(),
            origin: entry.origin.clone(),
            text: entry.text.clone(),
            revision: Revision::of(entry.text.as_bytes()),
            state,
            diagnostics,
        }
    }

    /// Whether the default format resolves a function name itself. Such a name is not listed as a
    /// reference, or is a keyword that the parser rejects as a name.
    fn is_builtin(&self, name: &str) -> bool {
        let text = format!("{{{{{name}}}}}");
        let sources = [TemplateSource::new(name, &text)];
        let compiled = self
            .compiler
            .factory()
            .compile("go", &sources, &CompileOptions::default());
        compiled.map_or(true, |template| template.references().functions.is_empty())
    }
}

/// Converts an id to a store key.
fn key(id: &str) -> EntryKey {
    EntryKey::new(id.replace('.', ":"))
}

/// Parses an extension.
pub(crate) fn extension(id: &Arc<str>, entry: &StoreEntry) -> Definition<Arc<Extension>> {
    let read = match &entry.problem {
        Some(problem) => Err(vec![problem.clone()]),
        None => Extension::parse(&format!("extension {id}"), &entry.text),
    };
    let (state, diagnostics) = match read {
        Ok(extension) => (DefinitionState::Valid(Arc::new(extension)), Vec::new()),
        Err(errors) => (DefinitionState::Invalid, errors),
    };
    Definition {
        id: id.clone(),
        origin: entry.origin.clone(),
        text: entry.text.clone(),
        revision: Revision::of(entry.text.as_bytes()),
        state,
        diagnostics,
    }
}

/// Logs the diagnostics of a new or changed definition.
pub(crate) fn report<T>(kind: &'static str, definition: &Definition<T>) {
    let Definition { id, origin, .. } = definition;
    for found in &definition.diagnostics {
        match found.severity {
            Severity::Error => tracing::warn!(kind, %id, %origin, "{found}"),
            Severity::Warning if kind == "tool" => tracing::warn!(kind, %id, %origin, "{found}"),
            Severity::Warning => {}
        }
    }
}

/// Replaces the prompt's id with the catalogue's `Arc`, so that each id is stored only once.
fn shared(id: &Arc<str>, mut prompt: Prompt) -> Arc<Prompt> {
    prompt.id = id.clone();
    Arc::new(prompt)
}

/// Whether an entry is a prompt file, whose format depends on its name as well as its text. A Redis
/// key may also end with such a file extension.
pub(crate) fn is_file(entry: &StoreEntry) -> bool {
    file::kind(&entry.origin, &entry.text).is_some()
        // A JSON object is a JSON definition even if its name has the extension of a prompt file.
        && serde_json::from_str::<Object<String, Tree>>(&entry.text).is_err()
}

/// Parses a prompt file. A file that is not in a folder can refer to named schemas, but not to
/// environment variables or other files.
fn read_file(
    id: &str,
    entry: &StoreEntry,
    outside: &dyn EnvironmentProvider,
    referred: &ReferencedFiles,
) -> CheckResult<Prompt> {
    let config = entry.companion.as_ref();
    let read = PromptFile {
        id,
        name: &entry.origin,
        text: &entry.text,
        config: config.map(|(name, text)| (&**name, &**text)),
    };
    match &entry.folder {
        Some(folder) => file::read(&read, &referred.watch(folder, outside)),
        None => file::read(&read, &*outside.anywhere()),
    }
}

/// Path of the file that an entry was read from, if any.
pub(crate) fn path(entry: &StoreEntry) -> Option<PathBuf> {
    let name = Path::new(&*entry.origin).file_name()?;
    Some(entry.folder.as_ref()?.join(name))
}
