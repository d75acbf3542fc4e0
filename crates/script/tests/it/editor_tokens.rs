//! Semantic tokens of scripts.

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use quillet_core::{SemanticToken, TokenKind};
use quillet_script::editor::{ScriptDocument, tokens};
use quillet_script::syntax::ScriptSource;

fn read(text: &str) -> Vec<SemanticToken> {
    let name = "a.ai.yaml".to_owned();
    let source = ScriptSource {
        name,
        path: None,
        text: text.into(),
    };
    let found = tokens(&ScriptDocument::new(Arc::new(source)));
    let mut end = 0;
    for token in &found {
        let span = token.span;
        assert!(
            span.start >= end && span.start < span.end,
            "{token:?} in {text:?}"
        );
        assert!(
            text.get(span.start..span.end).is_some(),
            "{token:?} in {text:?}"
        );
        end = span.end;
    }
    found
}

/// Lists the tokens except YAML texts: `variable:name`.
fn shown(text: &str) -> String {
    let show = |token: SemanticToken| {
        let written = &text[token.span.start..token.span.end];
        let is_text = token.kind == TokenKind::String;
        (!is_text).then(|| format!("{}:{written}", token.kind.name()))
    };
    read(text)
        .into_iter()
        .filter_map(show)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn each_kind_stands_where_it_is_read() {
    let table = [
        (
            "user: Hi {{ name|upper }} # c\n",
            "role:user delimiter:{{ variable:name operator:| function:upper delimiter:}} comment:# c",
        ),
        (
            "---\nname: x\nprompt:\n  mood: glad\ntemplateFormat: golang\n---\nuser: \"{{ .mood }}\"\n",
            "delimiter:--- property:name property:prompt variable:mood property:templateFormat delimiter:--- role:user delimiter:{{ variable:.mood delimiter:}}",
        ),
        (
            "assistant: \"[[ANSWER:temperature=0.1]]\"\n",
            "role:assistant delimiter:[[ variable:ANSWER delimiter:]]",
        ),
        (
            "$set:\n  count: 1\n$if: count > 1\n  then:\n    - $print: \"?=count\"\n",
            "keyword:$set variable:count number:1 keyword:$if variable:count keyword:$print variable:count",
        ),
        (
            "!fn |-\n  function shout(text) { return text }\nuser: hi\n$shout: x\n",
            "keyword:!fn function:shout role:user function:$shout",
        ),
        (
            "user: |-\n  a {{ x }}\n  {% if y %}b\n  {% endif %}\n",
            "role:user delimiter:{{ variable:x delimiter:}} delimiter:{% keyword:if variable:y delimiter:%} delimiter:{% keyword:endif delimiter:%}",
        ),
        (
            "$match(ANSWER):\n  :/yes/i:\n    - user: \"[[@weather(count)]]\"\n",
            "keyword:$match property:( variable:ANSWER property:) operator::/yes/i role:user delimiter:[[ function:weather variable:count delimiter:]]",
        ),
        (
            "user: {{ x }\n$print: ok\n",
            "property:user property:x keyword:$print",
        ),
        (
            "- \"-> weather(city='x') -> $shout\"\n",
            "function:weather function:$shout",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected, "{text}");
    }
}

/// Returns all scripts of the published samples.
fn samples() -> Vec<String> {
    fn texts(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) if text.contains(':') => found.push(text.clone()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            serde_json::Value::Object(fields) => {
                fields.values().for_each(|field| texts(field, found))
            }
            _ => {}
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/scripts");
    let mut found = Vec::new();
    for file in [
        "SAMPLES.json",
        "seed-samples.json",
        "inventory-scripts.json",
        "inventory-text.json",
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("the file is there");
        texts(
            &serde_json::from_str(&text).expect("it is JSON"),
            &mut found,
        );
    }
    found
}

#[test]
fn published_scripts_have_tokens_that_fit() {
    let samples = samples();
    assert!(samples.len() > 50, "{}", samples.len());
    let kinds: std::collections::BTreeSet<TokenKind> = samples
        .iter()
        .flat_map(|text| read(text))
        .map(|token| token.kind)
        .collect();
    assert_eq!(kinds.len(), TokenKind::ALL.len(), "{kinds:?}");
}

const PIECES: &[&str] = &[
    "user: ",
    "assistant: ",
    "\n",
    "---\n",
    "- ",
    "  ",
    "\"",
    "'",
    "{{",
    "}}",
    "{%",
    "%}",
    "[[",
    "]]",
    "$set:",
    "$if: ",
    "x",
    "y.z",
    "?=",
    "!fn |-\n",
    "|-\n",
    ">\n",
    ": ",
    "#",
    " # c",
    "[",
    "]",
    "{",
    "}",
    "@f(a=1)",
    "-> f",
    "é",
    "😀",
    "\t",
    "\r\n",
    ":/a/i:",
    "\\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_stands_there_has_tokens_that_fit(pieces in vec(select(PIECES), 0..40)) {
        read(&pieces.concat());
    }

    #[test]
    fn scripts_that_were_broken_have_tokens_that_fit(
        at in any::<Index>(),
        pieces in vec(select(PIECES), 0..3),
    ) {
        let text = "---\nname: x\n---\nuser: |\n  Hi {{ name }}\n  é {% if a %}b{% endif %}\n$set: {a: 1}\nassistant: \"[[A]]\"\n";
        let bounds: Vec<usize> = (0..text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        let at = *at.get(&bounds);
        read(&[&text[..at], &pieces.concat(), &text[at..]].concat());
        read(&text[..at]);
    }
}
