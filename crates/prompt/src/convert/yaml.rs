//! Writes readable YAML: block style, and quotes only around texts that YAML would otherwise read
//! as something else.

use serde_json::{Map as Object, Value as Tree};

/// Words that some YAML parsers read as booleans or null.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// Writes an object in block style, starting each entry on a new line.
pub(super) fn write(object: &Object<String, Tree>) -> String {
    let mut out = String::new();
    map(object, 0, &mut out);
    out
}

/// Writes the entries. The indentation of the first one is already written.
fn map(object: &Object<String, Tree>, indent: usize, out: &mut String) {
    for (at, (key, value)) in object.iter().enumerate() {
        if at > 0 {
            out.push_str(&blanks(indent));
        }
        out.push_str(&scalar(key));
        out.push(':');
        under(value, indent, out);
    }
}

/// Writes the value after a key.
fn under(value: &Tree, indent: usize, out: &mut String) {
    let deeper = indent + 2;
    match value {
        Tree::Object(object) if !object.is_empty() => {
            out.push('\n');
            out.push_str(&blanks(deeper));
            map(object, deeper, out);
        }
        Tree::Array(items) if !items.is_empty() => {
            out.push('\n');
            list(items, deeper, out);
        }
        Tree::String(text) if text.contains('\n') => {
            out.push(' ');
            out.push_str(&block(text, deeper));
        }
        single => {
            out.push(' ');
            out.push_str(&flow(single));
            out.push('\n');
        }
    }
}

fn list(items: &[Tree], indent: usize, out: &mut String) {
    for item in items {
        out.push_str(&blanks(indent));
        out.push_str("- ");
        match item {
            Tree::Object(object) if !object.is_empty() => map(object, indent + 2, out),
            single => {
                out.push_str(&flow(single));
                out.push('\n');
            }
        }
    }
}

/// Writes a value on one line as JSON, which is valid YAML.
fn flow(value: &Tree) -> String {
    match value {
        Tree::String(text) => scalar(text),
        other => printable(&other.to_string()),
    }
}

/// Writes a text on one line, quoted if necessary.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// Whether a text needs no quotes. This is stricter than YAML.
fn is_plain(text: &str) -> bool {
    // A leading digit or sign could start a number or a date.
    let begins = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let kept = |c: char| c.is_alphanumeric() || " _-./,:()'?!+@;=$".contains(c);
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    begins
        && text.chars().all(kept)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !is_word
}

fn quoted(text: &str) -> String {
    printable(&Tree::from(text).to_string())
}

/// Escapes all characters in JSON that YAML does not allow. They occur in strings only.
fn printable(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            out.push_str(&format!("\\u{:04x}", u32::from(c)))
        } else {
            out.push(c)
        }
    }
    out
}

/// Writes a text as a literal block with this indentation, or quoted if a block cannot hold it. The
/// output ends with a line break.
pub(super) fn block(text: &str, indent: usize) -> String {
    let fits = |c: char| c == '\n' || !(c.is_control() || c == '\u{feff}');
    // A block cannot hold only white space, nor control characters.
    if text.trim().is_empty() || !text.chars().all(fits) {
        return format!("{}\n", quoted(text));
    }
    // If the text begins with white space, the indentation must be given explicitly.
    let counted = text.starts_with([' ', '\n']);
    let chomp = match text.len() - text.trim_end_matches('\n').len() {
        // Without an indicator, a YAML block ends with exactly one line break.
        0 => "-",
        1 => "",
        _ => "+",
    };
    let mut out = format!("|{}{chomp}\n", if counted { "2" } else { "" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        // Empty lines need no indentation, so no trailing white space is written.
        if !line.is_empty() {
            out.push_str(&blanks(indent));
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

fn blanks(indent: usize) -> String {
    " ".repeat(indent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn as_people_write_it() {
        let tree = json!({
            "name": "greet", "on": "yes", "version": "1.0", "note": "a: b", "model": {"id": "gpt-4o", "top": 2},
            "inputs": [{"name": "a", "enum": ["x", ""], "more": {}}, "b"], "text": "one\n two\n", "lead": "\n x",
        });
        let expected = "name: greet\n\"on\": \"yes\"\nversion: \"1.0\"\nnote: \"a: b\"\nmodel:\n  id: gpt-4o\n  top: 2\n\
            inputs:\n  - name: a\n    enum:\n      - x\n      - \"\"\n    more: {}\n  - b\ntext: |\n  one\n   two\nlead: |2-\n\n   x\n";
        let Tree::Object(object) = tree else {
            unreachable!("it is an object");
        };
        assert_eq!(write(&object), expected);
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let text = prop_oneof![
            proptest::sample::select(
                &[
                    "a", "no", "~", "1", "-", "- a", "a #b", "#", "a:", " a", "a ", "\n", " \nb",
                    "a\n\n", "é", "|", "\t"
                ][..]
            )
            .prop_map(str::to_owned),
            "[ -~\n]{0,12}",
            any::<String>(),
        ];
        let leaf = prop_oneof![
            text.clone().prop_map(Tree::from),
            any::<i32>().prop_map(Tree::from),
            any::<bool>().prop_map(Tree::from),
            Just(Tree::Null)
        ];
        leaf.prop_recursive(3, 16, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Tree::from),
                proptest::collection::vec((text.clone(), inner), 0..3)
                    .prop_map(|entries| Tree::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_reads_back(value in tree()) {
            let object: Object<String, Tree> = [("a".to_owned(), value)].into_iter().collect();
            let text = write(&object);
            let range = quillet_core::Span { start: 0, end: text.len() };
            let read = crate::file::yaml::parse("yaml", &text, range).map(|node| node.tree());
            prop_assert_eq!(read, Ok(Tree::Object(object)), "{}", text);
        }
    }
}
