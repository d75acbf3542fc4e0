//! Checks the raw text before parsing, independently of any parser.

use std::ops::Range;

use quillet_core::ErrorCode;

use super::lexer::{self, Kind, Token};
use super::{GuardError, GuardMode, Policy, nesting};
use crate::SqlDialect;

/// A text that passed the raw checks, split into tokens.
pub(crate) struct TokenizedQuery<'a> {
    /// The original text.
    pub(crate) source: &'a str,
    /// SQL dialect.
    pub(crate) dialect: SqlDialect,
    /// Significant tokens: no blanks, comments or trailing semicolons.
    pub(crate) tokens: Vec<Token>,
    /// Comments, in order.
    pub(crate) comments: Vec<Range<usize>>,
    /// The text up to its last token, with comments replaced by blanks of the same length. This
    /// text is parsed, so a server cannot interpret a comment differently.
    pub(crate) plain: String,
}

impl<'a> TokenizedQuery<'a> {
    /// Runs the raw checks.
    ///
    /// # Errors
    /// Returns the first invalid part.
    pub(crate) fn read(
        source: &'a str,
        dialect: SqlDialect,
        policy: &Policy,
    ) -> Result<Self, GuardError> {
        // The length is checked first, because every later check walks the whole text.
        check_length(source, policy)?;
        check_characters(source)?;
        check_beginning(source, dialect)?;
        let all = lexer::tokens(source, dialect);
        for token in &all {
            check_token(source, dialect, token)?;
        }
        let comments = all.iter().filter(|token| token.is_comment());
        let comments: Vec<Range<usize>> = comments.map(|token| token.span.clone()).collect();
        let mut tokens: Vec<Token> = all.into_iter().filter(Token::is_significant).collect();
        check_neighbours(source, dialect, &tokens)?;
        // Trailing semicolons are harmless, and common in the answers of models.
        while tokens.last().is_some_and(|last| last.is_mark(source, ";")) {
            tokens.pop();
        }
        let end = tokens.last().map_or(0, |last| last.span.end);
        let text = TokenizedQuery {
            source,
            dialect,
            plain: plain(source, &comments, end),
            tokens,
            comments,
        };
        text.check_first(policy.mode)?;
        text.check_one()?;
        // Nesting is checked before parsing, because the parser's stack and time depend on the
        // depth.
        nesting::check(source, &text.tokens, policy.depth)?;
        Ok(text)
    }

    /// Returns the span from the first token to the last.
    pub(crate) fn span(&self) -> Range<usize> {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => 0..0,
        }
    }

    /// Returns the first occurrence of these consecutive words.
    pub(crate) fn find_words(&self, words: &[&str]) -> Option<Range<usize>> {
        let mut windows = self.tokens.windows(words.len());
        let found = windows.find(|window| {
            let pairs = window.iter().zip(words);
            pairs.into_iter().all(|(t, w)| t.is_word(self.source, w))
        })?;
        Some(found.first()?.span.start..found.last()?.span.end)
    }

    fn check_first(&self, mode: GuardMode) -> Result<(), GuardError> {
        let Some(first) = self.tokens.first() else {
            return Err(GuardError::new(ErrorCode::GuardEmpty, "the query is empty"));
        };
        let word = first.text(self.source).to_ascii_uppercase();
        // A semicolon is reported by the single-statement check instead.
        let begins = |mark| first.is_mark(self.source, mark);
        if begins("(") || begins(";") || (first.kind == Kind::Word && reads(&word, mode)) {
            return Ok(());
        }
        let fail =
            |code, message: String| GuardError::new(code, message).at(self.source, &first.span);
        if first.kind == Kind::Word && STATEMENTS.contains(&word.as_str()) {
            let allowed = match mode {
                GuardMode::Select => "allowed: SELECT, WITH, VALUES and TABLE",
                GuardMode::Explore => {
                    "allowed: queries that read, SHOW, DESCRIBE, EXPLAIN and PRAGMA"
                }
            };
            let message = format!("{word} does not read");
            return Err(fail(ErrorCode::GuardStatement, message).help(allowed));
        }
        if let Some(meant) = quillet_core::nearest(&word, ["SELECT", "WITH", "VALUES"]) {
            let message = format!("unknown statement {:?}", first.text(self.source));
            return Err(
                fail(ErrorCode::GuardSyntax, message).help(format!("did you mean {meant}?"))
            );
        }
        Err(
            fail(ErrorCode::GuardProse, "this is not a query".to_owned())
                .help("send only the SQL, starting with SELECT or WITH"),
        )
    }

    fn check_one(&self) -> Result<(), GuardError> {
        let mut marks = self.tokens.iter();
        let Some(semicolon) = marks.find(|token| token.is_mark(self.source, ";")) else {
            return Ok(());
        };
        let message = "more than one statement";
        Err(GuardError::new(ErrorCode::GuardStatements, message)
            .at(self.source, &semicolon.span)
            .help("send one statement at a time"))
    }
}

fn plain(source: &str, comments: &[Range<usize>], end: usize) -> String {
    let mut bytes = source.as_bytes().to_vec();
    for comment in comments {
        for byte in bytes.get_mut(comment.clone()).unwrap_or_default() {
            // Line ends are preserved, so that lines and columns of errors match the text.
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    bytes.truncate(end);
    // This never fails, because comments start and end at character boundaries.
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns whether a statement that reads can start with this word.
fn reads(word: &str, mode: GuardMode) -> bool {
    match word {
        "SELECT" | "WITH" | "VALUES" | "TABLE" => true,
        "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN" | "PRAGMA" => mode == GuardMode::Explore,
        _ => false,
    }
}

/// Words that start other statements, in any of the dialects.
pub(crate) const STATEMENTS: [&str; 84] = [
    "ABORT",
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BACKUP",
    "BEGIN",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKPOINT",
    "CHECKSUM",
    "CLOSE",
    "CLONE",
    "CLUSTER",
    "COMMENT",
    "COMMIT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "DELIMITER",
    "DESC",
    "DESCRIBE",
    "DETACH",
    "DISCARD",
    "DO",
    "DROP",
    "END",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "FLUSH",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MERGE",
    "MOVE",
    "NOTIFY",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "PURGE",
    "REASSIGN",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "REPLACE",
    "RESET",
    "RESIGNAL",
    "RESTART",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SECURITY",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "SIGNAL",
    "SLAVE",
    "SOURCE",
    "START",
    "STOP",
    "TRUNCATE",
    "UNINSTALL",
    "UNLISTEN",
    "UNLOCK",
    "UPDATE",
    "UPSERT",
    "USE",
    "VACUUM",
    "XA",
];

fn check_length(source: &str, policy: &Policy) -> Result<(), GuardError> {
    if source.len() <= policy.bytes {
        return Ok(());
    }
    let (has, may) = (source.len(), policy.bytes);
    let message = format!("the query is too long: {has} bytes (limit {may})");
    Err(GuardError::new(ErrorCode::GuardLength, message)
        .help("write a shorter query, or raise the limit on bytes"))
}

/// Rejects control characters except tabs and newlines, and Unicode's bidirectional overrides,
/// which reorder the displayed text.
fn check_characters(source: &str) -> Result<(), GuardError> {
    let refused = |c: char| {
        // Control characters and direction overrides can make a query look different from the text
        // that runs (Trojan Source).
        let control = c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        control || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    match source.char_indices().find(|(_, c)| refused(*c)) {
        Some((at, c)) => Err(character(source, at, c)),
        None => Ok(()),
    }
}

fn character(source: &str, at: usize, c: char) -> GuardError {
    let message = format!(
        "the character U+{:04X} is not allowed in a query",
        u32::from(c)
    );
    GuardError::new(ErrorCode::GuardCharacter, message)
        .at(source, &(at..at + c.len_utf8()))
        .help("remove it, or write a plain space instead")
}

/// Rejects code fences of models and commands of SQLite's shell.
fn check_beginning(source: &str, dialect: SqlDialect) -> Result<(), GuardError> {
    let start = source.len() - source.trim_start().len();
    let rest = &source[start..];
    if rest.starts_with("```") {
        return Err(
            GuardError::new(ErrorCode::GuardProse, "the query is inside a code fence")
                .at(source, &(start..start + 3))
                .help("send only the SQL, without the code fence"),
        );
    }
    if dialect == SqlDialect::Sqlite && rest.starts_with('.') {
        return Err(client(source, &(start..start + 1)));
    }
    Ok(())
}

fn client(source: &str, span: &Range<usize>) -> GuardError {
    GuardError::new(
        ErrorCode::GuardClient,
        "this is a command of a client program, not SQL",
    )
    .at(source, span)
    .help("send only the SQL")
}

fn check_token(source: &str, dialect: SqlDialect, token: &Token) -> Result<(), GuardError> {
    let text = token.text(source);
    if !token.closed {
        let (what, fix) = match token.kind {
            Kind::BlockComment => ("comment", "end it with */"),
            Kind::Quoted => (
                "quoted name",
                "end it with the same quote, and write each such quote inside it twice",
            ),
            _ => (
                "text",
                "end it with a quote, and write each quote inside it twice: 'O''Brien'",
            ),
        };
        let message = format!("unclosed {what}");
        let error = GuardError::new(ErrorCode::GuardSyntax, message).at(source, &token.span);
        return Err(error.help(fix));
    }
    match token.kind {
        Kind::BlockComment if dialect == SqlDialect::MySql && is_executable(text) => {
            Err(executable(source, token))
        }
        // The end of a literal with a backslash or in double quotes depends on the server's mode.
        // If such a literal contains the start of an executable comment, it is rejected.
        Kind::Text if dialect == SqlDialect::MySql && text.contains(['\\', '"']) => {
            if ["/*!", "/*M!", "/*m!"].iter().any(|c| text.contains(c)) {
                Err(executable(source, token))
            } else {
                Ok(())
            }
        }
        Kind::Mark if text == "\\" => Err(client(source, &token.span)),
        Kind::Mark if text.starts_with('@') && dialect == SqlDialect::MySql => {
            Err(variable(source, token))
        }
        Kind::Parameter => Err(parameter(source, token)),
        Kind::Word => {
            let blank = text.char_indices().find(|(_, c)| is_strange_blank(*c));
            match blank {
                Some((at, c)) => Err(character(source, token.span.start + at, c)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Returns whether parsers and servers disagree on the character being whitespace.
fn is_strange_blank(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{00ad}');
    !c.is_ascii() && (c.is_whitespace() || invisible)
}

/// Returns whether the server runs the comment: `/*! … */` in MySQL and MariaDB, `/*M! … */` in
/// MariaDB.
fn is_executable(comment: &str) -> bool {
    ["/*!", "/*M!", "/*m!"]
        .iter()
        .any(|mark| comment.starts_with(mark))
}

fn executable(source: &str, token: &Token) -> GuardError {
    let message = "MySQL executes the text of this comment";
    GuardError::new(ErrorCode::GuardComment, message)
        .at(source, &token.span)
        .help("write it outside the comment, or remove it")
}

fn variable(source: &str, token: &Token) -> GuardError {
    let message = "session and server variables are not allowed";
    GuardError::new(ErrorCode::GuardVariable, message)
        .at(source, &token.span)
        .help("write the value itself, or use a WITH clause")
}

fn parameter(source: &str, token: &Token) -> GuardError {
    let message = format!("missing value for the parameter {}", token.text(source));
    GuardError::new(ErrorCode::GuardParameter, message)
        .at(source, &token.span)
        .help("write the value itself")
}

/// Finds `E'…'` continued by another literal. Across a newline, PostgreSQL reads both as one
/// literal in which backslashes escape (manual, 4.1.2.2). The second literal alone does not show
/// that.
fn continued(source: &str, tokens: &[Token]) -> Option<Range<usize>> {
    let mut pairs = tokens.windows(2);
    let found = pairs.find(|pair| {
        let mut pair = pair.iter().map(|token| (token.kind, token.text(source)));
        let escapes =
            matches!(pair.next(), Some((Kind::Text, text)) if text.starts_with(['e', 'E']));
        escapes && matches!(pair.next(), Some((Kind::Text, text)) if text.starts_with('\''))
    })?;
    Some(found.first()?.span.start..found.last()?.span.end)
}

/// Rejects adjacent tokens that form one literal or name: `U&"…"`, and continued literals.
fn check_neighbours(source: &str, dialect: SqlDialect, tokens: &[Token]) -> Result<(), GuardError> {
    // Only in PostgreSQL does the token before a literal change its meaning.
    if dialect != SqlDialect::PostgreSql {
        return Ok(());
    }
    if let Some(span) = continued(source, tokens) {
        let message = "this string literal continues on the next line";
        return Err(GuardError::new(ErrorCode::GuardEscape, message)
            .at(source, &span)
            .help("write it as one literal"));
    }
    for window in tokens.windows(3) {
        let [prefix, and, quoted] = window else {
            continue;
        };
        let touches = prefix.span.end == and.span.start && and.span.end == quoted.span.start;
        let is_quoted = matches!(quoted.kind, Kind::Quoted | Kind::Text);
        if touches && is_quoted && prefix.is_word(source, "u") && and.is_mark(source, "&") {
            let message = "names and literals with Unicode escapes are not allowed";
            let span = prefix.span.start..quoted.span.end;
            return Err(GuardError::new(ErrorCode::GuardEscape, message)
                .at(source, &span)
                .help("write the characters themselves"));
        }
    }
    Ok(())
}
