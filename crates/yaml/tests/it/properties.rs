//! Property tests for arbitrary texts.

use proptest::prelude::*;
use quillet_core::Span;
use quillet_yaml::{Node, NodeData, Options, Tags, parse};

/// Generates texts from YAML fragments, so that many of them are almost valid documents.
fn texts() -> impl Strategy<Value = String> {
    let parts = [
        "a", "é", "：", ": ", ":", "- ", "-", "\n", "\n  ", "\r\n", "  ", "\t", "#", " # c", "'",
        "\"", "\\", "[", "]", "{", "}", ",", "&a ", "*a", "<<: ", "!fn ", "!fn# ", "!!int ", "|",
        "|-\n", ">", "? ", "---\n", "...", "@", "`", "%", "1", "null", "\u{feff}", "\0",
        "\u{2028}",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..40)
        .prop_map(|parts| parts.concat())
}

fn inside(node: &Node, file: &str) {
    assert!(
        file.get(node.span.start..node.span.end).is_some(),
        "{:?} in {file:?}",
        node.span
    );
    match &node.data {
        NodeData::Scalar(_) => {}
        NodeData::List(items) => items.iter().for_each(|item| inside(item, file)),
        NodeData::Map(entries) => {
            for entry in entries {
                inside(&entry.key, file);
                inside(&entry.value, file);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reading_never_panics_and_spans_lie_in_the_file(text in texts(), before in "[a-zé\n]{0,5}") {
        let file = format!("{before}{text}");
        let options = Options { tags: Tags::Keep, ..Options::default() };
        let part = Span { start: before.len(), end: file.len() };
        let (node, findings) = parse("t", &file, part, &options);
        if let Some(node) = node {
            inside(&node, &file);
        }
        for finding in findings {
            let span = finding.span.expect("a place");
            assert!(file.get(span.start..span.end).is_some(), "{span:?} in {file:?}: {finding}");
        }
    }
}
