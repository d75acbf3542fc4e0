//! The batch APIs of OpenAI (`/v1/files`, `/v1/batches`) and Anthropic (`/v1/messages/batches`), as
//! their references describe them. The script answers rows like requests. Results are not in the
//! order of the rows.
//!
//! A batch runs until its second status request. Rows with the model `fake-expired` expire. A batch
//! with a row for `fake-stuck` ends only when it is cancelled. A batch whose first row is for
//! `fake-batch-failed` fails as a whole.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::content_type::json_type;
use crate::fault::{ErrorResponse, InjectedFault};
use crate::plan::ResponsePlan;
use crate::provider_api::ProviderApi;
use crate::request::RecordedRequest;
use crate::script::ReplyScript;

/// The number of status requests until a batch has ended.
const LOOKS: usize = 2;
/// The creation time of every batch in Anthropic's format. Clients do not use it.
const CREATED: &str = "2025-10-09T08:53:21Z";

/// Files and batches of both providers.
#[derive(Debug, Default)]
pub(crate) struct Batches(Mutex<BatchStore>);

#[derive(Debug, Default)]
struct BatchStore {
    files: BTreeMap<String, Bytes>,
    batches: Vec<FakeBatch>,
    rows: usize,
}

#[derive(Debug)]
struct FakeBatch {
    id: String,
    wire: ProviderApi,
    looks: usize,
    created: u64,
    endpoint: String,
    input: String,
    metadata: Value,
    rows: Vec<(String, Value)>,
    state: BatchState,
    /// Result lines of successful and of failed rows. Anthropic has one list for both.
    done: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BatchState {
    Working,
    Failed,
    Ended,
    Cancelled,
}

impl Batches {
    fn kept(&self) -> MutexGuard<'_, BatchStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of rows in all batches.
    pub(crate) fn rows(&self) -> usize {
        self.kept().rows
    }

    /// Returns the response to a request for files or batches, or `None` for other requests.
    pub(crate) fn answer(
        &self,
        asked: &RecordedRequest,
        script: &ReplyScript,
    ) -> Option<ResponsePlan> {
        let parts: Vec<&str> = asked.path.trim_matches('/').split('/').collect();
        let parts = match parts.first() {
            Some(&"v1") => &parts[1..],
            _ => &parts[..],
        };
        let mut kept = self.kept();
        match (asked.method.as_str(), parts) {
            ("POST", ["files"]) => Some(kept.upload(asked)),
            ("GET", ["files", id, "content"]) => Some(match kept.content(id) {
                Some(bytes) => ResponsePlan::json(200, vec![], bytes),
                None => refused(asked, ProviderApi::OpenAiChat),
            }),
            (method, ["messages", "batches", rest @ ..]) => {
                Some(kept.batches(asked, method, rest, ProviderApi::Anthropic, script))
            }
            (method, ["batches", rest @ ..]) => {
                Some(kept.batches(asked, method, rest, ProviderApi::OpenAiChat, script))
            }
            _ => None,
        }
    }
}

impl BatchStore {
    fn upload(&mut self, asked: &RecordedRequest) -> ResponsePlan {
        let text = asked.text();
        let boundary = text.lines().next().unwrap_or_default().to_owned();
        let part = text
            .split(&boundary)
            .find(|part| part.contains("name=\"file\""));
        let Some((_, content)) = part.and_then(|part| part.split_once("\r\n\r\n")) else {
            return refused(asked, ProviderApi::OpenAiChat);
        };
        let content = content.strip_suffix("\r\n").unwrap_or(content);
        let id = format!("file-in{}", self.files.len() + 1);
        let bytes = content.len();
        self.files.insert(id.clone(), content.to_owned().into());
        ok(
            &json!({"id": id, "object": "file", "bytes": bytes, "created_at": 1_760_000_001,
            "filename": "rows.jsonl", "purpose": "batch", "status": "processed"}),
        )
    }

    fn content(&self, id: &str) -> Option<Bytes> {
        if let Some(bytes) = self.files.get(id) {
            return Some(bytes.clone());
        }
        let (of, what) = id.strip_prefix("file-")?.split_once('-')?;
        let batch = self.batches.iter().find(|batch| batch.id.ends_with(of))?;
        let (done, failed) = batch.done.as_ref()?;
        let text = if what == "out" { done } else { failed };
        Some(text.clone().into())
    }

    fn batches(
        &mut self,
        asked: &RecordedRequest,
        method: &str,
        rest: &[&str],
        wire: ProviderApi,
        script: &ReplyScript,
    ) -> ResponsePlan {
        let found = |kept: &mut BatchStore, id: &str| {
            let mut all = kept.batches.iter_mut();
            all.position(|batch| batch.id == id && batch.wire == wire)
        };
        match (method, rest) {
            ("POST", []) => self.create(asked, wire, script),
            ("GET", []) => {
                let data: Vec<Value> = self
                    .batches
                    .iter()
                    .rev()
                    .filter(|batch| batch.wire == wire)
                    .map(FakeBatch::shown)
                    .collect();
                ok(&json!({"object": "list", "data": data, "has_more": false}))
            }
            ("GET", [id]) => match found(self, id) {
                Some(at) => {
                    self.batches[at].look(asked, script);
                    ok(&self.batches[at].shown())
                }
                None => refused(asked, wire),
            },
            ("GET", [id, "results"]) => match found(self, id) {
                Some(at) => match &self.batches[at].done {
                    Some((done, failed)) => {
                        ResponsePlan::json(200, vec![], format!("{failed}{done}").into())
                    }
                    None => refused(asked, wire),
                },
                None => refused(asked, wire),
            },
            ("POST", [id, "cancel"]) => match found(self, id) {
                Some(at) => {
                    self.batches[at].cancel();
                    ok(&self.batches[at].shown())
                }
                None => refused(asked, wire),
            },
            _ => refused(asked, wire),
        }
    }

    fn create(
        &mut self,
        asked: &RecordedRequest,
        wire: ProviderApi,
        script: &ReplyScript,
    ) -> ResponsePlan {
        let body = asked.json();
        let number = self.batches.len() + 1;
        let (id, rows) = if wire == ProviderApi::Anthropic {
            let rows = body["requests"].as_array().cloned().unwrap_or_default();
            let row = |row: Value| {
                let id = row["custom_id"].as_str().unwrap_or_default().to_owned();
                (id, row["params"].clone())
            };
            let rows: Vec<_> = rows.into_iter().map(row).collect();
            (format!("msgbatch_{number}"), rows)
        } else {
            let input = body["input_file_id"].as_str().unwrap_or_default();
            let Some(content) = self.files.get(input) else {
                return refused(asked, wire);
            };
            let text = String::from_utf8_lossy(content).into_owned();
            let row = |line: &str| {
                let row: Value = serde_json::from_str(line).unwrap_or_default();
                let id = row["custom_id"].as_str().unwrap_or_default().to_owned();
                (id, row["body"].clone())
            };
            (format!("batch_{number}"), text.lines().map(row).collect())
        };
        // Anthropic accepts only ids with letters, digits, `-` and `_`.
        let is_fine = |id: &str| {
            (1..=64).contains(&id.len())
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        if rows.is_empty() || rows.iter().any(|(id, _)| !is_fine(id)) {
            return refused(asked, wire);
        }
        let fails = rows[0].1["model"] == "fake-batch-failed";
        self.rows += rows.len();
        let batch = FakeBatch {
            id,
            wire,
            looks: 0,
            created: now(),
            endpoint: body["endpoint"].as_str().unwrap_or_default().to_owned(),
            input: body["input_file_id"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            metadata: body["metadata"].clone(),
            rows,
            state: if fails {
                BatchState::Failed
            } else {
                BatchState::Working
            },
            done: None,
        };
        let plan = ok(&batch.shown());
        self.batches.push(batch);
        ResponsePlan {
            before: script.before_first_batch(number),
            ..plan
        }
    }
}

impl FakeBatch {
    /// Counts a status request and ends the batch when it is due.
    fn look(&mut self, asked: &RecordedRequest, script: &ReplyScript) {
        self.looks += 1;
        let is_stuck = self
            .rows
            .iter()
            .any(|(_, body)| body["model"] == "fake-stuck");
        if self.state != BatchState::Working || self.looks < LOOKS || is_stuck {
            return;
        }
        self.state = BatchState::Ended;
        self.done = Some(self.results(asked, script));
    }

    fn cancel(&mut self) {
        if self.state == BatchState::Working {
            self.state = BatchState::Cancelled;
            let lines: Vec<String> = self
                .rows
                .iter()
                .map(|(id, _)| self.unasked(id, true))
                .collect();
            self.done = Some((String::new(), lines.concat()));
        }
    }

    /// Returns the result lines of successful and of failed rows, last row first.
    fn results(&self, asked: &RecordedRequest, script: &ReplyScript) -> (String, String) {
        let (mut done, mut failed) = (String::new(), String::new());
        for (id, body) in self.rows.iter().rev() {
            if body["model"] == "fake-expired" {
                failed += &self.unasked(id, false);
                continue;
            }
            let wire = match self.endpoint.as_str() {
                "/v1/responses" => ProviderApi::OpenAiResponses,
                _ => self.wire,
            };
            let row = RecordedRequest {
                wire: Some(wire),
                method: "POST".to_owned(),
                body: body.to_string().into(),
                model: body["model"].as_str().unwrap_or_default().to_owned(),
                streaming: false,
                include_usage: false,
                ..asked.clone()
            };
            let turn = script.answer(&row);
            let (status, body) = match &turn.fault {
                Some(InjectedFault::Refuse(refusal)) => {
                    let (status, _, body) = wire.refuse(refusal, &row);
                    (status, body)
                }
                _ => (200, wire.whole(&turn, &row)),
            };
            let body: Value = serde_json::from_str(&body).unwrap_or_default();
            let line = if self.wire == ProviderApi::Anthropic {
                let result = if status == 200 {
                    json!({"type": "succeeded", "message": body})
                } else {
                    json!({"type": "errored", "error": body})
                };
                json!({"custom_id": id, "result": result})
            } else {
                json!({"id": format!("batch_req_{id}"), "custom_id": id, "error": null,
                    "response": {"status_code": status, "request_id": format!("req-{id}"), "body": body}})
            };
            let out = if status == 200 {
                &mut done
            } else {
                &mut failed
            };
            *out += &format!("{line}\n");
        }
        (done, failed)
    }

    /// Returns the result line of a row that was cancelled or has expired.
    fn unasked(&self, id: &str, cancelled: bool) -> String {
        let line = if self.wire == ProviderApi::Anthropic {
            let kind = if cancelled { "canceled" } else { "expired" };
            json!({"custom_id": id, "result": {"type": kind}})
        } else {
            let code = if cancelled {
                "batch_cancelled"
            } else {
                "batch_expired"
            };
            let message =
                "This request could not be executed before the completion window expired.";
            json!({"id": format!("batch_req_{id}"), "custom_id": id, "response": null,
                "error": {"code": code, "message": message}})
        };
        format!("{line}\n")
    }

    fn shown(&self) -> Value {
        let rows = self.rows.len();
        let (done, failed) = match &self.done {
            Some((done, failed)) => (done.lines().count(), failed.lines().count()),
            None => (0, 0),
        };
        if self.wire == ProviderApi::Anthropic {
            let ended = self.state != BatchState::Working;
            let results = format!(
                "http://elsewhere.invalid/v1/messages/batches/{}/results",
                self.id
            );
            return json!({
                "id": self.id, "type": "message_batch",
                "processing_status": if ended { "ended" } else { "in_progress" },
                "request_counts": {"processing": if ended { 0 } else { rows },
                    "succeeded": done, "errored": failed, "canceled": 0, "expired": 0},
                "created_at": CREATED, "expires_at": CREATED, "archived_at": null,
                "ended_at": ended.then_some(CREATED), "cancel_initiated_at": null,
                "results_url": ended.then_some(results),
            });
        }
        let tag = self.id.trim_start_matches("batch");
        let file = |what: &str, lines: usize| (lines > 0).then(|| format!("file-{tag}-{what}"));
        let status = match self.state {
            BatchState::Working => "in_progress",
            BatchState::Failed => "failed",
            BatchState::Ended => "completed",
            BatchState::Cancelled => "cancelled",
        };
        let errors = (self.state == BatchState::Failed).then(|| {
            json!({"object": "list", "data": [{"code": "invalid_model", "line": 1, "param": "model",
                "message": "This model cannot be used in a batch."}]})
        });
        json!({
            "id": self.id, "object": "batch", "endpoint": self.endpoint, "errors": errors,
            "input_file_id": self.input, "completion_window": "24h", "status": status,
            "output_file_id": file("out", done), "error_file_id": file("err", failed),
            "created_at": self.created, "in_progress_at": self.created,
            "expires_at": self.created + 86_400,
            "request_counts": {"total": rows, "completed": done, "failed": failed},
            "metadata": self.metadata,
        })
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn ok(body: &Value) -> ResponsePlan {
    ResponsePlan::json(200, vec![json_type()], body.to_string().into())
}

fn refused(asked: &RecordedRequest, wire: ProviderApi) -> ResponsePlan {
    let (status, headers, body) = wire.refuse(&ErrorResponse::NotFound, asked);
    ResponsePlan::json(status, headers, body.into())
}
