//! Compiles prompts to templates: collects the sources of each prompt and caches the compiled
//! result.
//!
//! The source set of a prompt contains all its messages, the partials of its extension (prompts
//! whose names begin with `_`) and every other prompt that it calls by id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use quillet_core::Diagnostic;
use quillet_template::{
    CompileError, CompileLimits, CompileOptions, CompiledTemplate, TemplateFactory, TemplateSource,
};

use crate::definition::{Prompt, PromptBody};
use crate::parameters::Checks;
use crate::recent::LruCache;
use crate::sources::{CalledTemplate, SourceSet};
use crate::variables::VariablePlan;

/// Maximum number of sources in one set. Prompts can call each other by id, so without this limit
/// one prompt could compile the whole store.
const MOST_SOURCES: usize = 256;

/// A compiled prompt.
#[derive(Debug)]
pub struct CompiledPrompt {
    /// The compiled template.
    pub template: Arc<dyn CompiledTemplate>,
    /// Names of the sources to render, in order.
    pub entries: Vec<Arc<str>>,
    /// Shared variables to fetch, as determined by the last render.
    pub(crate) plan: ArcSwapOption<VariablePlan>,
    /// Cached validator for the variables of requests.
    pub(crate) checks: Checks,
}

/// Compiles source sets, with a least-recently-used cache.
#[derive(Debug)]
pub(crate) struct Compiler {
    factory: TemplateFactory,
    pub(crate) limits: CompileLimits,
    cache: LruCache<SourceSet, Arc<CompiledPrompt>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Access of the compiler to other prompts.
pub(crate) trait Library {
    /// Templates of the prompt with this id.
    fn by_id(&self, id: &str) -> Option<Vec<CalledTemplate>>;
    /// The partial that a prompt calls by this name: a prompt in the same folder whose name has a
    /// leading `_` (dotprompt's `_NAME.prompt`).
    fn partial(&self, id: &str, name: &str) -> Option<CalledTemplate>;
    /// Partials available to a prompt, limited to those that satisfy `fits`.
    fn partials(&self, id: &str, fits: &dyn Fn(&Prompt) -> bool) -> Vec<CalledTemplate>;
    /// Maps a diagnostic in a template of this prompt to the prompt's file.
    fn locate(&self, id: &str, found: Diagnostic) -> Diagnostic;
}

impl Compiler {
    pub(crate) fn new(factory: TemplateFactory, capacity: usize) -> Self {
        Compiler {
            factory,
            limits: CompileLimits::default(),
            cache: LruCache::new(capacity),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Numbers of cache hits and misses.
    pub(crate) fn hits_and_misses(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.hits), load(&self.misses))
    }

    pub(crate) fn factory(&self) -> &TemplateFactory {
        &self.factory
    }

    /// Whether the compiled form of a set is in the cache.
    pub(crate) fn knows(&self, set: &SourceSet) -> bool {
        self.cache.get(set).is_some()
    }

    /// Compiles a set, or returns it from the cache.
    pub(crate) fn compile(
        &self,
        set: &Arc<SourceSet>,
    ) -> Result<Arc<CompiledPrompt>, CompileError> {
        if let Some(compiled) = self.cache.get(set) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(compiled);
        }
        // Counted before the compilation, so that failures are misses too.
        self.misses.fetch_add(1, Ordering::Relaxed);
        let compiled = Arc::new(self.compile_now(set)?);
        Ok(self.cache.insert(set, compiled))
    }

    fn compile_now(&self, set: &SourceSet) -> Result<CompiledPrompt, CompileError> {
        let prompt = &set.prompt;
        let own = prompt.templates();
        let own = own
            .iter()
            .map(|(name, text)| TemplateSource::new(name, text));
        let called = set.called().map(|(name, text)| TemplateSource {
            name,
            text,
            library: true,
        });
        let sources: Vec<TemplateSource<'_>> = own.chain(called).collect();
        let options = CompileOptions {
            missing: prompt.missing,
            messages: prompt.messages,
            trusted: prompt.trusted.clone(),
            trusted_results: prompt.trusted_results,
            limits: self.limits,
            ..CompileOptions::default()
        };
        let template = self.factory.compile(&prompt.format, &sources, &options)?;
        let entries = prompt.templates().into_iter();
        Ok(CompiledPrompt {
            template,
            entries: entries.map(|(name, _)| name.into()).collect(),
            // Filled by the first render, which finds out which shared variables are needed.
            plan: ArcSwapOption::empty(),
            checks: Checks::default(),
        })
    }

    /// Finds the sources that a prompt needs. Compiles the known sources and adds the ones they
    /// call until none is missing.
    ///
    /// # Errors
    /// Diagnostics of the format's compiler.
    pub(crate) fn resolve(
        &self,
        prompt: &Arc<Prompt>,
        library: &dyn Library,
    ) -> Result<Arc<SourceSet>, Vec<Diagnostic>> {
        // A script has no sources, so no other prompt affects it.
        if let PromptBody::Script(_) = prompt.body {
            return Ok(Arc::new(SourceSet::new(prompt, &[])));
        }
        let own = prompt.templates();
        let mut called: Vec<CalledTemplate> = Vec::new();
        let add = |called: &mut Vec<CalledTemplate>, more: Vec<CalledTemplate>| {
            for other in more {
                let is_own = own.iter().any(|(known, _)| **known == *other.name);
                // The prompt's own templates take precedence, then the first template found for a
                // name.
                if !is_own && !called.iter().any(|known| known.name == other.name) {
                    called.push(other);
                }
            }
        };
        let format = |prompt: &Prompt| Some(self.factory.format(&prompt.format)?.name());
        // A partial that is not called by name must use the same template language.
        let fits = |other: &Prompt| format(other) == format(prompt);
        add(&mut called, library.partials(&prompt.id, &fits));
        loop {
            let set = Arc::new(SourceSet::new(prompt, &called));
            let compiled = self
                .compile(&set)
                .map_err(|error| placed(prompt, &set, library, error.diagnostics))?;
            let wanted = &compiled.template.references().templates;
            let before = called.len();
            for name in wanted {
                add(&mut called, wanted_by(prompt, name, library));
            }
            // If no source was added, the remaining names do not exist, so the loop ends.
            if called.len() == before {
                return Ok(set);
            }
            if called.len() + own.len() > MOST_SOURCES {
                let message = format!("the prompt calls more than {MOST_SOURCES} other prompts");
                return Err(vec![Diagnostic::error(
                    "prompt.library",
                    &prompt.id,
                    message,
                )]);
            }
        }
    }
}

/// Templates that a prompt calls by this name. In dotprompt, a partial of that name takes
/// precedence.
fn wanted_by(prompt: &Prompt, name: &str, library: &dyn Library) -> Vec<CalledTemplate> {
    let partial = || Some(vec![library.partial(&prompt.id, name)?]);
    let first = if prompt.format == "dotprompt" {
        partial()
    } else {
        None
    };
    let found = first.or_else(|| library.by_id(name)).or_else(partial);
    found.unwrap_or_default()
}

/// Maps diagnostics in templates to the files that contain the templates.
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
