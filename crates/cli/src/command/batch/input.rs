//! Reads the input file of a batch into the queue, unless the queue already contains it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use quillet_core::Exit;
use quillet_core::batch::{BatchService, FileChunk, FileInfo, RowSplitter};
use quillet_core::clock;
use quillet_server::LocalWork;
use serde_json::{Map, Value, json};

use crate::failure::CliError;
use crate::terminal;

/// Completion window of a local batch.
const WINDOW: (&str, u64) = ("30d", 30 * 86_400);
const CHAT: &str = "/v1/chat/completions";
/// Number of bytes to collect before writing to the queue.
const WRITTEN: usize = 1 << 20;
/// Maximum number of errors before reading stops.
const MOST: usize = 20;

/// The input file of a batch.
#[derive(Debug)]
pub(super) struct InputReader {
    path: PathBuf,
    model: Option<String>,
    /// Whether the rows go to the batch API of a provider.
    provider: bool,
    /// Fingerprint of the file and the model.
    mark: String,
}

impl InputReader {
    pub(super) fn open(path: &Path, model: Option<&str>, provider: bool) -> Result<Self, CliError> {
        let mut file = BufReader::with_capacity(1 << 16, opened(path)?);
        let mut buffer = vec![0; 1 << 16];
        let (mut size, mut sum) = (0_u64, FNV);
        loop {
            let count = file
                .read(&mut buffer)
                .map_err(|error| read_error(path, &error))?;
            if count == 0 {
                break;
            }
            size += count as u64;
            sum = fnv_hash(sum, &buffer[..count]);
        }
        // The mark includes the model, because resuming with another model would mix the answers of
        // two models.
        sum = fnv_hash(sum, model.unwrap_or_default().as_bytes());
        if provider {
            sum = fnv_hash(sum, b"provider");
        }
        Ok(InputReader {
            path: path.to_owned(),
            model: model.map(str::to_owned),
            provider,
            mark: format!("{size} bytes, {sum:016x}"),
        })
    }

    /// Returns the batch of this file: the one in the queue, or a new one.
    pub(super) async fn begin(
        &self,
        work: &LocalWork,
        batching: &BatchService,
    ) -> Result<String, CliError> {
        let (id, owner) = work.new_file();
        let store = &batching.store;
        if let Some(known) = store.batches(owner).await?.into_iter().next() {
            let batch = store.batch(&known).await?;
            let input = match &batch {
                Some(batch) => store.file(&batch.order.input).await?,
                None => None,
            };
            // The queue belongs to another file or model, so its finished rows cannot be reused.
            if input.is_none_or(|input| input.name != self.mark) {
                return Err(CliError::Usage(format!(
                    "{} belongs to an unfinished batch with another file or -m: finish that batch, or remove the queue file",
                    store.describe()
                )));
            }
            return Ok(known);
        }
        let (bytes, endpoint) = self.read(&id, batching).await?;
        let now = clock::millis() / 1000;
        let file = FileInfo {
            id,
            owner: owner.to_owned(),
            name: self.mark.clone(),
            purpose: "batch".to_owned(),
            bytes,
            created: now,
            expires: now + WINDOW.1 + batching.options.keep.as_secs(),
        };
        store.keep_file(&file).await?;
        let order = work.order(&file.id, &endpoint, WINDOW.0, WINDOW.1, self.provider);
        store.begin(&order).await?;
        Ok(order.id)
    }

    /// Writes the file to the queue as numbered batch lines.
    async fn read(&self, id: &str, batching: &BatchService) -> Result<(u64, String), CliError> {
        let options = &batching.options;
        let mut file = BufReader::with_capacity(1 << 16, opened(&self.path)?);
        let mut cutter = RowSplitter::new(usize::MAX);
        let (mut waiting, mut size) = (Vec::<FileChunk>::new(), 0);
        let (mut line, mut number, mut wrong) = (Vec::new(), 0_u64, 0);
        let mut endpoint: Option<String> = None;
        let expires = clock::millis() / 1000 + WINDOW.1;
        let most = options.line_bytes as u64;
        loop {
            line.clear();
            // One byte more than the limit shows that a line is too long without reading all of it.
            let mut bounded = (&mut file).take(most + 1);
            let count = bounded.read_until(b'\n', &mut line);
            if count.map_err(|error| read_error(&self.path, &error))? == 0 {
                break;
            }
            number += 1;
            let row = if line.len() as u64 > most {
                let why = format!("line too long: limit {most} bytes (batch.line_bytes)");
                self.print_line_error(number, &why);
                return Err(CliError::Said(Exit::Usage));
            } else {
                self.row(number, &line, &mut endpoint)
            };
            match row {
                Ok(row) => {
                    size += row.len();
                    cutter.add(row.as_bytes(), &mut waiting).map_err(|long| {
                        CliError::Other(format!("line {} is too long", long.line))
                    })?;
                }
                Err(why) => {
                    self.print_line_error(number, &why);
                    wrong += 1;
                    // A file with another format fails on every line; the first errors are enough.
                    if wrong >= MOST {
                        break;
                    }
                }
            }
            // Written in parts, so memory does not grow with the file.
            if size >= WRITTEN {
                batching.store.add_pieces(id, &waiting, expires).await?;
                waiting.clear();
                size = 0;
            }
        }
        if wrong > 0 {
            return Err(CliError::Said(Exit::Usage));
        }
        let bytes = cutter.bytes();
        waiting.extend(cutter.end());
        batching.store.add_pieces(id, &waiting, expires).await?;
        Ok((bytes, endpoint.unwrap_or_else(|| CHAT.to_owned())))
    }

    fn print_line_error(&self, line: u64, why: &str) {
        terminal::error(&format!("{}:{line}: {why}", self.path.display()));
    }

    /// Converts a line of the file to a batch line.
    fn row(
        &self,
        number: u64,
        line: &[u8],
        endpoint: &mut Option<String>,
    ) -> Result<String, String> {
        // Some editors on Windows add a byte order mark at the start of a file.
        let line = if number == 1 {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        if line.trim_ascii().is_empty() {
            // Stored as an empty line, so that later lines keep their numbers.
            return Ok("\n".to_owned());
        }
        let read: Value = serde_json::from_slice(line)
            .map_err(|error| format!("invalid JSON ({error}): write one object per line"))?;
        let Value::Object(mut members) = read else {
            return Err("expected an object: write one object per line".to_owned());
        };
        let row = if members.contains_key("custom_id") && members.contains_key("body") {
            if let Some(url) = members.get("url").and_then(Value::as_str) {
                endpoint.get_or_insert_with(|| url.to_owned());
            }
            if let (Some(model), Some(Value::Object(body))) = (&self.model, members.get_mut("body"))
            {
                // `-m` is only a default: a request keeps the model that it sets.
                body.entry("model").or_insert_with(|| model.as_str().into());
            }
            Value::Object(members)
        } else {
            endpoint.get_or_insert_with(|| CHAT.to_owned());
            self.rendered(number, &members)?
        };
        Ok(format!("{row}\n"))
    }

    /// Renders the request for a row of variables.
    fn rendered(&self, number: u64, variables: &Map<String, Value>) -> Result<Value, String> {
        match self.model.as_deref() {
            Some(model) if model.starts_with("prompt/") => Ok(json!({
                "custom_id": format!("row-{number}"),
                "method": "POST",
                "url": CHAT,
                "body": {"model": model, "variables": variables, "messages": []},
            })),
            Some(model) => Err(format!(
                "variables need a prompt: pass -m prompt/ID instead of {model}, or write a request with custom_id and body"
            )),
            None => Err(
                "variables need a prompt: pass -m prompt/ID, or write a request with custom_id and body".to_owned(),
            ),
        }
    }
}

fn opened(path: &Path) -> Result<File, CliError> {
    File::open(path).map_err(|error| read_error(path, &error))
}

fn read_error(path: &Path, error: &std::io::Error) -> CliError {
    CliError::Usage(format!("cannot read {}: {error}", path.display()))
}

/// Offset basis of FNV-1a.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Computes FNV-1a, which is the same in every version of this program.
fn fnv_hash(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
