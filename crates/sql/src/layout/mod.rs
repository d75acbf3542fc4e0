//! Formats SQL for people: one clause per line, indented subqueries, keywords in upper case.
//!
//! The formatter works on tokens. It accepts any text whose literals and comments are closed, even
//! if the guard would reject it. Literals, names and comments stay unchanged. Only whitespace
//! between tokens and the case of keywords change, and never so that two tokens could become one.

mod keywords;

use quillet_core::ErrorCode;

use crate::SqlDialect;
use crate::guard::GuardError;
use crate::guard::lexer::{self, Kind, Token};

/// Line width beyond which list items get their own lines.
const WIDTH: usize = 80;
/// Maximum indentation level; deeper lines would be mostly blanks.
const LEVELS: usize = 40;

/// Formats the text of a query. Formatting the result again does not change it.
///
/// # Errors
/// Fails if a literal, a quoted name or a comment is unclosed, or if the text does not start like a
/// statement.
///
/// # Examples
/// ```
/// use quillet_sql::SqlDialect;
/// use quillet_sql::layout::format;
///
/// let sql = "select a,b from t order by a desc limit 5";
/// let formatted = format(sql, SqlDialect::PostgreSql)?;
/// assert_eq!(formatted, "SELECT a, b\nFROM t\nORDER BY a DESC\nLIMIT 5");
/// # Ok::<(), quillet_sql::guard::GuardError>(())
/// ```
pub fn format(sql: &str, dialect: SqlDialect) -> Result<String, GuardError> {
    let tokens = lexer::tokens(sql, dialect);
    if let Some(open) = tokens.iter().find(|token| !token.closed) {
        let message = "unclosed string, name or comment";
        return Err(GuardError::new(ErrorCode::GuardSyntax, message).at(sql, &open.span));
    }
    check_start(sql, &tokens)?;
    let mut layout = QueryFormatter::new(pieces(sql, &tokens));
    for i in 0..layout.pieces.len() {
        layout.write_token(i);
    }
    Ok(layout.text.trim_end().to_owned())
}

/// Rejects text that is not SQL.
fn check_start(sql: &str, tokens: &[Token]) -> Result<(), GuardError> {
    let Some(first) = tokens.iter().find(|token| token.is_significant()) else {
        return Err(GuardError::new(
            ErrorCode::GuardEmpty,
            "the text contains no SQL",
        ));
    };
    // Formatting prose would capitalize some of its words, so the first word must be able to start
    // a statement.
    let text = first.text(sql);
    if text == "(" || keywords::begins_a_statement(text) {
        return Ok(());
    }
    let message =
        format!("unknown statement {text:?}: SQL statements start with a word such as SELECT");
    Err(GuardError::new(ErrorCode::GuardSyntax, message).at(sql, &first.span))
}

/// A token that is not whitespace, with its surroundings.
struct LayoutToken<'a> {
    kind: Kind,
    text: &'a str,
    /// Whether whitespace or comments separate it from the token before.
    apart: bool,
    /// Whether it is on another line than the token before.
    below: bool,
    /// The keyword in upper case, the symbol, or an empty string.
    word: String,
}

fn pieces<'a>(sql: &'a str, tokens: &[Token]) -> Vec<LayoutToken<'a>> {
    let mut pieces: Vec<LayoutToken<'a>> = Vec::new();
    let (mut apart, mut below) = (false, false);
    let mut before = String::new();
    for token in tokens {
        let text = token.text(sql);
        if token.kind == Kind::Space {
            apart = true;
            below |= text.contains('\n');
            continue;
        }
        let word = match token.kind {
            Kind::Word => keywords::keyword(text, &before).unwrap_or_default(),
            Kind::Mark => text.to_owned(),
            _ => String::new(),
        };
        if !token.is_comment() {
            before = match token.kind {
                Kind::Number => "0".to_owned(),
                _ => word.clone(),
            };
        }
        pieces.push(LayoutToken {
            kind: token.kind,
            text,
            apart,
            below,
            word,
        });
        (apart, below) = (false, false);
    }
    pieces
}

/// An open level: the statement or a bracket.
struct IndentLevel {
    /// Whether clauses get their own lines, as in the statement and in subqueries.
    is_block: bool,
    /// Indentation of its clauses.
    indent: usize,
    /// Indentation of the line with its opening bracket.
    outer: usize,
    /// First word of the current clause.
    clause: &'static str,
    /// Whether the items of the clause get their own lines.
    broken: bool,
    /// Number of open CASE expressions.
    cases: usize,
    /// Number of BETWEENs whose AND has not appeared yet.
    betweens: usize,
}

impl IndentLevel {
    fn block(indent: usize, outer: usize) -> Self {
        IndentLevel {
            is_block: true,
            indent,
            outer,
            clause: "",
            broken: false,
            cases: 0,
            betweens: 0,
        }
    }

    fn inline(outer: usize) -> Self {
        IndentLevel {
            is_block: false,
            ..IndentLevel::block(outer, outer)
        }
    }
}

struct QueryFormatter<'a> {
    pieces: Vec<LayoutToken<'a>>,
    text: String,
    levels: Vec<IndentLevel>,
    /// Indentation of the current line.
    line: usize,
    /// Indentation of the line that must start before the next token.
    next_line: Option<usize>,
    /// Index of the token before, ignoring comments.
    before: Option<usize>,
}

impl<'a> QueryFormatter<'a> {
    fn new(pieces: Vec<LayoutToken<'a>>) -> Self {
        QueryFormatter {
            pieces,
            text: String::new(),
            levels: vec![IndentLevel::block(0, 0)],
            line: 0,
            next_line: None,
            before: None,
        }
    }

    fn write_token(&mut self, i: usize) {
        let Some(piece) = self.pieces.get(i) else {
            return;
        };
        if matches!(piece.kind, Kind::LineComment | Kind::BlockComment) {
            return self.put_comment(i);
        }
        let word = piece.word.clone();
        if let Some(indent) = self.line_before(i, &word) {
            self.next_line = Some(indent);
        }
        if word == ")" {
            self.close();
        }
        self.space(i);
        let text = match self.pieces.get(i) {
            Some(piece) if piece.kind == Kind::Word && !word.is_empty() => word.as_str(),
            Some(piece) => piece.text,
            None => return,
        };
        self.text.push_str(text);
        self.update_levels(i, &word);
        self.before = Some(i);
    }

    /// Writes a comment where its author placed it: on its own line or after its token.
    fn put_comment(&mut self, i: usize) {
        let Some(piece) = self.pieces.get(i) else {
            return;
        };
        let (text, kind, own) = (piece.text, piece.kind, piece.below);
        if own && !self.text.is_empty() {
            let indent = self.next_line.unwrap_or(self.line);
            self.new_line(indent);
            self.text.push_str(text);
            self.next_line = Some(indent);
            return;
        }
        let touches = self.text.is_empty() || self.text.ends_with([' ', '\n']);
        if !touches {
            self.text.push(' ');
        }
        self.text.push_str(text.trim_end_matches('\r'));
        if kind == Kind::LineComment && self.next_line.is_none() {
            self.next_line = Some(self.line);
        }
    }

    fn word_before(&self) -> &str {
        let before = self.before.and_then(|i| self.pieces.get(i));
        before.map_or("", |piece| piece.word.as_str())
    }

    fn level(&mut self) -> Option<&mut IndentLevel> {
        self.levels.last_mut()
    }

    /// Returns the indentation of a new line if one starts with this token.
    fn line_before(&mut self, i: usize, word: &str) -> Option<usize> {
        let before = self.word_before().to_owned();
        // `LEFT(` is a function, but `LEFT JOIN` is not. A bracket that the layout separates from
        // its word (`JOIN (`) must not count, or formatting the result again would decide
        // differently.
        let opens = !keywords::has_space_before_paren(word)
            && self
                .pieces
                .get(i + 1)
                .is_some_and(|next| next.word == "(" && !next.apart);
        let below = self
            .pieces
            .get(i)
            .is_some_and(|piece| piece.below && piece.kind == Kind::Text);
        let after_text = self
            .before
            .and_then(|i| self.pieces.get(i))
            .is_some_and(|p| p.kind == Kind::Text);
        let line = self.line;
        let broken = self.is_long(i);
        let level = self.levels.last_mut()?;
        // PostgreSQL joins two literals into one only if they are on different lines.
        if below && after_text {
            return Some(line);
        }
        if !level.is_block {
            return None;
        }
        if word == ")" {
            return Some(level.outer).filter(|_| self.levels.len() > 1);
        }
        if keywords::begins_clause(word, &before) || (word == "WITH" && level.clause.is_empty()) {
            level.clause = clause(word);
            level.broken = broken;
            let is_first = before.is_empty() && self.text.is_empty();
            let goes_on = word == "SELECT" && matches!(before.as_str(), "EXPLAIN");
            return Some(level.indent).filter(|_| !is_first && !goes_on);
        }
        if level.clause == "FROM"
            && keywords::is_join_word(word)
            && !keywords::is_join_word(&before)
            && !opens
        {
            return Some(level.indent);
        }
        if word == "BETWEEN" {
            level.betweens += 1;
        }
        let splits = matches!(word, "AND" | "OR") && level.cases == 0;
        if splits && level.betweens > 0 && word == "AND" {
            level.betweens -= 1;
            return None;
        }
        let in_condition = matches!(level.clause, "WHERE" | "HAVING" | "FROM");
        (splits && in_condition).then(|| level.indent + 2)
    }

    /// Returns whether the clause is too long for one line or contains a subquery.
    fn is_long(&self, start: usize) -> bool {
        let (mut width, mut depth) = (0usize, 0usize);
        let mut before = "";
        for piece in self.pieces.iter().skip(start) {
            let word = piece.word.as_str();
            match word {
                "(" => depth += 1,
                ")" if depth == 0 => break,
                ")" => depth -= 1,
                ";" => break,
                "SELECT" if before == "(" => return true,
                _ if depth == 0 && width > 0 && keywords::begins_clause(word, before) => break,
                _ => {}
            }
            width += piece.text.chars().take(WIDTH).count() + 1;
            if width > WIDTH {
                return true;
            }
            before = word;
        }
        false
    }

    fn close(&mut self) {
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    /// Updates the open levels after a token.
    fn update_levels(&mut self, i: usize, word: &str) {
        let line = self.line;
        match word {
            "(" => {
                let next = self.pieces.iter().skip(i + 1);
                let mut next =
                    next.filter(|p| !matches!(p.kind, Kind::LineComment | Kind::BlockComment));
                let first = next.next().map_or("", |piece| piece.word.as_str());
                if matches!(first, "SELECT" | "WITH") {
                    let indent = (line + 2).min(2 * LEVELS);
                    self.levels.push(IndentLevel::block(indent, line));
                    self.next_line = Some(indent);
                } else {
                    self.levels.push(IndentLevel::inline(line));
                }
            }
            "," => {
                if let Some(level) = self.level().filter(|level| level.is_block) {
                    let indent = match (level.clause, level.broken) {
                        ("WITH", _) => Some(level.indent),
                        (_, true) if level.cases == 0 => Some(level.indent + 2),
                        _ => None,
                    };
                    self.next_line = indent.or(self.next_line);
                }
            }
            ";" => {
                self.levels = vec![IndentLevel::block(0, 0)];
                self.next_line = Some(0);
            }
            "SELECT" => {
                let goes_on =
                    |piece: &LayoutToken<'_>| matches!(piece.word.as_str(), "DISTINCT" | "ALL");
                let alone = !self.pieces.get(i + 1).is_some_and(goes_on);
                if let Some(level) = self.level().filter(|l| l.is_block && l.broken && alone) {
                    self.next_line = Some(level.indent + 2);
                }
            }
            "CASE" => self.level().into_iter().for_each(|level| level.cases += 1),
            "END" => {
                if let Some(level) = self.level() {
                    level.cases = level.cases.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn new_line(&mut self, indent: usize) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.line = indent;
    }

    /// Writes the space or the line break before a token.
    fn space(&mut self, i: usize) {
        if let Some(indent) = self.next_line.take() {
            return self.new_line(indent);
        }
        let Some(piece) = self.pieces.get(i) else {
            return;
        };
        let after_comment = i > 0
            && self
                .pieces
                .get(i - 1)
                .is_some_and(|p| matches!(p.kind, Kind::BlockComment));
        let before = self.before.and_then(|i| self.pieces.get(i));
        let apart = match before {
            None => after_comment,
            Some(before) => after_comment || is_apart(before, piece),
        };
        if apart {
            self.text.push(' ');
        }
    }
}

/// Returns the static name of a clause.
fn clause(word: &str) -> &'static str {
    const CLAUSES: [&str; 8] = [
        "SELECT", "FROM", "WHERE", "HAVING", "WITH", "GROUP", "ORDER", "VALUES",
    ];
    CLAUSES
        .into_iter()
        .find(|clause| *clause == word)
        .unwrap_or("OTHER")
}

/// Returns whether a space separates two tokens on a line.
fn is_apart(before: &LayoutToken<'_>, piece: &LayoutToken<'_>) -> bool {
    let is_bracket = |word: &str| matches!(word, "(" | ")" | "[" | "]" | ",");
    match (before.word.as_str(), piece.word.as_str()) {
        ("(", _) | (_, ")" | "," | ";") => false,
        (",", _) => true,
        (word, "(") if keywords::has_space_before_paren(word) => true,
        (a, b) => {
            // Two adjacent symbols may be one operator that only the server knows.
            let marks = before.kind == Kind::Mark && piece.kind == Kind::Mark;
            let compares =
                (compares(a) || compares(b)) && (!marks || is_bracket(a) || is_bracket(b));
            compares || piece.apart
        }
    }
}

fn compares(mark: &str) -> bool {
    matches!(mark, "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "||")
}
