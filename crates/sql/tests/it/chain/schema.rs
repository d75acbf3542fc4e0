//! Tests the schema text of phase 2.

use quillet_sql::catalogue::{DatabaseTable, ForeignKey, TableColumn};
use quillet_sql::chain::build_schema_context;
use quillet_sql::{Catalogue, SqlDialect};

fn orders(schema: &str) -> DatabaseTable {
    let column = |name: &str, comment: &str| TableColumn {
        name: name.to_owned(),
        data_type: "integer".to_owned(),
        comment: Some(comment.to_owned()),
        ..TableColumn::default()
    };
    DatabaseTable {
        schema_name: schema.to_owned(),
        table_name: "orders".to_owned(),
        comment: Some(format!("订单 of {schema}")),
        columns: vec![
            column("id", "its number"),
            column("customer_id", "who ordered"),
        ],
        foreign_keys: vec![ForeignKey {
            columns: vec!["customer_id".to_owned()],
            ref_schema: "crm".to_owned(),
            ref_table: "customers".to_owned(),
            ref_columns: vec!["id".to_owned()],
        }],
        ..DatabaseTable::default()
    }
}

/// Unlike in table-chat, a qualified name does not add tables of other schemas, and comments and
/// keys are included.
#[test]
fn a_table_is_shown_alone_with_its_comments_and_keys() {
    let tables = vec![orders("sales"), orders("archive")];
    let path = vec!["sales".to_owned()];
    let catalogue = Catalogue::new(
        SqlDialect::PostgreSql,
        "15".into(),
        path,
        tables,
        String::new(),
    );
    let shown = build_schema_context(&catalogue, Some(&["sales.orders".to_owned()]));
    for needed in [
        "sales.orders",
        "订单 of sales",
        "who ordered",
        "crm.customers",
    ] {
        assert!(shown.contains(needed), "{needed}: {shown}");
    }
    assert!(!shown.contains("archive"), "{shown}");
    let all = build_schema_context(&catalogue, None);
    assert!(
        all.contains("sales.orders") && all.contains("archive.orders"),
        "{all}"
    );
}
