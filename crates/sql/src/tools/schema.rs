//! The tool `table_schema`, which describes some tables.

use quillet_core::tool::{ToolError, ToolErrorKind};
use serde::Deserialize;
use serde_json::{Value as Tree, json};

use super::cut;
use super::tables::with_note;
use crate::catalogue::DatabaseTable;
use crate::{Catalogue, Databases};

/// Maximum columns shown for one table.
const MOST_COLUMNS: usize = 300;

#[derive(Debug, Deserialize)]
pub(super) struct SchemaArgs {
    tables: OneOrMany,
}

/// Templates and scripts may pass a single name instead of a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    More(Vec<String>),
}

pub(super) async fn show(
    databases: &Databases,
    name: &str,
    wanted: SchemaArgs,
) -> Result<Tree, ToolError> {
    let catalogue = databases.catalogue(name, false, &|_, _, _| {}).await?;
    let names = match wanted.tables {
        OneOrMany::One(name) => vec![name],
        OneOrMany::More(names) => names,
    };
    let mut found: Vec<Tree> = Vec::new();
    let mut unknown = Vec::new();
    for name in &names {
        match find(&catalogue, name) {
            Ok(table) => found.push(shown(table)),
            Err(reason) => unknown.push(reason),
        }
    }
    if found.is_empty() {
        let message = if unknown.is_empty() {
            "tables is empty: name the tables to show".to_owned()
        } else {
            unknown.join("; ")
        };
        return Err(ToolError::new(ToolErrorKind::Arguments, message));
    }
    let all = found.len();
    let tables = cut::fitting(found, databases.config().tool_characters);
    let note = (tables.len() < all).then(|| {
        let shown = tables.len();
        format!("the first {shown} of {all} tables; request the others separately")
    });
    let mut result = json!({"tables": tables});
    if !unknown.is_empty() {
        result["unknown"] = unknown.into();
    }
    Ok(with_note(result, note))
}

/// Returns the table with this name, or an error message.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a DatabaseTable, String> {
    let qualified = name
        .split_once('.')
        .and_then(|(schema, bare)| catalogue.resolve(Some(schema), bare));
    if let Some(table) = qualified.or_else(|| catalogue.resolve(None, name)) {
        return Ok(table);
    }
    let several = catalogue.find(None, name);
    let several: Vec<String> = several
        .into_iter()
        .filter_map(|index| catalogue.tables.get(index))
        .map(DatabaseTable::qualified)
        .collect();
    if !several.is_empty() {
        return Err(format!(
            "ambiguous table {name:?}: it could be {}",
            several.join(" or ")
        ));
    }
    let bare = name.rsplit('.').next().unwrap_or(name);
    Err(match catalogue.nearest(bare) {
        Some(near) => format!("unknown table {name:?}; did you mean {near:?}?"),
        None => format!("unknown table {name:?}"),
    })
}

fn shown(table: &DatabaseTable) -> Tree {
    let columns = table.columns.len();
    let mut short = table.clone();
    short.columns.truncate(MOST_COLUMNS);
    let mut tree = cut::shortened(serde_json::to_value(&short).unwrap_or_default());
    if columns > MOST_COLUMNS {
        tree["note"] = format!("the first {MOST_COLUMNS} of {columns} columns").into();
    }
    tree
}
