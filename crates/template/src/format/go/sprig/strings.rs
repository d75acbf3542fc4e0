//! Functions for text.

use super::super::fmt::append_quoted;
use super::super::{FunctionContext, FunctionError, GoFunction, GoMap, GoStr, GoType, GoValue};
use super::text::{self, Wrap};
use super::{args, cost, word_split};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const INT: GoType = GoType::Int;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("hello", &[], hello),
    GoFunction::new("trim", &[STRING], trim),
    GoFunction::new("trimAll", &[STRING, STRING], trim_all),
    GoFunction::new("trimall", &[STRING, STRING], trim_all),
    GoFunction::new("trimPrefix", &[STRING, STRING], trim_prefix),
    GoFunction::new("trimSuffix", &[STRING, STRING], trim_suffix),
    GoFunction::new("upper", &[STRING], upper),
    GoFunction::new("lower", &[STRING], lower),
    GoFunction::new("title", &[STRING], title),
    GoFunction::new("untitle", &[STRING], untitle),
    GoFunction::new("swapcase", &[STRING], swap_case),
    GoFunction::new("snakecase", &[STRING], snake),
    GoFunction::new("camelcase", &[STRING], camel),
    GoFunction::new("kebabcase", &[STRING], kebab),
    GoFunction::new("initials", &[STRING], initials),
    GoFunction::new("nospace", &[STRING], without_space),
    GoFunction::new("trunc", &[INT, STRING], trunc),
    GoFunction::new("abbrev", &[INT, STRING], abbrev),
    GoFunction::new("abbrevboth", &[INT, INT, STRING], abbrev_both),
    GoFunction::new("substr", &[INT, INT, STRING], substr),
    GoFunction::new("repeat", &[INT, STRING], repeat),
    GoFunction::new("contains", &[STRING, STRING], contains),
    GoFunction::new("hasPrefix", &[STRING, STRING], has_prefix),
    GoFunction::new("hasSuffix", &[STRING, STRING], has_suffix),
    GoFunction::new("replace", &[STRING, STRING, STRING], replace),
    GoFunction::new("indent", &[INT, STRING], indent),
    GoFunction::new("nindent", &[INT, STRING], nindent),
    GoFunction::new("wrap", &[INT, STRING], wrap),
    GoFunction::new("wrapWith", &[INT, STRING, STRING], wrap_with),
    GoFunction::new("plural", &[STRING, STRING, INT], plural),
    GoFunction::variadic("quote", &[ANY], quote),
    GoFunction::variadic("squote", &[ANY], squote),
    GoFunction::variadic("cat", &[ANY], cat),
    GoFunction::new("toString", &[ANY], to_string),
    GoFunction::new("toStrings", &[ANY], to_strings),
    GoFunction::new("join", &[STRING, ANY], join),
    GoFunction::new("splitList", &[STRING, STRING], split_list),
    GoFunction::new("split", &[STRING, STRING], split),
    GoFunction::new("splitn", &[STRING, INT, STRING], splitn),
];

fn hello(_: &mut FunctionContext<'_, '_>, _: &[GoValue]) -> FnResult {
    Ok("Hello!".into())
}

/// Charges for a part of a text and returns it. Go shares the text, but this implementation copies
/// it.
fn part(cx: &mut FunctionContext<'_, '_>, part: &[u8]) -> FnResult {
    cost::build(cx, part.len())?;
    Ok(GoValue::Str(part.into()))
}

fn trim(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 0);
    match std::str::from_utf8(text) {
        Ok(text) => part(cx, text.trim().as_bytes()),
        Err(_) => part(cx, text.trim_ascii()),
    }
}

fn trim_all(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (set, text) = (args::chars(args, 0), args::chars(args, 1));
    // Each character at the ends is compared with the entire set.
    cost::scan(cx, text.len().saturating_mul(1 + set.len() / 16))?;
    cost::build_many(cx, set.len(), size_of::<char>())?;
    let chars: Vec<char> = set.chars().collect();
    part(cx, text.trim_matches(&chars[..]).as_bytes())
}

fn trim_prefix(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    part(cx, text.strip_prefix(args::text(args, 0)).unwrap_or(text))
}

fn trim_suffix(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    part(cx, text.strip_suffix(args::text(args, 0)).unwrap_or(text))
}

/// Applies a function to the characters. The result has about the size of the text.
fn recase(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
    change: fn(&str) -> String,
) -> FnResult {
    let text = args::chars(args, 0);
    cost::build(cx, text.len())?;
    Ok(change(&text).into())
}

fn upper(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, |text| {
        text.chars().map(word_split::upper).collect()
    })
}

fn lower(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, |text| {
        text.chars().map(word_split::lower).collect()
    })
}

fn title(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::title)
}

fn untitle(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::untitle)
}

fn swap_case(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::swap_case)
}

fn snake(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::snake)
}

fn camel(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::camel)
}

fn kebab(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    recase(cx, args, word_split::kebab)
}

fn initials(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 0);
    cost::build(cx, text.len())?;
    Ok(word_split::initials(text).into())
}

fn without_space(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 0);
    // The intermediate array needs four bytes per character.
    cost::build_many(cx, text.len(), 4)?;
    Ok(word_split::without_space(text).into())
}

fn trunc(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    part(cx, text::trunc(args::int(args, 0), args::text(args, 1)))
}

fn abbrev(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    cost::build(cx, text.len())?;
    Ok(text::abbreviate(text, 0, args::int(args, 0)).into())
}

fn abbrev_both(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 2);
    cost::build(cx, text.len())?;
    Ok(text::abbreviate(text, args::int(args, 0), args::int(args, 1)).into())
}

fn substr(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (start, end) = (args::int(args, 0), args::int(args, 1));
    part(cx, text::substr(start, end, args::text(args, 2))?)
}

fn repeat(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    let Ok(count) = usize::try_from(args::int(args, 0)) else {
        return Err("strings: negative Repeat count".into());
    };
    cost::build_many(cx, count, text.len())?;
    Ok(text.repeat(count).into())
}

fn contains(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (needle, text) = (args::text(args, 0), args::text(args, 1));
    pay_for_search(cx, text, needle)?;
    Ok(text::find(text, needle).is_some().into())
}

fn has_prefix(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (prefix, text) = (args::text(args, 0), args::text(args, 1));
    cost::scan(cx, prefix.len())?;
    Ok(text.starts_with(prefix).into())
}

fn has_suffix(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (suffix, text) = (args::text(args, 0), args::text(args, 1));
    cost::scan(cx, suffix.len())?;
    Ok(text.ends_with(suffix).into())
}

/// Charges for a search. In the worst case it compares the needle at every offset.
fn pay_for_search(
    cx: &mut FunctionContext<'_, '_>,
    text: &[u8],
    needle: &[u8],
) -> Result<(), FunctionError> {
    let rounds = 1 + needle.len() / 64;
    cost::scan(cx, text.len().saturating_mul(rounds))
}

fn replace(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (old, new) = (args::text(args, 0), args::text(args, 1));
    let text = args::text(args, 2);
    pay_for_search(cx, text, old)?;
    let most = text::count(text, old);
    cost::build_many(cx, most, new.len() + size_of::<usize>())?;
    cost::build(cx, text.len())?;
    let mut out = Vec::new();
    let mut from = 0;
    for place in text::occurrences(text, old) {
        out.extend_from_slice(&text[from..place]);
        out.extend_from_slice(new);
        from = place + old.len();
    }
    out.extend_from_slice(&text[from..]);
    Ok(out.into())
}

fn indent(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    let spaces = pay_for_indent(cx, args::int(args, 0), text)?;
    Ok(text::indent(spaces, text).into())
}

fn nindent(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 1);
    let spaces = pay_for_indent(cx, args::int(args, 0), text)?;
    let mut out = vec![b'\n'];
    out.append(&mut text::indent(spaces, text));
    Ok(out.into())
}

fn pay_for_indent(
    cx: &mut FunctionContext<'_, '_>,
    spaces: i64,
    text: &[u8],
) -> Result<usize, FunctionError> {
    let Ok(spaces) = usize::try_from(spaces) else {
        return Err("strings: negative Repeat count".into());
    };
    cost::build(cx, text.len())?;
    cost::build_many(cx, text::lines(text) + 2, spaces)?;
    Ok(spaces)
}

fn wrap(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let how = Wrap {
        width: line_width(args),
        newline: b"\n",
        break_words: false,
    };
    wrapped(cx, args::text(args, 1), how)
}

fn wrap_with(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let newline = match args::text(args, 1) {
        b"" => b"\n",
        given => given,
    };
    let how = Wrap {
        width: line_width(args),
        newline,
        break_words: true,
    };
    wrapped(cx, args::text(args, 2), how)
}

fn line_width(args: &[GoValue]) -> usize {
    usize::try_from(args::int(args, 0)).unwrap_or(1).max(1)
}

fn wrapped(cx: &mut FunctionContext<'_, '_>, text: &[u8], how: Wrap<'_>) -> FnResult {
    // A line that ends early at a space skips that space, so there are at most two breaks per full
    // line.
    let breaks = (text.len() / how.width).saturating_add(1).saturating_mul(2);
    cost::build_many(cx, breaks.min(text.len()), how.newline.len())?;
    cost::build(cx, text.len())?;
    Ok(text::wrap(text, how).into())
}

fn plural(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(args::value(args, usize::from(args::int(args, 2) != 1)))
}

/// Writes all non-nil values with `write`, separated by spaces.
fn listed(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
    write: fn(&mut Vec<u8>, &[u8]),
) -> FnResult {
    let mut out = Vec::new();
    for arg in args.iter().filter(|arg| !matches!(arg, GoValue::Nil)) {
        let text = cost::display(cx, arg)?;
        let text = text.as_bytes();
        // An unprintable byte is written as `\x00`.
        let plain = |byte: &&u8| (b' '..=b'~').contains(*byte);
        let escapes = text.len() - text.iter().filter(plain).count();
        cost::build(cx, text.len() + 3 * escapes)?;
        if !out.is_empty() {
            out.push(b' ');
        }
        write(&mut out, text);
    }
    Ok(out.into())
}

fn quote(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    listed(cx, args, append_quoted)
}

fn squote(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    listed(cx, args, |out, text| {
        out.push(b'\'');
        out.extend_from_slice(text);
        out.push(b'\'');
    })
}

fn cat(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut out = Vec::new();
    let mut first = true;
    for arg in args.iter().filter(|arg| !matches!(arg, GoValue::Nil)) {
        let text = cost::display(cx, arg)?;
        cost::build(cx, text.as_bytes().len() + 1)?;
        if !std::mem::take(&mut first) {
            out.push(b' ');
        }
        out.extend_from_slice(text.as_bytes());
    }
    Ok(out.into())
}

fn to_string(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Str(cost::display(cx, &args::value(args, 0))?))
}

fn to_strings(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let texts = texts(cx, &args::value(args, 0))?;
    cost::strings(cx, texts)
}

/// Converts a value to a list of texts like Sprig: the non-nil elements of a list, or the value
/// itself.
pub(super) fn texts(
    cx: &mut FunctionContext<'_, '_>,
    value: &GoValue,
) -> Result<Vec<GoStr>, FunctionError> {
    let list = match value {
        GoValue::Nil => return Ok(Vec::new()),
        GoValue::List(list) => list,
        single => return Ok(vec![cost::display(cx, single)?]),
    };
    cost::items(cx, list.len())?;
    let mut texts = Vec::with_capacity(list.len());
    for item in list.iter().filter(|item| !matches!(item, GoValue::Nil)) {
        texts.push(cost::display(cx, &item)?);
    }
    Ok(texts)
}

fn join(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let separator = args::text(args, 0);
    let texts = texts(cx, &args::value(args, 1))?;
    let bytes: usize = texts.iter().map(|text| text.as_bytes().len()).sum();
    cost::build_many(cx, texts.len(), separator.len())?;
    cost::build(cx, bytes)?;
    let pieces: Vec<&[u8]> = texts.iter().map(GoStr::as_bytes).collect();
    Ok(pieces.join(separator).into())
}

fn split_list(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let pieces = pieces(cx, args::text(args, 1), args::text(args, 0), usize::MAX)?;
    cost::strings(cx, pieces)
}

fn pieces<'a>(
    cx: &mut FunctionContext<'_, '_>,
    text: &'a [u8],
    separator: &[u8],
    limit: usize,
) -> Result<Vec<&'a [u8]>, FunctionError> {
    pay_for_search(cx, text, separator)?;
    let most = text::count(text, separator).saturating_add(1).min(limit);
    cost::build_many(cx, most, size_of::<&[u8]>() + size_of::<usize>())?;
    Ok(text::split(text, separator, limit))
}

fn split(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let pieces = pieces(cx, args::text(args, 1), args::text(args, 0), usize::MAX)?;
    numbered(cx, pieces)
}

fn splitn(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let limit = usize::try_from(args::int(args, 1)).unwrap_or(usize::MAX);
    let pieces = pieces(cx, args::text(args, 2), args::text(args, 0), limit)?;
    numbered(cx, pieces)
}

/// Returns the parts as a map with the keys `_0`, `_1` and so on.
fn numbered(cx: &mut FunctionContext<'_, '_>, pieces: Vec<&[u8]>) -> FnResult {
    let map = GoMap::typed(GoType::String);
    for (index, piece) in pieces.into_iter().enumerate() {
        cost::build(cx, piece.len())?;
        let value = GoValue::Str(piece.into());
        cost::insert(cx, &map, format!("_{index}").into(), value)?;
    }
    Ok(GoValue::Map(map))
}
