//! Brace syntax of the template formats, shared by the checks of tags and of fields.

use quillet_core::Span;

/// Maximum length of a correction that is shown.
pub(super) const LONGEST: usize = 300;

/// Maximum distance to the end of a group of braces.
const LONGEST_GROUP: usize = 20_000;

/// Meaning of braces in a template format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplateDialect {
    Go,
    Jinja,
    Liquid,
    SemanticKernel,
    Handlebars,
    Mustache,
    FString,
}

impl TemplateDialect {
    /// Returns the dialect of a built-in format. Other formats have their own rules.
    pub(super) fn of(format: &str) -> Option<Self> {
        Some(match format {
            "go" => TemplateDialect::Go,
            "jinja" | "jinja-plain" | "semantic-kernel-jinja2" => TemplateDialect::Jinja,
            "liquid" | "semantic-kernel-liquid" => TemplateDialect::Liquid,
            "semantic-kernel" | "semantic-kernel-encoded" => TemplateDialect::SemanticKernel,
            "handlebars" | "handlebars-html" | "semantic-kernel-handlebars" | "dotprompt" => {
                TemplateDialect::Handlebars
            }
            "mustache" | "mustache-html" => TemplateDialect::Mustache,
            "f-string" | "f-string-strict" => TemplateDialect::FString,
            _ => return None,
        })
    }

    /// Returns the format to suggest for this dialect.
    pub(super) fn format(self) -> &'static str {
        match self {
            TemplateDialect::Go => "go",
            TemplateDialect::Jinja => "jinja",
            TemplateDialect::Liquid => "liquid",
            TemplateDialect::SemanticKernel => "semantic-kernel",
            TemplateDialect::Handlebars => "handlebars",
            TemplateDialect::Mustache => "mustache",
            TemplateDialect::FString => "f-string",
        }
    }

    /// Returns the syntax for a variable path, or `None` if the dialect does not support paths.
    pub(super) fn variable(self, path: &str) -> Option<String> {
        Some(match self {
            TemplateDialect::Go => format!("{{{{.{path}}}}}"),
            TemplateDialect::Jinja | TemplateDialect::Liquid => format!("{{{{ {path} }}}}"),
            TemplateDialect::SemanticKernel if path.contains('.') => return None,
            TemplateDialect::SemanticKernel => format!("{{{{${path}}}}}"),
            TemplateDialect::Handlebars | TemplateDialect::Mustache => format!("{{{{{path}}}}}"),
            TemplateDialect::FString => match path.split_once('.') {
                None => format!("{{{path}}}"),
                Some((name, rest)) => format!("{{{name}[{}]}}", rest.replace('.', "][")),
            },
        })
    }
}

/// A warning about braces.
#[derive(Debug)]
pub(super) struct BraceWarning {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: String,
}

/// Returns the end of the group of braces that starts here, counting nested braces.
pub(super) fn group_end(text: &str, start: usize) -> Option<usize> {
    let mut open = 0_usize;
    // Comparing bytes is safe, because no byte of a longer UTF-8 sequence equals a brace.
    let window = text.as_bytes().get(start..).unwrap_or_default();
    for (at, byte) in window.iter().enumerate().take(LONGEST_GROUP) {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        if open == 0 {
            return Some(start + at + 1);
        }
    }
    None
}

/// Whether a text is a path: names of letters, digits and `_` that do not start with a digit,
/// joined by dots.
pub(super) fn is_path(text: &str) -> bool {
    let word = |part: &str| {
        let first = part.chars().next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    text.split('.').all(word)
}

/// Whether the text between braces looks like JSON: a quoted key followed by a colon.
pub(super) fn is_json(inner: &str) -> bool {
    let inner = inner.trim_start();
    let Some(quote) = inner.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return false;
    };
    let key = inner.get(1..).and_then(|rest| rest.split_once(quote));
    key.is_some_and(|(_, after)| after.trim_start().starts_with(':'))
}

/// Returns the Jinja block that starts here: `{% if`, `{%- for`…
pub(super) fn jinja_block(text: &str) -> Option<&str> {
    let words = "if elif else endif for endfor set endset block endblock macro endmacro include \
                 extends raw endraw with endwith";
    let inner = text.strip_prefix("{%")?;
    let inner = inner.trim_start_matches(['-', '+']).trim_start();
    let end = inner
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(inner.len());
    let word = &inner[..end];
    words.split_whitespace().find(|known| *known == word)
}

pub(super) fn jinja_warning(start: usize, word: &str, dialect: TemplateDialect) -> BraceWarning {
    let format = dialect.format();
    BraceWarning {
        span: Span {
            start,
            end: start + 2,
        },
        message: format!("{{% {word} … %}} is Jinja syntax, but the template format is {format}"),
        help: "set the format to jinja".to_owned(),
    }
}
