//! Regular expressions of fixtures: `/re/flags` and `!re`.

use crate::pattern::Regex;

/// Flags of JavaScript regular expressions.
const FLAGS: &str = "dgimsuvy";

/// A regular expression that must match a part of a text.
#[derive(Clone, Debug)]
pub(super) struct TextPattern {
    /// Its text as written, with slashes and flags.
    pub(super) written: String,
    regex: Regex,
}

impl TextPattern {
    /// Compiles a text of the form `/…/flags`. Returns `None` for any other text.
    pub(super) fn literal(text: &str) -> Option<Result<Self, String>> {
        let (body, flags) = parts(text)?;
        Some(TextPattern::new(text, body, flags))
    }

    /// Compiles the pattern of a `!re` tag, with or without slashes and flags.
    pub(super) fn tagged(text: &str) -> Result<Self, String> {
        match parts(text) {
            Some((body, flags)) => TextPattern::new(text, body, flags),
            None => TextPattern::new(&format!("/{text}/"), text, ""),
        }
    }

    /// Compiles the pattern of a request rule, in which a dot also matches line breaks.
    pub(super) fn dotted(text: &str) -> Result<Self, String> {
        match parts(text) {
            Some((body, flags)) => TextPattern::new(text, body, &format!("{flags}s")),
            None => TextPattern::new(&format!("/{text}/s"), text, "s"),
        }
    }

    fn new(written: &str, body: &str, flags: &str) -> Result<Self, String> {
        let regex = Regex::compile(body, flags).map_err(|error| error.to_string())?;
        Ok(TextPattern {
            written: written.to_owned(),
            regex,
        })
    }

    /// Returns whether it matches a part of a text.
    pub(super) fn is_found(&self, text: &str) -> Result<bool, String> {
        self.regex.is_match(text).map_err(|error| error.to_string())
    }
}

/// Splits `/body/flags`. The last slash ends the body, because slashes inside are often not
/// escaped.
fn parts(text: &str) -> Option<(&str, &str)> {
    let (body, flags) = text.strip_prefix('/')?.rsplit_once('/')?;
    let is_flag = |flag| FLAGS.contains(flag);
    (!body.is_empty() && flags.chars().all(is_flag)).then_some((body, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_slashes_are_expressions() {
        let cases = [
            ("/a.c/", Some(("xabcx", true))),
            ("/A.C/i", Some(("abc", true))),
            ("/^b$/m", Some(("a\nb\nc", true))),
            ("/^b$/", Some(("a\nb\nc", false))),
            ("/a.b/s", Some(("a\nb", true))),
            ("/05/02/", Some(("on 05/02", true))),
            (r"/^\/x(?=y)/gu", Some(("/xy", true))),
            ("//", None),
            ("/", None),
            ("/usr/bin", None),
            ("text", None),
        ];
        for (text, expected) in cases {
            let pattern = TextPattern::literal(text);
            match expected {
                None => assert!(pattern.is_none(), "{text}"),
                Some((subject, found)) => {
                    let pattern = pattern.unwrap().unwrap();
                    assert_eq!(pattern.is_found(subject), Ok(found), "{text}");
                }
            }
        }
        assert!(TextPattern::literal("/a(/").unwrap().is_err());
        assert_eq!(
            TextPattern::tagged("a+").unwrap().is_found("caat"),
            Ok(true)
        );
    }
}
