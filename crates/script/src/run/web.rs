//! `$fetch` and the requests of JavaScript's `fetch`. Both need the network permission.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_core::{Map, Span, Value};

use super::failure::refuse;
use super::instance::Instance;
use super::params::{CallParams, DirectiveResult};
use super::scope::NameScope;
use crate::error::{ErrorKind, ScriptError};

impl Instance {
    /// `$fetch`: returns an object with the status and the text of the response.
    pub(super) async fn fetch(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let piped = params.piped.as_ref().and_then(Value::as_str);
        let Some(url) = params.text("url", 0).or(piped) else {
            return Err(refuse(
                scope,
                at,
                "`$fetch` is missing `url`, an http or https address",
            ));
        };
        let binary = params.text("encoding", 4) == Some("base64");
        if let Some(withheld) = &self.world.withheld {
            let what = format!("`{url}` was not fetched");
            withheld.note(&what, "--allow-net (scripts.allow_net)");
            // A successful empty response lets the dry run continue to the following requests.
            let nothing = WebAnswer {
                status: 200,
                url: url.to_owned(),
                ..WebAnswer::default()
            };
            return Ok(Some(answer(nothing, binary)));
        }
        if !self.world.grants.net {
            let message = format!("permission denied: this script may not fetch `{url}`");
            let finding = scope.source.error(ErrorKind::Denied.code(), message, at);
            let finding = finding.help("allow it with `--allow-net` (scripts.allow_net)");
            return Err(ScriptError::new(ErrorKind::Denied, finding));
        }
        let Some(network) = self.network() else {
            return Err(refuse(
                scope,
                at,
                "this program provides no network access to scripts",
            ));
        };
        let request = WebRequest {
            method: params.text("method", 1).unwrap_or_default().to_owned(),
            url: url.to_owned(),
            headers: headers(params.get("headers", 2)),
            body: body(params.get("body", 3), binary).map_err(|why| refuse(scope, at, why))?,
        };
        let waiting = self.world.budget.waiting();
        let fetched = network.fetch(request).await;
        drop(waiting);
        let fetched = fetched.map_err(|message| {
            let finding = scope.source.error(ErrorKind::Tool.code(), message, at);
            ScriptError::new(ErrorKind::Tool, finding)
        })?;
        // Counted immediately, so that a loop of large responses reaches the memory limit.
        self.world.kept.add(fetched.body.len());
        Ok(Some(answer(fetched, binary)))
    }
}

fn answer(fetched: WebAnswer, binary: bool) -> Value {
    let headers = fetched.headers.iter();
    let headers: Map = headers
        .map(|(name, value)| (name.as_str(), Value::from(value.as_str())))
        .collect();
    let (name, body) = match String::from_utf8(fetched.body) {
        Ok(text) => ("text", text),
        Err(error) if binary => ("base64", STANDARD.encode(error.as_bytes())),
        Err(error) => (
            "text",
            String::from_utf8_lossy(error.as_bytes()).into_owned(),
        ),
    };
    let fields = [
        ("ok", Value::Bool((200..300).contains(&fetched.status))),
        ("status", Value::Int(fetched.status.into())),
        ("url", Value::from(fetched.url)),
        ("headers", Value::Map(headers)),
        (name, Value::from(body)),
    ];
    Value::Map(Map::from_iter(fields))
}

fn headers(given: Option<&Value>) -> Vec<(String, String)> {
    let given = given.and_then(Value::as_map);
    let fields = given.into_iter().flat_map(|map| map.iter());
    let text = |value: &Value| match value {
        Value::Str(text) => text.to_string(),
        other => quillet_core::json::to_string(other),
    };
    fields
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

/// Encodes a request body: text unchanged, binary data from base64, any other value as JSON.
fn body(given: Option<&Value>, binary: bool) -> Result<Option<Vec<u8>>, String> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) if binary => match STANDARD.decode(text.as_bytes()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(format!("invalid base64 in `body`: {error}")),
        },
        Some(Value::Str(text)) => Ok(Some(text.as_bytes().to_vec())),
        Some(other) => Ok(Some(quillet_core::json::to_string(other).into_bytes())),
    }
}
