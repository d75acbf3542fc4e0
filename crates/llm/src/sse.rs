//! Server-sent events, as far as models use them: the data of each event.
//!
//! Follows the WHATWG grammar (lines end in LF, CR or CRLF; comments; several
//! `data` lines make one event; a byte order mark is skipped) and bounds what an
//! endless line or event may take. Event names, ids and retry times are skipped.

/// Which bound a stream passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooLong {
    Line,
    Event,
}

/// Takes bytes as they come, in pieces cut anywhere, and gives whole events.
#[derive(Debug)]
pub(crate) struct Decoder {
    line_bytes: usize,
    event_bytes: usize,
    line: Vec<u8>,
    event: Option<Vec<u8>>,
    after_cr: bool,
    first_line: bool,
}

impl Decoder {
    pub(crate) fn new(line_bytes: usize, event_bytes: usize) -> Self {
        Decoder {
            line_bytes,
            event_bytes,
            line: Vec::new(),
            event: None,
            after_cr: false,
            first_line: true,
        }
    }

    /// The events that these bytes complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        if self.after_cr && bytes.first() == Some(&b'\n') {
            bytes = &bytes[1..];
        }
        if !bytes.is_empty() {
            self.after_cr = false;
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            let cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if cr {
                // The LF of a CRLF may come with the next piece.
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            events.extend(self.end_line()?);
        }
        self.extend_line(bytes)?;
        Ok(events)
    }

    /// What stands at the end without the empty line that closes an event: many
    /// servers leave it out after the last one.
    pub(crate) fn finish(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let last = self.end_line()?;
        Ok(last.or_else(|| self.event.take()))
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + bytes.len() > self.line_bytes {
            return Err(TooLong::Line);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let mut line = std::mem::take(&mut self.line);
        let done = self.take_line(&line);
        line.clear();
        self.line = line;
        done
    }

    fn take_line(&mut self, mut line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.event.take());
        }
        let Some(value) = data_of(line) else {
            return Ok(None);
        };
        match &mut self.event {
            Some(event) => {
                event.push(b'\n');
                event.extend_from_slice(value);
            }
            None => self.event = Some(value.to_vec()),
        }
        let length = self.event.as_ref().map_or(0, Vec::len);
        if length > self.event_bytes {
            return Err(TooLong::Event);
        }
        Ok(None)
    }
}

/// The value of a `data` line; `None` for comments and other fields.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    let Some(value) = rest.strip_prefix(b":") else {
        return rest.is_empty().then_some(rest);
    };
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::new(64, 64);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.feed(piece).unwrap());
        }
        events.extend(decoder.finish().unwrap());
        let text = |event| String::from_utf8(event).unwrap();
        events.into_iter().map(text).collect()
    }

    #[test]
    fn framing_follows_the_standard() {
        let cases: [(&str, &[&str]); 10] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data:a\n\n", &["a"]),
            ("data:  a\n\n", &[" a"]),
            (": hi\n\nevent: x\nid: 1\ndata: a\n\n", &["a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data\n\n", &[""]),
            ("dataset: a\n\ndata: [DONE]", &["[DONE]"]),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let text = "data: h\u{e9}llo\r\n: c\r\n\r\ndata: \u{1f30d}\ndata: b\r\r\ndata: z\r\n\r\n"
            .as_bytes();
        let whole = decode(&[text]);
        assert_eq!(whole, ["h\u{e9}llo", "\u{1f30d}\nb", "z"]);
        for cut in 0..=text.len() {
            assert_eq!(decode(&[&text[..cut], &text[cut..]]), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn endless_lines_and_events_are_refused() {
        let mut decoder = Decoder::new(16, 64);
        assert_eq!(decoder.feed(&[b'x'; 17]), Err(TooLong::Line));
        let mut decoder = Decoder::new(16, 64);
        let line = b"data: 0123456789\n";
        let refused = (0..10).find_map(|_| decoder.feed(line).err());
        assert_eq!(refused, Some(TooLong::Event));
    }
}
