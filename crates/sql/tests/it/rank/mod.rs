//! Tests ranking tables by words alone.

mod abbreviations;
mod blend;
mod chinese;
mod families;
mod hostile;
mod lengths;
mod questions;
mod recall;

use std::sync::Arc;

use quillet_sql::SqlDialect;
use quillet_sql::catalogue::{Catalogue, DatabaseTable, ForeignKey, TableColumn};
use quillet_sql::rank::{Glossary, RankIndex};

/// Parses a table from one line: `schema.name | comment | column, column comment, column > table`.
fn table(line: &str) -> DatabaseTable {
    let mut parts = line.split('|').map(str::trim);
    let name = parts.next().unwrap();
    let (schema, name) = name.split_once('.').unwrap_or(("public", name));
    let comment = parts.next().filter(|text| !text.is_empty());
    let columns: Vec<&str> = parts
        .next()
        .unwrap_or("id")
        .split(',')
        .map(str::trim)
        .collect();
    let key = |text: &str| {
        let (column, to) = text.split_once(" > ")?;
        Some(ForeignKey {
            columns: vec![column.to_owned()],
            ref_schema: schema.to_owned(),
            ref_table: to.to_owned(),
            ref_columns: vec!["id".to_owned()],
        })
    };
    let column = |text: &&str| {
        let text = text.split(" > ").next().unwrap();
        let (name, comment) = text.split_once(' ').unwrap_or((text, ""));
        TableColumn {
            name: name.to_owned(),
            comment: (!comment.is_empty()).then(|| comment.to_owned()),
            ..TableColumn::default()
        }
    };
    DatabaseTable {
        schema_name: schema.to_owned(),
        table_name: name.to_owned(),
        comment: comment.map(str::to_owned),
        columns: columns.iter().map(column).collect(),
        foreign_keys: columns.iter().filter_map(|text| key(text)).collect(),
        ..DatabaseTable::default()
    }
}

fn catalogue(tables: Vec<DatabaseTable>) -> Arc<Catalogue> {
    let path = vec!["public".to_owned()];
    Arc::new(Catalogue::new(
        SqlDialect::PostgreSql,
        String::new(),
        path,
        tables,
        String::new(),
    ))
}

fn shop() -> Arc<Catalogue> {
    let lines = [
        "customers | Customers of the shop | id, full_name, email, city, created_at",
        "orders | Orders | id, customer_id > customers, placed_at, total_amount, status",
        "order_items | Lines of an order | id, order_id > orders, product_id > products, quantity, unit_price",
        "products | Products | id, name, category_id > categories, list_price",
        "categories | | id, name",
        "tbl_emp | | id, emp_name, dept_id > tbl_dept, salary",
        "tbl_dept | | id, dept_name, mgr_id",
        "stockonhand | | id, warehousecode, qtyavailable",
        "TRADEDSECURITIES | | TRADEDSECURITIESID, HASTICKERSYMBOL, LASTTRADEDVALUE",
        "edr_event | | id, edrsumm",
        "oms_refund_apply | 退款申请 | id, order_sn 订单编号, return_amount 退款金额",
        "ums_member | 会员表 | id, nickname 昵称, phone 手机号",
        "sms_coupon | 优惠券表 | id, amount 金额, start_time 使用开始时间",
        "log_2023_01 | | id, message, level",
        "log_2023_02 | | id, message, level",
        "log_2023_03 | | id, message, level",
        "log_2023_04 | | id, message, level",
    ];
    catalogue(lines.into_iter().map(table).collect())
}

/// Returns the names of the best tables.
fn best(index: &RankIndex, catalogue: &Catalogue, question: &str, most: usize) -> Vec<String> {
    let ranked = index.rank(question, most);
    ranked
        .iter()
        .map(|r| catalogue.tables[r.table].table_name.clone())
        .collect()
}

fn index(catalogue: &Arc<Catalogue>) -> RankIndex {
    RankIndex::build(catalogue.clone(), &Glossary::default())
}
