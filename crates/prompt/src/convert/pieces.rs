//! A template as text and variables, which every format has.

use super::Refusal;

/// What stands in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A variable, printed: its path.
    Variable(Vec<String>),
}

/// How a format writes a variable in its braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `{{.a.b}}`
    Go,
    /// `{{ a.b }}`
    Jinja,
    /// `{{a.b}}`
    Handlebars,
    /// `{{$a}}`
    Kernel,
    /// `{a}`
    FString,
}

impl Family {
    pub(super) fn of(format: &str) -> Option<Self> {
        Some(match format {
            "go" | "golang" | "localai" | "ollama" => Family::Go,
            "jinja"
            | "jinja2"
            | "hf"
            | "huggingface"
            | "jinja-plain"
            | "semantic-kernel-jinja2" => Family::Jinja,
            "handlebars" | "mustache" | "dotprompt" | "semantic-kernel-handlebars" => {
                Family::Handlebars
            }
            "semantic-kernel" => Family::Kernel,
            "f-string" => Family::FString,
            _ => return None,
        })
    }

    fn openings(self) -> &'static [&'static str] {
        match self {
            Family::FString => &["{", "}"],
            Family::Jinja => &["{{", "{%", "{#"],
            Family::Handlebars => &["{{", "\\{{"],
            Family::Go | Family::Kernel => &["{{"],
        }
    }

    /// A variable as the format writes it.
    pub(super) fn write(self, path: &[String]) -> Option<String> {
        let joined = path.join(".");
        match self {
            Family::Go => Some(format!("{{{{.{joined}}}}}")),
            Family::Jinja => Some(format!("{{{{ {joined} }}}}")),
            Family::Handlebars => Some(format!("{{{{{joined}}}}}")),
            Family::Kernel => (path.len() == 1).then(|| format!("{{{{${joined}}}}}")),
            Family::FString => (path.len() == 1).then(|| format!("{{{joined}}}")),
        }
    }
}

/// Divides a template, or says what in it is neither text nor a variable. `from`
/// is where it begins in its source.
pub(super) fn read(family: Family, text: &str, from: usize) -> Result<Vec<Piece>, Vec<Refusal>> {
    let mut pieces = Vec::new();
    let mut refusals = Vec::new();
    let mut at = 0;
    while let Some(open) = opening(family, text, at) {
        push(&mut pieces, &text[at..open]);
        match hole(family, &text[open..]) {
            Some((piece, length)) => {
                pieces.push(piece);
                at = open + length;
            }
            None => {
                refusals.push(refused(&text[open..], from + open));
                at = open + skipped(&text[open..]);
            }
        }
    }
    push(&mut pieces, &text[at..]);
    if refusals.is_empty() {
        return Ok(pieces);
    }
    Err(refusals)
}

fn push(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

fn opening(family: Family, text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let found = family.openings().iter().filter_map(|open| rest.find(open));
    found.min().map(|at| from + at)
}

fn refused(text: &str, at: usize) -> Refusal {
    let shown = text.split_inclusive('}').take(2).collect::<String>();
    let shown: String = shown.chars().take(40).collect();
    Refusal::template(
        at,
        format!("{shown:?} has no exact counterpart: only text and plain variables have one"),
    )
}

/// How far to go on after something that was refused.
fn skipped(text: &str) -> usize {
    let close = ["}}", "%}", "#}"]
        .iter()
        .filter_map(|close| text.find(close));
    close.min().map_or(text.len(), |at| at + 2)
}

/// What stands in the braces that a text begins with, and how long it is.
fn hole(family: Family, text: &str) -> Option<(Piece, usize)> {
    if family == Family::FString {
        return f_string_hole(text);
    }
    if family == Family::Handlebars && text.starts_with("\\{{") {
        return Some((Piece::Text("{{".to_owned()), 3));
    }
    let inner = text.strip_prefix("{{")?;
    let end = inner.find("}}")?;
    let inside = inner[..end].trim();
    let length = end + 4;
    if let Some(literal) = quoted(family, inside) {
        return Some((Piece::Text(literal.to_owned()), length));
    }
    let path = match family {
        Family::Go => inside.strip_prefix('.')?,
        Family::Kernel => inside.strip_prefix('$')?,
        _ => inside,
    };
    Some((Piece::Variable(names(path)?), length))
}

fn f_string_hole(text: &str) -> Option<(Piece, usize)> {
    for double in ["{{", "}}"] {
        if text.starts_with(double) {
            return Some((Piece::Text(double[..1].to_owned()), 2));
        }
    }
    let end = text.find('}')?;
    let name = names(text.get(1..end)?)?;
    (name.len() == 1).then_some((Piece::Variable(name), end + 1))
}

/// A text in quotes, the way to write braces in these formats.
fn quoted(family: Family, inside: &str) -> Option<&str> {
    if family == Family::Handlebars {
        return None;
    }
    let quote = inside.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let literal = inside.strip_prefix(quote)?.strip_suffix(quote)?;
    (!literal.contains([quote, '\\'])).then_some(literal)
}

/// Names that mean themselves in every format.
const TAKEN: [&str; 14] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "this",
    "else",
    "not",
    "and",
    "or",
    "in",
    "is",
    "if",
];

fn names(path: &str) -> Option<Vec<String>> {
    let plain = |name: &str| {
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && !TAKEN.contains(&name.to_ascii_lowercase().as_str())
    };
    let names: Vec<&str> = path.split('.').collect();
    let all = names.iter().all(|name| plain(name));
    all.then(|| names.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_every_family() {
        let cases = [
            (Family::Go, "a{{.x.y}}", Some("a[x.y]")),
            (Family::Go, "{{- .x}}", None),
            (Family::Go, "{{\"{{\"}}", Some("{{")),
            (Family::Jinja, "a{{ x }}{{ 'b' }}", Some("a[x]b")),
            (Family::Jinja, "{{ x | upper }}", None),
            (Family::Jinja, "{% if x %}", None),
            (Family::Handlebars, "{{x}}", Some("[x]")),
            (Family::Handlebars, "{{#if x}}a{{/if}}", None),
            (Family::Handlebars, "\\{{x}}", Some("{{x}}")),
            (Family::Handlebars, "{{this}}", None),
            (Family::Kernel, "{{$x}} {{ p.f }}", None),
            (Family::Kernel, "{{ $x }}", Some("[x]")),
            (Family::FString, "{{{x}}}", Some("{[x]}")),
            (Family::FString, "{x!r}", None),
        ];
        for (family, text, expected) in cases {
            let read = read(family, text, 0).ok().map(|pieces| {
                let show = |piece: &Piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Variable(path) => format!("[{}]", path.join(".")),
                };
                pieces.iter().map(show).collect::<String>()
            });
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
