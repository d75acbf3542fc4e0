//! Tests similar tables: partitions, yearly copies, archives.

use super::{best, catalogue, index, table};

const COLUMNS: &str = "id, caller, callee, seconds, started_at, cost";

#[test]
fn copies_and_partitions_are_ranked_once() {
    let families: &[(&str, &[&str])] = &[
        // The table itself represents its copies, regardless of their names.
        (
            "calls",
            &["calls_archive", "calls_2022", "calls_2023", "calls_bak"],
        ),
        ("calls", &["calls_p0", "calls_p1", "calls_p2", "calls_p3"]),
        ("calls", &["old_calls"]),
        ("calls", &["calls_backup_20240131"]),
        ("CallRecord", &["CallRecordHistory", "CallRecord2023"]),
        // Without the table itself, the newest partition represents the family.
        ("calls_2023", &["calls_2021", "calls_2022"]),
        ("calls_2024", &["calls_2023"]),
        ("calls_y2024m02", &["calls_y2023m12", "calls_y2024m01"]),
        ("calls_2023", &["calls_2022", "calls_archive"]),
    ];
    for (one, others) in families {
        let mut tables = vec![
            table("tariffs | | id, label"),
            table("callers | | id, label"),
        ];
        for name in others.iter().chain([one]) {
            tables.push(table(&format!("{name} | | {COLUMNS}")));
        }
        let catalogue = catalogue(tables);
        let found = best(
            &index(&catalogue),
            &catalogue,
            "cost and seconds of the calls",
            10,
        );
        assert!(found.contains(&(*one).to_owned()), "{one}: {found:?}");
        assert!(
            others
                .iter()
                .all(|other| !found.contains(&(*other).to_owned())),
            "{one}: {found:?}"
        );
    }
}

#[test]
fn a_copy_that_lags_behind_is_a_copy() {
    let catalogue = catalogue(vec![
        table("calls | | id, caller, callee, seconds, started_at, cost, codec"),
        table("calls_archive | | id, caller, callee, seconds, started_at, cost"),
    ]);
    let found = best(&index(&catalogue), &catalogue, "seconds of the calls", 10);
    assert_eq!(found, ["calls"]);
}

#[test]
fn a_member_that_is_named_comes_first() {
    let catalogue = catalogue(vec![
        table(&format!("calls | | {COLUMNS}")),
        table(&format!("calls_2022 | | {COLUMNS}")),
        table(&format!("calls_2023 | | {COLUMNS}")),
        table(&format!("calls_archive | | {COLUMNS}")),
    ]);
    let index = index(&catalogue);
    for (question, wanted) in [
        ("archived calls", &["calls_archive", "calls"][..]),
        ("归档的 calls", &["calls_archive", "calls"]),
        ("calls of 2022", &["calls_2022", "calls"]),
        (
            "calls of 2022 and 2023",
            &["calls_2023", "calls_2022", "calls"],
        ),
        ("calls", &["calls"]),
    ] {
        assert_eq!(best(&index, &catalogue, question, 10), wanted, "{question}");
    }
}

#[test]
fn tables_of_other_columns_are_no_copies() {
    let catalogue = catalogue(vec![
        table("calls | | id, caller, callee, seconds"),
        table("calls_history | | id, call_id, changed_by, changed_at, reason"),
        table("calls_1 | | id, caller, callee, seconds"),
    ]);
    let found = best(&index(&catalogue), &catalogue, "calls", 10);
    assert_eq!(found.len(), 3, "{found:?}");
}

/// A family of two hundred tables leaves room for other tables.
#[test]
fn a_large_family_does_not_fill_the_list() {
    let mut tables = vec![
        table("call_quality | | id, call_id, jitter"),
        table("call_reasons | | id, label"),
    ];
    for day in 1..=28 {
        for month in 1..=7 {
            let name = format!("calls_2024{month:02}{day:02}");
            tables.push(table(&format!("{name} | | {COLUMNS}")));
        }
    }
    tables.push(table(&format!("calls_old | | {COLUMNS}")));
    let catalogue = catalogue(tables);
    let found = best(
        &index(&catalogue),
        &catalogue,
        "quality of the calls and their reasons",
        3,
    );
    for name in ["call_quality", "call_reasons", "calls_20240728"] {
        assert!(found.contains(&name.to_owned()), "{name}: {found:?}");
    }
}
