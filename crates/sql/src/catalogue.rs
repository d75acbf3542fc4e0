//! Database catalogues: schemas, tables, columns and keys, with lookup by name.
//!
//! Drivers create catalogues. They are stored as JSON in the format of the API: camelCase as in
//! table-chat, extended with keys, foreign keys and enum values.

use std::collections::BTreeSet;
use std::fmt;

use foldhash::{HashMap, HashMapExt};
use serde::{Deserialize, Serialize};

use crate::SqlDialect;

/// Kind of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TableType {
    /// A table, including a partitioned one.
    #[default]
    #[serde(rename = "table")]
    Table,
    /// A view.
    #[serde(rename = "view")]
    View,
    /// A materialized view (PostgreSQL).
    #[serde(rename = "materialized view")]
    MaterializedView,
    /// A foreign table, stored on another server (PostgreSQL).
    #[serde(rename = "foreign table")]
    ForeignTable,
}

impl fmt::Display for TableType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableType::Table => "table",
            TableType::View => "view",
            TableType::MaterializedView => "materialized view",
            TableType::ForeignTable => "foreign table",
        })
    }
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TableColumn {
    /// Name, unquoted.
    pub name: String,
    /// Type in the database's notation, such as `numeric(10,2)`.
    pub data_type: String,
    /// Whether the column is nullable.
    pub is_nullable: bool,
    /// Whether the column is part of the primary key.
    pub is_primary_key: bool,
    /// Default value in the database's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
    /// Comment from the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Other properties, such as `identity`, `generated` or `auto_increment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
    /// Labels of an enum, in declared order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A declared foreign key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForeignKey {
    /// Referencing columns, in order.
    pub columns: Vec<String>,
    /// Schema of the referenced table.
    pub ref_schema: String,
    /// Referenced table.
    pub ref_table: String,
    /// Referenced columns, in the order of `columns`.
    pub ref_columns: Vec<String>,
}

/// A table, view or other readable relation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DatabaseTable {
    /// Schema name; the database in MySQL, `main` in SQLite.
    pub schema_name: String,
    /// Name, unquoted.
    pub table_name: String,
    /// Kind of relation.
    pub table_type: TableType,
    /// Comment from the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Estimated number of rows, if the database has an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
    /// Columns in declared order.
    pub columns: Vec<TableColumn>,
    /// Declared foreign keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// Unique constraints other than the primary key, each as a set of columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Vec<String>>,
}

impl DatabaseTable {
    /// Returns `schema.table` without quotes, which is the name that prompts and replies use.
    #[must_use]
    pub fn qualified(&self) -> String {
        format!("{}.{}", self.schema_name, self.table_name)
    }

    /// Returns the column with this name. An exact match takes precedence over a case-insensitive
    /// match.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        let exact = self.columns.iter().find(|column| column.name == name);
        exact.or_else(|| {
            let folded = name.to_lowercase();
            self.columns
                .iter()
                .find(|column| column.name.to_lowercase() == folded)
        })
    }
}

/// A snapshot of a database's schema.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "StoredCatalogue")]
pub struct Catalogue {
    /// SQL dialect.
    pub dialect: SqlDialect,
    /// Version reported by the server.
    pub version: String,
    /// Schema names, sorted, without system schemas.
    pub schemas: Vec<String>,
    /// Schemas searched for unqualified names, in this order.
    pub search_path: Vec<String>,
    /// Tables; drivers sort them by schema and name.
    pub tables: Vec<DatabaseTable>,
    /// Fingerprint of the tables and columns. The fingerprint changes when they change, and reading
    /// it is cheap.
    pub fingerprint: String,
    /// Time of the last read.
    pub last_refreshed: jiff::Timestamp,
    #[serde(skip)]
    names: TableNames,
}

/// Stored form of a catalogue, without derived fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCatalogue {
    dialect: SqlDialect,
    version: String,
    schemas: Vec<String>,
    search_path: Vec<String>,
    tables: Vec<DatabaseTable>,
    fingerprint: String,
    last_refreshed: jiff::Timestamp,
}

impl From<StoredCatalogue> for Catalogue {
    fn from(kept: StoredCatalogue) -> Self {
        Catalogue {
            schemas: kept.schemas,
            last_refreshed: kept.last_refreshed,
            ..Catalogue::new(
                kept.dialect,
                kept.version,
                kept.search_path,
                kept.tables,
                kept.fingerprint,
            )
        }
    }
}

/// Maps lowercase table names to indexes in the list of tables.
#[derive(Clone, Debug, Default)]
struct TableNames {
    qualified: HashMap<String, Vec<u32>>,
    bare: HashMap<String, Vec<u32>>,
}

impl Catalogue {
    /// Creates a catalogue that contains these tables, in the given order. Schemas are taken from
    /// the tables.
    #[must_use]
    pub fn new(
        dialect: SqlDialect,
        version: String,
        search_path: Vec<String>,
        tables: Vec<DatabaseTable>,
        fingerprint: String,
    ) -> Self {
        let schemas: BTreeSet<&String> = tables.iter().map(|table| &table.schema_name).collect();
        let schemas = schemas.into_iter().cloned().collect();
        let names = TableNames::of(&tables);
        Catalogue {
            dialect,
            version,
            schemas,
            search_path,
            tables,
            fingerprint,
            last_refreshed: jiff::Timestamp::now(),
            names,
        }
    }

    /// Returns the indexes in `tables` that match `schema.name`, or `name` in any schema if
    /// `schema` is `None`. Exact matches take precedence over case-insensitive matches.
    #[must_use]
    pub fn find(&self, schema: Option<&str>, name: &str) -> Vec<usize> {
        let folded = name.to_lowercase();
        let found = match schema {
            Some(schema) => {
                let key = format!("{}.{folded}", schema.to_lowercase());
                self.names.qualified.get(&key)
            }
            None => self.names.bare.get(&folded),
        };
        let found: Vec<usize> = found.into_iter().flatten().map(|i| *i as usize).collect();
        let is_exact = |i: &usize| {
            let table = &self.tables[*i];
            table.table_name == name && schema.is_none_or(|s| s == table.schema_name)
        };
        let exact: Vec<usize> = found.iter().copied().filter(is_exact).collect();
        if exact.is_empty() { found } else { exact }
    }

    /// Returns the table that a query means by this name. An unqualified name is looked up along
    /// the search path, then in all other schemas if the name is unique there.
    #[must_use]
    pub fn resolve(&self, schema: Option<&str>, name: &str) -> Option<&DatabaseTable> {
        let found = self.find(schema, name);
        if schema.is_none() {
            let on_path = self.search_path.iter().find_map(|path| {
                let mut there = found.iter().map(|i| &self.tables[*i]);
                there.find(|table| table.schema_name == *path)
            });
            if on_path.is_some() {
                return on_path;
            }
        }
        match found.as_slice() {
            [only] => self.tables.get(*only),
            _ => None,
        }
    }

    /// Returns the table name that is most similar to a misspelled name. The result includes the
    /// schema unless the schema is on the search path.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<String> {
        let folded = name.to_lowercase();
        let bare = self.names.bare.keys().map(String::as_str);
        let near = quillet_core::nearest(&folded, bare)?;
        let index = *self.names.bare.get(near)?.first()? as usize;
        let table = self.tables.get(index)?;
        Some(if self.search_path.contains(&table.schema_name) {
            table.table_name.clone()
        } else {
            table.qualified()
        })
    }
}

impl TableNames {
    fn of(tables: &[DatabaseTable]) -> Self {
        let mut names = TableNames {
            qualified: HashMap::with_capacity(tables.len()),
            bare: HashMap::with_capacity(tables.len()),
        };
        for (i, table) in tables.iter().enumerate() {
            let i = u32::try_from(i).unwrap_or(u32::MAX);
            let qualified = table.qualified().to_lowercase();
            names.qualified.entry(qualified).or_default().push(i);
            let bare = table.table_name.to_lowercase();
            names.bare.entry(bare).or_default().push(i);
        }
        names
    }
}
