//! Tests questions with the tables that should rank first.

use quillet_sql::rank::{Glossary, RankIndex};

use super::{best, catalogue, index, shop, table};

#[test]
fn questions_find_their_tables() {
    let cases: &[(&str, &[&str])] = &[
        // These questions contain unchanged words, plurals and irregular plurals.
        ("How many customers are there?", &["customers"]),
        ("products by category", &["products", "categories"]),
        ("names of the categories", &["categories"]),
        // These questions contain synonyms and words with the same root.
        ("What did each buyer purchase?", &["customers"]),
        ("average wage of our workers", &["tbl_emp"]),
        // Abbreviations.
        (
            "Which employee works in which department?",
            &["tbl_emp", "tbl_dept"],
        ),
        ("manager of every department", &["tbl_dept"]),
        ("available quantity in each warehouse", &["stockonhand"]),
        ("event data recorder", &["edr_event"]),
        // These questions match compounds without separators.
        ("last traded value by ticker symbol", &["TRADEDSECURITIES"]),
        ("stock on hand", &["stockonhand"]),
        // These Chinese questions contain words of comments, synonyms, and a single character.
        ("退款金额最大的订单", &["oms_refund_apply"]),
        ("每个会员的昵称", &["ums_member"]),
        ("用户的联系方式", &["ums_member"]),
        ("可以使用的代金券", &["sms_coupon"]),
        // Across languages.
        ("有多少客户", &["customers"]),
        ("每个商品的价格", &["products"]),
        ("coupons that start next week", &["sms_coupon"]),
    ];
    let catalogue = shop();
    let index = index(&catalogue);
    for (question, wanted) in cases {
        let found = best(&index, &catalogue, question, wanted.len() + 1);
        for table in *wanted {
            assert!(
                found.iter().any(|name| name == table),
                "{question}: {found:?}"
            );
        }
    }
}

#[test]
fn joined_tables_come_along_and_say_why() {
    let catalogue = catalogue(vec![
        table("singers | | id, name"),
        table("concerts | | id, title"),
        table("appearances | | id, singer > singers, concert > concerts"),
        table("unrelated | | id, colour"),
    ]);
    let ranked = index(&catalogue).rank("names of vocalists with the title of the concerts", 10);
    let names: Vec<&str> = ranked
        .iter()
        .map(|r| catalogue.tables[r.table].table_name.as_str())
        .collect();
    assert!(names[..3].contains(&"appearances"), "{names:?}");
    assert!(!names.contains(&"unrelated"), "{names:?}");

    let catalogue = super::catalogue(vec![
        table("fct_a1 | | id, b2 > dim_b2"),
        table("dim_b2 | Invoices | id"),
    ]);
    let ranked = index(&catalogue).rank("invoices", 10);
    assert_eq!(ranked[0].why, ["invoice"]);
    assert_eq!(ranked[1].why, ["joins dim_b2"]);
    assert!(ranked[0].score > ranked[1].score);
}

#[test]
fn keys_are_read_from_names_where_none_is_declared() {
    let catalogue = catalogue(vec![
        table("ums_member | | id, nickname"),
        table("oms_cart | | id, member_id, checked"),
        table("sys_dict | | id, label"),
    ]);
    let found = best(&index(&catalogue), &catalogue, "nickname", 10);
    assert_eq!(found, ["ums_member", "oms_cart"]);
}

#[test]
fn families_are_ranked_once() {
    let catalogue = shop();
    let index = index(&catalogue);
    let found = best(&index, &catalogue, "level of the log messages", 10);
    let logs: Vec<&String> = found
        .iter()
        .filter(|name| name.starts_with("log_"))
        .collect();
    assert_eq!(logs, ["log_2023_04"], "the newest stands for all");
    for question in [
        "log messages of 2023-02",
        "log messages 202302",
        "log 2023 02",
    ] {
        assert_eq!(
            best(&index, &catalogue, question, 1),
            ["log_2023_02"],
            "{question}"
        );
    }
    let ranked = index.rank("log messages", 1);
    assert!(
        ranked[0].why.contains(&"one of 4 alike".to_owned()),
        "{:?}",
        ranked[0].why
    );
}

#[test]
fn glossary_is_read_both_ways() {
    let catalogue = shop();
    let entries = [
        ("GMV", vec!["total amount"]),
        ("流失率", vec!["customers", "orders"]),
        ("salary", vec!["Gehalt"]),
    ];
    let entries = entries.map(|(word, others)| {
        (
            word.to_owned(),
            others.into_iter().map(str::to_owned).collect(),
        )
    });
    let glossary = Glossary {
        entries: entries.to_vec(),
    };
    let with = RankIndex::build(catalogue.clone(), &glossary);
    let without = index(&catalogue);
    for (question, wanted) in [
        ("gmv last month", "orders"),
        ("本月流失率", "customers"),
        ("Gehalt", "tbl_emp"),
    ] {
        assert_eq!(best(&with, &catalogue, question, 1), [wanted], "{question}");
        assert_ne!(
            best(&without, &catalogue, question, 1),
            [wanted],
            "{question}"
        );
    }
}

#[test]
fn small_schemas_support_their_tables() {
    let catalogue = catalogue(vec![
        table("zoo.animals | | id, name"),
        table("zoo.keepers | | id, name"),
        table("bank.people | | id, name"),
        table("bank.accounts | | id, balance"),
    ]);
    let ranked = index(&catalogue).rank("name of the keepers of the animals", 3);
    let names: Vec<String> = ranked
        .iter()
        .map(|r| catalogue.tables[r.table].qualified())
        .collect();
    assert_eq!(names[2], "bank.people");
    assert!(
        names[..2].iter().all(|name| name.starts_with("zoo.")),
        "{names:?}"
    );
}

#[test]
fn nothing_is_found_for_nothing() {
    let catalogue = shop();
    let index = index(&catalogue);
    for question in ["", "   ", "what is the", "???", "的了吗"] {
        assert_eq!(index.rank(question, 10), [], "{question}");
    }
    assert_eq!(index.rank("orders", 0), []);
    let empty = super::catalogue(Vec::new());
    assert_eq!(
        RankIndex::build(empty, &Glossary::default()).rank("orders", 10),
        []
    );
}
