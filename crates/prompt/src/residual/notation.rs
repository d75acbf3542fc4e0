//! Variable notations of clients, and detection of other texts that a client would read as
//! variables.

use std::hash::{BuildHasher, RandomState};

use quillet_core::{Diagnostic, Span};

/// Notation of the variables that a client fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `{{name}}`, supported by MLflow and by Langfuse's clients for Python and Node.
    Double,
    /// `{name}`. LiteLLM's client replaces this first, even inside `{{name}}`.
    Single,
}

impl Notation {
    fn around(self) -> [&'static str; 2] {
        match self {
            Notation::Double => ["{{", "}}"],
            Notation::Single => ["{", "}"],
        }
    }
}

/// Marker texts in place of the open variables while the prompt is rendered.
pub(super) struct FilledPlaceholders {
    notation: Notation,
    /// Unguessable prefix of all markers.
    begin: String,
    names: Vec<String>,
}

/// A part of the output: plain text, or the name of a variable.
enum TextPart<'t> {
    Text(&'t str),
    Name(&'t str),
}

impl FilledPlaceholders {
    pub(super) fn new(names: &[String], notation: Notation) -> Self {
        let random = || RandomState::new().hash_one(());
        // The marker contains characters that formats escape, so that escaping is detected.
        let begin = format!("&<\"'{:016x}{:016x}.", random(), random());
        FilledPlaceholders {
            notation,
            begin,
            names: names.to_vec(),
        }
    }

    /// Returns each variable with its marker.
    pub(super) fn marks(&self) -> impl Iterator<Item = (&str, String)> {
        let names = self.names.iter().enumerate();
        names.map(|(index, name)| (name.as_str(), self.mark(index)))
    }

    /// Returns the marker of the variable with this index.
    pub(super) fn mark(&self, index: usize) -> String {
        format!("{}{index};", self.begin)
    }

    /// Replaces markers with variable names.
    ///
    /// # Errors
    /// A client would read the text differently.
    pub(super) fn write(&self, id: &str, text: &str) -> Result<String, Box<Diagnostic>> {
        let pieces = self.pieces(id, text)?;
        let [open, close] = self.notation.around();
        let mut out = String::with_capacity(text.len());
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                TextPart::Text(said) => {
                    let before_name = matches!(pieces.get(at + 1), Some(TextPart::Name(_)));
                    if let Some(place) = self.notation.mistaken(said, before_name) {
                        return Err(Box::new(self.refuse(id, &out, said, place)));
                    }
                    out.push_str(said);
                }
                TextPart::Name(name) => out.extend([open, name, close]),
            }
        }
        Ok(out)
    }

    /// Checks that the text neither begins nor ends with a variable.
    pub(super) fn inside(&self, id: &str, text: &str) -> Result<(), Box<Diagnostic>> {
        let pieces = self.pieces(id, text)?;
        let is_blank =
            |piece: &&TextPart<'_>| matches!(piece, TextPart::Text(text) if text.trim().is_empty());
        let ends = [
            pieces.iter().find(|piece| !is_blank(piece)),
            pieces.iter().rev().find(|piece| !is_blank(piece)),
        ];
        let outside = ends.into_iter().flatten().find_map(|piece| match piece {
            TextPart::Name(name) => Some(*name),
            TextPart::Text(_) => None,
        });
        let Some(name) = outside else {
            return Ok(());
        };
        let what = format!(
            "a message begins or ends with the variable {name}, whose line breaks these clients drop"
        );
        let found = Diagnostic::error("convert.refused", id, what);
        Err(Box::new(
            found.help("write the prompt as a list of messages"),
        ))
    }

    fn pieces<'t>(&'t self, id: &str, text: &'t str) -> Result<Vec<TextPart<'t>>, Box<Diagnostic>> {
        let mut pieces = Vec::new();
        let mut parts = text.split(self.begin.as_str());
        pieces.extend(
            parts
                .next()
                .filter(|text| !text.is_empty())
                .map(TextPart::Text),
        );
        for part in parts {
            let named = part.split_once(';').and_then(|(index, rest)| {
                let name = self.names.get(index.parse::<usize>().ok()?)?;
                Some((name, rest))
            });
            let (name, rest) = named.ok_or_else(|| Box::new(changed(id)))?;
            pieces.push(TextPart::Name(name));
            pieces.extend(
                Some(rest)
                    .filter(|rest| !rest.is_empty())
                    .map(TextPart::Text),
            );
        }
        // The random part is enough to detect that a marker was changed.
        let secret = self
            .begin
            .trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_changed =
            |piece: &TextPart<'_>| matches!(piece, TextPart::Text(text) if text.contains(secret));
        if pieces.iter().any(is_changed) {
            return Err(Box::new(changed(id)));
        }
        Ok(pieces)
    }

    fn refuse(&self, id: &str, before: &str, said: &str, place: usize) -> Diagnostic {
        let [open, close] = self.notation.around();
        let text = format!("{before}{said}");
        let start = before.len() + place;
        let what = format!(
            "the text has literal braces here, which a client reads as {open}variable{close}"
        );
        let span = Span {
            start,
            end: start + open.len(),
        };
        Diagnostic::error("convert.refused", &format!("{id}, rendered"), what).at(&text, span)
    }
}

fn changed(id: &str) -> Diagnostic {
    let what = "a variable of the request is not printed unchanged";
    Diagnostic::error("convert.refused", id, what)
}

impl Notation {
    /// Offset where a client would read plain text as a variable, or would misread the variable
    /// that follows.
    fn mistaken(self, text: &str, before_name: bool) -> Option<usize> {
        let found = match self {
            Notation::Double => text.find("{{"),
            Notation::Single => named(text),
        };
        // `{` before `{{name}}` gives `{{{name}}}`, which clients read in different ways.
        let joined = before_name && self == Notation::Double && text.ends_with('{');
        found.or_else(|| joined.then(|| text.len() - 1))
    }
}

/// Offset of a `{name}` in a text. A client with a variable of that name would replace it.
fn named(text: &str) -> Option<usize> {
    text.match_indices('{').map(|(at, _)| at).find(|at| {
        let inside = text[at + 1..].split_once('}').map(|(inside, _)| inside);
        inside.is_some_and(crate::placeholder::is_plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling(notation: Notation) -> FilledPlaceholders {
        FilledPlaceholders::new(&["a".to_owned(), "b".to_owned()], notation)
    }

    #[test]
    fn names_go_where_the_marks_are() {
        let filling = filling(Notation::Double);
        let [a, b] = [filling.mark(0), filling.mark(1)];
        for (text, expected) in [
            (format!("{a}{b}"), Some("{{a}}{{b}}")),
            (format!("x {a}}} y"), Some("x {{a}}} y")),
            ("plain { } }}".to_owned(), Some("plain { } }}")),
            (format!("{{{a}"), None),
            (format!("{a} {{{{b}}}}"), None),
            (a.replace('<', "&lt;"), None),
            (a.replace(';', ""), None),
        ] {
            let written = filling.write("id", &text).ok();
            assert_eq!(written.as_deref(), expected, "{text}");
        }
        for (text, fits) in [
            (format!("a {a} b"), true),
            (format!("{a} b"), false),
            (format!("b\n{a}\n"), false),
        ] {
            assert_eq!(filling.inside("id", &text).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn single_braces_are_told_from_json() {
        let filling = filling(Notation::Single);
        let a = filling.mark(0);
        for (text, expected) in [
            (format!("{{\"x\": {a}}}"), Some("{\"x\": {a}}")),
            (format!("{{ }} {a}"), Some("{ } {a}")),
            (format!("{{{a}}}"), Some("{{a}}")),
            (format!("{{b}} {a}"), None),
            (format!("{{{{b}}}} {a}"), None),
        ] {
            let written = filling.write("id", &text).ok();
            assert_eq!(written.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_refusal_says_where() {
        let filling = filling(Notation::Double);
        let text = format!("{}\nuse {{{{this}}}}", filling.mark(0));
        let refused = filling.write("greet", &text).unwrap_err();
        let place = refused.position.map(|at| (at.line, at.column));
        assert_eq!(place, Some((2, 5)), "{refused}");
    }
}
