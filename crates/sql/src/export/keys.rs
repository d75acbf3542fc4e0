//! Assigns unique keys to columns.

use std::collections::HashMap;

use crate::ColumnInfo;

/// Returns a unique key for each column: its name, or the name with `_2`, `_3` and so on if an
/// earlier column or any other column has that key.
pub(super) fn keys(columns: &[ColumnInfo]) -> Vec<String> {
    let names = columns.iter().map(|column| column.name.as_str());
    // Counts how often each name is used. The name of a column starts with the count 0, which
    // reserves it for that column.
    let mut given: HashMap<String, usize> = names.clone().map(|name| (name.into(), 0)).collect();
    names.map(|name| key(name, &mut given)).collect()
}

fn key(name: &str, given: &mut HashMap<String, usize>) -> String {
    let mut number = given.get(name).copied().unwrap_or_default() + 1;
    let mut key = name.to_owned();
    if number > 1 {
        key = format!("{name}_{number}");
        // A column may have the name `id_2`.
        while given.contains_key(&key) {
            number += 1;
            key = format!("{name}_{number}");
        }
    }
    given.insert(key.clone(), 1);
    given.insert(name.to_owned(), number);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ValueType;

    #[test]
    fn every_column_has_a_key_of_its_own() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&[], &[]),
            (&["id", "name"], &["id", "name"]),
            (&["id", "id", "id"], &["id", "id_2", "id_3"]),
            (&["a", "a", "a_2", "a"], &["a", "a_3", "a_2", "a_4"]),
            (&["a_2", "a", "a", "a_2"], &["a_2", "a", "a_3", "a_2_2"]),
            (&["", "", "A", "a"], &["", "_2", "A", "a"]),
        ];
        for (names, expected) in cases {
            let column = |name: &&str| ColumnInfo {
                name: (*name).to_owned(),
                data_type: String::new(),
                value_type: ValueType::Text,
            };
            let columns: Vec<ColumnInfo> = names.iter().map(column).collect();
            assert_eq!(keys(&columns), expected);
        }
    }
}
