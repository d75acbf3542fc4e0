//! Rendering of one prompt.

use std::sync::Arc;

use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{Diagnostic, Map, Span};
use quillet_template::{FunctionHost, Missing, Render, RenderLimits, render, render_segments};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::outcome::RenderOutcome;
use crate::catalogue::Catalogue;
use crate::compile::CompiledPrompt;
use crate::context::with_request;
use crate::definition::Prompt;
use crate::error::{RenderFailure, ServiceError};
use crate::explain::{CallFacts, Explanation, TemplateFacts, VariableScope};
use crate::functions::ToolFunctions;
use crate::input::RenderInput;
use crate::messages::assemble;
use crate::names::AvailableNames;
use crate::revision::Revision;
use crate::script::Scripts;
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry, PromptOrigin};
use crate::sources::SourceSet;
use crate::usage::Usage;
use crate::variables::{SharedVariables, Variables};

/// Resources shared by all renders of a service.
#[derive(Clone, Copy)]
pub(super) struct Resources<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) variables: &'a Variables,
    pub(super) limits: &'a RenderLimits,
    pub(super) scripts: &'a Scripts,
    pub(super) usage: &'a Usage,
}

/// Render of one prompt with one snapshot.
#[derive(Clone, Copy)]
pub(super) struct PromptRendering<'a> {
    pub(super) resources: Resources<'a>,
    pub(super) started: Instant,
    pub(super) input: &'a RenderInput<'a>,
    pub(super) snapshot: &'a Arc<CatalogueSnapshot>,
    pub(super) prompt: &'a Prompt,
    pub(super) sources: &'a SourceSet,
    /// The definition of a stored prompt.
    pub(super) stored: Option<&'a Definition<PromptEntry>>,
    /// Version number, if the request selected a version.
    pub(super) version: Option<u64>,
    pub(super) compiled: &'a CompiledPrompt,
    /// Whether the compiled template was cached; set only for an explanation.
    pub(super) cached: bool,
}

impl PromptRendering<'_> {
    /// Renders the prompt.
    ///
    /// # Errors
    /// The render failed.
    pub(super) async fn run(&self) -> Result<RenderOutcome, ServiceError> {
        let PromptRendering {
            resources,
            started,
            input,
            snapshot,
            prompt,
            compiled,
            ..
        } = *self;
        let bound = prompt
            .bind_with(&compiled.checks, input.variables)
            .map_err(|problems| ServiceError::Variables {
                id: prompt.id.to_string(),
                problems,
            })?;
        let format = resources.catalogue.factory().format(&prompt.format);
        let names = AvailableNames {
            snapshot,
            format: format.map(AsRef::as_ref),
        };
        let references = compiled.template.references();
        let shared = match resources.variables.cached(compiled, started) {
            Some(shared) => shared,
            None => self.fetch(compiled, &names.taken_by(references)).await?,
        };
        let root = with_request(&shared.tree, &bound, names.has_arguments_at_root());
        let variables = match prompt.missing {
            Missing::Strict => {
                let checked = names.check_variables(references, &root);
                checked.map_err(|error| shared.explain(error))
            }
            _ => Ok(()),
        };
        let checked = match (names.check_functions(references), variables) {
            (Err(functions), Err(variables)) => Err(functions.with_missing(variables)),
            (functions, variables) => functions.and(variables),
        };
        checked.map_err(|error| self.placed(error))?;
        let limits = RenderLimits {
            // The limit covers the whole request, including the fetch of variables.
            time: resources.limits.time.saturating_sub(started.elapsed()),
            ..*resources.limits
        };
        let deadline = started + resources.limits.time;
        let functions = ToolFunctions::new(
            resources.usage,
            resources.scripts,
            snapshot,
            deadline.into_std(),
            input,
        );
        let entries: SmallVec<[&str; 4]> = compiled.entries.iter().map(AsRef::as_ref).collect();
        let job = Render {
            template: compiled.template.as_ref(),
            entries: &entries,
            variables: &root,
            functions: &functions as &dyn FunctionHost,
            limits: &limits,
        };
        let rendered = match input.segments {
            // Boxed, because it is rarely used and would enlarge the future of every render.
            true => Box::pin(render_segments(&job)).await,
            false => render(&job).await,
        };
        let segments = match &rendered {
            Ok(rendered) if input.segments => {
                let places = 0..entries.len();
                places.map(|place| rendered.segments(place)).collect()
            }
            _ => Vec::new(),
        };
        // Extracted before the result is checked, because failed renders report them too.
        let (failures, calls) = functions.into_calls();
        let (passes, made) = rendered
            .as_ref()
            .map_or((0, 0), |rendered| (rendered.passes, rendered.calls));
        let assembled =
            rendered.and_then(|rendered| assemble(&prompt.body, &entries, rendered, input));
        let assembled = match assembled {
            Ok(prompt) => prompt,
            Err(error) => {
                let error = *error;
                let failure = RenderFailure { error, failures };
                return Err(ServiceError::Render(Box::new(failure)));
            }
        };
        let explanation = input.explain.then(|| {
            let at_root = names.has_arguments_at_root();
            Box::new(self.explained(&bound, &shared.tree, at_root, passes, calls))
        });
        Ok(RenderOutcome {
            unused: names.unused(prompt, references, input.variables),
            absent: names.absent(prompt, references, &root),
            explanation,
            segments,
            calls: made,
            prompt: assembled,
            model: prompt.model.clone(),
            options: prompt.options.clone(),
            failures,
            stale: shared.stale,
            time: started.elapsed(),
            dry_run: None,
            version: self.version,
            revision: self.stored.map(|definition| definition.revision),
        })
    }

    async fn fetch(
        &self,
        compiled: &CompiledPrompt,
        also: &[&str],
    ) -> Result<SharedVariables, ServiceError> {
        let resources = &self.resources;
        let late = |_| {
            let message = format!(
                "{} did not answer in time",
                resources.catalogue.store().describe()
            );
            StoreError::new(StoreErrorKind::Unavailable, message)
        };
        let time = resources.limits.time;
        Ok(
            tokio::time::timeout(time, resources.variables.of(compiled, also))
                .await
                .map_err(late)??,
        )
    }

    /// Adds locations to an error about unknown names.
    fn placed(&self, mut error: ServiceError) -> ServiceError {
        let references = self.compiled.template.references();
        match &mut error {
            ServiceError::Missing {
                names,
                hints,
                places,
            } => {
                places.extend(self.place_missing(names, hints, references));
            }
            ServiceError::UnknownFunctions {
                names,
                hints,
                broken,
                missing,
                places,
            } => {
                places.extend(self.place_missing(missing, hints, references));
                let broken = broken.iter().map(|tool| (&tool.name, tool.to_string()));
                let unknown = names.iter();
                let unknown =
                    unknown.map(|name| (name, format!("function {name:?} is not defined")));
                for (name, message) in unknown.chain(broken) {
                    let mut used = references.functions.iter();
                    let used = used.find(|used| used.name == *name);
                    let code = "render.unknown_function";
                    places.extend(used.and_then(|used| {
                        self.place(used.source, used.span, code, message, name, hints)
                    }));
                }
            }
            _ => {}
        }
        error
    }

    fn place_missing(
        &self,
        names: &[String],
        hints: &[String],
        references: &quillet_template::References,
    ) -> Vec<Diagnostic> {
        let place = |name: &String| {
            let mut used = references.variables.iter();
            let used = used.find(|used| used.path.join(".") == *name)?;
            let message = format!("variable {name} is not set");
            let code = "render.missing_variable";
            self.place(used.source, used.span, code, message, name, hints)
        };
        names.iter().filter_map(place).collect()
    }

    fn place(
        &self,
        source: usize,
        span: Span,
        code: &'static str,
        message: String,
        name: &str,
        hints: &[String],
    ) -> Option<Diagnostic> {
        let (source, text) = self.sources.text(source)?;
        let found = Diagnostic::error(code, &source, message).at(text, span);
        let prefix = format!("{name}: ");
        let hint = hints.iter().find_map(|hint| hint.strip_prefix(&prefix));
        let found = match hint {
            Some(hint) => found.help(hint),
            None => found,
        };
        // The location in the file is known only for the prompt's own template.
        let is_own = self.sources.owner(&source) == Some(&*self.prompt.id);
        Some(if is_own {
            self.prompt.locate(found)
        } else {
            found
        })
    }

    fn explained(
        &self,
        bound: &Map,
        shared: &Map,
        at_root: bool,
        passes: usize,
        calls: Vec<CallFacts>,
    ) -> Explanation {
        let id = self.prompt.id.to_string();
        let stored = self.stored;
        let version = match stored {
            Some(definition) => definition.revision,
            None => {
                // A definition from a request has no stored text, so its sources are used instead.
                let texts: Vec<&str> = self.sources.texts().collect();
                Revision::of(texts.join("\0").as_bytes())
            }
        };
        let plan = self.compiled.plan.load();
        let scope = VariableScope {
            given: self.input.variables,
            bound,
            shared,
            keys: plan.as_ref().map_or(&[], |plan| plan.keys()),
            variables: self.resources.variables,
            at_root,
            origin: stored.map_or(PromptOrigin::Direct, |definition| match &definition.state {
                DefinitionState::Valid(entry) => entry.origin,
                DefinitionState::Invalid => PromptOrigin::Direct,
            }),
        };
        let called = self
            .sources
            .owners()
            .into_iter()
            .filter(|owner| *owner != id);
        Explanation {
            variables: scope.facts(self.compiled.template.references()),
            calls,
            template: TemplateFacts {
                called: called.map(str::to_owned).collect(),
                version: version.to_string(),
                number: self.version,
                origin: stored.map(|definition| definition.origin.to_string()),
                format: self.prompt.format.clone(),
                cached: self.cached,
                passes,
                id,
            },
        }
    }
}
