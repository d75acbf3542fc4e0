//! Pseudo-random values. They are the same in every pass of a render, so a text with `uuidv4` does
//! not change when a tool's result arrives. Different renders have different values.

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::{args, cost};

type FnResult = Result<GoValue, FunctionError>;

const INT: GoType = GoType::Int;

/// Functions for random values. Do not use them for secrets: a few values are enough to compute the
/// others.
pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("uuidv4", &[], uuid).with_effect(),
    GoFunction::new("randInt", &[INT, INT], int).with_effect(),
    GoFunction::new("randAlphaNum", &[INT], alphanumeric).with_effect(),
    GoFunction::new("randAlpha", &[INT], letters).with_effect(),
    GoFunction::new("randNumeric", &[INT], digits).with_effect(),
    GoFunction::new("randAscii", &[INT], ascii).with_effect(),
    GoFunction::new("shuffle", &[GoType::String], shuffle).with_effect(),
];

/// Number of values generated in this pass.
#[derive(Default)]
struct DrawCount(u64);

/// Returns the next number of the SplitMix64 generator.
fn next(cx: &mut FunctionContext<'_, '_>) -> u64 {
    let seed = cx.seed();
    let drawn = cx.state::<DrawCount>();
    drawn.0 += 1;
    let state = seed.wrapping_add(drawn.0.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

fn below(cx: &mut FunctionContext<'_, '_>, bound: u64) -> u64 {
    next(cx) % bound.max(1)
}

fn uuid(cx: &mut FunctionContext<'_, '_>, _: &[GoValue]) -> FnResult {
    let bytes = u128::from(next(cx)) << 64 | u128::from(next(cx));
    // Sets the bits of version 4 and of the RFC 9562 variant.
    let bits = bytes & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62;
    let digits = format!("{bits:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
    Ok(parts.join("-").into())
}

/// Returns a number that is at least the first argument and less than the second.
fn int(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (least, end) = (args::int(args, 0), args::int(args, 1));
    if least >= end {
        return Err("invalid argument to Intn".into());
    }
    let offset = below(cx, end.wrapping_sub(least) as u64);
    Ok(GoValue::Int(least.wrapping_add(offset as i64)))
}

/// Returns a text with the requested number of characters of an alphabet.
fn text(cx: &mut FunctionContext<'_, '_>, args: &[GoValue], alphabet: &[u8]) -> FnResult {
    let count = usize::try_from(args::int(args, 0)).unwrap_or(0);
    cx.steps(count)?;
    cost::build(cx, count)?;
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let at = below(cx, alphabet.len() as u64);
        out.extend(alphabet.get(at as usize));
    }
    Ok(out.into())
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";

fn alphanumeric(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    text(cx, args, &[LETTERS, DIGITS].concat())
}

fn letters(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    text(cx, args, LETTERS)
}

fn digits(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    text(cx, args, DIGITS)
}

fn ascii(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let printable: Vec<u8> = (b' '..=b'~').collect();
    text(cx, args, &printable)
}

fn shuffle(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::chars(args, 0);
    cx.steps(text.len())?;
    cost::build_many(cx, text.len(), size_of::<char>())?;
    let mut chars: Vec<char> = text.chars().collect();
    for last in (1..chars.len()).rev() {
        let other = below(cx, last as u64 + 1) as usize;
        chars.swap(last, other);
    }
    Ok(chars.into_iter().collect::<String>().into())
}
