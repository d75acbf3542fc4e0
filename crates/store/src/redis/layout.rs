//! Names of Redis keys. Only this module uses the prefix.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use quillet_core::history::{label_key, labelled_definition};
use quillet_core::store::{EntryKey, EntryKind};

use super::slot::slot;

/// Characters to escape in ids.
const BRACES: &AsciiSet = &CONTROLS.add(b'{').add(b'}').add(b'%');

/// Group name of histories.
const HISTORY: &str = "history";

/// Default prefix of all keys.
pub const DEFAULT_PREFIX: &str = "shenma:";

/// Key names with one prefix: `<prefix><kind>:<key>`.
#[derive(Clone, Debug)]
pub(crate) struct KeyLayout {
    prefix: String,
}

impl KeyLayout {
    pub(crate) fn new(prefix: &str) -> Self {
        KeyLayout {
            prefix: prefix.to_owned(),
        }
    }

    /// Returns the common prefix of all keys of a kind.
    pub(crate) fn prefix(&self, kind: EntryKind) -> String {
        format!("{}{}:", self.prefix, folder(kind))
    }

    /// Returns the full name of a key. Labels are named after their definition.
    pub(crate) fn name(&self, kind: EntryKind, key: &EntryKey) -> String {
        match labelled_definition(key).filter(|_| kind == EntryKind::Label) {
            Some((of, key)) => self.beside(folder(kind), &self.name(of, &key)),
            None => format!("{}{}:{key}", self.prefix, folder(kind)),
        }
    }

    /// Returns the names of a definition, its history and its labels.
    pub(crate) fn names(&self, kind: EntryKind, key: &EntryKey) -> DefinitionKeys {
        DefinitionKeys {
            definition: self.name(kind, key),
            history: self.history(kind, key),
            labels: self.name(EntryKind::Label, &label_key(kind, key)),
        }
    }

    /// Returns the name of a definition's history.
    pub(crate) fn history(&self, kind: EntryKind, key: &EntryKey) -> String {
        self.beside(HISTORY, &self.name(kind, key))
    }

    /// Returns the name of a key that belongs to a definition and shares its hash slot.
    ///
    /// The slot is determined by the first text in braces, or by the whole name. A name without
    /// braces is therefore put into braces. A name that contains braces is left unchanged, because
    /// the same braces usually determine the slot of the result; see
    /// [`DefinitionKeys::share_a_slot`] for the exceptions.
    fn beside(&self, group: &str, definition: &str) -> String {
        if definition.contains(['{', '}']) {
            format!("{}{group}:{definition}", self.prefix)
        } else {
            format!("{}{group}:{{{definition}}}", self.prefix)
        }
    }

    /// Returns the definition that a key belongs to; `rest` is its name after the group.
    fn owner(&self, rest: &str) -> Option<(EntryKind, EntryKey)> {
        let inner = rest.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
        let plain = inner.filter(|inner| !inner.contains(['{', '}']));
        let braced = Some(rest).filter(|rest| rest.contains(['{', '}']));
        let definition = |name: &str| {
            let (first, key) = name.strip_prefix(self.prefix.as_str())?.split_once(':')?;
            let kind = kind_of(first).filter(|kind| kind.has_versions())?;
            (!key.is_empty()).then(|| (kind, EntryKey::new(key)))
        };
        plain
            .and_then(definition)
            .or_else(|| braced.and_then(definition))
    }

    /// Returns a glob pattern for the keys of a kind. Glob characters in the prefix are escaped.
    pub(crate) fn pattern(&self, kind: EntryKind) -> String {
        escaped(&self.prefix(kind)) + "*"
    }

    /// Returns a glob pattern that matches extensions, templates, tools, agents, databases and
    /// labels, but not environs and histories, which may be very numerous, nor the log. The first
    /// three letters distinguish them. SCAN visits every key of the database regardless of the
    /// pattern, so one pass is faster than six.
    pub(crate) fn pattern_of_definitions(&self) -> String {
        escaped(&self.prefix) + "[adelt][aegox][bemot]*"
    }

    /// Returns a glob pattern for all histories.
    pub(crate) fn pattern_of_histories(&self) -> String {
        escaped(&self.prefix) + HISTORY + ":*"
    }

    /// Returns the name of a key that belongs to a session or a run: `<prefix><group>:{<id>}`. All
    /// names with the same id share a hash slot, even with a suffix.
    pub(crate) fn tagged(&self, group: &str, id: &str) -> String {
        // A brace in the id would end the hash tag.
        let id = utf8_percent_encode(id, BRACES);
        format!("{}{group}:{{{id}}}", self.prefix)
    }

    /// Returns the name of a key for a whole group.
    pub(crate) fn group(&self, group: &str) -> String {
        format!("{}{group}", self.prefix)
    }

    /// Returns the names of a batch file, `file-<tag>` with an optional suffix `-output`, `-errors`
    /// or `-jobs`. All names with the same tag share a hash slot.
    pub(crate) fn file(&self, id: &str) -> FileNames {
        let rest = id.strip_prefix("file-").unwrap_or(id);
        let ends = ["-output", "-errors", "-jobs"].into_iter();
        let mut ended = ends.filter_map(|end| Some((rest.strip_suffix(end)?, end)));
        let (tag, end) = ended.next().unwrap_or((rest, ""));
        let info = self.tagged("files", tag) + &end.replace('-', ":");
        FileNames {
            pieces: format!("{info}:pieces"),
            info,
        }
    }

    /// Returns the names of a batch, `batch_<tag>`.
    pub(crate) fn batch(&self, id: &str) -> BatchNames {
        let tag = id.strip_prefix("batch_").unwrap_or(id);
        let state = self.tagged("batches", tag);
        BatchNames {
            units: format!("{state}:units"),
            state,
            output: self.file(&format!("file-{tag}-output")).pieces,
            errors: self.file(&format!("file-{tag}-errors")).pieces,
        }
    }

    /// Returns the name of the list of an owner's `files` or `batches`.
    pub(crate) fn owned(&self, owner: &str, what: &str) -> String {
        self.tagged("owners", owner) + ":" + what
    }

    /// Parses a full name into kind and key; `None` if the name has another prefix, is not UTF-8 or
    /// has an empty key.
    pub(crate) fn parse(&self, name: &[u8]) -> Option<(EntryKind, EntryKey)> {
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(self.prefix.as_str())?;
        let (first, rest) = rest.split_once(':')?;
        let kind = kind_of(first)?;
        if rest.is_empty() {
            return None;
        }
        if kind != EntryKind::Label {
            return Some((kind, EntryKey::new(rest)));
        }
        if let Some((of, key)) = self.owner(rest) {
            return Some((kind, label_key(of, &key)));
        }
        // A key that looks like the labels of another definition's labels is never read.
        let key = EntryKey::new(rest);
        labelled_definition(&key).is_none().then_some((kind, key))
    }

    /// Returns the definition whose history has this name; `None` if it is not the name of a
    /// history.
    pub(crate) fn parse_history(&self, name: &[u8]) -> Option<(EntryKind, EntryKey)> {
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(self.prefix.as_str())?;
        self.owner(rest.strip_prefix(HISTORY)?.strip_prefix(':')?)
    }
}

/// Key names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileNames {
    /// Metadata.
    pub(crate) info: String,
    /// Chunks.
    pub(crate) pieces: String,
}

/// Key names of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchNames {
    /// State.
    pub(crate) state: String,
    /// Incomplete units.
    pub(crate) units: String,
    /// Chunks of the successful results.
    pub(crate) output: String,
    /// Chunks of the failed results.
    pub(crate) errors: String,
}

/// Key names of a definition, its history and its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinitionKeys {
    pub(crate) definition: String,
    pub(crate) history: String,
    pub(crate) labels: String,
}

impl DefinitionKeys {
    /// Whether all names share a hash slot, so one script may change them in a cluster.
    pub(crate) fn share_a_slot(&self) -> bool {
        let slot_of = |name: &String| slot(name.as_bytes());
        let at = slot_of(&self.definition);
        [&self.history, &self.labels]
            .into_iter()
            .all(|name| slot_of(name) == at)
    }
}

fn kind_of(word: &str) -> Option<EntryKind> {
    EntryKind::ALL
        .into_iter()
        .find(|kind| folder(*kind) == word)
}

fn folder(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Extension => "extensions",
        EntryKind::Prompt => "templates",
        EntryKind::Environ => "environs",
        EntryKind::Tool => "tools",
        EntryKind::Agent => "agents",
        EntryKind::Database => "databases",
        EntryKind::Label => "labels",
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
        let layout = KeyLayout::new(DEFAULT_PREFIX);
        let cases = [
            ("shenma:templates:ext:p", Some((EntryKind::Prompt, "ext:p"))),
            ("shenma:environs:a", Some((EntryKind::Environ, "a"))),
            ("shenma:tools:", None),
            ("shenma:other:a", None),
            ("shenma:tools", None),
            ("tools:a", None),
            (
                "shenma:labels:{shenma:templates:ext:p}",
                Some((EntryKind::Label, "prompt:ext:p")),
            ),
            (
                "shenma:labels:shenma:tools:{t}:a",
                Some((EntryKind::Label, "tool:{t}:a")),
            ),
            ("shenma:labels:other", Some((EntryKind::Label, "other"))),
            ("shenma:labels:prompt:ext:p", None),
            ("shenma:history:{shenma:templates:ext:p}", None),
        ];
        for (name, expected) in cases {
            let parsed = layout.parse(name.as_bytes());
            let expected = expected.map(|(kind, key)| (kind, EntryKey::new(key)));
            assert_eq!(parsed, expected, "{name}");
            if let Some((kind, key)) = parsed {
                assert_eq!(layout.name(kind, &key), name);
            }
        }
        assert_eq!(layout.parse(b"shenma:tools:\xff"), None);
    }

    #[test]
    fn names_of_one_id_share_a_slot() {
        let layout = KeyLayout::new(DEFAULT_PREFIX);
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
    fn what_belongs_to_a_definition_is_in_its_slot() {
        for (prefix, key, together) in [
            ("shenma:", "greet:hello", true),
            ("shenma:", "陈:a b@1", true),
            ("shenma:", "{t}:a", true),
            ("shenma:", "a{t}{u}", true),
            ("{s}:", "greet:hello", true),
            ("{s}:", "a{", true),
            ("shenma:", "a{", false),
            ("shenma:", "a}b", false),
            ("shenma:", "{}a", false),
            ("s{:", "a}b", false),
        ] {
            let (layout, key) = (KeyLayout::new(prefix), EntryKey::new(key));
            let names = layout.names(EntryKind::Agent, &key);
            assert_eq!(names.share_a_slot(), together, "{names:?}");
            let of = Some((EntryKind::Agent, key.clone()));
            assert_eq!(layout.parse_history(names.history.as_bytes()), of);
            let labels = Some((EntryKind::Label, label_key(EntryKind::Agent, &key)));
            assert_eq!(layout.parse(names.labels.as_bytes()), labels);
        }
    }

    #[test]
    fn the_pattern_of_definitions_takes_those_alone() {
        let layout = KeyLayout::new("");
        let pattern = layout.pattern_of_definitions();
        let sets = pattern.trim_end_matches('*').split_inclusive(']');
        let fits = |name: &str| {
            let letters = name.chars();
            sets.clone().zip(letters).all(|(set, c)| set.contains(c))
        };
        for kind in EntryKind::ALL {
            let name = layout.name(kind, &label_key(EntryKind::Prompt, &EntryKey::new("a")));
            assert_eq!(fits(&name), kind != EntryKind::Environ, "{name}");
        }
        for group in [
            "history", "log", "archive", "sessions", "journal", "runs", "keys", "cancels", "rates",
        ] {
            assert!(!fits(&layout.group(group)), "{group}");
        }
    }

    #[test]
    fn glob_characters_of_a_prefix_are_escaped() {
        let layout = KeyLayout::new("a*[b]?\\:");
        assert_eq!(
            layout.pattern(EntryKind::Tool),
            "a\\*\\[b\\]\\?\\\\:tools:*"
        );
    }
}
