//! Which tools may be called, by patterns of their names.

use std::fmt;

use quillet_core::tool::ToolSpec;

/// Patterns of one list; more are refused.
const MOST_PATTERNS: usize = 1_000;
/// Bytes of one pattern.
const MOST_BYTES: usize = 256;

/// Which tools may be called. A name is allowed if a pattern matches it and no
/// pattern with a leading `!` does, wherever that stands in the list. What no
/// pattern matches is not allowed; so the default allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    allowed: Vec<String>,
    denied: Vec<String>,
}

/// A list of patterns that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPermissions {
    /// A pattern that matches nothing.
    #[error("an empty pattern: write the name of a tool, or `*` for all of them")]
    Empty {
        /// Its index in the list.
        index: usize,
    },
    /// A pattern that no name can match, since names have no blanks and no `!`.
    #[error("no name is like {pattern:?}: a pattern has no blanks, and one `!` at most, before it")]
    NoName {
        /// Its index in the list.
        index: usize,
        /// The pattern.
        pattern: String,
    },
    /// A pattern that is longer than a name can be.
    #[error("a pattern of {bytes} bytes: the limit is {MOST_BYTES}")]
    TooLong {
        /// Its index in the list.
        index: usize,
        /// Its length.
        bytes: usize,
    },
    /// More patterns than anybody writes.
    #[error("{0} patterns: the limit is {MOST_PATTERNS}")]
    TooMany(usize),
    /// What is taken away was never given.
    #[error(
        "only patterns with `!`: they take away from what others allow; add `*` to allow all else"
    )]
    OnlyDenied,
}

impl BadPermissions {
    /// The pattern that is wrong, if it is one.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        match self {
            BadPermissions::Empty { index }
            | BadPermissions::NoName { index, .. }
            | BadPermissions::TooLong { index, .. } => Some(*index),
            BadPermissions::TooMany(_) | BadPermissions::OnlyDenied => None,
        }
    }
}

impl Permissions {
    /// Everything is allowed.
    #[must_use]
    pub fn all() -> Self {
        Permissions {
            allowed: vec!["*".to_owned()],
            denied: Vec::new(),
        }
    }

    /// Reads a list of patterns: `weather`, `w*`, `!search`. A `*` stands for any characters, or
    /// none; case counts.
    ///
    /// # Errors
    /// The first pattern that cannot be meant, or a list that allows nothing although
    /// it denies something.
    pub fn parse<S: AsRef<str>>(patterns: &[S]) -> Result<Self, BadPermissions> {
        if patterns.len() > MOST_PATTERNS {
            return Err(BadPermissions::TooMany(patterns.len()));
        }
        let mut permissions = Permissions::default();
        for (index, pattern) in patterns.iter().enumerate() {
            let pattern = pattern.as_ref().trim();
            let (pattern, list) = match pattern.strip_prefix('!') {
                Some(denied) => (denied.trim(), &mut permissions.denied),
                None => (pattern, &mut permissions.allowed),
            };
            let bytes = pattern.len();
            match bytes {
                0 => return Err(BadPermissions::Empty { index }),
                // It would deny nothing although it was meant to.
                1..=MOST_BYTES if pattern.contains(|c: char| c == '!' || c.is_whitespace()) => {
                    let pattern = pattern.to_owned();
                    return Err(BadPermissions::NoName { index, pattern });
                }
                1..=MOST_BYTES => list.push(pattern.to_owned()),
                _ => return Err(BadPermissions::TooLong { index, bytes }),
            }
        }
        if permissions.allowed.is_empty() && !permissions.denied.is_empty() {
            return Err(BadPermissions::OnlyDenied);
        }
        Ok(permissions)
    }

    /// The patterns that allow.
    pub fn allowed(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().map(String::as_str)
    }

    /// The patterns, as [`Permissions::parse`] reads them.
    #[must_use]
    pub fn patterns(&self) -> Vec<String> {
        let denied = self.denied.iter().map(|pattern| format!("!{pattern}"));
        self.allowed.iter().cloned().chain(denied).collect()
    }

    /// Whether nothing is allowed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// What is to be said of the patterns of `tools` that match none of these names.
    #[must_use]
    pub fn doubts(&self, names: &[&str]) -> Vec<String> {
        let idle = self.idle(names);
        idle.map(|pattern| unmatched(&pattern)).collect()
    }

    /// The same of patterns of `ask`, with the names of the tools that may be called.
    #[must_use]
    pub fn doubts_of_ask(&self, names: &[&str]) -> Vec<String> {
        let idle = self.idle(names);
        idle.map(|pattern| unasked(&pattern)).collect()
    }

    fn idle(&self, names: &[&str]) -> impl Iterator<Item = String> {
        let patterns = self.patterns().into_iter();
        patterns.filter(|pattern| !names.iter().any(|name| pattern_matches(pattern, name)))
    }

    /// Whether a tool may be called: by the name of its function, or what else it is called.
    #[must_use]
    pub fn allows_tool(&self, tool: &ToolSpec) -> bool {
        self.allows_one_of(&tool.names().collect::<Vec<_>>())
    }

    /// Whether a tool of this name may be called.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.allows_one_of(&[name])
    }

    /// The same for a tool that has several names: what denies one of them denies it.
    #[must_use]
    pub fn allows_one_of(&self, names: &[&str]) -> bool {
        let any = |patterns: &[String]| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| names.iter().any(|name| matches(pattern, name)))
        };
        !any(&self.denied) && any(&self.allowed)
    }
}

/// As they are written, those that deny last.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.patterns().join(", "))
    }
}

/// Whether a pattern is about a tool of this name, whether it allows or denies it.
pub(crate) fn pattern_matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.trim();
    let plain = pattern.strip_prefix('!').unwrap_or(pattern).trim();
    matches(plain, name)
}

/// What is said of a pattern that matches nothing.
pub(crate) fn unmatched(pattern: &str) -> String {
    format!(
        "tools: {pattern:?} matches no tool, stored prompt or built-in tool that is set up here"
    )
}

/// What is said of a pattern of `ask` that matches nothing.
pub(crate) fn unasked(pattern: &str) -> String {
    format!(
        "ask: {pattern:?} matches no tool that may be called here, so nobody is asked: name a tool as in `tools`"
    )
}

/// The pieces between the stars come in the name, in order; the first begins it and
/// the last ends it. Taking each piece as early as it comes is enough.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        let Some(at) = name.find(piece) else {
            return false;
        };
        name = &name[at + piece.len()..];
    }
    name.ends_with(last)
}
