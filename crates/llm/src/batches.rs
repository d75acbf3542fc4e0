//! Batch APIs of OpenAI (`/v1/files`, `/v1/batches`) and Anthropic (`/v1/messages/batches`): many
//! requests at half the price, answered within a day. The [`Protocol`](crate::Protocol) encodes the
//! requests and decodes the answers; this module only submits batches and fetches their results.

use std::time::Duration;

use quillet_core::budget::{Amount, BudgetAccounts};
use quillet_core::chat::{ChatEvent, ChatRequest, ModelError, ModelErrorKind};
use reqwest::Method;
use serde_json::{Value, json};

use crate::models::refusals::remove_refused;
use crate::models::{ModelRouter, Vendor};
use crate::provider::Provider;

/// Price of a batch request as a fraction of the regular price.
pub const BATCH_PRICE: f64 = 0.5;
/// Limits of a batch at OpenAI and Anthropic: rows, and their total bytes.
const OPENAI: (usize, usize) = (50_000, 200_000_000);
const ANTHROPIC: (usize, usize) = (100_000, 256_000_000);
/// Number of recent batches searched for a submitted batch whose id was lost.
const LISTED: usize = 100;

/// Requests for one model in the format of its provider's batch API.
#[derive(Debug)]
pub struct ProviderBatches {
    vendor: Vendor,
    model: String,
    provider: Provider,
}

/// State of a provider's batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// The provider is processing the batch.
    Working,
    /// The results can be fetched. Rows that were not processed in time have none.
    Ended,
    /// The provider rejected the batch for this reason.
    Failed(String),
}

/// Result of a row.
#[derive(Clone, Debug)]
pub enum RowOutcome {
    /// The model answered.
    Answered(Vec<ChatEvent>),
    /// The provider rejected the row, or its answer is invalid.
    Failed(ModelError),
    /// The row expired or was cancelled before the provider processed it.
    Unasked,
}

impl ProviderBatches {
    /// Returns the batch API for a request, and the request body in its format.
    ///
    /// # Errors
    /// The model's provider has no batch API, or its API cannot express the request.
    pub fn of(models: &ModelRouter, request: &ChatRequest) -> Result<(Self, Value), ModelError> {
        let named = request.model.as_deref().filter(|model| !model.is_empty());
        let Some(model) = named.or(models.default_model()) else {
            let message = "no model is set: set one in the row, or set model.name";
            return Err(ModelError::new(ModelErrorKind::Configuration, message));
        };
        let (vendor, name) = models.choose(model);
        let batches = ProviderBatches::named(models, vendor, name)?;
        models.warn_refused(name, &request.options);
        let mut request = request.clone();
        remove_refused(name, &mut request.options);
        let mut body = batches.provider.protocol().write(name, &request)?;
        if let Some(members) = body.as_object_mut() {
            members.remove("stream");
            members.remove("stream_options");
        }
        Ok((batches, body))
    }

    /// Returns the batch API for a name from [`ProviderBatches::name`].
    ///
    /// # Errors
    /// Same as [`ProviderBatches::of`].
    pub fn by_name(models: &ModelRouter, name: &str) -> Result<Self, ModelError> {
        let (vendor, model) = name.split_once(' ').unwrap_or(("", name));
        let all = [Vendor::OpenAi, Vendor::OpenAiResponses, Vendor::Anthropic];
        let found = all.into_iter().find(|known| word(*known) == vendor);
        ProviderBatches::named(models, found.unwrap_or(Vendor::Mock), model)
    }

    fn named(models: &ModelRouter, vendor: Vendor, model: &str) -> Result<Self, ModelError> {
        if matches!(vendor, Vendor::Google | Vendor::Mock) {
            let message = format!(
                "no batch API for the model {model}: only models of OpenAI and Anthropic have one; run the batch without provider_batch"
            );
            return Err(ModelError::new(ModelErrorKind::Refused, message));
        }
        Ok(ProviderBatches {
            vendor,
            model: model.to_owned(),
            provider: models.provider(vendor)?,
        })
    }

    /// Name of the API and the model, valid in other processes. Requests with the same name can
    /// share a batch.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", word(self.vendor), self.model)
    }

    /// Returns the provider's name for the model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the maximum cost of a batch request, or zero if no budget applies to the caller.
    ///
    /// # Errors
    /// A money budget applies, and the price of the model is unknown.
    pub fn max_cost(
        &self,
        models: &ModelRouter,
        payer: &BudgetAccounts,
        request: &ChatRequest,
    ) -> Result<Amount, ModelError> {
        let asked = models.priced_model(self.vendor, &self.model, false);
        match models.spending() {
            Some(spending) if payer.is_limited() => {
                spending.max_call_cost(payer, request, &asked, BATCH_PRICE)
            }
            _ => Ok(Amount::default()),
        }
    }

    /// Returns the cost of an answer, or zero if the provider reports no usage.
    #[must_use]
    pub fn cost(&self, models: &ModelRouter, events: &[ChatEvent]) -> Amount {
        let usage = events.iter().rev().find_map(|event| match event {
            ChatEvent::Usage(usage) => Some(*usage),
            _ => None,
        });
        let asked = models.priced_model(self.vendor, &self.model, false);
        match (models.spending(), usage) {
            (Some(spending), Some(usage)) => spending.call_cost(&asked, &usage, BATCH_PRICE),
            _ => Amount::default(),
        }
    }

    /// Maximum number of rows in a batch, and their maximum total bytes.
    #[must_use]
    pub fn limits(&self) -> (usize, usize) {
        match self.vendor {
            Vendor::Anthropic => ANTHROPIC,
            _ => OPENAI,
        }
    }

    /// Encodes a row of the batch. An id consists of at most 64 letters, digits, `-` and `_`.
    #[must_use]
    pub fn row(&self, id: &str, body: &Value) -> Vec<u8> {
        let row = match self.vendor {
            Vendor::Anthropic => json!({"custom_id": id, "params": body}),
            _ => json!({"custom_id": id, "method": "POST", "url": self.endpoint(), "body": body}),
        };
        serde_json::to_vec(&row).unwrap_or_default()
    }

    fn endpoint(&self) -> String {
        format!("/v1{}", self.provider.protocol().path(&self.model))
    }

    fn path(&self) -> &'static str {
        match self.vendor {
            Vendor::Anthropic => "/messages/batches",
            _ => "/batches",
        }
    }

    /// Submits rows and returns the provider's id of the batch. `mark` identifies the batch.
    ///
    /// # Errors
    /// The provider rejects the batch or does not respond. If the provider does not respond, the
    /// batch may still exist; see [`ProviderBatches::find`].
    pub async fn submit(&self, mark: &str, rows: &[Vec<u8>]) -> Result<String, ModelError> {
        let made = if self.vendor == Vendor::Anthropic {
            let mut body = b"{\"requests\":[".to_vec();
            body.extend(rows.join(&b','));
            body.extend(b"]}");
            self.call(Method::POST, self.path(), body).await?
        } else {
            let file = self.upload(mark, rows).await?;
            let order = json!({"input_file_id": file, "endpoint": self.endpoint(),
                "completion_window": "24h", "metadata": {"quillet": mark}});
            self.call(Method::POST, self.path(), order.to_string().into())
                .await?
        };
        self.text(&made, "id")
    }

    /// Uploads rows and returns the id of the file.
    async fn upload(&self, mark: &str, rows: &[Vec<u8>]) -> Result<String, ModelError> {
        // The boundary must not occur in the data, so it contains the random mark.
        let boundary = format!("quillet-{mark}");
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
             --{boundary}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"rows.jsonl\"\r\n\
             content-type: application/jsonl\r\n\r\n"
        );
        let mut body = head.into_bytes();
        body.extend(rows.join(&b'\n'));
        body.extend(format!("\n\r\n--{boundary}--\r\n").into_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        let file = self
            .provider
            .call(Method::POST, "/files", Some(&kind), body)
            .await?;
        self.text(&self.json(&file)?, "id")
    }

    /// Finds the batch with this mark. Anthropic stores no mark, so the latest batch with the same
    /// number of rows is returned; only its results show whether it is the batch with this mark.
    ///
    /// # Errors
    /// The provider does not respond.
    pub async fn find(&self, mark: &str, rows: usize) -> Result<Option<String>, ModelError> {
        let path = format!("{}?limit={LISTED}", self.path());
        let list = self.call(Method::GET, &path, Vec::new()).await?;
        let all = list.get("data").and_then(Value::as_array);
        let is_it = |job: &&Value| match self.vendor {
            Vendor::Anthropic => {
                let counts = job.get("request_counts").and_then(Value::as_object);
                let counts = counts.into_iter().flat_map(|counts| counts.values());
                counts.filter_map(Value::as_u64).sum::<u64>() == rows as u64
            }
            _ => job.pointer("/metadata/quillet").and_then(Value::as_str) == Some(mark),
        };
        let found = all.and_then(|all| all.iter().find(is_it));
        found.map(|job| self.text(job, "id")).transpose()
    }

    /// Returns the state of a batch.
    ///
    /// # Errors
    /// The provider does not respond, or the batch does not exist.
    pub async fn state(&self, job: &str) -> Result<JobState, ModelError> {
        let job = self.get(job).await?;
        if self.vendor == Vendor::Anthropic {
            let ended = job.get("processing_status").and_then(Value::as_str) == Some("ended");
            return Ok(if ended {
                JobState::Ended
            } else {
                JobState::Working
            });
        }
        Ok(match job.get("status").and_then(Value::as_str) {
            Some("completed" | "expired" | "cancelled") => JobState::Ended,
            Some("failed") => {
                let first = job
                    .pointer("/errors/data/0/message")
                    .and_then(Value::as_str);
                JobState::Failed(first.unwrap_or("the provider gives no reason").to_owned())
            }
            _ => JobState::Working,
        })
    }

    /// Cancels a batch. Rows that were answered before the cancellation can be fetched after the
    /// batch has ended.
    ///
    /// # Errors
    /// The provider does not respond.
    pub async fn cancel(&self, job: &str) -> Result<(), ModelError> {
        let path = format!("{}/{job}/cancel", self.path());
        self.call(Method::POST, &path, Vec::new()).await.map(|_| ())
    }

    /// Returns the results of an ended batch and their row ids, in any order.
    ///
    /// # Errors
    /// The provider does not respond.
    pub async fn results(&self, job: &str) -> Result<Vec<(String, RowOutcome)>, ModelError> {
        let paths: Vec<String> = if self.vendor == Vendor::Anthropic {
            // The documented path is used instead of `results_url`, which may point to another
            // server if there is a gateway. The other server must not receive the key of the
            // gateway.
            vec![format!("{}/{job}/results", self.path())]
        } else {
            let job = self.get(job).await?;
            let files = ["output_file_id", "error_file_id"];
            let files = files.iter().filter_map(|name| job.get(*name)?.as_str());
            files.map(|id| format!("/files/{id}/content")).collect()
        };
        let mut outcomes = Vec::new();
        for path in paths {
            let bytes = self
                .provider
                .call(Method::GET, &path, None, Vec::new())
                .await?;
            for line in bytes.split(|byte| *byte == b'\n') {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let line: Value = serde_json::from_slice(line).map_err(|error| {
                    self.odd(&format!("invalid JSON in a line of the results: {error}"))
                })?;
                outcomes.push((self.text(&line, "custom_id")?, self.outcome(&line)));
            }
        }
        Ok(outcomes)
    }

    fn outcome(&self, line: &Value) -> RowOutcome {
        if self.vendor == Vendor::Anthropic {
            return match line.pointer("/result/type").and_then(Value::as_str) {
                Some("succeeded") => self.read(line.pointer("/result/message")),
                Some("errored") => {
                    let body = line.pointer("/result/error").unwrap_or(&Value::Null);
                    let kind = body.pointer("/error/type").and_then(Value::as_str);
                    self.failed(status_of(kind.unwrap_or_default()), body)
                }
                _ => RowOutcome::Unasked,
            };
        }
        let status = line
            .pointer("/response/status_code")
            .and_then(Value::as_u64);
        let body = line.pointer("/response/body");
        match status {
            Some(200..300) => self.read(body),
            Some(status) => {
                let status = u16::try_from(status).unwrap_or(500);
                self.failed(status, body.unwrap_or(&Value::Null))
            }
            None => match line.pointer("/error/code").and_then(Value::as_str) {
                Some("batch_expired" | "batch_cancelled") | None => RowOutcome::Unasked,
                Some(_) => self.failed(500, line),
            },
        }
    }

    /// Decodes an answer with the decoder of the provider API.
    fn read(&self, body: Option<&Value>) -> RowOutcome {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut decoder = self.provider.protocol().decoder(&self.model);
        let mut events = Vec::new();
        let read = decoder.decode_body(body.as_bytes(), &mut events);
        match read.and_then(|()| decoder.end(&mut events)) {
            Ok(()) => RowOutcome::Answered(events),
            Err(error) => RowOutcome::Failed(error),
        }
    }

    fn failed(&self, status: u16, body: &Value) -> RowOutcome {
        RowOutcome::Failed(self.provider.refusal(status, &body.to_string()))
    }

    async fn get(&self, job: &str) -> Result<Value, ModelError> {
        let path = format!("{}/{job}", self.path());
        self.call(Method::GET, &path, Vec::new()).await
    }

    async fn call(&self, method: Method, path: &str, body: Vec<u8>) -> Result<Value, ModelError> {
        let bytes = self.provider.call(method, path, None, body).await?;
        self.json(&bytes)
    }

    fn json(&self, bytes: &[u8]) -> Result<Value, ModelError> {
        serde_json::from_slice(bytes)
            .map_err(|error| self.odd(&format!("the answer is not JSON: {error}")))
    }

    fn text(&self, value: &Value, member: &str) -> Result<String, ModelError> {
        let text = value.get(member).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| self.odd(&format!("the answer has no {member}")))
    }

    fn odd(&self, cause: &str) -> ModelError {
        let message = format!("the batch API of {}: {cause}", self.name());
        ModelError::new(ModelErrorKind::Protocol, message)
    }
}

/// Short name of the provider API.
fn word(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::OpenAi => "openai",
        Vendor::OpenAiResponses => "openai-responses",
        Vendor::Anthropic => "anthropic",
        Vendor::Google | Vendor::Mock => "none",
    }
}

/// HTTP status that matches an Anthropic error type, because batch results have no status.
fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// Returns the pauses between checks of a batch, which grow from half a second to a minute.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use quillet_llm::batches::pauses;
///
/// let first: Vec<Duration> = pauses().take(2).collect();
/// assert_eq!(first, [500, 750].map(Duration::from_millis));
/// ```
pub fn pauses() -> impl Iterator<Item = Duration> {
    let next = |pause: &Duration| Some((*pause * 3 / 2).min(Duration::from_secs(60)));
    std::iter::successors(Some(Duration::from_millis(500)), next)
}
