//! Messages on standard input and output: a header with the length, followed by JSON (the base
//! protocol of the Language Server Protocol 3.17).

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};

/// Maximum size of a message in bytes, far above the size of real documents.
const MOST_BYTES: u64 = 32 << 20;

/// Maximum size of a header, and of one of its lines, in bytes.
const MOST_HEADER: u64 = 8 << 10;

/// Result of reading a message.
#[derive(Debug, PartialEq)]
pub(super) enum WireMessage {
    /// A message.
    Message(Value),
    /// An invalid message, with the error for the client.
    Nonsense(String),
    /// End of input.
    End,
}

/// Error codes of JSON-RPC and of the protocol.
pub(super) mod error {
    pub(crate) const PARSE: i64 = -32_700;
    pub(crate) const INVALID_REQUEST: i64 = -32_600;
    pub(crate) const UNKNOWN_METHOD: i64 = -32_601;
    pub(crate) const INVALID_PARAMS: i64 = -32_602;
    pub(crate) const NOT_INITIALIZED: i64 = -32_002;
    pub(crate) const CANCELLED: i64 = -32_800;
    pub(crate) const FAILED: i64 = -32_803;
}

/// Reads the next message. An invalid message is skipped completely, so that the next one can be
/// read.
///
/// # Errors
/// The pipe is broken.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<WireMessage> {
    let length = match header(input)? {
        Header::End => return Ok(WireMessage::End),
        Header::Length(length) => length,
        Header::Wrong(why) => return Ok(WireMessage::Nonsense(why)),
    };
    if length > MOST_BYTES {
        // The body is read and discarded, so that the next message starts at the right byte.
        let passed = io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        let why = format!(
            "message too long: {passed} bytes (limit {} MiB)",
            MOST_BYTES >> 20
        );
        return Ok(WireMessage::Nonsense(why));
    }
    let mut bytes = Vec::new();
    let read = input.by_ref().take(length).read_to_end(&mut bytes)?;
    // The editor closed the pipe in the middle of a message.
    if (read as u64) < length {
        return Ok(WireMessage::End);
    }
    Ok(match serde_json::from_slice(&bytes) {
        Ok(message) => WireMessage::Message(message),
        Err(reason) => WireMessage::Nonsense(format!("invalid JSON in a message: {reason}")),
    })
}

enum Header {
    Length(u64),
    Wrong(String),
    End,
}

/// Reads the header lines up to the empty one.
fn header(input: &mut impl BufRead) -> io::Result<Header> {
    let mut length = None;
    let mut lines = 0;
    loop {
        let mut line = Vec::new();
        let read = input
            .by_ref()
            .take(MOST_HEADER)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(Header::End);
        }
        lines += 1;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        // The number of lines is limited, so that input in another protocol cannot cause an endless
        // loop.
        if line.is_empty() || lines > 64 {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    Ok(match length {
        Some(length) => Header::Length(length),
        None => Header::Wrong("missing Content-Length header".to_owned()),
    })
}

/// Writes a message.
///
/// # Errors
/// The pipe is broken.
pub(super) fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

/// Creates a response with a result.
pub(super) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// Creates a response with an error.
pub(super) fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Creates a notification.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(input: &str) -> Vec<WireMessage> {
        let mut input = input.as_bytes();
        let mut found = Vec::new();
        loop {
            let frame = read(&mut input).unwrap();
            if frame == WireMessage::End {
                return found;
            }
            found.push(frame);
        }
    }

    #[test]
    fn messages_are_read_whatever_comes_between_them() {
        let good = "Content-Length: 2\r\n\r\n[]";
        let typed = "content-type: x\r\ncontent-length:2\n\n[]";
        let message = || WireMessage::Message(json!([]));
        assert_eq!(frames(&format!("{good}{typed}")), [message(), message()]);
        for nonsense in [
            "hello\r\n\r\n",
            "Content-Length: many\r\n\r\n",
            "Content-Length: 3\r\n\r\n{a}",
            "Content-Length: 2\r\n\r\n\u{7f}{",
            "\r\n",
        ] {
            let found = frames(&format!("{nonsense}{good}"));
            assert!(
                matches!(
                    found.as_slice(),
                    [WireMessage::Nonsense(_), WireMessage::Message(_)]
                ),
                "{nonsense:?}: {found:?}"
            );
        }
        assert_eq!(frames("Content-Length: 9\r\n\r\n[]"), []);
        let long = MOST_BYTES + 1;
        let long = format!(
            "Content-Length: {long}\r\n\r\n{}{good}",
            " ".repeat(long as usize)
        );
        assert!(matches!(
            frames(&long).as_slice(),
            [WireMessage::Nonsense(_), WireMessage::Message(_)]
        ));
    }

    #[test]
    fn lengths_are_bytes() {
        let mut out = Vec::new();
        write(&mut out, &json!("é")).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "Content-Length: 4\r\n\r\n\"é\""
        );
    }
}
