//! Tests that the catalogues of sample databases match their dumps.

use quillet_sql::catalogue::{DatabaseTable, TableType};
use quillet_sql::{Catalogue, Cell};
use quillet_test_support::Postgres;

use super::{catalogue, shared, value};

fn table<'a>(catalogue: &'a Catalogue, name: &str) -> &'a DatabaseTable {
    catalogue
        .resolve(None, name)
        .unwrap_or_else(|| panic!("{name}"))
}

fn count(catalogue: &Catalogue, of: TableType) -> usize {
    let tables = catalogue.tables.iter();
    tables.filter(|table| table.table_type == of).count()
}

fn keys(catalogue: &Catalogue) -> usize {
    catalogue.tables.iter().map(|t| t.foreign_keys.len()).sum()
}

/// Removes the lines of a dump that select a database.
fn without_database(dump: &str) -> String {
    let lines = dump.lines().filter(|line| {
        let own = ["\\c ", "CREATE DATABASE", "DROP DATABASE"];
        !own.iter().any(|word| line.starts_with(word))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn chinook() {
    let Some(dump) = shared("nl2sql/samples/chinook_postgresql.sql") else {
        return;
    };
    let server = Postgres::start();
    let url = server.create_database("chinook");
    server.execute_in("chinook", &without_database(&dump));
    let catalogue = catalogue(&url).await;
    assert_eq!(catalogue.tables.len(), 11);
    assert_eq!(keys(&catalogue), 11);
    let track = table(&catalogue, "track");
    assert_eq!(track.columns.len(), 9);
    assert!(track.columns[0].is_primary_key && !track.columns[1].is_primary_key);
    let price = track.column("unit_price").unwrap();
    assert_eq!(price.data_type, "numeric(10,2)");
    assert!(!price.is_nullable && track.column("composer").unwrap().is_nullable);
    let line = table(&catalogue, "invoice_line");
    let targets: Vec<&str> = line
        .foreign_keys
        .iter()
        .map(|k| k.ref_table.as_str())
        .collect();
    assert_eq!(targets, ["invoice", "track"]);
    let both = table(&catalogue, "playlist_track");
    assert!(both.columns.iter().all(|column| column.is_primary_key));
    assert_eq!(
        value(&url, "SELECT count(*) FROM track").await,
        Cell::Int(3503)
    );
    assert_eq!(
        value(&url, "SELECT sum(total) FROM invoice").await,
        Cell::Text("2328.60".to_owned())
    );
}

#[tokio::test]
async fn sakila() {
    let (Some(schema), Some(data)) = (
        shared("nl2sql/samples/sakila_postgresql_schema.sql"),
        shared("nl2sql/samples/sakila_postgresql_data_copy.sql"),
    ) else {
        return;
    };
    let server = Postgres::start();
    let url = server.create_database("sakila");
    server.execute_in("sakila", &schema);
    server.execute_in("sakila", &data);
    let catalogue = catalogue(&url).await;
    assert_eq!(catalogue.tables.len(), 28);
    assert_eq!(count(&catalogue, TableType::View), 7);
    let film = table(&catalogue, "film");
    let rating = film.column("rating").unwrap();
    assert_eq!(rating.values, ["G", "PG", "PG-13", "R", "NC-17"]);
    assert_eq!(rating.data_type, "mpaa_rating");
    let year = film.column("release_year").unwrap();
    assert_eq!(year.data_type, "year");
    assert_eq!(year.extra.as_deref(), Some("domain of integer"));
    assert_eq!(film.column("special_features").unwrap().data_type, "text[]");
    assert_eq!(film.foreign_keys.len(), 2);
    assert_eq!(
        value(&url, "SELECT count(*) FROM film").await,
        Cell::Int(1000)
    );
    assert_eq!(
        value(&url, "SELECT special_features FROM film WHERE film_id = 1").await,
        Cell::Array(vec![
            Cell::Text("Deleted Scenes".to_owned()),
            Cell::Text("Behind the Scenes".to_owned()),
        ])
    );
}

#[tokio::test]
async fn northwind() {
    let Some(dump) = shared("nl2sql/samples/northwind_postgresql.sql") else {
        return;
    };
    let server = Postgres::start();
    let url = server.create_database("northwind");
    server.execute_in("northwind", &dump);
    let catalogue = catalogue(&url).await;
    assert_eq!((catalogue.tables.len(), keys(&catalogue)), (14, 13));
    let own = table(&catalogue, "employees").foreign_keys.first().unwrap();
    assert_eq!(
        (own.ref_table.as_str(), &own.columns[0][..]),
        ("employees", "reports_to")
    );
    assert_eq!(
        value(&url, "SELECT count(*) FROM orders").await,
        Cell::Int(830)
    );
}
