//! How keys of Redis are named. The prefix appears here and nowhere else.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use quillet_core::history::{label_key, labelled_definition};
use quillet_core::store::{EntryKey, EntryKind};

use super::slot::slot;

/// What is escaped in ids.
const BRACES: &AsciiSet = &CONTROLS.add(b'{').add(b'}').add(b'%');

/// Of what histories are named after.
const HISTORY: &str = "history";

/// What all keys begin with unless a setting says otherwise.
pub const DEFAULT_PREFIX: &str = "shenma:";

/// The key names under one prefix: `<prefix><kind>:<key>`.
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

    /// What every key of a kind begins with.
    pub(crate) fn prefix(&self, kind: EntryKind) -> String {
        format!("{}{}:", self.prefix, folder(kind))
    }

    /// The whole name of a key. Labels are named after the definition that they belong to.
    pub(crate) fn name(&self, kind: EntryKind, key: &EntryKey) -> String {
        match labelled_definition(key).filter(|_| kind == EntryKind::Label) {
            Some((of, key)) => self.beside(folder(kind), &self.name(of, &key)),
            None => format!("{}{}:{key}", self.prefix, folder(kind)),
        }
    }

    /// The names of a definition and of what belongs to it.
    pub(crate) fn names(&self, kind: EntryKind, key: &EntryKey) -> DefinitionKeys {
        DefinitionKeys {
            definition: self.name(kind, key),
            history: self.history(kind, key),
            labels: self.name(EntryKind::Label, &label_key(kind, key)),
        }
    }

    /// The name of the history of a definition.
    pub(crate) fn history(&self, kind: EntryKind, key: &EntryKey) -> String {
        self.beside(HISTORY, &self.name(kind, key))
    }

    /// The name of something that belongs to a definition and lies in its slot.
    ///
    /// A slot follows from the first text in braces, else from the whole name. So a name without
    /// braces goes into a pair; one that has braces already is left as it is, for they decide here
    /// too, unless they are odd ones: see [`DefinitionKeys::share_a_slot`].
    fn beside(&self, group: &str, definition: &str) -> String {
        if definition.contains(['{', '}']) {
            format!("{}{group}:{definition}", self.prefix)
        } else {
            format!("{}{group}:{{{definition}}}", self.prefix)
        }
    }

    /// The definition that something belongs to, from what follows its group.
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

    /// A glob pattern for the keys of a kind; glob characters of the prefix stand for themselves.
    pub(crate) fn pattern(&self, kind: EntryKind) -> String {
        escaped(&self.prefix(kind)) + "*"
    }

    /// A glob pattern for extensions, templates, tools, agents, databases and labels, and not for
    /// environs and histories, of which there may be very many, nor for the log: the first three
    /// letters tell them apart. SCAN looks at every key of the database whatever the pattern, so
    /// one pass is better than six.
    pub(crate) fn pattern_of_definitions(&self) -> String {
        escaped(&self.prefix) + "[adelt][aegox][bemot]*"
    }

    /// A glob pattern for all histories.
    pub(crate) fn pattern_of_histories(&self) -> String {
        escaped(&self.prefix) + HISTORY + ":*"
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

    /// The names of a file of a batch, `file-<tag>`, or that and `-output`, `-errors` or `-jobs`:
    /// what belongs to a tag lies in one slot.
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

    /// The names of a batch, `batch_<tag>`.
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

    /// The name of the list of what somebody owns: `files`, `batches`.
    pub(crate) fn owned(&self, owner: &str, what: &str) -> String {
        self.tagged("owners", owner) + ":" + what
    }

    /// The kind and key of a whole name; `None` for a name that is not ours,
    /// not UTF-8, or ends with its prefix.
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
        // Nobody reads labels that are named like a definition's, and stand elsewhere.
        let key = EntryKey::new(rest);
        labelled_definition(&key).is_none().then_some((kind, key))
    }

    /// The definition whose history has this name; `None` for a name that is none.
    pub(crate) fn parse_history(&self, name: &[u8]) -> Option<(EntryKind, EntryKey)> {
        let name = std::str::from_utf8(name).ok()?;
        let rest = name.strip_prefix(self.prefix.as_str())?;
        self.owner(rest.strip_prefix(HISTORY)?.strip_prefix(':')?)
    }
}

/// The names of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileNames {
    /// What is known of it.
    pub(crate) info: String,
    /// Its pieces.
    pub(crate) pieces: String,
}

/// The names of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchNames {
    /// How it stands.
    pub(crate) state: String,
    /// Its units that are not done.
    pub(crate) units: String,
    /// The pieces of what was answered.
    pub(crate) output: String,
    /// The pieces of what was not.
    pub(crate) errors: String,
}

/// The names of a definition and of what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinitionKeys {
    pub(crate) definition: String,
    pub(crate) history: String,
    pub(crate) labels: String,
}

impl DefinitionKeys {
    /// Whether a cluster keeps them together, so that one script may change them all.
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
