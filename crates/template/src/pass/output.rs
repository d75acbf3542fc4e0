//! Output of an evaluation.

use std::io::Write;

use super::{Pass, StopReason};
use crate::limits::LimitKind;
use crate::segment::Origins;

/// Output and pending state that are set aside during a capture.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    out: Vec<u8>,
    pending: bool,
}

impl Pass<'_> {
    /// Writes text.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    #[inline]
    pub fn write(&mut self, text: &str) -> Result<(), StopReason> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes the template's own text, which [`crate::RenderedTemplate::segments`] reports as
    /// literal. All other text is reported as values.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    #[inline]
    pub fn literal(&mut self, text: &str) -> Result<(), StopReason> {
        match self.origins {
            None => self.write(text),
            Some(_) => self.noted_literal(text),
        }
    }

    /// Not inlined, so that the common path without recorded origins stays small.
    #[cold]
    fn noted_literal(&mut self, text: &str) -> Result<(), StopReason> {
        let start = self.out.len();
        self.write(text)?;
        let end = self.out.len();
        if let Some(origins) = self.origins() {
            origins.literal(start..end);
        }
        Ok(())
    }

    /// Returns the offset at which the next printed value starts, for [`Pass::end_value`].
    #[must_use]
    pub fn begin_value(&self) -> usize {
        self.out.len()
    }

    /// Records the text since `start` as a printed value. `source` returns
    /// [`crate::TextSegment::source`], and is called only if the render records segments.
    ///
    /// # Errors
    /// Returns an error if the memory limit is exceeded.
    #[inline]
    pub fn end_value(
        &mut self,
        start: usize,
        source: impl FnOnce() -> Option<String>,
    ) -> Result<(), StopReason> {
        let end = self.out.len();
        // An empty value would be a segment without text.
        if self.origins().is_none() || start >= end {
            return Ok(());
        }
        let source = source();
        // There may be an equal number of literal segments between the values.
        self.charge(source.as_ref().map_or(0, String::len) + 2 * Origins::PART_BYTES)?;
        if let Some(origins) = self.origins() {
            origins.value(start..end, source);
        }
        Ok(())
    }

    /// Returns the recorded origins. Captured text has none, because it is a value that may be
    /// printed later.
    fn origins(&mut self) -> Option<&mut Origins> {
        match self.captures {
            0 => self.origins.as_deref_mut(),
            _ => None,
        }
    }

    /// Inserts an indentation from the template before each line that was written since `start`.
    ///
    /// # Errors
    /// Returns an error if the output or memory limit is exceeded.
    pub(crate) fn indent(&mut self, start: usize, indent: &str) -> Result<(), StopReason> {
        // The lines are moved out and written again, because each line grows by the indentation.
        let written = self.out.split_off(start);
        let origins = self.origins().map(|origins| origins.split_off(start));
        let lines = memchr::memchr_iter(b'\n', &written).count() + 1;
        // The limit is checked here for all copies below.
        self.reserve_output(written.len() + lines.saturating_mul(indent.len()))?;
        let mut at = start;
        for line in written.split_inclusive(|byte| *byte == b'\n') {
            self.literal(indent)?;
            let to = self.out.len();
            self.out.extend_from_slice(line);
            let from = at..at + line.len();
            at = from.end;
            let copied = match (self.origins(), &origins) {
                (Some(now), Some(before)) => now.copy(before, from, to),
                // Nothing is charged if no origins are recorded.
                _ => continue,
            };
            self.charge((copied + 1) * Origins::PART_BYTES)?;
        }
        Ok(())
    }

    /// Writes bytes. In a format that has byte strings, such as Go, the bytes may split a
    /// character.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), StopReason> {
        self.reserve_output(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes an integer in decimal without allocating a string.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    pub fn write_int(&mut self, number: i64) -> Result<(), StopReason> {
        // Writing to a `Vec` cannot fail.
        let _ = write!(self.out, "{number}");
        // The limit is checked after the write, because an integer exceeds it by at most 20 bytes.
        self.check_output()
    }

    /// Returns the output buffer, for evaluators that write into it directly. Call
    /// [`Pass::reserve_output`] before a large write, and [`Pass::check_output`] after every write.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Checks in advance that further output does not exceed the limit.
    ///
    /// # Errors
    /// Returns an error if the output limit would be exceeded.
    #[inline]
    pub fn reserve_output(&self, more: usize) -> Result<(), StopReason> {
        let written = self.out.len().saturating_add(self.held);
        if written.saturating_add(more) > self.limits.output_bytes {
            return Err(self.limit(LimitKind::OutputBytes));
        }
        Ok(())
    }

    /// Starts to capture output. Captured bytes and bytes that are set aside count towards the
    /// limit.
    pub(crate) fn capture(&mut self) -> CapturedOutput {
        // Output that is set aside stays charged. Otherwise, nested captures could exceed the limit
        // many times.
        self.held = self.held.saturating_add(self.out.len());
        self.captures += 1;
        CapturedOutput {
            out: std::mem::take(self.out),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Ends a capture. Returns the text, and whether a call in it is pending, which makes the text
    /// invalid.
    pub(crate) fn release(&mut self, held: CapturedOutput) -> (Vec<u8>, bool) {
        self.held = self.held.saturating_sub(held.out.len());
        self.captures = self.captures.saturating_sub(1);
        let captured = std::mem::replace(self.out, held.out);
        let pending = self.pending;
        // The outer text depends on the pending call even if the captured value is dropped.
        self.pending |= held.pending;
        (captured, pending)
    }

    /// Restricts [`Pass::is_pending`] to the following evaluation. [`Pass::recall_pending`] ends
    /// the restriction and takes the returned value.
    pub(crate) fn forget_pending(&mut self) -> bool {
        std::mem::take(&mut self.pending)
    }

    /// Restores the pending state. Returns whether a call is pending since
    /// [`Pass::forget_pending`].
    pub(crate) fn recall_pending(&mut self, before: bool) -> bool {
        let since = self.pending;
        self.pending |= before;
        since
    }

    /// Checks the size of the output.
    ///
    /// # Errors
    /// Returns an error if the output limit is exceeded.
    pub fn check_output(&self) -> Result<(), StopReason> {
        self.reserve_output(0)
    }
}
