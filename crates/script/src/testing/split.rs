//! Text operations on a fixture: splits off its front matter, finds its scripts, and inserts
//! expectations.

use quillet_core::{Span, Value};

use super::fixture::{Fixture, TestCase};
use crate::reader;

const ENDINGS: [&str; 2] = [".fixture.yaml", ".fixture.yml"];

/// Splits a text into front matter (if any) and body, as in scripts.
pub(super) fn split(text: &str) -> (Option<Span>, Span) {
    let front = reader::split(text).front;
    let mark = front.map_or(0, |front| front.end);
    let rest = text.get(mark..).unwrap_or_default();
    let start = match front.and(rest.find('\n')) {
        Some(line) => mark + line + 1,
        None if front.is_some() => text.len(),
        None => 0,
    };
    let end = text.len();
    (front, Span { start, end })
}

/// Selects the scripts that belong to a fixture from a list of file names, and sorts them. The
/// scripts `name.ai.yaml` and `name.VARIANT.ai.yaml` belong to `name.fixture.yaml`. Returns `None`
/// if the file name is not a fixture's name.
#[must_use]
pub fn script_names<'a>(
    fixture: &str,
    files: impl IntoIterator<Item = &'a str>,
) -> Option<Vec<&'a str>> {
    let ending = ENDINGS
        .iter()
        .find_map(|ending| fixture.strip_suffix(ending));
    let name = ending.filter(|name| !name.is_empty())?;
    let belongs = |file: &&str| {
        let file = file
            .strip_suffix(".ai.yaml")
            .or(file.strip_suffix(".ai.yml"));
        file.and_then(|file| file.strip_prefix(name))
            // The name must end at a dot: `ab.ai.yaml` does not belong to `a.fixture.yaml`.
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut scripts: Vec<&str> = files.into_iter().filter(belongs).collect();
    // The order of files in a folder is arbitrary, but reports should have a fixed order.
    scripts.sort_unstable();
    Some(scripts)
}

/// Returns the text of a fixture, in which tests without an expected output get the given outputs.
/// Outputs are written as JSON, which is valid YAML.
#[must_use]
pub fn appended(fixture: &Fixture, outputs: &[(usize, Value)]) -> String {
    let mut text = fixture.source.text.to_string();
    // The cases are edited in reverse order, so that earlier offsets stay valid.
    for case in fixture.cases.iter().rev() {
        let output = outputs.iter().find(|(number, _)| *number == case.number);
        if let Some((_, output)) = output {
            insert(&mut text, case, output);
        }
    }
    text
}

fn insert(text: &mut String, case: &TestCase, output: &Value) {
    let start = case.span.start.min(text.len());
    let line = text.get(..start).unwrap_or_default();
    let line = line.rfind('\n').map_or(0, |newline| newline + 1);
    let indent = text
        .get(line..start)
        .map_or(0, |before| before.chars().count());
    let body = text.get(..case.span.end).unwrap_or(text).trim_end().len();
    // The last value may be followed by a comment.
    let rest = text.get(body..).unwrap_or_default();
    let end = body + rest.find('\n').unwrap_or(rest.len());
    let output = quillet_core::json::to_string(output);
    text.insert_str(end, &format!("\n{}output: {output}", " ".repeat(indent)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_ends_at_the_next_mark() {
        let cases = [
            ("- a", None, "- a"),
            ("---\na: 1\n---\n- b", Some("a: 1\n"), "- b"),
            ("---\na: 1\n---", Some("a: 1\n"), ""),
            ("# c\n\n---\n---\n- b", Some(""), "- b"),
            ("---\n- b", None, "---\n- b"),
            ("", None, ""),
            ("---", None, "---"),
        ];
        for (text, front, body) in cases {
            let (found, rest) = split(text);
            let part = |span: Span| &text[span.start..span.end];
            assert_eq!(found.map(part), front, "{text:?}");
            assert_eq!(part(rest), body, "{text:?}");
        }
    }

    #[test]
    fn scripts_of_a_fixture_have_its_name() {
        let files = [
            "a.ai.yaml",
            "a.b.ai.yaml",
            "ab.ai.yaml",
            "a.yaml",
            "a.ai.yml",
        ];
        let found = script_names("a.fixture.yaml", files);
        assert_eq!(found.unwrap(), ["a.ai.yaml", "a.ai.yml", "a.b.ai.yaml"]);
        assert_eq!(script_names("a.yaml", files), None);
        assert_eq!(script_names(".fixture.yaml", files), None);
    }
}
