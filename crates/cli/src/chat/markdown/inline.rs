//! Renders inline content of paragraphs, headings and cells: words, emphasis, code, links.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::blocks::SPACE;
use super::lines::{LineWrapper, is_space};
use super::style::TextStyle;

/// Renders the source between two offsets and skips events before the first one. Returns the offset
/// up to which everything is shown.
pub(super) fn show(
    lines: &mut LineWrapper,
    events: &[(Event<'_>, Range<usize>)],
    base: TextStyle,
    shown: usize,
    limit: usize,
) -> usize {
    let mut inline = InlineRenderer {
        lines,
        looks: vec![base],
        links: Vec::new(),
        done: shown,
        limit,
    };
    for (event, range) in events {
        if range.start >= limit {
            break;
        }
        inline.event(event, range);
    }
    inline.done
}

struct InlineRenderer<'a> {
    lines: &'a mut LineWrapper,
    looks: Vec<TextStyle>,
    /// Open links: the target and the text of each.
    links: Vec<(String, String)>,
    done: usize,
    limit: usize,
}

impl InlineRenderer<'_> {
    fn event(&mut self, event: &Event<'_>, range: &Range<usize>) {
        let look = self.looks.last().copied().unwrap_or_default();
        match event {
            Event::Start(tag) => self.start(tag, look),
            Event::End(tag) => self.end(*tag, range),
            Event::Text(text) => self.text(text, range, look),
            _ if range.end <= self.done => {}
            Event::Code(text) => {
                let look = TextStyle {
                    colour: TextStyle::CODE.colour,
                    ..look
                };
                self.add(text, look);
            }
            Event::InlineMath(text) => self.add(&format!("${text}$"), look),
            Event::DisplayMath(text) => {
                for (number, line) in format!("$${text}$$").split('\n').enumerate() {
                    if number > 0 {
                        self.lines.end_line();
                    }
                    self.add(line, look);
                }
            }
            Event::InlineHtml(text) if is_line_break(text) => self.lines.end_line(),
            Event::InlineHtml(text) | Event::Html(text) => self.add(text, look),
            // Line breaks are preserved, because verses, addresses and `name: value` lines depend
            // on them.
            Event::SoftBreak | Event::HardBreak => self.lines.end_line(),
            Event::TaskListMarker(is_done) => {
                self.add(if *is_done { "[x] " } else { "[ ] " }, look);
            }
            Event::FootnoteReference(name) => self.add(&format!("[^{name}]"), look),
            Event::Rule => {}
        }
        if !matches!(event, Event::Start(_)) {
            self.done = self.done.max(range.end.min(self.limit));
        }
    }

    fn start(&mut self, tag: &Tag<'_>, look: TextStyle) {
        let look = match tag {
            Tag::Emphasis => TextStyle {
                italic: true,
                ..look
            },
            Tag::Strong => TextStyle { bold: true, ..look },
            Tag::Strikethrough => TextStyle {
                struck: true,
                ..look
            },
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), String::new()));
                TextStyle {
                    underlined: true,
                    ..look
                }
            }
            _ => look,
        };
        self.looks.push(look);
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        self.looks.pop();
        if !matches!(tag, TagEnd::Link | TagEnd::Image) {
            return;
        }
        let Some((to, text)) = self.links.pop() else {
            return;
        };
        // A target that equals the link text is not printed twice.
        let is_said = to.is_empty() || to == text || to.strip_prefix("mailto:") == Some(&text);
        if range.end > self.done && !is_said {
            self.lines.push(' ', TextStyle::PLAIN);
            self.lines.text(&format!("({to})"), TextStyle::DIM);
        }
    }

    fn text(&mut self, text: &str, range: &Range<usize>, look: TextStyle) {
        if range.end <= self.done {
            if let Some((_, of_link)) = self.links.last_mut() {
                of_link.push_str(text);
            }
            return;
        }
        // If the text equals the source byte for byte, a part of it can be shown.
        let part = if text.len() == range.len() {
            let from = self.done.saturating_sub(range.start);
            let to = self.limit.min(range.end) - range.start;
            text.get(from..to).unwrap_or(text)
        } else {
            text
        };
        self.add(part, look);
    }

    fn add(&mut self, text: &str, look: TextStyle) {
        if let Some((_, of_link)) = self.links.last_mut() {
            of_link.push_str(text);
        }
        self.lines.text(text, look);
    }
}

fn is_line_break(html: &str) -> bool {
    let name = html.trim_start_matches('<').trim_end_matches('>');
    name.trim_end_matches('/').trim().eq_ignore_ascii_case("br")
}

/// Returns the offset up to which an unfinished paragraph can be shown. Any text after it may still
/// be reinterpreted: a `*` that starts emphasis, a `[` that starts a link, or a line that becomes a
/// table header.
pub(super) fn certain(events: &[(Event<'_>, Range<usize>)], source: &str) -> usize {
    let limit = without_doubt(events, source);
    // A backslash at the end of a line may become a hard line break, so it is not certain yet.
    let text = source[..limit].trim_end_matches(SPACE);
    text.strip_suffix('\\').map_or(limit, str::len)
}

fn without_doubt(events: &[(Event<'_>, Range<usize>)], source: &str) -> usize {
    let whole = source.strip_suffix('\n').unwrap_or(source);
    let line = whole.rfind('\n').map_or(0, |at| at + 1);
    let mut limit = source.len();
    // `2.`, `*` and `=` may start or end a block, depending on the text that follows.
    if !source.ends_with('\n') && !source[line..].contains(char::is_alphabetic) {
        limit = line;
    }
    let bar = source[line..].find('|').map(|at| line + at);
    let mut depth = 0;
    // Start of the outermost emphasis or link.
    let mut outer = None;
    for (event, range) in events {
        // The current line may become a table header, which ends any inline element that starts
        // before it.
        let crosses = range.start < line && range.end > line && !matches!(event, Event::Text(_));
        let has_bar = bar.is_some_and(|bar| range.contains(&bar));
        let doubt = match event {
            Event::Text(text) if text.len() == range.len() => {
                let bar = bar.filter(|_| has_bar);
                let doubt = doubt(source, range.clone());
                bar.into_iter().chain(doubt).min()
            }
            _ if crosses || has_bar => Some(range.start),
            _ => None,
        };
        match event {
            Event::Start(_) => {
                depth += 1;
                outer.get_or_insert(range.start);
            }
            Event::End(_) => {
                depth -= 1;
                if depth == 0 {
                    outer = None;
                }
            }
            _ => {}
        }
        if let Some(place) = doubt {
            return limit.min(outer.unwrap_or(place)).min(place);
        }
    }
    limit
}

/// Offset of the first character in plain text that may become part of an inline element.
fn doubt(source: &str, range: Range<usize>) -> Option<usize> {
    let bytes = source.as_bytes();
    let signs = range.filter(|at| b"*_~`[<$".contains(&bytes[*at]));
    for at in signs {
        let escapes = bytes[..at].iter().rev().take_while(|it| **it == b'\\');
        // An even number of backslashes leaves the character active.
        if escapes.count() % 2 == 1 {
            continue;
        }
        let sign = bytes[at];
        let rest = &source[at..];
        let next = rest.trim_start_matches(char::from(sign)).chars().next();
        let before = source[..at].trim_end_matches(char::from(sign));
        let before = before.chars().next_back();
        let is_open = match sign {
            b'*' | b'~' => !next.is_some_and(is_space),
            b'_' => {
                // Unlike `*`, a `_` inside a word does not start emphasis.
                let is_inside = before.is_some_and(char::is_alphanumeric);
                !next.is_some_and(is_space) && !is_inside
            }
            b'[' => may_become_a_link(rest),
            b'<' => rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)),
            b'$' => !rest[1..].starts_with(is_space),
            _ => true,
        };
        if is_open {
            // The `!` belongs to the image, so it is also withheld.
            let is_image = sign == b'[' && before == Some('!');
            return Some(at - usize::from(is_image));
        }
    }
    None
}

/// Whether a text has open brackets, or brackets followed by a link target.
fn may_become_a_link(text: &str) -> bool {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let next = text[at + 1..].chars().next();
            return next.is_none_or(|next| "([:".contains(next));
        }
    }
    true
}
