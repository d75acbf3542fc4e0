//! Groups tables that are parts or copies of one table: `orders_2023_01` and `orders_2023_02`, the
//! partition `orders_p7`, the copy `orders_archive`.
//!
//! A family is ranked as one table: the member without a mark, otherwise the newest member. If the
//! question mentions the mark of another member, it gets that one.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::copies::{self, CopyMark, marks};
use crate::catalogue::DatabaseTable;

/// Minimum size of a family whose names differ in arbitrary numbers. `address1` and `address2`
/// alone are separate tables.
const SMALLEST: usize = 3;
/// Maximum number of members returned for one question.
const MOST_MEMBERS: usize = 5;
/// Minimum share of common columns in a family. Copies may lack some newer columns.
const ALIKE: f32 = 0.8;
/// Maximum number of distinct families under one name.
const MOST_KINDS: usize = 16;

/// Table families of a catalogue.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// Members by representative. The representative comes last; the others are sorted by mark.
    members: HashMap<usize, Vec<usize>>,
    /// Members that another table represents.
    older: HashSet<usize>,
}

/// Tables with similar names and columns.
struct TableFamily<'a> {
    columns: HashSet<&'a str>,
    tables: Vec<(CopyMark, usize)>,
}

impl Families {
    /// Groups the tables of each schema whose names differ only in marks and whose columns are
    /// similar.
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

    /// Returns whether another table represents this one.
    pub(super) fn is_older(&self, table: usize) -> bool {
        self.older.contains(&table)
    }

    /// Returns the number of tables that a table represents.
    pub(super) fn size(&self, table: usize) -> usize {
        self.members.get(&table).map_or(1, Vec::len)
    }

    /// Returns the members that a question refers to: those with the most mentioned marks, before
    /// the member without a mark. If the question does not mention any mark, returns the
    /// representative.
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
