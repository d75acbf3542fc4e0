//! From terms to tables: what a table says itself, and what those around it say.

use super::question::Asked;
use super::{Index, Ranked};

/// What a table gets of a word that a table says whose rows point to it.
const FROM_CHILD: f32 = 0.45;
/// What a table gets of a word that a table says which its rows point to, the less the more
/// others point there, too.
const FROM_PARENT: f32 = 0.35;
/// What a table gets of a word that another table of its small schema says.
const FROM_SCHEMA: f32 = 0.25;
/// Schemas with more tables than this say nothing about each of them.
const SMALL_SCHEMA: usize = 40;
/// How many joins away a word still counts.
const STEPS: usize = 2;

/// Scores of all tables for one word.
type Row = Vec<f32>;

/// The best `most` tables, best first; of equal ones the first in the catalogue.
pub(super) fn best(index: &Index, asked: &[Asked], most: usize) -> Vec<Ranked> {
    let own: Vec<Row> = asked.iter().map(|word| own(index, word)).collect();
    let mut total = vec![0.0; index.catalogue.tables.len()];
    for row in &own {
        add(&mut total, &with_context(index, row));
    }
    let mut order: Vec<usize> = (0..total.len()).filter(|t| total[*t] > 0.0).collect();
    order.sort_by(|a, b| total[*b].total_cmp(&total[*a]).then(a.cmp(b)));
    order.truncate(most);
    let ranked = order.into_iter().map(|table| Ranked {
        table,
        score: total[table],
        why: why(asked, &own, table),
    });
    ranked.collect()
}

/// How much each table is itself about a word: the best of what the word may mean.
fn own(index: &Index, word: &Asked) -> Row {
    let mut row = vec![0.0f32; index.catalogue.tables.len()];
    for (term, sure) in &word.meant {
        let rarity = index.postings.rarity(*term);
        for (table, amount) in index.postings.of(*term) {
            let slot = &mut row[table as usize];
            *slot = slot.max(amount * rarity * sure);
        }
    }
    row
}

/// The same with what the tables around each table say.
fn with_context(index: &Index, own: &Row) -> Row {
    let mut row = own.clone();
    for _ in 0..STEPS {
        let before = row.clone();
        for (table, slot) in row.iter_mut().enumerate() {
            *slot = slot.max(from_joins(index, &before, table));
        }
    }
    for schema in &index.small_schemas {
        let top = own[schema.clone()].iter().copied().fold(0.0, f32::max);
        for slot in &mut row[schema.clone()] {
            *slot = slot.max(FROM_SCHEMA * top);
        }
    }
    row
}

fn from_joins(index: &Index, row: &Row, table: usize) -> f32 {
    let joins = &index.joins;
    let children = joins.children[table].iter();
    let below = children.map(|child| FROM_CHILD * row[*child as usize]);
    let parents = joins.parents[table].iter();
    let above = parents.map(|p| FROM_PARENT * row[*p as usize] / joins.crowd(*p));
    below.chain(above).fold(0.0, f32::max)
}

fn add(total: &mut Row, row: &Row) {
    for (sum, part) in total.iter_mut().zip(row) {
        *sum += part;
    }
}

fn why(asked: &[Asked], own: &[Row], table: usize) -> Vec<String> {
    let found = asked.iter().zip(own).filter(|(_, row)| row[table] > 0.0);
    found.map(|(word, _)| word.word.clone()).collect()
}

/// Runs of tables that stand in one small schema, where the catalogue has several schemas.
pub(super) fn small_schemas(tables: &[crate::catalogue::Table]) -> Vec<std::ops::Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for same in tables.chunk_by(|a, b| a.schema_name == b.schema_name) {
        let end = start + same.len();
        if same.len() <= SMALL_SCHEMA && same.len() < tables.len() {
            found.push(start..end);
        }
        start = end;
    }
    found
}
