//! Syntax tokens and completion items for editors.

use quillet_core::TokenKind;

use super::lexer::{Kind, Lexer, TagOpening, Token};
use crate::editor::{
    CompletionItem, CompletionList, CompletionSpot, ExternalNames, MOST_FAULTS, TokenScan,
};

/// Helpers that are shown as keywords.
const BLOCKS: &[&str] = &["if", "unless", "each", "with"];

/// Returns the tokens of a text. After an error, scanning continues at the next tag.
pub(super) fn scan(text: &str, is_helper: &dyn Fn(&str) -> bool) -> TokenScan {
    let mut reader = Reader {
        lexer: Lexer::new(text),
        is_helper,
        scan: TokenScan::default(),
        blocks: Vec::new(),
        inside: Vec::new(),
        faults: 0,
    };
    while reader.lexer.at < text.len() && reader.faults < MOST_FAULTS {
        if reader.lexer.content().tag && !reader.tag() {
            break;
        }
    }
    reader.scan
}

struct Reader<'s, 'h> {
    lexer: Lexer<'s>,
    is_helper: &'h dyn Fn(&str) -> bool,
    scan: TokenScan,
    /// Token kinds of the names of the open blocks.
    blocks: Vec<TokenKind>,
    /// Tokens of the current tag.
    inside: Vec<Token>,
    faults: usize,
}

impl<'s> Reader<'s, '_> {
    /// Reads a tag. Returns whether reading can continue after it.
    fn tag(&mut self) -> bool {
        let start = self.lexer.at;
        self.scan.open = None;
        let Some((opening, _)) = self.lexer.opening() else {
            return false;
        };
        let end = self.lexer.at;
        match opening {
            TagOpening::Comment { .. } => self.scan.add(start, end, TokenKind::Comment),
            TagOpening::Else { .. } => self.otherwise(start, end),
            TagOpening::ElseCall => {
                self.scan.begin(start, self.before_else(start, end));
                self.scan.add(end - 4, end, TokenKind::Keyword);
                return self.rest(opening);
            }
            _ => {
                self.scan.begin(start, end);
                return self.rest(opening);
            }
        }
        true
    }

    fn before_else(&self, start: usize, end: usize) -> usize {
        let opening = self.lexer.text.get(start..end - 4).unwrap_or_default();
        start + opening.trim_end().len()
    }

    /// Adds the tokens of `{{else}}` or `{{^}}`.
    fn otherwise(&mut self, start: usize, end: usize) {
        let tag = self.lexer.text.get(start..end).unwrap_or_default();
        let Some(word) = tag.find("else") else {
            return self.scan.add(start, end, TokenKind::Delimiter);
        };
        let word = start + word;
        let closing = tag.get(word + 4 - start..).unwrap_or_default();
        self.scan.begin(start, self.before_else(start, word + 4));
        self.scan.add(word, word + 4, TokenKind::Keyword);
        self.scan.end(end - closing.trim_start().len(), end);
    }

    /// Reads the tokens of a tag after its opening, up to its end.
    fn rest(&mut self, opening: TagOpening) -> bool {
        self.inside.clear();
        loop {
            let token = self.lexer.token();
            match token.kind {
                Kind::Close { .. } | Kind::CloseTriple { .. } | Kind::CloseRaw => {
                    self.names(opening, false);
                    self.scan.end(token.start, token.end);
                    return opening != TagOpening::Raw || self.raw();
                }
                Kind::End => {
                    self.names(opening, true);
                    return false;
                }
                Kind::Invalid if self.is_unfinished(token.start) => {
                    let end = self.lexer.text.len();
                    self.lexer.at = end;
                    self.inside.push(Token {
                        kind: Kind::Id,
                        start: token.start,
                        end,
                    });
                }
                Kind::Invalid => {
                    self.names(opening, true);
                    self.scan.open = None;
                    self.faults += 1;
                    return self.recover(token.start);
                }
                _ => self.inside.push(token),
            }
        }
    }

    /// Whether the text ends in a name that starts here. The lexer needs the character after a
    /// name, so it rejects this name.
    fn is_unfinished(&self, start: usize) -> bool {
        let rest = self.lexer.text.as_bytes().get(start..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !rest.is_empty() && rest.iter().all(is_part)
    }

    /// Continues at the end of an invalid tag, or at the next tag.
    fn recover(&mut self, fault: usize) -> bool {
        let bytes = self.lexer.text.as_bytes();
        let pair = |at: &usize| bytes.get(at + 1) == bytes.get(*at);
        let rest = bytes.get(fault..).unwrap_or_default();
        let mut braces = memchr::memchr2_iter(b'{', b'}', rest).map(|at| fault + at);
        let Some(at) = braces.find(pair) else {
            return false;
        };
        self.lexer.at = at;
        if bytes.get(at) == Some(&b'}') {
            let run = bytes.get(at..).unwrap_or_default().iter();
            let length = run.take_while(|byte| **byte == b'}').count();
            self.scan.end(at, at + length);
            self.lexer.at = at + length;
        }
        true
    }

    /// Reads the text and the end tag of a raw block.
    fn raw(&mut self) -> bool {
        let kind = self.blocks.pop().unwrap_or(TokenKind::Function);
        let Some(raw) = self.lexer.raw() else {
            return false;
        };
        let name = raw.end + 5;
        let close = name + raw.name.len();
        self.scan.add(raw.end, name, TokenKind::Delimiter);
        self.scan.add(name, close, kind);
        self.scan.add(close, close + 4, TokenKind::Delimiter);
        true
    }

    fn names(&mut self, opening: TagOpening, is_open: bool) {
        let tokens = std::mem::take(&mut self.inside);
        let mut at = 0;
        // This is the name at the start of the tag.
        let head = path(&tokens, 0);
        if head > 0 {
            let kind = self.head(opening, &tokens[..head], has_arguments(&tokens, head));
            self.path(&tokens[..head], Some(kind));
            at = head;
        }
        // A string or a number can be a name here.
        if let Some(literal) = tokens.first().filter(|token| is_literal(token.kind)) {
            let parts = std::slice::from_ref(literal);
            let kind = self.head(opening, parts, has_arguments(&tokens, 1));
            self.scan.add(literal.start, literal.end, kind);
            at = 1;
        }
        while let Some(token) = tokens.get(at) {
            let length = path(&tokens, at);
            if length == 0 {
                self.other(token);
                at += 1;
                continue;
            }
            let parts = &tokens[at..at + length];
            let called = at.checked_sub(1).and_then(|before| tokens.get(before));
            let is_called = called.is_some_and(|token| token.kind == Kind::OpenCall);
            let is_key = tokens
                .get(at + length)
                .is_some_and(|token| token.kind == Kind::Equals);
            let kind = match (is_called, is_key) {
                (true, _) => Some(TokenKind::Function),
                (_, true) => Some(TokenKind::Property),
                _ => None,
            };
            self.path(parts, kind);
            at += length;
        }
        if is_open
            && tokens
                .last()
                .is_some_and(|token| token.kind == Kind::Text && token.end >= self.lexer.text.len())
        {
            self.scan.open = None;
        }
        self.inside = tokens;
    }

    /// Returns the token kind of the first name in a tag.
    fn head(&mut self, opening: TagOpening, parts: &[Token], has_arguments: bool) -> TokenKind {
        let name = match parts {
            [one] => self.lexer.slice(*one),
            _ => "",
        };
        let called = if has_arguments || (self.is_helper)(name) {
            TokenKind::Function
        } else {
            TokenKind::Variable
        };
        match opening {
            TagOpening::Partial => TokenKind::Function,
            TagOpening::PartialBlock => {
                self.blocks.push(TokenKind::Function);
                TokenKind::Function
            }
            TagOpening::Decorator | TagOpening::DecoratorCall => {
                self.blocks.push(TokenKind::Keyword);
                TokenKind::Keyword
            }
            TagOpening::Block | TagOpening::Inverse | TagOpening::Raw => {
                let kind = if BLOCKS.contains(&name) {
                    TokenKind::Keyword
                } else {
                    called
                };
                self.blocks.push(kind);
                kind
            }
            TagOpening::ElseCall if BLOCKS.contains(&name) => TokenKind::Keyword,
            TagOpening::End => self.blocks.pop().unwrap_or(called),
            _ => called,
        }
    }

    /// Adds the tokens of a path: one for the variable and one for each access. A function is a
    /// single token.
    fn path(&mut self, parts: &[Token], kind: Option<TokenKind>) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return;
        };
        if let Some(kind) = kind.filter(|kind| *kind != TokenKind::Variable) {
            return self.scan.add(first.start, last.end, kind);
        }
        // `..`, `this` and `@root` only precede the variable.
        let mut is_way = true;
        let mut parts = parts.iter().peekable();
        while let Some(part) = parts.next() {
            if part.kind == Kind::Separator {
                self.scan.add(part.start, part.end, TokenKind::Operator);
                continue;
            }
            // `@` and the name after it are one token.
            let end = match parts.peek() {
                Some(name) if part.kind == Kind::Data => name.end,
                _ => part.end,
            };
            parts.next_if(|_| part.kind == Kind::Data);
            let name = self.lexer.text.get(part.start..end).unwrap_or_default();
            let kind = if is_way {
                TokenKind::Variable
            } else {
                TokenKind::Property
            };
            is_way &= matches!(name, "." | ".." | "this" | "@root");
            self.scan.add(part.start, end, kind);
        }
    }

    fn other(&mut self, token: &Token) {
        let kind = match token.kind {
            Kind::Text => TokenKind::String,
            Kind::Number => TokenKind::Number,
            Kind::True | Kind::False | Kind::Null | Kind::Undefined => TokenKind::Keyword,
            Kind::OpenParams => {
                self.scan
                    .add(token.start, token.start + 2, TokenKind::Keyword);
                return self.scan.add(token.end - 1, token.end, TokenKind::Operator);
            }
            _ => TokenKind::Operator,
        };
        self.scan.add(token.start, token.end, kind);
    }
}

fn is_literal(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Text | Kind::Number | Kind::True | Kind::False | Kind::Null | Kind::Undefined
    )
}

/// Whether a tag has tokens after its name, which consists of this number of tokens.
fn has_arguments(tokens: &[Token], name: usize) -> bool {
    let next = tokens.get(name);
    next.is_some_and(|token| token.kind != Kind::OpenParams)
}

/// Returns the number of tokens in the path at an index.
fn path(tokens: &[Token], at: usize) -> usize {
    let mut length = 0;
    let mut is_part = true;
    for token in tokens.get(at..).unwrap_or_default() {
        match token.kind {
            Kind::Data if length == 0 => {}
            Kind::Id | Kind::Bracketed if is_part => is_part = false,
            Kind::Separator if length > 0 && !is_part => is_part = true,
            _ => break,
        }
        length += 1;
    }
    length
}

/// Returns the completion items at a byte offset. `own` are the format's own helpers.
pub(super) fn completions(
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    is_helper: &dyn Fn(&str) -> bool,
    own: &[&str],
) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, |text| scan(text, is_helper)) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    let opening = spot.opening();
    let values: Vec<&str> = own
        .iter()
        .copied()
        .filter(|name| !BLOCKS.contains(name))
        .collect();
    let sign = opening.trim_start_matches(['{', '~']);
    match (spot.before(), sign) {
        (Some((TokenKind::Operator, "." | "/" | "|")), _) => {}
        (None, ">" | "#>" | "*") => {}
        (None, "/") => list.keywords("end of a block", BLOCKS),
        (None, "#*") => list.keywords("block", &["inline"]),
        (None, "#" | "^") | (Some((TokenKind::Keyword, "else")), _) => {
            list.keywords("block", BLOCKS);
            list.variables(names);
            list.functions(names, own, "helper");
        }
        (None, _) => {
            list.keywords("block", &["else"]);
            list.variables(names);
            list.functions(names, &values, "helper");
        }
        (Some((TokenKind::Operator, "(")), _) => list.functions(names, &values, "helper"),
        _ => {
            list.variables(names);
            list.keywords("value", &["this", "true", "false", "null"]);
        }
    }
    list.done()
}
