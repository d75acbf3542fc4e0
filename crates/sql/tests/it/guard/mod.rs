//! Tests the guard's checks of the text.

mod errors;
mod hostile;
mod names;
mod printed;
mod properties;

use quillet_sql::catalogue::{DatabaseTable, TableColumn};
use quillet_sql::guard::{ApprovedQuery, GuardError, Policy, check};
use quillet_sql::{Catalogue, SqlDialect};

/// Returns the tables of the vectors, and `sales.Invoices` with a mixed-case column.
fn shop(dialect: SqlDialect) -> Catalogue {
    let own = match dialect {
        SqlDialect::PostgreSql => "public",
        SqlDialect::MySql => "shop",
        SqlDialect::Sqlite => "main",
    };
    let table = |schema: &str, name: &str, columns: &str| DatabaseTable {
        schema_name: schema.to_owned(),
        table_name: name.to_owned(),
        columns: columns
            .split_whitespace()
            .map(|name| TableColumn {
                name: name.to_owned(),
                ..TableColumn::default()
            })
            .collect(),
        ..DatabaseTable::default()
    };
    let tables = vec![
        table(own, "users", "id name email age created_at"),
        table(own, "orders", "id user_id total status created_at"),
        table(own, "audit_t", "id update_time deleted select"),
        table(own, "订单", "订单号 金额"),
        table(own, "docs", "id title body tags data"),
        table(own, "docs_fts", "title body"),
        table("sales", "Invoices", "id userId total"),
        table("archive", "old", "id"),
        table("backup", "old", "id"),
    ];
    Catalogue::new(
        dialect,
        "1".to_owned(),
        vec![own.to_owned()],
        tables,
        String::new(),
    )
}

fn named(sql: &str, dialect: SqlDialect) -> Result<ApprovedQuery, GuardError> {
    check(sql, dialect, Some(&shop(dialect)), &Policy::default())
}
