//! What stands between the percent sign and the verb.

/// Flags, width and precision of one verb.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spec {
    /// Least width in characters.
    pub(super) width: Option<usize>,
    /// Digits after the point, significant digits, or most characters of a text.
    pub(super) precision: Option<usize>,
    /// `-`: pad on the right.
    pub(super) minus: bool,
    /// `+`: always a sign; quoted text in ASCII only.
    pub(super) plus: bool,
    /// `#`: the verb's other form.
    pub(super) sharp: bool,
    /// A space where a plus sign would be.
    pub(super) space: bool,
    /// `0`: pad with zeros.
    pub(super) zero: bool,
    /// `%#v`, for which `sharp` itself is not set.
    pub(super) go_syntax: bool,
}

impl Spec {
    /// What padding on the left consists of.
    pub(super) fn padding(&self) -> u8 {
        if self.zero && !self.minus { b'0' } else { b' ' }
    }

    /// The same, padded with spaces only.
    pub(super) fn without_zero(self) -> Self {
        Spec {
            zero: false,
            ..self
        }
    }

    /// What `%v` makes of its flags: in `%#v` and `%+v` they are about the
    /// syntax of containers, not about numbers.
    pub(super) fn for_value(self) -> Self {
        Spec {
            go_syntax: self.sharp,
            sharp: false,
            plus: false,
            ..self
        }
    }

    /// The sign to write before a number.
    pub(super) fn sign(&self, negative: bool) -> Option<u8> {
        match (negative, self.plus, self.space) {
            (true, ..) => Some(b'-'),
            (false, true, _) => Some(b'+'),
            (false, false, true) => Some(b' '),
            (false, false, false) => None,
        }
    }
}
