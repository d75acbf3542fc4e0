use std::collections::BTreeMap;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};

use super::Markdown;
use crate::chat::sanitize;

/// Output for a text that arrives in chunks of these sizes.
fn shown(text: &str, width: usize, sizes: &[usize]) -> String {
    let mut markdown = Markdown::new(width);
    let mut out = String::new();
    let mut sizes = sizes.iter().copied().cycle();
    let mut rest = text;
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).max(1);
        let end = rest.char_indices().nth(size).map_or(rest.len(), |it| it.0);
        out.push_str(&markdown.push(&rest[..end]));
        rest = &rest[end..];
    }
    out.push_str(&markdown.end());
    out
}

/// Removes style sequences.
fn plain(shown: &str) -> String {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find("\u{1b}[") {
        text.push_str(&rest[..at]);
        rest = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest
            .strip_prefix('m')
            .expect("a sequence sets the look and nothing else");
    }
    text + rest
}

/// Returns the visible characters of a text after Markdown parsing.
fn visible(text: &str) -> Vec<char> {
    let source = sanitize(text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    let mut seen = String::new();
    for event in Parser::new_ext(&source, options) {
        match event {
            Event::InlineHtml(html) if html.to_lowercase().starts_with("<br") => {}
            Event::Text(text)
            | Event::Code(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::Html(text)
            | Event::InlineHtml(text) => seen.push_str(&text),
            _ => {}
        }
    }
    let seen = sanitize(&seen).into_owned();
    seen.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Returns the first character that is missing or out of order.
fn missing(wanted: &[char], text: &str) -> Option<usize> {
    let mut chars = text.chars();
    wanted
        .iter()
        .position(|wanted| !chars.any(|c| c == *wanted))
}

fn counted(chars: impl Iterator<Item = char>) -> BTreeMap<char, usize> {
    let mut counts = BTreeMap::new();
    for c in chars {
        *counts.entry(c).or_default() += 1;
    }
    counts
}

fn check(text: &str, width: usize, sizes: &[usize]) {
    let whole = shown(text, width, &[usize::MAX]);
    assert_eq!(
        shown(text, width, sizes),
        whole,
        "in pieces of {sizes:?}: {text:?}"
    );
    let obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    let said = plain(&whole);
    assert!(!said.contains(obeyed), "{text:?} is shown as {whole:?}");
    // Wrapped cells are next to each other, so the order is checked only for single-line cells.
    let wanted = visible(text);
    let wide = plain(&shown(text, 100_000, sizes));
    let missing = missing(&wanted, &wide).filter(|_| !text.contains("<br"));
    if let Some(place) = missing {
        let from: String = wanted[place..].iter().take(20).collect();
        panic!("{from:?} of {text:?} is not in {wide:?}");
    }
    let there = counted(said.chars());
    for (c, count) in counted(wanted.into_iter()) {
        let is_there = there.get(&c).copied().unwrap_or(0) >= count;
        assert!(is_there, "{c:?} of {text:?} is missing in {said:?}");
    }
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "*", "**", "_", "`", "``", "```", "~~~", "~", "[", "]", "(", ")", "!", "<", ">", "#", "##", "-", "+", "1.",
            "2)", "|", "---", "===", ":--", "$", "$$", "\\", "&", ";", ":", "=", "<b>", "<br>", "<!--", "-->", "<div>",
            "&amp;", "&#27;", "&#10;", "[ ]", "[x]", "](u)", "[a]: b", "| a | b |\n|---|---|\n", "'", "\"", "\u{1b}[31m", "\u{9b}", "\r\n", "\r", "\0",
        ]).prop_map(str::to_owned),
        6 => prop::sample::select(vec![" ", "\n", "\n\n", "  ", "    ", "\t", "\n- ", "\n> ", "\n   ", "\n1. ", "\n```\n"]).prop_map(str::to_owned),
        8 => prop::sample::select(vec!["a", "foo", "word", "x1", "9", "中文", "，", "（", "🎉", "👨‍👩‍👧", "é", "e\u{301}", "http://a.b", "\u{202e}", "longer-word-than-others", "\u{3000}", "\u{a0}"]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// For any text in any chunks, the output is the same and complete, and contains no control
    /// sequence of the model.
    #[test]
    fn every_character_is_shown_however_the_text_comes(
        text in texts(),
        width in 10_usize..90,
        sizes in prop::collection::vec(1_usize..12, 1..6),
    ) {
        check(&text, width, &sizes);
    }
}
