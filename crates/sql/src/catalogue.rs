//! Catalogues: schemas, tables, columns and keys of a database, and lookup of names.
//!
//! Drivers create catalogues. They are stored as JSON in the form of the API (camelCase as in
//! table-chat, with keys, foreign keys and enum values added).

use std::collections::BTreeSet;
use std::fmt;

use foldhash::{HashMap, HashMapExt};
use serde::{Deserialize, Serialize};

use crate::SqlDialect;

/// The type of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TableType {
    /// A table, including one that is divided into partitions.
    #[default]
    #[serde(rename = "table")]
    Table,
    /// A view.
    #[serde(rename = "view")]
    View,
    /// A view whose rows are kept (PostgreSQL).
    #[serde(rename = "materialized view")]
    MaterializedView,
    /// A table of another server (PostgreSQL).
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
    /// Its name, without quotes.
    pub name: String,
    /// Its type as the database writes it, such as `numeric(10,2)`.
    pub data_type: String,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Whether it belongs to the primary key.
    pub is_primary_key: bool,
    /// Its default as the database writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
    /// What its author wrote about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What else is special: `identity`, `generated`, `auto_increment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
    /// The labels of an enum, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A declared foreign key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForeignKey {
    /// Columns of the table that has the key, in order.
    pub columns: Vec<String>,
    /// Schema of the table that it leads to.
    pub ref_schema: String,
    /// The table that it leads to.
    pub ref_table: String,
    /// Columns there, in the order of `columns`.
    pub ref_columns: Vec<String>,
}

/// A table or anything else that can be read like one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DatabaseTable {
    /// Its schema: of PostgreSQL; the database in MySQL; `main` in SQLite.
    pub schema_name: String,
    /// Its name, without quotes.
    pub table_name: String,
    /// What kind of relation it is.
    pub table_type: TableType,
    /// What its author wrote about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Rows as the database estimates them; `None` where it does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_count: Option<u64>,
    /// Columns in their order.
    pub columns: Vec<TableColumn>,
    /// Declared foreign keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// Sets of columns that are unique, besides the primary key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Vec<String>>,
}

impl DatabaseTable {
    /// `schema.table`, without quotes: how the chain and its models name it.
    #[must_use]
    pub fn qualified(&self) -> String {
        format!("{}.{}", self.schema_name, self.table_name)
    }

    /// The column of that name: exactly, else in any case of letters.
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

/// A database as it was last read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "StoredCatalogue")]
pub struct Catalogue {
    /// SQL dialect.
    pub dialect: SqlDialect,
    /// Version of the server as it says it.
    pub version: String,
    /// Schemas in order of name, system schemas left out.
    pub schemas: Vec<String>,
    /// Schemas in which a bare name is looked for, in this order.
    pub search_path: Vec<String>,
    /// Tables; drivers give them ordered by schema and name.
    pub tables: Vec<DatabaseTable>,
    /// Fingerprint, which changes when tables or columns do; cheap to read.
    pub fingerprint: String,
    /// When it was read.
    pub last_refreshed: jiff::Timestamp,
    #[serde(skip)]
    names: TableNames,
}

/// How it is stored: the same without what is derived.
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

/// Names of tables in lower case, and where they are in the list.
#[derive(Clone, Debug, Default)]
struct TableNames {
    qualified: HashMap<String, Vec<u32>>,
    bare: HashMap<String, Vec<u32>>,
}

impl Catalogue {
    /// A catalogue of these tables, in their order; schemas are taken from them.
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

    /// Places in `tables` of what `schema.name` means, or a bare name in all schemas where
    /// `schema` is `None`: those of exactly that name, else those that differ in the
    /// case of letters only.
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

    /// The one table that a name in a query means: a bare name is looked for along the
    /// search path, then anywhere if only one schema has it.
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

    /// The name of a table that is most like a mistyped one, qualified unless it is on the search
    /// path.
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
