//! Tests names and questions of any size and kind.

use proptest::prelude::*;
use quillet_sql::catalogue::DatabaseTable;

use super::{catalogue, index, shop, table};

#[test]
fn huge_texts_are_read_in_part() {
    let catalogue = shop();
    let index = index(&catalogue);
    let cases = [
        "orders ",
        "订单退款",
        "ordersproducts",
        "a1b2-",
        "\u{0}\u{fffd} ",
        "ＡＢＣ ",
    ];
    for case in cases {
        let question = case.repeat((1 << 20) / case.len());
        assert!(index.rank(&question, 50).len() <= 50, "{case:?}");
    }
    let question = format!("orders {}", "x".repeat(1 << 20));
    assert_eq!(
        catalogue.tables[index.rank(&question, 1)[0].table].table_name,
        "orders"
    );
}

#[test]
fn huge_names_are_read_in_part() {
    for unit in ["a", "Ab", "ordersof", "表", "_", "a_", "1"] {
        let mut long = table("orders | | id");
        long.table_name = unit.repeat(100_000 / unit.len());
        long.comment = Some(unit.repeat(100_000));
        long.columns[0].name.clone_from(&long.table_name);
        let catalogue = catalogue(vec![long, table("customers | | id")]);
        let ranked = index(&catalogue).rank("customers", 1);
        assert_eq!(
            catalogue.tables[ranked[0].table].table_name, "customers",
            "{unit}"
        );
    }
}

#[test]
fn ten_thousand_equal_tables_stay_in_order() {
    let equal = |i: usize| DatabaseTable {
        schema_name: format!("s{i:05}"),
        ..table("orders | | id, customer_id, placed_at")
    };
    let catalogue = catalogue((0..10_000).map(equal).collect());
    let ranked = index(&catalogue).rank("orders placed by customers", 50);
    let places: Vec<usize> = ranked.iter().map(|r| r.table).collect();
    assert_eq!(places, (0..50).collect::<Vec<usize>>());
}

#[test]
fn keys_in_circles_and_to_nowhere_end() {
    let catalogue = catalogue(vec![
        table("a_orders | | id, x > b_orders, y > a_orders, z > nowhere"),
        table("b_orders | | id, x > a_orders"),
    ]);
    assert_eq!(index(&catalogue).rank("orders", 10).len(), 2);
}

#[test]
fn answers_are_the_same_each_time() {
    let catalogue = shop();
    let first = index(&catalogue).rank("price of the products that customers ordered 退款", 20);
    for _ in 0..5 {
        assert_eq!(
            index(&catalogue).rank("price of the products that customers ordered 退款", 20),
            first
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_names_and_question(names in prop::collection::vec(".{0,40}", 0..12), question in ".{0,80}", most in 0usize..20) {
        let tables = names.iter().map(|name| DatabaseTable { table_name: name.clone(), ..table("t | | id, name") });
        let catalogue = catalogue(tables.collect());
        let ranked = index(&catalogue).rank(&question, most);
        prop_assert!(ranked.len() <= most);
        prop_assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score));
        prop_assert!(ranked.iter().all(|r| r.score > 0.0 && r.table < names.len() && !r.why.is_empty()));
        let mut places: Vec<usize> = ranked.iter().map(|r| r.table).collect();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(places.len(), ranked.len());
    }

    #[test]
    fn a_table_is_found_by_its_name(name in "[a-z]{5,12}(_[a-z]{5,12}){0,2}") {
        let mut tables = vec![table("zzorders | | id"), table("zzcustomers | | id")];
        tables.push(DatabaseTable { table_name: name.clone(), ..table("t | | id") });
        let catalogue = catalogue(tables);
        let ranked = index(&catalogue).rank(&name, 1);
        prop_assert_eq!(&catalogue.tables[ranked[0].table].table_name, &name);
    }
}
