//! Functions for regular expressions.
//!
//! Each process caches a few dozen compiled patterns. A pattern in a loop or in a frequently
//! rendered template is therefore compiled only once. Matching takes linear time in the text, but
//! is slower for large patterns, so a match is charged by both sizes.

use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;
use regex::bytes::{Match, Regex, RegexBuilder};

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::{args, cost, pattern};

type FnResult = Result<GoValue, FunctionError>;

const INT: GoType = GoType::Int;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("regexMatch", &[STRING, STRING], matches),
    GoFunction::new("mustRegexMatch", &[STRING, STRING], must_match),
    GoFunction::new("regexFind", &[STRING, STRING], find),
    GoFunction::new("mustRegexFind", &[STRING, STRING], must_find),
    GoFunction::new("regexFindAll", &[STRING, STRING, INT], find_all),
    GoFunction::new("mustRegexFindAll", &[STRING, STRING, INT], must_find_all),
    GoFunction::new("regexReplaceAll", &[STRING, STRING, STRING], replace),
    GoFunction::new(
        "mustRegexReplaceAll",
        &[STRING, STRING, STRING],
        must_replace,
    ),
    GoFunction::new(
        "regexReplaceAllLiteral",
        &[STRING, STRING, STRING],
        replace_literal,
    ),
    GoFunction::new(
        "mustRegexReplaceAllLiteral",
        &[STRING, STRING, STRING],
        must_replace_literal,
    ),
    GoFunction::new("regexSplit", &[STRING, STRING, INT], split),
    GoFunction::new("mustRegexSplit", &[STRING, STRING, INT], must_split),
    GoFunction::new("regexQuoteMeta", &[STRING], quote_meta),
];

/// Size limits for a compiled pattern, in bytes. The smallest limit that fits determines the cost
/// of a match. Larger patterns are rejected.
const SIZES: [usize; 4] = [1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// Number of bytes of text per step, for the smallest patterns.
const BYTES_PER_STEP: usize = 4;

/// Maximum length of a pattern in bytes.
const MAX_PATTERN: usize = 4096;

#[derive(Debug)]
struct CompiledRegex {
    regex: Regex,
    /// Number of steps per [`BYTES_PER_STEP`] bytes of text.
    rate: usize,
}

type CachedRegex = Result<Arc<CompiledRegex>, Arc<str>>;

static COMPILED: LazyLock<Cache<String, CachedRegex>> = LazyLock::new(|| Cache::new(64));

fn compiled(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
) -> Result<Arc<CompiledRegex>, FunctionError> {
    let pattern = args::chars(args, 0);
    if pattern.len() > MAX_PATTERN {
        return Err(format!("error parsing regexp: longer than {MAX_PATTERN} bytes").into());
    }
    let kept = match COMPILED.get(&*pattern) {
        Some(kept) => kept,
        None => {
            // Compilation costs about one step per byte.
            cx.steps(pattern.len())?;
            let kept = compile(&pattern).map(Arc::new).map_err(Arc::from);
            COMPILED.insert(pattern.into_owned(), kept.clone());
            kept
        }
    };
    kept.map_err(|error| error.to_string().into())
}

fn compile(pattern: &str) -> Result<CompiledRegex, String> {
    let translated = pattern::translate(pattern)?;
    for size in SIZES {
        let built = RegexBuilder::new(&translated)
            .size_limit(size)
            .dfa_size_limit(SIZES[3])
            .nest_limit(200)
            .build();
        match built {
            Ok(regex) => {
                let rate = size / SIZES[0];
                return Ok(CompiledRegex { regex, rate });
            }
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => return Err(in_one_line(&error)),
        }
    }
    Err("error parsing regexp: expression too large".to_owned())
}

/// Formats a pattern error in one line. The crate's message shows the location on several lines,
/// and its last line has the reason.
fn in_one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    format!("error parsing regexp: {reason}")
}

/// Returns the compiled pattern and the text, and charges for the match.
fn prepared<'a>(
    cx: &mut FunctionContext<'_, '_>,
    args: &'a [GoValue],
) -> Result<(Arc<CompiledRegex>, &'a [u8]), FunctionError> {
    let compiled = compiled(cx, args)?;
    let text = args::text(args, 1);
    let steps = text.len().saturating_mul(compiled.rate) / BYTES_PER_STEP;
    cx.steps(steps)?;
    Ok((compiled, text))
}

/// Adds Go's panic message to the error for an invalid pattern. Functions without `must` panic in
/// Go.
fn panics(outcome: FnResult, args: &[GoValue]) -> FnResult {
    outcome.map_err(|error| match error {
        FunctionError::Message(reason) => {
            let pattern = args::chars(args, 0);
            let quote = if pattern.contains('`') { '"' } else { '`' };
            format!("regexp: Compile({quote}{pattern}{quote}): {reason}").into()
        }
        stop => stop,
    })
}

/// Whether Go would report this match. Go does not report empty matches inside a character.
fn is_whole(text: &[u8], found: &Match<'_>) -> bool {
    let inside = |byte: &u8| (0x80..0xC0).contains(byte);
    !found.is_empty() || !text.get(found.start()).is_some_and(inside)
}

fn all<'r, 't>(regex: &'r Regex, text: &'t [u8]) -> impl Iterator<Item = Match<'t>> + use<'r, 't> {
    regex.find_iter(text).filter(|found| is_whole(text, found))
}

fn matches(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    super::json::or_else(must_match(cx, args), false.into())
}

fn must_match(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    Ok(compiled.regex.is_match(text).into())
}

fn find(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    panics(must_find(cx, args), args)
}

fn must_find(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    let found = compiled
        .regex
        .find(text)
        .map_or(&b""[..], |found| found.as_bytes());
    cost::build(cx, found.len())?;
    Ok(GoValue::Str(found.into()))
}

fn find_all(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    panics(must_find_all(cx, args), args)
}

fn must_find_all(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    let most = usize::try_from(args::int(args, 2)).unwrap_or(usize::MAX);
    let mut found: Vec<&[u8]> = Vec::new();
    for one in all(&compiled.regex, text).take(most) {
        cx.charge(size_of::<&[u8]>())?;
        found.push(one.as_bytes());
    }
    cost::strings(cx, found)
}

fn replace(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    panics(must_replace(cx, args), args)
}

fn must_replace(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    let with = args::text(args, 2);
    // Matching with groups takes longer than matching without them.
    cx.steps(text.len() * compiled.rate / BYTES_PER_STEP)?;
    cost::build(cx, text.len())?;
    let mut out = Vec::new();
    let mut from = 0;
    // Each reference such as `$1` inserts at most the entire match.
    let dollars = with.iter().filter(|byte| **byte == b'$').count();
    for groups in compiled.regex.captures_iter(text) {
        let Some(whole) = groups.get(0).filter(|whole| is_whole(text, whole)) else {
            continue;
        };
        cost::build(cx, with.len())?;
        cost::build_many(cx, dollars, whole.len())?;
        out.extend_from_slice(&text[from..whole.start()]);
        groups.expand(with, &mut out);
        from = whole.end();
    }
    out.extend_from_slice(&text[from..]);
    Ok(out.into())
}

fn replace_literal(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    panics(must_replace_literal(cx, args), args)
}

fn must_replace_literal(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    let with = args::text(args, 2);
    cost::build(cx, text.len())?;
    let mut out = Vec::new();
    let mut from = 0;
    for one in all(&compiled.regex, text) {
        cost::build(cx, with.len())?;
        out.extend_from_slice(&text[from..one.start()]);
        out.extend_from_slice(with);
        from = one.end();
    }
    out.extend_from_slice(&text[from..]);
    Ok(out.into())
}

fn split(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    panics(must_split(cx, args), args)
}

/// Go's `Split`. An empty match at the start of the text does not create an empty part.
fn must_split(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (compiled, text) = prepared(cx, args)?;
    let most = usize::try_from(args::int(args, 2)).unwrap_or(usize::MAX);
    // There are at most as many parts as bytes.
    cost::build_many(cx, most.min(text.len() + 1), size_of::<&[u8]>())?;
    let pattern = args::chars(args, 0);
    cost::strings(cx, pieces(&compiled.regex, &pattern, text, most))
}

fn pieces<'a>(regex: &Regex, pattern: &str, text: &'a [u8], most: usize) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    if most == 0 {
        return pieces;
    }
    if text.is_empty() && !pattern.is_empty() {
        return vec![text];
    }
    let (mut from, mut end) = (0, 0);
    for one in all(regex, text) {
        if pieces.len() + 1 == most {
            break;
        }
        end = one.start();
        if one.end() != 0 {
            pieces.push(&text[from..end]);
        }
        from = one.end();
    }
    if end != text.len() {
        pieces.push(&text[from..]);
    }
    pieces
}

fn quote_meta(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::text(args, 0);
    cost::build_many(cx, text.len(), 2)?;
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if br"\.+*?()|[]{}^$".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    Ok(out.into())
}
