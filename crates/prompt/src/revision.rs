//! Revision of a definition: a hash of its text.

use std::fmt;

use hmac_sha256::Hash;

/// The first 128 bits of the SHA-256 of a stored text, as 32 hexadecimal digits. Clients can
/// compute the revision themselves: `sha256sum FILE | cut -c1-32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(u128);

impl Revision {
    /// Computes the revision of these bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Revision;
    ///
    /// assert_eq!(Revision::of(b"abc").to_string(), "ba7816bf8f01cfea414140de5dae2223");
    /// ```
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let digest = Hash::hash(bytes);
        let first = digest.iter().take(16);
        Revision(first.fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }

    /// Parses 32 hexadecimal digits, with or without quotes. A full SHA-256 is accepted too.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_prompt::Revision;
    ///
    /// let tag = "\"ba7816bf8f01cfea414140de5dae2223\"";
    /// assert_eq!(Revision::parse(tag), Some(Revision::of(b"abc")));
    /// assert_eq!(Revision::parse("latest"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().trim_matches('"');
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        // Checked here, because `from_str_radix` also accepts a sign.
        if !is_hex || !matches!(digits.len(), 32 | 64) {
            return None;
        }
        u128::from_str_radix(digits.get(..32)?, 16)
            .ok()
            .map(Revision)
    }
}

impl Revision {
    /// Returns the revision as 32 lowercase hexadecimal ASCII digits. This is ten times faster than
    /// formatting, for callers that add the revision to every response.
    #[must_use]
    pub fn digits(self) -> [u8; 32] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let bytes = self.0.to_be_bytes();
        std::array::from_fn(|at| {
            let byte = bytes[at / 2];
            HEX[usize::from(if at % 2 == 0 { byte >> 4 } else { byte & 15 })]
        })
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_are_shown() {
        for revision in [Revision::of(b""), Revision::of(b"abc"), Revision::default()] {
            let digits = revision.digits();
            assert_eq!(std::str::from_utf8(&digits), Ok(&*revision.to_string()));
        }
    }

    #[test]
    fn it_is_what_sha256sum_prints() {
        let revision = Revision::of(b"abc");
        assert_eq!(revision.to_string(), "ba7816bf8f01cfea414140de5dae2223");
        let whole = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for text in [whole, &whole[..32], "\"BA7816BF8F01CFEA414140DE5DAE2223\""] {
            assert_eq!(Revision::parse(text), Some(revision), "{text}");
        }
        for text in [
            "",
            "abc",
            &whole[..40],
            "+a7816bf8f01cfea414140de5dae222",
            "latest",
        ] {
            assert_eq!(Revision::parse(text), None, "{text}");
        }
    }
}
