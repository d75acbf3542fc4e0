//! Converts spans of OpenTelemetry exporters, in protobuf and JSON, to traces.

use std::collections::BTreeMap;

use quillet_core::trace::{Span, SpanKind, Trace};
use serde_json::{Map, Value};

use super::protobuf::{ProtoDecodeError, ProtoField, ProtoReader};

/// Maximum nesting of an attribute value.
const DEEPEST: usize = 16;

/// The attribute with the kind of a span in Langfuse's clients.
pub(super) const KIND: &str = "langfuse.observation.type";

/// A span, independent of its encoding.
#[derive(Debug, Default, PartialEq)]
struct IngestedSpan {
    trace: String,
    id: String,
    parent: String,
    name: String,
    start_ns: u64,
    end_ns: u64,
    attributes: Map<String, Value>,
    /// Whether the span failed. The reason is in `message`.
    failed: bool,
    message: String,
}

/// Decodes the traces of a protobuf request. If the spans of a trace are sent in several requests,
/// each request yields a trace with the same id.
pub(super) fn of_protobuf(bytes: &[u8]) -> Result<Vec<Trace>, ProtoDecodeError> {
    let mut sent = Vec::new();
    for resource in messages(bytes, 1)? {
        for scope in messages(resource, 2)? {
            for span in messages(scope, 2)? {
                sent.push(span_of(span)?);
            }
        }
    }
    Ok(traces(sent))
}

/// Reads the traces of a JSON request and skips invalid spans.
pub(super) fn of_json(body: &Value) -> Vec<Trace> {
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let resources = list(body, "resourceSpans");
    let scopes = resources.iter().flat_map(|one| list(one, "scopeSpans"));
    let spans = scopes.flat_map(|one| list(&one, "spans"));
    traces(spans.map(|span| span_of_json(&span)).collect())
}

fn traces(sent: Vec<IngestedSpan>) -> Vec<Trace> {
    let mut spans: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for one in sent {
        if !one.trace.is_empty() && !one.id.is_empty() {
            spans.entry(one.trace.clone()).or_default().push(one.into());
        }
    }
    let trace = |(id, mut spans): (String, Vec<Span>)| {
        // Traces expect the root span first, but exporters send child spans before their parents.
        spans.sort_by_key(|span| (span.parent.is_some(), span.started_us));
        Trace { id, spans }
    };
    spans.into_iter().map(trace).collect()
}

impl From<IngestedSpan> for Span {
    fn from(sent: IngestedSpan) -> Self {
        let parent = Some(sent.parent).filter(|parent| !parent.is_empty());
        let said = sent.attributes.get(KIND).and_then(Value::as_str);
        Span {
            kind: match said {
                Some("generation" | "embedding") => SpanKind::Model,
                Some("tool" | "retriever") => SpanKind::Tool,
                Some("agent") => SpanKind::Run,
                _ if parent.is_none() => SpanKind::Run,
                _ => SpanKind::Step,
            },
            id: sent.id,
            parent,
            name: sent.name,
            started_us: sent.start_ns / 1000,
            duration_us: sent.end_ns.saturating_sub(sent.start_ns) / 1000,
            attributes: sent.attributes,
            error: sent.failed.then_some(sent.message),
        }
    }
}

/// Returns all messages in fields with this number.
fn messages(bytes: &[u8], wanted: u64) -> Result<Vec<&[u8]>, ProtoDecodeError> {
    let mut found = Vec::new();
    for field in ProtoReader::of(bytes) {
        if let (number, ProtoField::Bytes(bytes)) = field?
            && number == wanted
        {
            found.push(bytes);
        }
    }
    Ok(found)
}

fn span_of(bytes: &[u8]) -> Result<IngestedSpan, ProtoDecodeError> {
    let mut sent = IngestedSpan::default();
    for field in ProtoReader::of(bytes) {
        match field? {
            (1, ProtoField::Bytes(id)) => sent.trace = hex(id),
            (2, ProtoField::Bytes(id)) => sent.id = hex(id),
            (4, ProtoField::Bytes(id)) => sent.parent = hex(id),
            (5, ProtoField::Bytes(name)) => sent.name = text(name),
            (7, ProtoField::Number(at)) => sent.start_ns = at,
            (8, ProtoField::Number(at)) => sent.end_ns = at,
            (9, ProtoField::Bytes(pair)) => sent.attributes.extend(pair_of(pair, 0)?),
            (15, ProtoField::Bytes(status)) => {
                for field in ProtoReader::of(status) {
                    match field? {
                        (2, ProtoField::Bytes(message)) => sent.message = text(message),
                        (3, ProtoField::Number(code)) => sent.failed = code == 2,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(sent)
}

fn pair_of(bytes: &[u8], depth: usize) -> Result<Option<(String, Value)>, ProtoDecodeError> {
    let (mut key, mut value) = (String::new(), Value::Null);
    for field in ProtoReader::of(bytes) {
        match field? {
            (1, ProtoField::Bytes(name)) => key = text(name),
            (2, ProtoField::Bytes(bytes)) => value = value_of(bytes, depth)?,
            _ => {}
        }
    }
    Ok(Some((key, value)).filter(|(key, _)| !key.is_empty()))
}

fn value_of(bytes: &[u8], depth: usize) -> Result<Value, ProtoDecodeError> {
    if depth > DEEPEST {
        return Err(ProtoDecodeError);
    }
    let mut value = Value::Null;
    for field in ProtoReader::of(bytes) {
        value = match field? {
            (1, ProtoField::Bytes(said)) => text(said).into(),
            (2, ProtoField::Number(is)) => (is != 0).into(),
            // int64 is encoded as the two's complement bits of a uint64.
            (3, ProtoField::Number(number)) => number.cast_signed().into(),
            (4, ProtoField::Number(bits)) => f64::from_bits(bits).into(),
            (5, ProtoField::Bytes(list)) => {
                let items = messages(list, 1)?.into_iter();
                items
                    .map(|item| value_of(item, depth + 1))
                    .collect::<Result<Value, _>>()?
            }
            (6, ProtoField::Bytes(list)) => {
                let mut members = Map::new();
                for pair in messages(list, 1)? {
                    members.extend(pair_of(pair, depth + 1)?);
                }
                members.into()
            }
            (7, ProtoField::Bytes(raw)) => hex(raw).into(),
            _ => continue,
        };
    }
    Ok(value)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn span_of_json(span: &Value) -> IngestedSpan {
    let text = |name: &str| span[name].as_str().unwrap_or_default().to_owned();
    let pairs = span["attributes"].as_array();
    let pairs = pairs.into_iter().flatten().filter_map(|pair| {
        let key = pair["key"].as_str()?.to_owned();
        Some((key, value_of_json(&pair["value"], 0)))
    });
    let code = &span["status"]["code"];
    IngestedSpan {
        trace: text("traceId"),
        id: text("spanId"),
        parent: text("parentSpanId"),
        name: text("name"),
        start_ns: number(&span["startTimeUnixNano"]),
        end_ns: number(&span["endTimeUnixNano"]),
        attributes: pairs.collect(),
        failed: code == 2 || code == "STATUS_CODE_ERROR",
        message: span["status"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Reads an integer, which protobuf's JSON format writes as a string.
fn number(value: &Value) -> u64 {
    let of_text = || value.as_str()?.parse().ok();
    value.as_u64().or_else(of_text).unwrap_or_default()
}

fn value_of_json(value: &Value, depth: usize) -> Value {
    let Some((kind, said)) = value.as_object().and_then(|one| one.iter().next()) else {
        return Value::Null;
    };
    let inside = |name: &str| said[name].as_array().cloned().unwrap_or_default();
    match kind.as_str() {
        _ if depth > DEEPEST => Value::Null,
        "intValue" => {
            let of_text = said.as_str().and_then(|text| text.parse::<i64>().ok());
            of_text.map_or_else(|| said.clone(), Value::from)
        }
        "arrayValue" => {
            let items = inside("values");
            items
                .iter()
                .map(|item| value_of_json(item, depth + 1))
                .collect()
        }
        "kvlistValue" => {
            let pairs = inside("values");
            let pairs = pairs.iter().filter_map(|pair| {
                let key = pair["key"].as_str()?.to_owned();
                Some((key, value_of_json(&pair["value"], depth + 1)))
            });
            Value::Object(pairs.collect())
        }
        _ => said.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Encodes a field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let (low, high) = (bytes.len() as u8 & 0x7F, (bytes.len() >> 7) as u8);
        [&[number << 3 | 2, low | 0x80, high][..], bytes].concat()
    }

    fn attribute(key: &str, value: &[u8]) -> Vec<u8> {
        field(9, &[field(1, key.as_bytes()), field(2, value)].concat())
    }

    fn request(span: &[u8]) -> Vec<u8> {
        field(1, &field(2, &field(2, span)))
    }

    #[test]
    fn both_ways_to_send_a_span_give_the_same() {
        let mut span = field(1, &[0xab; 16]);
        span.extend(field(2, &[0xcd; 8]));
        span.extend(field(5, b"chat"));
        span.extend([7 << 3 | 1]);
        span.extend(5_000_000_u64.to_le_bytes());
        span.extend([8 << 3 | 1]);
        span.extend(7_000_000_u64.to_le_bytes());
        span.extend(attribute(KIND, &field(1, b"generation")));
        span.extend(attribute("n", &[3 << 3, 7]));
        span.extend(attribute("yes", &[2 << 3, 1]));
        span.extend(attribute("list", &field(5, &field(1, &field(1, b"a")))));
        span.extend(field(15, &[field(2, b"why"), vec![3 << 3, 2]].concat()));
        let one = of_protobuf(&request(&span)).unwrap();
        let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
            "traceId": "ab".repeat(16), "spanId": "cd".repeat(8), "name": "chat",
            "startTimeUnixNano": "5000000", "endTimeUnixNano": 7_000_000,
            "attributes": [
                {"key": KIND, "value": {"stringValue": "generation"}},
                {"key": "n", "value": {"intValue": "7"}},
                {"key": "yes", "value": {"boolValue": true}},
                {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}},
            ],
            "status": {"code": 2, "message": "why"},
        }]}]}]});
        assert_eq!(one, of_json(&body));
        let span = &one[0].spans[0];
        assert_eq!(
            (span.kind, span.started_us, span.duration_us),
            (SpanKind::Model, 5000, 2000)
        );
        assert_eq!(span.attributes["list"], json!(["a"]));
        assert_eq!(span.error.as_deref(), Some("why"));
    }

    #[test]
    fn what_is_no_trace_is_refused_or_left_out() {
        assert_eq!(of_protobuf(b"\x0a\x05ab"), Err(ProtoDecodeError));
        assert_eq!(of_protobuf(b""), Ok(Vec::new()));
        assert!(of_json(&json!({"resourceSpans": 7})).is_empty());
        assert!(
            of_json(&json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}))
                .is_empty()
        );
        let mut deep = field(1, b"x");
        for _ in 0..DEEPEST + 2 {
            deep = field(5, &field(1, &deep));
        }
        let span = [
            field(1, &[1; 16]),
            field(2, &[1; 8]),
            attribute("deep", &deep),
        ]
        .concat();
        assert_eq!(of_protobuf(&request(&span)), Err(ProtoDecodeError));
    }
}
