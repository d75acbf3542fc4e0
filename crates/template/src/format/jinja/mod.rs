//! Jinja, as Hugging Face chat templates and LangChain use it: jinja2's
//! syntax, Python's values, no access to anything but the variables given.
//!
//! This is an evaluator of our own, not a layer over a crate, for three
//! reasons. Bounds: operators and filters of a library build what they like,
//! and a fuel counter does not see it; here every operation charges before it
//! builds. Late calls: a library's functions outlive a render, so they cannot
//! borrow it; here a call asks the [`Pass`] and suspends. Fidelity: the cases
//! in which the best crate differs from jinja2 are in its operators.

mod ast;
mod call;
mod eval;
mod expression;
mod filters;
mod format;
mod functions;
mod lexer;
mod methods;
mod operand;
mod ops;
mod parser;
mod print;
mod references;
mod syntax;
mod test;
mod value;

use std::sync::Arc;

pub use syntax::Preset;

use crate::{
    CompileError, CompileOptions, ErrorKind, Missing, Pass, References, RenderError, Source, Stop,
    Template, TemplateFormat,
};
use ast::Program;
use eval::Evaluator;

/// The format `jinja`, with one preset.
#[derive(Clone, Copy, Debug, Default)]
pub struct JinjaFormat {
    preset: Preset,
}

impl JinjaFormat {
    /// The format under its usual names, with the settings of transformers.
    #[must_use]
    pub fn hugging_face() -> Self {
        Self::default()
    }

    /// The format `jinja-plain`: jinja2 without settings, as LangChain uses it.
    #[must_use]
    pub fn plain() -> Self {
        JinjaFormat {
            preset: Preset::Plain,
        }
    }
}

impl TemplateFormat for JinjaFormat {
    fn name(&self) -> &'static str {
        match self.preset {
            Preset::HuggingFace => "jinja",
            Preset::Plain => "jinja-plain",
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.preset {
            Preset::HuggingFace => &["hf", "huggingface", "jinja2"],
            Preset::Plain => &["langchain-jinja2"],
        }
    }

    fn functions(&self) -> Vec<&str> {
        functions::names(self.preset).collect()
    }

    fn compile(
        &self,
        sources: &[Source<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn Template>, CompileError> {
        let mut compiled = Compiled {
            sources: Vec::with_capacity(sources.len()),
            references: References::default(),
            preset: self.preset,
            missing: options.missing,
        };
        let mut problems = Vec::new();
        for source in sources {
            match parser::parse(source.text, self.preset, options.limits.nesting) {
                Ok(program) => compiled.sources.push(Compilation {
                    name: source.name.to_owned(),
                    text: source.text.to_owned(),
                    program,
                }),
                Err(problem) => problems.push(problem.diagnostic(source.name, source.text)),
            }
        }
        if let Some(error) = syntax::compile_error(problems) {
            return Err(error);
        }
        let roots = sources
            .iter()
            .enumerate()
            .filter(|(_, source)| !source.library);
        let roots: Vec<usize> = roots.map(|(index, _)| index).collect();
        compiled.references = references::references(&compiled, &roots);
        Ok(Arc::new(compiled))
    }
}

#[derive(Debug)]
struct Compiled {
    sources: Vec<Compilation>,
    references: References,
    preset: Preset,
    missing: Missing,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    program: Program,
}

impl Compiled {
    fn index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    fn program(&self, index: usize) -> Option<&Program> {
        self.sources.get(index).map(|source| &source.program)
    }

    /// Name and text of a source.
    fn source(&self, index: usize) -> (&str, &str) {
        let source = self.sources.get(index);
        source.map_or(("", ""), |source| (&source.name, &source.text))
    }
}

impl Template for Compiled {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), Stop> {
        let Some(index) = self.index(entry) else {
            let reason = format!("template {entry:?} does not exist");
            return Err(RenderError::new(ErrorKind::Execution, reason).into());
        };
        Evaluator::new(self, pass).entry(index)
    }
}
