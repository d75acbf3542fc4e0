//! HTML encoding of Semantic Kernel, which differs between its languages.

use std::borrow::Cow;
use std::fmt::Write;

use super::encoding::HostLanguage;

/// Returns the text with references in place of special characters.
///
/// .NET also encodes U+00A0 to U+00FF and characters outside the Basic Multilingual Plane; Python
/// writes `&#x27;` for the apostrophe.
pub(super) fn encode(text: &str, dialect: HostLanguage) -> Cow<'_, str> {
    let mut out = Cow::Borrowed("");
    let mut copied = 0;
    for (at, c) in text.char_indices() {
        let Some(reference) = reference(c, dialect) else {
            continue;
        };
        let out = out.to_mut();
        *out += &text[copied..at];
        match reference {
            Reference::Named(name) => out.push_str(name),
            // Writing to a string cannot fail.
            Reference::Numbered => _ = write!(out, "&#{};", u32::from(c)),
        }
        copied = at + c.len_utf8();
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => out + &text[copied..],
    }
}

enum Reference {
    Named(&'static str),
    Numbered,
}

fn reference(c: char, dialect: HostLanguage) -> Option<Reference> {
    let named = match (c, dialect) {
        ('&', _) => "&amp;",
        ('<', _) => "&lt;",
        ('>', _) => "&gt;",
        ('"', _) => "&quot;",
        ('\'', HostLanguage::DotNet) => "&#39;",
        ('\'', HostLanguage::Python) => "&#x27;",
        ('\u{a0}'..='\u{ff}' | '\u{10000}'.., HostLanguage::DotNet) => {
            return Some(Reference::Numbered);
        }
        _ => return None,
    };
    Some(Reference::Named(named))
}
