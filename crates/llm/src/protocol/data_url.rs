//! `data:` URLs: media embedded in a message (RFC 2397).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

/// A medium embedded in a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataUrl<'a> {
    /// Media type such as `image/png`; `text/plain` if the URL contains none.
    pub(crate) media_type: &'a str,
    /// Content in base64.
    pub(crate) base64: Cow<'a, str>,
}

impl<'a> DataUrl<'a> {
    /// Parses a URL; `None` if it is not a `data:` URL.
    pub(crate) fn parse(url: &'a str) -> Option<Self> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        let mut words = head.split(';').map(str::trim);
        let media_type = words.next().filter(|name| !name.is_empty());
        let base64 = if words.any(|word| word.eq_ignore_ascii_case("base64")) {
            Cow::Borrowed(data)
        } else {
            let bytes: Vec<u8> = percent_decode_str(data).collect();
            Cow::Owned(STANDARD.encode(bytes))
        };
        Some(DataUrl {
            media_type: media_type.unwrap_or("text/plain"),
            base64,
        })
    }

    /// Returns the content as text, if it is valid UTF-8.
    pub(crate) fn text(&self) -> Option<String> {
        let bytes = STANDARD.decode(self.base64.as_bytes()).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Returns the URL of a medium.
    pub(crate) fn write(media_type: &str, base64: &str) -> String {
        format!("data:{media_type};base64,{base64}")
    }

    /// Returns the URL of a text.
    pub(crate) fn write_text(media_type: &str, text: &str) -> String {
        DataUrl::write(media_type, &STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_the_standard_has_them() {
        let cases = [
            ("data:image/png;base64,QUJD", Some(("image/png", "QUJD"))),
            (
                "data:text/plain;charset=utf-8;BASE64,QUJD",
                Some(("text/plain", "QUJD")),
            ),
            ("data:,a%20b", Some(("text/plain", "YSBi"))),
            ("data:image/png;base64", None),
            ("https://example.org/data:,x", None),
        ];
        for (url, expected) in cases {
            let read = DataUrl::parse(url);
            let read = read.as_ref().map(|url| (url.media_type, &*url.base64));
            assert_eq!(read, expected, "{url}");
        }
    }

    #[test]
    fn a_text_comes_back() {
        let url = DataUrl::write_text("text/plain", "h\u{e9}llo, you");
        let text = DataUrl::parse(&url).and_then(|url| url.text());
        assert_eq!(text.as_deref(), Some("h\u{e9}llo, you"));
        let picture = DataUrl::parse("data:image/png;base64,/w==").and_then(|url| url.text());
        assert_eq!(picture, None);
    }
}
