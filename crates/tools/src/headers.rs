//! Headers from settings and definitions.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

/// Converts settings to headers whose values are hidden in logs.
///
/// # Errors
/// The name of a header that is invalid or reserved.
pub(crate) fn secret_headers<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a SecretString)>,
) -> Result<HeaderMap, String> {
    pairs
        .into_iter()
        .map(|(name, value)| header(name, value.expose_secret(), true))
        .collect()
}

/// Converts the headers of a definition.
///
/// # Errors
/// Like [`secret_headers`].
pub(crate) fn plain_headers(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    pairs
        .iter()
        .map(|(name, value)| header(name, value, false))
        .collect()
}

// The client sets these headers itself; a second value would enable request smuggling.
const RESERVED: [&str; 6] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "te",
    "upgrade",
];

fn header(name: &str, value: &str, secret: bool) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |what: &str| format!("{name:?} {what}");
    let header: HeaderName = name.parse().map_err(|_| wrong("is not a header name"))?;
    if RESERVED.contains(&header.as_str()) {
        return Err(wrong("is set by the client itself (leave it out)"));
    }
    let mut value =
        HeaderValue::from_str(value).map_err(|_| wrong("has a value with control characters"))?;
    value.set_sensitive(secret);
    Ok((header, value))
}
