//! Python's methods of texts, lists and objects. Methods that change a value are errors, as in the
//! sandbox for chat templates.

use std::sync::Arc;

use super::call::EvaluatedArguments;
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::test::is_cased;
use super::value::{Dict, DictView, List, Sort, Value};
use crate::StopReason;

const TEXT: &[&str] = &[
    "capitalize",
    "casefold",
    "center",
    "count",
    "endswith",
    "expandtabs",
    "find",
    "format",
    "format_map",
    "index",
    "isalnum",
    "isalpha",
    "isascii",
    "isdecimal",
    "isdigit",
    "isidentifier",
    "islower",
    "isnumeric",
    "isspace",
    "istitle",
    "isupper",
    "join",
    "ljust",
    "lower",
    "lstrip",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rfind",
    "rindex",
    "rjust",
    "rpartition",
    "rsplit",
    "rstrip",
    "split",
    "splitlines",
    "startswith",
    "strip",
    "swapcase",
    "title",
    "upper",
    "zfill",
];
const LIST: &[&str] = &["copy", "count", "index"];
const DICT: &[&str] = &["copy", "get", "items", "keys", "values"];
const LOOP: &[&str] = &["changed", "cycle"];
const CYCLER: &[&str] = &["next", "reset"];
/// Python methods that change their value.
const CHANGES: &[&str] = &[
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
];

/// Whether a value has a method with this name.
pub(super) fn exists(value: &Value, name: &str) -> bool {
    match value {
        Value::Str(_) => TEXT.contains(&name),
        Value::List(list) if list.sort == Sort::List => {
            LIST.contains(&name) || CHANGES.contains(&name)
        }
        Value::List(list) if list.has_places() => ["count", "index"].contains(&name),
        Value::Dict(_) => of_dict(name),
        Value::Loop(_) => LOOP.contains(&name),
        Value::Cycler(_) => CYCLER.contains(&name),
        Value::Float(_) => name == "is_integer",
        _ => false,
    }
}

/// Whether any type of value has a method with this name. In `x.items()` such a name is not a
/// reference to a field `items`.
pub(super) fn is_known(name: &str) -> bool {
    [TEXT, LIST, DICT, CHANGES]
        .iter()
        .any(|names| names.contains(&name))
}

/// Whether objects have a method with this name. The method hides a key with the same name.
pub(crate) fn of_dict(name: &str) -> bool {
    DICT.contains(&name) || CHANGES.contains(&name)
}

impl Evaluator<'_, '_> {
    pub(super) fn method(
        &mut self,
        subject: &Value,
        name: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        check_arguments(subject, name, given)?;
        match subject {
            Value::Str(text) => self.text_method(text, name, given),
            Value::List(list) => self.list_method(list, name, given),
            Value::Dict(dict) => self.dict_method(dict, name, given),
            Value::Float(float) => Ok(Value::Bool(*float == float.trunc())),
            Value::Cycler(cycler) => {
                let at = cycler.1.get();
                let next = (at + 1) % cycler.0.len().max(1);
                cycler.1.set(if name == "next" { next } else { 0 });
                Ok(cycler.0.get(at).unwrap_or(Value::None))
            }
            Value::Loop(state) if name == "cycle" => {
                let index = state.index.get().checked_rem(given.positional.len());
                let chosen = index.and_then(|index| given.positional.get(index));
                chosen
                    .cloned()
                    .ok_or_else(|| fail("no items for cycling given"))
            }
            Value::Loop(state) => {
                self.charge(given.positional.len() * VALUE_SIZE)?;
                let now = self.list(Sort::Tuple, given.positional.clone())?;
                let before = state.changed.replace(Some(now.clone()));
                match before {
                    Some(before) => Ok(Value::Bool(!self.equal(&before, &now)?)),
                    None => Ok(Value::Bool(true)),
                }
            }
            other => Err(fail(format!(
                "'{}' object has no attribute '{name}'",
                other.kind()
            ))),
        }
    }

    fn list_method(
        &mut self,
        list: &List,
        name: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        match name {
            "copy" => Ok(Value::List(list.clone())),
            "count" => {
                let wanted = given.need(0, "value")?;
                let mut count = 0;
                for item in list.iter() {
                    count += usize::from(self.equal(&item, wanted)?);
                }
                Ok(Value::int(count))
            }
            "index" => {
                let wanted = given.need(0, "value")?;
                for (index, item) in list.iter().enumerate() {
                    if self.equal(&item, wanted)? {
                        return Ok(Value::int(index));
                    }
                }
                let wanted = self.repr(wanted)?;
                Err(fail(format!("{wanted} is not in list")))
            }
            _ => Err(unsafe_method(name, "list")),
        }
    }

    fn dict_method(
        &mut self,
        dict: &Dict,
        name: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        self.pass
            .steps(if name == "get" { 1 } else { dict.len() })?;
        match name {
            "copy" => Ok(Value::Dict(dict.clone())),
            "get" => {
                let key = self.key(given.need(0, "key")?)?;
                let default = || given.get(1, "default").cloned().unwrap_or(Value::None);
                Ok(dict.get(&key).unwrap_or_else(default))
            }
            "keys" => {
                self.charge(dict.len() * VALUE_SIZE)?;
                let keys = dict.iter().map(|(key, _)| key).collect();
                self.list(Sort::View(DictView::Keys), keys)
            }
            "values" => {
                self.charge(dict.len() * VALUE_SIZE)?;
                let values = dict.iter().map(|(_, value)| value).collect();
                self.list(Sort::View(DictView::Values), values)
            }
            "items" => {
                self.charge(dict.len() * 5 * VALUE_SIZE)?;
                let pair = |(key, value)| Value::List(List::new(Sort::Tuple, vec![key, value]));
                let pairs = dict.iter().map(pair).collect();
                self.list(Sort::View(DictView::Items), pairs)
            }
            _ => Err(unsafe_method(name, "dict")),
        }
    }

    fn text_method(
        &mut self,
        text: &Arc<str>,
        name: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        // Every method reads the text, and most methods build a string of similar size.
        self.charge(text.len())?;
        Ok(match name {
            "upper" => text.to_uppercase().into(),
            "lower" | "casefold" => text.to_lowercase().into(),
            "title" => cased_words(text, uncased).into(),
            "capitalize" => {
                let mut rest = text.chars();
                let first = rest.next().into_iter().flat_map(char::to_uppercase);
                (first.collect::<String>() + &rest.as_str().to_lowercase()).into()
            }
            "swapcase" => text.chars().map(swap_case).collect::<String>().into(),
            "strip" => self.strip(text, given, true, true)?,
            "lstrip" => self.strip(text, given, true, false)?,
            "rstrip" => self.strip(text, given, false, true)?,
            "startswith" => affix(text, given, |text, part| text.starts_with(part))?,
            "endswith" => affix(text, given, |text, part| text.ends_with(part))?,
            "removeprefix" => {
                let part = given.str(0, "prefix", "")?;
                text.strip_prefix(part).unwrap_or(text).into()
            }
            "removesuffix" => {
                let part = given.str(0, "suffix", "")?;
                text.strip_suffix(part).unwrap_or(text).into()
            }
            "split" | "rsplit" => self.split(text, given, name == "rsplit")?,
            "splitlines" => {
                self.charge(text.lines().count() * 2 * VALUE_SIZE)?;
                let keep = given.flag(0, "keepends", false);
                self.list(Sort::List, lines(text, keep).map(Value::from).collect())?
            }
            "partition" | "rpartition" => self.partition(text, given, name == "rpartition")?,
            "join" => self.join(text, given)?,
            "replace" => {
                let (old, new) = (given.str(0, "old", "")?, given.str(1, "new", "")?);
                let count = given.int(2, "count", -1)?;
                self.replace(text, old, new, count)?
            }
            "find" => place(text, given, false)?.map_or(Value::Int(-1), Value::int),
            "rfind" => place(text, given, true)?.map_or(Value::Int(-1), Value::int),
            "index" | "rindex" => match place(text, given, name == "rindex")? {
                Some(at) => Value::int(at),
                None => return Err(fail("substring not found")),
            },
            "count" => {
                let Value::Str(part) = given.need(0, "sub")? else {
                    return Err(fail("must be str"));
                };
                let count = |(_, within): (usize, &str)| {
                    if part.is_empty() {
                        within.chars().count() + 1
                    } else {
                        within.matches(&**part).count()
                    }
                };
                Value::int(window(text, given)?.map_or(0, count))
            }
            "center" | "ljust" | "rjust" => self.justify(text, name, given)?,
            "zfill" => self.zero_fill(text, given)?,
            "expandtabs" => self.expand_tabs(text, given)?,
            "format" => self.str_format(text, given)?,
            "format_map" => {
                let mut named = EvaluatedArguments::default();
                if let Value::Dict(dict) = given.need(0, "mapping")? {
                    for (key, value) in dict.iter() {
                        named.named.push((self.text(&key)?, value));
                    }
                }
                self.str_format(text, &named)?
            }
            _ => Value::Bool(is_kind(text, name)),
        })
    }

    fn strip(
        &mut self,
        text: &str,
        given: &EvaluatedArguments,
        left: bool,
        right: bool,
    ) -> Result<Value, StopReason> {
        let chars = match given.get(0, "chars") {
            None | Some(Value::None) => None,
            Some(_) => Some(given.str(0, "chars", "")?),
        };
        Ok(trimmed(text, chars, left, right).into())
    }

    fn split(
        &mut self,
        text: &str,
        given: &EvaluatedArguments,
        from_right: bool,
    ) -> Result<Value, StopReason> {
        let limit = given.int(1, "maxsplit", -1)?;
        let limit = usize::try_from(limit).map_or(usize::MAX, |limit| limit.saturating_add(1));
        let separator = match given.get(0, "sep") {
            None | Some(Value::None) => None,
            Some(_) => Some(given.str(0, "sep", "")?),
        };
        let count = match separator {
            Some("") => return Err(fail("empty separator")),
            Some(separator) => text.matches(separator).count() + 1,
            None => text.split_whitespace().count(),
        };
        self.charge(count.saturating_mul(2 * VALUE_SIZE))?;
        let mut parts: Vec<Value> = match (separator, from_right) {
            (Some(separator), false) => text.splitn(limit, separator).map(Value::from).collect(),
            (Some(separator), true) => text.rsplitn(limit, separator).map(Value::from).collect(),
            (None, false) => words(text, limit).into_iter().map(Value::from).collect(),
            (None, true) => last_words(text, limit)
                .into_iter()
                .map(Value::from)
                .collect(),
        };
        if from_right {
            parts.reverse();
        }
        self.list(Sort::List, parts)
    }

    fn partition(
        &mut self,
        text: &str,
        given: &EvaluatedArguments,
        last: bool,
    ) -> Result<Value, StopReason> {
        let separator = given.str(0, "sep", "")?;
        if separator.is_empty() {
            return Err(fail("empty separator"));
        }
        let parts = match (text.split_once(separator), text.rsplit_once(separator)) {
            (_, Some((before, after))) if last => [before, separator, after],
            (Some((before, after)), _) => [before, separator, after],
            _ if last => ["", "", text],
            _ => [text, "", ""],
        };
        self.list(Sort::Tuple, parts.map(Value::from).to_vec())
    }

    fn join(&mut self, separator: &str, given: &EvaluatedArguments) -> Result<Value, StopReason> {
        let mut texts = Vec::new();
        let list = given.need(0, "iterable")?.clone();
        for (index, item) in self.items(&list)?.into_iter().enumerate() {
            let Value::Str(text) = item else {
                let kind = item.kind();
                return Err(fail(format!(
                    "sequence item {index}: expected str instance, {kind} found"
                )));
            };
            self.charge(text.len() + separator.len())?;
            texts.push(text);
        }
        Ok(texts.join(separator).into())
    }

    pub(super) fn replace(
        &mut self,
        text: &str,
        old: &str,
        new: &str,
        count: i64,
    ) -> Result<Value, StopReason> {
        let limit = usize::try_from(count).unwrap_or(usize::MAX);
        self.scan(text.len() * 4)?;
        let found = if old.is_empty() {
            text.chars().count() + 1
        } else {
            text.matches(old).count()
        };
        let growth = found.min(limit).saturating_mul(new.len());
        self.charge(text.len().saturating_add(growth))?;
        Ok(text.replacen(old, new, limit).into())
    }

    fn justify(
        &mut self,
        text: &str,
        name: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        let width = given.size(0, "width", 0)?;
        let fill = given.str(1, "fillchar", " ")?;
        let mut characters = fill.chars();
        let (Some(fill), None) = (characters.next(), characters.next()) else {
            return Err(fail(
                "The fill character must be exactly one character long",
            ));
        };
        self.charge(
            text.len()
                .saturating_add(width.saturating_mul(fill.len_utf8())),
        )?;
        let missing = width.saturating_sub(text.chars().count());
        let left = match name {
            "ljust" => 0,
            "rjust" => missing,
            // As in Python, the width determines which side gets the extra blank if the number of
            // blanks is odd.
            _ => missing / 2 + (missing & width & 1),
        };
        Ok(padded(text, left, missing - left, fill).into())
    }

    fn zero_fill(&mut self, text: &str, given: &EvaluatedArguments) -> Result<Value, StopReason> {
        let width = given.size(0, "width", 0)?;
        self.charge(text.len().saturating_add(width))?;
        let missing = width.saturating_sub(text.chars().count());
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => text.split_at(text.len() - digits.len()),
            None => ("", text),
        };
        Ok(format!("{sign}{}{digits}", "0".repeat(missing)).into())
    }

    fn expand_tabs(&mut self, text: &str, given: &EvaluatedArguments) -> Result<Value, StopReason> {
        let size = given.size(0, "tabsize", 8)?;
        let tabs = text.matches('\t').count();
        self.charge(text.len().saturating_add(tabs.saturating_mul(size)))?;
        let mut out = String::new();
        let mut column = 0_usize;
        for c in text.chars() {
            match c {
                '\t' if size == 0 => {}
                '\t' => {
                    let blanks = size - column % size;
                    out.extend(std::iter::repeat_n(' ', blanks));
                    column += blanks;
                }
                c => {
                    column = if c == '\n' || c == '\r' {
                        0
                    } else {
                        column + 1
                    };
                    out.push(c);
                }
            }
        }
        Ok(out.into())
    }
}

/// Checks the number of arguments, and rejects named arguments where Python does.
fn check_arguments(
    subject: &Value,
    name: &str,
    given: &EvaluatedArguments,
) -> Result<(), StopReason> {
    if !matches!(subject, Value::Str(_) | Value::List(_) | Value::Dict(_)) || name == "format" {
        return Ok(());
    }
    let most = match (subject, name) {
        (Value::List(_), "count") => 1,
        (_, "count" | "endswith" | "find" | "index" | "replace") => 3,
        (_, "rfind" | "rindex" | "startswith") => 3,
        (_, "center" | "get" | "ljust" | "rjust" | "rsplit" | "split") => 2,
        (_, "expandtabs" | "format_map" | "join" | "lstrip" | "partition" | "removeprefix") => 1,
        (_, "removesuffix" | "rpartition" | "rstrip" | "splitlines" | "strip" | "zfill") => 1,
        _ if CHANGES.contains(&name) => return Ok(()),
        _ => 0,
    };
    let names: &[&str] = match name {
        "split" | "rsplit" => &["sep", "maxsplit"],
        "splitlines" => &["keepends"],
        "expandtabs" => &["tabsize"],
        "replace" => &["count"],
        _ => &[],
    };
    if given.positional.len() > most {
        let count = given.positional.len();
        return Err(fail(format!(
            "{name}() takes at most {most} arguments ({count} given)"
        )));
    }
    match given
        .named
        .iter()
        .find(|(given, _)| !names.contains(&&**given))
    {
        Some((argument, _)) => Err(fail(format!(
            "{name}() takes no keyword argument '{argument}'"
        ))),
        None => Ok(()),
    }
}

fn unsafe_method(name: &str, kind: &str) -> StopReason {
    fail(format!(
        "access to '{name}' of '{kind}' object is unsafe: values cannot be changed in a template"
    ))
}

/// Whether a character separates words for Python's `title`.
fn uncased(c: char) -> bool {
    !(c.is_uppercase() || c.is_lowercase())
}

fn swap_case(c: char) -> String {
    if c.is_uppercase() {
        c.to_lowercase().collect()
    } else {
        c.to_uppercase().collect()
    }
}

/// Converts each letter at the start of a word to upper case, and other letters to lower case.
/// `starts` selects the characters before a word.
pub(super) fn cased_words(text: &str, starts: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut start = true;
    for c in text.chars() {
        if start {
            out.extend(c.to_uppercase())
        } else {
            out.extend(c.to_lowercase())
        }
        start = starts(c);
    }
    out
}

/// Strips these characters, or blanks, from the selected sides.
pub(super) fn trimmed<'a>(text: &'a str, chars: Option<&str>, left: bool, right: bool) -> &'a str {
    let strips = |c: char| chars.map_or(c.is_whitespace(), |chars| chars.contains(c));
    let text = if left {
        text.trim_start_matches(strips)
    } else {
        text
    };
    if right {
        text.trim_end_matches(strips)
    } else {
        text
    }
}

pub(super) fn padded(text: &str, left: usize, right: usize, fill: char) -> String {
    let mut out = String::with_capacity(text.len() + (left + right) * fill.len_utf8());
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(text);
    out.extend(std::iter::repeat_n(fill, right));
    out
}

fn affix(
    text: &str,
    given: &EvaluatedArguments,
    has: fn(&str, &str) -> bool,
) -> Result<Value, StopReason> {
    let parts = match given.need(0, "affix")? {
        Value::List(parts) => parts.iter().collect(),
        part => vec![part.clone()],
    };
    let within = window(text, given)?;
    let mut found = false;
    for part in &parts {
        let Some(part) = part.as_str() else {
            return Err(fail(format!(
                "expected str or a tuple of str, not {}",
                part.kind()
            )));
        };
        found |= within.is_some_and(|(_, within)| has(within, part));
    }
    Ok(Value::Bool(found))
}

/// Splits a text into at most `limit` words. The last one contains the rest of the text.
fn words(text: &str, limit: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if words.len() + 1 >= limit {
            words.push(rest);
            break;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

/// Splits a text from its end. The last word comes first.
fn last_words(text: &str, limit: usize) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        if words.len() + 1 >= limit {
            words.push(rest);
            break;
        }
        let blank = rest.char_indices().rev().find(|(_, c)| c.is_whitespace());
        let start = blank.map_or(0, |(at, c)| at + c.len_utf8());
        words.push(&rest[start..]);
        rest = rest[..start].trim_end();
    }
    words
}

fn lines(text: &str, keep_ends: bool) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').map(move |line| {
        if keep_ends {
            line
        } else {
            let line = line.strip_suffix('\n').unwrap_or(line);
            line.strip_suffix('\r').unwrap_or(line)
        }
    })
}

/// Returns the part of a text between the second and the third argument, and the number of
/// characters before that part.
fn window<'a>(
    text: &'a str,
    given: &EvaluatedArguments,
) -> Result<Option<(usize, &'a str)>, StopReason> {
    let bound = |index, name, default: i64| match given.get(index, name) {
        None | Some(Value::None) => Ok(default),
        Some(_) => given.int(index, name, default),
    };
    let (start, end) = (bound(1, "start", 0)?, bound(2, "end", i64::MAX)?);
    if (start, end) == (0, i64::MAX) {
        return Ok(Some((0, text)));
    }
    let len = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let place = |index: i64| {
        if index < 0 {
            index.saturating_add(len).max(0)
        } else {
            index
        }
    };
    let (start, end) = (place(start), place(end).min(len));
    if start > end {
        return Ok(None);
    }
    let byte = |index: i64| {
        let at = usize::try_from(index)
            .ok()
            .and_then(|i| text.char_indices().nth(i));
        at.map_or(text.len(), |(at, _)| at)
    };
    let within = text.get(byte(start)..byte(end)).unwrap_or_default();
    Ok(Some((usize::try_from(start).unwrap_or(0), within)))
}

/// Returns the character index of a search result.
fn place(text: &str, given: &EvaluatedArguments, last: bool) -> Result<Option<usize>, StopReason> {
    let Value::Str(part) = given.need(0, "sub")? else {
        return Err(fail("must be str"));
    };
    let Some((skipped, within)) = window(text, given)? else {
        return Ok(None);
    };
    let found = if last {
        within.rfind(&**part)
    } else {
        within.find(&**part)
    };
    let characters = |at: usize| within.get(..at).unwrap_or_default().chars().count();
    Ok(found.map(|at| skipped + characters(at)))
}

/// Whether a text satisfies a predicate such as `isalpha` on all characters.
fn is_kind(text: &str, name: &str) -> bool {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    match name {
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isdigit" | "isdecimal" => all(|c| c.is_ascii_digit()),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(char::is_whitespace),
        "isascii" => text.is_ascii(),
        "islower" => is_cased(text, char::is_lowercase, char::is_uppercase),
        "isupper" => is_cased(text, char::is_uppercase, char::is_lowercase),
        "istitle" => text.chars().any(char::is_uppercase) && cased_words(text, uncased) == text,
        "isidentifier" => {
            let first = text.chars().next();
            first.is_some_and(|c| c.is_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
        _ => false,
    }
}
