//! Editor support for prompt files: tokens of the front matter and the template, and completions in
//! the template.

use quillet_core::{SemanticToken, Span, TokenKind, token};
use quillet_template::editor::{self, CompletionItem, ExternalNames};
use quillet_template::{CompileLimits, TemplateFactory, TemplateFormat};
use quillet_yaml::Options;

use super::front_matter::{self, FrontMatter};
use super::{FileKind, kind};

/// Semantic tokens of a prompt file with this name ([`kind`]): the delimiter lines, the YAML front
/// matter ([`quillet_yaml::tokens`]), and the template in the format that the file specifies. The
/// tokens are sorted and do not overlap. For a Semantic Kernel function in YAML, only YAML tokens
/// are returned. Returns `None` if the file is not a prompt file, and no tokens if the text is
/// longer than [`CompileLimits::source_bytes`].
///
/// ```
/// use quillet_core::TokenKind;
/// use quillet_prompt::file;
/// use quillet_template::{CompileLimits, TemplateFactory};
///
/// let text = "---\nmodel: m\n---\n{{role \"user\"}}Hi {{name}}";
/// let factory = TemplateFactory::standard();
/// let tokens = file::tokens("greet.prompt", text, &factory, &CompileLimits::default()).unwrap();
/// let shown = tokens.iter().map(|token| (&text[token.span.start..token.span.end], token.kind.name()));
/// assert_eq!(shown.take(5).collect::<Vec<_>>(), [
///     ("---", "delimiter"),
///     ("model", "property"),
///     ("m", "string"),
///     ("---", "delimiter"),
///     ("{{", "delimiter"),
/// ]);
/// assert_eq!(tokens[tokens.len() - 2].kind, TokenKind::Variable);
/// ```
#[must_use]
pub fn tokens(
    name: &str,
    text: &str,
    factory: &TemplateFactory,
    limits: &CompileLimits,
) -> Option<Vec<SemanticToken>> {
    let kind = kind(name, text)?;
    if text.len() > limits.source_bytes {
        return Some(Vec::new());
    }
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let content = text.get(mark..).unwrap_or_default();
    let found = read(kind, content, factory, limits);
    let moved: Vec<SemanticToken> = found.into_iter().map(|token| token.offset(mark)).collect();
    Some(token::normalize(text, moved))
}

/// Completions at a byte offset in the template of a prompt file ([`editor::completions`]). The
/// front matter has no completions.
#[must_use]
pub fn completions(
    name: &str,
    text: &str,
    at: usize,
    factory: &TemplateFactory,
    names: &ExternalNames<'_>,
    limits: &CompileLimits,
) -> Vec<CompletionItem> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let content = text.get(mark..).unwrap_or_default();
    let parts = kind(name, content).and_then(|kind| Some((kind, parts(kind, content)?)));
    let Some((kind, parts)) = parts else {
        return Vec::new();
    };
    let start = mark + parts.body.start;
    let format = factory.format(format(kind, content, parts.front));
    let (Some(format), Some(at)) = (format, at.checked_sub(start)) else {
        return Vec::new();
    };
    // Reading the file trims trailing blanks, but the cursor may be behind them.
    let body = text.get(start..).unwrap_or_default();
    let mut found = editor::completions(&**format, body, at, names, limits);
    for one in &mut found {
        one.span.start += start;
        one.span.end += start;
    }
    found
}

fn read(
    kind: FileKind,
    text: &str,
    factory: &TemplateFactory,
    limits: &CompileLimits,
) -> Vec<SemanticToken> {
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let Some(parts) = parts(kind, text) else {
        return quillet_yaml::tokens(text, whole);
    };
    let mut found = quillet_yaml::tokens(text, parts.front);
    fences(text, parts, &mut found);
    let body = text
        .get(parts.body.start..parts.body.end)
        .unwrap_or_default();
    let format = factory.format(format(kind, text, parts.front));
    let colours = format.map(|format| template(kind, &**format, body, limits));
    let colours = colours.unwrap_or_default().into_iter();
    found.extend(colours.map(|token| token.offset(parts.body.start)));
    found
}

fn template(
    kind: FileKind,
    format: &dyn TemplateFormat,
    text: &str,
    limits: &CompileLimits,
) -> Vec<SemanticToken> {
    match kind {
        FileKind::Prompty => editor::tokens_with_roles(format, text, limits),
        _ => editor::tokens(format, text, limits),
    }
}

/// Splits a file whose template is outside the YAML. An unclosed front matter is part of the
/// template, as in the parser.
fn parts(kind: FileKind, text: &str) -> Option<FrontMatter> {
    let split = match kind {
        FileKind::Dotprompt => front_matter::dotprompt(text),
        FileKind::Prompty => front_matter::prompty(text),
        FileKind::SemanticKernelFolder => None,
        FileKind::SemanticKernel => return None,
    };
    let end = text.len();
    Some(split.unwrap_or(FrontMatter {
        front: Span { start: 0, end: 0 },
        body: Span { start: 0, end },
    }))
}

/// Adds tokens for the delimiter lines of a front matter.
fn fences(text: &str, parts: FrontMatter, found: &mut Vec<SemanticToken>) {
    if parts.front == (Span { start: 0, end: 0 }) {
        return;
    }
    let before = text.get(..parts.front.start).unwrap_or_default();
    let behind = text.get(parts.front.end..).unwrap_or_default();
    let closing = behind.split_inclusive('\n').next().unwrap_or_default();
    let mut at = 0;
    let lead = before.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    for (start, line) in lead.chain([(parts.front.end, closing)]) {
        let bare = line.trim();
        let start = start + line.len() - line.trim_start().len();
        let kind = match bare {
            "---" | "+++" => TokenKind::Delimiter,
            _ => TokenKind::Comment,
        };
        found.push(SemanticToken::new(start, start + bare.len(), kind));
    }
}

/// Name of the template format. An invalid front matter selects the default.
fn format(kind: FileKind, text: &str, front: Span) -> &'static str {
    match kind {
        FileKind::Dotprompt => return "dotprompt",
        FileKind::SemanticKernel | FileKind::SemanticKernelFolder => return "semantic-kernel",
        FileKind::Prompty => {}
    }
    let (node, _) = quillet_yaml::parse("front matter", text, front, &Options::default());
    let format = node
        .as_ref()
        .and_then(|node| node.get("template")?.get("format"));
    let name = format.and_then(|format| format.as_str().or_else(|| format.get("kind")?.as_str()));
    match name {
        Some("mustache") => "mustache",
        Some("liquid") => "liquid",
        _ => "jinja-plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, text: &str) -> String {
        let factory = TemplateFactory::standard();
        let found = tokens(name, text, &factory, &CompileLimits::default()).unwrap();
        let mut end = 0;
        let show = |token: SemanticToken| {
            assert!(token.span.start >= end, "{token:?} in {text:?}");
            end = token.span.end;
            let written = &text[token.span.start..token.span.end];
            format!("{}:{written}", token.kind.name())
        };
        found.into_iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_part_is_read_in_its_own_way() {
        let table = [
            (
                "a.prompt",
                "# c\n---\nmodel: m # d\n---\nHi {{name}}\n",
                "comment:# c delimiter:--- property:model string:m comment:# d delimiter:--- \
                 delimiter:{{ variable:name delimiter:}}",
            ),
            (
                "a.prompty",
                "---\nname: x\n---\nsystem:\nHi {{ name|upper }}\n",
                "delimiter:--- property:name string:x delimiter:--- role:system delimiter:{{ \
                 variable:name operator:| function:upper delimiter:}}",
            ),
            (
                "a.prompty",
                "---\ntemplate: {format: {kind: mustache}}\n---\nuser:\n{{# a.b }}",
                "delimiter:--- property:template property:format property:kind string:mustache \
                 delimiter:--- role:user delimiter:{{# variable:a operator:. property:b \
                 delimiter:}}",
            ),
            (
                "a.prompty",
                "---\ntemplate:\n  format: liquid\n---\n{{ a | size }}",
                "delimiter:--- property:template property:format string:liquid delimiter:--- \
                 delimiter:{{ variable:a operator:| function:size delimiter:}}",
            ),
            (
                "a.prompt",
                "---\nmodel: [m\n---\n{{name}}",
                "delimiter:--- property:model delimiter:--- delimiter:{{ variable:name delimiter:}}",
            ),
            ("a.prompt", "---\n{{name", "delimiter:{{ variable:name"),
            (
                "\u{feff}a/skprompt.txt",
                "Hi {{$x}} {{p.f a='b'}}",
                "delimiter:{{ variable:$x delimiter:}} delimiter:{{ function:p.f property:a \
                 operator:= string:'b' delimiter:}}",
            ),
            (
                "a.yaml",
                "template: x\ntemplate_format: handlebars\n",
                "property:template string:x property:template_format string:handlebars",
            ),
            (
                "a.prompt",
                "\u{feff}---\na: 1\n---\né {{b}}",
                "delimiter:--- property:a number:1 delimiter:--- delimiter:{{ variable:b \
                 delimiter:}}",
            ),
        ];
        for (name, text, expected) in table {
            assert_eq!(shown(name, text), expected, "{name}: {text}");
        }
        let factory = TemplateFactory::standard();
        assert_eq!(
            tokens("a.txt", "", &factory, &CompileLimits::default()),
            None
        );
    }

    #[test]
    fn names_are_offered_in_the_template_alone() {
        let factory = TemplateFactory::standard();
        let variables = ["city".to_owned()];
        let names = ExternalNames {
            variables: &variables,
            functions: &[],
        };
        let at = |text: &str, at: usize| {
            let limits = CompileLimits::default();
            completions("a.prompt", text, at, &factory, &names, &limits)
        };
        let text = "\u{feff}---\nmodel: m\n---\nHi {{ci";
        let found = at(text, text.len());
        let city = found.iter().find(|one| one.label == "city").unwrap();
        assert_eq!(&text[city.span.start..city.span.end], "ci");
        assert_eq!(at(text, 10), []);
        assert_eq!(at(text, text.len() - 4), []);
    }
}
