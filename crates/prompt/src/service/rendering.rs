//! One prompt on its way to a text: variables, checks, the render, its report.

use std::sync::Arc;

use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{Diagnostic, Map, Span};
use quillet_template::{Functions, Limits, Missing, Render, render};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::{Input, PromptService, RenderOutcome};
use crate::compile::{Compiled, SourceSet};
use crate::context::with_request;
use crate::definition::Prompt;
use crate::error::{RenderFailure, ServiceError};
use crate::explain::{CallFacts, Explanation, Scope, TemplateFacts};
use crate::functions::ToolFunctions;
use crate::messages::assemble;
use crate::names::Names;
use crate::revision::Revision;
use crate::snapshot::{Origin, Snapshot};
use crate::variables::Shared;

/// One prompt on its way to a text, under one snapshot.
#[derive(Clone, Copy)]
pub(super) struct Rendering<'a> {
    pub(super) started: Instant,
    pub(super) input: &'a Input<'a>,
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) prompt: &'a Prompt,
    pub(super) sources: &'a SourceSet,
    /// Where a stored prompt comes from.
    pub(super) stored: Option<Origin>,
    pub(super) compiled: &'a Compiled,
    /// Whether it was compiled before, if that is asked for.
    pub(super) cached: bool,
}

impl PromptService {
    pub(super) async fn run(
        &self,
        rendering: &Rendering<'_>,
    ) -> Result<RenderOutcome, ServiceError> {
        let Rendering {
            started,
            input,
            snapshot,
            prompt,
            compiled,
            ..
        } = *rendering;
        let bound = prompt
            .bind_with(&compiled.checks, input.variables)
            .map_err(|problems| ServiceError::Variables {
                id: prompt.id.to_string(),
                problems,
            })?;
        let format = self.catalogue.factory().format(&prompt.format);
        let names = Names {
            snapshot,
            format: format.map(AsRef::as_ref),
        };
        let references = compiled.template.references();
        let shared = match self.variables.cached(compiled, started) {
            Some(shared) => shared,
            None => self.fetch(compiled, &names.taken_by(references)).await?,
        };
        let root = with_request(&shared.tree, &bound, names.has_arguments_at_root());
        let checked = names.check_functions(references);
        let checked = checked.and_then(|()| match prompt.missing {
            Missing::Strict => {
                let checked = names.check_variables(references, &root);
                checked.map_err(|error| shared.explain(error))
            }
            _ => Ok(()),
        });
        checked.map_err(|error| rendering.placed(error))?;
        let limits = Limits {
            time: self.options.limits.time.saturating_sub(started.elapsed()),
            ..self.options.limits
        };
        let deadline = started + self.options.limits.time;
        let functions = ToolFunctions::new(self, snapshot, deadline.into_std(), input);
        let entries: SmallVec<[&str; 4]> = compiled.entries.iter().map(AsRef::as_ref).collect();
        let rendered = render(&Render {
            template: compiled.template.as_ref(),
            entries: &entries,
            variables: &root,
            functions: &functions as &dyn Functions,
            limits: &limits,
        })
        .await;
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
            Box::new(rendering.explained(self, &bound, &shared.tree, at_root, passes, calls))
        });
        Ok(RenderOutcome {
            unused: names.unused(prompt, references, input.variables),
            absent: names.absent(prompt, references, &root),
            explanation,
            calls: made,
            prompt: assembled,
            model: prompt.model.clone(),
            options: prompt.options.clone(),
            failures,
            stale: shared.stale,
            time: started.elapsed(),
            dry_run: None,
        })
    }

    async fn fetch(&self, compiled: &Compiled, also: &[&str]) -> Result<Shared, ServiceError> {
        let late = |_| {
            let message = format!(
                "{} did not answer in time",
                self.catalogue.store().describe()
            );
            StoreError::new(StoreErrorKind::Unavailable, message)
        };
        let time = self.options.limits.time;
        Ok(
            tokio::time::timeout(time, self.variables.of(compiled, also))
                .await
                .map_err(late)??,
        )
    }
}

impl Rendering<'_> {
    /// An error of names, with the places where they are used.
    fn placed(&self, mut error: ServiceError) -> ServiceError {
        let references = self.compiled.template.references();
        match &mut error {
            ServiceError::Missing {
                names,
                hints,
                places,
            } => {
                for name in names.iter() {
                    let mut used = references.variables.iter();
                    let used = used.find(|used| used.path.join(".") == *name);
                    let message = format!("variable {name} is not set");
                    let code = "render.missing_variable";
                    places.extend(used.and_then(|used| {
                        self.place(used.source, used.span, code, message, name, hints)
                    }));
                }
            }
            ServiceError::UnknownFunctions {
                names,
                hints,
                broken,
                places,
            } => {
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
        let is_own = self.sources.owner(&source) == Some(&*self.prompt.id);
        Some(if is_own {
            self.prompt.locate(found)
        } else {
            found
        })
    }

    fn explained(
        &self,
        service: &PromptService,
        bound: &Map,
        shared: &Map,
        at_root: bool,
        passes: usize,
        calls: Vec<CallFacts>,
    ) -> Explanation {
        let id = self.prompt.id.to_string();
        let stored = self
            .snapshot
            .prompts
            .get(&id)
            .filter(|_| self.stored.is_some());
        let version = match stored {
            Some(definition) => definition.revision,
            None => {
                let texts: Vec<&str> = self.sources.texts().collect();
                Revision::of(texts.join("\0").as_bytes())
            }
        };
        let plan = self.compiled.plan.load();
        let scope = Scope {
            given: self.input.variables,
            bound,
            shared,
            keys: plan.as_ref().map_or(&[], |plan| plan.keys()),
            variables: &service.variables,
            at_root,
            origin: self.stored.unwrap_or(Origin::Direct),
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
                origin: stored.map(|definition| definition.origin.to_string()),
                format: self.prompt.format.clone(),
                cached: self.cached,
                passes,
                id,
            },
        }
    }
}
