//! Python's format mini-language: `[[fill]align][sign][z][#][0][width][,_][.precision][type]`.

use crate::{ErrorKind, RenderError, StopReason};

/// A format specifier. Its meaning depends on the type of the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Fill character.
    pub(crate) fill: Option<char>,
    /// `<`, `>`, `^`, or `=` (padding after the sign).
    pub(crate) align: Option<char>,
    /// `+`, `-` or a space.
    pub(crate) sign: Option<char>,
    /// `z`: a number that rounds to zero is written without a sign.
    pub(crate) plain_zero: bool,
    /// `#`: base prefixes and otherwise omitted decimal points.
    pub(crate) alternate: bool,
    /// `0` before the width: padding with zeros.
    pub(crate) zero: bool,
    /// Minimum width in characters.
    pub(crate) width: usize,
    /// Group separator: `,` or `_`.
    pub(crate) group: Option<char>,
    /// Number of digits of a number, or the maximum number of characters of a text.
    pub(crate) precision: Option<usize>,
    /// Presentation type: `d`, `f`, `s`…
    pub(crate) kind: Option<char>,
}

/// A value to format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number or a boolean, with the name of its type.
    Int(i64, &'static str),
    /// A float.
    Float(f64),
}

/// Reason why a value cannot be formatted, with Python's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpecError {
    #[error("Too many decimal digits in format string")]
    TooManyDigits,
    #[error("Format specifier missing precision")]
    NoPrecision,
    #[error("Cannot specify both ',' and '_'.")]
    BothGroups,
    #[error("Cannot specify '{0}' with '{1}'.")]
    GroupWith(char, char),
    #[error("Invalid format specifier '{0}'")]
    Invalid(String),
    #[error("Unknown format code '{0}' for object of type '{1}'")]
    UnknownKind(char, &'static str),
    #[error("{0} not allowed in string format specifier")]
    NotForText(&'static str),
    #[error("{0} not allowed in integer format specifier")]
    NotForInt(&'static str),
    #[error("{0} not allowed with integer format specifier 'c'")]
    NotForCharacter(&'static str),
    #[error("%c arg not in range(0x110000)")]
    NoCharacter,
}

impl From<SpecError> for StopReason {
    fn from(error: SpecError) -> Self {
        RenderError::new(ErrorKind::Execution, error.to_string()).into()
    }
}

const ALIGNMENTS: &str = "<>=^";

/// Upper bound on the characters of a number without its precision: sign, prefix, and the grouped
/// whole part of the largest double.
const NUMBER_BYTES: usize = 450;

impl Spec {
    /// Parses a specifier.
    pub(crate) fn parse(text: &str) -> Result<Self, SpecError> {
        let mut spec = Spec::default();
        let mut rest = spec.take_alignment(text);
        spec.sign = take(&mut rest, "+- ");
        spec.plain_zero = take(&mut rest, "z").is_some();
        spec.alternate = take(&mut rest, "#").is_some();
        // After a fill character, a zero is the first digit of the width.
        spec.zero = spec.fill.is_none() && take(&mut rest, "0").is_some();
        spec.width = digits(&mut rest)?.unwrap_or(0);
        spec.group = take(&mut rest, ",_");
        if spec.group == Some(',') && rest.starts_with('_')
            || spec.group == Some('_') && rest.starts_with(',')
        {
            return Err(SpecError::BothGroups);
        }
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            spec.precision = Some(digits(&mut rest)?.ok_or(SpecError::NoPrecision)?);
        }
        let mut characters = rest.chars();
        spec.kind = characters.next();
        if characters.next().is_some() {
            return Err(SpecError::Invalid(text.to_owned()));
        }
        spec.check_group()?;
        Ok(spec)
    }

    fn take_alignment<'t>(&mut self, text: &'t str) -> &'t str {
        let is_alignment = |c: &char| ALIGNMENTS.contains(*c);
        let mut characters = text.chars();
        let (first, second) = (characters.next(), characters.next().filter(is_alignment));
        if second.is_some() {
            (self.fill, self.align) = (first, second);
            return characters.as_str();
        }
        self.align = first.filter(is_alignment);
        text.get(usize::from(self.align.is_some())..)
            .unwrap_or_default()
    }

    fn check_group(&self) -> Result<(), SpecError> {
        match (self.group, self.kind) {
            (None, _) | (_, None) => Ok(()),
            (_, Some(kind)) if "defgEG%F".contains(kind) => Ok(()),
            (Some('_'), Some(kind)) if "boxX".contains(kind) => Ok(()),
            (Some(group), Some(kind)) => Err(SpecError::GroupWith(group, kind)),
        }
    }

    /// Returns an upper bound on the number of bytes that [`Spec::write`] appends.
    pub(crate) fn bytes(&self, operand: Operand<'_>) -> usize {
        let padding = self.width.saturating_mul(self.filler().len_utf8());
        let content = match operand {
            Operand::Text(text) => text.len(),
            _ => self.precision.unwrap_or(0).saturating_add(NUMBER_BYTES),
        };
        padding.saturating_add(content)
    }

    pub(super) fn check_text(&self) -> Result<(), SpecError> {
        match self.kind {
            None | Some('s') => {}
            Some(kind) => return Err(SpecError::UnknownKind(kind, "str")),
        }
        if let Some(group) = self.group {
            return Err(SpecError::GroupWith(group, 's'));
        }
        let refused = [
            (self.sign.is_some(), "Sign"),
            (self.plain_zero, "Negative zero coercion (z)"),
            (self.alternate, "Alternate form (#)"),
            (self.align == Some('='), "'=' alignment"),
        ];
        match refused.iter().find(|(given, _)| *given) {
            Some((_, what)) => Err(SpecError::NotForText(what)),
            None => Ok(()),
        }
    }

    /// Returns the fill character.
    pub(super) fn filler(&self) -> char {
        self.fill.unwrap_or(if self.zero { '0' } else { ' ' })
    }
}

/// Takes a character of a set from the start of a text. The set must be ASCII.
fn take(rest: &mut &str, set: &str) -> Option<char> {
    let found = rest.chars().next().filter(|c| set.contains(*c))?;
    *rest = &rest[1..];
    Some(found)
}

/// Takes a number from the start of a text. Returns `None` if there is none.
pub(crate) fn digits(rest: &mut &str) -> Result<Option<usize>, SpecError> {
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    match number {
        "" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| SpecError::TooManyDigits),
    }
}
