//! Removes white space around tags: `~`, and lines that contain only a tag. The order of the steps
//! is that of handlebars.js and decides the output in odd cases, such as an `else if` chain or an
//! inverted section with an `{{else}}`.

use super::ast::{Block, BlockBody, Node, Text, TrimMarkers};
use crate::format::javascript::is_space;
use crate::format::standalone;

/// Effect of a tag on the surrounding text.
#[derive(Clone, Copy, Default)]
struct WhitespaceRule {
    strip: TrimMarkers,
    /// Whether it removes its line if it is alone on it.
    alone: bool,
    /// The same for both ends of a block.
    open_alone: bool,
    close_alone: bool,
}

/// One source with its tree.
pub(super) struct SourceState<'s> {
    pub(super) source: &'s str,
}

impl SourceState<'_> {
    /// Processes a body; `root` is the entire source.
    pub(super) fn body(&self, body: &mut BlockBody, root: bool) {
        let nodes = body.nodes.as_mut_slice();
        for index in 0..nodes.len() {
            let wanted = match nodes.get_mut(index) {
                None | Some(Node::Text(_) | Node::Marked(_)) => continue,
                Some(node) => self.inside(node),
            };
            self.around(nodes, index, wanted, root);
        }
    }

    fn around(&self, nodes: &mut [Node], index: usize, wanted: WhitespaceRule, root: bool) {
        // Both are computed before any text is changed, as in handlebars.js.
        let before = self.blank_before(nodes, index, root);
        let after = self.blank_after(nodes, index + 1, root);
        if wanted.strip.close {
            self.strip_start(nodes.get_mut(index + 1), true);
        }
        if wanted.strip.open {
            self.strip_end(
                index
                    .checked_sub(1)
                    .and_then(|before| nodes.get_mut(before)),
                true,
            );
        }
        if wanted.alone && before && after {
            self.strip_start(nodes.get_mut(index + 1), false);
            let previous = index
                .checked_sub(1)
                .and_then(|before| nodes.get_mut(before));
            let indent = self.strip_end(previous, false);
            // The removed indentation is added to every line of the partial.
            if let Some(Node::Partial(partial)) = nodes.get_mut(index) {
                partial.indent = indent;
            }
        }
        if wanted.open_alone && before {
            self.strip_start(nodes.get_mut(index).and_then(first_text), false);
            self.strip_end(
                index
                    .checked_sub(1)
                    .and_then(|before| nodes.get_mut(before)),
                false,
            );
        }
        if wanted.close_alone && after {
            self.strip_start(nodes.get_mut(index + 1), false);
            self.strip_end(nodes.get_mut(index).and_then(last_text), false);
        }
    }

    /// Processes the bodies of a tag, and returns the effect of the tag itself.
    fn inside(&self, node: &mut Node) -> WhitespaceRule {
        match node {
            Node::Text(_) | Node::Marked(_) => WhitespaceRule::default(),
            Node::Print(print) => WhitespaceRule {
                strip: print.strip,
                ..WhitespaceRule::default()
            },
            Node::Comment(strip) => WhitespaceRule {
                strip: *strip,
                alone: true,
                ..WhitespaceRule::default()
            },
            Node::Block(block) => self.block(block),
            Node::Inline(inline) => self.single(&mut inline.body, inline.open, inline.close),
            Node::Partial(partial) => match &mut partial.body {
                Some(body) => self.single(body, partial.open, partial.close),
                None => WhitespaceRule {
                    strip: partial.open,
                    alone: true,
                    ..WhitespaceRule::default()
                },
            },
        }
    }

    /// Processes a block with one body.
    fn single(
        &self,
        body: &mut BlockBody,
        open: TrimMarkers,
        close: TrimMarkers,
    ) -> WhitespaceRule {
        self.body(body, false);
        let wanted = self.wanted(body, None, open, close);
        // After `wanted`, which must see the text with its blanks.
        if open.close {
            self.strip_start(body.nodes.first_mut(), true);
        }
        if close.open {
            self.strip_end(body.nodes.last_mut(), true);
        }
        wanted
    }

    /// `second` is the part after the first one, if any.
    fn wanted(
        &self,
        first: &BlockBody,
        second: Option<&BlockBody>,
        open: TrimMarkers,
        close: TrimMarkers,
    ) -> WhitespaceRule {
        let last = &second.unwrap_or(first).nodes;
        WhitespaceRule {
            strip: TrimMarkers {
                open: open.open,
                close: close.close,
            },
            alone: false,
            // Bodies are never the root: the edge of a body is not the edge of the source.
            open_alone: self.blank_after(&first.nodes, 0, false),
            close_alone: self.blank_before(last, last.len(), false),
        }
    }

    fn block(&self, block: &mut Block) -> WhitespaceRule {
        for arm in &mut block.arms {
            if let Some(body) = &mut arm.body {
                self.body(body, false);
            }
        }
        if let Some(body) = &mut block.otherwise {
            self.body(body, false);
        }
        let mut wanted = WhitespaceRule::default();
        // From the last arm to the first, because each arm's text depends on the next one.
        for index in (0..block.arms.len()).rev() {
            wanted = self.arm(block, index);
        }
        wanted
    }

    /// Processes the boundary between an arm of a block and the next part.
    fn arm(&self, block: &mut Block, index: usize) -> WhitespaceRule {
        let (close, else_strip) = (block.close, block.else_strip);
        let (arms, rest) = block.arms.split_at_mut(index + 1);
        let Some(arm) = arms.last_mut() else {
            return WhitespaceRule::default();
        };
        // An arm after the second is closed by its own opening tag (sic).
        let close = if index < 2 { close } else { arm.strip };
        let (next_strip, next) = match rest.first_mut() {
            Some(next) => (next.strip, next.body.as_mut()),
            None => (else_strip, block.otherwise.as_mut()),
        };
        let open = arm.strip;
        let (first, second) = match (arm.body.as_mut(), next) {
            (Some(first), second) => (first, second),
            // `{{^…}}` has only the inverted body.
            (None, Some(only)) => (only, None),
            (None, None) => return WhitespaceRule::default(),
        };
        let wanted = self.wanted(first, second.as_deref(), open, close);
        self.borders(first, second, [open, next_strip, close]);
        wanted
    }

    fn borders(
        &self,
        first: &mut BlockBody,
        second: Option<&mut BlockBody>,
        strips: [TrimMarkers; 3],
    ) {
        let [open, middle, close] = strips;
        if open.close {
            self.strip_start(first.nodes.first_mut(), true);
        }
        let Some(second) = second else {
            if close.open {
                self.strip_end(first.nodes.last_mut(), true);
            }
            return;
        };
        if middle.open {
            self.strip_end(first.nodes.last_mut(), true);
        }
        if middle.close {
            self.strip_start(second.nodes.first_mut(), true);
        }
        if close.open {
            self.strip_end(second.nodes.last_mut(), true);
        }
        let end = first.nodes.len();
        if self.blank_before(&first.nodes, end, false) && self.blank_after(&second.nodes, 0, false)
        {
            self.strip_end(first.nodes.last_mut(), false);
            self.strip_start(second.nodes.first_mut(), false);
        }
    }

    fn original(&self, text: &Text) -> &str {
        let (start, end) = text.original;
        self.source.get(start..end).unwrap_or_default()
    }

    /// Whether the line is blank before the node at `index`, judged by the original text.
    fn blank_before(&self, nodes: &[Node], index: usize, root: bool) -> bool {
        match index.checked_sub(1).and_then(|before| nodes.get(before)) {
            None => root,
            Some(Node::Text(text)) => {
                standalone::blank_before(self.original(text), root && index == 1)
            }
            Some(_) => false,
        }
    }

    /// Whether the line is blank from the node at `index` on.
    fn blank_after(&self, nodes: &[Node], index: usize, root: bool) -> bool {
        match nodes.get(index) {
            None => root,
            Some(Node::Text(text)) => {
                standalone::blank_after(self.original(text), root && index + 1 == nodes.len())
            }
            Some(_) => false,
        }
    }

    /// Removes white space from the start of a text: all of it, or the rest of a line.
    fn strip_start(&self, node: Option<&mut Node>, all: bool) {
        let Some(text) = node.and_then(as_text) else {
            return;
        };
        // `~` has already removed more than the rest of a line.
        if !all && text.right_stripped {
            return;
        }
        let now = self.source.get(text.start..text.end).unwrap_or_default();
        let rest = if all {
            now.trim_start_matches(is_space)
        } else {
            standalone::without_line_end(now)
        };
        text.right_stripped = rest.len() < now.len();
        text.start = text.end - rest.len();
    }

    /// Removes white space from the end of a text: all of it, or a tag's indentation. Returns the
    /// range of the indentation.
    fn strip_end(&self, node: Option<&mut Node>, all: bool) -> Option<(usize, usize)> {
        let text = node.and_then(as_text)?;
        if !all && text.left_stripped {
            return None;
            // The last change on this side wins, whatever removed it.
        }
        let now = self.source.get(text.start..text.end).unwrap_or_default();
        let rest = if all {
            now.trim_end_matches(is_space)
        } else {
            standalone::without_indent(now)
        };
        text.left_stripped = rest.len() < now.len();
        text.end = text.start + rest.len();
        let original = self.original(text);
        let indent = original.len() - standalone::without_indent(original).len();
        let end = text.original.1;
        text.left_stripped.then_some((end - indent, end))
    }
}

fn as_text(node: &mut Node) -> Option<&mut Text> {
    match node {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the text at the start of a block.
fn first_text(node: &mut Node) -> Option<&mut Node> {
    match node {
        Node::Block(block) => {
            let first = block.arms.first_mut()?.body.as_mut();
            first.or(block.otherwise.as_mut())?.nodes.first_mut()
        }
        Node::Inline(inline) => inline.body.nodes.first_mut(),
        Node::Partial(partial) => partial.body.as_mut()?.nodes.first_mut(),
        _ => None,
    }
}

/// Returns the text at the end of a block. That of a chain is not found (sic).
fn last_text(node: &mut Node) -> Option<&mut Node> {
    match node {
        // (sic): handlebars.js looks at the wrong node of a chain.
        Node::Block(block) if block.arms.len() > 1 => None,
        Node::Block(block) => {
            let last = block.otherwise.as_mut();
            last.or(block.arms.first_mut()?.body.as_mut())?
                .nodes
                .last_mut()
        }
        Node::Inline(inline) => inline.body.nodes.last_mut(),
        Node::Partial(partial) => partial.body.as_mut()?.nodes.last_mut(),
        _ => None,
    }
}
