//! A server with named tokens and a store with histories.

use std::net::SocketAddr;

use quillet_core::store::EntryKind;
use quillet_fake_provider::{ReplyScript, ScriptedReply};
use quillet_host::definitions::{Grant, PermissionSet};
use quillet_server::{NamedToken, ServerConfig};
use serde_json::Value;

use crate::client::{self, Answer};
use crate::sql::served::{Served, Setup};

/// The initial definitions in the store.
const ENTRIES: &[(EntryKind, &str, &str)] = &[
    (EntryKind::Environ, "greet:lang", r#""go""#),
    (EntryKind::Environ, "secret:lang", r#""go""#),
    (
        EntryKind::Prompt,
        "greet:hello",
        r#"{"userPrompt":"Hello {{.variables.name}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "secret:plan",
        r#"{"userPrompt":"The plan"}"#,
    ),
    (
        EntryKind::Tool,
        "greet:look",
        r#"{"parameters":{"type":"object"}}"#,
    ),
    (
        EntryKind::Tool,
        "secret:look",
        r#"{"parameters":{"type":"object"}}"#,
    ),
    (
        EntryKind::Extension,
        "greet:ext",
        r#"{"name":"more","extensionType":"prompt","contributes":{"prompts":[{"name":"a","userPrompt":"A"}]}}"#,
    ),
    (
        EntryKind::Agent,
        "greet:helper",
        r#"{"instructions":"Be kind."}"#,
    ),
    (
        EntryKind::Agent,
        "secret:helper",
        r#"{"instructions":"Be kind."}"#,
    ),
];

/// A running server.
pub(super) struct Place {
    pub(super) served: Served,
}

/// Starts a server with tokens of these names and permissions. Without tokens every request is
/// permitted. The secret of a token is its name followed by `-secret`.
pub(super) async fn start(tokens: &[(&str, &[&str])]) -> Place {
    let token = |(name, rights): &(&str, &[&str])| NamedToken {
        name: (*name).to_owned(),
        secret: format!("{name}-secret").into(),
        rights: PermissionSet::of(
            rights
                .iter()
                .map(|text| Grant::parse(text).unwrap())
                .collect(),
        ),
    };
    let entries = ENTRIES.iter();
    let entries = entries.map(|(kind, key, text)| (*kind, *key, (*text).to_owned()));
    let setup = Setup {
        config: ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            named_tokens: tokens.iter().map(token).collect(),
            inline_templates: Some(true),
            change_databases: Some(true),
            ..ServerConfig::default()
        },
        answers: ReplyScript::turns([ScriptedReply::text(["Good."])]),
        entries: entries.collect(),
        ..Setup::default()
    };
    Place {
        served: setup.start().await,
    }
}

impl Place {
    /// Sends a request with the token of `who`, or without a token if the name is empty.
    pub(super) async fn send(&self, who: &str, method: &str, path: &str, body: &str) -> Answer {
        self.send_with(who, method, path, body, &[]).await
    }

    pub(super) async fn send_with(
        &self,
        who: &str,
        method: &str,
        path: &str,
        body: &str,
        more: &[(&str, &str)],
    ) -> Answer {
        let token = format!("Bearer {who}-secret");
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        if !more.iter().any(|(name, _)| *name == "content-type") {
            headers.push(("content-type", "application/json"));
        }
        if !who.is_empty() {
            headers.push(("authorization", &token));
        }
        headers.extend(more);
        client::request(self.served.address, method, path, &headers, body).await
    }

    /// Returns the JSON of a successful response.
    pub(super) async fn ok(&self, who: &str, method: &str, path: &str, body: &str) -> Value {
        let answer = self.send(who, method, path, body).await;
        assert!(answer.status < 300, "{method} {path} {body}: {answer:?}");
        answer.json()
    }

    /// Returns the entries of the audit log, newest first.
    pub(super) async fn log(&self, who: &str, query: &str) -> Vec<Value> {
        let path = format!("/api/v1/log{query}");
        let log = self.ok(who, "GET", &path, "").await;
        log["lines"].as_array().unwrap().clone()
    }
}

/// Returns the status and error code of a response.
pub(super) fn code(answer: &Answer) -> (u16, String) {
    let error = answer.json()["error"].clone();
    (answer.status, error.as_str().unwrap_or_default().to_owned())
}
