//! Tables that are one table kept in pieces: `orders_2023_01` and `orders_2023_02`, the partition
//! `orders_p7`, the copy `orders_archive`.
//!
//! A family is ranked once, as the table without such a mark, else as its newest member; a
//! question that names the mark of another member gets that one.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::copies::{self, CopyMark, marks};
use crate::catalogue::DatabaseTable;

/// Fewer tables that differ in any number are tables of their own: `address1`, `address2`.
const SMALLEST: usize = 3;
/// Most members that one question gets.
const MOST_MEMBERS: usize = 5;
/// Share of their columns that tables have in common which are alike: a copy lags behind by some.
const ALIKE: f32 = 0.8;
/// Most kinds of tables that are told apart under one name.
const MOST_KINDS: usize = 16;

/// The families of a catalogue.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Members by the one that they are ranked as, which is the last; the others in order of mark.
    members: HashMap<usize, Vec<usize>>,
    /// Those that are ranked as another.
    older: HashSet<usize>,
}

/// Tables whose names and columns are alike.
struct TableFamily<'a> {
    columns: HashSet<&'a str>,
    tables: Vec<(CopyMark, usize)>,
}

impl Families {
    /// Tables of one schema whose names differ in marks only and whose columns are alike.
    pub(super) fn read(tables: &[DatabaseTable]) -> Self {
        let mut groups: HashMap<(&str, String), Vec<TableFamily<'_>>> = HashMap::new();
        for (i, table) in tables.iter().enumerate() {
            let (stem, mark) = marks(&table.table_name);
            let kinds = groups
                .entry((table.schema_name.as_str(), stem))
                .or_default();
            put(kinds, mark, i, table);
        }
        let mut families = Families::default();
        for kind in groups
            .into_values()
            .flatten()
            .filter(TableFamily::is_family)
        {
            let mut tables = kind.tables;
            tables.sort();
            let members: Vec<usize> = tables.into_iter().map(|(_, table)| table).collect();
            if let Some((newest, older)) = members.split_last() {
                families.older.extend(older);
                families.members.insert(*newest, members);
            }
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

    /// The members that a question means: those most of whose marks it names, before the table
    /// that has none; the one that stands for all where it names none.
    pub(super) fn named_members(
        &self,
        table: usize,
        tables: &[DatabaseTable],
        asked: &copies::NamedMarks,
    ) -> Vec<usize> {
        let Some(members) = self.members.get(&table) else {
            return vec![table];
        };
        let mark = |i: &usize| marks(&tables[*i].table_name).1;
        let most = members.iter().map(|i| asked.named(&mark(i))).max();
        let most = most.unwrap_or(0);
        if most == 0 {
            return vec![table];
        }
        let named = members
            .iter()
            .rev()
            .filter(|i| asked.named(&mark(i)) == most);
        let mut meant: Vec<usize> = named.take(MOST_MEMBERS).copied().collect();
        if mark(&table).is_empty() {
            meant.push(table);
        }
        meant
    }
}

impl TableFamily<'_> {
    fn is_family(&self) -> bool {
        let is_plain = |(mark, _): &(CopyMark, usize)| mark.is_empty();
        let sure = self
            .tables
            .iter()
            .filter(|(mark, _)| mark.is_sure())
            .count();
        let plain = self.tables.iter().filter(|table| is_plain(table)).count();
        self.tables.len() >= SMALLEST || (sure > 0 && sure + plain > 1)
    }
}

fn put<'a>(kinds: &mut Vec<TableFamily<'a>>, mark: CopyMark, i: usize, table: &'a DatabaseTable) {
    let columns: HashSet<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    let known = kinds
        .iter()
        .position(|kind| are_alike(&kind.columns, &columns));
    match known {
        Some(place) => kinds[place].tables.push((mark, i)),
        None if kinds.len() < MOST_KINDS => kinds.push(TableFamily {
            columns,
            tables: vec![(mark, i)],
        }),
        None => {}
    }
}

fn are_alike(a: &HashSet<&str>, b: &HashSet<&str>) -> bool {
    let common = a.intersection(b).count();
    common as f32 >= ALIKE * (a.len() + b.len() - common).max(1) as f32
}
