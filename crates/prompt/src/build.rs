//! From stored texts to a snapshot. What did not change is taken over from the
//! snapshot before, tools with their connections included.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::store::{Entry, Key, Kind};
use quillet_core::tool::{Tool, ToolBuilder};
use quillet_template::{CompileOptions, Source};
use serde_json::{Map as Object, Value as Tree};

use crate::catalogue::Stored;
use crate::compile::{Callee, Compiler, Library, Resolved, SourceSet};
use crate::definition::{Body, Checked, Prompt};
use crate::extension::Extension;
use crate::file::{self, Alone, Outside, PromptFile};
use crate::referred::Referred;
use crate::script::{self, NoScripts, ScriptReader};
use crate::snapshot::{Definition, Origin, PromptEntry, Snapshot, State, ToolEntry};

#[derive(Debug)]
pub(crate) struct Builder {
    compiler: Compiler,
    tools: Arc<dyn ToolBuilder>,
    /// Who answers what prompt files on a disk ask for.
    outside: Arc<dyn Outside>,
    scripts: Arc<dyn ScriptReader>,
}

/// Tools by id, and by function name.
type Tools = (
    BTreeMap<Arc<str>, Arc<Definition<ToolEntry>>>,
    BTreeMap<Arc<str>, Arc<dyn Tool>>,
);

/// A prompt whose definition was read and whose templates are not compiled yet.
struct Candidate {
    origin: Origin,
    place: Arc<str>,
    text: Arc<str>,
    read: Checked<Arc<Prompt>>,
}

impl Builder {
    pub(crate) fn new(compiler: Compiler, tools: Arc<dyn ToolBuilder>) -> Self {
        Builder {
            compiler,
            tools,
            outside: Arc::new(Alone),
            scripts: Arc::new(NoScripts),
        }
    }

    pub(crate) fn with_outside(self, outside: Arc<dyn Outside>) -> Self {
        Builder { outside, ..self }
    }

    pub(crate) fn with_scripts(self, scripts: Arc<dyn ScriptReader>) -> Self {
        Builder { scripts, ..self }
    }

    pub(crate) fn look_ahead(&self) {
        self.tools.look_ahead();
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    pub(crate) fn build(
        &self,
        stored: &Stored,
        offered: &[Arc<dyn Tool>],
        before: &Snapshot,
    ) -> Snapshot {
        let entries = |kind| stored.get(&kind).into_iter().flat_map(BTreeMap::values);
        let extensions = entries(Kind::Extension)
            .map(|entry| extension(entry, before))
            .collect();
        let candidates = self.candidates(&extensions, entries(Kind::Prompt));
        let shelf = Shelf(&candidates);
        let prompts = candidates
            .iter()
            .map(|(id, candidate)| (id.clone(), self.prompt(id, candidate, &shelf, before)))
            .collect();
        let (tools, mut functions) = self.tools(entries(Kind::Tool), before);
        add_offered(&mut functions, offered);
        alias_lower_case(&mut functions);
        Snapshot {
            extensions,
            prompts,
            tools,
            functions,
        }
    }

    pub(crate) fn check_prompt(
        &self,
        id: &str,
        source: &str,
        text: &str,
        snapshot: &Snapshot,
    ) -> Vec<Diagnostic> {
        let entry = Entry::new(Key::new(id.replace('.', ":")), text, source);
        let read = match self.script(id, &entry) {
            Some(script) => script,
            None => Prompt::parse(id, source, text),
        };
        let (prompt, mut found) = match read {
            Ok(read) => read,
            Err(found) => return found,
        };
        let candidates = known(snapshot);
        if let Err(errors) = self.resolve(&prompt, &Shelf(&candidates)) {
            found.extend(errors);
        }
        found
    }

    /// Reads a prompt that is not stored and finds the sources that it needs.
    pub(crate) fn inline(
        &self,
        id: &str,
        definition: Object<String, Tree>,
        snapshot: &Snapshot,
    ) -> Result<(Prompt, Arc<SourceSet>), Vec<Diagnostic>> {
        let (prompt, _) = Prompt::from_object(id, id, "", definition)?;
        let candidates = known(snapshot);
        let resolved = self.compiler.resolve(&prompt, &Shelf(&candidates))?;
        Ok((prompt, resolved.set))
    }

    fn prompt(
        &self,
        id: &Arc<str>,
        candidate: &Candidate,
        shelf: &Shelf<'_>,
        before: &Snapshot,
    ) -> Arc<Definition<PromptEntry>> {
        if let Some(known) = before.prompts.get(id)
            && unchanged(known, candidate)
            && shelf.partials(id, &|_| true).is_empty()
        {
            return known.clone();
        }
        let (state, diagnostics) = match &candidate.read {
            Err(errors) => (State::Invalid, errors.clone()),
            Ok((prompt, warnings)) => match self.resolve(prompt, shelf) {
                Err(errors) => (State::Invalid, [warnings.clone(), errors].concat()),
                Ok(resolved) => {
                    let entry = PromptEntry {
                        prompt: prompt.clone(),
                        origin: candidate.origin,
                        sources: resolved.set,
                        alone: resolved.alone,
                    };
                    (State::Valid(entry), warnings.clone())
                }
            },
        };
        Arc::new(Definition {
            id: id.clone(),
            origin: candidate.place.clone(),
            text: candidate.text.clone(),
            state,
            diagnostics,
        })
    }

    /// A script and what is wrong with it, if the entry holds one.
    fn script(&self, id: &str, entry: &Entry) -> Option<Checked<Prompt>> {
        let text = script::script_text(&entry.text)?;
        let (definition, text) = match text {
            Ok(parts) => parts,
            Err(message) => {
                let source = format!("prompt {id}");
                return Some(Err(vec![Diagnostic::error(
                    "prompt.script",
                    &source,
                    message,
                )]));
            }
        };
        let segments: Vec<&str> = entry.key.segments().collect();
        let name = format!("{}.ai.yaml", segments.join("/"));
        let read = self.scripts.read(&name, &text);
        Some(read.map(|(script, warnings)| (Prompt::script(id, definition, script), warnings)))
    }

    /// The sources of a prompt; a script has none.
    fn resolve(&self, prompt: &Prompt, shelf: &Shelf<'_>) -> Result<Resolved, Vec<Diagnostic>> {
        match prompt.body {
            Body::Script(_) => Ok(Resolved::of_script(prompt)),
            Body::Text(_) | Body::Messages(_) => self.compiler.resolve(prompt, shelf),
        }
    }

    /// Prompts of extensions, then those registered directly, which win.
    fn candidates<'a>(
        &self,
        extensions: &BTreeMap<Arc<str>, Arc<Definition<Arc<Extension>>>>,
        direct: impl Iterator<Item = &'a Entry>,
    ) -> BTreeMap<Arc<str>, Candidate> {
        let mut candidates = BTreeMap::new();
        for definition in extensions.values() {
            let State::Valid(extension) = &definition.state else {
                continue;
            };
            for (id, read) in &extension.prompts {
                let candidate = Candidate {
                    origin: Origin::Extension,
                    place: definition.origin.clone(),
                    text: definition.text.clone(),
                    read: read
                        .clone()
                        .map(|(prompt, found)| (Arc::new(prompt), found)),
                };
                candidates
                    .entry(Arc::from(id.as_str()))
                    .or_insert(candidate);
            }
        }
        let referred = Referred::default();
        let mut broken = Vec::new();
        for entry in direct {
            let id: Arc<str> = entry.key.id().into();
            let read = match &entry.problem {
                Some(problem) => Err(vec![problem.clone()]),
                None => match self.script(&id, entry) {
                    Some(script) => script,
                    None => read(&id, entry, &*self.outside, &referred),
                },
            };
            if let (Err(_), Some(path)) = (&read, path(entry)) {
                broken.push((id.clone(), path));
            }
            let candidate = Candidate {
                origin: Origin::Direct,
                place: entry.origin.clone(),
                text: entry.text.clone(),
                read: read.map(|(prompt, found)| (Arc::new(prompt), found)),
            };
            candidates.insert(id, candidate);
        }
        // Data that a prompt file refers to is a part of it, and no prompt gone wrong.
        for (id, _) in broken.iter().filter(|(_, path)| referred.contains(path)) {
            candidates.remove(id);
        }
        candidates
    }

    fn tools<'a>(&self, entries: impl Iterator<Item = &'a Entry>, before: &Snapshot) -> Tools {
        let mut tools = BTreeMap::new();
        let mut functions: BTreeMap<Arc<str>, Arc<dyn Tool>> = BTreeMap::new();
        let mut owners: HashMap<Arc<str>, Key> = HashMap::new();
        for entry in entries {
            let id: Arc<str> = entry.key.id().into();
            let name: Arc<str> = entry.key.function_name().into();
            let known = before
                .tools
                .get(&id)
                .filter(|known| known.text == entry.text);
            let mut definition = match known {
                Some(known) => known.clone(),
                None => Arc::new(self.tool(entry, &id, &name)),
            };
            if let Some(owner) = owners.get(&name) {
                let message = format!(
                    "the name {name} belongs to the tool {owner}, so this one cannot be called"
                );
                let found = Diagnostic::warning("tool.name", &format!("tool {id}"), message);
                if !definition.diagnostics.contains(&found) {
                    Arc::make_mut(&mut definition).diagnostics.push(found);
                }
            } else if let State::Valid(tool) = &definition.state {
                functions.insert(name.clone(), tool.tool.clone());
                owners.insert(name, entry.key.clone());
            }
            tools.insert(id, definition);
        }
        (tools, functions)
    }

    fn tool(&self, entry: &Entry, id: &Arc<str>, name: &Arc<str>) -> Definition<ToolEntry> {
        let source = format!("tool {id}");
        let built = match &entry.problem {
            Some(problem) => Err(vec![problem.clone()]),
            None => self.tools.build(name, &source, &entry.text),
        };
        let (state, mut diagnostics) = match built {
            Err(errors) => (State::Invalid, errors),
            Ok(built) => {
                let tool = ToolEntry {
                    name: name.clone(),
                    tool: built.tool,
                };
                (State::Valid(tool), built.warnings)
            }
        };
        if self.is_builtin(name) {
            let message = format!("{name} is a name of the template language");
            let help = format!("templates reach this tool as {{{{tool {name:?} …}}}}");
            diagnostics.push(Diagnostic::warning("tool.name", &source, message).help(help));
        }
        Definition {
            id: id.clone(),
            origin: entry.origin.clone(),
            text: entry.text.clone(),
            state,
            diagnostics,
        }
    }

    /// Whether the default format would not look for a function of that name
    /// outside: it does not list it as a reference, or cannot even parse it.
    fn is_builtin(&self, name: &str) -> bool {
        let text = format!("{{{{{name}}}}}");
        let sources = [Source::new(name, &text)];
        let compiled = self
            .compiler
            .factory()
            .compile("go", &sources, &CompileOptions::default());
        compiled.map_or(true, |template| template.references().functions.is_empty())
    }
}

/// Adds tools that rest in no store; a stored tool goes before one of the same name.
fn add_offered(functions: &mut BTreeMap<Arc<str>, Arc<dyn Tool>>, offered: &[Arc<dyn Tool>]) {
    for tool in offered {
        let name: Arc<str> = tool.spec().name.as_str().into();
        functions.entry(name).or_insert_with(|| tool.clone());
    }
}

/// The origin lower-cases function names; where nothing else has the lower-case
/// name, it works here too.
fn alias_lower_case(functions: &mut BTreeMap<Arc<str>, Arc<dyn Tool>>) {
    let lower = |(name, tool): (&Arc<str>, &Arc<dyn Tool>)| {
        let lower = name.to_lowercase();
        (lower != **name).then(|| (Arc::from(lower), tool.clone()))
    };
    let aliases: Vec<(Arc<str>, Arc<dyn Tool>)> = functions.iter().filter_map(lower).collect();
    for (name, tool) in aliases {
        functions.entry(name).or_insert(tool);
    }
}

fn unchanged(known: &Definition<PromptEntry>, candidate: &Candidate) -> bool {
    match &known.state {
        State::Valid(entry) => {
            known.text == candidate.text
                && entry.origin == candidate.origin
                && entry.alone
                && candidate.read.as_ref().is_ok_and(|(prompt, _)| {
                    // What was put in the place of references is in the metadata only.
                    prompt.raw == entry.prompt.raw && prompt.metadata == entry.prompt.metadata
                })
        }
        State::Invalid => false,
    }
}

fn extension(entry: &Entry, before: &Snapshot) -> (Arc<str>, Arc<Definition<Arc<Extension>>>) {
    let id: Arc<str> = entry.key.id().into();
    if let Some(known) = before
        .extensions
        .get(&id)
        .filter(|known| known.text == entry.text)
    {
        return (id, known.clone());
    }
    let read = match &entry.problem {
        Some(problem) => Err(vec![problem.clone()]),
        None => Extension::parse(&format!("extension {id}"), &entry.text),
    };
    let (state, diagnostics) = match read {
        Ok(extension) => (State::Valid(Arc::new(extension)), Vec::new()),
        Err(errors) => (State::Invalid, errors),
    };
    let definition = Definition {
        id: id.clone(),
        origin: entry.origin.clone(),
        text: entry.text.clone(),
        state,
        diagnostics,
    };
    (id, Arc::new(definition))
}

/// A definition, or a prompt file, as the ending of its name says. What rests in
/// no folder is handed out no environment and no other files.
fn read(id: &str, entry: &Entry, outside: &dyn Outside, referred: &Referred) -> Checked<Prompt> {
    let is_file = file::kind(&entry.origin, &entry.text).is_some();
    // A key of Redis may have such an ending too.
    if is_file && serde_json::from_str::<Object<String, Tree>>(&entry.text).is_err() {
        let config = entry.companion.as_ref();
        let read = PromptFile {
            id,
            name: &entry.origin,
            text: &entry.text,
            config: config.map(|(name, text)| (&**name, &**text)),
        };
        return match &entry.folder {
            Some(folder) => file::read(&read, &referred.watch(folder, outside)),
            None => file::read(&read, &Alone),
        };
    }
    Prompt::parse(id, &format!("prompt {id}"), &entry.text)
}

/// The file that an entry is.
fn path(entry: &Entry) -> Option<PathBuf> {
    let name = Path::new(&*entry.origin).file_name()?;
    Some(entry.folder.as_ref()?.join(name))
}

/// The usable prompts of a snapshot, as candidates to be called.
fn known(snapshot: &Snapshot) -> BTreeMap<Arc<str>, Candidate> {
    let candidate = |(id, known): (&Arc<str>, &Arc<Definition<PromptEntry>>)| {
        let State::Valid(entry) = &known.state else {
            return None;
        };
        let candidate = Candidate {
            origin: entry.origin,
            place: known.origin.clone(),
            text: known.text.clone(),
            read: Ok((entry.prompt.clone(), Vec::new())),
        };
        Some((id.clone(), candidate))
    };
    snapshot.prompts.iter().filter_map(candidate).collect()
}

/// The folders that an id can be in, each with its dot, from the nearest to the
/// root: the name of a file may have dots too.
fn outward(id: &str) -> impl Iterator<Item = &str> {
    let dots = id.rmatch_indices('.').map(|(at, _)| &id[..=at]);
    dots.chain([""])
}

/// Prompts that others can call.
struct Shelf<'a>(&'a BTreeMap<Arc<str>, Candidate>);

impl Shelf<'_> {
    fn prompt(&self, id: &str) -> Option<(&Arc<str>, &Prompt)> {
        let (id, candidate) = self.0.get_key_value(id)?;
        let (prompt, _) = candidate.read.as_ref().ok()?;
        Some((id, prompt))
    }

    /// The prompt of that id, if it is one text, under a name.
    fn text(&self, id: &str, name: &str) -> Option<Callee> {
        let (id, prompt) = self.prompt(id)?;
        let Body::Text(text) = &prompt.body else {
            return None;
        };
        Some(Callee {
            name: name.to_owned(),
            text: text.clone(),
            owner: id.clone(),
        })
    }
}

impl Library for Shelf<'_> {
    fn by_id(&self, id: &str) -> Option<Vec<Callee>> {
        if let Some(text) = self.text(id, id) {
            return Some(vec![text]);
        }
        let (id, prompt) = self.prompt(id)?;
        let own = |(name, text): (String, &str)| Callee {
            name,
            text: text.to_owned(),
            owner: id.clone(),
        };
        Some(prompt.templates().into_iter().map(own).collect())
    }

    fn partial(&self, id: &str, name: &str) -> Option<Callee> {
        let bare = name.strip_prefix('_').unwrap_or(name);
        let ids = outward(id).map(|folder| format!("{folder}_{bare}"));
        let id = ids.into_iter().find(|id| self.0.contains_key(&**id))?;
        self.text(&id, name)
    }

    fn partials(&self, id: &str, fits: &dyn Fn(&Prompt) -> bool) -> Vec<Callee> {
        let Some((extension, _)) = id.rsplit_once('.') else {
            return Vec::new();
        };
        let prefix = format!("{extension}._");
        self.0
            .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded))
            .take_while(|(other, _)| other.starts_with(&prefix))
            .filter(|(other, _)| &***other != id)
            .filter(|(other, _)| self.prompt(other).is_some_and(|(_, prompt)| fits(prompt)))
            .filter_map(|(other, _)| self.text(other, &other[extension.len() + 1..]))
            .collect()
    }

    fn locate(&self, id: &str, found: Diagnostic) -> Diagnostic {
        let Some((_, prompt)) = self.prompt(id) else {
            return found;
        };
        match (&prompt.place, &prompt.body) {
            (None, Body::Text(_)) => Diagnostic {
                source: format!("{id}.prompt"),
                ..found
            },
            _ => prompt.locate(found),
        }
    }
}
