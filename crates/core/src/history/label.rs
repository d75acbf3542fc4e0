//! Labels: movable names of versions.

use std::collections::BTreeMap;

use hmac_sha256::Hash;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Tree;

use crate::store::{EntryKey, EntryKind};

/// The implicit label of the stored definition. This label is not stored.
pub const LATEST: &str = "latest";

/// Default label for readers.
pub const PRODUCTION: &str = "production";

/// Maximum length of a label name, in bytes.
const LONGEST: usize = 64;

/// Labels of a definition, by name. Stored as JSON: `{"production": 3, "next": {"versions": {"3":
/// 90, "4": 10}, "by": "user"}}`.
///
/// # Examples
///
/// ```
/// use quillet_core::history::{LabelTarget, Labels};
///
/// let labels = Labels::parse(r#"{"production": 3, "next": {"versions": {"3": 90, "4": 10}}}"#)?;
/// assert_eq!(labels.get("production"), Some(&LabelTarget::Version(3)));
/// assert_eq!(labels.labels_at(3).collect::<Vec<_>>(), ["production"]);
/// assert!(labels.points_at(4));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, LabelTarget>);

impl Labels {
    /// Parses stored labels.
    ///
    /// # Errors
    /// The problem, in one sentence without a location.
    pub fn parse(text: &str) -> Result<Self, String> {
        let members: BTreeMap<String, Tree> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut labels = Labels::default();
        for (name, value) in members {
            let wrong = |why: String| format!("label {name:?}: {why}");
            let target = serde_json::from_value::<LabelTarget>(value);
            let target = target.map_err(|error| wrong(error.to_string()))?;
            if let Some(why) = label_error(&name).or_else(|| target.validation_error()) {
                return Err(wrong(why));
            }
            labels.0.insert(name, target);
        }
        Ok(labels)
    }

    /// Returns the labels as they are stored.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the target of a label.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&LabelTarget> {
        self.0.get(name)
    }

    /// Whether any label points at a version, either directly or through a traffic split.
    #[must_use]
    pub fn points_at(&self, number: u64) -> bool {
        self.0
            .values()
            .any(|target| target.numbers().any(|one| one == number))
    }

    /// Returns the names of the labels that point directly at this version. Traffic splits are not
    /// included.
    pub fn labels_at(&self, number: u64) -> impl Iterator<Item = &str> {
        let at = move |target: &LabelTarget| *target == LabelTarget::Version(number);
        let found = self.0.iter().filter(move |(_, target)| at(target));
        found.map(|(name, _)| name.as_str())
    }
}

/// Target of a label. In JSON, a version number, or an object with `versions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LabelTarget {
    /// One version.
    Version(u64),
    /// Several versions with weights.
    Split(TrafficSplit),
}

impl LabelTarget {
    /// Returns the numbers of the versions that the label points at.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use quillet_core::history::{LabelTarget, TrafficSplit};
    ///
    /// let target = LabelTarget::Split(TrafficSplit {
    ///     versions: BTreeMap::from([(3, 90), (4, 10)]),
    ///     ..TrafficSplit::default()
    /// });
    /// assert_eq!(target.numbers().collect::<Vec<_>>(), [3, 4]);
    /// ```
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let (one, split) = match self {
            LabelTarget::Version(number) => (Some(*number), None),
            LabelTarget::Split(split) => (None, Some(split)),
        };
        let several = split.into_iter().flat_map(|split| split.versions.keys());
        one.into_iter().chain(several.copied())
    }

    /// Returns the reason why the target is invalid, if it is.
    #[must_use]
    pub fn validation_error(&self) -> Option<String> {
        match self {
            LabelTarget::Version(0) => Some("versions are numbered from 1".to_owned()),
            LabelTarget::Version(_) => None,
            LabelTarget::Split(split) if split.versions.contains_key(&0) => {
                Some("versions are numbered from 1".to_owned())
            }
            LabelTarget::Split(split) if split.total() == 0 => Some("all weights are 0".to_owned()),
            LabelTarget::Split(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for LabelTarget {
    /// Not derived: the buffer of an untagged enum cannot read the member name `"3"` as a number.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Tree::deserialize(deserializer)?;
        if let Some(number) = value.as_u64() {
            return Ok(LabelTarget::Version(number));
        }
        if !value.is_object() {
            let message = "expected a version number, or an object that contains versions";
            return Err(D::Error::custom(message));
        }
        let split = serde_json::from_value(value).map_err(D::Error::custom)?;
        Ok(LabelTarget::Split(split))
    }
}

/// Versions and their weights. The choice depends only on a key of the request, so all replicas and
/// later processes select the same version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficSplit {
    /// Weights by version number. A share is a weight divided by their sum.
    pub versions: BTreeMap<u64, u32>,
    /// Key of the request that determines the version: `user`, `session`, or the name of a
    /// variable. Requests without that key are assigned at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Salt of the hash. Labels with the same salt make the same assignments. The default is the
    /// definition's key and the label's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}

impl TrafficSplit {
    fn total(&self) -> u64 {
        self.versions
            .values()
            .map(|weight| u64::from(*weight))
            .sum()
    }

    /// Returns the version with the largest share, or the newest of several such versions; 0 if the
    /// split is empty.
    #[must_use]
    pub fn heaviest(&self) -> u64 {
        let most = self.versions.iter().max_by_key(|(_, weight)| **weight);
        most.map_or(0, |(number, _)| *number)
    }

    /// Selects the version for a key of a request. Shares are arranged by version number, so the
    /// newest version retains its keys while its share grows.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use quillet_core::history::TrafficSplit;
    ///
    /// let split = TrafficSplit {
    ///     versions: BTreeMap::from([(3, 90), (4, 10)]),
    ///     ..TrafficSplit::default()
    /// };
    /// let draw = |user: &str| split.select_version("prompt:greet:next", user);
    /// assert_eq!(draw("ada"), draw("ada"));
    /// assert!([3, 4].contains(&draw("ada")));
    /// ```
    #[must_use]
    pub fn select_version(&self, salt: &str, key: &str) -> u64 {
        let mut hash = Hash::new();
        hash.update(self.salt.as_deref().unwrap_or(salt).as_bytes());
        hash.update([0]);
        hash.update(key.as_bytes());
        // 64 bits are enough: the rounding error is far below any weight.
        let first = hash.finalize().into_iter().take(8);
        let point = first.fold(0_u64, |number, byte| number << 8 | u64::from(byte));
        // Scaled by multiplication; a modulo would favour small numbers.
        let place = (u128::from(point) * u128::from(self.total())) >> 64;
        let mut end = 0_u128;
        for (number, weight) in &self.versions {
            end += u128::from(*weight);
            if place < end {
                return *number;
            }
        }
        self.versions
            .keys()
            .next_back()
            .copied()
            .unwrap_or_default()
    }
}

/// Returns the reason why a label name is invalid, if it is.
///
/// # Examples
///
/// ```
/// use quillet_core::history::label_error;
///
/// assert_eq!(label_error("production"), None);
/// assert!(label_error("latest").is_some());
/// assert!(label_error("7").is_some());
/// ```
#[must_use]
pub fn label_error(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name == LATEST {
        Some("latest is always the stored definition and cannot be set".to_owned())
    } else if name.is_empty() || name.len() > LONGEST {
        Some(format!("a label must have 1 to {LONGEST} characters"))
    } else if name.bytes().all(|byte| byte.is_ascii_digit()) {
        Some("a label cannot be a number, which selects a version".to_owned())
    } else {
        let found = name.chars().find(|c| !fits(*c))?;
        Some(format!(
            "invalid character {found:?}: use letters, digits, '-', '_' and '.'"
        ))
    }
}

/// Returns the key of the [`EntryKind::Label`] entry with the labels of a definition.
///
/// # Examples
///
/// ```
/// use quillet_core::history::{label_key, labelled_definition};
/// use quillet_core::store::{EntryKey, EntryKind};
///
/// let prompt = EntryKey::new("greet:hello");
/// let key = label_key(EntryKind::Prompt, &prompt);
/// assert_eq!(key.as_str(), "prompt:greet:hello");
/// assert_eq!(labelled_definition(&key), Some((EntryKind::Prompt, prompt)));
/// ```
#[must_use]
pub fn label_key(kind: EntryKind, key: &EntryKey) -> EntryKey {
    EntryKey::new(format!("{}:{key}", kind.word()))
}

/// Returns the definition whose labels are stored under a key of [`EntryKind::Label`].
#[must_use]
pub fn labelled_definition(key: &EntryKey) -> Option<(EntryKind, EntryKey)> {
    let (word, key) = key.as_str().split_once(':')?;
    let kind = EntryKind::ALL
        .into_iter()
        .find(|kind| kind.word() == word)?;
    (kind.has_versions() && !key.is_empty()).then(|| (kind, EntryKey::new(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(versions: &[(u64, u32)]) -> TrafficSplit {
        TrafficSplit {
            versions: versions.iter().copied().collect(),
            ..TrafficSplit::default()
        }
    }

    #[test]
    fn a_million_draws_lie_within_their_shares() {
        let label = split(&[(3, 90), (4, 10)]);
        let fourth =
            (0..1_000_000).filter(|user| label.select_version("greet", &user.to_string()) == 4);
        let share = fourth.count() as f64 / 1e6;
        assert!((share - 0.1).abs() < 0.002, "{share}");
    }

    #[test]
    fn whoever_has_the_newest_version_keeps_it_when_its_share_grows() {
        let (few, many) = (split(&[(3, 90), (4, 10)]), split(&[(3, 50), (4, 50)]));
        let users = (0..1000).map(|user| format!("user-{user}"));
        for user in users.filter(|user| few.select_version("greet", user) == 4) {
            assert_eq!(many.select_version("greet", &user), 4, "{user}");
        }
    }

    /// Assignments are the same on every machine and in every later version of this program.
    #[test]
    fn draws_are_fixed_for_all_time() {
        let label = split(&[(1, 1), (2, 1), (3, 2)]);
        let drawn: Vec<u64> = ["ada", "bob", "", "陈"]
            .map(|key| label.select_version("s", key))
            .to_vec();
        let again = TrafficSplit {
            salt: Some("s".to_owned()),
            ..label
        };
        let salted: Vec<u64> = ["ada", "bob", "", "陈"]
            .map(|key| again.select_version("x", key))
            .to_vec();
        assert_eq!(drawn, salted);
        assert_eq!(split(&[(1, 0), (2, 5)]).select_version("", "any"), 2);
    }

    #[test]
    fn labels_are_read_as_they_are_stored() {
        let text = r#"{"next":{"versions":{"3":90,"4":10},"by":"user"},"production":3}"#;
        let labels = Labels::parse(text).unwrap();
        assert_eq!(labels.to_text(), text);
        assert!(labels.points_at(4) && labels.points_at(3) && !labels.points_at(1));
        assert_eq!(labels.labels_at(3).collect::<Vec<_>>(), ["production"]);
        for (text, part) in [
            ("[]", "invalid type"),
            (r#"{"latest": 1}"#, "latest is always the stored definition"),
            (r#"{"a b": 1}"#, "invalid character ' '"),
            (r#"{"7": 1}"#, "a label cannot be a number"),
            (r#"{"": 1}"#, "1 to 64"),
            (r#"{"a": 0}"#, "numbered from 1"),
            (r#"{"a": {"versions": {}}}"#, "all weights are 0"),
            (r#"{"a": "x"}"#, "expected a version number"),
            (r#"{"a": {"versions": {"x": 1}}}"#, "invalid"),
        ] {
            let error = Labels::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn keys_of_labels_name_their_definitions() {
        let key = label_key(EntryKind::Prompt, &EntryKey::new("greet:hello"));
        assert_eq!(key.as_str(), "prompt:greet:hello");
        assert_eq!(
            labelled_definition(&key),
            Some((EntryKind::Prompt, EntryKey::new("greet:hello")))
        );
        for none in [
            "",
            "prompt",
            "prompt:",
            "environ:a",
            "label:prompt:a",
            "x:y",
        ] {
            assert_eq!(labelled_definition(&EntryKey::new(none)), None, "{none}");
        }
    }
}
