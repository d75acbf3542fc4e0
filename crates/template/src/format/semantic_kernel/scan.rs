//! Splits a template into text and blocks like Semantic Kernel's tokenizer: from left to right, in
//! a single pass.

use memchr::memmem;

/// A segment of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart<'t> {
    /// Text and its offset.
    Text(&'t str, usize),
    /// The trimmed content between `{{` and `}}`, and its offset. It is never empty, because `{{
    /// }}` is text.
    Block(&'t str, usize),
}

/// Iterates over the segments of a template.
#[derive(Debug)]
pub(super) struct PartScanner<'t> {
    source: &'t str,
    /// End of the returned segments.
    done: usize,
    /// The block after the returned text, and its end.
    ready: Option<(TemplatePart<'t>, usize)>,
}

impl<'t> PartScanner<'t> {
    pub(super) fn new(source: &'t str) -> Self {
        PartScanner {
            source,
            done: 0,
            ready: None,
        }
    }

    /// Returns the end of the last returned segment.
    pub(super) fn end(&self) -> usize {
        self.done
    }

    /// Finds the next nonempty block. Returns the range including its braces, and its content.
    fn block(&self) -> Option<(usize, usize, TemplatePart<'t>)> {
        let mut from = self.done;
        loop {
            let (start, end) = self.braces(from)?;
            let inner = &self.source[start + 2..end - 2];
            let content = inner.trim_start();
            let at = end - 2 - content.len();
            let content = content.trim_end();
            if !content.is_empty() {
                return Some((start, end, TemplatePart::Block(content, at)));
            }
            from = end;
        }
    }

    /// Finds the next `{{…}}`. A second `{{` outside quotes starts the block again. After an
    /// unclosed quote the rest is text.
    fn braces(&self, from: usize) -> Option<(usize, usize)> {
        let bytes = self.source.as_bytes();
        let mut start = from + memmem::find(&bytes[from..], b"{{")?;
        let mut at = start + 1;
        loop {
            match (*bytes.get(at)?, bytes.get(at + 1)) {
                (b'{', Some(b'{')) => start = at,
                (b'}', Some(b'}')) => return Some((start, at + 2)),
                (quote @ (b'"' | b'\''), _) => at = closing_quote(bytes, at, quote)?,
                _ => {}
            }
            at += 1;
        }
    }
}

/// Returns the end of the quote that begins at `start`.
fn closing_quote(bytes: &[u8], start: usize, quote: u8) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'\\', Some(b'"' | b'\'' | b'\\')) => at += 1,
            (byte, _) if byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

impl<'t> Iterator for PartScanner<'t> {
    type Item = TemplatePart<'t>;

    fn next(&mut self) -> Option<TemplatePart<'t>> {
        if let Some((block, end)) = self.ready.take() {
            self.done = end;
            return Some(block);
        }
        let (start, end, block) = match self.block() {
            Some((start, end, block)) => (start, end, Some(block)),
            None => (self.source.len(), self.source.len(), None),
        };
        let (from, text) = (self.done, &self.source[self.done..start]);
        if text.is_empty() {
            self.done = end;
            return block;
        }
        self.done = start;
        self.ready = block.map(|block| (block, end));
        Some(TemplatePart::Text(text, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        let show = |piece| match piece {
            TemplatePart::Text(text, at) => {
                assert_eq!(&source[at..at + text.len()], text);
                format!("[{text}]")
            }
            TemplatePart::Block(code, at) => {
                assert_eq!(&source[at..at + code.len()], code);
                format!("({code})")
            }
        };
        PartScanner::new(source).map(show).collect()
    }

    #[test]
    fn blocks_are_found_as_semantic_kernel_finds_them() {
        let cases = [
            ("", ""),
            ("{{", "[{{]"),
            ("{{}}", "[{{}}]"),
            ("a{{ }}b{{\u{a0}}}{{$c}}", "[a{{ }}b{{\u{a0}}}]($c)"),
            ("{{$a}}", "($a)"),
            ("x{{ $a\n}}y", "[x]($a)[y]"),
            ("{{{{$a}}", "[{{]($a)"),
            ("{{{$a}}}", "[{]($a)[}]"),
            ("{{ {{ {{$a}}}}", "[{{ {{ ]($a)[}}]"),
            ("{{'}}'}}", "('}}')"),
            ("{{'{{'}} {{\"\\\"}}\"}}", "('{{')[ ](\"\\\"}}\")"),
            ("{{'a\\\\'}}b", "('a\\\\')[b]"),
            ("{{ 'a }} x {{$b}}", "[{{ 'a }} x {{$b}}]"),
            ("it's {{$a}}'s", "[it's ]($a)['s]"),
            ("{{$a}", "[{{$a}]"),
        ];
        for (source, wanted) in cases {
            assert_eq!(shown(source), wanted, "{source}");
        }
    }
}
