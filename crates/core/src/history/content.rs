//! Content of a version, and its digest.

use std::fmt;
use std::sync::Arc;

use hmac_sha256::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Tree};

use crate::store::StoreEntry;

/// The SHA-256 of a definition in canonical form. Written as 64 lower-case hexadecimal digits.
///
/// # Examples
///
/// ```
/// use quillet_core::history::Digest;
///
/// let digest = Digest::of(b"abc");
/// assert!(digest.to_string().starts_with("ba7816bf"));
/// assert_eq!(Digest::parse(&format!("sha256:{digest}")), Some(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Hash::hash(bytes))
    }

    /// Parses 64 hexadecimal digits, with or without the prefix `sha256:`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| {
            serde::de::Error::custom("invalid SHA-256 digest: expected 64 hexadecimal digits")
        })
    }
}

/// Content of a version: the text of the definition, and the data that determines how the text is
/// parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionContent {
    /// The stored text, byte for byte.
    pub text: Arc<str>,
    /// Name of the prompt file, whose extension determines the format. Empty for other definitions.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub file: Arc<str>,
    /// Name and text of its companion file; see [`StoreEntry::companion`]. The name has no folders,
    /// so that it does not depend on the location of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub companion: Option<(Arc<str>, Arc<str>)>,
}

impl DefinitionContent {
    /// Creates the content of a definition with one text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        DefinitionContent {
            text: text.into(),
            ..DefinitionContent::default()
        }
    }

    /// Returns the content of an entry. An entry from a folder is a prompt file unless its text is
    /// a JSON object.
    #[must_use]
    pub fn of(entry: &StoreEntry) -> Self {
        let is_file = entry.folder.is_some() && object(&entry.text).is_none();
        let beside = entry.companion.as_ref();
        DefinitionContent {
            text: entry.text.clone(),
            file: Arc::from(if is_file { name(&entry.origin) } else { "" }),
            companion: beside.map(|(path, text)| (name(path).into(), text.clone())),
        }
    }

    /// Size of its texts in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let beside = self.companion.as_ref().map_or(0, |(_, text)| text.len());
        self.text.len() + beside
    }

    /// Returns the digest of the canonical form. For a JSON object this form has sorted members and
    /// no white space. Other definitions count byte for byte, including the file extension and the
    /// companion file.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::history::DefinitionContent;
    ///
    /// let one = DefinitionContent::new(r#"{"a": 1, "b": 2}"#);
    /// let other = DefinitionContent::new(r#"{"b":2,"a":1}"#);
    /// assert_eq!(one.digest(), other.digest());
    /// ```
    #[must_use]
    pub fn digest(&self) -> Digest {
        // A definition with a companion file is a prompt folder, whose text is not JSON.
        if self.companion.is_none()
            && let Some(object) = object(&self.text)
        {
            let mut canonical = String::with_capacity(self.text.len());
            write_object(&object, &mut canonical);
            return Digest(Hash::hash(canonical.as_bytes()));
        }
        let mut hash = Hash::new();
        if let Some((_, ending)) = self.file.split_once('.') {
            hash.update(ending.as_bytes());
            // The separator gives different splits of the same bytes different digests.
            hash.update([0]);
        }
        hash.update(self.text.as_bytes());
        if let Some((name, text)) = &self.companion {
            for part in ["\0", name, "\0", text] {
                hash.update(part.as_bytes());
            }
        }
        Digest(hash.finalize())
    }
}

/// Returns a file name without its folders.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

fn object(text: &str) -> Option<Map<String, Tree>> {
    serde_json::from_str(text).ok()
}

/// Writes canonical JSON. The recursion is safe, because the JSON parser limits the nesting.
fn write(value: &Tree, out: &mut String) {
    match value {
        Tree::Object(object) => write_object(object, out),
        Tree::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn write_object(object: &Map<String, Tree>, out: &mut String) {
    let mut members: Vec<(&String, &Tree)> = object.iter().collect();
    // Members are sorted, so that formatting and member order do not create new versions.
    members.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (at, (name, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&Tree::from(name.as_str()).to_string());
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EntryKey;

    fn digest(text: &str) -> String {
        DefinitionContent::new(text).digest().to_string()
    }

    #[test]
    fn an_object_counts_as_what_it_says() {
        // Computed with: printf '{"a":1,"b":[{"x":"ü","y":2}]}' | sha256sum
        let one = digest(r#"{"a":1,"b":[{"x":"ü","y":2}]}"#);
        assert_eq!(
            one,
            "85a1561aed8adadd7e592c2ca2c09ecfee375f82520af51d4a31041765f13e00"
        );
        for same in [
            r#"{ "b": [ {"y": 2, "x": "\u00fc"} ], "a": 1 }"#,
            "{\n\"a\":1,\n\"b\":[{\"x\":\"ü\",\"y\":2}]}\n",
        ] {
            assert_eq!(digest(same), one, "{same}");
        }
        for other in [
            r#"{"a":2,"b":[{"x":"ü","y":2}]}"#,
            r#"{"a":1,"b":[{"y":2}]}"#,
            r#"[{"a":1}]"#,
            "plain text",
        ] {
            assert_ne!(digest(other), one, "{other}");
        }
    }

    #[test]
    fn it_is_what_sha256sum_prints() {
        let cases = [
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            // Computed with: printf '{}' | sha256sum
            (
                "{ }",
                "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(digest(text), expected);
            assert_eq!(Digest::parse(expected).unwrap().to_string(), expected);
            assert_eq!(
                Digest::parse(&format!("sha256:{expected}")),
                Digest::parse(expected)
            );
        }
        for text in ["", "abc", "sha256:", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }

    #[test]
    fn files_count_with_their_endings_and_companions() {
        let of = |file: &str, companion: Option<(&str, &str)>| {
            let content = DefinitionContent {
                text: "Hello".into(),
                file: file.into(),
                companion: companion.map(|(name, text)| (name.into(), text.into())),
            };
            content.digest()
        };
        let all = [
            of("", None),
            of("a.prompt", None),
            of("a.prompty", None),
            of("skprompt.txt", Some(("config.json", "{}"))),
            of("skprompt.txt", Some(("config.json", "{ }"))),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
        assert_eq!(of("a.prompt", None), of("other.prompt", None));
    }

    #[test]
    fn only_prompt_files_keep_the_names_of_their_files() {
        let mut entry = StoreEntry::new(
            EntryKey::new("a"),
            "---\nmodel: m\n---\nHi",
            "prompts/x/a.prompt",
        );
        assert_eq!(&*DefinitionContent::of(&entry).file, "");
        entry.folder = Some(std::path::Path::new("/p").into());
        assert_eq!(&*DefinitionContent::of(&entry).file, "a.prompt");
        entry.text = r#"{"prompt": "Hi"}"#.into();
        assert_eq!(&*DefinitionContent::of(&entry).file, "");
        entry.companion = Some(("prompts/x/config.json".into(), "{}".into()));
        let beside = DefinitionContent::of(&entry).companion;
        assert_eq!(beside, Some(("config.json".into(), "{}".into())));
    }
}
