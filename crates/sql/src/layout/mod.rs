//! Lays out SQL for people: a clause a line, subqueries indented, keywords in capitals.
//!
//! It works on tokens, so that anything whose texts and comments end is laid out, also what the
//! guard would refuse. Texts, names and comments stay as they are; only blanks between tokens and
//! the case of keywords change, and blanks only where no two tokens could become one.

mod keywords;

use quillet_core::ErrorCode;

use crate::SqlDialect;
use crate::guard::GuardError;
use crate::guard::lexer::{self, Kind, Token};

/// Width beyond which the items of a list stand on lines of their own.
const WIDTH: usize = 80;
/// Levels beyond which lines are indented no further: deeper ones would be blanks only.
const LEVELS: usize = 40;

/// The text, laid out. Laying it out again changes nothing.
///
/// # Errors
/// A text, a quoted name or a comment has no end; or no statement begins like this.
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
        let message = "unclosed text, name or comment";
        return Err(GuardError::new(ErrorCode::GuardSyntax, message).at(sql, &open.span));
    }
    check_start(sql, &tokens)?;
    let mut layout = QueryFormatter::new(pieces(sql, &tokens));
    for i in 0..layout.pieces.len() {
        layout.write_token(i);
    }
    Ok(layout.text.trim_end().to_owned())
}

/// Refuses what is no SQL: it would come back with some of its words in capitals.
fn check_start(sql: &str, tokens: &[Token]) -> Result<(), GuardError> {
    let Some(first) = tokens.iter().find(|token| token.is_significant()) else {
        return Err(GuardError::new(
            ErrorCode::GuardEmpty,
            "the text contains no SQL",
        ));
    };
    // Laying out prose would capitalize some of its words, so the first word must be able to start
    // a statement.
    let text = first.text(sql);
    if text == "(" || keywords::begins_a_statement(text) {
        return Ok(());
    }
    let message =
        format!("unknown statement {text:?}: SQL statements start with a word such as SELECT");
    Err(GuardError::new(ErrorCode::GuardSyntax, message).at(sql, &first.span))
}

/// A token that is not blank, and what stood before it.
struct LayoutToken<'a> {
    kind: Kind,
    text: &'a str,
    /// Whether blanks or comments stand between it and the one before.
    apart: bool,
    /// Whether it stands on another line than the one before.
    below: bool,
    /// The keyword that it is, in capitals; else the mark that it is; else nothing.
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

/// What is open: the statement, or a bracket.
struct IndentLevel {
    /// Whether clauses stand on lines of their own: the statement and subqueries.
    is_block: bool,
    /// Indentation of its clauses.
    indent: usize,
    /// Indentation of the line with its opening bracket.
    outer: usize,
    /// The word that its current clause began with.
    clause: &'static str,
    /// Whether the items of the clause stand on lines of their own.
    broken: bool,
    /// CASEs that are open.
    cases: usize,
    /// BETWEENs whose AND is still to come.
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
    /// Indentation of the line at hand.
    line: usize,
    /// Indentation of the line that the next token has to begin.
    next_line: Option<usize>,
    /// The token before, comments left out.
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

    /// A comment stays where its author put it: on its own line, or behind what it is about.
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

    /// The indentation of a new line that the token begins, if it begins one.
    fn line_before(&mut self, i: usize, word: &str) -> Option<usize> {
        let before = self.word_before().to_owned();
        // `LEFT(` is a function, `LEFT JOIN` is none. A bracket that is going to stand apart from its
        // word (`JOIN (`) says nothing of that, or a second layout would decide otherwise.
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
        // Two texts are one in PostgreSQL only if they stand on two lines.
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

    /// Whether the clause that begins here is too long for one line, or holds a subquery.
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

    /// What a token says about what follows it.
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

    /// The blank or the new line before a token.
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

/// The clause's name, to be kept.
fn clause(word: &str) -> &'static str {
    const CLAUSES: [&str; 8] = [
        "SELECT", "FROM", "WHERE", "HAVING", "WITH", "GROUP", "ORDER", "VALUES",
    ];
    CLAUSES
        .into_iter()
        .find(|clause| *clause == word)
        .unwrap_or("OTHER")
}

/// Whether a blank stands between two tokens of a line.
fn is_apart(before: &LayoutToken<'_>, piece: &LayoutToken<'_>) -> bool {
    let is_bracket = |word: &str| matches!(word, "(" | ")" | "[" | "]" | ",");
    match (before.word.as_str(), piece.word.as_str()) {
        ("(", _) | (_, ")" | "," | ";") => false,
        (",", _) => true,
        (word, "(") if keywords::has_space_before_paren(word) => true,
        (a, b) => {
            // Marks may be one operator that only its server knows.
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
