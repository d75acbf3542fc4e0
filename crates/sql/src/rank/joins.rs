//! Which tables belong together: declared foreign keys, and those that names tell of.

use foldhash::{HashMap, HashMapExt};

use super::split::{Piece, pieces};
use super::terms::base;
use crate::catalogue::Table;

/// More tables than this that share a column say nothing by it.
const MOST_SHARING: usize = 8;
/// Words at the end of a column that make it a key (notes 3.2).
const KEY_WORDS: &[&str] = &["id", "key", "code", "no", "sn", "uuid", "fk"];

/// The ways from each table to others.
#[derive(Debug, Default)]
pub(super) struct Joins {
    /// For each table the tables that its rows point to.
    pub(super) parents: Vec<Vec<u32>>,
    /// For each table the tables whose rows point to it.
    pub(super) children: Vec<Vec<u32>>,
}

impl Joins {
    /// Reads foreign keys and names of columns.
    pub(super) fn read(tables: &[Table]) -> Self {
        let mut edges = declared(tables);
        let has_keys = tables.iter().any(|table| !table.foreign_keys.is_empty());
        let mut implied = implied(tables);
        if has_keys {
            let keyed: Vec<bool> = tables.iter().map(|t| !t.foreign_keys.is_empty()).collect();
            implied.retain(|(from, _)| !keyed[*from as usize]);
        }
        edges.extend(implied);
        edges.retain(|(from, to)| from != to);
        edges.sort_unstable();
        edges.dedup();
        let mut joins = Joins {
            parents: vec![Vec::new(); tables.len()],
            children: vec![Vec::new(); tables.len()],
        };
        for (from, to) in edges {
            joins.parents[from as usize].push(to);
            joins.children[to as usize].push(from);
        }
        joins
    }

    /// How little a join with a table says: grows with the number of its joins, from 1.
    #[expect(clippy::cast_precision_loss, reason = "counts of tables are small")]
    pub(super) fn crowd(&self, table: u32) -> f32 {
        let table = table as usize;
        let joins = self.parents[table].len() + self.children[table].len();
        (1.0 + joins as f32).log2().max(1.0)
    }
}

fn declared(tables: &[Table]) -> Vec<(u32, u32)> {
    let name = |table: &Table| {
        (
            table.schema_name.to_lowercase(),
            table.table_name.to_lowercase(),
        )
    };
    let places: HashMap<(String, String), u32> =
        (0u32..).zip(tables).map(|(i, t)| (name(t), i)).collect();
    let mut edges = Vec::new();
    for (i, table) in (0u32..).zip(tables) {
        for key in &table.foreign_keys {
            let target = (key.ref_schema.to_lowercase(), key.ref_table.to_lowercase());
            edges.extend(places.get(&target).map(|to| (i, *to)));
        }
    }
    edges
}

fn implied(tables: &[Table]) -> Vec<(u32, u32)> {
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

/// What a key column is about, if it is one: `user` for `user_id`.
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
        Piece::Word(word) => form(word),
        Piece::Number(digits) => digits,
        Piece::Characters(run) => run.into_iter().collect(),
    });
    read.collect()
}
