//! Parses a source into definitions, with Go's words and lines for what is wrong.
//!
//! Blocks are kept on a stack of our own (`structure`), so only parentheses
//! recurse (`pipeline`), and those are bounded.

mod names;
mod pipeline;
mod structure;

use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core::{Diagnostic, Span, nearest};

use super::ast::{Op, OpIndex, TemplateCall, TemplateDefinition};
use super::fmt::quoted as quote;
use super::function::FunctionMap;
use super::lexer::{Kind, Lexer, Token};
use crate::structure::Elements;
use names::NameStack;

/// Parentheses recurse on the native stack, so the limit on nesting cannot
/// raise them above this. Go's own bound is 10,000.
const MAX_PARENTHESES: usize = 250;

/// What the parser needs to know besides the source.
#[derive(Debug)]
pub(super) struct ParserSettings<'a> {
    pub(super) functions: &'a FunctionMap,
    /// Whether unknown functions are errors, as in Go.
    pub(super) strict_functions: bool,
    pub(super) nesting: usize,
    /// Whether tags of messages in literal text are structure.
    pub(super) elements: bool,
}

/// A source and all that it defines.
#[derive(Debug)]
pub(super) struct ParsedSource {
    /// The definition of the source itself comes last.
    pub(super) definitions: Vec<TemplateDefinition>,
    /// What is wrong with its messages.
    pub(super) problems: Vec<Diagnostic>,
}

/// Why a source does not parse.
#[derive(Debug)]
pub(super) struct ParseError {
    /// Go's full text.
    pub(super) message: String,
    pub(super) diagnostic: Diagnostic,
}

/// Parses a source and all that it defines.
pub(super) fn parse(
    name: &str,
    text: &str,
    source: usize,
    settings: &ParserSettings<'_>,
) -> Result<ParsedSource, Box<ParseError>> {
    let mut root = Tree::new(name.into(), TreeKind::Source);
    // Most sources have a dozen actions; growing to that copies operations three times.
    root.ops.reserve(16);
    let mut parser = Parser {
        name,
        text,
        source,
        settings,
        elements: settings.elements.then(Elements::default),
        lexer: Lexer::new(text),
        tree: root,
        outer: Vec::new(),
        done: IndexMap::default(),
    };
    parser.run()?;
    let definitions: Vec<TemplateDefinition> = parser.done.into_values().collect();
    let flat = definitions.len() == 1 && definitions.iter().all(is_flat);
    let problems = match parser.elements.filter(|_| flat) {
        Some(elements) => elements.diagnostics(name, text),
        None => Vec::new(),
    };
    Ok(ParsedSource {
        definitions,
        problems,
    })
}

/// Whether everything in a definition is written, once and in order.
fn is_flat(definition: &TemplateDefinition) -> bool {
    let flat = |op: &Op| matches!(op, Op::Text { .. } | Op::Marked(_) | Op::Action(_));
    definition.ops.iter().all(flat)
}

struct Parser<'s> {
    name: &'s str,
    text: &'s str,
    source: usize,
    settings: &'s ParserSettings<'s>,
    /// Marks the tags of messages, if they are structure.
    elements: Option<Elements>,
    lexer: Lexer<'s>,
    /// The definition that is being read.
    tree: Tree,
    /// Those around it: a `define` or `block` interrupts its surroundings.
    outer: Vec<Tree>,
    done: IndexMap<Arc<str>, TemplateDefinition, foldhash::fast::RandomState>,
}

/// A definition in the making. Each has its own lookahead, as in Go, because
/// the line of an error is that of the last token its tree has read.
struct Tree {
    name: Arc<str>,
    opened: TreeKind,
    tokens: [Token; 3],
    peeked: usize,
    names: NameStack,
    action_line: usize,
    range_depth: usize,
    parentheses: usize,
    ops: Vec<Op>,
    blocks: Vec<OpenBlock>,
}

/// How a tree began, which decides how it ends.
enum TreeKind {
    Source,
    Define,
    /// The call that takes the block's place.
    Block(Box<TemplateCall>),
}

/// An open `if`, `with` or `range`.
struct OpenBlock {
    kind: Kind,
    /// The line of its keyword.
    line: usize,
    /// Its first operation.
    op: OpIndex,
    /// How many names there were before it.
    names: usize,
    /// How many variables there were before its body.
    slots: usize,
    /// Operations that must lead to its end.
    to_end: Vec<OpIndex>,
    in_else: bool,
    /// Opened by `else if`: ends with the block around it.
    chained: bool,
}

impl Tree {
    fn new(name: Arc<str>, opened: TreeKind) -> Self {
        let nothing = Token {
            kind: Kind::Eof,
            start: 0,
            end: 0,
            line: 0,
        };
        Tree {
            name,
            opened,
            tokens: [nothing; 3],
            peeked: 0,
            names: NameStack::new(),
            action_line: 0,
            range_depth: 0,
            parentheses: 0,
            ops: Vec::new(),
            blocks: Vec::new(),
        }
    }
}

// Tokens.
impl Parser<'_> {
    fn next(&mut self) -> Token {
        let tree = &mut self.tree;
        if tree.peeked > 0 {
            tree.peeked -= 1;
        } else {
            tree.tokens[0] = self.lexer.next_token();
        }
        tree.tokens[tree.peeked]
    }

    fn backup(&mut self) {
        self.tree.peeked += 1;
    }

    /// Gives back two tokens, of which the later one was read last.
    fn backup2(&mut self, first: Token) {
        self.tree.tokens[1] = first;
        self.tree.peeked = 2;
    }

    fn backup3(&mut self, first: Token, second: Token) {
        self.tree.tokens[1] = second;
        self.tree.tokens[2] = first;
        self.tree.peeked = 3;
    }

    fn peek(&mut self) -> Token {
        let token = self.next();
        self.backup();
        token
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token, Box<ParseError>> {
        let token = self.next_non_space();
        if token.kind != kind {
            return Err(self.unexpected(token, context));
        }
        Ok(token)
    }

    fn word(&self, token: Token) -> &str {
        &self.text[token.start..token.end]
    }
}

// Errors.
impl Parser<'_> {
    /// An error on the line of the token that was read last.
    fn fail(&self, reason: String) -> Box<ParseError> {
        let last = self.tree.tokens[0];
        self.fail_at(last, reason)
    }

    /// As `fail`, for a token that is to be pointed at.
    fn fail_at(&self, token: Token, reason: String) -> Box<ParseError> {
        let line = self.tree.tokens[0].line;
        let span = Span {
            start: token.start,
            end: token.end,
        };
        let message = format!("template: {}:{line}: {reason}", self.name);
        let diagnostic = Diagnostic::error("template.syntax", self.name, reason);
        Box::new(ParseError {
            message,
            diagnostic: diagnostic.at(self.text, span),
        })
    }

    fn unexpected(&self, token: Token, context: &str) -> Box<ParseError> {
        if token.kind != Kind::Error {
            let reason = format!("unexpected {} in {context}", self.describe(token));
            return self.fail_at(token, reason);
        }
        let mut reason = self.describe(token);
        let started = self.tree.action_line;
        if started != 0 && started != token.line {
            // Avoids "action in action".
            let joint = if reason.ends_with(" action") {
                ""
            } else {
                " in action"
            };
            reason = format!("{reason}{joint} started at {}:{started}", self.name);
        }
        self.fail_at(token, reason)
    }

    /// A token as Go's errors show it.
    fn describe(&self, token: Token) -> String {
        match token.kind {
            Kind::Eof => "EOF".to_owned(),
            Kind::Error => self.lexer.error.clone().unwrap_or_default(),
            kind if kind.is_keyword() => format!("<{}>", self.word(token)),
            _ => {
                let word = self.word(token);
                if word.len() <= 10 {
                    return quote(word);
                }
                let cut = word.char_indices().nth(10).map_or(word.len(), |(at, _)| at);
                format!("{}...", quote(&word[..cut]))
            }
        }
    }

    fn undefined_function(&self, token: Token) -> Box<ParseError> {
        let name = self.word(token);
        let mut failure = self.fail_at(token, format!("function {} not defined", quote(name)));
        let near = nearest(name, self.settings.functions.names());
        failure.diagnostic.help = near.map(|near| format!("did you mean {near}?"));
        failure
    }

    fn too_deep(&self, token: Token, reason: &str) -> Box<ParseError> {
        let mut failure = self.fail_at(token, reason.to_owned());
        failure.diagnostic.code = "template.limit";
        failure.diagnostic.help =
            Some(format!("the limit on nesting is {}", self.settings.nesting));
        failure
    }
}
