//! Version selectors: `greet.hello@production`, `greet.hello@7`, `greet.hello@sha256:2cf24dba`.

use std::fmt;

use super::{LATEST, label_error};

/// Minimum number of digits of a digest prefix. Fewer digits would often match several versions.
const FEWEST_DIGITS: usize = 8;

/// Selects a version of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VersionSelector {
    /// The version that a label points at; `latest` is the content of the store.
    Label(String),
    /// The version with this number.
    Number(u64),
    /// The newest version whose digest begins with these lower-case hexadecimal digits.
    Digest(String),
}

impl VersionSelector {
    /// Parses a selector, without its `@`.
    ///
    /// # Errors
    /// The problem, in one sentence.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::history::VersionSelector;
    ///
    /// assert_eq!(VersionSelector::parse("7"), Ok(VersionSelector::Number(7)));
    /// let label = VersionSelector::Label("production".into());
    /// assert_eq!(VersionSelector::parse("production"), Ok(label));
    /// assert!(VersionSelector::parse("0").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(digits) = text.strip_prefix("sha256:") {
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !is_hex || !(FEWEST_DIGITS..=64).contains(&digits.len()) {
                return Err(format!(
                    "sha256: must be followed by {FEWEST_DIGITS} to 64 hexadecimal digits"
                ));
            }
            return Ok(VersionSelector::Digest(digits.to_ascii_lowercase()));
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().ok().filter(|number| *number > 0);
            let number = number.ok_or("versions are numbered from 1")?;
            return Ok(VersionSelector::Number(number));
        }
        match label_error(text) {
            Some(why) if text != LATEST => Err(why),
            _ => Ok(VersionSelector::Label(text.to_owned())),
        }
    }

    /// Splits an id at its last `@`; `None` for an id without a selector.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::history::VersionSelector;
    ///
    /// let divided = VersionSelector::split_id("greet.hello@7");
    /// assert_eq!(divided, Some(("greet.hello", Ok(VersionSelector::Number(7)))));
    /// assert_eq!(VersionSelector::split_id("greet.hello"), None);
    /// ```
    #[must_use]
    pub fn split_id(id: &str) -> Option<(&str, Result<Self, String>)> {
        // The last `@` separates the id from the selector, because ids may contain `@`.
        let (id, mark) = id.rsplit_once('@')?;
        Some((id, VersionSelector::parse(mark)))
    }

    /// Returns `latest`, the stored definition.
    #[must_use]
    pub fn latest() -> Self {
        VersionSelector::Label(LATEST.to_owned())
    }

    /// Whether it is `latest`.
    #[must_use]
    pub fn is_latest(&self) -> bool {
        matches!(self, VersionSelector::Label(name) if name == LATEST)
    }
}

impl fmt::Display for VersionSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VersionSelector::Label(name) => f.write_str(name),
            VersionSelector::Number(number) => write!(f, "{number}"),
            VersionSelector::Digest(digits) => write!(f, "sha256:{digits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_and_written() {
        for (text, expected) in [
            ("7", VersionSelector::Number(7)),
            (
                "production",
                VersionSelector::Label("production".to_owned()),
            ),
            ("latest", VersionSelector::Label("latest".to_owned())),
            (
                "v2.1-beta_x",
                VersionSelector::Label("v2.1-beta_x".to_owned()),
            ),
            (
                "sha256:2cf24dba",
                VersionSelector::Digest("2cf24dba".to_owned()),
            ),
        ] {
            let mark = VersionSelector::parse(text).unwrap();
            assert_eq!((&mark, mark.to_string().as_str()), (&expected, text));
        }
        for (text, part) in [
            ("", "1 to 64"),
            ("0", "numbered from 1"),
            ("99999999999999999999999", "numbered from 1"),
            ("a b", "invalid character ' '"),
            ("sha256:2cf", "8 to 64"),
            ("sha256:2cf24dbx", "8 to 64"),
            ("a@b", "invalid character '@'"),
        ] {
            let error = VersionSelector::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn ids_are_divided_at_the_last_sign() {
        let number = VersionSelector::Number(7);
        assert_eq!(
            VersionSelector::split_id("a.b@7"),
            Some(("a.b", Ok(number.clone())))
        );
        assert_eq!(
            VersionSelector::split_id("a@b.c@7"),
            Some(("a@b.c", Ok(number)))
        );
        assert_eq!(VersionSelector::split_id("a.b"), None);
    }
}
