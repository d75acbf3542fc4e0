//! Reads server-sent events out of bytes as they come, as far as MCP needs them:
//! the event's name and its data. Bounded: a server that never ends an event is
//! given up.

use std::mem;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its name; empty where the server gave none.
    pub(super) event: String,
    pub(super) data: String,
}

/// An event that is larger than it may be.
#[derive(Debug, thiserror::Error)]
#[error("the server sent an event larger than {0} bytes")]
pub(super) struct Oversized(usize);

/// The events of one stream.
#[derive(Debug)]
pub(super) struct Frames {
    /// The line that has not ended yet.
    line: Vec<u8>,
    frame: Frame,
    has_data: bool,
    /// The last byte was a carriage return, so that a newline belongs to it.
    after_return: bool,
    most: usize,
}

impl Frames {
    /// Events of at most so many bytes.
    pub(super) fn new(most: usize) -> Self {
        Frames {
            line: Vec::new(),
            frame: Frame::default(),
            has_data: false,
            after_return: false,
            most,
        }
    }

    /// Takes the next bytes; gives the events that end in them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Oversized> {
        let mut ended = Vec::new();
        for &byte in bytes {
            let paired = mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if paired => {}
                b'\n' | b'\r' => ended.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.frame.data.len() > self.most {
                return Err(Oversized(self.most));
            }
        }
        Ok(ended)
    }

    /// A line has ended; an empty one ends an event that has data.
    fn end_line(&mut self) -> Option<Frame> {
        let line = mem::take(&mut self.line);
        if line.is_empty() {
            let frame = mem::take(&mut self.frame);
            return mem::take(&mut self.has_data).then_some(frame);
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.frame.event),
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            // Comments keep the connection open; ids and retries are for resuming.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(event: &str, data: &str) -> Frame {
        Frame {
            event: event.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn events_come_out_whole_however_they_are_cut() {
        let text = "\u{feff}: hi\r\nevent: endpoint\r\ndata: /m?s=1\r\n\r\n: ping\n\ndata: {\"a\":\ndata:\"ä\"}\n\nevent: x\n\ndata\r\rid: 9\ndata: late";
        let expected = [
            frame("endpoint", "/m?s=1"),
            frame("", "{\"a\":\n\"ä\"}"),
            frame("", ""),
        ];
        for size in 1..=text.len() {
            let mut frames = Frames::new(100);
            let pieces = text.as_bytes().chunks(size);
            let got: Vec<Frame> = pieces
                .flat_map(|piece| frames.push(piece).unwrap())
                .collect();
            assert_eq!(got, expected, "pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut frames = Frames::new(8);
        assert!(frames.push(b"data: 123456789").is_err());
        let mut frames = Frames::new(8);
        assert!(
            frames
                .push(b"data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n")
                .is_err()
        );
    }
}
