//! Inverted index: the tables that contain each term, with their BM25F weights.

use foldhash::{HashMap, HashMapExt};

use super::stem::root;
use super::terms::{Terms, is_known};
use crate::catalogue::DatabaseTable;

/// BM25 saturation of repeated terms. It is lower than the usual 1.2, because repetition in names
/// adds little relevance.
const SATURATION: f32 = 0.6;

/// Indexed fields of a table, with the weight of a term and the length normalization.
#[derive(Clone, Copy)]
struct IndexField {
    weight: f32,
    by_length: f32,
}

const SCHEMA: usize = 0;
const NAME: usize = 1;
const COMMENT: usize = 2;
const COLUMN: usize = 3;
const COLUMN_COMMENT: usize = 4;
const FIELDS: [IndexField; 5] = [
    IndexField::new(OF_SCHEMA, 0.3),
    IndexField::new(OF_NAME, OF_NAME_LENGTH),
    IndexField::new(OF_COMMENT, 0.75),
    IndexField::new(OF_COLUMN, OF_COLUMN_LENGTH),
    IndexField::new(OF_COLUMN_COMMENT, 0.6),
];
const OF_SCHEMA: f32 = 1.0;
const OF_NAME: f32 = 4.0;
const OF_COMMENT: f32 = 3.0;
const OF_COLUMN: f32 = 1.0;
const OF_COLUMN_COMMENT: f32 = 1.0;
const OF_NAME_LENGTH: f32 = 0.75;
const OF_COLUMN_LENGTH: f32 = 0.3;

/// Minimum weight of a term that all tables contain.
const RARITY_FLOOR: f32 = 0.5;

/// Number of a term.
pub(super) type Term = u32;

/// A table that contains a term.
#[derive(Clone, Copy)]
pub(super) struct Posting {
    pub(super) table: u32,
    /// Weight of the term in the table, below 2.2.
    pub(super) amount: f32,
    /// Whether the name and the comment contain the term.
    pub(super) is_called: [bool; 2],
}

/// Terms with their postings.
#[derive(Debug, Default)]
pub(super) struct Postings {
    numbers: HashMap<String, Term>,
    starts: Vec<u32>,
    tables: Vec<u32>,
    weights: Vec<f32>,
    /// Fields that contain the term, one bit each.
    fields: Vec<u8>,
    rarity: Vec<f32>,
    /// Terms by their common root.
    families: HashMap<String, Vec<Term>>,
    /// Short terms that are not words, which may be abbreviations.
    short: Vec<(String, Term)>,
    /// Two-character terms by each of their characters.
    holders: HashMap<char, Vec<Term>>,
}

struct TermReader<'a> {
    terms: &'a Terms,
    numbers: HashMap<String, Term>,
    cache: HashMap<&'a str, Vec<Term>>,
    found: Vec<(Term, u32, u8)>,
    lengths: Vec<[u16; FIELDS.len()]>,
}

impl<'a> TermReader<'a> {
    fn field(&mut self, table: u32, field: usize, text: &'a str) {
        if !self.cache.contains_key(text) {
            let mut read = Vec::new();
            let numbers = &mut self.numbers;
            self.terms.of(text, |term| {
                let next = Term::try_from(numbers.len()).unwrap_or(Term::MAX);
                read.push(*numbers.entry(term).or_insert(next));
            });
            read.sort_unstable();
            read.dedup();
            self.cache.insert(text, read);
        }
        let Some(read) = self.cache.get(text) else {
            return;
        };
        let count = u16::try_from(read.len()).unwrap_or(u16::MAX);
        let length = &mut self.lengths[table as usize][field];
        *length = length.saturating_add(count);
        let tag = u8::try_from(field).unwrap_or(u8::MAX);
        self.found
            .extend(read.iter().map(|term| (*term, table, tag)));
    }

    fn table(&mut self, number: u32, table: &'a DatabaseTable) {
        self.field(number, SCHEMA, &table.schema_name);
        self.field(number, NAME, &table.table_name);
        if let Some(comment) = &table.comment {
            self.field(number, COMMENT, comment);
        }
        for column in &table.columns {
            self.field(number, COLUMN, &column.name);
            if let Some(comment) = &column.comment {
                self.field(number, COLUMN_COMMENT, comment);
            }
            for value in column.values.iter().take(50) {
                self.field(number, COLUMN_COMMENT, value);
            }
        }
    }
}

impl Postings {
    /// Indexes tables, except those for which `is_left_out` returns `true`.
    pub(super) fn read(
        tables: &[DatabaseTable],
        terms: &Terms,
        is_left_out: impl Fn(usize) -> bool,
    ) -> Self {
        let mut reading = TermReader {
            terms,
            numbers: HashMap::new(),
            cache: HashMap::new(),
            found: Vec::new(),
            lengths: vec![[0; FIELDS.len()]; tables.len()],
        };
        for (i, table) in tables.iter().enumerate() {
            if !is_left_out(i) {
                reading.table(u32::try_from(i).unwrap_or(u32::MAX), table);
            }
        }
        let TermReader {
            numbers,
            mut found,
            lengths,
            ..
        } = reading;
        found.sort_unstable();
        let means = means(&lengths);
        let mut postings = Postings::default();
        postings.starts.resize(numbers.len() + 1, 0);
        for same in found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (term, table, _) = same[0];
            let amount: f32 = same
                .iter()
                .map(|(_, _, field)| {
                    let length = lengths[table as usize][usize::from(*field)];
                    FIELDS[usize::from(*field)].amount(length, means[usize::from(*field)])
                })
                .sum();
            postings.starts[term as usize + 1] += 1;
            postings.tables.push(table);
            let bits = same.iter().map(|(_, _, field)| 1 << field);
            postings.fields.push(bits.fold(0, |all, bit| all | bit));
            postings
                .weights
                .push(amount * (SATURATION + 1.0) / (amount + SATURATION));
        }
        for i in 1..postings.starts.len() {
            postings.starts[i] += postings.starts[i - 1];
        }
        postings.rarity = rarities(
            &postings.starts,
            lengths.iter().filter(|l| l[NAME] > 0).count(),
        );
        postings.families = families(&numbers);
        postings.short = short(&numbers);
        postings.holders = holders(&numbers);
        postings.numbers = numbers;
        postings
    }

    /// Returns the number of a term, if any table contains it.
    pub(super) fn find(&self, term: &str) -> Option<Term> {
        self.numbers.get(term).copied()
    }

    /// Returns the postings of a term.
    pub(super) fn of(&self, term: Term) -> impl Iterator<Item = Posting> {
        self.range(term).map(|at| {
            let has = |field: usize| self.fields[at] & (1 << field) != 0;
            Posting {
                table: self.tables[at],
                amount: self.weights[at],
                is_called: [has(NAME), has(COMMENT)],
            }
        })
    }

    /// Returns all terms.
    pub(super) fn terms(&self) -> impl Iterator<Item = (&str, Term)> {
        self.numbers
            .iter()
            .map(|(text, term)| (text.as_str(), *term))
    }

    /// Returns how well a term distinguishes tables.
    pub(super) fn rarity(&self, term: Term) -> f32 {
        self.rarity.get(term as usize).copied().unwrap_or(0.0)
    }

    /// Returns the terms with the same root.
    pub(super) fn family(&self, word: &str) -> &[Term] {
        let terms = root(word).and_then(|root| self.families.get(root));
        terms.map_or(&[], Vec::as_slice)
    }

    /// Returns terms that may abbreviate a word: its first letter followed by some of the others in
    /// order, as in `qty`, `dept`, `wgt`.
    pub(super) fn short_for<'a>(&'a self, word: &'a str) -> impl Iterator<Item = (&'a str, Term)> {
        let first = word.get(..1).unwrap_or_default();
        let start = self
            .short
            .partition_point(|(text, _)| text.as_str() < first);
        let same = self.short[start..]
            .iter()
            .take_while(move |(text, _)| text.starts_with(first));
        let fits =
            same.filter(move |(text, _)| text.len() < word.len() && is_short_for(text, word));
        fits.map(|(text, term)| (text.as_str(), *term))
    }

    /// Returns the two-character terms that contain this character.
    pub(super) fn holders(&self, c: char) -> &[Term] {
        self.holders.get(&c).map_or(&[], Vec::as_slice)
    }

    fn range(&self, term: Term) -> std::ops::Range<usize> {
        let at = term as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
}

impl IndexField {
    const fn new(weight: f32, by_length: f32) -> Self {
        IndexField { weight, by_length }
    }

    fn amount(self, length: u16, mean: f32) -> f32 {
        let relative = f32::from(length) / mean.max(1.0);
        self.weight / (1.0 - self.by_length + self.by_length * relative)
    }
}

fn means(lengths: &[[u16; FIELDS.len()]]) -> [f32; FIELDS.len()] {
    std::array::from_fn(|field| {
        let filled = lengths.iter().map(|l| l[field]).filter(|l| *l > 0);
        let (count, whole) = filled.fold((0u32, 0u64), |(n, sum), l| (n + 1, sum + u64::from(l)));
        whole as f32 / count.max(1) as f32
    })
}

fn rarities(starts: &[u32], tables: usize) -> Vec<f32> {
    let holders = starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
    holders.map(|holders| rarity(tables, holders)).collect()
}

/// Returns how well a term distinguishes tables, given the number of tables that contain it.
pub(super) fn rarity(tables: usize, holders: usize) -> f32 {
    let (tables, n) = (tables as f32, holders as f32);
    (1.0 + RARITY_FLOOR + (tables - n + 0.5).max(0.0) / (n + 0.5)).ln()
}

fn holders(numbers: &HashMap<String, Term>) -> HashMap<char, Vec<Term>> {
    let mut holders: HashMap<char, Vec<Term>> = HashMap::new();
    for (text, term) in numbers.iter().filter(|(text, _)| !text.is_ascii()) {
        if text.chars().count() == 2 {
            text.chars()
                .for_each(|c| holders.entry(c).or_default().push(*term));
        }
    }
    holders.values_mut().for_each(|terms| terms.sort_unstable());
    holders
}

/// Returns terms of two to five letters that are not in the dictionary, in order.
fn short(numbers: &HashMap<String, Term>) -> Vec<(String, Term)> {
    let is_short = |text: &str| {
        let letters = text.bytes().all(|b| b.is_ascii_lowercase());
        letters && (2..6).contains(&text.len()) && !is_known(text)
    };
    let all = numbers.iter().filter(|(text, _)| is_short(text));
    let mut all: Vec<(String, Term)> = all.map(|(text, term)| (text.clone(), *term)).collect();
    all.sort_unstable();
    all
}

fn is_short_for(short: &str, word: &str) -> bool {
    let mut letters = word.bytes();
    short
        .bytes()
        .all(|wanted| letters.any(|letter| letter == wanted))
}

fn families(numbers: &HashMap<String, Term>) -> HashMap<String, Vec<Term>> {
    let mut families: HashMap<String, Vec<Term>> = HashMap::new();
    for (text, term) in numbers {
        if let Some(root) = root(text) {
            families.entry(root.to_owned()).or_default().push(*term);
        }
    }
    families
        .values_mut()
        .for_each(|terms| terms.sort_unstable());
    families
}
