//! Tests initials and abbreviations, which count only for words that the schema does not contain.

use super::{best, catalogue, index, table};

#[test]
fn initials_are_silent_beside_the_words_themselves() {
    let catalogue = catalogue(vec![
        table("customers | | id, region, placed_at"),
        table("cr_versions | | id, label"),
        table("rc_cache | | id, payload"),
        table("hs_units | | id, label"),
    ]);
    let index = index(&catalogue);
    for question in [
        "customer region",
        "region of the customers",
        "customers by region",
    ] {
        let found = best(&index, &catalogue, question, 10);
        assert_eq!(found, ["customers"], "{question}");
    }
    assert_eq!(best(&index, &catalogue, "high school", 1), ["hs_units"]);
}

#[test]
fn initials_of_many_words_stand_for_those_that_are_missing() {
    let catalogue = catalogue(vec![
        table("edr_units | | id, label"),
        table("event_data | | id, label"),
    ]);
    let found = best(&index(&catalogue), &catalogue, "event data recorder", 10);
    assert!(found.contains(&"edr_units".to_owned()), "{found:?}");
}

#[test]
fn abbreviations_are_silent_beside_the_words_themselves() {
    let catalogue = catalogue(vec![
        table("customers | | id, label"),
        table("cust_tmpl | | id, label"),
        table("dept | | id, label"),
    ]);
    let index = index(&catalogue);
    assert_eq!(best(&index, &catalogue, "customers", 10), ["customers"]);
    assert_eq!(best(&index, &catalogue, "department", 10), ["dept"]);
}
