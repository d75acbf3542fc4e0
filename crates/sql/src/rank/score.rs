//! Computes table scores from terms, including shares from related tables.

use super::coverage::NameCoverage;
use super::index::RankIndex;
use super::postings;
use super::question::QueryTerm;
use super::ranked_table::{NamedValue, RankedTable};

/// Share of a word's score that a table gets from each table that refers to it.
const FROM_CHILD: f32 = 0.72;
/// Share of a word's score that a table gets from a table it refers to. It is smaller if many
/// others refer to that table too.
const FROM_PARENT: f32 = 0.4;
/// Share of a word's score that a table gets from other tables of its small schema.
const FROM_SCHEMA: f32 = 0.25;
/// Maximum number of joins over which a word's score spreads.
const STEPS: usize = 2;

/// Weight of a known value, compared with a word of the table.
const OF_VALUE: f32 = 0.7;
/// Weight of a known value if the schema contains all of its words, which may then refer to the
/// schema instead.
const OF_VALUE_BESIDE: f32 = 0.25;

/// Scores of all tables for one word.
type ScoreRow = Vec<f32>;

/// Returns the best `most` tables, best first; ties keep the catalogue's order.
pub(super) fn best(
    index: &RankIndex,
    asked: &[QueryTerm],
    named: &[NamedValue],
    most: usize,
    fits: &dyn Fn(usize) -> bool,
) -> Vec<RankedTable> {
    let mut said = vec![NameCoverage::default(); index.catalogue.tables.len()];
    let mut own: Vec<ScoreRow> = asked
        .iter()
        .map(|word| term_scores(index, word, &mut said))
        .collect();
    own.extend(named.iter().map(|value| value_scores(index, value)));
    let mut names: Vec<String> = asked.iter().map(|word| word.word.clone()).collect();
    names.extend(named.iter().map(|value| value.words.join(" ")));
    let mut total = vec![0.0; index.catalogue.tables.len()];
    for row in &own {
        add(&mut total, &with_context(index, row));
    }
    for (table, score) in total.iter_mut().enumerate() {
        if said[table] != NameCoverage::default() {
            *score *= index.wholes.gain(table, said[table]);
        }
    }
    let may_be = |t: &usize| total[*t] > 0.0 && !index.families.is_older(*t) && fits(*t);
    let found = (0..total.len()).filter(may_be);
    let mut order: Vec<usize> = found.collect();
    order.sort_by(|a, b| total[*b].total_cmp(&total[*a]).then(a.cmp(b)));
    order.truncate(most);
    let strength = |table: usize| own.iter().map(|row| row[table]).sum::<f32>();
    let ranked = order.into_iter().map(|table| {
        let mut why = words(&names, &own, table);
        if why.is_empty() {
            why.extend(led_by(index, table, strength));
        }
        RankedTable {
            table,
            score: total[table],
            why,
        }
    });
    ranked.collect()
}

/// Returns each table's own score for a word: the best of the word's meanings. Adds the mentioned
/// words of their names to `said`.
fn term_scores(index: &RankIndex, word: &QueryTerm, said: &mut [NameCoverage]) -> ScoreRow {
    let mut row = vec![0.0f32; index.catalogue.tables.len()];
    for (term, sure) in &word.meant {
        let rarity = index.postings.rarity(*term);
        for holder in index.postings.of(*term) {
            let slot = &mut row[holder.table as usize];
            *slot = slot.max(holder.amount * rarity * sure);
            holder.add_coverage(said, rarity * sure);
        }
    }
    row
}

/// Returns each table's score for a value, which is higher if fewer tables contain the value.
fn value_scores(index: &RankIndex, value: &NamedValue) -> ScoreRow {
    let all = index.catalogue.tables.len();
    let mut row = vec![0.0f32; all];
    let is_direct = |word: &String| index.postings.find(word).is_some();
    let sure = if value.words.iter().all(is_direct) {
        OF_VALUE_BESIDE
    } else {
        OF_VALUE
    };
    let rarity = postings::rarity(all, value.tables.len());
    for table in &value.tables {
        if let Some(slot) = row.get_mut(*table) {
            *slot = sure * rarity;
        }
    }
    row
}

/// Returns the scores including the shares from related tables.
fn with_context(index: &RankIndex, own: &ScoreRow) -> ScoreRow {
    let mut row = own.clone();
    // Each step reads the scores of the step before, so the order of the tables does not matter.
    for _ in 0..STEPS {
        let before = row.clone();
        for table in &index.joins.joined {
            let table = *table as usize;
            row[table] = row[table].max(from_joins(index, &before, table));
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

fn from_joins(index: &RankIndex, row: &ScoreRow, table: usize) -> f32 {
    let joins = &index.joins;
    let children = joins.children[table].iter();
    let from_child = FROM_CHILD * joins.hears[table];
    let below = children.map(|(child, says)| from_child * says * row[*child as usize]);
    let parents = joins.parents[table].iter();
    let above = parents.map(|(p, says)| FROM_PARENT * says * row[*p as usize] / joins.crowd(*p));
    below.chain(above).fold(0.0, f32::max)
}

fn add(total: &mut ScoreRow, row: &ScoreRow) {
    for (sum, part) in total.iter_mut().zip(row) {
        *sum += part;
    }
}

/// Returns the words that matched a table, without those that hardly count.
fn words(names: &[String], own: &[ScoreRow], table: usize) -> Vec<String> {
    let most = own.iter().map(|row| row[table]).fold(0.0, f32::max);
    let found = names
        .iter()
        .zip(own)
        .filter(|(_, row)| row[table] > 0.15 * most);
    let mut words: Vec<String> = found.map(|(word, _)| word.clone()).collect();
    words.dedup();
    words
}

/// Returns the relation through which a table without matching words was found: the best joined
/// table, or its schema.
fn led_by(index: &RankIndex, table: usize, strength: impl Fn(usize) -> f32) -> Option<String> {
    let joins = &index.joins;
    let around = joins.parents[table].iter().chain(&joins.children[table]);
    let around = around.map(|(other, _)| *other as usize);
    let best = around.max_by(|a, b| strength(*a).total_cmp(&strength(*b)).then(b.cmp(a)));
    let tables = &index.catalogue.tables;
    match best.and_then(|best| tables.get(best)) {
        Some(best) => Some(format!("joins {}", best.table_name)),
        None => Some(format!("schema {}", tables.get(table)?.schema_name)),
    }
}
