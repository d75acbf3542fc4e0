//! Tests the combined ranking by words and embeddings.

use super::{best, index, shop};

/// A toy embedder that counts mentions of a few subjects.
fn embed(text: &str) -> Vec<f32> {
    let subjects: [&[&str]; 3] = [
        &["customer", "punter"],
        &["refund", "退款"],
        &["salary", "emp"],
    ];
    let text = text.to_lowercase();
    let count = |words: &&[&str]| {
        words
            .iter()
            .map(|word| text.matches(word).count())
            .sum::<usize>()
    };
    subjects.iter().map(|words| count(words) as f32).collect()
}

#[test]
fn vectors_find_what_words_do_not() {
    let catalogue = shop();
    let index = index(&catalogue);
    let texts = index.texts();
    assert_eq!(texts.len(), catalogue.tables.len());
    assert!(
        texts
            .iter()
            .any(|text| text.contains("customers: Customers of the shop. Columns: id, full name")),
        "{texts:?}"
    );
    let vectors: Vec<Vec<f32>> = texts.iter().map(|text| embed(text)).collect();
    let question = "products for each punter";
    assert_ne!(best(&index, &catalogue, question, 2)[1], "customers");
    let blended = index.blend(question, &embed(question), &vectors, 4);
    let names: Vec<&str> = blended
        .iter()
        .map(|r| catalogue.tables[r.table].table_name.as_str())
        .collect();
    assert!(
        names.contains(&"customers") && names.contains(&"products"),
        "{names:?}"
    );
}

#[test]
fn useless_vectors_change_nothing() {
    let catalogue = shop();
    let index = index(&catalogue);
    let order = |ranked: Vec<quillet_sql::rank::RankedTable>| {
        ranked.iter().map(|r| r.table).collect::<Vec<usize>>()
    };
    let plain = order(index.rank("orders of customers", 5));
    let count = catalogue.tables.len();
    for (vector, tables) in [
        (vec![1.0, 0.0], Vec::new()),
        (vec![1.0, 0.0], vec![vec![1.0]; count]),
        (vec![0.0, 0.0], vec![vec![1.0, 2.0]; count]),
        (vec![f32::NAN, 1.0], vec![vec![1.0, 2.0]; count]),
        (vec![1.0, 0.0], vec![vec![f32::INFINITY, 0.0]; count + 7]),
    ] {
        assert_eq!(
            order(index.blend("orders of customers", &vector, &tables, 5)),
            plain
        );
    }
}
