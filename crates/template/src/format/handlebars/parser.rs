//! Parser from tags to a syntax tree. Open blocks are on a stack, so the parser can report several
//! errors per source.

use quillet_core::Span;

use super::ast::{
    Block, BlockBody, BranchArm, Expr, InlinePartial, Node, Partial, PartialName, Print, Text,
    TrimMarkers,
};
use super::helper::Callee;
use super::lexer::{Kind as Lexeme, Lexer, TagOpening, Token};
use super::operands::{ArgumentExprs, TagHead};
use crate::format::problem::{MOST_PROBLEMS, ParseProblem};

/// Maximum number of block parameters. No helper supplies as many.
const MOST_PARAMS: usize = 16;

/// Parser options, which depend on the format and the other sources.
pub(super) struct ParseContext<'k> {
    /// Finds a helper of the format by name.
    pub(super) helper: &'k dyn Fn(&str) -> Option<Callee>,
    /// Finds a source of the set by name.
    pub(super) source: &'k dyn Fn(&str) -> Option<usize>,
    /// Maximum nesting of blocks and parentheses.
    pub(super) nesting: usize,
}

/// A block without its end tag.
pub(super) struct OpenBlock {
    pub(super) kind: OpenKind,
    /// Name that the end tag must have. `None` if no end tag fits.
    pub(super) name: Option<String>,
    /// Nodes before the block.
    pub(super) outer: Vec<Node>,
    pub(super) span: Span,
    pub(super) strip: TrimMarkers,
    /// Block parameters of the current branch.
    pub(super) params: usize,
    pub(super) named_params: bool,
}

pub(super) enum OpenKind {
    Block {
        arms: Vec<BranchArm>,
        inverted: bool,
        /// Trim markers of `{{else}}`, once it was read. In an inverted block also the body before
        /// it.
        otherwise: Option<(TrimMarkers, Option<BlockBody>)>,
    },
    Partial(PartialName, ArgumentExprs),
    Inline(Expr),
}

pub(super) struct Parser<'s, 'k> {
    pub(super) lexer: Lexer<'s>,
    pub(super) token: Token,
    pub(super) known: &'k ParseContext<'k>,
    /// Names of block parameters, innermost last.
    pub(super) params: Vec<Vec<Box<str>>>,
    pub(super) depth: usize,
    pub(super) nodes: Vec<Node>,
    open: Vec<OpenBlock>,
    problems: Vec<ParseProblem>,
    /// Whether the start of a block was invalid, so that its end tag may look unexpected.
    lost: bool,
}

/// Parses one source.
pub(super) fn parse(text: &str, known: &ParseContext<'_>) -> Result<BlockBody, Vec<ParseProblem>> {
    let end = Token {
        kind: Lexeme::End,
        start: 0,
        end: 0,
    };
    let parser = Parser {
        lexer: Lexer::new(text),
        token: end,
        known,
        params: Vec::new(),
        depth: 0,
        nodes: Vec::new(),
        open: Vec::new(),
        problems: Vec::new(),
        lost: false,
    };
    parser.source()
}

impl Parser<'_, '_> {
    fn source(mut self) -> Result<BlockBody, Vec<ParseProblem>> {
        while self.lexer.at < self.lexer.text.len() && self.problems.len() < MOST_PROBLEMS {
            let content = self.lexer.content();
            for (start, end) in content.pieces {
                self.text(start, end);
            }
            let tag = self.lexer.at;
            if content.tag
                && let Err(problem) = self.tag()
            {
                self.recover(tag, problem);
            }
        }
        if !self.lost {
            let open = self.open.iter().map(not_closed);
            self.problems.extend(open);
        }
        if self.problems.is_empty() {
            Ok(body(self.nodes, 0))
        } else {
            Err(self.problems)
        }
    }

    fn text(&mut self, start: usize, end: usize) {
        if end > start {
            self.nodes.push(Node::Text(Text::new(start, end)));
        }
    }

    /// Reports an error in a tag and continues after the tag.
    fn recover(&mut self, tag: usize, problem: ParseProblem) {
        self.depth = 0;
        let text = self.lexer.text;
        let from = self.token.start.max(tag);
        let rest = text.get(from..).unwrap_or_default();
        let end = rest.find("}}").filter(|_| self.lexer.at < text.len());
        let problem = match end {
            None if self.token.end > tag
                && matches!(self.token.kind, Lexeme::Invalid | Lexeme::End) =>
            {
                let span = Span {
                    start: tag,
                    end: text.len(),
                };
                ParseProblem::new("the tag is not closed", span).help("end it with }}")
            }
            _ => problem,
        };
        self.lexer.at = match end {
            Some(end) => from + end + rest.get(end..).map_or(2, closing_braces),
            None => text.len(),
        };
        self.problems.push(problem);
    }

    pub(super) fn advance(&mut self) {
        self.token = self.lexer.token();
    }

    pub(super) fn span(&self, start: usize) -> Span {
        Span {
            start,
            end: self.lexer.at,
        }
    }

    fn tag(&mut self) -> Result<(), ParseProblem> {
        let start = self.lexer.at;
        let Some((opening, open)) = self.lexer.opening() else {
            let span = Span {
                start,
                end: start + 2,
            };
            self.lexer.at = self.lexer.text.len();
            return Err(ParseProblem::new("the comment is not closed", span));
        };
        match opening {
            TagOpening::Comment { close } => {
                self.nodes.push(Node::Comment(TrimMarkers { open, close }));
                return Ok(());
            }
            TagOpening::Else { close } => {
                return self.otherwise(start, TrimMarkers { open, close });
            }
            _ => {}
        }
        self.advance();
        let result = match opening {
            TagOpening::Print { escaped } => return self.print(start, open, escaped),
            TagOpening::Triple => return self.triple(start, open),
            TagOpening::Partial => return self.partial(start, open),
            TagOpening::End => self.end(start, open),
            TagOpening::ElseCall => self.else_call(start, open),
            TagOpening::Block => self.block(start, open, false),
            TagOpening::Inverse => self.block(start, open, true),
            TagOpening::PartialBlock => self.partial_block(start, open),
            TagOpening::Decorator => self.decorator(start, open),
            TagOpening::Raw => return self.raw(start),
            _ => Err(
                ParseProblem::new("decorators can only be blocks", self.span(start))
                    .help("only {{#*inline \"name\"}}…{{/inline}} is supported"),
            ),
        };
        self.lost |= result.is_err();
        result
    }

    fn print(&mut self, start: usize, open: bool, escaped: bool) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let arguments = self.arguments()?;
        let close = self.close()?;
        self.push_print(start, head, arguments, escaped, TrimMarkers { open, close })
    }

    fn triple(&mut self, start: usize, open: bool) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let arguments = self.arguments()?;
        let Lexeme::CloseTriple { strip: close } = self.token.kind else {
            return Err(self.unexpected("}}}"));
        };
        self.push_print(start, head, arguments, false, TrimMarkers { open, close })
    }

    fn push_print(
        &mut self,
        start: usize,
        head: TagHead<'_>,
        arguments: ArgumentExprs,
        escaped: bool,
        strip: TrimMarkers,
    ) -> Result<(), ParseProblem> {
        let call = self.call(head, arguments, self.span(start), false);
        self.nodes.push(Node::Print(Box::new(Print {
            call,
            escaped,
            strip,
        })));
        Ok(())
    }

    /// Begins a block. The following nodes become its body.
    pub(super) fn begin(&mut self, open: OpenBlock) -> Result<(), ParseProblem> {
        if self.open.len() >= self.known.nesting {
            return Err(self.too_deep(open.span));
        }
        self.open.push(open);
        Ok(())
    }

    pub(super) fn too_deep(&self, span: Span) -> ParseProblem {
        let limit = self.known.nesting;
        let message = format!("more than {limit} levels of blocks and parentheses");
        ParseProblem::new(message, span)
            .limit()
            .help("this is the limit on nesting")
    }

    fn block(&mut self, start: usize, open: bool, inverted: bool) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let name = head.original.clone().into_owned();
        let arguments = self.arguments()?;
        let params = self.block_params()?;
        let close = self.close()?;
        let span = self.span(start);
        let arm = BranchArm {
            call: self.call(head, arguments, span, false),
            body: None,
            strip: TrimMarkers { open, close },
        };
        let kind = OpenKind::Block {
            arms: vec![arm],
            inverted,
            otherwise: None,
        };
        let outer = std::mem::take(&mut self.nodes);
        let open = OpenBlock {
            kind,
            name: Some(name),
            outer,
            span,
            strip: TrimMarkers { open, close },
            params: params.len(),
            named_params: self.declare(params),
        };
        self.begin(open)
    }

    /// Brings names into scope until the end of the branch.
    fn declare(&mut self, params: Vec<Box<str>>) -> bool {
        let any = !params.is_empty();
        if any {
            self.params.push(params);
        }
        any
    }

    /// Parses `as |item index|`.
    pub(super) fn block_params(&mut self) -> Result<Vec<Box<str>>, ParseProblem> {
        let mut names = Vec::new();
        if self.token.kind != Lexeme::OpenParams {
            return Ok(names);
        }
        self.advance();
        while let Some(name) = self.id() {
            names.push(name.into());
            self.advance();
        }
        if self.token.kind != Lexeme::CloseParams || names.is_empty() {
            return Err(self.unexpected("the names of block parameters, as in `as |item|`"));
        }
        if names.len() > MOST_PARAMS {
            let message = format!("a block has at most {MOST_PARAMS} block parameters");
            return Err(ParseProblem::new(message, self.span(self.token.start)));
        }
        self.advance();
        Ok(names)
    }

    /// Returns the body of the current branch and ends the branch.
    fn part(&mut self, open: &mut OpenBlock) -> BlockBody {
        if std::mem::take(&mut open.named_params) {
            self.params.pop();
        }
        body(
            std::mem::take(&mut self.nodes),
            std::mem::take(&mut open.params),
        )
    }

    fn otherwise(&mut self, start: usize, strip: TrimMarkers) -> Result<(), ParseProblem> {
        let span = self.span(start);
        let Some(mut open) = self.open.pop() else {
            return self.stray(span, "{{else}} outside a block");
        };
        let part = self.part(&mut open);
        let wrong = match &mut open.kind {
            OpenKind::Block {
                otherwise: Some(_), ..
            } => Some("the block already has an {{else}}"),
            OpenKind::Block {
                arms,
                inverted,
                otherwise,
            } => {
                match (inverted, arms.last_mut()) {
                    (false, Some(arm)) => {
                        arm.body = Some(part);
                        *otherwise = Some((strip, None));
                    }
                    _ => *otherwise = Some((strip, Some(part))),
                }
                None
            }
            _ => Some("a partial block has no {{else}}"),
        };
        self.open.push(open);
        match wrong {
            Some(wrong) => Err(ParseProblem::new(wrong, span)),
            None => Ok(()),
        }
    }

    fn else_call(&mut self, start: usize, open_strip: bool) -> Result<(), ParseProblem> {
        let Some(mut open) = self.open.pop() else {
            return self.stray(self.span(start), "{{else …}} outside a block");
        };
        // The parameters of the previous branch are out of scope here.
        let part = self.part(&mut open);
        let result = self.else_head(start, open_strip, &mut open, part);
        self.open.push(open);
        result
    }

    fn else_head(
        &mut self,
        start: usize,
        open_strip: bool,
        open: &mut OpenBlock,
        part: BlockBody,
    ) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let arguments = self.arguments()?;
        let params = self.block_params()?;
        let close = self.close()?;
        let span = self.span(start);
        let OpenKind::Block {
            arms,
            inverted: false,
            otherwise: None,
        } = &mut open.kind
        else {
            let message = "{{else …}} with a condition must follow {{#…}} or another {{else …}} with a condition";
            return Err(ParseProblem::new(message, span));
        };
        let call = self.call(head, arguments, span, false);
        if let Some(arm) = arms.last_mut() {
            arm.body = Some(part);
        }
        arms.push(BranchArm {
            call,
            body: None,
            strip: TrimMarkers {
                open: open_strip,
                close,
            },
        });
        open.params = params.len();
        open.named_params = self.declare(params);
        Ok(())
    }

    /// Reports a tag outside a block that is valid only in a block.
    fn stray(&self, span: Span, message: &str) -> Result<(), ParseProblem> {
        if self.lost {
            Ok(())
        } else {
            Err(ParseProblem::new(message, span))
        }
    }

    fn end(&mut self, start: usize, open_strip: bool) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let name = head.original.into_owned();
        let close = self.close()?;
        let span = self.span(start);
        let Some(mut open) = self.open.pop() else {
            let message = format!("{{{{/{name}}}}} closes nothing");
            return self.stray(span, &message);
        };
        if open.name.as_deref() != Some(name.as_str()) && !self.lost {
            let problem = self.mismatch(&open, &name, span);
            // An end tag of an outer block also ends the open blocks inside that block.
            let fits = |open: &OpenBlock| open.name.as_deref() == Some(name.as_str());
            match self.open.iter().rposition(fits) {
                Some(_) => while self.open.pop().is_some_and(|open| !fits(&open)) {},
                None => self.open.push(open),
            }
            self.lost = true;
            return Err(problem);
        }
        let part = self.part(&mut open);
        let strip = TrimMarkers {
            open: open_strip,
            close,
        };
        self.nodes = std::mem::take(&mut open.outer);
        self.nodes.push(closed(open, part, strip));
        Ok(())
    }

    fn mismatch(&self, open: &OpenBlock, name: &str, span: Span) -> ParseProblem {
        let expected = open.name.as_deref().unwrap_or("(…)");
        let line = quillet_core::LineColumn::of(self.lexer.text, open.span.start).line;
        ParseProblem::new(
            format!("{{{{/{name}}}}} does not match {expected}, which was opened in line {line}"),
            span,
        )
        .help(format!("close it with {{{{/{expected}}}}}"))
    }

    /// Reads `}}`. Returns whether it has a `~`.
    pub(super) fn close(&mut self) -> Result<bool, ParseProblem> {
        match self.token.kind {
            Lexeme::Close { strip } => Ok(strip),
            Lexeme::CloseTriple { .. } => Err(self.unexpected("}}").help(
                "a tag ends at its two braces; to print a brace after it, write {{…}}{{! }}}",
            )),
            _ => Err(self.unexpected("}}")),
        }
    }
}

/// Returns the number of adjacent closing braces, or 2 if there are fewer.
fn closing_braces(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'}').count().max(2)
}

fn not_closed(open: &OpenBlock) -> ParseProblem {
    let name = open.name.as_deref().unwrap_or("(…)");
    ParseProblem::new(format!("the block {name} is not closed"), open.span)
        .help(format!("close it with {{{{/{name}}}}}"))
}

pub(super) fn body(nodes: Vec<Node>, params: usize) -> BlockBody {
    let inlines = nodes.iter().any(|node| matches!(node, Node::Inline(_)));
    BlockBody {
        nodes,
        params,
        inlines,
    }
}

/// Returns the node of a block that ends here.
fn closed(open: OpenBlock, part: BlockBody, close: TrimMarkers) -> Node {
    match open.kind {
        OpenKind::Partial(name, arguments) => {
            partial(name, arguments, Some(part), open.strip, close, open.span)
        }
        OpenKind::Inline(name) => Node::Inline(Box::new(InlinePartial {
            name,
            body: part,
            open: open.strip,
            close,
        })),
        OpenKind::Block {
            mut arms,
            inverted,
            otherwise,
        } => {
            let else_strip = otherwise.as_ref().map(|(strip, _)| *strip);
            let otherwise = match (inverted, otherwise) {
                (false, None) => {
                    set_last(&mut arms, part);
                    None
                }
                (false, Some(_)) => Some(part),
                (true, None) => Some(part),
                (true, Some((_, first))) => {
                    set_last(&mut arms, part);
                    first
                }
            };
            Node::Block(Box::new(Block {
                arms,
                otherwise,
                inverted,
                else_strip: else_strip.unwrap_or_default(),
                close,
            }))
        }
    }
}

fn set_last(arms: &mut [BranchArm], body: BlockBody) {
    if let Some(arm) = arms.last_mut() {
        arm.body = Some(body);
    }
}

pub(super) fn partial(
    name: PartialName,
    arguments: ArgumentExprs,
    body: Option<BlockBody>,
    open: TrimMarkers,
    close: TrimMarkers,
    span: Span,
) -> Node {
    Node::Partial(Box::new(Partial {
        name,
        context: arguments.positional.into_iter().next(),
        named: arguments.named,
        body,
        open,
        close,
        indent: None,
        span,
    }))
}
