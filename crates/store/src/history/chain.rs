//! Versions of one definition, and commits to them.

use std::collections::{BTreeMap, BTreeSet};

use quillet_core::clock;
use quillet_core::history::{
    Commit, DefinitionContent, Digest, Labels, STORE, Version, VersionRecord, WritePrecondition,
};
use quillet_core::store::{EntryKey, StoreError, StoreErrorKind};

/// Largest version number in an import. JSON can represent it exactly, and it leaves room for later
/// versions.
const LARGEST: u64 = 1 << 53;

/// Current content of a key in the store.
pub(crate) type CurrentContent<'a> = Option<&'a DefinitionContent>;

/// The existing versions of one definition, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionChain {
    versions: BTreeMap<u64, Version>,
    /// Contents by digest, so versions with equal content share one copy.
    contents: BTreeMap<Digest, DefinitionContent>,
}

impl VersionChain {
    /// Creates a chain of these versions, in any order.
    pub(crate) fn of(versions: impl IntoIterator<Item = VersionRecord>) -> Self {
        let mut chain = VersionChain::default();
        versions.into_iter().for_each(|kept| chain.add(kept));
        chain
    }

    /// Adds an existing version; it replaces a version with the same number.
    pub(crate) fn add(&mut self, kept: VersionRecord) {
        let VersionRecord { version, content } = kept;
        if let Some(content) = content {
            self.contents.entry(version.digest).or_insert(content);
        }
        self.versions.insert(version.number, version);
    }

    /// Returns the newest version.
    pub(crate) fn head(&self) -> Option<&Version> {
        self.versions.values().next_back()
    }

    /// Returns the number of the newest version, or 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.head().map_or(0, |head| head.number)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Returns the versions below a number, newest first.
    pub(crate) fn below(&self, before: Option<u64>, limit: usize) -> Vec<Version> {
        let range = self.versions.range(..before.unwrap_or(u64::MAX));
        range
            .rev()
            .take(limit)
            .map(|(_, one)| one.clone())
            .collect()
    }

    /// Returns the version with this number.
    pub(crate) fn version(&self, number: u64) -> Option<&Version> {
        self.versions.get(&number)
    }

    /// Returns the version with this number and its content.
    pub(crate) fn version_record(&self, number: u64) -> Option<VersionRecord> {
        let version = self.versions.get(&number)?.clone();
        let content = if version.removed {
            None
        } else {
            Some(self.contents.get(&version.digest)?.clone())
        };
        Some(VersionRecord { version, content })
    }

    /// Returns the newest version whose digest begins with these digits.
    pub(crate) fn find(&self, digits: &str) -> Option<Version> {
        let begins = |one: &&Version| !one.removed && one.digest.to_string().starts_with(digits);
        self.versions.values().rev().find(begins).cloned()
    }

    /// Returns the content of the newest version.
    fn head_content(&self) -> Option<&DefinitionContent> {
        let head = self.head().filter(|head| !head.removed)?;
        self.contents.get(&head.digest)
    }

    /// Whether the newest version equals the current content in the store.
    pub(crate) fn is_at(&self, now: CurrentContent<'_>) -> bool {
        let now = now.map(|now| read_as(self.head_content(), now));
        match (self.head(), now) {
            (None, None) => true,
            (Some(head), None) => head.removed,
            (Some(head), Some(now)) => {
                !head.removed && (self.head_content() == Some(now) || head.digest == now.digest())
            }
            (None, Some(_)) => false,
        }
    }

    /// Records the current content of the store as a version, if it is new.
    pub(crate) fn observe(&mut self, now: CurrentContent<'_>, author: &str) -> Option<Version> {
        let is_new = !self.is_at(now);
        is_new.then(|| self.push(now.cloned(), author, ""))
    }

    /// Applies a commit to the current content of the store. Returns the newest version, and
    /// whether the commit created it.
    pub(crate) fn commit(
        &mut self,
        now: CurrentContent<'_>,
        commit: &Commit,
    ) -> Result<(Version, bool), StoreError> {
        let head = self.head_content().cloned();
        let now = now.map(|now| read_as(head.as_ref(), now));
        // Computing the digest of a long text takes time, and most commits have no precondition.
        if commit.expect != WritePrecondition::Anything {
            check_precondition(self.head(), now.map(DefinitionContent::digest), commit)?;
        }
        // An edit without a version is recorded, so the newest version equals the current content.
        self.observe(now, STORE);
        let same = match (&commit.content, now) {
            (None, None) => true,
            (Some(wanted), Some(now)) if !commit.always => {
                wanted == now || self.head().map(|head| head.digest) == Some(wanted.digest())
            }
            _ => false,
        };
        match self.head() {
            Some(head) if same => Ok((head.clone(), false)),
            None if same => Err(nothing(&commit.key)),
            _ => {
                let content = commit.content.clone();
                Ok((self.push(content, &commit.author, &commit.message), true))
            }
        }
    }

    fn push(&mut self, content: Option<DefinitionContent>, author: &str, message: &str) -> Version {
        let version = next(self.head(), content.as_ref(), author, message);
        let kept = VersionRecord {
            version: version.clone(),
            content,
        };
        self.add(kept);
        version
    }

    /// Whether a label may point at the version with this number.
    pub(crate) fn points_at(&self, number: u64) -> bool {
        self.versions.get(&number).is_some_and(|one| !one.removed)
    }

    /// Returns the versions above a number with their content, oldest first.
    pub(crate) fn since(&self, number: u64) -> Vec<VersionRecord> {
        let new = self.versions.range(number.saturating_add(1)..);
        new.filter_map(|(number, _)| self.version_record(*number))
            .collect()
    }

    /// Adds versions from another history, and returns how many are new. Versions in both histories
    /// must be equal, and new ones must follow the existing ones.
    pub(crate) fn extend(
        &mut self,
        key: &EntryKey,
        versions: &[VersionRecord],
    ) -> Result<usize, StoreError> {
        let last = self.last();
        let (mut added, mut before) = (Vec::new(), 0);
        for kept in versions {
            let number = kept.version.number;
            if let Some(why) = wrong(kept, before) {
                let message = format!("{}: version {number} {why}", key.id());
                return Err(StoreError::new(StoreErrorKind::Refused, message));
            }
            before = number;
            match self.versions.get(&number) {
                Some(known) if known.digest == kept.version.digest => {}
                None if number > last => added.push(kept.clone()),
                _ => {
                    let message = format!(
                        "{}: version {number} differs from the imported version",
                        key.id()
                    );
                    return Err(StoreError::new(StoreErrorKind::Conflict, message));
                }
            }
        }
        let newest = versions.last().map_or(0, |kept| kept.version.number);
        if newest < last {
            let message = format!(
                "{}: the store has versions up to {last}, and the import ends with {newest}",
                key.id()
            );
            return Err(StoreError::new(StoreErrorKind::Conflict, message));
        }
        let count = added.len();
        added.into_iter().for_each(|kept| self.add(kept));
        Ok(count)
    }

    /// Returns the existing versions, oldest first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.values()
    }

    /// Removes versions.
    pub(crate) fn forget(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.versions.remove(number);
        }
    }

    /// Removes all versions except the newest `keep`, those with labels, and the newest. Returns
    /// their numbers.
    pub(crate) fn collect(&mut self, keep: usize, labels: &Labels) -> Vec<u64> {
        let old = self.versions.keys().rev().skip(keep.max(1)).copied();
        let old: Vec<u64> = old.filter(|number| !labels.points_at(*number)).collect();
        self.forget(&old);
        let used: BTreeSet<Digest> = self.versions.values().map(|one| one.digest).collect();
        self.contents.retain(|digest, _| used.contains(digest));
        old
    }
}

/// Returns the reason why an imported version cannot follow the one with this number.
fn wrong(kept: &VersionRecord, before: u64) -> Option<&'static str> {
    let number = kept.version.number;
    if number <= before {
        Some("is out of order")
    } else if number > LARGEST {
        Some("has a number above 2^53, which JSON cannot represent")
    } else if kept.content.is_some() == kept.version.removed {
        Some("has no content and is not a removal, or is a removal with content")
    } else {
        None
    }
}

/// Returns the current content with its file format. If the text equals that of the newest version,
/// that version determines the format: a store without files only has texts, and in a folder the
/// file name follows from the key.
pub(crate) fn read_as<'a>(
    head: Option<&'a DefinitionContent>,
    now: &'a DefinitionContent,
) -> &'a DefinitionContent {
    let ending =
        |content: &'a DefinitionContent| content.file.rsplit_once('.').map(|(_, ending)| ending);
    let beside = |content: &'a DefinitionContent| content.companion.as_ref().map(|(_, text)| text);
    let is_read_alike = |head: &&'a DefinitionContent| {
        let one_is_text_alone = now.file.is_empty() || head.file.is_empty();
        let same_file = || ending(head) == ending(now) && beside(head) == beside(now);
        head.text == now.text && (one_is_text_alone || same_file())
    };
    head.filter(is_read_alike).unwrap_or(now)
}

/// Creates the version that follows the newest one.
pub(crate) fn next(
    head: Option<&Version>,
    content: Option<&DefinitionContent>,
    author: &str,
    message: &str,
) -> Version {
    let before = head.map(|head| head.digest);
    let empty = || DefinitionContent::default().digest();
    Version {
        number: head.map_or(1, |head| head.number + 1),
        digest: content.map_or_else(|| before.unwrap_or_else(empty), DefinitionContent::digest),
        parent: head.map(|head| head.number),
        author: author.into(),
        message: message.into(),
        created_ms: clock::millis(),
        bytes: content.map_or(0, |content| content.bytes() as u64),
        removed: content.is_none(),
    }
}

/// Checks the precondition of a commit; `is` is the digest of the current content.
pub(crate) fn check_precondition(
    head: Option<&Version>,
    is: Option<Digest>,
    commit: &Commit,
) -> Result<(), StoreError> {
    let holds = match commit.expect {
        WritePrecondition::Anything => true,
        WritePrecondition::Absent => is.is_none(),
        WritePrecondition::Digest(wanted) => is == Some(wanted),
        WritePrecondition::Version(number) => {
            head.is_some_and(|head| head.number == number && is == Some(head.digest))
        }
    };
    if holds {
        return Ok(());
    }
    let newest = match (head, is) {
        (_, None) => "it does not exist".to_owned(),
        (Some(head), Some(is)) if head.digest == is && !head.removed => {
            format!("it is at version {}", head.number)
        }
        (_, Some(is)) => format!("it was changed and is now sha256:{is}"),
    };
    let wanted = match commit.expect {
        WritePrecondition::Anything | WritePrecondition::Absent => "a new definition".to_owned(),
        WritePrecondition::Version(number) => format!("version {number}"),
        WritePrecondition::Digest(digest) => format!("sha256:{digest}"),
    };
    let message = format!("{}: expected {wanted}, but {newest}", commit.key.id());
    Err(StoreError::new(StoreErrorKind::Conflict, message))
}

/// Error for removing a definition that does not exist.
pub(crate) fn nothing(key: &EntryKey) -> StoreError {
    let message = format!("{}: not found", key.id());
    StoreError::new(StoreErrorKind::NoVersion, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use quillet_core::store::EntryKind;

    use super::*;

    fn content(text: &str) -> Option<DefinitionContent> {
        Some(DefinitionContent::new(text))
    }

    fn commit(text: Option<&str>, expect: WritePrecondition) -> Commit {
        let content = text.map(DefinitionContent::new);
        Commit {
            expect,
            ..Commit::new(EntryKind::Prompt, EntryKey::new("a"), content, "ada")
        }
    }

    #[test]
    fn what_others_wrote_is_a_version_before_what_is_committed() {
        let mut chain = VersionChain::default();
        let raw = content("raw");
        let done = chain.commit(
            raw.as_ref(),
            &commit(Some("new"), WritePrecondition::Anything),
        );
        let (version, is_new) = done.unwrap();
        assert_eq!((version.number, version.parent, is_new), (2, Some(1), true));
        let authors: Vec<_> = chain
            .below(None, 9)
            .into_iter()
            .map(|it| it.author)
            .collect();
        assert_eq!(authors, ["ada".into(), STORE.into()] as [Arc<str>; 2]);
    }

    #[test]
    fn expectations_are_held() {
        let mut chain = VersionChain::default();
        chain
            .commit(None, &commit(Some("1"), WritePrecondition::Absent))
            .unwrap();
        let one = content("1");
        let digest = |text| DefinitionContent::new(text).digest();
        for (now, expect, holds) in [
            (one.clone(), WritePrecondition::Absent, false),
            (None, WritePrecondition::Absent, true),
            (one.clone(), WritePrecondition::Version(1), true),
            (one.clone(), WritePrecondition::Version(2), false),
            (content("raw"), WritePrecondition::Version(1), false),
            (one, WritePrecondition::Digest(digest("1")), true),
            (
                content("raw"),
                WritePrecondition::Digest(digest("1")),
                false,
            ),
            (None, WritePrecondition::Version(1), false),
        ] {
            let done = chain
                .clone()
                .commit(now.as_ref(), &commit(Some("2"), expect));
            let kind = done.as_ref().map_err(|error| error.kind).err();
            let conflict = (!holds).then_some(StoreErrorKind::Conflict);
            assert_eq!(kind, conflict, "{now:?} {expect:?} {done:?}");
        }
    }

    #[test]
    fn a_definition_that_comes_back_takes_no_room() {
        let mut chain = VersionChain::default();
        let mut now = None;
        for text in ["1", "2", "1", "2"] {
            let done = chain.commit(
                now.as_ref(),
                &commit(Some(text), WritePrecondition::Anything),
            );
            assert!(done.unwrap().1);
            now = content(text);
        }
        assert_eq!((chain.versions.len(), chain.contents.len()), (4, 2));
        let again = chain.commit(
            now.as_ref(),
            &commit(Some("2"), WritePrecondition::Anything),
        );
        assert!(!again.unwrap().1);
    }

    #[test]
    fn collecting_spares_what_labels_name() {
        let mut chain = VersionChain::default();
        let mut now = None;
        for number in 1..=6 {
            let text = number.to_string();
            let done = chain.commit(
                now.as_ref(),
                &commit(Some(&text), WritePrecondition::Anything),
            );
            done.unwrap();
            now = content(&text);
        }
        let labels = Labels::parse(r#"{"production": 2}"#).unwrap();
        assert_eq!(chain.collect(2, &labels), [4, 3, 1]);
        assert!(chain.version_record(2).is_some() && chain.version_record(3).is_none());
        assert_eq!(chain.collect(0, &Labels::default()), [5, 2]);
        assert_eq!(chain.head().map(|head| head.number), Some(6));
    }
}
