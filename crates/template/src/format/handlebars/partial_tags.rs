//! Parser for partials, inline partials and raw blocks.

use super::ast::{Block, BranchArm, Node, PartialName, Text, TrimMarkers};
use super::lexer::Kind as Lexeme;
use super::operands::ArgumentExprs;
use super::parser::{OpenBlock, OpenKind, Parser, body, partial};
use crate::format::problem::ParseProblem;

impl Parser<'_, '_> {
    fn partial_name(&mut self) -> Result<(PartialName, Option<String>), ParseProblem> {
        if self.token.kind == Lexeme::OpenCall {
            let call = self.parameter()?;
            return Ok((PartialName::Dynamic(call), None));
        }
        let head = self.head()?;
        let name = head.original.into_owned();
        let partial = match name.as_str() {
            "@partial-block" => PartialName::Block,
            _ => PartialName::Fixed(name.as_str().into(), (self.known.source)(&name)),
        };
        Ok((partial, Some(name)))
    }

    /// Reads the arguments of a partial: an optional context, and named arguments.
    fn partial_arguments(&mut self, start: usize) -> Result<ArgumentExprs, ParseProblem> {
        let arguments = self.arguments()?;
        match arguments.positional.len() {
            0 | 1 => Ok(arguments),
            count => {
                let message = format!("a partial takes one context, not {count}");
                let help = "pass other values by name: {{> name context key=value}}";
                Err(ParseProblem::new(message, self.span(start)).help(help))
            }
        }
    }

    pub(super) fn partial(&mut self, start: usize, open: bool) -> Result<(), ParseProblem> {
        let (name, _) = self.partial_name()?;
        let arguments = self.partial_arguments(start)?;
        let close = self.close()?;
        let span = self.span(start);
        let strip = TrimMarkers { open, close };
        self.nodes
            .push(partial(name, arguments, None, strip, strip, span));
        Ok(())
    }

    pub(super) fn partial_block(&mut self, start: usize, open: bool) -> Result<(), ParseProblem> {
        let (name, original) = self.partial_name()?;
        let arguments = self.partial_arguments(start)?;
        let close = self.close()?;
        self.begin_plain(
            OpenKind::Partial(name, arguments),
            original,
            start,
            TrimMarkers { open, close },
        )
    }

    fn begin_plain(
        &mut self,
        kind: OpenKind,
        name: Option<String>,
        start: usize,
        strip: TrimMarkers,
    ) -> Result<(), ParseProblem> {
        let open = OpenBlock {
            kind,
            name,
            outer: std::mem::take(&mut self.nodes),
            span: self.span(start),
            strip,
            params: 0,
            named_params: false,
        };
        self.begin(open)
    }

    pub(super) fn decorator(&mut self, start: usize, open: bool) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let name = head.original.into_owned();
        let mut arguments = self.arguments()?;
        let params = self.block_params()?;
        let close = self.close()?;
        let span = self.span(start);
        if name != "inline" || !params.is_empty() {
            let message = format!("unknown decorator {name}");
            return Err(ParseProblem::new(message, span).help("only inline exists"));
        }
        let Some(partial) = arguments.positional.drain(..).next() else {
            return Err(ParseProblem::new("an inline partial needs a name", span)
                .help("{{#*inline \"name\"}}…{{/inline}}"));
        };
        let strip = TrimMarkers { open, close };
        self.begin_plain(OpenKind::Inline(partial), Some(name), start, strip)
    }

    pub(super) fn raw(&mut self, start: usize) -> Result<(), ParseProblem> {
        let head = self.head()?;
        let name = head.original.clone().into_owned();
        let arguments = self.arguments()?;
        if self.token.kind != Lexeme::CloseRaw {
            return Err(self.unexpected("}}}}"));
        }
        let call = self.call(head, arguments, self.span(start), false);
        let Some(raw) = self.lexer.raw() else {
            self.lexer.at = self.lexer.text.len();
            let message = format!("the raw block {name} is not closed");
            return Err(ParseProblem::new(message, call.span)
                .help(format!("close it with {{{{{{{{/{name}}}}}}}}}")));
        };
        if raw.name != name {
            let message = format!("the raw block {name} is closed as {}", raw.name);
            let span = self.span(raw.end);
            return Err(ParseProblem::new(message, span));
        }
        let text = |(start, end)| Node::Text(Text::new(start, end));
        let nodes = raw.pieces.into_iter().map(text).collect();
        let arm = BranchArm {
            call,
            body: Some(body(nodes, 0)),
            strip: TrimMarkers::default(),
        };
        self.nodes.push(Node::Block(Box::new(Block {
            arms: vec![arm],
            otherwise: None,
            inverted: false,
            else_strip: TrimMarkers::default(),
            close: TrimMarkers::default(),
        })));
        Ok(())
    }
}
