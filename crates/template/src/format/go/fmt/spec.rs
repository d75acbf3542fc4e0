//! Flags, width and precision between the percent sign and the verb.

/// Flags, width and precision of one verb.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    /// Minimum width in characters.
    pub(super) width: Option<usize>,
    /// Digits after the point, significant digits, or the maximum number of characters of a text.
    pub(super) precision: Option<usize>,
    /// `-`: pad on the right.
    pub(super) minus: bool,
    /// `+`: always write a sign; quote text in ASCII only.
    pub(super) plus: bool,
    /// `#`: use the verb's alternative form.
    pub(super) sharp: bool,
    /// Space flag: write a space instead of a plus sign.
    pub(super) space: bool,
    /// `0`: pad with zeros.
    pub(super) zero: bool,
    /// `%#v`. For this verb `sharp` is not set.
    pub(super) go_syntax: bool,
}

impl Spec {
    /// Returns the character for padding on the left.
    pub(super) fn padding(&self) -> u8 {
        if self.zero && !self.minus { b'0' } else { b' ' }
    }

    /// Returns the same flags with space padding only.
    pub(super) fn without_zero(self) -> Self {
        Spec {
            zero: false,
            ..self
        }
    }

    /// Adapts the flags for `%v`. In `%#v` and `%+v` they select the syntax of containers and do
    /// not apply to numbers.
    pub(super) fn for_value(self) -> Self {
        Spec {
            go_syntax: self.sharp,
            sharp: false,
            plus: false,
            ..self
        }
    }

    /// Returns the sign to write before a number, if any.
    pub(super) fn sign(&self, negative: bool) -> Option<u8> {
        match (negative, self.plus, self.space) {
            (true, ..) => Some(b'-'),
            (false, true, _) => Some(b'+'),
            (false, false, true) => Some(b' '),
            (false, false, false) => None,
        }
    }
}
