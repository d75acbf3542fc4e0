//! Properties of the parser for arbitrary text.

use proptest::prelude::*;
use quillet_core::Span;
use quillet_script::reader::ParsedScript;
use quillet_script::syntax::{CallExpr, InstructionBlock, ItemKind, ScriptText};

use crate::reader::read_text;

/// Generates texts from the elements of scripts, so that many are almost valid.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    let parts = [
        "user",
        "system: ",
        "user[@a]",
        "：",
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\n    ",
        "\r\n",
        "---\n",
        "***!",
        " # c",
        "# c\n",
        "\"",
        "'",
        "[[",
        "]]",
        "{{",
        "}}",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "（",
        "）",
        ", ",
        "$if: x",
        "$for: 3",
        "$match(x):",
        "then:",
        "do:",
        "else: ",
        ":/re/: ",
        "_ : ",
        "$a",
        "$|b",
        "-> ",
        "|-\n",
        "|",
        ">",
        "!fn ",
        "!fn# |-\n  ",
        "[python] ",
        "f(x) {}",
        "?=",
        "=",
        "é",
        "你",
        "\t",
        "\\",
        "&a ",
        "*a",
        "<<: ",
        "role: ",
        "content: ",
        "$tool",
        "null",
        "\u{feff}",
        "\0",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..50)
        .prop_map(|parts| parts.concat())
}

fn spans(read: &ParsedScript) -> Vec<Span> {
    let mut spans = vec![read.script.config.span];
    spans.extend(read.diagnostics.iter().filter_map(|found| found.span));
    for function in &read.script.functions {
        spans.extend([function.span, function.code.span]);
    }
    block(&read.script.body, &mut spans);
    spans
}

fn block(block: &InstructionBlock, out: &mut Vec<Span>) {
    for item in &block.items {
        out.push(item.span);
        match &item.kind {
            ItemKind::Message(message) => {
                out.push(message.content.span);
                let texts: [&Option<ScriptText>; 2] = [&message.role, &message.to];
                out.extend(texts.into_iter().flatten().map(|text| text.span));
            }
            ItemKind::Separator { .. } => {}
            ItemKind::Call(made) => call(made, out),
            ItemKind::Chain(links) => links.iter().for_each(|link| call(link, out)),
            ItemKind::Expression(text) => out.push(text.span),
            ItemKind::Block(inner) => self::block(inner, out),
        }
    }
}

fn call(call: &CallExpr, out: &mut Vec<Span>) {
    out.extend([call.span, call.name.span]);
    out.extend(call.arguments.as_ref().map(|text| text.span));
    for branch in &call.branches {
        out.push(branch.key.span);
        block(&branch.block, out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn reading_never_panics_and_every_span_lies_in_the_file(text in texts()) {
        let read = read_text(&text);
        for span in spans(&read) {
            prop_assert!(text.get(span.start..span.end).is_some(), "{span:?} in {text:?}");
        }
    }

    #[test]
    fn line_ends_of_windows_change_nothing_but_places(text in texts()) {
        let unix = text.replace('\r', "");
        let windows = unix.replace('\n', "\r\n");
        let (unix, windows) = (read_text(&unix), read_text(&windows));
        prop_assert_eq!(unix.diagnostics.len(), windows.diagnostics.len());
        prop_assert_eq!(crate::reader::show(&unix.script.body), crate::reader::show(&windows.script.body));
    }
}
