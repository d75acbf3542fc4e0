//! Tokens of a block, separated by blanks.

use std::borrow::Cow;

use quillet_core::Span;

use super::encoding::HostLanguage;
use crate::format::problem::ParseProblem;

/// A token and its location.
#[derive(Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum TokenKind<'t> {
    /// `$name`, without the `$`.
    Variable(&'t str),
    /// A quoted text with decoded escapes.
    Value(Cow<'t, str>),
    /// The first token, if it is neither a variable nor a value.
    Function(&'t str),
    /// `name='value'` or `name=$variable`.
    Named(&'t str, Box<Token<'t>>),
}

/// Message of .NET for an argument that is not in the form `name=value`.
const NOT_NAMED: &str =
    "A function named argument must contain a name and value separated by a '=' character.";

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// Returns the tokens of a block. `at` is its offset in the source.
pub(super) fn tokens(
    block: &str,
    at: usize,
    dialect: HostLanguage,
) -> Result<Vec<Token<'_>>, ParseProblem> {
    let mut tokens = Vec::new();
    read(block, at, dialect, &mut tokens)?;
    Ok(tokens)
}

/// Appends the tokens of a block. After an error, the tokens before it remain.
pub(super) fn read<'t>(
    block: &'t str,
    at: usize,
    dialect: HostLanguage,
    tokens: &mut Vec<Token<'t>>,
) -> Result<(), ParseProblem> {
    let mut lexer = Lexer {
        block,
        at,
        done: 0,
        dialect,
    };
    while lexer.skip_blanks() {
        if lexer.done > 0 && !lexer.block[..lexer.done].ends_with(BLANKS) {
            let next = lexer.rest().chars().next().map_or(0, char::len_utf8);
            let here = lexer.span(lexer.done, lexer.done + next);
            return Err(ParseProblem::new(
                "Tokens must be separated by one space least",
                here,
            ));
        }
        tokens.push(lexer.token(tokens.is_empty())?);
    }
    Ok(())
}

struct Lexer<'t> {
    block: &'t str,
    at: usize,
    done: usize,
    dialect: HostLanguage,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.block[self.done..]
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span {
            start: self.at + start,
            end: self.at + end,
        }
    }

    /// Skips blanks. Returns whether a token follows.
    fn skip_blanks(&mut self) -> bool {
        self.done = self.block.len() - self.rest().trim_start_matches(BLANKS).len();
        self.done < self.block.len()
    }

    /// Takes all characters up to the next blank.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let word = &rest[..rest.find(BLANKS).unwrap_or(rest.len())];
        self.done += word.len();
        word
    }

    fn token(&mut self, first: bool) -> Result<Token<'t>, ParseProblem> {
        let start = self.done;
        let kind = match self.rest().as_bytes().first() {
            Some(b'$') => self.variable()?,
            Some(quote @ (b'"' | b'\'')) => self.value(*quote)?,
            _ if first => self.function()?,
            _ if self.dialect == HostLanguage::Python => self.named_of_python()?,
            _ => self.named()?,
        };
        Ok(Token {
            kind,
            span: self.span(start, self.done),
        })
    }

    fn variable(&mut self) -> Result<TokenKind<'t>, ParseProblem> {
        let start = self.done;
        let name = &self.word()[1..];
        self.check_name(name, start, "variable")?;
        Ok(TokenKind::Variable(name))
    }

    fn check_name(&self, name: &str, start: usize, what: &str) -> Result<(), ParseProblem> {
        let span = self.span(start, self.done);
        if name.is_empty() {
            return Err(ParseProblem::new(format!("The {what} name is empty"), span));
        }
        if name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Ok(());
        }
        let message = format!(
            "The {what} name '{name}' contains invalid characters. Only alphanumeric chars and underscore are allowed"
        );
        let help = if name.contains('.') {
            "paths are not supported: pass the inner value as a separate variable"
        } else {
            "rename it, or write {{'{{'}} for literal braces"
        };
        Err(ParseProblem::new(message, span).help(help))
    }

    fn value(&mut self, quote: u8) -> Result<TokenKind<'t>, ParseProblem> {
        let start = self.done;
        let bytes = self.block.as_bytes();
        let mut out: Cow<'t, str> = Cow::Borrowed("");
        let mut from = start + 1;
        let mut at = from;
        loop {
            match (bytes.get(at), bytes.get(at + 1)) {
                (None, _) => {
                    let message = "A value must have single quotes or double quotes on both sides";
                    return Err(ParseProblem::new(message, self.span(start, at)));
                }
                (Some(b'\\'), Some(b'"' | b'\'' | b'\\')) => {
                    out += &self.block[from..at];
                    from = at + 1;
                    at += 2;
                }
                (Some(byte), _) if *byte == quote => break,
                _ => at += 1,
            }
        }
        out += &self.block[from..at];
        self.done = at + 1;
        Ok(TokenKind::Value(out))
    }

    fn function(&mut self) -> Result<TokenKind<'t>, ParseProblem> {
        let start = self.done;
        let name = self.word();
        let span = self.span(start, self.done);
        let parts = match self.dialect {
            HostLanguage::DotNet => name.split('.').count(),
            HostLanguage::Python => name.split('.').filter(|part| !part.is_empty()).count(),
        };
        if parts > 2 {
            let message = format!(
                "Invalid function name `{name}`. A function name can contain at most one dot separating the plugin name from the function name"
            );
            return Err(ParseProblem::new(message, span));
        }
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
        let whole = parts == name.split('.').count();
        if name.bytes().all(known) && whole {
            return Ok(TokenKind::Function(name));
        }
        if name.contains('=') {
            let message = "Code tokenizer returned an incorrect first token type NamedArg";
            let help = "write the function name first: {{plugin.function name='value'}}";
            return Err(ParseProblem::new(message, span).help(help));
        }
        let message = format!(
            "The function identifier '{name}' contains invalid characters. Only alphanumeric chars, underscore and one dot are allowed"
        );
        let help = match name.as_bytes().first() {
            Some(b'#' | b'/' | b'>' | b'^' | b'!') => {
                "this looks like Handlebars: its format is semantic-kernel-handlebars"
            }
            _ => "write {{$name}} for a variable and {{'{{'}} for literal braces",
        };
        Err(ParseProblem::new(message, span).help(help))
    }

    /// Parses `name = 'value'`. Blanks around `=` are allowed.
    fn named(&mut self) -> Result<TokenKind<'t>, ParseProblem> {
        let start = self.done;
        let Some(length) = self.rest().find('=') else {
            self.word();
            let help = "only the first argument can be positional, and it needs quotes or $";
            return Err(ParseProblem::new(NOT_NAMED, self.span(start, self.done)).help(help));
        };
        let name = self.rest()[..length].trim_end_matches(BLANKS);
        self.done += length;
        self.check_name(name, start, "argument")?;
        self.done += 1;
        self.skip_blanks();
        let from = self.done;
        let value = self.named_value(start).map_err(|mut problem| {
            problem.message = format!(
                "There was an issue with the named argument value for '{name}': {}",
                problem.message
            );
            problem
        })?;
        if self.block[from..self.done].contains('=') {
            let help = "Semantic Kernel refuses a second '=' here, even in quotes: put the text into a variable";
            return Err(ParseProblem::new(NOT_NAMED, value.span).help(help));
        }
        Ok(TokenKind::Named(name, Box::new(value)))
    }

    /// Parses the value after `=`. The argument begins at `start`.
    fn named_value(&mut self, start: usize) -> Result<Token<'t>, ParseProblem> {
        let from = self.done;
        match self.rest().as_bytes().first() {
            Some(b'$' | b'"' | b'\'') => self.token(false),
            Some(_) => {
                self.word();
                let message = "Named argument values need to be prefixed with a quote or $.";
                Err(ParseProblem::new(message, self.span(from, self.done)))
            }
            None => Err(ParseProblem::new(
                "A function named argument must contain a quoted value or variable after the '=' character.",
                self.span(start, self.done),
            )),
        }
    }

    /// Parses `name='value'` like Semantic Kernel's Python, whose pattern allows no blanks, quotes
    /// or empty values.
    fn named_of_python(&mut self) -> Result<TokenKind<'t>, ParseProblem> {
        let start = self.done;
        let word = self.word();
        let end = self.done;
        let wrong = |message: String| ParseProblem::new(message, self.span(start, end));
        let message = || {
            format!(
                "A NamedArgBlock starts with a name (letters, numbers or underscore) followed by a single equal sign, then the value of the argument, which can either be a variable or a quoted value: {word}"
            )
        };
        let (name, value) = word.split_once('=').ok_or_else(|| wrong(message()))?;
        self.check_name(name, start, "argument")?;
        let kind = match value.as_bytes() {
            [b'$', ..] => {
                self.check_name(&value[1..], start, "variable")?;
                TokenKind::Variable(&value[1..])
            }
            [open @ (b'"' | b'\''), .., close] if open == close && word_of_python(value) => {
                TokenKind::Value(Cow::Borrowed(&value[1..value.len() - 1]))
            }
            _ => return Err(wrong(message())),
        };
        let span = self.span(end - value.len(), end);
        Ok(TokenKind::Named(name, Box::new(Token { kind, span })))
    }
}

/// Whether a quoted word matches `.[^"^']*` between its quotes.
fn word_of_python(quoted: &str) -> bool {
    let mut inner = quoted[1..quoted.len() - 1].chars();
    inner.next().is_some() && !inner.any(|c| matches!(c, '"' | '^' | '\''))
}
