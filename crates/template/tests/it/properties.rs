//! Checks that compiling and rendering any template ends with a text or an error, and that the
//! output stays within the limits.

use std::sync::LazyLock;

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use quillet_core::{Map, json};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    CompileOptions, CompiledTemplate, NoFunctions, Render, RenderLimits, TemplateFormat,
    TemplateSource, render,
};

/// Fragments of templates.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{- ",
    " -}}",
    "{{/*",
    "*/}}",
    "{{end}}",
    "{{else}}",
    "{{if .b}}",
    "{{range .l}}",
    "{{range $i, $e := .m}}",
    "{{with .s}}",
    "{{define \"a\"}}",
    "{{template \"a\" .}}",
    "{{block \"c\" .}}",
    "{{break}}",
    "{{continue}}",
    "(",
    ")",
    "|",
    ".",
    ".s",
    ".m.a",
    "$",
    "$x",
    ":=",
    "=",
    ",",
    "\"text\"",
    "`raw`",
    "\"",
    "`",
    "'c'",
    "'",
    "1",
    "-2",
    "0x1p-2",
    "1e400",
    "1i",
    "nil",
    "true",
    "printf",
    "\"%d %[2]*.[1]*f\"",
    "index",
    "slice",
    "len",
    "call",
    "and",
    "or",
    "not",
    "eq",
    "lt",
    "html",
    "js",
    "urlquery",
    " ",
    "\n",
    "\t",
    "text",
    "é世😀",
    "\u{a0}",
    "\0",
    "\\",
    "#",
    "*/",
];

static DATA: LazyLock<Map> = LazyLock::new(|| {
    let text = r#"{"b":true,"s":"text","n":3,"l":[1,"x",[2]],"m":{"a":1,"b":null}}"#;
    let data = json::parse(text).expect("the data is JSON");
    data.as_map().cloned().expect("the data is an object")
});

/// Templates of the published vectors.
static TEMPLATES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = include_str!("../../../../conformance/go-template.json");
    let file: serde_json::Value = serde_json::from_str(text).expect("the vectors are JSON");
    let vectors = file["vectors"].as_array().into_iter().flatten();
    let first =
        |vector: &serde_json::Value| vector["templates"][0]["text"].as_str().map(str::to_owned);
    vectors.filter_map(first).collect()
});

/// Compiles and renders a text, which must return without a panic.
fn survive(text: &str) {
    let sources = [TemplateSource::new("t", text)];
    let Ok(template) = GoFormat::new().compile(&sources, &CompileOptions::default()) else {
        return;
    };
    let limits = RenderLimits {
        output_bytes: 1000,
        memory_bytes: 10_000,
        steps: 10_000,
        ..RenderLimits::default()
    };
    let rendered = render(&Render {
        template: template.as_ref() as &dyn CompiledTemplate,
        entries: &["t"],
        variables: &DATA,
        functions: &NoFunctions,
        limits: &limits,
    })
    .now_or_never();
    if let Some(Ok(rendered)) = rendered {
        assert!(rendered.text(0).len() <= limits.output_bytes);
    }
}

/// Inserts a fragment into a template, or replaces some bytes by it.
fn change(text: &mut String, at: Index, length: usize, piece: &str) {
    let boundary = |at: usize| {
        let mut places = at..text.len();
        places
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(text.len())
    };
    let from = boundary(at.index(text.len() + 1));
    let to = boundary((from + length).min(text.len()));
    text.replace_range(from..to, piece);
}

proptest! {
    #[test]
    fn any_text(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn any_text_in_an_action(text in "[ -~\n\t]{0,60}") {
        survive(&format!("{{{{{text}}}}}"));
    }

    #[test]
    fn pieces_in_any_order(pieces in vec(select(PIECES), 0..50)) {
        survive(&pieces.concat());
        survive(&pieces.join(" "));
    }

    #[test]
    fn templates_with_changes(
        template in any::<Index>(),
        changes in vec((any::<Index>(), 0..6_usize, select(PIECES)), 1..5),
    ) {
        let mut text = template.get(&TEMPLATES).clone();
        for (at, length, piece) in changes {
            change(&mut text, at, length, piece);
        }
        survive(&text);
    }
}
