//! Decoder for server-sent events of model providers and MCP servers: name and data of each event.
//!
//! ```
//! use quillet_core::sse::{SseDecoder, TooLong};
//!
//! let mut frames = SseDecoder::new(1024, 1024);
//! let mut events = Vec::new();
//! for piece in ["event: hi\ndata: a\nda", "ta: b\n\n"] {
//!     frames.feed(piece.as_bytes(), &mut |frame| {
//!         events.push((frame.name.map(str::to_owned), frame.data.to_vec()));
//!         Ok::<(), TooLong>(())
//!     })?;
//! }
//! assert_eq!(events, [(Some("hi".to_owned()), b"a\nb".to_vec())]);
//! # Ok::<(), TooLong>(())
//! ```
//!
//! Follows the WHATWG grammar: lines end in LF, CR or CRLF, comments are skipped, several `data`
//! lines form one event, and a byte order mark is skipped. The length of lines and events is
//! limited. Ids and retry times are ignored. As an extension, a bare JSON object on one or more
//! lines counts as an event, because Gemini sends errors this way in the middle of a stream.

use memchr::memchr2;

/// The exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// The line limit.
    #[error("the server sent a line that is too long")]
    Line,
    /// The event limit.
    #[error("the server sent an event that is too large")]
    Event,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Its name, if it has a name in valid UTF-8.
    pub name: Option<&'a str>,
    /// Its data, which is never blank.
    pub data: &'a [u8],
}

/// Decodes bytes, received in arbitrary pieces, into complete events.
#[derive(Debug)]
pub struct SseDecoder {
    line_bytes: usize,
    event_bytes: usize,
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    /// Nesting of the bare object that is being read.
    bare: Option<Depth>,
    after_cr: bool,
    first_line: bool,
}

impl SseDecoder {
    /// Creates a decoder with limits on the bytes of lines and events.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::sse::{SseDecoder, TooLong};
    ///
    /// let mut decoder = SseDecoder::new(8, 1024);
    /// let fed = decoder.feed(b"data: too long", &mut |_| Ok::<(), TooLong>(()));
    /// assert_eq!(fed, Err(TooLong::Line));
    /// ```
    #[must_use]
    pub fn new(line_bytes: usize, event_bytes: usize) -> Self {
        SseDecoder {
            line_bytes,
            event_bytes,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            bare: None,
            after_cr: false,
            first_line: true,
        }
    }

    /// Decodes these bytes, and calls `take` for each event that is now complete.
    ///
    /// # Errors
    /// A limit is exceeded, or `take` fails.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // An empty piece must not clear `after_cr`, because the LF may still come.
        if bytes.is_empty() {
            return Ok(());
        }
        // The CR has already ended the line, so an LF after it would count as an empty line and end
        // the event.
        if std::mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            self.extend_line(line)?;
            let cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if cr {
                // The LF of a CRLF may arrive with the next bytes.
                self.after_cr = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            self.end_line(take)?;
        }
        Ok(self.extend_line(bytes)?)
    }

    /// Calls `take` for a last event that is not followed by an empty line. The grammar drops such
    /// an event, but some servers omit the empty line after the last event, so the caller can check
    /// whether the event is complete.
    ///
    /// # Errors
    /// Like [`SseDecoder::feed`].
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::sse::{SseDecoder, TooLong};
    ///
    /// let mut decoder = SseDecoder::new(1024, 1024);
    /// decoder.feed(b"data: last\n", &mut |_| Ok::<(), TooLong>(()))?;
    ///
    /// let mut data = Vec::new();
    /// decoder.finish(&mut |event| {
    ///     data.extend_from_slice(event.data);
    ///     Ok::<(), TooLong>(())
    /// })?;
    /// assert_eq!(data, b"last");
    /// # Ok::<(), TooLong>(())
    /// ```
    pub fn finish<E: From<TooLong>>(
        &mut self,
        take: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.end_line(take)?;
        // An unclosed object was truncated, so it is dropped.
        if self.bare.is_none() {
            self.end_event(take)?;
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        // Checked before copying, so an endless line cannot exhaust memory.
        if self.line.len() + bytes.len() > self.line_bytes {
            return Err(TooLong::Line);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line<E: From<TooLong>>(
        &mut self,
        take: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Moved out to satisfy the borrow checker, and put back to reuse its capacity.
        let mut line = std::mem::take(&mut self.line);
        let closes = self.take_line(&line);
        line.clear();
        self.line = line;
        if closes? {
            self.end_event(take)?;
        }
        Ok(())
    }

    fn end_event<E>(
        &mut self,
        take: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let frame = SseEvent {
            name: std::str::from_utf8(&self.name)
                .ok()
                .filter(|name| !name.is_empty()),
            data: &self.data,
        };
        // Events without data are ignored, as the specification requires. Events that contain only
        // comments keep the connection open.
        let taken = if frame.data.trim_ascii().is_empty() {
            Ok(())
        } else {
            take(frame)
        };
        self.name.clear();
        self.data.clear();
        taken
    }

    /// Processes a line. Returns whether it ends an event.
    fn take_line(&mut self, mut line: &[u8]) -> Result<bool, TooLong> {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        // Fields of the grammar never begin with a brace.
        if self.bare.is_some() || (self.data.is_empty() && line.first() == Some(&b'{')) {
            return self.take_bare(line);
        }
        if line.is_empty() {
            return Ok(true);
        }
        if let Some(name) = field(line, b"event") {
            self.name.clear();
            self.name.extend_from_slice(name);
        } else if let Some(value) = field(line, b"data") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.extend_data(value)?;
        }
        Ok(false)
    }

    fn take_bare(&mut self, line: &[u8]) -> Result<bool, TooLong> {
        let mut depth = self.bare.take().unwrap_or_default();
        let closed = depth.follow(line);
        self.extend_data(line)?;
        if !closed {
            self.data.push(b'\n');
            self.bare = Some(depth);
        }
        Ok(closed)
    }

    fn extend_data(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        // The line limit is not enough, because an event may have any number of lines.
        if self.data.len() + bytes.len() > self.event_bytes {
            return Err(TooLong::Event);
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }
}

/// Returns the value of a field with this name; `None` for comments and other fields.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    let Some(value) = rest.strip_prefix(b":") else {
        // A line with only the name is a field with an empty value.
        return rest.is_empty().then_some(rest);
    };
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

/// Nesting of a bare object. It is updated with each line, to find the end without parsing the
/// object repeatedly.
#[derive(Debug, Default)]
struct Depth {
    open: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Processes a line. Returns whether it closes the object.
    fn follow(&mut self, line: &[u8]) -> bool {
        for byte in line {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' => self.escaped = self.in_string,
                // Braces inside strings do not count.
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.open += 1,
                b'}' | b']' if !self.in_string => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
        self.open == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<String> {
        let mut frames = SseDecoder::new(64, 64);
        let mut events = Vec::new();
        let mut take = |frame: SseEvent<'_>| {
            let data = std::str::from_utf8(frame.data).unwrap();
            events.push(match frame.name {
                Some(name) => format!("{name}={data}"),
                None => data.to_owned(),
            });
            Ok::<(), TooLong>(())
        };
        for piece in pieces {
            frames.feed(piece, &mut take).unwrap();
        }
        frames.finish(&mut take).unwrap();
        events
    }

    #[test]
    fn framing_follows_the_standard() {
        let cases: [(&str, &[&str]); 17] = [
            ("data: a\n\ndata: b\n\n", &["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            ("data:a\n\n", &["a"]),
            ("data:  a\n\n", &[" a"]),
            (": hi\n\nevent: x\nid: 1\ndata: a\n\n", &["x=a"]),
            ("event: x\n\ndata: a\n\n", &["a"]),
            ("event: x\nevent: y\ndata: a\n\ndata: b\n\n", &["y=a", "b"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data\n\ndata: \n\n", &[]),
            ("dataset: a\n\ndata: [DONE]", &["[DONE]"]),
            (
                "data: a\u{2028}b\u{85}c\u{2029}d\n\n",
                &["a\u{2028}b\u{85}c\u{2029}d"],
            ),
            (
                "data: a\n\n{\"e\":1}\ndata: b\n\n",
                &["a", "{\"e\":1}", "b"],
            ),
            (
                "data: a\n\n{\n  \"e\": \"}\\\"\"\n\n}\n\n",
                &["a", "{\n  \"e\": \"}\\\"\"\n\n}"],
            ),
            ("data: a\n\n{\n  \"e\": 1", &["a"]),
            ("data: {\ndata: }\n\n", &["{\n}"]),
        ];
        for (text, expected) in cases {
            assert_eq!(decode(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let text =
            "\u{feff}event: n\u{e9}\r\ndata: h\u{e9}llo\r\n: c\r\n\r\ndata: \u{1f30d}\ndata: b\r\r\n{\r\n\"a\":[\"}\\\"\"]\r\n}\r\n\ndata: z\r\n\r\n"
                .as_bytes();
        let whole = decode(&[text]);
        let expected = [
            "n\u{e9}=h\u{e9}llo",
            "\u{1f30d}\nb",
            "{\n\"a\":[\"}\\\"\"]\n}",
            "z",
        ];
        assert_eq!(whole, expected);
        for cut in 0..=text.len() {
            for second in cut..=text.len() {
                let pieces = [&text[..cut], &text[cut..second], &text[second..]];
                assert_eq!(decode(&pieces), whole, "cut at {cut} and {second}");
            }
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(decode(&bytes), whole);
    }

    #[test]
    fn endless_lines_and_events_are_refused() {
        let mut ignore = |_: SseEvent<'_>| Ok::<(), TooLong>(());
        let mut frames = SseDecoder::new(16, 64);
        assert_eq!(frames.feed(&[b'x'; 17], &mut ignore), Err(TooLong::Line));
        for line in ["data: 0123456789\n", "{{{{{{{{{{\n"] {
            let mut frames = SseDecoder::new(16, 64);
            let refused = (0..10).find_map(|_| frames.feed(line.as_bytes(), &mut ignore).err());
            assert_eq!(refused, Some(TooLong::Event), "{line}");
        }
    }
}
