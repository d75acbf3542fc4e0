//! Go's time layouts, such as `2006-01-02 15:04`.

/// A segment of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutPart<'a> {
    /// Literal text.
    Text(&'a str),
    /// A field, and its text in the layout for error messages.
    Field(TimeField, &'a str),
}

/// A field of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeField {
    /// `2006`.
    Year,
    /// `06`.
    ShortYear,
    /// `January`, or `Jan` if `short`.
    MonthName { short: bool },
    /// `1` or `01`.
    Month(NumberPadding),
    /// `Monday`, or `Mon` if `short`.
    Weekday { short: bool },
    /// `2`, `_2` or `02`.
    Day(NumberPadding),
    /// `__2` or `002`.
    YearDay(NumberPadding),
    /// `15`.
    Hour,
    /// `3` or `03`.
    Hour12(NumberPadding),
    /// `4` or `04`.
    Minute(NumberPadding),
    /// `5` or `05`.
    Second(NumberPadding),
    /// `.000`, or `.999` if `trimmed`.
    Fraction { digits: usize, trimmed: bool },
    /// `PM`, or `pm` if `lower`.
    HalfDay { lower: bool },
    /// `MST`.
    ZoneName,
    /// `-07:00` or a variant. With `Z07:00`, UTC is written as `Z`.
    Offset {
        z: bool,
        colon: bool,
        minutes: bool,
        seconds: bool,
    },
}

/// Padding of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberPadding {
    None,
    Space,
    Zero,
}

/// Splits a layout into segments.
pub(super) fn pieces(layout: &str) -> Vec<LayoutPart<'_>> {
    let mut pieces = Vec::new();
    let mut text = 0;
    let mut at = 0;
    while at < layout.len() {
        let Some((field, length)) = field(&layout[at..]) else {
            at += layout[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if text < at {
            pieces.push(LayoutPart::Text(&layout[text..at]));
        }
        pieces.push(LayoutPart::Field(field, &layout[at..at + length]));
        at += length;
        text = at;
    }
    if text < layout.len() {
        pieces.push(LayoutPart::Text(&layout[text..]));
    }
    pieces
}

/// Fields by their text. A longer text precedes its prefixes.
const FIELDS: &[(&str, TimeField)] = &[
    ("January", TimeField::MonthName { short: false }),
    ("Jan", TimeField::MonthName { short: true }),
    ("Monday", TimeField::Weekday { short: false }),
    ("Mon", TimeField::Weekday { short: true }),
    ("MST", TimeField::ZoneName),
    ("002", TimeField::YearDay(NumberPadding::Zero)),
    ("01", TimeField::Month(NumberPadding::Zero)),
    ("02", TimeField::Day(NumberPadding::Zero)),
    ("03", TimeField::Hour12(NumberPadding::Zero)),
    ("04", TimeField::Minute(NumberPadding::Zero)),
    ("05", TimeField::Second(NumberPadding::Zero)),
    ("06", TimeField::ShortYear),
    ("15", TimeField::Hour),
    ("1", TimeField::Month(NumberPadding::None)),
    ("2006", TimeField::Year),
    ("2", TimeField::Day(NumberPadding::None)),
    ("__2", TimeField::YearDay(NumberPadding::Space)),
    ("_2", TimeField::Day(NumberPadding::Space)),
    ("3", TimeField::Hour12(NumberPadding::None)),
    ("4", TimeField::Minute(NumberPadding::None)),
    ("5", TimeField::Second(NumberPadding::None)),
    ("PM", TimeField::HalfDay { lower: false }),
    ("pm", TimeField::HalfDay { lower: true }),
];

fn field(text: &str) -> Option<(TimeField, usize)> {
    match text.as_bytes().first()? {
        b'-' | b'Z' => return offset(text),
        b'.' | b',' => return fraction(text),
        // An underscore before a year is literal.
        b'_' if text.starts_with("_2006") => return None,
        _ => {}
    }
    let (name, field) = FIELDS.iter().find(|(name, _)| text.starts_with(name))?;
    // `Month` is a word and does not contain the field `Mon`.
    let word = matches!(name, &"Jan" | &"Mon");
    if word && text[3..].starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    Some((*field, name.len()))
}

fn offset(text: &str) -> Option<(TimeField, usize)> {
    const FORMS: [(&str, bool, bool, bool); 5] = [
        ("070000", false, true, true),
        ("07:00:00", true, true, true),
        ("0700", false, true, false),
        ("07:00", true, true, false),
        ("07", false, false, false),
    ];
    let form = FORMS.iter().find(|form| text[1..].starts_with(form.0))?;
    let field = TimeField::Offset {
        z: text.starts_with('Z'),
        colon: form.1,
        minutes: form.2,
        seconds: form.3,
    };
    Some((field, 1 + form.0.len()))
}

fn fraction(text: &str) -> Option<(TimeField, usize)> {
    let digit = *text.as_bytes().get(1)?;
    if !matches!(digit, b'0' | b'9') {
        return None;
    }
    let digits = text
        .bytes()
        .skip(1)
        .take_while(|byte| *byte == digit)
        .count();
    let next = text.as_bytes().get(1 + digits);
    if next.is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let field = TimeField::Fraction {
        digits,
        trimmed: digit == b'9',
    };
    Some((field, 1 + digits))
}
