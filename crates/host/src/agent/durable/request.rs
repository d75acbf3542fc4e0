//! Recorded request of a run.

use quillet_agent::AgentError;
use quillet_core::ErrorCode;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{AgentRequest, Principal, RawJson, ScriptRequest};

/// Kind of agent runs.
pub(in crate::agent) const AGENT: &str = "agent";
/// Kind of script runs.
pub(in crate::agent) const SCRIPT: &str = "script";

/// Whether this module resumes runs of this kind. Other users of the journal have their own kinds,
/// and resume those runs themselves.
pub(in crate::agent) fn is_ours(kind: &str) -> bool {
    [AGENT, SCRIPT].contains(&kind)
}

/// A recorded request and its client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Admission {
    /// The client.
    pub who: Principal,
    /// The id of the request.
    pub request_id: String,
    /// The request.
    pub request: AgentRequest,
}

/// Returns the first event of a new run.
pub(in crate::agent) fn admitted(admission: &Admission) -> Value {
    serde_json::to_value(admission).unwrap_or_default()
}

/// Rejects requests that must not be recorded. A journal is stored for weeks and read by people, so
/// it must not contain keys.
pub(in crate::agent) fn keeps_secret(request: &AgentRequest) -> Result<(), AgentError> {
    let Some(what) = secret_of(request) else {
        return Ok(());
    };
    let message = format!(
        "a durable run stores its request, and {what} must not be stored: configure it on the \
         server, or send features.durable: false"
    );
    let code = ErrorCode::RunInvalidRequest;
    Err(AgentError::Setup { code, message })
}

fn secret_of(request: &AgentRequest) -> Option<&'static str> {
    if let Some(model) = &request.model {
        if !model.api_key.expose_secret().is_empty() {
            return Some("model_config.api_key");
        }
        if !model.default_headers.is_empty() {
            return Some("model_config.default_headers");
        }
        let has_password = |url: &String| url.split('/').nth(2).is_some_and(|h| h.contains('@'));
        if model.base_url.as_ref().is_some_and(has_password) {
            return Some("the password in model_config.base_url");
        }
    }
    if let Some(script) = &request.script
        && holds_secret(script)
    {
        return Some("a key among the arguments of the script");
    }
    if request.tools.mcp_servers.iter().any(has_credentials) {
        return Some("the credentials of tools.mcp_servers");
    }
    let skills = request.metadata.skill_configs.iter();
    skills
        .clone()
        .any(has_credentials)
        .then_some("the credentials in metadata.skill_configs")
}

/// Whether the arguments of a script contain a key.
fn holds_secret(script: &ScriptRequest) -> bool {
    let written = |value: Value| has_credentials(&RawJson(value));
    let named = quillet_core::Value::Map(script.arguments.clone());
    let options = serde_json::to_value(&script.options).unwrap_or_default();
    let single = script.single.as_ref().map(Value::from);
    written(Value::from(&named)) || single.is_some_and(written) || written(options)
}

/// Whether JSON from a client contains a key, at any depth.
fn has_credentials(written: &RawJson) -> bool {
    fn within(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.iter().any(|(name, value)| {
                let name = name.to_ascii_lowercase();
                let is_key = ["auth", "headers", "env", "token", "api_key", "apikey"]
                    .contains(&name.as_str());
                is_key && !is_empty(value) || within(value)
            }),
            Value::Array(items) => items.iter().any(within),
            _ => false,
        }
    }
    within(&written.0)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::ModelSettings;

    #[test]
    fn requests_with_keys_are_not_kept() {
        let mut with_key = AgentRequest::question("x");
        with_key.model = Some(ModelSettings {
            api_key: "sk-1".into(),
            ..ModelSettings::default()
        });
        let mut with_server = AgentRequest::question("x");
        let server = json!({"name": "a", "url": "http://h", "auth": {"token": "t"}});
        with_server.tools.mcp_servers = vec![RawJson(server)];
        for (request, what) in [(with_key, "api_key"), (with_server, "tools.mcp_servers")] {
            let error = keeps_secret(&request).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let mut plain = AgentRequest::question("x");
        let server = json!({"name": "a", "url": "http://h", "auth": {}});
        plain.tools.mcp_servers = vec![RawJson(server)];
        assert!(keeps_secret(&plain).is_ok());
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let mut request = AgentRequest::question("Wer?");
        request.tools.ask = vec!["send_*".to_owned()];
        request.features.durable = Some(true);
        let admission = Admission {
            who: Principal::key("one"),
            request_id: "r".to_owned(),
            request,
        };
        let written = admitted(&admission);
        let read: Admission = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(admitted(&read), written);
        // Recorded requests of older versions lack newer members.
        let old = json!({"who": {"key": "k", "scope": "s"}, "request_id": "r", "request": {}});
        let read: Admission = serde_json::from_value(old).unwrap();
        assert!(read.request.tools.ask.is_empty());
    }
}
