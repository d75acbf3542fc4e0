//! Tables that are one table cut into pieces: `orders_2023_01`, `orders_2023_02`, and so on.
//!
//! A family is ranked once, as its newest member; a question that names a number of another
//! member gets that one.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::split::{Piece, pieces};
use crate::catalogue::Table;

/// Fewer tables alike are tables of their own.
const SMALLEST: usize = 3;
/// Most members that one question gets.
const MOST_MEMBERS: usize = 5;

/// The families of a catalogue.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Members by their newest, each in order of name.
    members: HashMap<usize, Vec<usize>>,
    /// Those that are ranked as another.
    older: HashSet<usize>,
}

impl Families {
    /// Tables of one schema whose names differ in digits only and whose columns have the same names.
    pub(super) fn read(tables: &[Table]) -> Self {
        let mut groups: HashMap<(&str, String, Vec<&str>), Vec<usize>> = HashMap::new();
        for (i, table) in tables.iter().enumerate() {
            if let Some(pattern) = pattern(&table.table_name) {
                let columns = table.columns.iter().map(|c| c.name.as_str()).collect();
                let key = (table.schema_name.as_str(), pattern, columns);
                groups.entry(key).or_default().push(i);
            }
        }
        let mut families = Families::default();
        for mut group in groups.into_values().filter(|group| group.len() >= SMALLEST) {
            group.sort_by_cached_key(|i| values(&tables[*i].table_name));
            let Some((newest, older)) = group.split_last() else {
                continue;
            };
            families.older.extend(older);
            families.members.insert(*newest, group);
        }
        families
    }

    /// Whether a table is ranked as another.
    pub(super) fn is_older(&self, table: usize) -> bool {
        self.older.contains(&table)
    }

    /// How many tables a table stands for.
    pub(super) fn size(&self, table: usize) -> usize {
        self.members.get(&table).map_or(1, Vec::len)
    }

    /// The members that a question with these numbers means: those that most of their numbers
    /// are named of; the newest where none is.
    pub(super) fn meant(
        &self,
        newest: usize,
        tables: &[Table],
        asked: &HashSet<u64>,
    ) -> Vec<usize> {
        let Some(members) = self.members.get(&newest) else {
            return vec![newest];
        };
        let named = |i: &usize| {
            let values = values(&tables[*i].table_name);
            values.iter().filter(|value| asked.contains(value)).count()
        };
        let most = members.iter().map(named).max().unwrap_or(0);
        if most == 0 {
            return vec![newest];
        }
        let meant = members.iter().rev().filter(|i| named(i) == most);
        meant.take(MOST_MEMBERS).copied().collect()
    }
}

/// The numbers of a question, `2023-01` and `202301` alike.
pub(super) fn numbers(question: &str) -> HashSet<u64> {
    let single = values(question);
    let joined = single.windows(2).filter(|pair| (1..=31).contains(&pair[1]));
    let joined: Vec<u64> = joined
        .filter_map(|pair| pair[0].checked_mul(100)?.checked_add(pair[1]))
        .collect();
    let parts = single.iter().filter(|n| (190_001..=210_012).contains(*n));
    let parts: Vec<u64> = parts.flat_map(|n| [n / 100, n % 100]).collect();
    single.into_iter().chain(joined).chain(parts).collect()
}

/// A name with its digits taken out, if it has any and something besides.
fn pattern(name: &str) -> Option<String> {
    let has_digit = name.contains(|c: char| c.is_ascii_digit());
    let mut pattern = String::new();
    for c in name.chars() {
        match c {
            '0'..='9' if pattern.ends_with('#') => {}
            '0'..='9' => pattern.push('#'),
            _ => pattern.push(c),
        }
    }
    (has_digit && pattern.len() > 1).then_some(pattern)
}

fn values(text: &str) -> Vec<u64> {
    let numbers = pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Number(digits) => digits.parse().ok(),
        _ => None,
    });
    numbers.collect()
}
