//! The batch APIs of OpenAI (`/v1/files`, `/v1/batches`) and Anthropic (`/v1/messages/batches`):
//! many requests at half the price, answered within a day. Requests are written and answers are read
//! by the wires themselves; here is only how they are handed over and fetched.

use std::time::Duration;

use quillet_core::budget::{Amount, BudgetAccounts};
use quillet_core::chat::{ChatEvent, ChatRequest, ModelError, ModelErrorKind};
use reqwest::Method;
use serde_json::{Value, json};

use crate::models::{ModelRouter, Vendor};
use crate::provider::Provider;

/// What a batch costs of what its requests would cost by themselves.
pub const BATCH_PRICE: f64 = 0.5;
/// The bounds of OpenAI and of Anthropic: rows, and bytes of all of them.
const OPENAI: (usize, usize) = (50_000, 200_000_000);
const ANTHROPIC: (usize, usize) = (100_000, 256_000_000);
/// Batches that are looked through for one that was handed over and not written down.
const LISTED: usize = 100;

/// Requests of one model, as its provider's batch API takes them.
#[derive(Debug)]
pub struct ProviderBatches {
    vendor: Vendor,
    model: String,
    provider: Provider,
}

/// How a provider's batch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It is worked on.
    Working,
    /// Its results can be fetched: of all rows, or of those that were done in time.
    Ended,
    /// It was not taken, for this reason.
    Failed(String),
}

/// What a row came to.
#[derive(Clone, Debug)]
pub enum RowOutcome {
    /// It was answered.
    Answered(Vec<ChatEvent>),
    /// The provider refused it, or its answer cannot be read.
    Failed(ModelError),
    /// Its time was over before it was asked, or its batch was cancelled.
    Unasked,
}

impl ProviderBatches {
    /// The batch API for a request, and the body that the request is there.
    ///
    /// # Errors
    /// Nobody offers one for this model, or the request cannot be said in its wire.
    pub fn of(models: &ModelRouter, request: &ChatRequest) -> Result<(Self, Value), ModelError> {
        let named = request.model.as_deref().filter(|model| !model.is_empty());
        let Some(model) = named.or(models.default_model()) else {
            let message = "no model is named: name one in the row, or set model.name";
            return Err(ModelError::new(ModelErrorKind::Configuration, message));
        };
        let (vendor, name) = models.choose(model);
        let batches = ProviderBatches::named(models, vendor, name)?;
        let mut body = batches.provider.protocol().write(name, request)?;
        if let Some(members) = body.as_object_mut() {
            members.remove("stream");
            members.remove("stream_options");
        }
        Ok((batches, body))
    }

    /// The same by the name that [`ProviderBatches::name`] gave.
    ///
    /// # Errors
    /// As [`ProviderBatches::of`].
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

    /// Which wire and which model, in words that another process understands. Requests of one name
    /// may be in one batch.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", word(self.vendor), self.model)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What a request may cost at most here, for whoever pays.
    ///
    /// # Errors
    /// Money is limited, and nobody knows what the model costs.
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

    /// What an answer cost here; nothing where the provider does not say.
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

    /// The most rows of a batch, and the most bytes of all of them.
    #[must_use]
    pub fn limits(&self) -> (usize, usize) {
        match self.vendor {
            Vendor::Anthropic => ANTHROPIC,
            _ => OPENAI,
        }
    }

    /// A row as it is handed over. An id has letters, digits, `-` and `_`, 64 at most.
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

    /// Hands rows over; the provider's id of the batch. `mark` tells the batch from all others.
    ///
    /// # Errors
    /// The provider refuses it, or does not answer: then it may have it all the same
    /// ([`ProviderBatches::find`]).
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

    /// Uploads rows; the id of the file.
    async fn upload(&self, mark: &str, rows: &[Vec<u8>]) -> Result<String, ModelError> {
        // What separates the parts must not be in one: the mark is a random text.
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

    /// The batch with a mark, if the provider has it. Anthropic's have none: there it is the one
    /// with as many rows that was made last, which its results tell for certain.
    ///
    /// # Errors
    /// The provider does not answer.
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

    /// How a batch stands.
    ///
    /// # Errors
    /// The provider does not answer, or has no such batch.
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

    /// Ends a batch; what was answered until then can be fetched once it has ended.
    ///
    /// # Errors
    /// The provider does not answer.
    pub async fn cancel(&self, job: &str) -> Result<(), ModelError> {
        let path = format!("{}/{job}/cancel", self.path());
        self.call(Method::POST, &path, Vec::new()).await.map(|_| ())
    }

    /// What the rows of a batch that has ended came to, by their ids, in whatever order.
    ///
    /// # Errors
    /// The provider does not answer.
    pub async fn results(&self, job: &str) -> Result<Vec<(String, RowOutcome)>, ModelError> {
        let paths: Vec<String> = if self.vendor == Vendor::Anthropic {
            // The documented path, and not `results_url`: behind a gateway that is another server,
            // which must not get this one's key.
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

    /// An answer, by the wire's own reader.
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

/// The wire in a word.
fn word(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::OpenAi => "openai",
        Vendor::OpenAiResponses => "openai-responses",
        Vendor::Anthropic => "anthropic",
        Vendor::Google | Vendor::Mock => "none",
    }
}

/// The status that goes with the type of an error of Anthropic's: a batch has none.
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

/// The pauses between two looks at a batch: from half a second to a minute.
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
