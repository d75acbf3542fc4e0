//! Tools at HTTP addresses. POST, PUT and PATCH send a JSON object, GET and DELETE a query string,
//! and `{argument}` in the URL is replaced. A tool that requests it or declares no parameters sends
//! its arguments as a list, like ai-prompt-shell.

use std::sync::Arc;

use bytes::Bytes;
use quillet_core::tool::{ToolContext, ToolError, ToolErrorKind};
use quillet_core::{Map, MapTable, Value, json};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use url::Url;

use crate::address::{AddressError, is_absolute};
use crate::http::{Http, HttpRequest, idempotency_key, remote_error, request_id};
use crate::module::Module;
use crate::parameters::CallArguments;
use crate::returns::{self, Returns};

/// A tool at an HTTP address.
#[derive(Debug)]
pub(crate) struct RestTool {
    pub(crate) http: Arc<Http>,
    pub(crate) module: Module,
    pub(crate) template: UrlTemplate,
    pub(crate) method: Method,
    pub(crate) array: bool,
    /// Arguments in their declared order, for the array form.
    pub(crate) order: Vec<Arc<str>>,
    pub(crate) headers: HeaderMap,
}

impl RestTool {
    pub(crate) async fn call(
        &self,
        tool: &str,
        given: CallArguments<'_>,
        returns: &Returns,
        context: &ToolContext,
    ) -> Result<Value, ToolError> {
        let request = self.request(tool, given, context).await?;
        let url = request.url.clone();
        let response = self.http.send(request).await?;
        if response.status().as_u16() >= 400 {
            return Err(remote_error(&url, response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        let body = self.http.read(response).await?;
        decode(tool, &kind, &body, returns)
    }

    async fn request(
        &self,
        tool: &str,
        given: CallArguments<'_>,
        context: &ToolContext,
    ) -> Result<HttpRequest, ToolError> {
        let none = Map::default();
        let (arguments, list) = match given {
            CallArguments::Named(arguments) => (arguments, None),
            CallArguments::InOrder(list) => (&none, Some(list)),
        };
        let (filled, rest) = self.template.fill(tool, arguments)?;
        let mut url = self.module.absolute(tool, &filled).await?;
        // Only the final URL decides whether the module's headers are sent.
        let own_headers = self.module.headers_for(&url, &self.headers);
        let body = if let Some(list) = list {
            Some(json::to_string(&Value::from(list.to_vec())))
        } else if self.array {
            Some(array_body(&self.order, arguments))
        } else if matches!(self.method, Method::GET | Method::DELETE) {
            // Many servers reject or ignore a body of these methods.
            add_query(&mut url, &rest);
            None
        } else {
            Some(json::to_string(&Value::from(rest)))
        };
        Ok(HttpRequest {
            method: self.method.clone(),
            url,
            body: body.map(Bytes::from),
            headers: request_headers(context),
            own_headers,
        })
    }
}

fn request_headers(context: &ToolContext) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(
        "accept",
        HeaderValue::from_static("application/json, text/plain;q=0.5, */*;q=0.1"),
    );
    headers.extend(request_id(context));
    headers.extend(idempotency_key(context));
    headers
}

/// Arguments as a list in their declared order, without missing ones at the end.
fn array_body(order: &[Arc<str>], arguments: &Map) -> String {
    let mut items: Vec<Value> = order
        .iter()
        .map(|name| arguments.get(name).cloned().unwrap_or_default())
        .collect();
    let last_given = order.iter().rposition(|name| arguments.get(name).is_some());
    items.truncate(last_given.map_or(0, |last| last + 1));
    json::to_string(&items.into())
}

/// Adds arguments to the query. Each list item repeats the name, objects become JSON, and null is
/// omitted.
fn add_query(url: &mut Url, arguments: &Map) {
    if arguments.is_empty() {
        return;
    }
    let mut query = url.query_pairs_mut();
    for (name, value) in arguments {
        let single = [value.clone()];
        let values = match value {
            Value::List(list) => list.as_slice(),
            _ => &single,
        };
        for value in values.iter().filter(|value| !matches!(value, Value::Null)) {
            query.append_pair(name, &text_of(value));
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => json::to_string(other),
    }
}

/// Decodes a body by its content type. Without a specific content type, valid JSON is decoded as
/// JSON, and anything else is text.
fn decode(tool: &str, kind: &str, body: &[u8], returns: &Returns) -> Result<Value, ToolError> {
    // An empty answer, such as one with status 204, is not JSON, regardless of its content type.
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(returns.nothing());
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        let message = format!("{tool}: the answer ({kind}) is not UTF-8: {error}");
        ToolError::new(ToolErrorKind::Protocol, message)
    })?;
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence == "application/json" || essence.ends_with("+json") {
        return returns::json(tool, text);
    }
    if essence.starts_with("text/") {
        return returns.text(tool, text);
    }
    json::parse(text).or_else(|_| returns.text(tool, text))
}

/// A URL with `{name}` placeholders for arguments.
#[derive(Debug)]
pub(crate) struct UrlTemplate {
    /// The texts between placeholders: one more than there are names.
    texts: Vec<String>,
    names: Vec<String>,
}

impl UrlTemplate {
    /// Parses a template. Placeholders are allowed in the path and the query only, so that no
    /// argument chooses the host.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressError> {
        let (mut texts, mut names) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(AddressError::Url(format!(
                    "the url {text:?} has a \"{{\" without its \"}}\""
                )));
            };
            let so_far: String = texts.iter().map(String::as_str).chain([before]).collect();
            if authority_is_open(&so_far) {
                let message =
                    format!("{{{name}}} in the url {text:?} must be in the path or the query");
                return Err(AddressError::Url(message));
            }
            texts.push(before.to_owned());
            names.push(name.to_owned());
            rest = after;
        }
        texts.push(rest.to_owned());
        Ok(UrlTemplate { texts, names })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The URL with every placeholder replaced by `x`, to validate it without arguments.
    pub(crate) fn sample(&self) -> String {
        self.texts.join("x")
    }

    pub(crate) fn is_relative(&self) -> bool {
        !is_absolute(&self.sample())
    }

    /// Returns the URL with its placeholders replaced, and the unused arguments.
    fn fill(&self, tool: &str, arguments: &Map) -> Result<(String, Map), ToolError> {
        if self.names.is_empty() {
            return Ok((self.texts.concat(), arguments.clone()));
        }
        let mut url = String::new();
        let mut rest: MapTable = arguments.to_table();
        for (text, name) in self.texts.iter().zip(&self.names) {
            url.push_str(text);
            url.push_str(&path_text(tool, name, arguments.get(name))?);
            // The argument is not sent again in the query or body. `shift_remove` preserves the
            // order of the other arguments.
            rest.shift_remove(name.as_str());
        }
        url.push_str(self.texts.last().map_or("", String::as_str));
        // Dots are not percent-encoded in paths, so an argument such as `..` could leave its
        // segment.
        if url
            .split(['/', '?', '#'])
            .any(|part| matches!(part, "." | ".."))
        {
            let message = format!("{tool}: an argument adds `.` or `..` to the path of {url:?}");
            return Err(ToolError::new(ToolErrorKind::Arguments, message));
        }
        Ok((url, Map::new(rest)))
    }
}

/// Whether text appended to this prefix of a URL could still change the host.
fn authority_is_open(text: &str) -> bool {
    match text.split_once("//") {
        Some((_, rest)) => !rest.contains(['/', '?', '#']),
        None => !text.contains(['/', '?']),
    }
}

fn path_text(tool: &str, name: &str, value: Option<&Value>) -> Result<String, ToolError> {
    let text = match value {
        Some(value @ (Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_))) => {
            text_of(value)
        }
        _ => String::new(),
    };
    if text.is_empty() {
        let found = match value {
            None => "nothing",
            Some(Value::Str(_)) => "an empty text",
            Some(other) => other.kind(),
        };
        let message = format!(
            "{tool}: argument {name} is part of the url and must be a string or a number, {found} \
             given"
        );
        return Err(ToolError::new(ToolErrorKind::Arguments, message));
    }
    Ok(percent_encoded(&text))
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Map {
        json::parse(text).unwrap().as_map().unwrap().clone()
    }

    #[test]
    fn urls_are_filled_and_arguments_taken_out() {
        let cases = [
            (
                "/a/{x}",
                r#"{"x":"b c/ü","y":1}"#,
                Some("/a/b%20c%2F%C3%BC"),
                r#"{"y":1}"#,
            ),
            (
                "/a/{x}.json?v={y}",
                r#"{"x":1,"y":true}"#,
                Some("/a/1.json?v=true"),
                "{}",
            ),
            ("/a/{x}", r#"{"x":".."}"#, None, ""),
            ("/a/{x}{y}/b", r#"{"x":".","y":"."}"#, None, ""),
            ("/a/{x}", r#"{"x":""}"#, None, ""),
            ("/a/{x}", r#"{"x":[1]}"#, None, ""),
            ("/a/{x}", "{}", None, ""),
            ("/a", r#"{"x":1}"#, Some("/a"), r#"{"x":1}"#),
        ];
        for (template, arguments, url, rest) in cases {
            let filled = UrlTemplate::parse(template)
                .unwrap()
                .fill("t", &map(arguments));
            match (filled, url) {
                (Ok((got, left)), Some(url)) => {
                    assert_eq!(
                        (got.as_str(), json::to_string(&left.into()).as_str()),
                        (url, rest)
                    );
                }
                (Err(error), None) => assert_eq!(error.kind, ToolErrorKind::Arguments),
                (got, _) => panic!("{template} {arguments}: {got:?}"),
            }
        }
    }

    #[test]
    fn arguments_choose_no_host() {
        for wrong in [
            "http://{h}/x",
            "{h}/x",
            "http://a.{h}/",
            "//{h}/x",
            "http://a/{x",
        ] {
            assert!(UrlTemplate::parse(wrong).is_err(), "{wrong}");
        }
        for right in ["http://a/{x}", "http://a?{x}", "/{x}", "a/{x}"] {
            assert!(UrlTemplate::parse(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn lists_leave_out_what_is_missing_at_the_end() {
        let order: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
        for (arguments, body) in [
            ("{}", "[]"),
            (r#"{"b":2}"#, "[null,2]"),
            (r#"{"c":3,"a":"x"}"#, r#"["x",null,3]"#),
        ] {
            assert_eq!(array_body(&order, &map(arguments)), body);
        }
    }

    #[test]
    fn queries() {
        let mut url = Url::parse("http://h/p?k=0").unwrap();
        add_query(
            &mut url,
            &map(r#"{"l":[1,"b c"],"o":{"x":1},"n":null,"t":true,"s":"ü&"}"#),
        );
        let expected = "k=0&l=1&l=b+c&o=%7B%22x%22%3A1%7D&t=true&s=%C3%BC%26";
        assert_eq!(url.query(), Some(expected));
    }
}
