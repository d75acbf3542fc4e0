//! Converts errors of the prompt service to located diagnostics: the text of each one, and the
//! location of an unknown name.

use std::sync::Arc;

use quillet_core::store::EntryKind;
use quillet_core::{Diagnostic, Map, Severity, Span, nearest};
use quillet_prompt::{
    AvailableNames, Catalogue, CatalogueSnapshot, Definition, DefinitionState, Prompt, PromptEntry,
    ServiceError, VariableError,
};
use quillet_template::{
    CompileOptions, CompiledTemplate, FunctionReference, Missing, References, RenderError,
    TemplateFactory, TemplateSource, VariableReference,
};

use crate::braces;
use crate::report::LocatedDiagnostic;
use crate::source::{self, InputFileKind};

/// The templates of one prompt, with their display names.
#[derive(Debug)]
pub(crate) struct PromptTemplates {
    format: String,
    /// Internal name, display name and text of each template.
    templates: Vec<(String, String, String)>,
    /// Name of the definition, and its text if locations refer to it.
    definition: (String, Option<String>),
    prompt: Option<Arc<Prompt>>,
    entry: Option<PromptEntry>,
    /// Snapshot with the prompts that this one calls.
    snapshot: Arc<CatalogueSnapshot>,
}

/// Whether a diagnostic is in the `config.json` beside a prompt's `skprompt.txt`.
fn is_config(found: &str, definition: &str) -> bool {
    let folder = definition.strip_suffix("skprompt.txt");
    folder.is_some_and(|folder| found.strip_prefix(folder) == Some("config.json"))
}

impl PromptTemplates {
    /// Collects the templates of a prompt. `is_template` says that the source was a plain template.
    /// This is also assumed if the origin has the file extension of one.
    pub(crate) fn of(
        definition: &Definition<PromptEntry>,
        is_template: bool,
        snapshot: &Arc<CatalogueSnapshot>,
    ) -> Self {
        let is_template = is_template
            || matches!(
                source::kind_of_file(&definition.origin),
                Some(InputFileKind::Template(_))
            );
        let prompt = match &definition.state {
            DefinitionState::Valid(entry) => Some(entry.prompt.clone()),
            DefinitionState::Invalid => {
                let read = Prompt::parse(&definition.id, &definition.origin, &definition.text);
                read.ok().map(|(prompt, _)| Arc::new(prompt))
            }
        };
        let shown = |name: &str| {
            if is_template {
                definition.origin.to_string()
            } else {
                format!("{} ({name})", definition.origin)
            }
        };
        let templates = prompt.iter().flat_map(|prompt| prompt.templates());
        let templates = templates
            .map(|(name, text)| (name.clone(), shown(&name), text.to_string()))
            .collect();
        // The definition of a template file is generated, so locations in it would mislead.
        let text = (!is_template).then(|| definition.text.to_string());
        PromptTemplates {
            format: prompt
                .as_ref()
                .map_or_else(|| "go".to_owned(), |prompt| prompt.format.clone()),
            templates,
            definition: (definition.origin.to_string(), text),
            prompt,
            entry: definition.usable(EntryKind::Prompt).ok().cloned(),
            snapshot: snapshot.clone(),
        }
    }

    /// Adds the texts that the diagnostics refer to.
    pub(crate) fn locate(&self, found: &[Diagnostic]) -> Vec<LocatedDiagnostic> {
        found
            .iter()
            .map(|diagnostic| self.locate_one(diagnostic.clone()))
            .collect()
    }

    fn locate_one(&self, mut diagnostic: Diagnostic) -> LocatedDiagnostic {
        if let Some(found) = self.own(&diagnostic) {
            return found;
        }
        if diagnostic.source != self.definition.0
            && let Some(found) = self.locate_in_callee(&diagnostic)
        {
            return found;
        }
        if is_config(&diagnostic.source, &self.definition.0) {
            let text = source::read(&diagnostic.source).ok();
            return LocatedDiagnostic { diagnostic, text };
        }
        diagnostic.source.clone_from(&self.definition.0);
        LocatedDiagnostic {
            diagnostic,
            text: self.definition.1.clone(),
        }
    }

    /// Maps a diagnostic to one of the prompt's own templates.
    fn own(&self, diagnostic: &Diagnostic) -> Option<LocatedDiagnostic> {
        let mut templates = self.templates.iter();
        let (_, shown, text) = templates.find(|(name, ..)| *name == diagnostic.source)?;
        if let Some(prompt) = self.prompt.as_ref().filter(|prompt| prompt.place.is_some()) {
            return Some(LocatedDiagnostic {
                diagnostic: prompt.locate(diagnostic.clone()),
                text: self.definition.1.clone(),
            });
        }
        Some(LocatedDiagnostic {
            diagnostic: Diagnostic {
                source: shown.clone(),
                ..diagnostic.clone()
            },
            text: Some(text.clone()),
        })
    }

    /// Maps a diagnostic to a template that this prompt calls. Its source is the name in the call,
    /// the name of the other prompt's template, or a file.
    fn locate_in_callee(&self, diagnostic: &Diagnostic) -> Option<LocatedDiagnostic> {
        let source = &diagnostic.source;
        let mut prompts = self.snapshot.prompts.values();
        if let Some(file) = prompts.find(|known| *known.origin == **source) {
            return Some(LocatedDiagnostic {
                diagnostic: diagnostic.clone(),
                text: Some(file.text.to_string()),
            });
        }
        let owner = self.entry.as_ref().and_then(|entry| entry.owner(source));
        let id = owner.or_else(|| source.strip_suffix(".prompt"))?;
        let definition = self.snapshot.prompts.get(id)?;
        let texts = PromptTemplates::of(definition, false, &self.snapshot);
        texts.own(diagnostic).or_else(|| {
            let (name, ..) = texts.templates.first()?;
            texts.own(&Diagnostic {
                source: name.clone(),
                ..diagnostic.clone()
            })
        })
    }

    /// Returns names and texts of the templates, including called ones.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.templates.iter();
        let own = own.map(|(name, _, text)| (name.as_str(), text.as_str()));
        own.chain(self.entry.iter().flat_map(PromptEntry::called))
    }

    /// Compiles the templates to find their references, if they compile.
    fn compiled(&self, factory: &TemplateFactory) -> Option<Arc<dyn CompiledTemplate>> {
        let own = self.templates.len();
        let source = |(index, (name, text))| {
            if index < own {
                TemplateSource::new(name, text)
            } else {
                TemplateSource::library(name, text)
            }
        };
        let sources: Vec<TemplateSource<'_>> = self.sources().enumerate().map(source).collect();
        factory
            .compile(&self.format, &sources, &CompileOptions::default())
            .ok()
    }

    fn at(&self, source: usize, span: Span, code: &'static str, message: String) -> Diagnostic {
        let Some((name, text)) = self.sources().nth(source) else {
            return Diagnostic::error(code, &self.definition.0, message);
        };
        Diagnostic::error(code, name, message).at(text, span)
    }

    /// Converts a render error to diagnostics, with suggestions for mistyped variables. Returns
    /// `None` if the error has no location.
    pub(crate) fn explain(
        &self,
        error: &ServiceError,
        catalogue: &Catalogue,
        given: &Map,
    ) -> Option<Vec<LocatedDiagnostic>> {
        match error {
            ServiceError::Invalid { diagnostics, .. } => Some(self.locate(diagnostics)),
            ServiceError::Missing { names, hints, .. } => {
                let compiled = self.compiled(catalogue.factory())?;
                let variables = compiled.references().variables.iter();
                let missing = variables.filter(|variable| names.contains(&variable.path.join(".")));
                let found = missing.map(|variable| self.missing(variable, hints, given));
                let found: Vec<Diagnostic> = found.collect();
                // If a name has no location, the message of the error is used, because it contains
                // all names.
                (found.len() >= names.len()).then(|| self.locate(&found))
            }
            ServiceError::UnknownFunctions {
                names,
                hints,
                broken,
                missing,
                ..
            } if broken.is_empty() => {
                let compiled = self.compiled(catalogue.factory())?;
                let mut found = self.unknown_functions(
                    compiled.references(),
                    &catalogue.snapshot(),
                    catalogue.factory(),
                );
                let variables = compiled.references().variables.iter();
                let absent = variables.filter(|used| missing.contains(&used.path.join(".")));
                found.extend(absent.map(|used| self.missing(used, hints, given)));
                (found.len() >= names.len() + missing.len()).then(|| self.locate(&found))
            }
            ServiceError::Variables { problems, .. } => {
                let found: Vec<Diagnostic> = problems
                    .iter()
                    .map(|problem| self.misfit(problem))
                    .collect();
                Some(self.locate(&found))
            }
            ServiceError::Render(failure) => self.failed(&failure.error).map(|found| vec![found]),
            _ => None,
        }
    }

    /// Converts a render error, which may be in a called template.
    fn failed(&self, error: &RenderError) -> Option<LocatedDiagnostic> {
        let (_, text) = self
            .sources()
            .find(|(name, _)| *name == error.source_name)?;
        let found = Diagnostic::error(error.kind.code(), &error.source_name, error.reason.clone());
        Some(self.locate_one(Diagnostic {
            help: error.help.clone(),
            ..found.at(text, error.span?)
        }))
    }

    /// Reports an invalid variable at its declaration in the definition.
    fn misfit(&self, problem: &VariableError) -> Diagnostic {
        let (definition, text) = &self.definition;
        let VariableError { path, message } = problem;
        let message = format!("invalid variables: {path}: {message}");
        let found = Diagnostic::error("render.variables", definition, message);
        let Some((name, _)) = problem.message.split_once(" is a required property") else {
            return found;
        };
        let name = name.trim_matches('"');
        let text = text.as_deref().unwrap_or_default();
        let declares = |line: &str| {
            let key = line.trim_start_matches([' ', '\t', '-', '{', '"', '\'']);
            key.strip_prefix(name)
                .is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with([':', ',']))
        };
        let mut starts = text.split_inclusive('\n').scan(0, |next, line| {
            let start = *next;
            *next += line.len();
            Some((start, line))
        });
        let line = starts.find(|(_, line)| declares(line));
        let found = match line.and_then(|(start, line)| Some(start + line.find(name)?)) {
            Some(start) => found.at(
                text,
                Span {
                    start,
                    end: start + name.len(),
                },
            ),
            None => found,
        };
        found.help(format!("set it with -D {name}=…"))
    }

    fn missing(&self, variable: &VariableReference, hints: &[String], given: &Map) -> Diagnostic {
        let path = variable.path.join(".");
        let found = self.at(
            variable.source,
            variable.span,
            "render.missing_variable",
            format!("variable {path} is not set"),
        );
        let prefix = format!("{path}: ");
        if let Some(hint) = hints.iter().find_map(|hint| hint.strip_prefix(&prefix)) {
            return found.help(hint);
        }
        let mut path = variable.path.iter().map(String::as_str);
        // `variables` and `args` are only prefixes of request variables.
        let root = path.find(|name| !matches!(*name, "variables" | "args"));
        let root = root.unwrap_or_default();
        let below = |name: &str| {
            given
                .get(name)?
                .as_map()?
                .get(root)
                .map(|_| name.to_owned())
        };
        if let Some(above) = ["variables", "args"].into_iter().find_map(below) {
            return found.help(format!(
                "-D already sets fields of {above}: write -D {root}=…, not -D {above}.{root}=…"
            ));
        }
        match nearest(root, given.table().keys().map(AsRef::as_ref)) {
            Some(near) if near != root => {
                found.help(format!("{near} is set; check the spelling of both names"))
            }
            _ => found,
        }
    }

    fn unknown_functions(
        &self,
        references: &References,
        snapshot: &CatalogueSnapshot,
        factory: &TemplateFactory,
    ) -> Vec<Diagnostic> {
        let names = self.names(snapshot, factory);
        let own = names.format.map(|format| format.functions());
        let own = own.unwrap_or_default();
        let unknown = |function: &&FunctionReference| !names.has_function(&function.name);
        let report = |function: &FunctionReference| {
            let name = &function.name;
            let message = format!("function {name:?} is not defined");
            let found = self.at(
                function.source,
                function.span,
                "render.unknown_function",
                message,
            );
            let tools = snapshot.functions.keys().map(AsRef::as_ref);
            found.help(match nearest(name, tools.chain(own.iter().copied())) {
                Some(near) => format!("did you mean {near}?"),
                None => "register a tool of that name, or pass a store that has it with --store"
                    .to_owned(),
            })
        };
        references
            .functions
            .iter()
            .filter(unknown)
            .map(report)
            .collect()
    }

    fn names<'a>(
        &self,
        snapshot: &'a CatalogueSnapshot,
        factory: &'a TemplateFactory,
    ) -> AvailableNames<'a> {
        let format = factory.format(&self.format);
        AvailableNames {
            snapshot,
            format: format.map(AsRef::as_ref),
        }
    }

    /// Returns warnings about braces in the templates.
    pub(crate) fn braces(&self, catalogue: &Catalogue) -> Vec<LocatedDiagnostic> {
        let snapshot = catalogue.snapshot();
        let names = self.names(&snapshot, catalogue.factory());
        let Some(format) = names.format else {
            return Vec::new();
        };
        let own = format.functions();
        let is_function = |name: &str| own.contains(&name) || names.has_function(name);
        let templates = self.templates.iter();
        let found: Vec<Diagnostic> = templates
            .flat_map(|(name, _, text)| braces::check_braces(format, name, text, &is_function))
            .collect();
        self.locate(&found)
    }

    /// Returns diagnostics about undeclared names in the templates.
    pub(crate) fn unknown_names(
        &self,
        catalogue: &Catalogue,
        environs: &[String],
    ) -> Vec<LocatedDiagnostic> {
        let Some(compiled) = self.compiled(catalogue.factory()) else {
            return Vec::new();
        };
        let references = compiled.references();
        let snapshot = catalogue.snapshot();
        let names = self.names(&snapshot, catalogue.factory());
        let mut found = self.unknown_functions(references, &snapshot, catalogue.factory());
        let needed = references.variables.iter().filter(|variable| {
            let is_argument = names.has_arguments_at_root() && self.declares(variable);
            !variable.optional && !is_argument && !names.may_be_call(variable)
        });
        found.extend(needed.filter_map(|variable| self.unknown_variable(variable, environs)));
        self.locate(&found)
    }

    fn unknown_variable(
        &self,
        variable: &VariableReference,
        environs: &[String],
    ) -> Option<Diagnostic> {
        let (root, rest) = variable.path.split_first()?;
        if matches!(root.as_str(), "variables" | "args") {
            return self.undeclared(variable, rest.first()?);
        }
        // In a prompt file, a top-level variable that is not an input is always empty.
        if self.is_of_file() && environs.is_empty() && !root.starts_with('@') {
            return self.undeclared(variable, root);
        }
        let path = variable.path.join(".");
        let under = |longer: &str, shorter: &str| {
            longer
                .strip_prefix(shorter)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let known = |id: &&String| under(id, &path) || under(&path, id);
        if environs.is_empty() || environs.iter().any(|id| known(&id)) {
            return None;
        }
        // The finding is only a warning, because another program may set the variable before the
        // prompt is used.
        let message = format!("the shared variable {path} is not set");
        let mut found = self.at(variable.source, variable.span, "check.variable", message);
        found.severity = Severity::Warning;
        Some(match nearest(&path, environs.iter().map(String::as_str)) {
            Some(near) => found.help(format!("did you mean {near}?")),
            None => found,
        })
    }

    /// Whether a top-level variable is one of the prompt's parameters.
    fn declares(&self, variable: &VariableReference) -> bool {
        let prompt = self.prompt.as_ref();
        let schema = prompt.and_then(|prompt| prompt.parameters.schema());
        let declared = schema
            .as_ref()
            .and_then(|schema| schema.get("properties")?.as_object());
        let root = variable.path.first();
        declared.is_some_and(|declared| root.is_some_and(|root| declared.contains_key(root)))
    }

    fn undeclared(&self, variable: &VariableReference, name: &str) -> Option<Diagnostic> {
        let schema = self.prompt.as_ref()?.parameters.schema()?;
        let declared = schema.get("properties")?.as_object()?;
        if declared.contains_key(name) {
            return None;
        }
        let path = variable.path.join(".");
        let message = format!("{path} is not a parameter of the prompt");
        let mut found = self.at(variable.source, variable.span, "check.parameter", message);
        if self.is_of_file() {
            // The reference implementation renders an unknown variable as empty text.
            found.severity = Severity::Warning;
        }
        Some(match nearest(name, declared.keys().map(String::as_str)) {
            Some(near) => found.help(format!("did you mean {near}?")),
            None if self.is_of_file() => found.help("declare it as an input of the prompt"),
            None => found.help(format!(
                "declare it: {{\"name\": {name:?}, \"type\": \"string\"}}"
            )),
        })
    }

    /// Whether the prompt is a file in another tool's format, whose rules for missing variables
    /// apply.
    fn is_of_file(&self) -> bool {
        let prompt = self.prompt.as_ref();
        prompt.is_some_and(|prompt| prompt.missing == Missing::Default)
    }
}
