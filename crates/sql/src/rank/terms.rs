//! Words to terms: what is the same for a question and for a name becomes one term.

use foldhash::HashMap;

use super::dictionary::ENGLISH;
use super::split::{TextRun, bigrams, pieces};
use super::stem::stem;
use crate::catalogue::DatabaseTable;

/// Shorter words are not looked into for words without a seam.
const SHORTEST_TO_CUT: usize = 6;
/// Bits that a word of the schema costs that is in no dictionary.
const OWN_WORD: f32 = 14.0;
/// Bits that a link word costs: they are in no dictionary of nouns, verbs and adjectives.
const LINK_WORD: f32 = 7.0;
/// Bits on top for a piece of two letters, most of which are symbols and not words.
const TWO_LETTERS: f32 = 4.0;
/// Bits on top for an inflected form.
const INFLECTED: f32 = 1.0;
/// Bits that a piece costs that is no word at all, and each of its letters.
const NO_WORD: f32 = 8.0;
const NO_WORD_LETTER: f32 = 4.7;
/// Most letters of such a piece.
const LONGEST_NO_WORD: usize = 5;
/// A word is cut only where the pieces cost less than this for each letter.
const DEAREST_LETTER: f32 = 5.0;

const LINKS: &[&str] = &[
    "a", "an", "and", "as", "at", "by", "for", "from", "has", "have", "id", "in", "is", "its",
    "not", "of", "on", "or", "per", "than", "that", "the", "to", "with",
];

/// What a schema's words are made of: its own words besides the dictionary's.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    own: HashMap<String, u32>,
}

impl Terms {
    /// The words of names of tables and columns.
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

    /// Notes a name's words, so that they are found inside longer ones: `tbl` in `tblorder`.
    fn learn(&mut self, text: &str) {
        for piece in pieces(text) {
            if let TextRun::Word(word) = piece
                && (3..=12).contains(&word.len())
            {
                *self.own.entry(word).or_insert(0) += 1;
            }
        }
    }

    /// The terms of a text, in order. A word without seams gives itself and its parts.
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

    /// The words that a word was written together from; itself if it is one.
    pub(super) fn cut(&self, word: &str) -> Vec<String> {
        if word.len() < SHORTEST_TO_CUT || !word.is_ascii() || is_known(&base(word)) {
            return vec![word.to_owned()];
        }
        self.cheapest(word).unwrap_or_else(|| vec![word.to_owned()])
    }

    /// The likeliest way to read a word as several (unigram segmentation), if there is one
    /// that is likely enough.
    fn cheapest(&self, word: &str) -> Option<Vec<String>> {
        let mut best: Vec<Option<(f32, usize)>> = vec![None; word.len() + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=word.len() {
            // No part is longer than 20 letters, which keeps the search linear in the length of the
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

/// Whether a word is in the dictionary as it is.
pub(super) fn is_known(word: &str) -> bool {
    LINKS.contains(&word) || ENGLISH.find(word).is_some()
}

/// The form that a word is compared by: `children` is `child`, `categories` is `category`.
pub(super) fn base(word: &str) -> String {
    let irregular = ENGLISH.find(word).and_then(|number| ENGLISH.base(number));
    irregular.map_or_else(|| stem(word, is_known), str::to_owned)
}
