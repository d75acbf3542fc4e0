//! Divides a template into text and blocks, as Semantic Kernel's template
//! tokenizer does: from left to right, each character looked at once.

use memchr::memmem;

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart<'t> {
    /// Text, and where it begins.
    Text(&'t str, usize),
    /// What stands between `{{` and `}}`, without blanks at its ends, and where
    /// it begins. Never empty: `{{ }}` is text.
    Block(&'t str, usize),
}

/// The pieces of a template in their order.
#[derive(Debug)]
pub(super) struct PartScanner<'t> {
    source: &'t str,
    /// Up to here, pieces have been given.
    done: usize,
    /// A block that stands after the text that was given last, and its end.
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

    /// Where the piece ends that was given last.
    pub(super) fn end(&self) -> usize {
        self.done
    }

    /// The next block that is not empty: where its braces begin and end, and the block.
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

    /// The next `{{…}}`. A `{{` outside of quotes begins it anew; a quote that
    /// does not end leaves all that follows text.
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

/// Where the quote ends that begins at `start`.
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
