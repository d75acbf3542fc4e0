//! Parses the key of a branch.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::range::NumberRange;
use super::regex::Regex;
use super::tree::{
    CONDITION, Code, CompareOp, ListPattern, MAX_LENGTH, MAX_NESTING, ObjectPattern, PatternError,
    PatternNode,
};
use crate::argument::split::{self, ArgumentText};
use crate::expression::{Expression, ParsedExpression};

type PatternResult<T> = Result<T, PatternError>;

/// Parses a key.
pub(super) fn pattern(key: &str, base: Span) -> PatternResult<PatternNode> {
    let reader = Reader { key, base };
    let piece = ArgumentText {
        text: key,
        start: 0,
    }
    .trimmed();
    if piece.text == "_" {
        return Ok(PatternNode::Any);
    }
    if key.len() > MAX_LENGTH {
        let message = format!("the pattern exceeds {MAX_LENGTH} bytes");
        return Err(reader.error(&message, piece.part(0, 0), None));
    }
    match piece.text.strip_prefix([':', '：']) {
        Some(rest) => {
            let inner = piece.part(piece.text.len() - rest.len(), piece.text.len());
            reader.alternatives(inner, PatternPosition::top())
        }
        None => {
            let help = format!("write `:{}`, or `_` for everything else", piece.text);
            Err(reader.error("missing colon before the pattern", piece, Some(help)))
        }
    }
}

/// The position of a pattern. Inside a list or an object, a bare name binds the value.
#[derive(Clone, Copy)]
struct PatternPosition {
    depth: usize,
    inside: bool,
}

impl PatternPosition {
    fn top() -> PatternPosition {
        PatternPosition {
            depth: 0,
            inside: false,
        }
    }
}

struct Reader<'a> {
    key: &'a str,
    base: Span,
}

impl<'a> Reader<'a> {
    fn span(&self, start: usize, end: usize) -> Span {
        // If the key contains YAML escapes, its offsets differ from those in the file.
        if self.base.end.saturating_sub(self.base.start) != self.key.len() {
            return self.base;
        }
        Span {
            start: self.base.start + start,
            end: self.base.start + end,
        }
    }

    fn error(&self, message: &str, piece: ArgumentText<'_>, help: Option<String>) -> PatternError {
        PatternError {
            message: message.to_owned(),
            span: self.span(piece.start, piece.end()),
            help,
        }
    }

    /// Parses `a || b && c`, or a whole expression that contains the condition.
    fn alternatives(
        &self,
        piece: ArgumentText<'a>,
        place: PatternPosition,
    ) -> PatternResult<PatternNode> {
        let piece = piece.trimmed();
        if place.depth == MAX_NESTING {
            let message = format!("the pattern is nested deeper than {MAX_NESTING} levels");
            return Err(self.error(&message, piece, None));
        }
        if piece.text.contains(CONDITION)
            && !piece.text.starts_with('/')
            && let Ok(code) = self.code(piece)
        {
            return Ok(PatternNode::Code(code));
        }
        let either = cut(piece, "||");
        let nodes = either.into_iter().map(|part| self.all(part, place));
        Ok(one_or(
            PatternNode::Either,
            nodes.collect::<PatternResult<_>>()?,
        ))
    }

    fn all(&self, piece: ArgumentText<'a>, place: PatternPosition) -> PatternResult<PatternNode> {
        let parts = cut(piece, "&&");
        let nodes = parts
            .into_iter()
            .map(|part| self.one(part.trimmed(), place));
        Ok(one_or(
            PatternNode::All,
            nodes.collect::<PatternResult<_>>()?,
        ))
    }

    fn one(&self, piece: ArgumentText<'a>, place: PatternPosition) -> PatternResult<PatternNode> {
        let text = piece.text.trim_start_matches([':', '：']);
        let piece = piece
            .part(piece.text.len() - text.len(), piece.text.len())
            .trimmed();
        let text = piece.text;
        if text.is_empty() {
            let help = "write `:12`, `:> 12`, `:\"text\"` or `:/regex/`".to_owned();
            return Err(self.error("missing pattern", piece, Some(help)));
        }
        if let Some(regex) = self.regex(piece)? {
            return Ok(regex);
        }
        if let Some((comparison, length)) = comparison(text) {
            let operand = piece.part(length, text.len()).trimmed();
            return Ok(PatternNode::Compare(comparison, self.code(operand)?));
        }
        if let Some(range) = NumberRange::between(text) {
            return Ok(PatternNode::Range(range));
        }
        match self.bracketed(piece, place)? {
            Some(node) => Ok(node),
            None => self.value(piece, place),
        }
    }

    fn regex(&self, piece: ArgumentText<'a>) -> PatternResult<Option<PatternNode>> {
        let Some(body) = piece.text.strip_prefix('/') else {
            return Ok(None);
        };
        let Some((pattern, flags)) = body.rsplit_once('/') else {
            let help = "write `:/regex/flags`".to_owned();
            return Err(self.error("unclosed regular expression", piece, Some(help)));
        };
        Regex::compile(pattern, flags.trim())
            .map(|regex| Some(PatternNode::Regex(regex)))
            .map_err(|error| self.error(&error.to_string(), piece, None))
    }

    fn bracketed(
        &self,
        piece: ArgumentText<'a>,
        place: PatternPosition,
    ) -> PatternResult<Option<PatternNode>> {
        let text = piece.text;
        if split::closing(text) != Some(text.len() - 1) {
            return Ok(None);
        }
        let inner = piece.part(1, text.len() - 1);
        let deeper = PatternPosition {
            depth: place.depth + 1,
            inside: true,
        };
        match text.as_bytes().first() {
            Some(b'[') => self.list(inner, deeper).map(Some),
            Some(b'{') => self.object(inner, deeper).map(Some),
            Some(b'(') => {
                let inside = place.inside;
                self.alternatives(inner, PatternPosition { inside, ..deeper })
                    .map(Some)
            }
            _ => Ok(None),
        }
    }

    fn list(&self, inner: ArgumentText<'a>, place: PatternPosition) -> PatternResult<PatternNode> {
        let mut list = ListPattern::default();
        for item in items(inner) {
            if item.text == ".." {
                if list.after.replace(Vec::new()).is_some() {
                    return Err(self.error(
                        "a list pattern cannot have more than one `..`",
                        item,
                        None,
                    ));
                }
                continue;
            }
            let node = self.nested(item, place)?;
            list.after.as_mut().unwrap_or(&mut list.before).push(node);
        }
        // `['a,b', _, _, last]` binds the first item to `first`, as the language defines. This does
        // not apply if the pattern names or skips that item.
        let named = matches!(
            list.before.first(),
            None | Some(PatternNode::Any | PatternNode::Bind(_))
        );
        list.names_first = !named;
        Ok(PatternNode::List(list))
    }

    fn object(
        &self,
        inner: ArgumentText<'a>,
        place: PatternPosition,
    ) -> PatternResult<PatternNode> {
        let mut object = ObjectPattern::default();
        for item in items(inner) {
            if item.text == ".." {
                object.partial = true;
                continue;
            }
            let (key, value) = self.field(item)?;
            let node = match value {
                Some(value) => self.nested(value, place)?,
                None => PatternNode::Bind(Arc::clone(&key)),
            };
            object.fields.push((key, node));
        }
        Ok(PatternNode::Object(object))
    }

    /// Parses `key=value`, `key: value`, or `key` alone, which binds the value.
    fn field(&self, item: ArgumentText<'a>) -> PatternResult<(Arc<str>, Option<ArgumentText<'a>>)> {
        let mark = split::find_outside(item.text, |_, c| matches!(c, '=' | '＝' | ':' | '：'));
        let key = item.part(0, mark.unwrap_or(item.text.len())).trimmed();
        let name = split::unquote(key.text).unwrap_or_else(|| key.text.to_owned());
        if name.is_empty() || (name.contains(char::is_whitespace) && name == key.text) {
            let help = "write `{key='value', ..}`".to_owned();
            return Err(self.error(
                "missing name of a field in an object pattern",
                item,
                Some(help),
            ));
        }
        let value = mark.map(|at| {
            let width = item.text[at..].chars().next().map_or(1, char::len_utf8);
            item.part(at + width, item.text.len()).trimmed()
        });
        Ok((name.into(), value))
    }

    /// Parses a text in a pattern: one that starts with a colon is a pattern, any other is a
    /// literal.
    fn nested(
        &self,
        piece: ArgumentText<'a>,
        place: PatternPosition,
    ) -> PatternResult<PatternNode> {
        let quoted = piece.text.starts_with(['"', '\'']);
        let inner = piece.part(1, piece.text.len().saturating_sub(1));
        let whole = quoted && split::unquote(piece.text).is_some();
        if whole && inner.text.starts_with([':', '：']) {
            self.alternatives(inner, place)
        } else {
            self.alternatives(piece, place)
        }
    }

    fn value(&self, piece: ArgumentText<'a>, place: PatternPosition) -> PatternResult<PatternNode> {
        if piece.text == "_" {
            return Ok(PatternNode::Any);
        }
        let code = match self.code(piece) {
            Ok(code) => code,
            // The key is not valid JavaScript, for example because of an unescaped quote, so the
            // unquoted text is the literal.
            Err(error) => {
                let text = split::unquote(piece.text).ok_or(error)?;
                return Ok(PatternNode::Literal(Some(Value::from(text))));
            }
        };
        let ParsedExpression::Native(expression) = &code.parsed else {
            return Ok(PatternNode::Code(code));
        };
        if let Some(value) = expression.as_literal() {
            return Ok(PatternNode::Literal(value.clone()));
        }
        match expression.as_name() {
            Some(name) if place.inside => Ok(PatternNode::Bind(name.into())),
            _ => Ok(self.constant(expression).unwrap_or(PatternNode::Code(code))),
        }
    }

    /// Returns a constant. As an expression `-12` is an operator and a number; in a pattern it is a
    /// number.
    fn constant(&self, expression: &Expression) -> Option<PatternNode> {
        if !expression.names().is_empty() {
            return None;
        }
        let value = expression.evaluate(&quillet_core::Map::default()).ok()?;
        Some(PatternNode::Literal(value))
    }

    fn code(&self, piece: ArgumentText<'a>) -> PatternResult<Code> {
        let parsed = Expression::parse(piece.text);
        if let ParsedExpression::Invalid(error) = &parsed {
            return Err(PatternError {
                message: format!("invalid pattern `{}`: {}", piece.text, error.message),
                span: self.span(piece.start + error.span.start, piece.start + error.span.end),
                help: Some("put text in quotes: `:\"text\"`".to_owned()),
            });
        }
        let test = match &parsed {
            ParsedExpression::Native(expression) => {
                let names = expression.names();
                names.iter().any(|used| &*used.name == CONDITION)
            }
            _ => piece.text.contains(CONDITION),
        };
        Ok(Code {
            text: piece.text.into(),
            parsed,
            test,
            span: self.span(piece.start, piece.end()),
        })
    }
}

/// Splits a list at its commas. A trailing comma adds no item.
fn items(inner: ArgumentText<'_>) -> Vec<ArgumentText<'_>> {
    let mut items: Vec<ArgumentText<'_>> =
        split::pieces(inner.text, |c, _| matches!(c, ',' | '，'))
            .into_iter()
            .map(|item| inner.part(item.start, item.end()).trimmed())
            .collect();
    if items.last().is_some_and(|last| last.text.is_empty()) {
        items.pop();
    }
    items
}

/// Splits at `||` or `&&` outside of quotes, brackets and regular expressions.
fn cut<'a>(piece: ArgumentText<'a>, mark: &str) -> Vec<ArgumentText<'a>> {
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let rest = &piece.text[start..];
        let skipped = regex_length(rest);
        let after = &rest[skipped..];
        match split::find_outside(after, |at, _| after[at..].starts_with(mark)) {
            Some(at) => {
                let end = start + skipped + at;
                parts.push(piece.part(start, end));
                start = end + mark.len();
            }
            None => {
                parts.push(piece.part(start, piece.text.len()));
                return parts;
            }
        }
    }
}

/// Returns the length of the regular expression at the start of a text. It ends at the first slash
/// after which a pattern may end, so slashes inside need not be escaped.
fn regex_length(text: &str) -> usize {
    let Some(body) = text.trim_start().strip_prefix('/') else {
        return 0;
    };
    let start = text.len() - body.len();
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '/' => {
                let after = body[at + 1..].trim_start_matches(|c: char| c.is_ascii_lowercase());
                let after = after.trim_start();
                if after.is_empty() || after.starts_with("||") || after.starts_with("&&") {
                    return start + at + 1;
                }
            }
            _ => {}
        }
    }
    0
}

fn comparison(text: &str) -> Option<(CompareOp, usize)> {
    const MARKS: [(&str, CompareOp); 8] = [
        ("===", CompareOp::Equal),
        ("!==", CompareOp::NotEqual),
        (">=", CompareOp::MoreEqual),
        ("<=", CompareOp::LessEqual),
        ("==", CompareOp::Equal),
        ("!=", CompareOp::NotEqual),
        (">", CompareOp::More),
        ("<", CompareOp::Less),
    ];
    let (mark, comparison) = MARKS.iter().find(|(mark, _)| text.starts_with(mark))?;
    Some((*comparison, mark.len()))
}

fn one_or(join: fn(Vec<PatternNode>) -> PatternNode, mut nodes: Vec<PatternNode>) -> PatternNode {
    match nodes.len() {
        1 => nodes.swap_remove(0),
        _ => join(nodes),
    }
}
