//! Syntax tokens and completion items for editors.

use quillet_core::TokenKind;

use super::lexer::{self, Lexer, SourcePartKind, Tag};
use super::token::{Kind, Token, is_space, known};
use crate::editor::{CompletionItem, CompletionList, CompletionSpot, ExternalNames, TokenScan};

/// Tags that open a block, and the tags that end one.
const TAGS: &[&str] = &[
    "if",
    "elsif",
    "else",
    "endif",
    "unless",
    "endunless",
    "case",
    "when",
    "endcase",
    "for",
    "endfor",
    "break",
    "continue",
    "tablerow",
    "endtablerow",
    "assign",
    "capture",
    "endcapture",
    "increment",
    "decrement",
    "cycle",
    "echo",
    "include",
    "render",
    "liquid",
    "comment",
    "endcomment",
    "raw",
    "endraw",
    "ifchanged",
    "endifchanged",
];

const VALUES: &[&str] = &["true", "false", "nil", "empty", "blank"];

/// Returns the tokens of a text. An unclosed tag extends to the next tag.
pub(super) fn scan(text: &str) -> TokenScan {
    let mut lexer = Lexer::new(text);
    let mut reader = Reader {
        scan: TokenScan::default(),
        comments: 0,
    };
    let mut is_raw = false;
    // Liquid treats the text after an unclosed opening as plain text.
    let mut is_open = false;
    while let Some(piece) = lexer.next() {
        let (start, end) = (piece.place.start, piece.place.end);
        let content = text.get(start..end).unwrap_or_default();
        if is_raw {
            if let Some((before, _)) = lexer::end_of_raw(content) {
                is_raw = false;
                reader.tag(text, start + before, end);
            }
            continue;
        }
        match piece.kind {
            SourcePartKind::Text if is_open => {
                let markup = content.trim_start_matches('-');
                let at = end - markup.len();
                reader.unclosed(text, at, end);
            }
            SourcePartKind::Text => reader.text(start, end),
            SourcePartKind::Output | SourcePartKind::Open if reader.comments > 0 => {
                reader.text(start, end)
            }
            SourcePartKind::Output => reader.output(content, start),
            SourcePartKind::Tag => is_raw = reader.tag(text, start, end) == Some("raw"),
            SourcePartKind::Open => {
                let signed = text.get(end..).is_some_and(|rest| rest.starts_with('-'));
                reader.scan.begin(start, end + usize::from(signed));
            }
        }
        is_open = piece.kind == SourcePartKind::Open && reader.comments == 0;
    }
    reader.scan
}

struct Reader {
    scan: TokenScan,
    /// Number of open comment tags.
    comments: usize,
}

impl Reader {
    fn text(&mut self, start: usize, end: usize) {
        if self.comments > 0 {
            self.scan.add(start, end, TokenKind::Comment);
        } else {
            self.scan.open = None;
        }
    }

    fn output(&mut self, piece: &str, start: usize) {
        let end = start + piece.len();
        let inside = piece.get(2..).unwrap_or_default();
        let inside = inside
            .strip_suffix("}}")
            .or(inside.strip_suffix('}'))
            .unwrap_or(inside);
        let bare = inside.strip_prefix('-').unwrap_or(inside);
        let from = start + 2 + inside.len() - bare.len();
        let markup = bare.strip_suffix('-').unwrap_or(bare);
        self.scan.begin(start, from);
        self.markup("", markup, from);
        self.scan.end(from + markup.len(), end);
    }

    /// Adds a complete tag. Returns its name.
    fn tag<'t>(&mut self, text: &'t str, start: usize, end: usize) -> Option<&'t str> {
        let tag = lexer::tag(text, &(start..end)).ok();
        let name = tag.map_or("", |tag| tag.name);
        if self.comments > 0 && !matches!(name, "comment" | "endcomment") {
            self.scan.add(start, end, TokenKind::Comment);
            return tag.map(|tag| tag.name);
        }
        let signed = |at: usize| usize::from(text.as_bytes().get(at) == Some(&b'-'));
        let opened = start + 2 + signed(start + 2);
        let closing = end - 2 - signed(end - 3);
        if name == "#" {
            self.scan.add(start, end, TokenKind::Comment);
            return tag.map(|tag| tag.name);
        }
        self.scan.begin(start, opened);
        if let Some(tag) = tag {
            self.named(text, &tag);
        }
        self.scan.end(closing.max(opened), end);
        tag.map(|tag| tag.name)
    }

    /// Adds the tokens inside a tag.
    fn named(&mut self, text: &str, tag: &Tag<'_>) {
        let Some(name) = tag_name(text, tag) else {
            return;
        };
        if tag.name == "#" {
            self.scan.add(name, tag.end, TokenKind::Comment);
            return;
        }
        match tag.name {
            "comment" => self.comments += 1,
            "endcomment" => self.comments = self.comments.saturating_sub(1),
            _ if self.comments > 0 => {
                self.scan.add(
                    name,
                    tag.at + tag.markup.trim_end_matches(is_space).len(),
                    TokenKind::Comment,
                );
                return;
            }
            _ => {}
        }
        self.scan
            .add(name, name + tag.name.len(), TokenKind::Keyword);
        if tag.name == "liquid" {
            self.lines(text, tag.at, tag.at + tag.markup.len());
        } else {
            self.markup(tag.name, tag.markup, tag.at);
        }
    }

    /// Adds the lines of a `liquid` tag. Each line is a tag.
    fn lines(&mut self, text: &str, start: usize, end: usize) {
        let outer = self.comments;
        let mut at = start;
        for line in text.get(start..end).unwrap_or_default().split('\n') {
            if let Some(tag) = lexer::line(text, &(at..at + line.len())) {
                self.named(text, &tag);
            }
            at += line.len() + 1;
        }
        // Liquid rejects a comment that is open at the end of the tag, so it ends here.
        self.comments = outer;
    }

    /// Adds an unclosed tag or output, which extends to the next one.
    fn unclosed(&mut self, text: &str, at: usize, end: usize) {
        let rest = text.get(at..end).unwrap_or_default();
        let opening = self.scan.tokens.last().map(|token| token.span.start);
        let is_tag = opening
            .is_some_and(|start| text.get(start..).is_some_and(|rest| rest.starts_with("{%")));
        let is_quoted = |quote: char| rest.matches(quote).count() % 2 == 1;
        if !is_tag {
            self.markup("", rest, at);
        } else if let Some(tag) = lexer::line(text, &(at..end)) {
            self.named(text, &tag);
            if tag.name == "#" || tag.name == "raw" {
                self.scan.open = None;
            }
        }
        if is_quoted('"') || is_quoted('\'') {
            self.scan.open = None;
        }
    }

    fn markup(&mut self, tag: &str, markup: &str, at: usize) {
        let tokens = known(markup, at);
        for (index, token) in tokens.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|index| tokens.get(index));
            let after = tokens.get(index + 1);
            self.scan
                .add(token.start, token.end(), kind(tag, token, before, after));
        }
    }
}

/// Returns the offset of a tag's name.
fn tag_name(text: &str, tag: &Tag<'_>) -> Option<usize> {
    let before = text.get(tag.start..tag.at)?;
    Some(tag.start + before.rfind(tag.name)?)
}

fn kind(
    tag: &str,
    token: &Token<'_>,
    before: Option<&Token<'_>>,
    after: Option<&Token<'_>>,
) -> TokenKind {
    let is = |token: Option<&Token<'_>>, sign: &str| token.is_some_and(|token| token.is(sign));
    match token.kind {
        Kind::Text => TokenKind::String,
        Kind::Number => TokenKind::Number,
        Kind::Comparison if token.text == "contains" => TokenKind::Keyword,
        Kind::Comparison | Kind::DotDot | Kind::Sign | Kind::End => TokenKind::Operator,
        Kind::Name if is(before, "|") => TokenKind::Function,
        Kind::Name if is(before, ".") => TokenKind::Property,
        Kind::Name if is(after, ":") && tag != "cycle" => TokenKind::Property,
        Kind::Name if is_keyword(tag, token.text, before) => TokenKind::Keyword,
        Kind::Name => TokenKind::Variable,
    }
}

fn is_keyword(tag: &str, word: &str, before: Option<&Token<'_>>) -> bool {
    match word {
        "true" | "false" | "nil" | "null" | "empty" | "blank" => true,
        "and" | "or" => matches!(tag, "if" | "unless" | "elsif" | "when") && before.is_some(),
        "in" => matches!(tag, "for" | "tablerow") && before.is_some(),
        "reversed" => tag == "for" && before.is_some_and(|before| before.text != "in"),
        "continue" => tag == "for" && before.is_some_and(|before| before.is(":")),
        "with" | "for" | "as" => matches!(tag, "include" | "render") && before.is_some(),
        _ => false,
    }
}

/// Returns the completion items at a byte offset. `filters` are the format's own filters.
pub(super) fn completions(
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    filters: &[&str],
) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, scan) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    let is_tag = spot.opening().starts_with("{%");
    let tag = if is_tag { spot.head() } else { "" };
    match spot.before() {
        None if is_tag => list.keywords("tag", TAGS),
        Some((TokenKind::Operator, "|")) => list.functions(names, filters, "filter"),
        Some((TokenKind::Operator, ".")) => {}
        // After these keywords, the author chooses a new name, or nothing can follow.
        Some((
            TokenKind::Keyword,
            "assign" | "capture" | "increment" | "decrement" | "for" | "tablerow" | "break"
            | "continue" | "else" | "raw" | "comment" | "ifchanged",
        )) => {}
        Some((TokenKind::Keyword, word)) if word.starts_with("end") => {}
        Some((TokenKind::Variable, _)) if matches!(tag, "for" | "tablerow") && !spot.has("in") => {
            list.keywords("", &["in"]);
        }
        Some(_) if spot.is_after_value() => match tag {
            "if" | "unless" | "elsif" => list.keywords("operator", &["and", "or", "contains"]),
            "for" => list.keywords("", &["reversed"]),
            "include" | "render" => list.keywords("", &["with", "for", "as"]),
            "when" => list.keywords("operator", &["or"]),
            _ => {}
        },
        _ => {
            list.variables(names);
            list.keywords("value", VALUES);
        }
    }
    list.done()
}
