//! Relations between tables: declared foreign keys, and those that column names suggest.

use foldhash::{HashMap, HashMapExt};

use super::split::{TextRun, pieces};
use super::terms::base;
use crate::catalogue::DatabaseTable;

/// Maximum number of tables that may share a column name for it to suggest a join.
const MOST_SHARING: usize = 8;
/// Reduction of each child's contribution with every doubling of the number of children. A table
/// such as tenants is not about every table that has a `tenant_id`.
const CROWD_OF_CHILDREN: f32 = 0.15;
/// Last words of a column name that mark a key.
const KEY_WORDS: &[&str] = &["id", "key", "code", "no", "sn", "uuid", "fk"];

/// Joins of each table, with weights of up to 1.
#[derive(Debug, Default)]
pub(super) struct Joins {
    /// Tables that each table refers to.
    pub(super) parents: Vec<Vec<(u32, f32)>>,
    /// Tables that refer to each table.
    pub(super) children: Vec<Vec<(u32, f32)>>,
    /// Weight of each child's contribution, from 1 down, smaller for tables with many children.
    pub(super) hears: Vec<f32>,
    /// Tables with at least one join.
    pub(super) joined: Vec<u32>,
}

/// Source table, target table and weight.
type Edge = (u32, u32, f32);

impl Joins {
    /// Reads declared foreign keys, and column names for tables without any.
    pub(super) fn read(tables: &[DatabaseTable]) -> Self {
        let mut edges = declared(tables);
        let keyless = |from: u32| tables[from as usize].foreign_keys.is_empty();
        let implied = implied(tables)
            .into_iter()
            .filter(|(from, _)| keyless(*from));
        edges.extend(implied.map(|(from, to)| (from, to, 1.0)));
        edges.retain(|(from, to, _)| from != to);
        edges.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        edges.dedup_by_key(|(from, to, _)| (*from, *to));
        let mut joins = Joins {
            parents: vec![Vec::new(); tables.len()],
            children: vec![Vec::new(); tables.len()],
            ..Joins::default()
        };
        for (from, to, says) in edges {
            joins.parents[from as usize].push((to, says));
            joins.children[to as usize].push((from, says));
        }
        joins.hears = joins
            .children
            .iter()
            .map(|children| child_weight(children.len()))
            .collect();
        let around = joins.parents.iter().zip(&joins.children);
        let joined = (0u32..)
            .zip(around)
            .filter(|(_, (up, down))| !up.is_empty() || !down.is_empty());
        joins.joined = joined.map(|(table, _)| table).collect();
        joins
    }

    /// Returns a penalty for a table with many joins, at least 1.
    pub(super) fn crowd(&self, table: u32) -> f32 {
        let table = table as usize;
        let joins = self.parents[table].len() + self.children[table].len();
        (1.0 + joins as f32).log2().max(1.0)
    }
}

fn child_weight(children: usize) -> f32 {
    1.0 / (1.0 + CROWD_OF_CHILDREN * (children.max(1) as f32).log2())
}

/// Returns declared foreign keys. A column that refers to several tables is ignored, because real
/// schemas have keys such as `version` or `category` that connect unrelated tables.
fn declared(tables: &[DatabaseTable]) -> Vec<Edge> {
    let name = |table: &DatabaseTable| {
        (
            table.schema_name.to_lowercase(),
            table.table_name.to_lowercase(),
        )
    };
    let places: HashMap<(String, String), u32> =
        (0u32..).zip(tables).map(|(i, t)| (name(t), i)).collect();
    let mut keys = Vec::new();
    for (i, table) in (0u32..).zip(tables) {
        for key in &table.foreign_keys {
            let target = (key.ref_schema.to_lowercase(), key.ref_table.to_lowercase());
            let by = (
                table.schema_name.as_str(),
                key.columns.join(" ").to_lowercase(),
            );
            keys.extend(places.get(&target).map(|to| (by, i, *to)));
        }
    }
    let mut led: HashMap<&(&str, String), Vec<u32>> = HashMap::new();
    for (by, _, to) in &keys {
        let targets = led.entry(by).or_default();
        if !targets.contains(to) {
            targets.push(*to);
        }
    }
    let says = |by: &(&str, String)| 1.0 / led.get(by).map_or(1, Vec::len) as f32;
    keys.iter()
        .map(|(by, from, to)| (*from, *to, says(by)))
        .collect()
}

fn implied(tables: &[DatabaseTable]) -> Vec<(u32, u32)> {
    let mut named: HashMap<(&str, String), Vec<u32>> = HashMap::new();
    let mut forms = HashMap::new();
    for (i, table) in (0u32..).zip(tables) {
        let words = words_of(&table.table_name, &mut forms);
        for start in 0..words.len() {
            let key = (table.schema_name.as_str(), words[start..].concat());
            named.entry(key).or_default().push(i);
        }
    }
    let mut edges = Vec::new();
    let mut sharing: HashMap<(&str, String), Vec<u32>> = HashMap::new();
    for (i, table) in (0u32..).zip(tables) {
        for column in &table.columns {
            let Some(about) = key_about(&words_of(&column.name, &mut forms)) else {
                continue;
            };
            let key = (table.schema_name.as_str(), about);
            match named.get(&key).map(Vec::as_slice) {
                Some(targets @ ([_] | [_, _] | [_, _, _])) => {
                    let shortest = targets
                        .iter()
                        .min_by_key(|t| tables[**t as usize].table_name.len());
                    edges.extend(shortest.map(|to| (i, *to)));
                }
                Some(_) => {}
                None => sharing.entry(key).or_default().push(i),
            }
        }
    }
    let mut shared: Vec<Vec<u32>> = sharing.into_values().collect();
    shared.sort_unstable();
    for group in shared
        .iter()
        .filter(|group| (2..=MOST_SHARING).contains(&group.len()))
    {
        for pair in group.windows(2) {
            edges.push((pair[0], pair[1]));
        }
    }
    edges
}

/// Returns the subject of a key column: `user` for `user_id`.
fn key_about(words: &[String]) -> Option<String> {
    let (last, about) = words.split_last()?;
    (KEY_WORDS.contains(&last.as_str()) && !about.is_empty()).then(|| about.concat())
}

fn words_of(name: &str, forms: &mut HashMap<String, String>) -> Vec<String> {
    let mut form = |word: String| {
        let known = forms.get(&word).cloned();
        known.unwrap_or_else(|| {
            let form = base(&word);
            forms.insert(word, form.clone());
            form
        })
    };
    let read = pieces(name).into_iter().map(|piece| match piece {
        TextRun::Word(word) => form(word),
        TextRun::Number(digits) => digits,
        TextRun::Characters(run) => run.into_iter().collect(),
    });
    read.collect()
}
