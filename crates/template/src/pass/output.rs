//! What an evaluation writes.

use std::io::Write;

use super::{Pass, StopReason};
use crate::limits::LimitKind;
use crate::segment::Origins;

/// Output and what it waits for, set aside while a part of it is captured.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    out: Vec<u8>,
    pending: bool,
}

impl Pass<'_> {
    /// Writes text.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn write(&mut self, text: &str) -> Result<(), StopReason> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes the template's own text, which [`crate::Rendered::segments`] then
    /// knows as such. Anything else is a value there.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn literal(&mut self, text: &str) -> Result<(), StopReason> {
        match self.origins {
            None => self.write(text),
            Some(_) => self.noted_literal(text),
        }
    }

    /// Not inlined, so that the way that most renders take is.
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

    /// Where a value that is printed next begins, for [`Pass::end_value`].
    #[must_use]
    pub fn begin_value(&self) -> usize {
        self.out.len()
    }

    /// What was written since `start` is a printed value. Its source, see
    /// [`crate::Segment::source`], is asked for only where a render wants to know.
    ///
    /// # Errors
    /// The limit on memory.
    #[inline]
    pub fn end_value(
        &mut self,
        start: usize,
        source: impl FnOnce() -> Option<String>,
    ) -> Result<(), StopReason> {
        let end = self.out.len();
        if self.origins().is_none() || start >= end {
            return Ok(());
        }
        let source = source();
        // There may be as much literal text between the values.
        self.charge(source.as_ref().map_or(0, String::len) + 2 * Origins::PART_BYTES)?;
        if let Some(origins) = self.origins() {
            origins.value(start..end, source);
        }
        Ok(())
    }

    /// Where the output's origins are noted. A captured text has none: it is a
    /// value, which is printed later or not at all.
    fn origins(&mut self) -> Option<&mut Origins> {
        match self.captures {
            0 => self.origins.as_deref_mut(),
            _ => None,
        }
    }

    /// Puts an indentation of the template's before each line that was written
    /// since `start`.
    ///
    /// # Errors
    /// The output limit, or the limit on memory.
    pub(crate) fn indent(&mut self, start: usize, indent: &str) -> Result<(), StopReason> {
        let written = self.out.split_off(start);
        let origins = self.origins().map(|origins| origins.split_off(start));
        let lines = memchr::memchr_iter(b'\n', &written).count() + 1;
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
                _ => continue,
            };
            self.charge((copied + 1) * Origins::PART_BYTES)?;
        }
        Ok(())
    }

    /// Writes bytes; formats whose strings are bytes (Go's) may cut a character.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), StopReason> {
        self.reserve_output(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes a whole number in digits, without a text in between.
    ///
    /// # Errors
    /// The output limit.
    pub fn write_int(&mut self, number: i64) -> Result<(), StopReason> {
        // Writing to a list of bytes cannot fail.
        let _ = write!(self.out, "{number}");
        self.check_output()
    }

    /// The output itself, for an evaluator that formats in place. Call
    /// [`Pass::check_output`] after, and [`Pass::reserve_output`] before anything large.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Refuses output that would pass the limit, before it is made.
    ///
    /// # Errors
    /// The output limit.
    #[inline]
    pub fn reserve_output(&self, more: usize) -> Result<(), StopReason> {
        let written = self.out.len().saturating_add(self.held);
        if written.saturating_add(more) > self.limits.output_bytes {
            return Err(self.limit(LimitKind::OutputBytes));
        }
        Ok(())
    }

    /// From here on, output is captured. All that is held counts to the limit.
    pub(crate) fn capture(&mut self) -> CapturedOutput {
        self.held = self.held.saturating_add(self.out.len());
        self.captures += 1;
        CapturedOutput {
            out: std::mem::take(self.out),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Ends a capture: gives what was captured, and whether a call was left
    /// pending in it, so that the text does not count.
    pub(crate) fn release(&mut self, held: CapturedOutput) -> (Vec<u8>, bool) {
        self.held = self.held.saturating_sub(held.out.len());
        self.captures = self.captures.saturating_sub(1);
        let captured = std::mem::replace(self.out, held.out);
        let pending = self.pending;
        self.pending |= held.pending;
        (captured, pending)
    }

    /// From here on [`Pass::is_pending`] is of what is evaluated until
    /// [`Pass::recall_pending`], which takes what this gives.
    pub(crate) fn forget_pending(&mut self) -> bool {
        std::mem::take(&mut self.pending)
    }

    /// Whether a call was left pending since.
    pub(crate) fn recall_pending(&mut self, before: bool) -> bool {
        let since = self.pending;
        self.pending |= before;
        since
    }

    /// Checks what has been written.
    ///
    /// # Errors
    /// The output limit.
    pub fn check_output(&self) -> Result<(), StopReason> {
        self.reserve_output(0)
    }
}
