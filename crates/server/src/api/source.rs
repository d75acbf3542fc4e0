//! Editor support for a text: tokens, diagnostics and completions from the engine's own lexers.

use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::{Diagnostic, SemanticToken, Severity};
use quillet_prompt::file;
use quillet_script::editor as scripts;
use quillet_script::host::NoTools;
use quillet_script::library::BuiltinLibrary;
use quillet_script::syntax;
use quillet_template::editor::{self, ExternalNames};
use quillet_template::{CompileLimits, CompileOptions, MessageSyntax, TemplateSource};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::JsonBody;
use super::json_body;
use crate::error::{ApiError, ProblemDetails, problem};
use crate::request_context::RequestContext;

/// The format name of scripts.
const SCRIPT: &str = "script";

/// A text in an editor.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct SourceBody {
    /// A template format or its alias, `script`, or the name of a prompt file (`x.prompt`).
    format: String,
    /// The text, complete or not.
    text: String,
    /// The marks for the beginning of messages: `plain` (the default), `elements` or `role-lines`.
    #[serde(default, rename = "messageSyntax", alias = "message_syntax")]
    message_syntax: Option<String>,
    /// The offset for completions, in UTF-16 code units.
    #[serde(default)]
    at: Option<usize>,
    /// Variables that the text can use, in addition to those of the store.
    #[serde(default)]
    variables: Vec<String>,
}

/// Tokens, diagnostics and completions. All offsets are UTF-16 code units from the start of the
/// text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceReply {
    /// Tokens for highlighting, in order, without overlap.
    tokens: Vec<TextSpan>,
    /// The diagnostics.
    findings: Vec<SourceDiagnostic>,
    /// The completions at `at`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    completions: Vec<CompletionItem>,
}

/// A token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Piece)]
pub(crate) struct TextSpan {
    start: usize,
    end: usize,
    /// The kind of token: `comment`, `delimiter`, `keyword`, `function`, `number`, `operator`,
    /// `property`, `role`, `string` or `variable`.
    kind: &'static str,
}

/// A diagnostic.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct SourceDiagnostic {
    start: usize,
    end: usize,
    /// `error` or `warning`.
    severity: &'static str,
    code: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// A completion item.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Offer)]
pub(crate) struct CompletionItem {
    /// The text to insert.
    label: String,
    detail: String,
    /// The start of the range that it replaces.
    start: usize,
    end: usize,
}

/// Returns tokens, diagnostics and completions for an editor
///
/// Nothing is stored or run.
#[utoipa::path(post, path = "/source", tag = "prompts", request_body = SourceBody, responses(
    (status = 200, body = SourceReply),
    (status = 400, body = ProblemDetails, content_type = "application/problem+json", description = "Unknown format"),
))]
pub(crate) async fn source(
    call: RequestContext,
    JsonBody(body): JsonBody<SourceBody>,
) -> Result<Response, ApiError> {
    let places = Utf16Index::new(&body.text);
    let at = body.at.map(|at| places.byte(at));
    let read = if body.format == SCRIPT {
        script(&body.text, at).await
    } else {
        template(&call, &body, at)?
    };
    let piece = |token: &SemanticToken| TextSpan {
        start: places.unit(token.span.start),
        end: places.unit(token.span.end),
        kind: token.kind.name(),
    };
    let tokens = read.tokens.iter().map(piece).collect();
    let findings = read.findings.into_iter();
    let findings = findings.map(|found| finding(found, &places)).collect();
    let offers = read.offers.into_iter();
    let offer = |(label, detail, span): (String, String, quillet_core::Span)| CompletionItem {
        label,
        detail,
        start: places.unit(span.start),
        end: places.unit(span.end),
    };
    json_body(&SourceReply {
        tokens,
        findings,
        completions: offers.map(offer).collect(),
    })
}

/// The analysis of a text, with byte offsets.
struct SourceAnalysis {
    tokens: Vec<SemanticToken>,
    findings: Vec<Diagnostic>,
    /// Label, detail and replaced range.
    offers: Vec<(String, String, quillet_core::Span)>,
}

async fn script(text: &str, at: Option<usize>) -> SourceAnalysis {
    let source = syntax::ScriptSource {
        name: "script".to_owned(),
        path: None,
        text: text.into(),
    };
    let document = scripts::ScriptDocument::new(source.into());
    let around = scripts::EditorContext {
        library: &BuiltinLibrary,
        tools: &NoTools,
    };
    let offers = match at {
        Some(at) => scripts::complete(&document, at, around).await,
        None => Vec::new(),
    };
    let offers = offers.into_iter();
    SourceAnalysis {
        tokens: scripts::tokens(&document),
        findings: document.findings,
        offers: offers.map(|it| (it.insert, it.detail, it.span)).collect(),
    }
}

fn template(
    call: &RequestContext,
    body: &SourceBody,
    at: Option<usize>,
) -> Result<SourceAnalysis, ApiError> {
    let catalogue = call.app.service.catalogue();
    let factory = catalogue.factory();
    let limits = CompileLimits::default();
    let snapshot = catalogue.snapshot();
    let functions: Vec<String> = snapshot
        .tools
        .keys()
        .map(|id| id.replace('.', "_"))
        .collect();
    let names = ExternalNames {
        variables: &body.variables,
        functions: &functions,
    };
    let text = body.text.as_str();
    let told = |offers: Vec<editor::CompletionItem>| {
        let offers = offers.into_iter();
        offers.map(|it| (it.label, it.detail, it.span)).collect()
    };
    // The name of a prompt file is tried first, because its extension also selects the front
    // matter.
    if let Some(tokens) = file::tokens(&body.format, text, factory, &limits) {
        let offers =
            at.map(|at| file::completions(&body.format, text, at, factory, &names, &limits));
        return Ok(SourceAnalysis {
            tokens,
            findings: Vec::new(),
            offers: told(offers.unwrap_or_default()),
        });
    }
    let format = factory.format(&body.format).ok_or_else(|| {
        let message = format!("format: unknown format {:?}", body.format);
        problem(ErrorCode::RequestBody, message)
            .with_hint("GET /openapi.json lists the formats; script is also valid")
    })?;
    let messages = match body.message_syntax.as_deref() {
        Some("elements") => MessageSyntax::Elements,
        Some("role-lines") => MessageSyntax::RoleLines,
        _ => MessageSyntax::Plain,
    };
    let tokens = match messages {
        MessageSyntax::RoleLines => editor::tokens_with_roles(&**format, text, &limits),
        _ => editor::tokens(&**format, text, &limits),
    };
    let options = CompileOptions {
        messages,
        ..CompileOptions::default()
    };
    let compiled = format.compile(&[TemplateSource::new("template", text)], &options);
    let offers = at.map(|at| editor::completions(&**format, text, at, &names, &limits));
    Ok(SourceAnalysis {
        tokens,
        findings: compiled
            .err()
            .map_or_else(Vec::new, |error| error.diagnostics),
        offers: told(offers.unwrap_or_default()),
    })
}

fn finding(found: Diagnostic, places: &Utf16Index<'_>) -> SourceDiagnostic {
    let span = found.span.unwrap_or_default();
    SourceDiagnostic {
        start: places.unit(span.start),
        end: places.unit(span.end),
        severity: match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        code: found.code,
        message: found.message,
        help: found.help,
    }
}

/// Converts byte offsets to UTF-16 offsets and back. An index entry every 64 bytes keeps each
/// lookup fast, even in long texts.
struct Utf16Index<'t> {
    text: &'t str,
    /// The first character boundary at or after each multiple of [`STEP`], with its UTF-16 offset.
    known: Vec<(usize, usize)>,
}

const STEP: usize = 64;

impl<'t> Utf16Index<'t> {
    fn new(text: &'t str) -> Self {
        let (mut known, mut unit) = (Vec::with_capacity(text.len() / STEP + 1), 0);
        for (byte, sign) in text.char_indices() {
            if byte >= known.len() * STEP {
                known.push((byte, unit));
            }
            unit += sign.len_utf16();
        }
        Utf16Index { text, known }
    }

    fn unit(&self, byte: usize) -> usize {
        let before = self.known.partition_point(|(known, _)| *known <= byte);
        let (start, unit) = self.before(before);
        let rest = self.text.get(start..).unwrap_or_default();
        let signs = rest.char_indices();
        let signs = signs.take_while(|(at, _)| start + at < byte);
        unit + signs.map(|(_, sign)| sign.len_utf16()).sum::<usize>()
    }

    fn byte(&self, unit: usize) -> usize {
        let before = self.known.partition_point(|(_, known)| *known <= unit);
        let (start, mut at) = self.before(before);
        let rest = self.text.get(start..).unwrap_or_default();
        for (byte, sign) in rest.char_indices() {
            if at >= unit {
                return start + byte;
            }
            at += sign.len_utf16();
        }
        self.text.len()
    }

    fn before(&self, place: usize) -> (usize, usize) {
        let place = place.checked_sub(1).and_then(|place| self.known.get(place));
        place.copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Utf16Index;

    #[test]
    fn bytes_and_units_are_each_others_inverse() {
        for text in ["", "abc", "aä€😀b", &"x😀é漢".repeat(100)] {
            let places = Utf16Index::new(text);
            let mut unit = 0;
            for (byte, sign) in text.char_indices() {
                assert_eq!(
                    (places.unit(byte), places.byte(unit)),
                    (unit, byte),
                    "{text}"
                );
                unit += sign.len_utf16();
            }
            assert_eq!(
                (places.unit(text.len()), places.byte(unit)),
                (unit, text.len())
            );
            assert_eq!(places.byte(unit + 9), text.len());
        }
    }
}
