//! Audit log of changes to definitions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// A definition was written.
    Write,
    /// A definition was removed.
    Remove,
    /// A label was moved or removed.
    Label,
    /// A history was imported.
    Import,
    /// Old versions were deleted.
    Collect,
    /// A change was rejected because of a missing permission.
    Refused,
}

impl Action {
    /// All actions.
    pub const ALL: [Action; 6] = [
        Action::Write,
        Action::Remove,
        Action::Label,
        Action::Import,
        Action::Collect,
        Action::Refused,
    ];

    /// Name as stored and displayed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Action::Write => "write",
            Action::Remove => "remove",
            Action::Label => "label",
            Action::Import => "import",
            Action::Collect => "collect",
            Action::Refused => "refused",
        }
    }
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Number of the entry. It increases within a store, and is 0 before the entry is stored.
    #[serde(default)]
    pub number: u64,
    /// Time in milliseconds since 1970-01-01 UTC.
    pub at_ms: u64,
    /// The author, as in [`Version::author`](super::Version::author).
    pub who: Arc<str>,
    /// The origin: a client address, or the interface that was used.
    pub from: Arc<str>,
    /// The action.
    pub action: Action,
    /// The kind of the definition, as in [`EntryKind::word`](crate::store::EntryKind::word). Empty
    /// if the entry is not about a single definition.
    pub kind: Arc<str>,
    /// The id of the definition; empty under the same condition as `kind`.
    pub id: Arc<str>,
    /// The created version, or the new target of a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The label that was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// Reason of the change, or the rejected change, in one sentence.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub message: Arc<str>,
}

/// Filter for log entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Kind of the definition, as in [`LogEntry::kind`].
    pub kind: Option<Arc<str>>,
    /// Id of the definition.
    pub id: Option<Arc<str>>,
    /// Author.
    pub who: Option<Arc<str>>,
}

impl LogFilter {
    /// Whether the filter matches an entry.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::history::{LogEntry, LogFilter};
    ///
    /// let entry: LogEntry = serde_json::from_str(
    ///     r#"{"at_ms": 0, "who": "ada", "from": "cli", "action": "write",
    ///         "kind": "prompt", "id": "greet.hello"}"#,
    /// )?;
    /// let by = |who: &str| LogFilter { who: Some(who.into()), ..LogFilter::default() };
    /// assert!(by("ada").matches(&entry));
    /// assert!(!by("bob").matches(&entry));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn matches(&self, entry: &LogEntry) -> bool {
        let same = |wanted: &Option<Arc<str>>, is: &Arc<str>| {
            wanted.as_ref().is_none_or(|wanted| wanted == is)
        };
        same(&self.kind, &entry.kind) && same(&self.id, &entry.id) && same(&self.who, &entry.who)
    }
}
