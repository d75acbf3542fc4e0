//! Validates the input of a batch in one pass before its rows run.
//!
//! Ids are compared by hash, which needs eight bytes per row. Only if two hashes are equal, a
//! second pass compares those ids themselves.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use quillet_core::ErrorCode;
use quillet_core::batch::{BatchOptions, FileChunk, LineError, lines};

use super::line::{BatchBody, BatchRequest};

/// The maximum number of errors. The remaining input is not validated.
const MOST: usize = 100;

/// The result of the validation so far.
#[derive(Debug)]
pub(super) struct InputCheck {
    endpoint: String,
    rows: u64,
    limit: u64,
    /// The numbers of the chunks with rows.
    units: Vec<u64>,
    hasher: RandomState,
    ids: Vec<u64>,
    wrong: Vec<LineError>,
}

impl InputCheck {
    pub(super) fn new(endpoint: &str, options: &BatchOptions) -> Self {
        InputCheck {
            endpoint: endpoint.to_owned(),
            rows: 0,
            limit: options.rows,
            units: Vec::new(),
            hasher: RandomState::new(),
            ids: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Validates a chunk of the file. Returns `false` if the validation can stop.
    pub(super) fn piece(&mut self, piece: &FileChunk) -> bool {
        let before = self.rows;
        for (number, line) in lines(piece) {
            self.rows += 1;
            if self.rows > self.limit {
                let message = format!(
                    "the file has more rows than the limit of {} (batch.rows)",
                    self.limit
                );
                self.wrong
                    .push(error(ErrorCode::BatchRows, message, Some(number), None));
                return false;
            }
            match read(line, &self.endpoint) {
                Ok(id) => self.ids.push(self.hasher.hash_one(id.as_str())),
                Err((code, message, param)) => {
                    self.wrong.push(error(code, message, Some(number), param));
                }
            }
            // A file in the wrong format has an error on every line. A hundred errors are enough to
            // see the pattern.
            if self.wrong.len() >= MOST {
                return false;
            }
        }
        if self.rows > before {
            self.units.push(piece.number);
        }
        true
    }

    /// Returns the hashes that occur more than once. Call it after the last chunk.
    pub(super) fn equal_hashes(&mut self) -> HashSet<u64> {
        if self.rows == 0 {
            let message = "the file is empty: write one request on each line".to_owned();
            self.wrong
                .push(error(ErrorCode::BatchEmpty, message, None, None));
        }
        let mut ids = std::mem::take(&mut self.ids);
        ids.sort_unstable();
        let pairs = ids.windows(2).filter(|pair| pair[0] == pair[1]);
        pairs.map(|pair| pair[0]).collect()
    }

    /// Searches a chunk for duplicate ids among those with equal hashes. `first` holds the first
    /// occurrence of each id.
    pub(super) fn check_duplicates(
        &mut self,
        piece: &FileChunk,
        alike: &HashSet<u64>,
        first: &mut HashMap<String, u64>,
    ) {
        for (number, line) in lines(piece) {
            let Ok(id) = read(line, &self.endpoint) else {
                continue;
            };
            if !alike.contains(&self.hasher.hash_one(id.as_str())) || self.wrong.len() >= MOST {
                continue;
            }
            let before = *first.entry(id.clone()).or_insert(number);
            if before != number {
                let message = format!("duplicate custom_id {id:?}: line {before} already has it");
                let param = Some("custom_id");
                self.wrong.push(error(
                    ErrorCode::BatchDuplicate,
                    message,
                    Some(number),
                    param,
                ));
            }
        }
    }

    /// Returns the number of rows and the chunks, or the errors.
    pub(super) fn end(mut self) -> Result<(u64, Vec<u64>), Vec<LineError>> {
        self.wrong.sort_by_key(|wrong| wrong.line);
        if self.wrong.is_empty() {
            Ok((self.rows, self.units))
        } else {
            Err(self.wrong)
        }
    }
}

pub(super) fn error(
    code: ErrorCode,
    message: String,
    line: Option<u64>,
    param: Option<&str>,
) -> LineError {
    LineError {
        code: code.as_str().to_owned(),
        message,
        line,
        param: param.map(str::to_owned),
    }
}

type RowError = (ErrorCode, String, Option<&'static str>);

/// Returns the id of a valid request.
fn read(line: &[u8], endpoint: &str) -> Result<String, RowError> {
    let read: BatchRequest<'_> = serde_json::from_slice(line).map_err(|error| {
        let (code, what) = match error.classify() {
            serde_json::error::Category::Data => (ErrorCode::BatchMember, "does not fit"),
            _ => (ErrorCode::BatchLine, "is not a JSON object"),
        };
        (code, format!("the line {what}: {error}"), None)
    })?;
    let member = |name, message: &str| (ErrorCode::BatchMember, message.to_owned(), Some(name));
    let id = read.custom_id.filter(|id| !id.is_empty());
    let id =
        id.ok_or_else(|| member("custom_id", "custom_id is missing: give each line its own"))?;
    if read.method.as_deref() != Some("POST") {
        return Err(member("method", "method must be \"POST\""));
    }
    match read.url.as_deref() {
        Some(url) if url == endpoint => {}
        url => {
            let message = format!(
                "url is {:?}, but the endpoint of the batch is {endpoint:?}",
                url.unwrap_or_default()
            );
            return Err((ErrorCode::BatchUrl, message, Some("url")));
        }
    }
    let body = read.body.map(|body| body.get());
    let body = body.filter(|body| body.starts_with('{'));
    let body = body.ok_or_else(|| member("body", "body must be the JSON object of a request"))?;
    let body: BatchBody = serde_json::from_str(body)
        .map_err(|error| member("body", &format!("invalid body: {error}")))?;
    // A batch result is one line of JSON, so it cannot contain a stream.
    if body.stream == true {
        let message = "stream is not supported in a batch: omit it";
        return Err(member("body.stream", message));
    }
    Ok(id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = "/v1/chat/completions";

    /// The code and line of each error.
    type Findings = Vec<(String, Option<u64>)>;

    fn found(text: &str, rows: u64) -> Result<(u64, Vec<u64>), Findings> {
        let options = BatchOptions {
            rows,
            ..BatchOptions::default()
        };
        let mut check = InputCheck::new(CHAT, &options);
        let piece = FileChunk {
            number: 1,
            bytes: text.as_bytes().to_vec(),
        };
        check.piece(&piece);
        let alike = check.equal_hashes();
        if !alike.is_empty() {
            check.check_duplicates(&piece, &alike, &mut HashMap::new());
        }
        let short = |wrong: Vec<LineError>| {
            let each = wrong.into_iter().map(|wrong| (wrong.code, wrong.line));
            each.collect()
        };
        check.end().map_err(short)
    }

    fn row(id: &str) -> String {
        format!("{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"{CHAT}\",\"body\":{{}}}}\n")
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(found(&(row("a") + "\n" + &row("b")), 10), Ok((2, vec![1])));
        let bad = [
            row("a"),
            "nonsense\n".to_owned(),
            row("a"),
            row("b").replace("chat", "cat"),
            row("c").replace("POST", "GET"),
            row("d").replace("{}", "[]"),
            row("e").replace("{}", "{\"stream\":true}"),
            row(""),
            "[1]\n".to_owned(),
        ];
        let wrong = found(&bad.concat(), 10).unwrap_err();
        let expected = [
            ("invalid_json_line", 2),
            ("duplicate_custom_id", 3),
            ("mismatched_url", 4),
            ("invalid_request_line", 5),
            ("invalid_request_line", 6),
            ("invalid_request_line", 7),
            ("invalid_request_line", 8),
            ("invalid_request_line", 9),
        ];
        let expected = expected.map(|(code, line)| (code.to_owned(), Some(line)));
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_file_has_rows_and_not_too_many() {
        let code = |text: &str, rows| found(text, rows).unwrap_err()[0].0.clone();
        assert_eq!(code("\n\n", 10), "empty_file");
        assert_eq!(code(&(row("a") + &row("b")), 1), "too_many_rows");
    }
}
