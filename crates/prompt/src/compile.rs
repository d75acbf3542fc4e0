//! Compiles prompts to templates: collects the sources that belong together, and caches the result.
//!
//! All messages of a prompt form one set, with the partials of its extension
//! (prompts whose name begins with `_`) and every other prompt that is called
//! by its id.

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

/// Maximum number of sources in one set, so that prompts that call each other by id cannot make one
/// compile the whole store.
const MOST_SOURCES: usize = 256;

/// A compiled prompt.
#[derive(Debug)]
pub struct CompiledPrompt {
    /// The template.
    pub template: Arc<dyn CompiledTemplate>,
    /// Names of the sources to render, in order.
    pub entries: Vec<Arc<str>>,
    /// Which shared variables to fetch, as found out by the last render.
    pub(crate) plan: ArcSwapOption<VariablePlan>,
    /// What checks the variables of requests.
    pub(crate) checks: Checks,
}

/// Compiles source sets and keeps those used most recently.
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
    /// The templates of the prompt of that id.
    fn by_id(&self, id: &str) -> Option<Vec<CalledTemplate>>;
    /// The template that a prompt calls by this name and that is stored under the name with one `_`
    /// before it, beside the prompt (dotprompt's `_NAME.prompt`).
    fn partial(&self, id: &str, name: &str) -> Option<CalledTemplate>;
    /// The partials that belong to a prompt, if they fit.
    fn partials(&self, id: &str, fits: &dyn Fn(&Prompt) -> bool) -> Vec<CalledTemplate>;
    /// A finding in a template of the prompt of that id, as one in its file.
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

    /// Compilations that were found in the cache, and that were not.
    pub(crate) fn hits_and_misses(&self) -> (u64, u64) {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (load(&self.hits), load(&self.misses))
    }

    pub(crate) fn factory(&self) -> &TemplateFactory {
        &self.factory
    }

    /// Whether a set was compiled before and is still cached.
    pub(crate) fn knows(&self, set: &SourceSet) -> bool {
        self.cache.get(set).is_some()
    }

    /// Compiles a set, or takes it from the cache.
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
            // The first render fills it: only then are the shared variables known.
            plan: ArcSwapOption::empty(),
            checks: Checks::default(),
        })
    }

    /// Finds the sources that a prompt needs: compiles with the known ones and adds those that are
    /// called, until none is missing.
    ///
    /// # Errors
    /// What the format says about the sources.
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
                // The prompt's own templates win, then the first template found of a name.
                if !is_own && !called.iter().any(|known| known.name == other.name) {
                    called.push(other);
                }
            }
        };
        let format = |prompt: &Prompt| Some(self.factory.format(&prompt.format)?.name());
        // Partials without a call by name must be of the same language.
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
            // Names that exist nowhere add nothing either, so the loop always ends.
            if called.len() == before {
                return Ok(set);
            }
            if called.len() + own.len() > MOST_SOURCES {
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
