//! Random trees, written in a format, say the same when they are read again,
//! and print what they mean. The second compares all engines with each other.

use proptest::prelude::*;
use quillet_template::convert::{ConvertOptions, Language};

use super::trees::{DATA, Wanted, meaning, nameless, shapes, tree as any_tree};
use super::{object, printed, tree, written};

/// Formats that have text and variables at least.
const ALL: [Language; 5] = [
    Language::Go,
    Language::Jinja,
    Language::JinjaPlain,
    Language::SemanticKernel,
    Language::FString,
];

/// Formats that have conditions and loops.
const WITH_BLOCKS: [Language; 3] = [Language::Go, Language::Jinja, Language::JinjaPlain];

fn options() -> ConvertOptions {
    ConvertOptions {
        shapes: shapes(),
        ..ConvertOptions::default()
    }
}

/// What a format may refuse, since it has no way to say it.
fn may_refuse(_: Language, _: &str) -> bool {
    false
}

fn check(languages: &[Language], nodes: &quillet_template::convert::Nodes) {
    let options = options();
    let data = object(DATA);
    let meant = meaning(nodes, &data);
    for language in languages.iter().copied() {
        let name = language.name();
        let text = match written(language, nodes, &options.shapes) {
            Ok(text) => text,
            Err(why) => {
                assert!(may_refuse(language, &why), "{name}: {why}");
                continue;
            }
        };
        assert_eq!(
            printed(language, &text, &data),
            Ok(meant.clone()),
            "{name}: {text:?}"
        );
        let read = tree(language, &text, &options).map(nameless);
        assert_eq!(read.as_ref(), Ok(nodes), "{name}: {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn trees_with_blocks(nodes in any_tree(Wanted { blocks: true, braces: true })) {
        check(&WITH_BLOCKS, &nodes);
    }

    #[test]
    fn trees_without_blocks(nodes in any_tree(Wanted { blocks: false, braces: true })) {
        check(&ALL, &nodes);
    }
}
