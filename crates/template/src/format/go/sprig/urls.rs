//! Parses and builds URLs like Go's `net/url`.

use super::super::{FunctionContext, FunctionError, GoFunction, GoMap, GoType, GoValue};
use super::{args, cost, types};

type FnResult = Result<GoValue, FunctionError>;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("urlParse", &[GoType::String], parse),
    GoFunction::new("urlJoin", &[GoType::MAP], join),
];

/// Parts of a URL. Missing parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct UrlParts {
    scheme: String,
    opaque: String,
    userinfo: String,
    host: String,
    path: String,
    query: String,
    fragment: String,
}

fn parse(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::chars(args, 0);
    cost::build_many(cx, text.len(), 4)?;
    let parts = UrlParts::read(&text)
        .map_err(|why| format!("unable to parse url: parse {:?}: {why}", shown(&text)))?;
    let hostname = parts.hostname().to_owned();
    let entries = [
        ("scheme", parts.scheme),
        ("host", parts.host),
        ("hostname", hostname),
        ("path", parts.path),
        ("query", parts.query),
        ("opaque", parts.opaque),
        ("fragment", parts.fragment),
        ("userinfo", parts.userinfo),
    ];
    let map = GoMap::new();
    for (key, value) in entries {
        cost::insert(cx, &map, key.into(), value.into())?;
    }
    Ok(GoValue::Map(map))
}

/// Returns the URL for an error message. Like Go, it omits the fragment.
fn shown(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

fn join(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let map = args::map(args, 0);
    let mut part = |key: &str| -> Result<String, FunctionError> {
        match map.get(key.as_bytes()) {
            None => Ok(String::new()),
            Some(GoValue::Str(text)) => {
                cost::build_many(cx, text.as_bytes().len(), 4)?;
                Ok(text.to_text().into_owned())
            }
            Some(GoValue::Nil) => Err(args::NIL.into()),
            Some(other) => Err(format!(
                "unable to parse {key} key, must be of type string, but {} found",
                types::kind(&other)
            )
            .into()),
        }
    };
    let parts = UrlParts {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        userinfo: part("userinfo")?,
    };
    Ok(parts.write().into())
}

impl UrlParts {
    fn read(text: &str) -> Result<UrlParts, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = scheme(text)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = UrlParts {
            scheme: scheme.to_ascii_lowercase(),
            query: query.to_owned(),
            fragment: unescaped(fragment)?,
            ..UrlParts::default()
        };
        if !rest.starts_with('/') && !scheme.is_empty() {
            parts.opaque = rest.to_owned();
            return Ok(parts);
        }
        let first = rest.split('/').next().unwrap_or_default();
        if scheme.is_empty() && first.contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
        let path = match rest.strip_prefix("//") {
            Some(after) if !scheme.is_empty() || !rest.starts_with("///") => {
                let end = after.find('/').unwrap_or(after.len());
                parts.authority(&after[..end])?;
                &after[end..]
            }
            _ => rest,
        };
        parts.path = unescaped(path)?;
        Ok(parts)
    }

    fn authority(&mut self, text: &str) -> Result<(), String> {
        let (userinfo, host) = text.rsplit_once('@').unwrap_or(("", text));
        if host.contains(' ') {
            return Err("invalid character \" \" in host name".to_owned());
        }
        let port = host
            .rsplit_once(':')
            .filter(|(_, port)| !port.ends_with(']'));
        if let Some((_, port)) = port
            && !port.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(format!("invalid port {:?} after host", format!(":{port}")));
        }
        self.userinfo = userinfo.to_owned();
        self.host = unescaped(host)?;
        Ok(())
    }

    /// Returns the host without the port and without the brackets of an IPv6 address.
    fn hostname(&self) -> &str {
        let host = &self.host;
        if let Some(inner) = host.strip_prefix('[') {
            return inner.split(']').next().unwrap_or(inner);
        }
        host.rsplit_once(':').map_or(host, |(host, _)| host)
    }

    fn write(&self) -> String {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out += &self.scheme;
            out.push(':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out += &self.opaque;
        }
        if !self.query.is_empty() {
            out.push('?');
            out += &self.query;
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out += &escaped(&self.fragment, "$&+,/:;=?@!()*");
        }
        out
    }

    fn write_hierarchy(&self, out: &mut String) {
        let authority = !self.host.is_empty() || !self.userinfo.is_empty();
        if authority || (!self.scheme.is_empty() && self.path.starts_with("//")) {
            out.push_str("//");
        }
        if !self.userinfo.is_empty() {
            *out += &self.userinfo;
            out.push('@');
        }
        *out += &escaped(&self.host, "!$&'()*+,;=:[]<>\"");
        if authority && !self.path.is_empty() && !self.path.starts_with('/') {
            out.push('/');
        }
        *out += &escaped(&self.path, "$&+,/:;=@");
    }
}

/// Splits a URL into its scheme and the rest. The scheme is empty if the URL has none.
fn scheme(text: &str) -> Result<(&str, &str), String> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = text.bytes().take_while(allowed).count();
    match text.as_bytes().get(length) {
        Some(b':') if length == 0 => Err("missing protocol scheme".to_owned()),
        Some(b':') if text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Ok((&text[..length], &text[length + 1..]))
        }
        _ => Ok(("", text)),
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = after;
            continue;
        }
        let digits = after
            .get(..2)
            .and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte)) => out.push(byte),
            _ => {
                let shown = String::from_utf8_lossy(&rest[..rest.len().min(3)]);
                return Err(format!("invalid URL escape {shown:?}"));
            }
        }
        rest = &after[2..];
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Escapes all characters except letters, digits, `-_.~` and those in `kept`.
fn escaped(text: &str, kept: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-_.~".contains(c) || (c.is_ascii() && kept.contains(c)) {
            out.push(c);
        } else {
            out += &format!("%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart_and_together_again() {
        let urls = [
            "http://user:pw@host:8080/a%20b/c?x=1&y=2#frag",
            "mailto:a@b.c",
            "/just/a/path?q",
            "//host/path",
            "https://[::1]:443/",
            "host/path",
            "",
        ];
        for url in urls {
            let parts = UrlParts::read(url).unwrap();
            assert_eq!(parts.write(), url, "{parts:?}");
        }
        let parts = UrlParts::read("HTTP://u@[::1]:80/p").unwrap();
        assert_eq!((&*parts.scheme, parts.hostname()), ("http", "::1"));
    }

    #[test]
    fn urls_that_are_none_are_refused() {
        let cases = [
            (":x", "missing protocol scheme"),
            ("http://h:x/", "invalid port \":x\" after host"),
            ("%zz", "invalid URL escape \"%zz\""),
            ("1a:b", "first path segment in URL cannot contain colon"),
        ];
        for (url, wanted) in cases {
            assert_eq!(UrlParts::read(url).unwrap_err(), wanted, "{url}");
        }
    }
}
