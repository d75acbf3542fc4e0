//! Removes white space around tags with `~`, and lines that contain only a tag. The steps have the
//! same order as in handlebars.js, because the order affects the output in special cases such as an
//! `else if` chain or an inverted section with an `{{else}}`.

use super::ast::{Block, BlockBody, Node, Text, TrimMarkers};
use crate::format::javascript::is_space;
use crate::format::standalone;

/// Effect of a tag on the text around it.
#[derive(Clone, Copy, Default)]
struct WhitespaceRule {
    strip: TrimMarkers,
    /// Whether the tag removes its line if nothing else is on the line.
    alone: bool,
    /// The same for the opening tag and the end tag of a block.
    open_alone: bool,
    close_alone: bool,
}

/// A source during whitespace control.
pub(super) struct SourceState<'s> {
    pub(super) source: &'s str,
}

impl SourceState<'_> {
    /// Processes a body. With `root` it is the body of the entire source.
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
        // As in handlebars.js, both values are computed before any text is changed.
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
            // The indentation of the tag is added to every line of the partial.
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

    /// Processes the bodies of a tag. Returns the effect of the tag itself.
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
        // `wanted` must be computed before the blanks are removed.
        if open.close {
            self.strip_start(body.nodes.first_mut(), true);
        }
        if close.open {
            self.strip_end(body.nodes.last_mut(), true);
        }
        wanted
    }

    /// Returns the effect of a block. `second` is the body after the first one, if any.
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
            // `false`, because the start and end of a body are not those of the source.
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
        // Branches are visited in reverse order, because the text of each branch depends on the
        // next branch.
        for index in (0..block.arms.len()).rev() {
            wanted = self.arm(block, index);
        }
        wanted
    }

    /// Processes the boundary between a branch and the following part.
    fn arm(&self, block: &mut Block, index: usize) -> WhitespaceRule {
        let (close, else_strip) = (block.close, block.else_strip);
        let (arms, rest) = block.arms.split_at_mut(index + 1);
        let Some(arm) = arms.last_mut() else {
            return WhitespaceRule::default();
        };
        // As in handlebars.js, a branch after the second branch uses the markers of its own opening
        // tag.
        let close = if index < 2 { close } else { arm.strip };
        let (next_strip, next) = match rest.first_mut() {
            Some(next) => (next.strip, next.body.as_mut()),
            None => (else_strip, block.otherwise.as_mut()),
        };
        let open = arm.strip;
        let (first, second) = match (arm.body.as_mut(), next) {
            (Some(first), second) => (first, second),
            // `{{^…}}` has only an inverted body.
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

    /// Whether the line before a node is blank in the original text.
    fn blank_before(&self, nodes: &[Node], index: usize, root: bool) -> bool {
        match index.checked_sub(1).and_then(|before| nodes.get(before)) {
            None => root,
            Some(Node::Text(text)) => {
                standalone::blank_before(self.original(text), root && index == 1)
            }
            Some(_) => false,
        }
    }

    /// Whether the rest of the line from a node on is blank in the original text.
    fn blank_after(&self, nodes: &[Node], index: usize, root: bool) -> bool {
        match nodes.get(index) {
            None => root,
            Some(Node::Text(text)) => {
                standalone::blank_after(self.original(text), root && index + 1 == nodes.len())
            }
            Some(_) => false,
        }
    }

    /// Removes white space from the start of a text: all of it, or only the rest of a line.
    fn strip_start(&self, node: Option<&mut Node>, all: bool) {
        let Some(text) = node.and_then(as_text) else {
            return;
        };
        // A `~` has already removed more than the rest of the line.
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

    /// Removes white space from the end of a text: all of it, or only the indentation of a tag.
    /// Returns the range of the indentation.
    fn strip_end(&self, node: Option<&mut Node>, all: bool) -> Option<(usize, usize)> {
        let text = node.and_then(as_text)?;
        if !all && text.left_stripped {
            return None;
            // The last change on this side decides, even if another tag made it.
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

/// Returns the text at the end of a block, or `None` for a chain, as in handlebars.js.
fn last_text(node: &mut Node) -> Option<&mut Node> {
    match node {
        // handlebars.js looks at the wrong node of a chain of branches.
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
