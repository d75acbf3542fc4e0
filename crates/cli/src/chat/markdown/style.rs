//! Style of a text, as an escape sequence.

use std::fmt::Write as _;

/// The style of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextStyle {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) struck: bool,
    /// Colour number in an escape sequence; `None` for the default colour.
    pub(super) colour: Option<u8>,
}

const MAGENTA: u8 = 35;
const CYAN: u8 = 36;

impl TextStyle {
    pub(super) const PLAIN: TextStyle = TextStyle {
        bold: false,
        dim: false,
        italic: false,
        underlined: false,
        struck: false,
        colour: None,
    };
    pub(super) const DIM: TextStyle = TextStyle {
        dim: true,
        ..TextStyle::PLAIN
    };
    pub(super) const BOLD: TextStyle = TextStyle {
        bold: true,
        ..TextStyle::PLAIN
    };
    pub(super) const HEADING: TextStyle = TextStyle {
        bold: true,
        colour: Some(MAGENTA),
        ..TextStyle::PLAIN
    };
    pub(super) const CODE: TextStyle = TextStyle {
        colour: Some(CYAN),
        ..TextStyle::PLAIN
    };

    /// Returns the escape sequence that sets the style after a reset; empty for plain text.
    pub(super) fn sequence(self) -> String {
        let flags = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underlined, 4),
            (self.struck, 9),
        ];
        let flags = flags
            .into_iter()
            .filter_map(|(is_on, code)| is_on.then_some(code));
        let mut sequence = String::new();
        for code in flags.chain(self.colour) {
            let sign = if sequence.is_empty() { "\u{1b}[" } else { ";" };
            let _ = write!(sequence, "{sign}{code}");
        }
        if !sequence.is_empty() {
            sequence.push('m');
        }
        sequence
    }
}
