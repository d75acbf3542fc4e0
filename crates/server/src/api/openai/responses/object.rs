//! The `response` object of OpenAI's Responses API. It is empty at first, is repeated in events and
//! is complete at the end.

use quillet_core::chat::{FinishReason, Usage};
use quillet_core::clock;
use serde_json::{Map, Value, json};

use super::options::ResponseOptions;
use crate::error::ApiError;

/// The response object.
#[derive(Debug)]
pub(super) struct ResponseObject {
    pub(super) id: String,
    members: Map<String, Value>,
    /// Whether the reported model name differs from that of the responding model.
    is_named: bool,
}

impl ResponseObject {
    /// Creates a response object that begins now.
    pub(super) fn new(wish: &ResponseOptions, is_named: bool, is_kept: bool) -> Self {
        let id = format!("resp_{}", uuid::Uuid::new_v4().simple());
        let mut members = Map::new();
        members.insert("id".into(), id.as_str().into());
        members.insert("object".into(), "response".into());
        let now = clock::since_epoch().as_secs();
        members.insert("created_at".into(), now.into());
        members.insert("status".into(), "in_progress".into());
        members.insert("background".into(), false.into());
        members.insert("error".into(), Value::Null);
        members.insert("incomplete_details".into(), Value::Null);
        members.insert("output".into(), Value::Array(Vec::new()));
        members.insert("usage".into(), Value::Null);
        members.insert("store".into(), is_kept.into());
        members.extend(wish.repeated.clone());
        ResponseObject {
            id,
            members,
            is_named,
        }
    }

    /// Sets the name of the responding model.
    pub(super) fn answered_by(&mut self, model: &str) {
        // For a prompt or an agent, keep the requested name, because clients compare it.
        if !self.is_named && !model.is_empty() {
            self.members.insert("model".into(), model.into());
        }
    }

    /// Completes the response.
    pub(super) fn end(&mut self, reason: FinishReason, output: Vec<Value>, usage: Option<Usage>) {
        let (status, why) = match reason {
            FinishReason::Length => ("incomplete", Some("max_output_tokens")),
            FinishReason::ContentFilter | FinishReason::Error => {
                ("incomplete", Some("content_filter"))
            }
            FinishReason::Stop
            | FinishReason::ToolCalls
            | FinishReason::Refusal
            | FinishReason::Pause => ("completed", None),
        };
        self.set("status", status.into());
        if let Some(why) = why {
            self.set("incomplete_details", json!({"reason": why}));
        }
        self.set("output", output.into());
        self.set("usage", usage.map_or(Value::Null, spent));
    }

    /// Marks the response as failed. The usage so far is still reported.
    pub(super) fn fail(&mut self, error: &ApiError, output: Vec<Value>, usage: Option<Usage>) {
        let body = super::super::error::body(error).error;
        let code = body.code.unwrap_or_else(|| body.r#type.to_owned());
        self.set("status", "failed".into());
        self.set("output", output.into());
        self.set("error", json!({"code": code, "message": body.message}));
        self.set("usage", usage.map_or(Value::Null, spent));
    }

    pub(super) fn status(&self) -> &str {
        let status = self.members.get("status").and_then(Value::as_str);
        status.unwrap_or_default()
    }

    pub(super) fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    pub(super) fn into_json(self) -> Value {
        Value::Object(self.members)
    }

    fn set(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }
}

fn spent(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens(),
    })
}
