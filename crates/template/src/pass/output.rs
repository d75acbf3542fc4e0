//! Output of an evaluation.

use std::io::Write;

use super::{Pass, StopReason};
use crate::limits::LimitKind;
use crate::segment::Origins;

/// Output and pending state, saved while a part of it is captured.
#[derive(Debug)]
pub(crate) struct CapturedOutput {
    out: Vec<u8>,
    pending: bool,
}

impl Pass<'_> {
    /// Writes text.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    #[inline]
    pub fn write(&mut self, text: &str) -> Result<(), StopReason> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes the template's own text, which [`crate::Rendered::segments`] reports as literal. Any
    /// other text counts as a value there.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    #[inline]
    pub fn literal(&mut self, text: &str) -> Result<(), StopReason> {
        match self.origins {
            None => self.write(text),
            Some(_) => self.noted_literal(text),
        }
    }

    /// Not inlined, to keep the common path without origins small.
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

    /// Returns the start of the next printed value, for [`Pass::end_value`].
    #[must_use]
    pub fn begin_value(&self) -> usize {
        self.out.len()
    }

    /// Records the text since `start` as a printed value. `source`, see [`crate::Segment::source`],
    /// is called only if the render records segments.
    ///
    /// # Errors
    /// Returns an error at the limit on memory.
    #[inline]
    pub fn end_value(
        &mut self,
        start: usize,
        source: impl FnOnce() -> Option<String>,
    ) -> Result<(), StopReason> {
        let end = self.out.len();
        // An empty value would create a segment without text.
        if self.origins().is_none() || start >= end {
            return Ok(());
        }
        let source = source();
        // There may be as many literal segments between the values.
        self.charge(source.as_ref().map_or(0, String::len) + 2 * Origins::PART_BYTES)?;
        if let Some(origins) = self.origins() {
            origins.value(start..end, source);
        }
        Ok(())
    }

    /// Returns the record of origins. A captured text has none: it is a value that is printed
    /// later, or never.
    fn origins(&mut self) -> Option<&mut Origins> {
        match self.captures {
            0 => self.origins.as_deref_mut(),
            _ => None,
        }
    }

    /// Inserts an indentation from the template before each line written since `start`.
    ///
    /// # Errors
    /// Returns an error at the output limit, or at the limit on memory.
    pub(crate) fn indent(&mut self, start: usize, indent: &str) -> Result<(), StopReason> {
        // The lines are moved out and written back, because each grows by the indentation.
        let written = self.out.split_off(start);
        let origins = self.origins().map(|origins| origins.split_off(start));
        let lines = memchr::memchr_iter(b'\n', &written).count() + 1;
        // Checked before the copies below, which do not check again.
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
                // Without recorded origins there is nothing to charge.
                _ => continue,
            };
            self.charge((copied + 1) * Origins::PART_BYTES)?;
        }
        Ok(())
    }

    /// Writes bytes; a format with byte strings (Go's) may split a character.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    #[inline]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), StopReason> {
        self.reserve_output(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes a whole number in digits, without an intermediate text.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    pub fn write_int(&mut self, number: i64) -> Result<(), StopReason> {
        // Writing to a `Vec` cannot fail.
        let _ = write!(self.out, "{number}");
        // After the write: an integer is at most 20 bytes, so the overshoot is harmless.
        self.check_output()
    }

    /// Returns the output buffer, for an evaluator that formats in place. Call
    /// [`Pass::check_output`] afterwards, and [`Pass::reserve_output`] before any large write.
    pub fn out(&mut self) -> &mut Vec<u8> {
        self.out
    }

    /// Rejects output that would exceed the limit, before it is created.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    #[inline]
    pub fn reserve_output(&self, more: usize) -> Result<(), StopReason> {
        let written = self.out.len().saturating_add(self.held);
        if written.saturating_add(more) > self.limits.output_bytes {
            return Err(self.limit(LimitKind::OutputBytes));
        }
        Ok(())
    }

    /// Starts capturing output. All captured and saved bytes count towards the limit.
    pub(crate) fn capture(&mut self) -> CapturedOutput {
        // Saved output stays charged, or nested captures could exceed the limit many times.
        self.held = self.held.saturating_add(self.out.len());
        self.captures += 1;
        CapturedOutput {
            out: std::mem::take(self.out),
            pending: std::mem::take(&mut self.pending),
        }
    }

    /// Ends a capture. Returns the text, and whether a call was left pending in it, which makes the
    /// text invalid.
    pub(crate) fn release(&mut self, held: CapturedOutput) -> (Vec<u8>, bool) {
        self.held = self.held.saturating_sub(held.out.len());
        self.captures = self.captures.saturating_sub(1);
        let captured = std::mem::replace(self.out, held.out);
        let pending = self.pending;
        // The outer text depends on the pending call as well, even if the captured value is
        // dropped.
        self.pending |= held.pending;
        (captured, pending)
    }

    /// Restricts [`Pass::is_pending`] to the evaluation up to [`Pass::recall_pending`], which takes
    /// the returned value.
    pub(crate) fn forget_pending(&mut self) -> bool {
        std::mem::take(&mut self.pending)
    }

    /// Restores the pending state; returns whether a call was left pending since.
    pub(crate) fn recall_pending(&mut self, before: bool) -> bool {
        let since = self.pending;
        self.pending |= before;
        since
    }

    /// Checks the size of the written output.
    ///
    /// # Errors
    /// Returns an error at the output limit.
    pub fn check_output(&self) -> Result<(), StopReason> {
        self.reserve_output(0)
    }
}
