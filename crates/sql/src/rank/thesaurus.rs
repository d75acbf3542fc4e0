//! Synonyms from the users' glossary and from a small list of Chinese and English business terms.

use foldhash::{HashMap, HashMapExt};

use super::glossary::Glossary;
use super::split::{TextRun, pieces};
use super::terms::{Terms, base};

/// Groups of synonyms, one per line.
const BUSINESS: &str = include_str!("dictionary/business.txt");
/// Maximum words or characters of an entry that are compared with a question.
const LONGEST: usize = 8;

/// A synonym of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Synonym {
    /// Terms that belong together, such as `order` and `item`.
    pub(super) parts: Vec<String>,
    /// Whether the user defined it; a built-in synonym is only probable.
    pub(super) is_given: bool,
}

/// Words with their synonyms.
#[derive(Debug, Default)]
pub(super) struct Thesaurus {
    others: HashMap<String, Vec<Synonym>>,
}

impl Thesaurus {
    /// Creates a thesaurus from the built-in list and a glossary, which works in both directions.
    pub(super) fn new(glossary: &Glossary, terms: &Terms) -> Self {
        let mut thesaurus = Thesaurus {
            others: HashMap::new(),
        };
        let groups = BUSINESS.lines().filter(|line| !line.starts_with('#'));
        for group in groups {
            let words: Vec<&str> = group.split_whitespace().collect();
            for word in &words {
                for other in words.iter().filter(|other| *other != word) {
                    thesaurus.put(word, other, false, terms);
                }
            }
        }
        for (word, others) in &glossary.entries {
            for other in others {
                thesaurus.put(word, other, true, terms);
                // Each pair works in both directions, because users write pairs in either order.
                thesaurus.put(other, word, true, terms);
            }
        }
        thesaurus
    }

    fn put(&mut self, word: &str, other: &str, is_given: bool, terms: &Terms) {
        let mut parts = Vec::new();
        terms.of(other, |term| parts.push(term));
        parts.dedup();
        let other = Synonym { parts, is_given };
        let known = self.others.entry(key(word)).or_default();
        if !other.parts.is_empty() && !known.contains(&other) {
            known.push(other);
        }
    }

    /// Returns the longest entry that starts with these words, with its length in words.
    pub(super) fn of_words(&self, words: &[String]) -> Option<(usize, String, &[Synonym])> {
        self.longest(words.len(), |length| words[..length].join(" "))
    }

    /// Returns the longest entry that starts with these characters, with its length.
    pub(super) fn of_characters(&self, chars: &[char]) -> Option<(usize, String, &[Synonym])> {
        self.longest(chars.len(), |length| chars[..length].iter().collect())
    }

    fn longest(
        &self,
        most: usize,
        key: impl Fn(usize) -> String,
    ) -> Option<(usize, String, &[Synonym])> {
        (1..=most.min(LONGEST)).rev().find_map(|length| {
            let key = key(length);
            let others = self.others.get(&key)?;
            Some((length, key, others.as_slice()))
        })
    }
}

/// Returns the lookup key of an entry: base forms separated by spaces.
fn key(text: &str) -> String {
    let part = |piece| match piece {
        TextRun::Word(word) => base(&word),
        TextRun::Number(digits) => digits,
        TextRun::Characters(run) => run.into_iter().collect(),
    };
    let parts: Vec<String> = pieces(text).into_iter().map(part).collect();
    parts.join(" ")
}
