//! How keys of Redis are named. The prefix appears here and nowhere else.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use quillet_core::store::{Key, Kind};

/// What is escaped in ids.
const BRACES: &AsciiSet = &CONTROLS.add(b'{').add(b'}').add(b'%');

/// What all keys begin with unless a setting says otherwise.
pub const DEFAULT_PREFIX: &str = "shenma:";

/// The key names under one prefix: `<prefix><kind>:<key>`.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    prefix: String,
}

impl Layout {
    pub(crate) fn new(prefix: &str) -> Self {
        Layout {
            prefix: prefix.to_owned(),
        }
    }

    /// What every key of a kind begins with.
    pub(crate) fn prefix(&self, kind: Kind) -> String {
        format!("{}{}:", self.prefix, folder(kind))
    }

    /// The whole name of a key.
    pub(crate) fn name(&self, kind: Kind, key: &Key) -> String {
        format!("{}{}:{key}", self.prefix, folder(kind))
    }

    /// A glob pattern for the keys of a kind; glob characters of the prefix stand for themselves.
    pub(crate) fn pattern(&self, kind: Kind) -> String {
        escaped(&self.prefix(kind)) + "*"
    }

    /// A glob pattern for extensions, templates, tools, agents and databases, and not for environs,
    /// of which there may be very many: the first two letters tell them apart. SCAN looks at every
    /// key of the database whatever the pattern, so one pass is better than five.
    pub(crate) fn pattern_of_definitions(&self) -> String {
        escaped(&self.prefix) + "[adet][agxeo]*"
    }

    /// The name of something that belongs to a session or a run: `<prefix><group>:{<id>}`.
    /// All names of one id are in one slot, whatever follows.
    pub(crate) fn tagged(&self, group: &str, id: &str) -> String {
        // A brace in the id would end the part that tells the slot.
        let id = utf8_percent_encode(id, BRACES);
        format!("{}{group}:{{{id}}}", self.prefix)
    }

    /// The name of what belongs to a group as a whole.
    pub(crate) fn group(&self, group: &str) -> String {
        format!("{}{group}", self.prefix)
    }

    /// The kind and key of a whole name; `None` for a name that is not ours,
    /// not UTF-8, or ends with its prefix.
    pub(crate) fn parse(&self, name: &[u8]) -> Option<(Kind, Key)> {
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(self.prefix.as_str())?;
        let (first, key) = rest.split_once(':')?;
        let kind = Kind::ALL.into_iter().find(|kind| folder(*kind) == first)?;
        (!key.is_empty()).then(|| (kind, Key::new(key)))
    }
}

fn folder(kind: Kind) -> &'static str {
    match kind {
        Kind::Extension => "extensions",
        Kind::Prompt => "templates",
        Kind::Environ => "environs",
        Kind::Tool => "tools",
        Kind::Agent => "agents",
        Kind::Database => "databases",
        Kind::Label => "labels",
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::slot::slot;
    use super::*;

    #[test]
    fn names_and_keys_map_to_each_other() {
        let layout = Layout::new(DEFAULT_PREFIX);
        let cases = [
            ("shenma:templates:ext:p", Some((Kind::Prompt, "ext:p"))),
            ("shenma:environs:a", Some((Kind::Environ, "a"))),
            ("shenma:tools:", None),
            ("shenma:other:a", None),
            ("shenma:tools", None),
            ("tools:a", None),
        ];
        for (name, expected) in cases {
            let parsed = layout.parse(name.as_bytes());
            let expected = expected.map(|(kind, key)| (kind, Key::new(key)));
            assert_eq!(parsed, expected, "{name}");
            if let Some((kind, key)) = parsed {
                assert_eq!(layout.name(kind, &key), name);
            }
        }
        assert_eq!(layout.parse(b"shenma:tools:\xff"), None);
    }

    #[test]
    fn names_of_one_id_share_a_slot() {
        let layout = Layout::new(DEFAULT_PREFIX);
        assert_eq!(layout.tagged("runs", "a:b"), "shenma:runs:{a:b}");
        for id in ["a}b", "{", "}", "%7B"] {
            let name = layout.tagged("runs", id);
            assert_eq!(
                slot(name.as_bytes()),
                slot(format!("{name}:x}}").as_bytes())
            );
        }
        assert_ne!(layout.tagged("runs", "{"), layout.tagged("runs", "%7B"));
    }

    #[test]
    fn glob_characters_of_a_prefix_are_escaped() {
        let layout = Layout::new("a*[b]?\\:");
        assert_eq!(layout.pattern(Kind::Tool), "a\\*\\[b\\]\\?\\\\:tools:*");
    }
}
