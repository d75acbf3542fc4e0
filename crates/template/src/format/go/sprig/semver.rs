//! Semantic versions and version constraints by the rules of the Go library `Masterminds/semver`:
//! `^1.2`, `~1.2.x`, `>=1 <3 || 5`.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use super::super::{FunctionContext, FunctionError, GoFunction, GoObject, GoType, GoValue};
use super::{args, cost};

type FnResult = Result<GoValue, FunctionError>;

const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("semver", &[STRING], semver),
    GoFunction::new("semverCompare", &[STRING, STRING], compare),
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct SemVersion {
    numbers: [u64; 3],
    prerelease: String,
    metadata: String,
    original: String,
}

impl SemVersion {
    /// Parses `v1.2.3-beta.1+build`. The second and third number are optional.
    fn parse(text: &str) -> Option<SemVersion> {
        let body = text.strip_prefix('v').unwrap_or(text);
        let (body, metadata) = body.split_once('+').unwrap_or((body, ""));
        let (core, prerelease) = body.split_once('-').unwrap_or((body, ""));
        let whole = |part: &str| body.len() == core.len() || !part.is_empty();
        if !whole(prerelease) || (text.contains('+') && metadata.is_empty()) {
            return None;
        }
        if !identifiers(prerelease) || !identifiers(metadata) {
            return None;
        }
        let mut numbers = [0; 3];
        for (at, digits) in core.split('.').enumerate() {
            if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            *numbers.get_mut(at)? = digits.parse().ok()?;
        }
        Some(SemVersion {
            numbers,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
            original: text.to_owned(),
        })
    }

    /// Compares by semantic version precedence, which ignores metadata.
    fn order(&self, other: &SemVersion) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => prerelease_order(&self.prerelease, &other.prerelease),
            }
        })
    }
}

/// Whether a text consists of identifiers separated by dots, each of letters, digits and dashes.
fn identifiers(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    text.is_empty() || text.split('.').all(part)
}

fn prerelease_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

impl std::fmt::Display for SemVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl GoObject for SemVersion {
    fn go_type(&self) -> GoType {
        GoType::Named("*semver.Version")
    }
    fn text(&self) -> String {
        self.to_string()
    }
    fn member(&self, name: &str, args: &[GoValue]) -> Option<FnResult> {
        Some(Ok(match name {
            "Major" => GoValue::Uint64(self.numbers[0]),
            "Minor" => GoValue::Uint64(self.numbers[1]),
            "Patch" => GoValue::Uint64(self.numbers[2]),
            "Prerelease" => self.prerelease.as_str().into(),
            "Metadata" => self.metadata.as_str().into(),
            "Original" => self.original.as_str().into(),
            "String" => self.to_string().into(),
            "Compare" => GoValue::Int(self.order(other(args)?) as i64),
            "LessThan" => (self.order(other(args)?) == Ordering::Less).into(),
            "GreaterThan" => (self.order(other(args)?) == Ordering::Greater).into(),
            "Equal" => (self.order(other(args)?) == Ordering::Equal).into(),
            _ => return None,
        }))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn other(args: &[GoValue]) -> Option<&SemVersion> {
    match args.first()? {
        GoValue::Object(object) => object.as_any().downcast_ref(),
        _ => None,
    }
}

fn semver(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(GoValue::Object(Rc::new(version(cx, args, 0)?)))
}

fn version(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
    at: usize,
) -> Result<SemVersion, FunctionError> {
    let text = args::chars(args, at);
    cost::build_many(cx, text.len(), 3)?;
    SemVersion::parse(&text).ok_or_else(|| "Invalid Semantic Version".into())
}

/// Implements `semverCompare CONSTRAINT VERSION`.
fn compare(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::chars(args, 0);
    cost::build_many(cx, text.len(), 64)?;
    let constraints = constraints(&text)?;
    let version = version(cx, args, 1)?;
    let met = |all: &Vec<Constraint>| all.iter().all(|constraint| constraint.check(&version));
    Ok(constraints.iter().any(met).into())
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    operator: RangeOperator,
    version: SemVersion,
    /// Number of version numbers in the constraint: one for `1.x` and `1`, none for `*`.
    given: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeOperator {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Tilde,
    Caret,
}

/// Operators. A longer operator precedes its prefixes.
const OPERATORS: [(&str, RangeOperator); 11] = [
    ("!=", RangeOperator::NotEqual),
    (">=", RangeOperator::GreaterEqual),
    ("=>", RangeOperator::GreaterEqual),
    ("<=", RangeOperator::LessEqual),
    ("=<", RangeOperator::LessEqual),
    ("~>", RangeOperator::Tilde),
    (">", RangeOperator::Greater),
    ("<", RangeOperator::Less),
    ("=", RangeOperator::Equal),
    ("~", RangeOperator::Tilde),
    ("^", RangeOperator::Caret),
];

/// Parses alternatives. All constraints of an alternative must hold.
fn constraints(text: &str) -> Result<Vec<Vec<Constraint>>, String> {
    text.split("||").map(together).collect()
}

/// Parses constraints separated by spaces and commas. `1.2 - 3` is a range.
fn together(text: &str) -> Result<Vec<Constraint>, String> {
    let improper = || format!("improper constraint: {text}");
    let mut words = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let (operator, rest) = operator(word);
        // A space is allowed between an operator and its version.
        let version = match rest {
            "" => words.next().ok_or_else(improper)?,
            rest => rest,
        };
        let mut constraint = Constraint::parse(operator, version).ok_or_else(improper)?;
        if words.next_if_eq(&"-").is_some() {
            constraint.operator = RangeOperator::GreaterEqual;
            let end = words.next().ok_or_else(improper)?;
            all.push(Constraint::parse(RangeOperator::LessEqual, end).ok_or_else(improper)?);
        }
        all.push(constraint);
    }
    if all.is_empty() {
        return Err(improper());
    }
    Ok(all)
}

fn operator(word: &str) -> (RangeOperator, &str) {
    let found = OPERATORS.iter().find_map(|(text, operator)| {
        let rest = word.strip_prefix(text)?;
        Some((*operator, rest))
    });
    found.unwrap_or((RangeOperator::Equal, word))
}

impl Constraint {
    fn parse(operator: RangeOperator, text: &str) -> Option<Constraint> {
        let body = text.strip_prefix('v').unwrap_or(text);
        let end = body.find(['-', '+']).unwrap_or(body.len());
        let (core, tail) = body.split_at(end);
        let parts: Vec<&str> = core.split('.').collect();
        let wild = |part: &&str| matches!(*part, "x" | "X" | "*");
        let given = parts.iter().position(wild).unwrap_or(parts.len());
        if parts.len() > 3 || parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let numbers = match given {
            0 => "0".to_owned(),
            given => parts[..given].join("."),
        };
        Some(Constraint {
            operator,
            version: SemVersion::parse(&format!("{numbers}{tail}"))?,
            given,
        })
    }

    fn check(&self, version: &SemVersion) -> bool {
        // A constraint without a pre-release only matches releases.
        let early = !version.prerelease.is_empty() && self.version.prerelease.is_empty();
        if early && (self.operator != RangeOperator::NotEqual || self.given < 3) {
            return false;
        }
        let order = version.order(&self.version);
        match self.operator {
            RangeOperator::Equal if self.given < 3 => self.tilde(version),
            RangeOperator::Equal => order == Ordering::Equal,
            RangeOperator::NotEqual if self.given < 3 => !self.same(version, self.given),
            RangeOperator::NotEqual => order != Ordering::Equal,
            RangeOperator::Greater if self.given < 3 => {
                version.numbers[..self.given] > self.version.numbers[..self.given]
            }
            RangeOperator::Greater => order == Ordering::Greater,
            RangeOperator::GreaterEqual => order != Ordering::Less,
            RangeOperator::Less => order == Ordering::Less,
            RangeOperator::LessEqual if self.given < 3 => {
                version.numbers[..self.given] <= self.version.numbers[..self.given]
            }
            RangeOperator::LessEqual => order != Ordering::Greater,
            RangeOperator::Tilde => self.tilde(version),
            RangeOperator::Caret => self.caret(version),
        }
    }

    /// Whether the first `count` numbers equal those of the constraint.
    fn same(&self, version: &SemVersion, count: usize) -> bool {
        version.numbers[..count] == self.version.numbers[..count]
    }

    /// Whether a version matches `~`: `~1.2.3` matches 1.2.x from 1.2.3 on, and `~1` matches 1.x.
    fn tilde(&self, version: &SemVersion) -> bool {
        if version.order(&self.version) == Ordering::Less {
            return false;
        }
        let anything = self.given == 0 || (self.given == 3 && self.version.numbers == [0; 3]);
        anything || self.same(version, self.given.min(2))
    }

    /// Whether a version matches `^`: `^1.2.3` matches later versions with the same first nonzero
    /// number.
    fn caret(&self, version: &SemVersion) -> bool {
        if version.order(&self.version) == Ordering::Less {
            return false;
        }
        let leading = self.version.numbers.iter().position(|number| *number > 0);
        let fixed = leading.map_or(3, |at| at + 1);
        self.same(version, fixed.min(self.given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_hold_as_in_the_go_library() {
        let cases = [
            ("^1.2.0", "1.3.0", true),
            ("^1.2.0", "2.0.0", false),
            ("^0.2.3", "0.2.9", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("^0.0", "0.0.9", true),
            ("^0", "0.9.0", true),
            ("~1.2", "1.2.9", true),
            ("~1.2.3", "1.3.0", false),
            ("~1", "1.9.0", true),
            ("1.2.x", "1.2.7", true),
            ("1.x", "2.0.0", false),
            ("*", "9.9.9", true),
            (">=1.2 <2.0.0", "1.5.0", true),
            (">= 1.2, < 2", "2.0.0", false),
            (">1", "1.5.0", false),
            (">1", "2.0.0", true),
            ("<=1.2", "1.2.9", true),
            ("!=1.2.3", "1.2.3", false),
            ("!=1.2", "1.3.0", true),
            ("1.2 - 1.4.5", "1.4.5", true),
            ("1.2 - 1.4.5", "1.4.6", false),
            ("<1 || >3", "4.0.0", true),
            ("^1.2.0", "1.3.0-beta", false),
            (">=1.0.0-alpha", "1.0.0-beta", true),
            ("v1.2.3", "1.2.3", true),
        ];
        for (constraint, version, wanted) in cases {
            let all = constraints(constraint).unwrap();
            let version = SemVersion::parse(version).unwrap();
            let met = all
                .iter()
                .any(|all| all.iter().all(|one| one.check(&version)));
            assert_eq!(met, wanted, "{constraint} {version}");
        }
        assert_eq!(constraints("a b").unwrap_err(), "improper constraint: a b");
    }

    #[test]
    fn versions_are_ordered_by_their_numbers_first() {
        let sorted = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta",
            "1.0.0",
            "1.2",
            "1.10",
        ];
        for pair in sorted.windows(2) {
            let [a, b] = [0, 1].map(|at| SemVersion::parse(pair[at]).unwrap());
            assert_eq!(a.order(&b), Ordering::Less, "{a} {b}");
        }
        for wrong in ["", "a", "1.2.3.4", "1.2-", "1.2+", "1..2", "1.2.3-a..b"] {
            assert_eq!(SemVersion::parse(wrong), None, "{wrong}");
        }
    }
}
