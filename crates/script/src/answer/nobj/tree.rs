//! Builds fields, inner objects and lists from lines of NObj.

use quillet_core::{Map, MapTable, Value, ValueList, json};
use serde_json::Value as Json;

use super::super::coerce::{coerce, number, types};
use super::super::parse_error::AnswerParseError;
use super::line::NobjLine;

/// Maximum depth of nested objects.
const MOST_LEVELS: usize = 32;

/// Builds an object from lines.
pub(super) fn object(
    lines: &[NobjLine<'_>],
    schema: Option<&Json>,
) -> Result<Value, AnswerParseError> {
    level(lines, schema, 0)
}

fn level(
    lines: &[NobjLine<'_>],
    schema: Option<&Json>,
    depth: usize,
) -> Result<Value, AnswerParseError> {
    let mut table = MapTable::default();
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        // Model answers are untrusted, and deep indentation could overflow the stack.
        if depth >= MOST_LEVELS {
            let message = format!("objects are nested deeper than {MOST_LEVELS} levels");
            return Err(AnswerParseError::new(message).with_position(line.number, line.indent + 1));
        }
        let (inner, next) = after.split_at(below(line, after));
        rest = next;
        // A remark between fields is skipped, together with the lines indented below it.
        let Some(field) = NobjField::of(line, schema, !inner.is_empty()) else {
            continue;
        };
        let value = field.value(line, inner, depth)?;
        table.insert(field.name.as_str().into(), value);
    }
    Ok(Map::new(table).into())
}

/// Returns how many of the next lines belong to this one. Bullets at the same column belong to a
/// name without a bullet.
fn below(line: &NobjLine<'_>, after: &[NobjLine<'_>]) -> usize {
    let is_below = |other: &&NobjLine<'_>| {
        // YAML also allows list items in the column of their key, and models often write them
        // there.
        other.indent > line.indent
            || (other.indent == line.indent && other.bullet && !line.bullet && ends_open(line))
    };
    after.iter().take_while(is_below).count()
}

/// Returns whether a line is a name whose value follows on the next lines.
fn ends_open(line: &NobjLine<'_>) -> bool {
    line.block.is_none()
        && line
            .text
            .trim_end_matches(['*', '_'])
            .ends_with([':', '：', '='])
}

/// A line parsed as a field.
struct NobjField<'a> {
    name: String,
    text: &'a str,
    /// Whether the verb marks a list (`have`, `has`).
    many: bool,
    kind: Option<&'static str>,
    schema: Option<&'a Json>,
}

/// Verbs between a name and its value, and whether they mark a list. White space around a verb is
/// part of it.
const VERBS: [(&str, bool); 14] = [
    (":", false),
    ("：", false),
    ("=", false),
    (" is ", false),
    (" are ", false),
    (" have ", true),
    (" has ", true),
    (" includes ", true),
    ("是", false),
    ("为", false),
    ("有", true),
    ("包含", true),
    ("包括", true),
    (" → ", false),
];

impl<'a> NobjField<'a> {
    fn of(line: &NobjLine<'a>, schema: Option<&'a Json>, has_inner: bool) -> Option<Self> {
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        let mut splits = splits(line.text);
        // The line may be a bare name whose value is the block or the indented lines.
        if line.block.is_some() || has_inner {
            splits.push((line.text, "", false));
        }
        let named = splits.into_iter().filter_map(|(name, text, many)| {
            let (name, kind) = bare(name);
            let name = name.filter(|name| !name.is_empty())?;
            let found = properties.and_then(|all| all.iter().find(|(key, _)| same(key, name)));
            Some((found, name, text, many, kind))
        });
        let mut named: Vec<_> = named.collect();
        // The text is split at a name of the schema, or else at the first verb.
        let known = named.iter().position(|(found, ..)| found.is_some());
        let open = schema.and_then(|schema| schema.get("additionalProperties"));
        // If the schema is closed, prose that contains a verb must not become a field.
        let strict = properties.is_some_and(|all| !all.is_empty()) && open != Some(&true.into());
        let at = match (known, strict) {
            (Some(at), _) => at,
            (None, true) => return None,
            (None, false) => 0,
        };
        if at >= named.len() {
            return None;
        }
        let (found, name, text, many, kind) = named.swap_remove(at);
        Some(NobjField {
            name: found.map_or(name, |(key, _)| key).to_owned(),
            text,
            many,
            kind,
            schema: found.map(|(_, schema)| schema),
        })
    }

    fn value(
        &self,
        line: &NobjLine<'_>,
        inner: &[NobjLine<'_>],
        depth: usize,
    ) -> Result<Value, AnswerParseError> {
        if let Some(block) = &line.block {
            return Ok(Value::from(block.as_str()));
        }
        let text = self.text.trim();
        // Models wrap long text onto indented lines, which continue the value.
        if !text.is_empty() && !inner.is_empty() && self.is_text() {
            let more = inner.iter().map(|line| line.text);
            let whole: Vec<&str> = std::iter::once(text).chain(more).collect();
            return Ok(Value::from(whole.join("\n")));
        }
        if !text.is_empty() || inner.is_empty() {
            return Ok(self.scalar(text));
        }
        self.inner(inner, depth)
    }

    fn is_text(&self) -> bool {
        self.schema
            .is_none_or(|schema| types(schema).contains(&"string"))
    }

    fn scalar(&self, text: &str) -> Value {
        let (text, said) = typed(text);
        let kind = self.kind.or(said);
        match (self.schema, kind) {
            (Some(schema), _) if !types(schema).is_empty() => fit(text, Some(schema)),
            (_, Some(kind)) => fit(text, Some(&serde_json::json!({"type": kind}))),
            (_, None) if self.many => split(text, None),
            (_, None) => fit(text, None),
        }
    }

    fn inner(&self, inner: &[NobjLine<'_>], depth: usize) -> Result<Value, AnswerParseError> {
        let items = self.schema.and_then(|schema| schema.get("items"));
        let kinds = self.schema.map(types).unwrap_or_default();
        let all_bullets = inner.iter().all(|line| line.bullet);
        let plain = inner.iter().all(|line| splits(line.text).is_empty());
        let is_object = items.is_some_and(|items| types(items).contains(&"object"));
        if kinds.contains(&"array") && is_object {
            return objects(inner, items, depth);
        }
        if kinds.contains(&"array") || (kinds.is_empty() && all_bullets && plain) {
            let values = inner.iter().map(|line| fit(line.text, items));
            return Ok(Value::List(values.collect::<ValueList>()));
        }
        if kinds.contains(&"string") {
            let lines: Vec<&str> = inner.iter().map(|line| line.text).collect();
            return Ok(Value::from(lines.join("\n")));
        }
        level(inner, self.schema, depth + 1)
    }
}

/// Builds a list of objects. A new object starts at each line with the indentation of the first.
fn objects(
    lines: &[NobjLine<'_>],
    items: Option<&Json>,
    depth: usize,
) -> Result<Value, AnswerParseError> {
    let mut values = Vec::new();
    let mut rest = lines;
    while let Some((first, after)) = rest.split_first() {
        let own = after
            .iter()
            .take_while(|line| line.indent > first.indent)
            .count();
        let (own, next) = after.split_at(own);
        rest = next;
        let mut group = vec![first.clone()];
        if let Some(second) = own.first() {
            // The first field is on the line of the bullet, and the other fields are below it.
            if let Some(head) = group.first_mut() {
                head.indent = second.indent;
                head.bullet = second.bullet;
            }
        }
        group.extend(own.iter().cloned());
        values.push(level(&group, items, depth + 1)?);
    }
    Ok(Value::from(values))
}

/// Returns all ways to split a line into name, verb and value, in order of the verb's position.
fn splits(text: &str) -> Vec<(&str, &str, bool)> {
    if let Some(after) = quoted_name(text) {
        let (name, rest) = text.split_at(after);
        let rest = rest.trim_start_matches(['*', '_', '`']);
        // `**name:** value`
        if name.trim_matches(['*', '_', '`']).ends_with([':', '：']) {
            return vec![(name, rest, false)];
        }
        let verb = |(verb, many): &(&str, bool)| {
            let value = rest.trim_start().strip_prefix(verb.trim())?;
            Some((name, value, *many))
        };
        return VERBS.iter().filter_map(verb).take(1).collect();
    }
    let found = VERBS.iter().filter_map(|(verb, many)| {
        // A verb at the start of the text has no name before it.
        let at = text.char_indices().skip(1).map(|(at, _)| at);
        let mut at = at.filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(verb)));
        let at = at.next().or_else(|| open_end(text, verb))?;
        let value = text.get(at + verb.len()..).unwrap_or_default();
        Some((at, (text.get(..at)?, value, *many)))
    });
    let mut found: Vec<_> = found.collect();
    // Callers take the earliest verb first, and `VERBS` is in another order.
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, split)| split).collect()
}

/// Finds the verb of a line such as `tags have`, whose items are on the next lines.
fn open_end(text: &str, verb: &str) -> Option<usize> {
    let bare = verb.strip_suffix(' ')?;
    let at = text.len().checked_sub(bare.len())?;
    text.ends_with(bare).then_some(at).filter(|at| *at > 0)
}

/// Returns the end of a name in quotes, backticks or asterisks.
fn quoted_name(text: &str) -> Option<usize> {
    const MARKS: [(&str, &str); 6] = [
        ("**", "**"),
        ("__", "__"),
        ("`", "`"),
        ("\"", "\""),
        ("'", "'"),
        ("“", "”"),
    ];
    let (open, close) = MARKS.iter().find(|(open, _)| text.starts_with(open))?;
    let end = text.get(open.len()..)?.find(close)?;
    Some(open.len() + end + close.len())
}

/// Returns a name without decoration, and a type after it (`age as int`).
fn bare(name: &str) -> (Option<&str>, Option<&'static str>) {
    let (name, kind) = typed(name.trim());
    let name = name.trim_matches(['*', '_', '`', '"', '\'', '“', '”', ' ', ':', '：']);
    (Some(name), kind)
}

/// Splits off `as type` at the end of a text.
fn typed(text: &str) -> (&str, Option<&'static str>) {
    let Some((before, name)) = text.rsplit_once(" as ") else {
        return (text, None);
    };
    match super::super::schema::type_name(name.trim()) {
        Ok(Some(kind)) => (before.trim_end(), Some(kind)),
        // In `known as Bob` the last word is not a type, so the text is not split.
        _ => (text, None),
    }
}

/// Compares names without regard to case, spaces, hyphens and underscores.
fn same(key: &str, name: &str) -> bool {
    let plain = |text: &str| -> String {
        let kept = text.chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
        kept.flat_map(char::to_lowercase).collect()
    };
    key == name || plain(key) == plain(name)
}

/// Converts a text to a value of the type in the schema, or guesses the type.
pub(super) fn fit(text: &str, schema: Option<&Json>) -> Value {
    let text = text.trim();
    let kinds = schema.map(types).unwrap_or_default();
    let plain = undress(text);
    match kinds.first() {
        None => guess(text, plain),
        Some(&"array") => split(text, schema.and_then(|schema| schema.get("items"))),
        Some(&"number" | &"integer") => {
            let schema = schema.unwrap_or(&Json::Null);
            let leading = leading_number(plain);
            let fitted = coerce(plain.into(), schema);
            match (&fitted, leading) {
                (Value::Str(_), Some(leading)) => coerce(leading.into(), schema),
                _ => fitted,
            }
        }
        Some(_) => coerce(plain.into(), schema.unwrap_or(&Json::Null)),
    }
}

/// Guesses the type of a text; a quoted one is a string.
fn guess(text: &str, plain: &str) -> Value {
    // Quotes mark a string explicitly, so `"30"` is not a number. Emphasis marks have no meaning.
    if plain.len() < text.len() && !text.starts_with(['*', '_']) {
        return plain.into();
    }
    let looks_like_json = text.starts_with(['[', '{']);
    if let Some(Ok(value)) = looks_like_json.then(|| json::parse(text)) {
        return value;
    }
    match text {
        "true" => true.into(),
        "false" => false.into(),
        "null" | "none" | "None" => Value::Null,
        _ => number(text).unwrap_or_else(|| plain.into()),
    }
}

/// Returns the number in a quantity: `30` in `30 years`.
fn leading_number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.')))?;
    let (head, rest) = text.split_at(end);
    // `30岁` has no space before its unit, but an id such as `3b2` is not a number.
    let unit = rest.starts_with(char::is_whitespace) || !rest.is_ascii();
    number(head).filter(|_| unit).map(|_| head)
}

fn split(text: &str, items: Option<&Json>) -> Value {
    // Strings in a JSON list may contain commas, so JSON is tried before splitting.
    if let Ok(value @ Value::List(_)) = json::parse(text) {
        return coerce(
            value,
            &serde_json::json!({"items": items.unwrap_or(&Json::Null)}),
        );
    }
    let inside = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let pieces = inside.unwrap_or(text).split([',', '、', '，']);
    let pieces = pieces.map(str::trim).filter(|piece| !piece.is_empty());
    Value::List(pieces.map(|piece| fit(piece, items)).collect::<ValueList>())
}

/// Removes quotes, backticks or asterisks that enclose a whole text.
fn undress(text: &str) -> &str {
    const MARKS: [(&str, &str); 6] = [
        ("**", "**"),
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("“", "”"),
        ("「", "」"),
    ];
    let inner = MARKS.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        // `"a" and "b"` starts and ends with a quote, but is not a single quoted text.
        (!inner.contains(close)).then_some(inner)
    });
    inner.unwrap_or(text)
}
