//! Parser of a source and its definitions, with Go's messages and line numbers.
//!
//! Open blocks are on an explicit stack (`structure`). Only parentheses recurse (`pipeline`), and
//! their depth is limited.

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

/// Maximum of the nesting limit, because parentheses recurse on the native stack. Go's own limit is
/// 10,000.
const MAX_PARENTHESES: usize = 250;

/// Parser options.
#[derive(Debug)]
pub(super) struct ParserSettings<'a> {
    pub(super) functions: &'a FunctionMap,
    /// Whether unknown functions are errors, as in Go.
    pub(super) strict_functions: bool,
    pub(super) nesting: usize,
    /// Whether message tags in literal text are message structure.
    pub(super) elements: bool,
}

/// A source with its definitions.
#[derive(Debug)]
pub(super) struct ParsedSource {
    /// All definitions. The last one is the source itself.
    pub(super) definitions: Vec<TemplateDefinition>,
    /// Errors in the messages of the source.
    pub(super) problems: Vec<Diagnostic>,
}

/// A parse error.
#[derive(Debug)]
pub(super) struct ParseError {
    /// Go's full message.
    pub(super) message: String,
    pub(super) diagnostic: Diagnostic,
}

/// Parses a source with its definitions.
pub(super) fn parse(
    name: &str,
    text: &str,
    source: usize,
    settings: &ParserSettings<'_>,
) -> Result<ParsedSource, Box<ParseError>> {
    let mut root = Tree::new(name.into(), TreeKind::Source);
    // Most sources have about a dozen actions. Growing step by step to that size would copy the
    // operations three times.
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

/// Whether a definition always prints all of its text, once and in order.
fn is_flat(definition: &TemplateDefinition) -> bool {
    let flat = |op: &Op| matches!(op, Op::Text { .. } | Op::Marked(_) | Op::Action(_));
    definition.ops.iter().all(flat)
}

struct Parser<'s> {
    name: &'s str,
    text: &'s str,
    source: usize,
    settings: &'s ParserSettings<'s>,
    /// Marks message tags, if these are message structure.
    elements: Option<Elements>,
    lexer: Lexer<'s>,
    /// The current definition.
    tree: Tree,
    /// Enclosing definitions, which a `define` or `block` has interrupted.
    outer: Vec<Tree>,
    done: IndexMap<Arc<str>, TemplateDefinition, foldhash::fast::RandomState>,
}

/// A definition during parsing. As in Go each definition has its own lookahead, because an error
/// reports the line of the last token that its definition has read.
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

/// The tag that opened a definition. It determines the end tag.
enum TreeKind {
    Source,
    Define,
    /// The call at the place of the `block`.
    Block(Box<TemplateCall>),
}

/// An open `if`, `with` or `range`.
struct OpenBlock {
    kind: Kind,
    /// Line of the keyword.
    line: usize,
    /// Index of the block's first operation.
    op: OpIndex,
    /// Number of names before the block.
    names: usize,
    /// Number of variables before the body.
    slots: usize,
    /// Jumps whose target becomes the end of the block.
    to_end: Vec<OpIndex>,
    in_else: bool,
    /// Whether `else if` opened the block, so the end tag of the enclosing block ends it too.
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

    /// Pushes back two tokens. The later one is the last token read.
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
    /// Returns an error on the line of the last token that was read.
    fn fail(&self, reason: String) -> Box<ParseError> {
        let last = self.tree.tokens[0];
        self.fail_at(last, reason)
    }

    /// Like [`Parser::fail`], but with the span of a token.
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
            // The reason may already end in "action", which must not appear twice.
            let joint = if reason.ends_with(" action") {
                ""
            } else {
                " in action"
            };
            reason = format!("{reason}{joint} started at {}:{started}", self.name);
        }
        self.fail_at(token, reason)
    }

    /// Returns a token in the form of Go's error messages.
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
