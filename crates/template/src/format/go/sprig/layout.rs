//! Go's layouts: what `2006-01-02 15:04` stands for.

/// A piece of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// A part of the time, with the layout's own text for errors.
    Field(Field, &'a str),
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `2006`.
    Year,
    /// `06`.
    ShortYear,
    /// `January`, or `Jan` if short.
    MonthName { short: bool },
    /// `1` or `01`.
    Month(Pad),
    /// `Monday`, or `Mon` if short.
    Weekday { short: bool },
    /// `2`, `_2` or `02`.
    Day(Pad),
    /// `__2` or `002`.
    YearDay(Pad),
    /// `15`.
    Hour,
    /// `3` or `03`.
    Hour12(Pad),
    /// `4` or `04`.
    Minute(Pad),
    /// `5` or `05`.
    Second(Pad),
    /// `.000`, or `.999` if trimmed; the count of digits.
    Fraction { digits: usize, trimmed: bool },
    /// `PM`, or `pm` if lower.
    HalfDay { lower: bool },
    /// `MST`.
    ZoneName,
    /// `-07:00` and its variants; `Z07:00` writes `Z` for UTC.
    Offset {
        z: bool,
        colon: bool,
        minutes: bool,
        seconds: bool,
    },
}

/// What a number is filled up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pad {
    None,
    Space,
    Zero,
}

/// Takes a layout apart.
pub(super) fn pieces(layout: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text = 0;
    let mut at = 0;
    while at < layout.len() {
        let Some((field, length)) = field(&layout[at..]) else {
            at += layout[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if text < at {
            pieces.push(Piece::Text(&layout[text..at]));
        }
        pieces.push(Piece::Field(field, &layout[at..at + length]));
        at += length;
        text = at;
    }
    if text < layout.len() {
        pieces.push(Piece::Text(&layout[text..]));
    }
    pieces
}

/// Fields by their text; where one begins with another, the longer comes first.
const FIELDS: &[(&str, Field)] = &[
    ("January", Field::MonthName { short: false }),
    ("Jan", Field::MonthName { short: true }),
    ("Monday", Field::Weekday { short: false }),
    ("Mon", Field::Weekday { short: true }),
    ("MST", Field::ZoneName),
    ("002", Field::YearDay(Pad::Zero)),
    ("01", Field::Month(Pad::Zero)),
    ("02", Field::Day(Pad::Zero)),
    ("03", Field::Hour12(Pad::Zero)),
    ("04", Field::Minute(Pad::Zero)),
    ("05", Field::Second(Pad::Zero)),
    ("06", Field::ShortYear),
    ("15", Field::Hour),
    ("1", Field::Month(Pad::None)),
    ("2006", Field::Year),
    ("2", Field::Day(Pad::None)),
    ("__2", Field::YearDay(Pad::Space)),
    ("_2", Field::Day(Pad::Space)),
    ("3", Field::Hour12(Pad::None)),
    ("4", Field::Minute(Pad::None)),
    ("5", Field::Second(Pad::None)),
    ("PM", Field::HalfDay { lower: false }),
    ("pm", Field::HalfDay { lower: true }),
];

fn field(text: &str) -> Option<(Field, usize)> {
    match text.as_bytes().first()? {
        b'-' | b'Z' => return offset(text),
        b'.' | b',' => return fraction(text),
        // The underscore before a year is one.
        b'_' if text.starts_with("_2006") => return None,
        _ => {}
    }
    let (name, field) = FIELDS.iter().find(|(name, _)| text.starts_with(name))?;
    // `Month` is a word of its own, not `Mon` and `th`.
    let word = matches!(name, &"Jan" | &"Mon");
    if word && text[3..].starts_with(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    Some((*field, name.len()))
}

fn offset(text: &str) -> Option<(Field, usize)> {
    const FORMS: [(&str, bool, bool, bool); 5] = [
        ("070000", false, true, true),
        ("07:00:00", true, true, true),
        ("0700", false, true, false),
        ("07:00", true, true, false),
        ("07", false, false, false),
    ];
    let form = FORMS.iter().find(|form| text[1..].starts_with(form.0))?;
    let field = Field::Offset {
        z: text.starts_with('Z'),
        colon: form.1,
        minutes: form.2,
        seconds: form.3,
    };
    Some((field, 1 + form.0.len()))
}

fn fraction(text: &str) -> Option<(Field, usize)> {
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
    let field = Field::Fraction {
        digits,
        trimmed: digit == b'9',
    };
    Some((field, 1 + digits))
}
