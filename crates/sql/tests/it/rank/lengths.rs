//! Tests that a table's subject matters more than the number of its columns.

use quillet_sql::catalogue::DatabaseTable;

use super::{best, catalogue, index, table};

/// Creates a table with many columns, each of which contains one of these words.
fn wide(name: &str, words: &[&str]) -> DatabaseTable {
    let parts = [
        "number", "kind", "note", "group", "state", "origin", "level",
    ];
    let columns = words
        .iter()
        .flat_map(|word| parts.map(|part| format!("{word}_{part}")));
    let columns: Vec<String> = columns.collect();
    table(&format!("{name} | | {}", columns.join(", ")))
}

fn filler() -> Vec<DatabaseTable> {
    let names = [
        "audit", "branch", "carrier", "driver", "engine", "forecast", "garage", "hangar",
    ];
    names
        .map(|name| table(&format!("{name} | | id, label, place")))
        .to_vec()
}

#[test]
fn a_comment_that_is_the_word_beats_a_wide_table() {
    let mut tables = filler();
    tables.push(wide(
        "staging_everything",
        &["shipment", "pallet", "truck", "dock"],
    ));
    tables.push(wide(
        "export_everything",
        &["shipment", "claim", "duty", "seal"],
    ));
    tables.push(table("t_0417 | Shipments | id, place"));
    tables.push(table(
        "t_0418 | Notes that people leave about the shipments of a truck | id, place",
    ));
    let catalogue = catalogue(tables);
    let found = best(
        &index(&catalogue),
        &catalogue,
        "How many shipments are there?",
        4,
    );
    assert_eq!(found[0], "t_0417", "{found:?}");
}

#[test]
fn a_name_that_is_the_word_beats_longer_names() {
    let mut tables = filler();
    tables.push(wide("shipment_return_reason_archive_rule", &["shipment"]));
    tables.push(wide("shipment_label_printer_queue", &["shipment"]));
    tables.push(table("shipment | | id, place"));
    let catalogue = catalogue(tables);
    let found = best(&index(&catalogue), &catalogue, "shipments", 1);
    assert_eq!(found, ["shipment"]);
}

/// A table that a hundred others refer to does not get the subjects of all of them.
#[test]
fn a_hub_does_not_speak_for_all_that_point_to_it() {
    let subjects = [
        "pallet", "truck", "dock", "claim", "duty", "seal", "crew", "fuel", "tyre", "toll",
    ];
    let mut tables = vec![table("tenant | | id, label")];
    for subject in subjects {
        for part in ["plan", "cost", "check", "event"] {
            tables.push(table(&format!(
                "{subject}_{part} | | id, tenant > tenant, amount"
            )));
        }
    }
    let catalogue = catalogue(tables);
    let index = index(&catalogue);
    for question in ["pallet cost and truck plan", "toll event, crew check"] {
        let found = best(&index, &catalogue, question, 8);
        let hub = found.iter().position(|name| name == "tenant");
        assert!(hub.is_none_or(|place| place > 3), "{question}: {found:?}");
    }
}
