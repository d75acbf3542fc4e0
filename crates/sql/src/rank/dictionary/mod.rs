//! A dictionary of English words with their frequency, base form and related words.
//! `scripts/words/words.py` generates it from WordNet 3.0, whose notice is in `NOTICE` in this
//! folder.
//!
//! Format of `english.bin`: `QWN1`, the number of words and the length of their texts (u32 each),
//! then the words in order (number of letters shared with the previous word, number of further
//! letters, those letters). Next comes one byte for the rarity of each word (eighths of a bit).
//! Finally, each word has a count and that many pairs of a word's number (u16) and a weight (u8;
//! 255 marks the base form of an irregular word). Numbers are little-endian.

use std::sync::LazyLock;

static DATA: &[u8] = include_bytes!("english.bin");

/// The dictionary, loaded on first use in a few milliseconds.
pub(super) static ENGLISH: LazyLock<WordList> =
    LazyLock::new(|| WordList::read(DATA).unwrap_or_default());

/// A word list.
#[derive(Debug, Default)]
pub(super) struct WordList {
    text: String,
    ends: Vec<u32>,
    costs: &'static [u8],
    relations: &'static [u8],
    relation_starts: Vec<u32>,
    /// Offsets of the words for each pair of first letters, to shorten searches.
    beginnings: Vec<u32>,
}

/// Index of a word in the list.
pub(super) type WordIndex = u16;

const BASE: u8 = 255;
/// Weight that represents 1.
const FULL: f32 = 254.0;

impl WordList {
    fn read(data: &'static [u8]) -> Option<WordList> {
        let rest = data.strip_prefix(b"QWN1")?;
        let (count, rest) = number(rest)?;
        let (length, rest) = number(rest)?;
        let (mut texts, rest) = rest.split_at_checked(length)?;
        let (costs, relations) = rest.split_at_checked(count)?;
        let mut words = WordList {
            costs,
            relations,
            ..WordList::default()
        };
        let mut word = String::new();
        while let [shared, own, rest @ ..] = texts {
            let (letters, rest) = rest.split_at_checked(usize::from(*own))?;
            word.truncate(usize::from(*shared));
            word.push_str(std::str::from_utf8(letters).ok()?);
            words.text.push_str(&word);
            words.ends.push(u32::try_from(words.text.len()).ok()?);
            texts = rest;
        }
        let mut at = 0;
        for _ in 0..count {
            words.relation_starts.push(u32::try_from(at).ok()?);
            at += 1 + 3 * usize::from(*relations.get(at)?);
        }
        words.beginnings = vec![0; BEGINNINGS + 1];
        for i in 0..words.ends.len() {
            let place = beginning(words.word(i))?;
            words.beginnings[place + 1] += 1;
        }
        for i in 0..BEGINNINGS {
            words.beginnings[i + 1] += words.beginnings[i];
        }
        Some(words)
    }

    fn word(&self, i: usize) -> &str {
        let start = i
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[i] as usize]
    }

    /// Returns the index of a lowercase word.
    pub(super) fn find(&self, word: &str) -> Option<WordIndex> {
        let place = beginning(word)?;
        let (mut low, mut high) = match self.beginnings.get(place..=place + 1) {
            Some([low, high]) => (*low as usize, *high as usize),
            _ => return None,
        };
        while low < high {
            let middle = low.midpoint(high);
            match self.word(middle).cmp(word) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return WordIndex::try_from(middle).ok(),
            }
        }
        None
    }

    /// Returns the rarity of a word in bits.
    pub(super) fn cost(&self, number: WordIndex) -> f32 {
        f32::from(
            self.costs
                .get(usize::from(number))
                .copied()
                .unwrap_or(u8::MAX),
        ) / 8.0
    }

    /// Returns the base form of an irregular word: `child` for `children`.
    pub(super) fn base(&self, number: WordIndex) -> Option<&str> {
        let mut pairs = self.pairs(number);
        let (base, _) = pairs.find(|(_, weight)| *weight == BASE)?;
        Some(self.word(usize::from(base)))
    }

    /// Returns related words, most related first, with their relatedness of up to 1.
    pub(super) fn related(&self, number: WordIndex) -> impl Iterator<Item = (&str, f32)> {
        let pairs = self.pairs(number).filter(|(_, weight)| *weight != BASE);
        pairs.map(|(other, weight)| (self.word(usize::from(other)), f32::from(weight) / FULL))
    }

    fn pairs(&self, number: WordIndex) -> impl Iterator<Item = (WordIndex, u8)> {
        let start = self.relation_starts.get(usize::from(number));
        let bytes = start.and_then(|start| self.relations.get(*start as usize..));
        let (count, bytes) = bytes.and_then(<[u8]>::split_first).unwrap_or((&0, &[]));
        let (pairs, _) = bytes.as_chunks::<3>();
        pairs
            .iter()
            .take(usize::from(*count))
            .map(|[low, high, weight]| (WordIndex::from_le_bytes([*low, *high]), *weight))
            .filter(|(other, _)| usize::from(*other) < self.ends.len())
    }
}

/// Number of pairs of first letters.
const BEGINNINGS: usize = 26 * 26;

/// Returns the index of a word's first two letters. The list does not contain shorter words.
fn beginning(word: &str) -> Option<usize> {
    let letter = |i: usize| {
        let letter = word.as_bytes().get(i).filter(|b| b.is_ascii_lowercase())?;
        Some(usize::from(letter - b'a'))
    };
    Some(letter(0)? * 26 + letter(1)?)
}

fn number(data: &[u8]) -> Option<(usize, &[u8])> {
    let (bytes, rest) = data.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*bytes) as usize, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_whole() {
        let words = WordList::read(DATA).expect("the list is in order");
        assert!(words.ends.len() > 30_000);
        assert_eq!(words.costs.len(), words.ends.len());
        let sorted = (1..words.ends.len()).all(|i| words.word(i - 1) < words.word(i));
        assert!(sorted);
        assert_eq!(words.find("zzz"), None);
    }

    #[test]
    fn words_have_bases_and_neighbours() {
        let children = ENGLISH.find("children").expect("known");
        assert_eq!(ENGLISH.base(children), Some("child"));
        for (word, near) in [
            ("purchase", "buy"),
            ("salary", "wage"),
            ("doctor", "physician"),
        ] {
            let number = ENGLISH.find(word).expect("known");
            assert!(
                ENGLISH.related(number).any(|(w, _)| w == near),
                "{word}: {near}"
            );
        }
    }
}
