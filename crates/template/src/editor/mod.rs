//! Syntax tokens and completion items of a template, for editors.
//!
//! Both work on incomplete text. The format's lexer supplies the tokens. After an error it
//! continues with the next tag, at most a hundred times per text.
//!
//! ```
//! use quillet_template::editor::{self, ExternalNames};
//! use quillet_template::{CompileLimits, TemplateFactory};
//!
//! let factory = TemplateFactory::standard();
//! let jinja = factory.format("jinja").unwrap();
//! let text = "Hi {{ name|up";
//! let tokens = editor::tokens(&**jinja, text, &CompileLimits::default());
//! let shown = tokens.iter().map(|token| (&text[token.span.start..token.span.end], token.kind.name()));
//! assert_eq!(shown.collect::<Vec<_>>(), [
//!     ("{{", "delimiter"),
//!     ("name", "variable"),
//!     ("|", "operator"),
//!     ("up", "function"),
//! ]);
//!
//! let names = ExternalNames { variables: &["name".into()], functions: &[] };
//! let found = editor::completions(&**jinja, text, text.len(), &names, &CompileLimits::default());
//! let upper = found.iter().find(|found| found.label == "upper").unwrap();
//! assert_eq!((&*upper.detail, &text[upper.span.start..upper.span.end]), ("filter", "up"));
//! assert!(found.iter().all(|found| found.label != "name"), "no filter");
//! ```

mod completion;
mod scan;

pub(crate) use completion::CompletionList;
pub use completion::{CompletionItem, ExternalNames};
pub(crate) use scan::{CompletionSpot, MOST_FAULTS, TokenScan};

use quillet_core::{SemanticToken, Span, TokenKind, token};

use crate::{CompileLimits, TemplateFormat, structure};

/// Returns the syntax tokens of template text ([`TemplateFormat::tokens`]). The tokens are ordered,
/// disjoint, inside the text, and at character boundaries. The list is empty if the text is larger
/// than [`CompileLimits::source_bytes`]. The nesting limit does not apply.
///
/// ```
/// use quillet_core::TokenKind;
/// use quillet_template::format::go::GoFormat;
/// use quillet_template::{CompileLimits, editor};
///
/// // An invalid tag does not hide the following one.
/// let tokens = editor::tokens(&GoFormat::new(), "{{ ! }} {{ .name }}", &CompileLimits::default());
/// assert!(tokens.iter().any(|token| token.kind == TokenKind::Variable));
/// ```
#[must_use]
pub fn tokens(
    format: &dyn TemplateFormat,
    text: &str,
    limits: &CompileLimits,
) -> Vec<SemanticToken> {
    if text.len() > limits.source_bytes {
        return Vec::new();
    }
    token::normalize(text, format.tokens(text))
}

/// Returns the tokens of template text whose messages begin with role lines
/// ([`MessageSyntax::RoleLines`](crate::MessageSyntax::RoleLines)). In addition to [`tokens`],
/// there is a token for the role in each role line.
///
/// ```
/// use quillet_core::TokenKind;
/// use quillet_template::format::jinja::JinjaFormat;
/// use quillet_template::{CompileLimits, editor};
///
/// let text = "system:\nBe brief.\nuser:\n{{ question }}";
/// let limits = CompileLimits::default();
/// let tokens = editor::tokens_with_roles(&JinjaFormat::plain(), text, &limits);
/// let roles = tokens.iter().filter(|token| token.kind == TokenKind::Role);
/// let roles: Vec<_> = roles.map(|token| &text[token.span.start..token.span.end]).collect();
/// assert_eq!(roles, ["system", "user"]);
/// ```
#[must_use]
pub fn tokens_with_roles(
    format: &dyn TemplateFormat,
    text: &str,
    limits: &CompileLimits,
) -> Vec<SemanticToken> {
    if text.len() > limits.source_bytes {
        return Vec::new();
    }
    let names = structure::role_names(text, format.has_loose_role_lines());
    let role = |name: Span| SemanticToken::new(name.start, name.end, TokenKind::Role);
    let roles: Vec<SemanticToken> = names.into_iter().map(role).collect();
    token::overlay(&tokens(format, text, limits), &roles)
}

/// Returns the completion items at a byte offset of template text
/// ([`TemplateFormat::completions`]). The list is empty in plain text, at an offset that is outside
/// the text or inside a character, and if the text is larger than [`CompileLimits::source_bytes`].
///
/// ```
/// use quillet_template::format::mustache::MustacheFormat;
/// use quillet_template::{CompileLimits, editor};
///
/// let variables = ["city".to_owned()];
/// let names = editor::ExternalNames { variables: &variables, functions: &[] };
/// let format = MustacheFormat::new();
/// let at = |text: &str| {
///     editor::completions(&format, text, text.len(), &names, &CompileLimits::default()).len()
/// };
/// assert_eq!((at("in {{"), at("in {{city}} ")), (1, 0));
/// ```
#[must_use]
pub fn completions(
    format: &dyn TemplateFormat,
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    limits: &CompileLimits,
) -> Vec<CompletionItem> {
    if text.len() > limits.source_bytes || !text.is_char_boundary(at) {
        return Vec::new();
    }
    format.completions(text, at, names)
}
