//! Rows as JSON, exactly: decimals, dates and other values without a form in JSON are texts,
//! as [`crate::rows::ValueType`] describes them; bytes are base64; integers are numbers of all their
//! digits; JSON stands as the database wrote it.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use crate::{Cell, ColumnInfo, Rows};

/// Names of columns for objects, in order: a name that was there before gets `_2`, `_3`, ….
#[must_use]
pub fn names(columns: &[ColumnInfo]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut next: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for column in columns {
        let number = next.entry(&column.name).or_insert(1);
        let mut name = column.name.clone();
        while !taken.insert(name.clone()) {
            *number += 1;
            name = format!("{}_{number}", column.name);
        }
        names.push(name);
    }
    names
}

/// All rows as a list of objects.
#[derive(Clone, Copy, Debug)]
pub struct Objects<'a> {
    /// The rows.
    pub rows: &'a Rows,
    /// Their columns by [`names`].
    pub names: &'a [String],
}

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.names;
        serializer.collect_seq(self.rows.rows.iter().map(|cells| Object { names, cells }))
    }
}

/// One row as an object.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// Names of the columns.
    pub names: &'a [String],
    /// The row's cells, in the same order.
    pub cells: &'a [Cell],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.cells.len()))?;
        for (name, cell) in self.names.iter().zip(self.cells) {
            object.serialize_entry(name, &Json(cell))?;
        }
        object.end()
    }
}

/// One value.
#[derive(Clone, Copy, Debug)]
pub struct Json<'a>(pub &'a Cell);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cell::Null => serializer.serialize_unit(),
            Cell::Bool(value) => serializer.serialize_bool(*value),
            Cell::Int(value) => serializer.serialize_i64(*value),
            Cell::UInt(value) => serializer.serialize_u64(*value),
            Cell::Float(value) => float(*value, serializer),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Bytes(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            // What the database calls JSON and is none is a text.
            Cell::Json(text) => match serde_json::from_str::<&RawValue>(text) {
                Ok(json) => json.serialize(serializer),
                Err(_) => serializer.serialize_str(text),
            },
            Cell::Array(cells) => {
                let mut list = serializer.serialize_seq(Some(cells.len()))?;
                for cell in cells {
                    list.serialize_element(&Json(cell))?;
                }
                list.end()
            }
        }
    }
}

/// JSON has no infinities; PostgreSQL's words stand for them.
fn float<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        return serializer.serialize_f64(value);
    }
    serializer.serialize_str(match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        _ => "-Infinity",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ValueType;

    #[test]
    fn values_keep_all_that_they_are() {
        let text = |text: &str| Cell::Text(text.to_owned());
        for (cell, expected) in [
            (Cell::Null, "null"),
            (Cell::Bool(true), "true"),
            (Cell::Int(i64::MIN), "-9223372036854775808"),
            (Cell::UInt(u64::MAX), "18446744073709551615"),
            (Cell::Float(0.1), "0.1"),
            (Cell::Float(f64::NAN), r#""NaN""#),
            (Cell::Float(f64::NEG_INFINITY), r#""-Infinity""#),
            (text("12.30"), r#""12.30""#),
            (text("\u{0}\"店\n"), r#""\u0000\"店\n""#),
            (Cell::Bytes(vec![0, 255]), r#""AP8=""#),
            (Cell::Json(r#"{"a": 1.10}"#.to_owned()), r#"{"a": 1.10}"#),
            (Cell::Json("{".to_owned()), r#""{""#),
            (
                Cell::Array(vec![Cell::Int(1), Cell::Null, Cell::Array(vec![])]),
                "[1,null,[]]",
            ),
        ] {
            assert_eq!(serde_json::to_string(&Json(&cell)).unwrap(), expected);
        }
    }

    #[test]
    fn doubled_names_stay_apart() {
        let column = |name: &str| ColumnInfo {
            name: name.to_owned(),
            data_type: String::new(),
            value_type: ValueType::Integer,
        };
        let columns: Vec<ColumnInfo> = ["id", "id_2", "id", "", ""].map(column).into();
        assert_eq!(names(&columns), ["id", "id_2", "id_3", "", "_2"]);
        let rows = Rows {
            rows: vec![(0..5).map(Cell::Int).collect()],
            columns,
            truncated: None,
        };
        let names = names(&rows.columns);
        let objects = Objects {
            rows: &rows,
            names: &names,
        };
        assert_eq!(
            serde_json::to_string(&objects).unwrap(),
            r#"[{"id":0,"id_2":1,"id_3":2,"":3,"_2":4}]"#
        );
    }
}
