//! Converts templates between formats, where an exact counterpart exists.
//!
//! Each format reads its syntax tree into a small neutral tree ([`Nodes`]). It rejects features
//! that other formats lack, such as filters, arithmetic, partials and assignments, and reports
//! their locations. Whitespace control is resolved into text during this step. The tree is then
//! checked against the declared kinds ([`VariableType`]), because formats print values differently,
//! and is written in the target format. The conversion loses the layout inside tags.

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
    /// Declared kinds of the variables.
    pub shapes: VariableType,
    /// Whether undeclared variables are assumed to be strings or integers.
    pub assume_text: bool,
    /// Whether a result that is exact only for some values is an error.
    pub strict: bool,
    /// Limits on the source.
    pub limits: CompileLimits,
}

/// A template after conversion.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedTemplate {
    /// Text of the template.
    pub text: String,
    /// Warnings about parts that are exact only for some values.
    pub notes: Vec<Diagnostic>,
}

/// Converts a template to another format.
///
/// # Errors
/// Returns an error if the source does not compile, or with all parts that have no exact
/// counterpart.
///
/// # Examples
///
/// ```
/// use quillet_template::TemplateSource;
/// use quillet_template::convert::{ConvertOptions, Language, convert};
///
/// let source = TemplateSource::new("greet", "Hello {{.name}}!");
/// let options = ConvertOptions { assume_text: true, ..ConvertOptions::default() };
/// let converted = convert(&source, Language::Go, Language::Jinja, &options).unwrap();
/// assert_eq!(converted.text, "Hello {{ name }}!");
/// ```
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

/// Parses a template into the tree that is independent of formats. Rejected features are reported
/// to `findings`.
///
/// # Errors
/// Returns an error if the source does not compile in this format.
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
        report_comments(source.text, findings);
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

/// Adapts a tree to another format and returns the template text. Do not use the text if there are
/// errors.
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

/// Writes a tree as template text. Unsupported elements are reported to `findings`.
pub fn write(
    language: Language,
    nodes: &[TreeNode],
    shapes: &VariableType,
    findings: &mut ConvertFindings<'_>,
) -> String {
    write::write(language, nodes, shapes, findings)
}

/// Returns the text and its warnings, or all errors.
///
/// # Errors
/// Returns an error if a part was rejected, or is exact for some values only in strict mode.
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
        // Warnings do not matter if there are errors.
        found.retain(|one| one.severity == Severity::Error);
        return Err(found);
    }
    Ok(ConvertedTemplate { text, notes: found })
}

/// Finds comments, which the trees of these formats do not contain.
fn report_comments(text: &str, findings: &mut ConvertFindings<'_>) {
    for (start, _) in text.match_indices("{{!") {
        let rest = text.get(start + 3..).unwrap_or_default();
        let is_empty = rest.trim_start().starts_with("}}");
        if !is_empty && !text[..start].ends_with(['{', '\\']) {
            let span = Span {
                start,
                end: start + 3,
            };
            findings.leave_out(span, "this comment is omitted");
        }
    }
}
