//! Round trips of random trees. Each tree is written in a format, must be equal when read again,
//! and must print its expected meaning. The second check compares all engines with each other.

use proptest::prelude::*;
use quillet_template::convert::{ConvertOptions, Language};

use super::trees::{DATA, Wanted, meaning, nameless, shapes, tree as any_tree};
use super::{object, printed, tree, written};

/// Formats that have conditions and loops.
const WITH_BLOCKS: [Language; 7] = [
    Language::Go,
    Language::Jinja,
    Language::JinjaPlain,
    Language::Handlebars,
    Language::Mustache,
    Language::Dotprompt,
    Language::Liquid,
];

fn options() -> ConvertOptions {
    ConvertOptions {
        shapes: shapes(),
        ..ConvertOptions::default()
    }
}

/// Whether a format may reject a tree for this reason, because its language lacks the feature.
fn may_refuse(language: Language, why: &str) -> bool {
    let reasons: &[&str] = match language {
        Language::Mustache => &[
            "mustache drops the blanks of a line",
            "mustache cannot refer to this item here",
            "mustache resolves",
            "mustache has no comparisons",
            "mustache has no index",
            "mustache counts",
            "mustache cannot test",
        ],
        Language::Go => &["go counts", "go cannot test whether an item is the last"],
        Language::Jinja | Language::JinjaPlain => &["jinja exposes only the innermost loop"],
        Language::Handlebars => &["handlebars counts", "handlebars has no comparisons"],
        Language::Dotprompt => &["handlebars counts"],
        Language::Liquid => &["a string in liquid cannot contain"],
        Language::SemanticKernel | Language::FString => &[],
    };
    reasons.iter().any(|reason| why.contains(reason))
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
    fn trees_with_blocks(nodes in any_tree(Wanted { blocks: true, knows: false, braces: true })) {
        check(&WITH_BLOCKS, &nodes);
    }

    #[test]
    fn trees_with_what_loops_know(
        nodes in any_tree(Wanted { blocks: true, knows: true, braces: true })
    ) {
        check(&WITH_BLOCKS, &nodes);
    }

    #[test]
    fn trees_without_blocks(nodes in any_tree(Wanted { blocks: false, knows: false, braces: true })) {
        check(&Language::ALL, &nodes);
    }
}
