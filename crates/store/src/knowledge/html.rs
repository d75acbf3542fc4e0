//! Text extraction from HTML pages. Scripts are not executed, so pages that scripts create are
//! empty.

/// Elements without text for readers.
const SILENT: [&str; 5] = ["script", "style", "template", "noscript", "svg"];
/// Elements that start a new line.
const BLOCKS: [&str; 22] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "li",
    "p",
    "pre",
    "section",
    "td",
    "tr",
];
/// Maximum length of a character reference.
// This bounds the search for `;`, which would be quadratic in a text with many `&`.
const MAX_REFERENCE: usize = 12;

/// Returns the title and the text of a page.
pub(crate) fn read(page: &str) -> (Option<String>, String) {
    let (mut title, mut text) = (None, String::with_capacity(page.len() / 2));
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        text.push_str(rest.get(..open).unwrap_or_default());
        rest = rest.get(open..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = after(comment, "-->");
            continue;
        }
        let Some(tag) = HtmlTag::read(rest) else {
            // A lone `<` is text, as browsers treat it.
            text.push('<');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        rest = tag.rest;
        if tag.name == "title" && !tag.closes && title.is_none() {
            let (inside, behind) = until_end(rest, "title");
            (title, rest) = (Some(tidy(&decoded(inside))), behind);
        } else if SILENT.contains(&tag.name.as_str()) && !tag.closes {
            // Scripts may contain `<`, so their content is skipped and not parsed.
            rest = until_end(rest, &tag.name).1;
        } else if BLOCKS.contains(&tag.name.as_str()) {
            text.push_str(if tag.name == "p" { "\n\n" } else { "\n" });
        }
    }
    text.push_str(rest);
    (
        title.filter(|title| !title.is_empty()),
        tidy(&decoded(&text)),
    )
}

struct HtmlTag<'a> {
    name: String,
    closes: bool,
    rest: &'a str,
}

impl<'a> HtmlTag<'a> {
    /// Parses the tag at the beginning of a text; `None` if it is a lone `<`.
    fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix('<')?;
        let closes = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')) {
            return None;
        }
        let end = name
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(name.len());
        let attributes = name.get(end..)?;
        Some(HtmlTag {
            name: name.get(..end)?.to_ascii_lowercase(),
            closes,
            rest: attributes.get(close(attributes)..).unwrap_or_default(),
        })
    }
}

/// Returns the offset after the `>` that ends a tag; a `>` in a quoted attribute does not end it.
fn close(attributes: &str) -> usize {
    let mut quote = None;
    for (at, byte) in attributes.bytes().enumerate() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'>', None) => return at + 1,
            _ => {}
        }
    }
    attributes.len()
}

fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// Returns the content of an element without child elements, and the text after it.
fn until_end<'a>(text: &'a str, name: &str) -> (&'a str, &'a str) {
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("</")) {
        let at = from + found;
        let tag = text.get(at + 2..).unwrap_or_default();
        let is_end = tag
            .get(..name.len())
            .is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        if is_end {
            return (text.get(..at).unwrap_or_default(), after(tag, ">"));
        }
        from = at + 2;
    }
    (text, "")
}

/// Decodes character references.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let reference = rest.get(at + 1..).unwrap_or_default();
        let end = reference
            .bytes()
            .take(MAX_REFERENCE)
            .position(|byte| byte == b';');
        let found = end.and_then(|end| Some((end, character(reference.get(..end)?)?)));
        match found {
            Some((end, c)) => {
                out.push(c);
                rest = reference.get(end + 1..).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = reference;
            }
        }
    }
    out + rest
}

fn character(reference: &str) -> Option<char> {
    let number = |digits: &str, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        "mdash" => Some('—'),
        "ndash" => Some('–'),
        "hellip" => Some('…'),
        "copy" => Some('©'),
        _ => match reference.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(hex.get(1..)?, 16),
            digits => number(digits, 10),
        },
    }
}

/// Collapses white space to single spaces and at most one empty line.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_none() {
            empty += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        for (place, word) in words.enumerate() {
            if place > 0 {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_become_texts() {
        let cases = [
            (
                "<p>Hi <b>you</b></p><p>a&amp;b &lt;c&gt; &#x41;&#66;</p>",
                "Hi you\n\na&b <c> AB",
            ),
            ("a < b && c &nosuch; &", "a < b && c &nosuch; &"),
            (
                "x<script>if (a<b) '</p>'</script>y<STYLE>p{}</style >z",
                "xyz",
            ),
            ("<a title='>'>link</a><!-- <p> -->!", "link!"),
            ("<ul><li>one<li>two</ul>", "one\ntwo"),
            ("<!DOCTYPE html><?xml?>t", "t"),
            ("cut <a href=\"", "cut"),
            ("cut <script>never", "cut"),
            ("&#1114112;&#xd800;&#;", "&#1114112;&#xd800;&#;"),
            ("☂</日>&日;", "☂</日>&日;"),
        ];
        for (page, text) in cases {
            assert_eq!(read(page).1, text, "{page}");
        }
        let page = "<html><head><title> A &amp;\n B </title></head><body>c</body>";
        assert_eq!(read(page), (Some("A &\nB".to_owned()), "c".to_owned()));
    }
}
