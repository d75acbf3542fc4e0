//! The lines of a batch: requests in the input and results in the output.

use std::borrow::Cow;

use quillet_core::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A request of a batch.
#[derive(Debug, Deserialize)]
pub(super) struct BatchRequest<'a> {
    #[serde(borrow)]
    pub(super) custom_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) body: Option<&'a RawValue>,
}

/// The members of a body that a batch validates.
#[derive(Debug, Deserialize)]
pub(super) struct BatchBody {
    #[serde(default)]
    pub(super) stream: Value,
}

/// The output line of a request.
#[derive(Debug, Serialize)]
struct BatchOutput<'a> {
    id: String,
    custom_id: &'a str,
    response: Option<Response<'a>>,
    error: Option<RowFailure<'a>>,
}

#[derive(Debug, Serialize)]
struct Response<'a> {
    status_code: u16,
    request_id: &'a str,
    body: &'a RawValue,
}

#[derive(Debug, Serialize)]
struct RowFailure<'a> {
    code: &'static str,
    message: &'a str,
}

/// Returns the output line of a request that got any response.
pub(super) fn answered(
    batch: &str,
    row: u64,
    custom_id: &str,
    status_code: u16,
    request_id: &str,
    body: Vec<u8>,
) -> Vec<u8> {
    let body = raw(body);
    let response = Response {
        status_code,
        request_id,
        body: &body,
    };
    line(&BatchOutput {
        id: id(batch, row),
        custom_id,
        response: Some(response),
        error: None,
    })
}

/// Returns the output line of a request that was not sent.
pub(super) fn unasked(
    batch: &str,
    row: u64,
    custom_id: &str,
    code: ErrorCode,
    message: &str,
) -> Vec<u8> {
    line(&BatchOutput {
        id: id(batch, row),
        custom_id,
        response: None,
        error: Some(RowFailure {
            code: code.as_str(),
            message,
        }),
    })
}

fn id(batch: &str, row: u64) -> String {
    let tag = batch.strip_prefix("batch_").unwrap_or(batch);
    format!("batch_req_{tag}_{row}")
}

/// Converts a body to a part of a line. Line breaks, which JSON only allows between tokens, are
/// replaced by spaces.
fn raw(mut body: Vec<u8>) -> Box<RawValue> {
    for byte in &mut body {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    let text = String::from_utf8(body).unwrap_or_default();
    let raw = RawValue::from_string(text.trim().to_owned());
    // A provider may return HTML with an error status, but the line must stay valid JSON.
    raw.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn line(written: &BatchOutput<'_>) -> Vec<u8> {
    let mut line = serde_json::to_vec(written).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_openai_writes_them() {
        let (batch, row, custom_id) = ("batch_ab", 7, "row \"7\"");
        let body = b"{\n  \"id\": \"x\\ny\"\r\n}\n".to_vec();
        assert_eq!(
            String::from_utf8(answered(batch, row, custom_id, 200, "req-1", body)).unwrap(),
            "{\"id\":\"batch_req_ab_7\",\"custom_id\":\"row \\\"7\\\"\",\"response\":{\"status_code\":200,\
             \"request_id\":\"req-1\",\"body\":{   \"id\": \"x\\ny\"  }},\"error\":null}\n"
        );
        assert_eq!(
            String::from_utf8(unasked(
                batch,
                row,
                custom_id,
                ErrorCode::BatchExpired,
                "over"
            ))
            .unwrap(),
            "{\"id\":\"batch_req_ab_7\",\"custom_id\":\"row \\\"7\\\"\",\"response\":null,\
             \"error\":{\"code\":\"batch_expired\",\"message\":\"over\"}}\n"
        );
    }
}
