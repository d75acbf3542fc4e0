//! Normalizes words to terms, so that equal words in questions and names become the same term.

use foldhash::HashMap;

use super::dictionary::ENGLISH;
use super::split::{TextRun, bigrams, pieces};
use super::stem::stem;
use crate::catalogue::DatabaseTable;

/// Minimum length of a word that may be a compound without separators.
const SHORTEST_TO_CUT: usize = 6;
/// Cost in bits of a schema word that is not in the dictionary.
const OWN_WORD: f32 = 14.0;
/// Cost in bits of a function word. The dictionary contains only nouns, verbs and adjectives.
const LINK_WORD: f32 = 7.0;
/// Additional cost in bits of a two-letter part, because most of them are symbols instead of words.
const TWO_LETTERS: f32 = 4.0;
/// Additional cost in bits of an inflected form.
const INFLECTED: f32 = 1.0;
/// Costs in bits of a part that is not a word: for the part, and for each letter.
const NO_WORD: f32 = 8.0;
const NO_WORD_LETTER: f32 = 4.7;
/// Maximum letters of such a part.
const LONGEST_NO_WORD: usize = 5;
/// Maximum cost per letter for which a compound is split.
const DEAREST_LETTER: f32 = 5.0;

const LINKS: &[&str] = &[
    "a", "an", "and", "as", "at", "by", "for", "from", "has", "have", "id", "in", "is", "its",
    "not", "of", "on", "or", "per", "than", "that", "the", "to", "with",
];

/// Vocabulary of a schema, in addition to the dictionary.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    own: HashMap<String, u32>,
}

impl Terms {
    /// Collects the words in names of tables and columns.
    pub(crate) fn of_tables(tables: &[DatabaseTable]) -> Self {
        let mut terms = Terms::default();
        for table in tables {
            terms.learn(&table.table_name);
            for column in &table.columns {
                terms.learn(&column.name);
            }
        }
        terms
    }

    /// Adds the words of a name, so that they are found inside compounds: `tbl` in `tblorder`.
    fn learn(&mut self, text: &str) {
        for piece in pieces(text) {
            if let TextRun::Word(word) = piece
                && (3..=12).contains(&word.len())
            {
                *self.own.entry(word).or_insert(0) += 1;
            }
        }
    }

    /// Passes the terms of a text to a callback, in order. A compound gives itself and its parts.
    pub(crate) fn of(&self, text: &str, mut each: impl FnMut(String)) {
        for piece in pieces(text) {
            match piece {
                TextRun::Number(digits) => each(digits),
                TextRun::Characters(run) => bigrams(&run).into_iter().for_each(&mut each),
                TextRun::Word(word) => {
                    let parts = self.cut(&word);
                    if parts.len() > 1 {
                        parts.iter().for_each(|part| each(base(part)));
                    }
                    each(base(&word));
                }
            }
        }
    }

    /// Splits a compound into its words; any other word is returned alone.
    pub(super) fn cut(&self, word: &str) -> Vec<String> {
        if word.len() < SHORTEST_TO_CUT || !word.is_ascii() || is_known(&base(word)) {
            return vec![word.to_owned()];
        }
        self.cheapest(word).unwrap_or_else(|| vec![word.to_owned()])
    }

    /// Returns the most probable split of a word (unigram segmentation), if one is probable enough.
    fn cheapest(&self, word: &str) -> Option<Vec<String>> {
        let mut best: Vec<Option<(f32, usize)>> = vec![None; word.len() + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=word.len() {
            // Parts are limited to 20 letters, which makes the search linear in the length of the
            // word.
            for start in end.saturating_sub(20)..end {
                let Some((before, _)) = best[start] else {
                    continue;
                };
                let Some(cost) = self.cost(&word[start..end]) else {
                    continue;
                };
                if best[end].is_none_or(|(known, _)| before + cost < known) {
                    best[end] = Some((before + cost, start));
                }
            }
        }
        let (cost, _) = best[word.len()]?;
        if cost > DEAREST_LETTER * word.len() as f32 {
            return None;
        }
        let mut parts = Vec::new();
        let mut end = word.len();
        while end > 0 {
            let (_, start) = best[end]?;
            parts.push(word[start..end].to_owned());
            end = start;
        }
        parts.reverse();
        (parts.len() > 1).then_some(parts)
    }

    fn cost(&self, part: &str) -> Option<f32> {
        if LINKS.contains(&part) {
            return Some(LINK_WORD);
        }
        let short = if part.len() == 2 { TWO_LETTERS } else { 0.0 };
        if let Some(number) = ENGLISH.find(part).filter(|_| part.len() > 1) {
            return Some(ENGLISH.cost(number) + short);
        }
        if self.own.get(part).is_some_and(|count| *count > 1) {
            return Some(OWN_WORD);
        }
        if part.len() > 3
            && part.ends_with(['s', 'd', 'g'])
            && let Some(number) = ENGLISH.find(&base(part))
        {
            return Some(ENGLISH.cost(number) + INFLECTED);
        }
        let letters = part.len() as f32;
        (part.len() <= LONGEST_NO_WORD).then_some(NO_WORD + NO_WORD_LETTER * letters)
    }
}

/// Returns whether a word is in the dictionary unchanged.
pub(super) fn is_known(word: &str) -> bool {
    LINKS.contains(&word) || ENGLISH.find(word).is_some()
}

/// Returns the base form used for comparison: `child` for `children`, `category` for `categories`.
pub(super) fn base(word: &str) -> String {
    let irregular = ENGLISH.find(word).and_then(|number| ENGLISH.base(number));
    irregular.map_or_else(|| stem(word, is_known), str::to_owned)
}
