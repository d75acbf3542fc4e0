//! Templates from one format into another, where there is an exact counterpart.
//!
//! Each format reads its own syntax tree into a small neutral one
//! ([`Nodes`]) and refuses, with the place, what other formats do not have:
//! filters, arithmetic, partials, assignments. Whitespace control is resolved
//! into text on the way. What is read is compared with the kinds that are
//! declared ([`VariableType`]), since formats print values in different ways, and
//! written in the other format. This is no formatter: layout inside tags is lost.

mod findings;
mod language;
mod loops;
mod shape;
mod tree;
mod values;
mod write;

pub use findings::ConvertFindings;
pub(crate) use findings::DEEPEST;
pub use language::Language;
pub use shape::{TypeScope, VariableType};
pub use tree::{
    Argument, LoopPosition, NodeKind, Nodes, PathStart, TreeCall, TreeCondition, TreeNode,
    VariablePath, merged,
};

use quillet_core::{Diagnostic, Severity, Span};

use crate::factory::too_large;
use crate::format::handlebars::{self, HandlebarsFormat};
use crate::format::{fstring, go, jinja, liquid, mustache, semantic_kernel};
use crate::{CompileLimits, CompileOptions, TemplateSource};

/// Options of a conversion.
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// The kinds of the variables, as far as they are declared.
    pub shapes: VariableType,
    /// Whether what is undeclared is known to be text or whole numbers.
    pub assume_text: bool,
    /// Whether what is exact for some values only is refused.
    pub strict: bool,
    /// Bounds on the source.
    pub limits: CompileLimits,
}

/// A template in its new format.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedTemplate {
    /// Its text.
    pub text: String,
    /// What is exact for some values only: warnings.
    pub notes: Vec<Diagnostic>,
}

/// Converts one template.
///
/// # Errors
/// The source does not compile; or everything in it that has no exact counterpart.
pub fn convert(
    source: &TemplateSource<'_>,
    from: Language,
    to: Language,
    options: &ConvertOptions,
) -> Result<ConvertedTemplate, Vec<Diagnostic>> {
    let mut findings = ConvertFindings::new(source.name, source.text);
    let nodes = read(from, source, options, &mut findings)?;
    let text = rewrite(nodes, from, to, options, &mut findings);
    finish(text, options, findings)
}

/// Reads a template into the neutral tree. Refusals go to `findings`.
///
/// # Errors
/// The source does not compile in this format.
pub fn read(
    language: Language,
    source: &TemplateSource<'_>,
    options: &ConvertOptions,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let bytes = source.text.len();
    if bytes > options.limits.source_bytes {
        return Err(too_large(bytes, &[*source], &options.limits).diagnostics);
    }
    let nesting = options.limits.nesting;
    let compile = CompileOptions {
        limits: options.limits,
        ..CompileOptions::default()
    };
    if matches!(
        language,
        Language::Handlebars | Language::Mustache | Language::Dotprompt
    ) {
        tell_comments(source.text, findings);
    }
    let nodes = match language {
        Language::Go => go::convert::read(source, nesting, findings),
        Language::Jinja | Language::JinjaPlain => {
            jinja::convert::read(source, language, &compile, findings)
        }
        Language::SemanticKernel => semantic_kernel::convert::read(source, findings),
        Language::FString => fstring::convert::read(source, findings),
        Language::Handlebars => {
            let format = HandlebarsFormat::new();
            handlebars::convert::read(&format, source, &compile, findings)
        }
        Language::Mustache => mustache::convert::read(source, &compile, &options.shapes, findings),
        Language::Liquid => liquid::convert::read(source, &compile, &options.shapes, findings),
        Language::Dotprompt => {
            let format = HandlebarsFormat::dotprompt();
            handlebars::convert::read(&format, source, &compile, findings)
        }
    };
    nodes.map(merged)
}

/// Makes a tree mean the same in another format, and writes it. What stands in
/// the text where something is refused does not matter.
pub fn rewrite(
    nodes: Nodes,
    from: Language,
    to: Language,
    options: &ConvertOptions,
    findings: &mut ConvertFindings<'_>,
) -> String {
    let shapes = &options.shapes;
    let nodes = values::adapt(nodes, [from, to], shapes, options.assume_text, findings);
    write(to, &nodes, shapes, findings)
}

/// Writes a tree. Refusals go to `findings`.
pub fn write(
    language: Language,
    nodes: &[TreeNode],
    shapes: &VariableType,
    findings: &mut ConvertFindings<'_>,
) -> String {
    write::write(language, nodes, shapes, findings)
}

/// The text with its notes, or everything that was refused.
///
/// # Errors
/// Something was refused, or is exact for some values only and that does not do.
pub fn finish(
    text: String,
    options: &ConvertOptions,
    findings: ConvertFindings<'_>,
) -> Result<ConvertedTemplate, Vec<Diagnostic>> {
    let mut found = findings.into_sorted();
    if options.strict {
        let inexact = found.iter_mut().filter(|one| one.code == findings::VALUES);
        inexact.for_each(|one| one.severity = Severity::Error);
    }
    if found.iter().any(|one| one.severity == Severity::Error) {
        // What is exact for some values only does not matter then.
        found.retain(|one| one.severity == Severity::Error);
        return Err(found);
    }
    Ok(ConvertedTemplate { text, notes: found })
}

/// Comments that are not in these formats' trees.
fn tell_comments(text: &str, findings: &mut ConvertFindings<'_>) {
    for (start, _) in text.match_indices("{{!") {
        let rest = text.get(start + 3..).unwrap_or_default();
        let is_empty = rest.trim_start().starts_with("}}");
        if !is_empty && !text[..start].ends_with(['{', '\\']) {
            let span = Span {
                start,
                end: start + 3,
            };
            findings.leave_out(span, "this comment is left out");
        }
    }
}
