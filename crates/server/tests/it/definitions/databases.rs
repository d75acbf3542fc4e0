//! Versions of database connections, which contain passwords.

use quillet_core::store::{EntryKey, EntryKind};
use quillet_test_support::TempDir;
use serde_json::{Value, json};

use super::place::{Place, code, start};
use crate::test_server::eventually;

const SHOP: &str = "/api/v1/dbs/shop";

/// Writes a connection directly to the store and waits for its version.
async fn write(place: &Place, text: &str, number: u64) {
    let (store, key) = (&place.served.store, EntryKey::new("shop"));
    store.put(EntryKind::Database, &key, text).await.unwrap();
    let history = store.history().unwrap();
    eventually("a version", async || {
        let newest = history.versions(EntryKind::Database, &key, None, 1).await;
        let newest = newest.unwrap();
        newest
            .first()
            .is_some_and(|version| version.number == number)
    })
    .await;
}

/// Returns a connection with this word in all of its secrets.
fn secret(word: &str, description: &str) -> String {
    json!({
        "url": format!("postgresql://ada:{word}-a@127.0.0.1:1/shop"),
        "sshConfig": {"host": "gate", "username": "ada", "password": format!("{word}-b"),
            "privateKey": format!("{word}-c"), "keyPassphrase": format!("{word}-d")},
        "description": description,
    })
    .to_string()
}

#[tokio::test]
async fn versions_of_connections_are_read_without_a_secret() {
    let place = start(&[
        ("guest", &["read shop"]),
        ("other", &["read elsewhere", "write"]),
    ])
    .await;
    write(&place, &secret("canary-one", "Orders"), 1).await;
    write(&place, &secret("canary-two", "Orders"), 2).await;
    write(&place, &secret("canary-two", "Orders and customers"), 3).await;
    write(&place, r#"{"uri": "canary-three"}"#, 4).await;
    let get = async |path: &str| {
        let answer = place
            .send("guest", "GET", &format!("{SHOP}{path}"), "")
            .await;
        let (head, body) = (&answer.head, &answer.body);
        assert!(
            !head.contains("canary") && !body.contains("canary"),
            "{path}: {answer:?}"
        );
        answer
    };
    let listed = get("/versions").await.json();
    let versions = listed["versions"].as_array().unwrap();
    let told: Vec<Value> = versions.iter().map(|one| one["version"].clone()).collect();
    assert_eq!(told, [4, 3, 2, 1]);
    for one in versions {
        // These members would help to guess a password.
        assert_eq!(
            (&one["digest"], &one["bytes"]),
            (&Value::Null, &Value::Null)
        );
    }
    let one = get("/versions/1").await;
    assert_eq!(one.header("quillet-version"), Some("1"));
    assert_eq!(one.header("quillet-revision"), None);
    let one = one.json();
    let url = "postgresql://ada:****@127.0.0.1:1/shop";
    assert_eq!(one["definition"]["url"], url);
    assert_eq!(one["definition"]["sshConfig"]["host"], "gate");
    assert_eq!(one["digest"], Value::Null);
    let diff = get("/diff?from=1&to=2").await.body;
    assert!(diff.contains("+secrets: \"changed\"\n"), "{diff}");
    let diff = get("/diff?from=2&to=3").await.body;
    let expected = "-description: \"Orders\"\n+description: \"Orders and customers\"\n";
    assert!(
        diff.contains(expected) && !diff.contains("secrets"),
        "{diff}"
    );
    for path in ["/versions/4", "/diff", "/diff?from=4&to=1"] {
        let shown = get(path).await;
        assert!(
            shown.body.contains("is not a valid connection"),
            "{path}: {shown:?}"
        );
    }
    let digest = get("/versions/sha256:0123456789abcdef").await;
    assert_eq!(code(&digest), (400, "history.mark".to_owned()));
    let digest = get("/diff?from=sha256:0123456789abcdef").await;
    assert_eq!(code(&digest), (400, "history.mark".to_owned()));
    let absent = get("/versions/9").await;
    assert_eq!(code(&absent), (404, "history.version".to_owned()));
    for path in ["/versions", "/versions/1", "/diff"] {
        let path = format!("{SHOP}{path}");
        let refused = place.send("other", "GET", &path, "").await;
        assert_eq!(code(&refused), (403, "auth.forbidden".to_owned()), "{path}");
    }
    // An invalid version cannot be restored.
    let broken = place
        .send("other", "POST", &format!("{SHOP}/rollback?to=4"), "")
        .await;
    assert_eq!(broken.status, 400, "{broken:?}");
}

#[tokio::test]
async fn a_connection_is_put_back() {
    let place = start(&[
        ("dba", &["read", "write"]),
        ("guest", &["read"]),
        ("boss", &["admin"]),
    ])
    .await;
    let folder = TempDir::new();
    let path = folder.path().join("shop.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    for description in ["one", "two"] {
        let url = format!("sqlite:{}", path.display());
        let body = json!({"url": url, "description": description}).to_string();
        place.ok("dba", "PUT", SHOP, &body).await;
    }
    let back = format!("{SHOP}/rollback");
    let refused = place.send("guest", "POST", &back, "").await;
    assert_eq!(code(&refused), (403, "auth.forbidden".to_owned()));
    let put = place.ok("dba", "POST", &back, "").await;
    assert_eq!(put["description"], "one");
    let to = format!("{back}?to=2&message=After%20all");
    let put = place.ok("dba", "POST", &to, "").await;
    assert_eq!(put["description"], "two");
    place.send("dba", "DELETE", SHOP, "").await;
    // A rollback restores the last version of a removed connection.
    let put = place.ok("dba", "POST", &back, "").await;
    assert_eq!(put["description"], "two");
    let now = place.ok("guest", "GET", SHOP, "").await;
    assert_eq!(now["description"], "two");
    let listed = place
        .ok("guest", "GET", &format!("{SHOP}/versions"), "")
        .await;
    let versions = listed["versions"].as_array().unwrap().iter();
    let told: Vec<String> = versions
        .map(|one| format!("{} {} {}", one["version"], one["author"], one["message"]))
        .collect();
    let expected = [
        r#"6 "dba" "rolled back to 4""#,
        r#"5 "dba" null"#,
        r#"4 "dba" "After all""#,
        r#"3 "dba" "rolled back to 1""#,
        r#"2 "dba" null"#,
        r#"1 "dba" null"#,
    ];
    assert_eq!(told, expected);
    let lines = place.log("boss", "?kind=database").await;
    let told: Vec<_> = lines.iter().map(|line| &line["action"]).collect();
    assert_eq!(
        told,
        [
            "write", "remove", "write", "write", "refused", "write", "write"
        ]
    );
    for (to, status) in [("9", 404), ("nobody", 404), ("sha256:0123456789", 400)] {
        let answer = place
            .send("dba", "POST", &format!("{back}?to={to}"), "")
            .await;
        assert_eq!(answer.status, status, "{to}: {answer:?}");
    }
}
