//! Tests the demo shop.

use quillet_sql::{QueryLimits, demo};

use crate::sqlite::folder::Folder;

#[tokio::test]
async fn the_shop_is_whole_and_described() {
    let folder = Folder::with("");
    let path = folder.path().join("shop.db");
    let database = demo::open(&path).unwrap();
    let catalogue = database.catalogue(&|_, _, _| {}).await.unwrap();
    assert_eq!(catalogue.tables.len(), 16);
    let limits = QueryLimits::default();
    for table in &catalogue.tables {
        assert!(table.comment.is_some(), "{}", table.table_name);
        let sql = format!("SELECT * FROM \"{}\"", table.table_name);
        let rows = database.query(&sql, &limits).await.unwrap();
        assert!(rows.rows.len() >= 4, "{}", table.table_name);
        if table.table_type.to_string() == "table" {
            let silent = table.columns.iter().find(|column| column.comment.is_none());
            assert_eq!(silent, None, "{}", table.table_name);
            assert!(table.row_count.is_some(), "{}", table.table_name);
        }
    }
    let broken = rusqlite::Connection::open(&path).unwrap();
    let broken = broken.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| {
        row.get(0)
    });
    assert_eq!(broken, Ok(0));
}

#[test]
fn the_shop_is_built_once_and_the_same_each_time() {
    let folder = Folder::with("");
    let [one, two] = ["one.db", "two.db"].map(|name| folder.path().join(name));
    assert_eq!(demo::create(&one), Ok(true));
    assert_eq!(demo::create(&two), Ok(true));
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    std::fs::write(&two, "mine").unwrap();
    assert_eq!(demo::create(&two), Ok(false));
    assert_eq!(std::fs::read(&two).unwrap(), b"mine");
    let nowhere = folder.path().join("no folder").join("shop.db");
    let error = demo::create(&nowhere).unwrap_err();
    assert!(error.message.contains("no folder"), "{error}");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 3);
}
