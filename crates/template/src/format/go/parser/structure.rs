//! Parser of text, actions, blocks and definitions.

use std::borrow::Cow;

use quillet_core::Span;

use super::super::ast::{Op, OpIndex, Pipe, TemplateCall, TemplateDefinition};
use super::super::lexer::{Kind, Token};
use super::super::literal;
use super::{OpenBlock, ParseError, Parser, Tree, TreeKind, quote};

type ParseResult<T = ()> = std::result::Result<T, Box<ParseError>>;

impl Parser<'_> {
    pub(super) fn run(&mut self) -> ParseResult {
        while !self.at_end()? {
            if !self.at_define()? {
                self.text_or_action()?;
            }
        }
        self.add()
    }

    fn is_top_level(&self) -> bool {
        self.tree.blocks.is_empty() && matches!(self.tree.opened, TreeKind::Source)
    }

    fn at_end(&mut self) -> ParseResult<bool> {
        if self.peek_non_space().kind != Kind::Eof {
            return Ok(false);
        }
        if self.is_top_level() {
            return Ok(true);
        }
        let mut failure = self.fail("unexpected EOF".to_owned());
        failure.diagnostic = failure.diagnostic.help(self.unclosed());
        Err(failure)
    }

    /// Describes the unclosed element. Go's message does not name it.
    fn unclosed(&self) -> String {
        // An `else if` has no end tag.
        let Some(block) = self.tree.blocks.iter().rfind(|block| !block.chained) else {
            let keyword = match self.tree.opened {
                TreeKind::Block(_) => "block",
                TreeKind::Source | TreeKind::Define => "define",
            };
            return format!(
                "the {{{{{keyword} {}}}}} has no {{{{end}}}}",
                quote(&self.tree.name)
            );
        };
        let keyword = match block.kind {
            Kind::If => "if",
            Kind::With => "with",
            _ => "range",
        };
        let line = block.line;
        format!("the {{{{{keyword}}}}} on line {line} has no {{{{end}}}}")
    }

    /// Begins a definition if one follows. Definitions are valid only at the top level.
    fn at_define(&mut self) -> ParseResult<bool> {
        if !self.is_top_level() || self.peek().kind != Kind::LeftDelim {
            return Ok(false);
        }
        let delim = self.next();
        if self.next_non_space().kind != Kind::Define {
            // This is not a definition, so both tokens are read again as an action.
            self.backup2(delim);
            return Ok(false);
        }
        self.open(Tree::new("definition".into(), TreeKind::Define));
        let context = "define clause";
        let token = self.next_non_space();
        self.tree.name = self.template_name(token, context)?;
        self.expect(Kind::RightDelim, context)?;
        Ok(true)
    }

    fn open(&mut self, tree: Tree) {
        self.outer.push(std::mem::replace(&mut self.tree, tree));
    }

    /// Closes the current definition and returns to the enclosing one, if any.
    fn close(&mut self) -> Option<Tree> {
        let outer = self.outer.pop()?;
        Some(std::mem::replace(&mut self.tree, outer))
    }

    /// Stores the completed definition.
    fn add(&mut self) -> ParseResult {
        // The operations are moved out, because the tree is dropped at the end of its definition.
        let ops = std::mem::take(&mut self.tree.ops);
        let definition = TemplateDefinition {
            name: self.tree.name.clone(),
            source: self.source,
            text_bytes: ops.iter().map(text_length).sum(),
            is_empty: ops.iter().all(|op| self.is_blank(op)),
            shadowed: self.tree.names.take_shadowed(),
            ops,
        };
        match self.done.get_mut(&definition.name) {
            None => {
                self.done.insert(definition.name.clone(), definition);
            }
            // In Go, a non-empty definition replaces an empty definition, and an empty definition
            // replaces nothing.
            Some(known) if known.is_empty => *known = definition,
            Some(_) if definition.is_empty => {}
            Some(_) => {
                let name = quote(&definition.name);
                let reason = format!("template: multiple definition of template {name}");
                return Err(self.fail(reason));
            }
        }
        Ok(())
    }

    fn is_blank(&self, op: &Op) -> bool {
        match op {
            Op::Text { start, end } => self.text[*start..*end].trim().is_empty(),
            _ => false,
        }
    }

    /// Converts literal text to an operation. If message syntax is enabled, tags in the text are
    /// marked.
    fn literal(&mut self, start: usize, end: usize) -> Op {
        let text = &self.text[start..end];
        let marked = self.elements.as_mut().map(|e| e.mark_at(text, start));
        // Marked text needs a copy. Other text is a range of the source.
        match marked {
            Some(Cow::Owned(marked)) => Op::Marked(marked.into()),
            _ => Op::Text { start, end },
        }
    }

    fn text_or_action(&mut self) -> ParseResult {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => {
                let op = self.literal(token.start, token.end);
                self.tree.ops.push(op);
                Ok(())
            }
            Kind::LeftDelim => {
                self.tree.action_line = token.line;
                self.action()
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn action(&mut self) -> ParseResult {
        let token = self.next_non_space();
        match token.kind {
            // In Go's error messages, this action extends to the end of its block.
            Kind::If | Kind::With | Kind::Range => return self.open_block(token, false),
            Kind::Block => return self.block_clause(),
            Kind::Else => self.else_clause()?,
            Kind::End => self.end_clause()?,
            Kind::Break => self.break_or_continue("{{break}}", Kind::Break)?,
            Kind::Continue => self.break_or_continue("{{continue}}", Kind::Continue)?,
            Kind::Template => self.template_clause()?,
            _ => {
                // The token is the first token of the pipeline.
                self.backup();
                let pipe = self.pipeline("command", Kind::RightDelim)?;
                self.tree.ops.push(Op::Action(pipe));
            }
        }
        self.tree.action_line = 0;
        Ok(())
    }

    fn open_block(&mut self, keyword: Token, chained: bool) -> ParseResult {
        // Open definitions also count, because each may contain blocks.
        if self.tree.blocks.len() + self.outer.len() >= self.settings.nesting {
            return Err(self.too_deep(keyword, "blocks are nested too deeply"));
        }
        let names = self.tree.names.len();
        let context = match keyword.kind {
            Kind::If => "if",
            Kind::With => "with",
            _ => "range",
        };
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        let tree = &mut self.tree;
        tree.blocks.push(OpenBlock {
            kind: keyword.kind,
            line: keyword.line,
            // Both jump targets are patched at the end of the block.
            op: tree.ops.len(),
            names,
            slots: tree.names.slots(),
            to_end: Vec::new(),
            in_else: false,
            chained,
        });
        tree.ops.push(match keyword.kind {
            Kind::If => Op::If { pipe, otherwise: 0 },
            Kind::With => Op::With { pipe, otherwise: 0 },
            _ => Op::Range {
                pipe,
                // The end of the range of slots is patched at the end of the block.
                otherwise: 0,
                end: 0,
                inside: 0..0,
            },
        });
        tree.range_depth += usize::from(keyword.kind == Kind::Range);
        Ok(())
    }

    fn else_clause(&mut self) -> ParseResult {
        let next = self.peek_non_space();
        let chain = matches!(next.kind, Kind::If | Kind::With);
        if !chain {
            self.expect(Kind::RightDelim, "else")?;
        }
        let Some(block) = self.tree.blocks.last() else {
            return Err(self.unexpected_else());
        };
        if block.in_else {
            return Err(self.fail("expected end; found {{else}}".to_owned()));
        }
        // Go allows `else if` only in an `if`, and `else with` only in a `with`.
        let continues = block.kind == next.kind;
        self.begin_else();
        if chain && continues {
            let keyword = self.next();
            self.tree.action_line = 0;
            self.open_block(keyword, true)?;
        }
        Ok(())
    }

    fn unexpected_else(&mut self) -> Box<ParseError> {
        let context = match self.tree.opened {
            TreeKind::Source => return self.fail("unexpected {{else}}".to_owned()),
            TreeKind::Define => "define clause",
            TreeKind::Block(_) => {
                // Go reports the line of the block clause here.
                self.close();
                "block clause"
            }
        };
        self.fail(format!("unexpected {{{{else}}}} in {context}"))
    }

    /// Ends the first branch of the innermost block.
    fn begin_else(&mut self) {
        let tree = &mut self.tree;
        let Some(block) = tree.blocks.last_mut() else {
            return;
        };
        block.in_else = true;
        match block.kind {
            Kind::If => {
                block.to_end.push(tree.ops.len());
                tree.ops.push(Op::Jump(0));
            }
            Kind::With => {
                block.to_end.push(tree.ops.len());
                tree.ops.push(Op::EndWith { next: 0 });
            }
            _ => {
                tree.ops.push(Op::Next);
                tree.range_depth -= 1;
            }
        }
        let here = tree.ops.len();
        set_otherwise(&mut tree.ops[block.op], here);
    }

    fn end_clause(&mut self) -> ParseResult {
        self.expect(Kind::RightDelim, "end")?;
        if self.tree.blocks.is_empty() {
            return self.end_definition();
        }
        // An `{{end}}` closes the block and all `else if` blocks that are chained to it.
        while let Some(block) = self.tree.blocks.last() {
            let chained = block.chained;
            self.end_block();
            if !chained {
                break;
            }
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let in_else = self.tree.blocks.last().is_some_and(|block| block.in_else);
        // A block without `else` gets an empty `else`, so all blocks have the same form.
        if !in_else {
            self.begin_else();
        }
        let tree = &mut self.tree;
        let Some(block) = tree.blocks.pop() else {
            return;
        };
        // The variables of the block go out of scope, but their slots remain reserved.
        tree.names.truncate(block.names);
        let here = tree.ops.len();
        for place in block.to_end {
            set_target(&mut tree.ops[place], here);
        }
        if let Op::Range { end, inside, .. } = &mut tree.ops[block.op] {
            *end = here;
            *inside = block.slots..tree.names.slots();
        }
    }

    fn end_definition(&mut self) -> ParseResult {
        if matches!(self.tree.opened, TreeKind::Source) {
            return Err(self.fail("unexpected {{end}}".to_owned()));
        }
        self.add()?;
        // A `block` is also called at the place of its definition.
        if let Some(TreeKind::Block(call)) = self.close().map(|tree| tree.opened) {
            self.tree.ops.push(Op::Call(call));
        }
        Ok(())
    }

    fn break_or_continue(&mut self, context: &str, kind: Kind) -> ParseResult {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelim {
            return Err(self.unexpected(token, context));
        }
        if self.tree.range_depth == 0 {
            return Err(self.fail(format!("{context} outside {{{{range}}}}")));
        }
        if kind == Kind::Continue {
            self.tree.ops.push(Op::Next);
        } else {
            self.push_break();
        }
        Ok(())
    }

    /// Adds a break, which leaves the innermost range. In the `else` branch of that range no loop
    /// is running, so the break is a jump that restores the dot of each `with`.
    fn push_break(&mut self) {
        let tree = &mut self.tree;
        let is_range = |block: &OpenBlock| block.kind == Kind::Range;
        let innermost = tree.blocks.iter().rposition(is_range);
        let Some(range) = innermost.filter(|range| tree.blocks[*range].in_else) else {
            tree.ops.push(Op::Break);
            return;
        };
        let with = |block: &&OpenBlock| block.kind == Kind::With && !block.in_else;
        for _ in tree.blocks[range..].iter().filter(with) {
            let next = tree.ops.len() + 1;
            tree.ops.push(Op::EndWith { next });
        }
        let place = tree.ops.len();
        tree.blocks[range].to_end.push(place);
        tree.ops.push(Op::Jump(0));
    }

    fn template_clause(&mut self) -> ParseResult {
        let context = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(token, context)?;
        let mut pipe = None;
        let mut end = self.next_non_space();
        if end.kind != Kind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(context, Kind::RightDelim)?);
            end = self.tree.tokens[0];
        }
        let call = template_call(token, end, name, pipe);
        self.tree.ops.push(Op::Call(Box::new(call)));
        Ok(())
    }

    /// Reads `{{block "name" pipe}}`, which is a definition and a call of it.
    fn block_clause(&mut self) -> ParseResult {
        let context = "block clause";
        let token = self.next_non_space();
        if self.tree.blocks.len() + self.outer.len() >= self.settings.nesting {
            return Err(self.too_deep(token, "blocks are nested too deeply"));
        }
        let name = self.template_name(token, context)?;
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        let end = self.tree.tokens[0];
        let call = template_call(token, end, name.clone(), Some(pipe));
        self.tree.action_line = 0;
        self.open(Tree::new(name, TreeKind::Block(Box::new(call))));
        Ok(())
    }

    fn template_name(&mut self, token: Token, context: &str) -> ParseResult<std::sync::Arc<str>> {
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return Err(self.unexpected(token, context));
        }
        match literal::unquote(self.word(token)) {
            Some(name) => Ok(name.to_shared()),
            None => Err(self.fail_at(token, "invalid syntax".to_owned())),
        }
    }
}

fn template_call(
    name_token: Token,
    end: Token,
    name: std::sync::Arc<str>,
    pipe: Option<Pipe>,
) -> TemplateCall {
    TemplateCall {
        pos: name_token.start,
        span: Span {
            start: name_token.start,
            end: end.start.max(name_token.end),
        },
        name,
        pipe,
    }
}

fn text_length(op: &Op) -> usize {
    match op {
        Op::Text { start, end } => end - start,
        Op::Marked(text) => text.len(),
        _ => 0,
    }
}

fn set_otherwise(op: &mut Op, place: OpIndex) {
    match op {
        Op::If { otherwise, .. } | Op::With { otherwise, .. } | Op::Range { otherwise, .. } => {
            *otherwise = place;
        }
        _ => {}
    }
}

fn set_target(op: &mut Op, place: OpIndex) {
    match op {
        Op::Jump(target) | Op::EndWith { next: target } => *target = place,
        _ => {}
    }
}
