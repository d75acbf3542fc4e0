//! JavaScript regular expressions with limits on time and memory.
//!
//! The syntax is that of ECMAScript, which [`super::translate`] converts for `fancy-regex`. Authors
//! write the patterns, but the searched texts come from models and users, so a search that takes
//! too long is an error.

use std::ops::Range;
use std::sync::Arc;

use fancy_regex::RegexBuilder;

use super::translate::{self, TranslatedRegex};

/// Maximum length of a pattern in bytes.
pub const MAX_PATTERN: usize = 8 << 10;
/// Maximum number of backtracking steps in a search.
pub const MAX_BACKTRACKS: usize = 200_000;
/// Maximum memory of a compiled pattern in bytes. Counted repetitions such as `(a{1,100}){1,100}`
/// need much memory.
pub const MAX_COMPILED: usize = 1 << 20;

/// A compiled pattern. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Regex {
    compiled: Arc<fancy_regex::Regex>,
    names: Arc<[(String, usize)]>,
    source: Arc<str>,
}

/// Error for an invalid pattern or an aborted search.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegexError {
    /// The pattern is not a JavaScript regular expression, or uses unsupported syntax.
    #[error("invalid regular expression /{pattern}/: {message}")]
    Syntax {
        /// The pattern as written.
        pattern: String,
        /// The problem.
        message: String,
    },
    /// An unknown flag.
    #[error("unknown regular expression flag `{0}`: use d, g, i, m, s, u, v or y")]
    Flag(char),
    /// The pattern is too long, or needs too much memory when compiled.
    #[error(
        "the regular expression is too large: at most {MAX_PATTERN} bytes, or {MAX_COMPILED} \
        bytes when compiled"
    )]
    Size,
    /// The search exceeded its limit.
    #[error(
        "the search for /{pattern}/ exceeded {MAX_BACKTRACKS} backtracking steps: simplify it, or \
        shorten the text"
    )]
    Backtracks {
        /// The pattern as written.
        pattern: String,
    },
}

/// A match and its groups.
#[derive(Clone, Debug)]
pub struct Captures<'t> {
    text: &'t str,
    groups: Vec<Option<Range<usize>>>,
    names: Arc<[(String, usize)]>,
}

impl Regex {
    /// Compiles a pattern, given without slashes, and flags. The flags `i`, `m`, `s` and `y` have
    /// their JavaScript meaning; `d`, `g`, `u` and `v` have no effect.
    ///
    /// # Errors
    /// [`RegexError::Syntax`], [`RegexError::Flag`], [`RegexError::Size`].
    ///
    /// # Examples
    /// ```
    /// use quillet_script::pattern::{Regex, RegexError};
    ///
    /// let word = Regex::compile("hello", "i")?;
    /// assert!(word.is_match("Hello there")?);
    /// assert_eq!(Regex::compile("a", "x").unwrap_err(), RegexError::Flag('x'));
    /// # Ok::<(), RegexError>(())
    /// ```
    pub fn compile(pattern: &str, flags: &str) -> Result<Regex, RegexError> {
        if let Some(flag) = flags.chars().find(|flag| !"dgimsuvy".contains(*flag)) {
            return Err(RegexError::Flag(flag));
        }
        if pattern.len() > MAX_PATTERN {
            return Err(RegexError::Size);
        }
        let TranslatedRegex { text, names } =
            translate::translate(pattern, flags).map_err(|message| RegexError::Syntax {
                pattern: pattern.to_owned(),
                message: message.to_owned(),
            })?;
        let compiled = RegexBuilder::new(&text)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .backtrack_limit(MAX_BACKTRACKS)
            .delegate_size_limit(MAX_COMPILED)
            .delegate_dfa_size_limit(MAX_COMPILED)
            .build()
            .map_err(|error| refused(pattern, &error))?;
        Ok(Regex {
            compiled: Arc::new(compiled),
            names: names.into(),
            source: pattern.into(),
        })
    }

    /// Returns whether the pattern matches anywhere in `text`.
    ///
    /// # Errors
    /// [`RegexError::Backtracks`].
    pub fn is_match(&self, text: &str) -> Result<bool, RegexError> {
        self.compiled.is_match(text).map_err(|_| self.endless())
    }

    /// Returns the range of the first match.
    ///
    /// # Errors
    /// [`RegexError::Backtracks`].
    ///
    /// # Examples
    /// ```
    /// use quillet_script::pattern::Regex;
    ///
    /// let digits = Regex::compile("[0-9]+", "")?;
    /// assert_eq!(digits.find("order 42")?, Some(6..8));
    /// assert_eq!(digits.find("order")?, None);
    /// # Ok::<(), quillet_script::pattern::RegexError>(())
    /// ```
    pub fn find(&self, text: &str) -> Result<Option<Range<usize>>, RegexError> {
        let found = self.compiled.find(text).map_err(|_| self.endless())?;
        Ok(found.map(|found| found.start()..found.end()))
    }

    /// Returns the first match and its groups.
    ///
    /// # Errors
    /// [`RegexError::Backtracks`].
    ///
    /// # Examples
    /// ```
    /// use quillet_script::pattern::Regex;
    ///
    /// let date = Regex::compile("(?<year>[0-9]{4})-([0-9]{2})", "")?;
    /// let captures = date.captures("on 2026-11-22")?.unwrap();
    /// assert_eq!(captures.name("year"), Some("2026"));
    /// assert_eq!(captures.get(2), Some("11"));
    /// # Ok::<(), quillet_script::pattern::RegexError>(())
    /// ```
    pub fn captures<'t>(&self, text: &'t str) -> Result<Option<Captures<'t>>, RegexError> {
        let found = self.compiled.captures(text).map_err(|_| self.endless())?;
        Ok(found.map(|found| Captures {
            text,
            groups: (0..found.len())
                .map(|index| found.get(index).map(|group| group.start()..group.end()))
                .collect(),
            names: Arc::clone(&self.names),
        }))
    }

    /// Returns the number of groups, not counting the whole match.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.compiled.captures_len().saturating_sub(1)
    }

    /// Returns the group names, in the order of the pattern.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the pattern as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    fn endless(&self) -> RegexError {
        RegexError::Backtracks {
            pattern: self.source.to_string(),
        }
    }
}

fn refused(pattern: &str, error: &fancy_regex::Error) -> RegexError {
    if let fancy_regex::Error::CompileError(error) = error
        && let fancy_regex::CompileError::InnerError(error) = &**error
        && error.size_limit().is_some()
    {
        return RegexError::Size;
    }
    RegexError::Syntax {
        pattern: pattern.to_owned(),
        message: error.to_string(),
    }
}

impl<'t> Captures<'t> {
    /// Returns a group by number; 0 is the whole match. Returns `None` if the group did not
    /// participate in the match.
    #[must_use]
    pub fn get(&self, group: usize) -> Option<&'t str> {
        self.text.get(self.range(group)?)
    }

    /// Returns the byte range of a group in the searched text.
    #[must_use]
    pub fn range(&self, group: usize) -> Option<Range<usize>> {
        self.groups.get(group)?.clone()
    }

    /// Returns a group by name.
    #[must_use]
    pub fn name(&self, name: &str) -> Option<&'t str> {
        let (_, group) = self.names.iter().find(|(known, _)| known == name)?;
        self.get(*group)
    }

    /// Returns the named groups that participated in the match.
    pub fn named(&self) -> impl Iterator<Item = (&str, &'t str)> {
        self.names
            .iter()
            .filter_map(|(name, group)| Some((name.as_str(), self.get(*group)?)))
    }

    /// Returns the value that scripts get for the match: the first group, or the whole match if the
    /// pattern has no groups.
    #[must_use]
    pub fn main(&self) -> &'t str {
        let group = usize::from(self.groups.len() > 1);
        self.get(group).unwrap_or("")
    }
}
