//! Tests that recall on the question files does not decrease.

use std::path::PathBuf;

use quillet_core::chat::Bytes4;
use quillet_sql::SqlConfig;
use quillet_sql::eval::{Recording, Suite, measure, replay};

/// Files with the minimum recall at 10 and at 20, in percent: half a point below the measured
/// values.
const FLOORS: [(&str, f64, f64); 5] = [
    ("spider_union", 96.0, 97.9),
    ("spider_syn", 69.4, 77.2),
    ("fiben", 64.0, 86.3),
    ("snails_small", 94.7, 97.7),
    ("zh_mall", 96.0, 98.0),
];

fn data() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/nl2sql");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("left out: {} is not there", folder.display());
    None
}

#[test]
fn right_tables_are_among_the_best() {
    let Some(folder) = data() else { return };
    for (name, at_10, at_20) in FLOORS {
        let suite = Suite::open(&folder.join(format!("{name}.json"))).unwrap();
        let measured = measure(&suite, &SqlConfig::default(), &Bytes4, &|_, _, _| {});
        for (k, floor) in [(10, at_10), (20, at_20)] {
            let at = measured.order.at.iter().find(|at| at.k == k).unwrap();
            assert!(100.0 * at.recall >= floor, "{name}@{k}: {at:?}");
        }
    }
}

#[test]
fn repair_completes_recorded_choices() {
    let Some(folder) = data() else { return };
    let suite = Suite::open(&folder.join("spider_union.json")).unwrap();
    let recording = Recording::open(&folder.join("recorded_spider_dts.json")).unwrap();
    let replayed = replay(&suite, &recording, &SqlConfig::default(), &Bytes4);
    assert_eq!(replayed.questions, 1_034);
    assert!((0.951..0.953).contains(&replayed.complete), "{replayed:?}");
    assert!(replayed.complete_repaired >= 0.99, "{replayed:?}");
}
