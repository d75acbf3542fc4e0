//! A template whose role lines were marked before compilation.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span};

use super::directive;
use super::role_lines::{self, Insertions};
use super::unmarked;
use crate::{
    CompileError, CompileOptions, CompiledTemplate, Pass, References, RenderError, StopReason,
    TemplateFormat, TemplateSource,
};

/// A template that was compiled from sources with inserted marks. Reported locations refer to the
/// original sources.
#[derive(Debug)]
struct LineTemplate {
    template: Arc<dyn CompiledTemplate>,
    references: References,
    /// Name of each source, and the marks inserted into it.
    sources: Vec<(String, Insertions)>,
}

/// Marks the role lines of sources and compiles the sources.
///
/// # Errors
/// Returns the errors of the format.
pub(crate) fn compile(
    format: &dyn TemplateFormat,
    sources: &[TemplateSource<'_>],
    options: &CompileOptions,
) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
    let marked: Vec<_> = sources
        .iter()
        .map(|source| role_lines::mark(source.text, format.has_loose_role_lines()))
        .collect();
    let texts: Vec<TemplateSource<'_>> = sources
        .iter()
        .zip(&marked)
        .map(|(source, (text, _))| TemplateSource { text, ..*source })
        .collect();
    let compiled = format.compile(&texts, options);
    let inserted: Vec<(String, Insertions)> = sources
        .iter()
        .zip(&marked)
        .map(|(source, (_, insertions))| (source.name.to_owned(), insertions.clone()))
        .collect();
    match compiled {
        Ok(template) => Ok(Arc::new(LineTemplate::new(template, inserted))),
        Err(error) => Err(as_written(error, sources, &inserted)),
    }
}

/// Converts the locations of an error to the original sources.
fn as_written(
    error: CompileError,
    sources: &[TemplateSource<'_>],
    inserted: &[(String, Insertions)],
) -> CompileError {
    let place = |mut found: Diagnostic| {
        clean(&mut found.message);
        found.help.iter_mut().for_each(clean);
        let written = sources.iter().zip(inserted);
        let mut same = written.filter(|(source, _)| source.name == found.source);
        match (found.span, same.next()) {
            (Some(span), Some((source, (_, insertions)))) => {
                found.at(source.text, before(insertions, span))
            }
            _ => found,
        }
    };
    let mut message = error.message;
    clean(&mut message);
    CompileError {
        message,
        diagnostics: error.diagnostics.into_iter().map(place).collect(),
    }
}

/// Removes the marks from a message that quotes the source.
fn clean(text: &mut String) {
    if let Some(unmarked) = unmarked(text) {
        *text = unmarked;
    }
}

fn before(insertions: &Insertions, span: Span) -> Span {
    Span {
        start: insertions.before(span.start),
        end: insertions.before(span.end),
    }
}

impl LineTemplate {
    fn new(template: Arc<dyn CompiledTemplate>, sources: Vec<(String, Insertions)>) -> Self {
        let mut references = template.references().clone();
        let variables = references.variables.iter_mut();
        let variables = variables.map(|variable| (variable.source, &mut variable.span));
        let functions = references.functions.iter_mut();
        let functions = functions.map(|function| (function.source, &mut function.span));
        for (source, span) in variables.chain(functions) {
            if let Some((_, insertions)) = sources.get(source) {
                *span = before(insertions, *span);
            }
        }
        LineTemplate {
            template,
            references,
            sources,
        }
    }

    fn place(&self, mut error: Box<RenderError>) -> StopReason {
        clean(&mut error.message);
        clean(&mut error.reason);
        error.help.iter_mut().for_each(clean);
        let source = self
            .sources
            .iter()
            .find(|(name, _)| *name == error.source_name);
        if let (Some(span), Some((_, insertions))) = (error.span, source) {
            error.span = Some(before(insertions, span));
        }
        StopReason::Failed(error)
    }
}

impl CompiledTemplate for LineTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        pass.literal(&directive::lines())?;
        match self.template.pass(entry, pass) {
            Err(StopReason::Failed(error)) => Err(self.place(error)),
            other => other,
        }
    }
}
