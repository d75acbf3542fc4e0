//! Detects names of copies and partitions: `orders_2023`, `orders_p7`, `orders_archive`.

use foldhash::{HashSet, HashSetExt};

use super::split::{TextRun, pieces};

/// Suffixes of copies, grouped by meaning.
const COPIES: [&[&str]; 6] = [
    &["archive", "archives", "archived", "arch", "归档", "存档"],
    &["history", "histories", "historical", "hist", "历史"],
    &["backup", "backups", "bak", "bkp", "bk", "备份"],
    &["old", "旧"],
    &["copy", "copies", "副本"],
    &["tmp", "temp", "temporary", "临时"],
];
/// Prefixes of partition numbers: `p7`, `y2023m01`.
const PIECES: [&str; 13] = [
    "p",
    "part",
    "partition",
    "y",
    "year",
    "m",
    "month",
    "q",
    "quarter",
    "w",
    "week",
    "d",
    "shard",
];
/// Ranges of numbers that are years, months and days.
const DATES: [std::ops::RangeInclusive<u64>; 3] =
    [1980..=2100, 198_001..=210_012, 19_800_101..=21_001_231];

/// Distinguishing mark of a copy or partition in its name. The order is: copies, older partitions,
/// newer partitions, and last the table without a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyMark {
    kind: CopyKind,
    numbers: Vec<u64>,
    /// Indexes into [`COPIES`].
    copies: Vec<usize>,
    /// Whether the mark is used only for copies and partitions.
    is_sure: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum CopyKind {
    Copy,
    Piece,
    #[default]
    Whole,
}

impl CopyMark {
    pub(super) fn is_empty(&self) -> bool {
        self.kind == CopyKind::Whole
    }

    pub(super) fn is_sure(&self) -> bool {
        self.is_sure
    }

    fn number(&mut self, digits: &str, is_piece: bool) {
        let Ok(number) = digits.parse() else { return };
        self.is_sure |= is_piece || DATES.iter().any(|dates| dates.contains(&number));
        self.numbers.push(number);
        self.kind = self.kind.min(CopyKind::Piece);
    }

    fn copy(&mut self, place: usize) {
        self.copies.push(place);
        self.is_sure = true;
        self.kind = CopyKind::Copy;
    }
}

/// Splits a name into its base and its mark. A name that consists only of marks is returned
/// unchanged, without a mark.
pub(super) fn marks(name: &str) -> (String, CopyMark) {
    let mut mark = CopyMark::default();
    let mut stem = String::new();
    let pieces = pieces(name);
    for (i, piece) in pieces.iter().enumerate() {
        let is_numbered = matches!(pieces.get(i + 1), Some(TextRun::Number(_)));
        let is_piece = |word: &str| i > 0 && PIECES.contains(&word);
        match piece {
            TextRun::Number(digits) => {
                let before = i.checked_sub(1).and_then(|before| pieces.get(before));
                let follows = matches!(before, Some(TextRun::Word(word)) if PIECES.contains(&word.as_str()) && i > 1);
                mark.number(digits, follows);
            }
            TextRun::Word(word) if is_numbered && is_piece(word) => {}
            TextRun::Word(word) => match copy(word) {
                Some(place) => mark.copy(place),
                None => add(&mut stem, word),
            },
            TextRun::Characters(run) => {
                let text: String = run.iter().collect();
                let end = COPIES.iter().enumerate().find_map(|(place, words)| {
                    let rest = words.iter().find_map(|word| text.strip_suffix(word))?;
                    Some((place, rest.to_owned()))
                });
                if let Some((place, _)) = end {
                    mark.copy(place);
                }
                add(&mut stem, &end.map_or(text, |(_, rest)| rest));
            }
        }
    }
    if stem.is_empty() {
        return (name.to_owned(), CopyMark::default());
    }
    (stem, mark)
}

fn add(stem: &mut String, word: &str) {
    if !word.is_empty() {
        stem.push('_');
        stem.push_str(word);
    }
}

fn copy(word: &str) -> Option<usize> {
    COPIES.iter().position(|words| words.contains(&word))
}

/// Marks that a question mentions.
#[derive(Debug, Default)]
pub(super) struct NamedMarks {
    numbers: HashSet<u64>,
    copies: HashSet<usize>,
}

impl NamedMarks {
    pub(super) fn read(question: &str) -> Self {
        let mut asked = NamedMarks {
            numbers: numbers(question),
            copies: HashSet::new(),
        };
        for piece in pieces(question) {
            match piece {
                TextRun::Word(word) => asked.copies.extend(copy(&word)),
                TextRun::Characters(run) => {
                    let text: String = run.iter().collect();
                    let named = |words: &[&str]| words.iter().any(|word| text.contains(word));
                    let places = (0..COPIES.len()).filter(|place| named(COPIES[*place]));
                    asked.copies.extend(places);
                }
                TextRun::Number(_) => {}
            }
        }
        asked
    }

    /// Returns how many parts of a mark the question mentions.
    pub(super) fn named(&self, mark: &CopyMark) -> usize {
        let numbers = mark.numbers.iter().filter(|n| self.numbers.contains(n));
        let copies = mark
            .copies
            .iter()
            .filter(|place| self.copies.contains(place));
        numbers.count() + copies.count()
    }
}

/// Returns the numbers in a question; `2023-01` and `202301` are equal.
fn numbers(question: &str) -> HashSet<u64> {
    let single = pieces(question)
        .into_iter()
        .filter_map(|piece| match piece {
            TextRun::Number(digits) => digits.parse().ok(),
            _ => None,
        });
    let single: Vec<u64> = single.collect();
    let joined = single.windows(2).filter(|pair| (1..=31).contains(&pair[1]));
    let joined: Vec<u64> = joined
        .filter_map(|pair| pair[0].checked_mul(100)?.checked_add(pair[1]))
        .collect();
    let parts = single.iter().filter(|n| (190_001..=210_012).contains(*n));
    let parts: Vec<u64> = parts.flat_map(|n| [n / 100, n % 100]).collect();
    single.into_iter().chain(joined).chain(parts).collect()
}
