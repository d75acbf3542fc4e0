//! Tool permissions: patterns of tool names.

use std::fmt;

use quillet_core::tool::ToolSpec;

/// Maximum number of patterns in one list.
const MOST_PATTERNS: usize = 1_000;
/// Maximum bytes of one pattern.
const MOST_BYTES: usize = 256;

/// Permitted tools. A name is allowed if at least one pattern matches it and no pattern with a
/// leading `!` matches it. The order of the patterns has no effect. All other names are denied, so
/// the default denies everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    allowed: Vec<String>,
    denied: Vec<String>,
}

/// Error of an invalid list of patterns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPermissions {
    /// Empty pattern.
    #[error("empty pattern: write the name of a tool, or `*` for all tools")]
    Empty {
        /// Its index in the list.
        index: usize,
    },
    /// Pattern that cannot match, because names contain neither spaces nor `!`.
    #[error("invalid pattern {pattern:?}: use no spaces, and `!` only as the first character")]
    NoName {
        /// Its index in the list.
        index: usize,
        /// The pattern.
        pattern: String,
    },
    /// Pattern that is too long.
    #[error("pattern too long: {bytes} bytes; the limit is {MOST_BYTES}")]
    TooLong {
        /// Its index in the list.
        index: usize,
        /// Its length.
        bytes: usize,
    },
    /// Too many patterns.
    #[error("too many patterns: {0}; the limit is {MOST_PATTERNS}")]
    TooMany(usize),
    /// Only patterns with `!`.
    #[error(
        "only patterns with `!`: they exclude tools that other patterns allow; add `*` to allow \
         all others"
    )]
    OnlyDenied,
}

impl BadPermissions {
    /// Returns the index of the invalid pattern, if a single pattern caused the error.
    ///
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// let error = Permissions::parse(&["search", "two words"]).unwrap_err();
    /// assert_eq!(error.index(), Some(1));
    /// ```
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
    /// Returns permissions that allow everything.
    ///
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// assert!(Permissions::all().allows("anything"));
    /// assert!(!Permissions::default().allows("anything"));
    /// ```
    #[must_use]
    pub fn all() -> Self {
        Permissions {
            allowed: vec!["*".to_owned()],
            denied: Vec::new(),
        }
    }

    /// Parses a list of patterns: `weather`, `w*`, `!search`. A `*` matches any characters;
    /// matching is case-sensitive.
    ///
    /// # Errors
    /// A pattern is invalid, or all patterns deny.
    ///
    /// # Examples
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// let permissions = Permissions::parse(&["orders_*", "!orders_delete"])?;
    /// assert!(permissions.allows("orders_list"));
    /// assert!(!permissions.allows("orders_delete"));
    /// assert!(!permissions.allows("search"));
    /// # Ok::<(), quillet_agent::BadPermissions>(())
    /// ```
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
                // A pattern with `!` or white space in its name matches no tool, so it is probably
                // a mistake.
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

    /// Returns the patterns without a leading `!`.
    pub fn allowed(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().map(String::as_str)
    }

    /// Returns the patterns in the form that [`Permissions::parse`] reads.
    ///
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// let permissions = Permissions::parse(&["!search", "w*"])?;
    /// assert_eq!(permissions.patterns(), ["w*", "!search"]);
    /// assert_eq!(permissions.to_string(), "w*, !search");
    /// # Ok::<(), quillet_agent::BadPermissions>(())
    /// ```
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

    /// Returns warnings about patterns of `tools` that match none of these names.
    ///
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// let permissions = Permissions::parse(&["search", "wether"])?;
    /// let warnings = permissions.doubts(&["search", "weather"]);
    /// assert_eq!(warnings.len(), 1);
    /// assert!(warnings[0].contains("wether"));
    /// # Ok::<(), quillet_agent::BadPermissions>(())
    /// ```
    #[must_use]
    pub fn doubts(&self, names: &[&str]) -> Vec<String> {
        let idle = self.idle(names);
        idle.map(|pattern| unmatched(&pattern)).collect()
    }

    /// Returns warnings about patterns of `ask`, given the names of the allowed tools.
    #[must_use]
    pub fn doubts_of_ask(&self, names: &[&str]) -> Vec<String> {
        let idle = self.idle(names);
        idle.map(|pattern| unasked(&pattern)).collect()
    }

    fn idle(&self, names: &[&str]) -> impl Iterator<Item = String> {
        let patterns = self.patterns().into_iter();
        patterns.filter(|pattern| !names.iter().any(|name| pattern_matches(pattern, name)))
    }

    /// Whether a tool may be called, by its function name or an alias.
    #[must_use]
    pub fn allows_tool(&self, tool: &ToolSpec) -> bool {
        self.allows_one_of(&tool.names().collect::<Vec<_>>())
    }

    /// Whether the name of a tool is allowed.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.allows_one_of(&[name])
    }

    /// Whether a tool with several names may be called. A pattern that denies any of the names
    /// denies the tool.
    ///
    /// ```
    /// use quillet_agent::Permissions;
    ///
    /// let permissions = Permissions::parse(&["*", "!prompt/secret"])?;
    /// assert!(permissions.allows_one_of(&["hello", "prompt/hello"]));
    /// assert!(!permissions.allows_one_of(&["secret", "prompt/secret"]));
    /// # Ok::<(), quillet_agent::BadPermissions>(())
    /// ```
    #[must_use]
    pub fn allows_one_of(&self, names: &[&str]) -> bool {
        let any = |patterns: &[String]| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| names.iter().any(|name| matches(pattern, name)))
        };
        // Denials take precedence, in any order of the patterns.
        !any(&self.denied) && any(&self.allowed)
    }
}

/// Writes the patterns, denying ones last.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.patterns().join(", "))
    }
}

/// Whether a pattern matches this name, regardless of a leading `!`.
pub(crate) fn pattern_matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.trim();
    let plain = pattern.strip_prefix('!').unwrap_or(pattern).trim();
    matches(plain, name)
}

/// Warning about a pattern that matches nothing.
pub(crate) fn unmatched(pattern: &str) -> String {
    format!("tools: {pattern:?} matches no tool, stored prompt or configured built-in tool")
}

/// Warning about a pattern of `ask` that matches nothing.
pub(crate) fn unasked(pattern: &str) -> String {
    format!("ask: {pattern:?} matches no allowed tool and has no effect: name a tool as in `tools`")
}

/// Matches the texts between the `*` in order. The first is a prefix, and the last a suffix. Taking
/// the earliest match of each is enough, so there is no backtracking.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    // With a single `*` there is no middle, and the suffix matches the remaining text.
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        let Some(at) = name.find(piece) else {
            return false;
        };
        name = &name[at + piece.len()..];
    }
    name.ends_with(last)
}
