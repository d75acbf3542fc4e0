//! From a prompt to a compiled template: which sources stand together, and the
//! cache of what was compiled.
//!
//! All messages of a prompt form one set, with the partials of its extension
//! (prompts whose name begins with `_`) and every other prompt that is called
//! by its id.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use quillet_core::Diagnostic;
use quillet_template::{
    CompileError, CompileOptions, MessageSyntax, Missing, Source, Template, TemplateFactory,
};

use crate::definition::Prompt;
use crate::recent::Recent;
use crate::variables::Plan;

/// Sources in one set are bounded, so that prompts which call each other by
/// id cannot make one compile the whole store.
const MOST_SOURCES: usize = 256;

/// Everything that decides what a prompt compiles to. Compared by content, with
/// the hash taken once.
#[derive(Debug)]
pub(crate) struct SourceSet {
    format: String,
    missing: Missing,
    messages: MessageSyntax,
    trusted: Vec<String>,
    trusted_results: bool,
    sources: Vec<OwnedSource>,
    hash: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OwnedSource {
    name: Arc<str>,
    text: Arc<str>,
    library: bool,
    /// The prompt that it is the template of.
    owner: Arc<str>,
}

impl SourceSet {
    fn new(prompt: &Prompt, sources: Vec<OwnedSource>) -> Self {
        let (format, missing) = (&prompt.format, prompt.missing);
        let (messages, trusted) = (prompt.messages, &prompt.trusted);
        let trusted_results = prompt.trusted_results;
        let key = (
            format,
            missing,
            messages,
            trusted,
            trusted_results,
            &sources,
        );
        SourceSet {
            hash: foldhash::quality::FixedState::default().hash_one(key),
            format: format.clone(),
            missing,
            messages,
            trusted: trusted.clone(),
            trusted_results,
            sources,
        }
    }
}

impl SourceSet {
    /// The prompt that a source of that name is the template of.
    pub(crate) fn owner(&self, source: &str) -> Option<&str> {
        let source = self.sources.iter().find(|known| &*known.name == source);
        source.map(|source| &*source.owner)
    }

    /// Name and text of a source, by its place among those that were compiled.
    pub(crate) fn text(&self, source: usize) -> Option<(&str, &str)> {
        let source = self.sources.get(source)?;
        Some((&*source.name, &*source.text))
    }

    /// The texts of all sources.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| &*source.text)
    }

    /// The other prompts whose templates take part, each once.
    pub(crate) fn owners(&self) -> Vec<&str> {
        let mut owners: Vec<&str> = Vec::new();
        for source in self.sources.iter().filter(|source| source.library) {
            if !owners.contains(&&*source.owner) {
                owners.push(&source.owner);
            }
        }
        owners
    }

    /// Names and texts of the templates that come from other prompts.
    pub(crate) fn called(&self) -> impl Iterator<Item = (&str, &str)> {
        let called = self.sources.iter().filter(|source| source.library);
        called.map(|source| (&*source.name, &*source.text))
    }
}

impl PartialEq for SourceSet {
    fn eq(&self, other: &Self) -> bool {
        let same = || {
            self.hash == other.hash
                && self.format == other.format
                && self.missing == other.missing
                && self.messages == other.messages
                && self.trusted == other.trusted
                && self.trusted_results == other.trusted_results
                && self.sources == other.sources
        };
        std::ptr::eq(self, other) || same()
    }
}

impl Eq for SourceSet {}

impl Hash for SourceSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// A compiled prompt.
#[derive(Debug)]
pub struct Compiled {
    /// The template.
    pub template: Arc<dyn Template>,
    /// Names of the sources to render, in order.
    pub entries: Vec<Arc<str>>,
    /// Which shared variables to fetch, as found out by the last render.
    pub(crate) plan: ArcSwapOption<Plan>,
}

/// Compiles source sets and keeps those used most recently.
#[derive(Debug)]
pub(crate) struct Compiler {
    factory: TemplateFactory,
    cache: Recent<SourceSet, Arc<Compiled>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A set that lacks nothing it could have.
pub(crate) struct Resolved {
    pub(crate) set: Arc<SourceSet>,
    /// Whether no other prompt takes part, nor would if it existed.
    pub(crate) alone: bool,
}

impl Resolved {
    /// A script's: no sources, so that none of another prompt can change it.
    pub(crate) fn of_script(prompt: &Prompt) -> Self {
        Resolved {
            set: Arc::new(SourceSet::new(prompt, Vec::new())),
            alone: true,
        }
    }
}

/// A template of another prompt.
pub(crate) struct Callee {
    /// The name that it is called by.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The prompt whose template it is.
    pub(crate) owner: Arc<str>,
}

/// Other prompts, as the compiler needs them.
pub(crate) trait Library {
    /// The templates of the prompt of that id.
    fn by_id(&self, id: &str) -> Option<Vec<Callee>>;
    /// The template that a prompt calls by this name and that rests under the name
    /// with one `_` before it, beside the prompt (dotprompt's `_NAME.prompt`).
    fn partial(&self, id: &str, name: &str) -> Option<Callee>;
    /// The partials that belong to a prompt, if they fit.
    fn partials(&self, id: &str, fits: &dyn Fn(&Prompt) -> bool) -> Vec<Callee>;
    /// A finding in a template of the prompt of that id, as one in its file.
    fn locate(&self, id: &str, found: Diagnostic) -> Diagnostic;
}

impl Compiler {
    pub(crate) fn new(factory: TemplateFactory, capacity: usize) -> Self {
        Compiler {
            factory,
            cache: Recent::new(capacity),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Compilations that were found in the cache, and that were not.
    pub(crate) fn hits_and_misses(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.hits), load(&self.misses))
    }

    pub(crate) fn factory(&self) -> &TemplateFactory {
        &self.factory
    }

    /// Whether a set was compiled before and is still kept.
    pub(crate) fn knows(&self, set: &SourceSet) -> bool {
        self.cache.get(set).is_some()
    }

    /// Compiles a set, or takes it from the cache.
    pub(crate) fn compile(&self, set: &Arc<SourceSet>) -> Result<Arc<Compiled>, CompileError> {
        if let Some(compiled) = self.cache.get(set) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(compiled);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let compiled = Arc::new(self.compile_now(set)?);
        Ok(self.cache.insert(set, compiled))
    }

    fn compile_now(&self, set: &SourceSet) -> Result<Compiled, CompileError> {
        let source = |source: &'_ OwnedSource| -> (Arc<str>, Arc<str>, bool) {
            (source.name.clone(), source.text.clone(), source.library)
        };
        let owned: Vec<_> = set.sources.iter().map(source).collect();
        let sources: Vec<Source<'_>> = owned
            .iter()
            .map(|(name, text, library)| Source {
                name,
                text,
                library: *library,
            })
            .collect();
        let options = CompileOptions {
            missing: set.missing,
            messages: set.messages,
            trusted: set.trusted.clone(),
            trusted_results: set.trusted_results,
            ..CompileOptions::default()
        };
        let template = self.factory.compile(&set.format, &sources, &options)?;
        let entries = set.sources.iter().filter(|source| !source.library);
        Ok(Compiled {
            template,
            entries: entries.map(|source| source.name.clone()).collect(),
            plan: ArcSwapOption::empty(),
        })
    }

    /// Finds the sources that a prompt needs, by compiling with what is known
    /// and adding what is called and not there, until nothing is missing.
    ///
    /// # Errors
    /// What the format says about the sources.
    pub(crate) fn resolve(
        &self,
        prompt: &Prompt,
        library: &dyn Library,
    ) -> Result<Resolved, Vec<Diagnostic>> {
        let own = prompt
            .templates()
            .into_iter()
            .map(|(name, text)| OwnedSource {
                name: name.into(),
                text: text.into(),
                library: false,
                owner: prompt.id.clone(),
            });
        let mut sources: Vec<OwnedSource> = own.collect();
        let format = |prompt: &Prompt| Some(self.factory.format(&prompt.format)?.name());
        // What is not called by name has to be of one language.
        let fits = |other: &Prompt| format(other) == format(prompt);
        add(&mut sources, library.partials(&prompt.id, &fits));
        loop {
            let set = Arc::new(SourceSet::new(prompt, sources.clone()));
            let compiled = self
                .compile(&set)
                .map_err(|error| placed(prompt, &set, library, error.diagnostics))?;
            let wanted = &compiled.template.references().templates;
            let before = sources.len();
            for name in wanted {
                add(&mut sources, called(prompt, name, library));
            }
            if sources.len() == before {
                let alone = wanted.is_empty() && set.sources.iter().all(|source| !source.library);
                return Ok(Resolved { set, alone });
            }
            if sources.len() > MOST_SOURCES {
                let message = format!("the prompt calls more than {MOST_SOURCES} others");
                return Err(vec![Diagnostic::error(
                    "prompt.library",
                    &prompt.id,
                    message,
                )]);
            }
        }
    }
}

/// What a prompt calls by a name. In dotprompt that is a partial if there is one.
fn called(prompt: &Prompt, name: &str, library: &dyn Library) -> Vec<Callee> {
    let partial = || Some(vec![library.partial(&prompt.id, name)?]);
    let first = if prompt.format == "dotprompt" {
        partial()
    } else {
        None
    };
    let found = first.or_else(|| library.by_id(name)).or_else(partial);
    found.unwrap_or_default()
}

/// Findings in templates, as findings in the files that these stand in.
fn placed(
    prompt: &Prompt,
    set: &SourceSet,
    library: &dyn Library,
    found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let place = |found: Diagnostic| match set.owner(&found.source) {
        Some(owner) if *owner == *prompt.id => prompt.locate(found),
        Some(owner) => library.locate(owner, found),
        None => found,
    };
    found.into_iter().map(place).collect()
}

fn add(sources: &mut Vec<OwnedSource>, more: Vec<Callee>) {
    for Callee { name, text, owner } in more {
        if !sources.iter().any(|source| *source.name == *name) {
            sources.push(OwnedSource {
                name: name.into(),
                text: text.into(),
                library: true,
                owner,
            });
        }
    }
}
