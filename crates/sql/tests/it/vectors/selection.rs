//! Checks the tables that a model's answer in phase 1 selects, in `ChainMode::Seed`.

use std::sync::Arc;

use quillet_core::chat::Bytes4;
use quillet_sql::catalogue::{DatabaseTable, TableType};
use quillet_sql::chain::{
    Fallback, PreparedCatalogue, SelectionPlan, TableSelection, plan, select_from_answer,
    select_without_model,
};
use quillet_sql::rank::Glossary;
use quillet_sql::{Catalogue, ChainMode, SqlConfig, SqlDialect};
use serde_json::{Value, json};

use super::text;

/// Returns the difference from the expected tables, fallback and calls. The alternative of the case
/// is accepted too.
pub(super) fn difference(file: &Value, case: &Value) -> Option<String> {
    let tables = file["fixtures"][text(case, "tables")].as_array();
    let tables = tables.into_iter().flatten().map(table).collect();
    let catalogue = Arc::new(Catalogue::new(
        SqlDialect::PostgreSql,
        String::new(),
        vec!["public".to_owned()],
        tables,
        String::new(),
    ));
    let prepared = PreparedCatalogue::new(catalogue.clone(), &Glossary::default(), &Bytes4);
    let config = SqlConfig {
        chain: ChainMode::Seed,
        ..SqlConfig::default()
    };
    let plan = plan(&prepared, &[], &config);
    let (choice, calls) = match &plan {
        SelectionPlan::Choose(_) => {
            let answer = case["llm_reply"].as_str();
            let answer = answer.ok_or_else(|| Fallback {
                code: "call_failed",
                message: text(case, "error").to_owned(),
            });
            (select_from_answer(answer, &prepared, &[], &config), 1)
        }
        SelectionPlan::All | SelectionPlan::Nothing => {
            (select_without_model(&plan, &prepared, &config), 0)
        }
    };
    let came = came(&choice, &catalogue);
    let fits = |expected: &Value| {
        let selected = if expected["selected"] == "ALL" {
            catalogue
                .tables
                .iter()
                .map(DatabaseTable::qualified)
                .collect()
        } else {
            expected["selected"].clone()
        };
        selected == came["selected"] && expected["fallback_used"] == came["fallback_used"]
    };
    let expected = &case["expect"];
    let as_expected = fits(expected) || fits(&case["accept_alternative"]);
    let differs = !as_expected || expected["phase1_calls"] != calls;
    differs.then(|| format!("expected {expected}, came {came} after {calls} calls"))
}

fn came(choice: &TableSelection, catalogue: &Catalogue) -> Value {
    let names = choice
        .tables
        .iter()
        .map(|i| catalogue.tables[*i].qualified());
    let names: Vec<String> = names.collect();
    json!({ "selected": names, "fallback_used": choice.fallback.is_some() })
}

fn table(value: &Value) -> DatabaseTable {
    DatabaseTable {
        schema_name: text(value, "schema").to_owned(),
        table_name: text(value, "name").to_owned(),
        table_type: match text(value, "type") {
            "view" => TableType::View,
            _ => TableType::Table,
        },
        comment: value["comment"].as_str().map(str::to_owned),
        ..DatabaseTable::default()
    }
}
