//! Every route requires the right permission.

use quillet_core::store::{EntryKey, EntryKind};
use serde_json::Value;

use super::place::{code, start};

/// Routes that accept every token.
const OPEN: &[&str] = &[
    "/healthz",
    "/readyz",
    "/health",
    "/ready",
    "/startup",
    "/v1/health",
    "/",
    "/console/{file}",
    "/docs",
    "/openapi.json",
    "/swagger/index.html",
];

#[tokio::test]
async fn a_token_without_rights_is_refused_on_every_route() {
    let place = start(&[("nobody", &[])]).await;
    let paths = place.served.openapi["paths"].as_object().unwrap();
    let mut refused = 0;
    for (path, item) in paths {
        let mut real = path.clone();
        for name in ["id", "name", "label", "schema", "table"] {
            real = real.replace(&format!("{{{name}}}"), "greet.hello");
        }
        let real = real.replace("{mark}", "1").replace("{file}", "app.js");
        for method in item.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let answer = place.send("nobody", &method, &real, "{}").await;
            let expected = !OPEN.contains(&path.as_str());
            assert_eq!(
                answer.status == 403,
                expected,
                "{method} {real}: {answer:?}"
            );
            refused += usize::from(expected);
        }
    }
    assert!(refused > 100, "{refused}");
}

#[tokio::test]
async fn each_right_opens_what_it_is_for_and_for_its_ids_only() {
    let all = ["read", "render", "write", "promote", "admin"];
    let tokens = [
        ("read", &["read greet.*", "read shop"] as &[&str]),
        ("render", &["render greet.*"]),
        ("write", &["write greet.*"]),
        ("promote", &["promote greet.*"]),
        ("admin", &["admin greet.*"]),
    ];
    let place = start(&tokens).await;
    let definition = r#"{"userPrompt":"Hello"}"#;
    // Each case has the method, the path, the body (ID stands for the definition) and the
    // permissions that grant access.
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("GET", "/api/prompts/ID", "", &["read"]),
        ("GET", "/api/v1/prompts/ID@1", "", &["read"]),
        ("GET", "/api/prompts/ID/versions", "", &["read"]),
        ("GET", "/api/prompts/ID/versions/1", "", &["read"]),
        ("GET", "/api/prompts/ID/labels", "", &["read"]),
        ("GET", "/api/prompts/ID/diff?from=1&to=1", "", &["read"]),
        ("POST", "/api/render/prompts/ID", "{}", &["render"]),
        ("POST", "/api/prompts/ID/render", "{}", &["render"]),
        ("POST", "/api/chat/prompts/ID", "{}", &["render"]),
        ("POST", "/api/prompts/ID/chat", "{}", &["render"]),
        ("POST", "/api/render/prompts/ID@1", "{}", &["render"]),
        ("PUT", "/api/prompts/ID", definition, &["write"]),
        ("POST", "/api/v1/prompts/ID", definition, &["write"]),
        ("PATCH", "/api/prompts/ID", "{}", &["write"]),
        (
            "PUT",
            "/api/prompts/ID/labels/next",
            r#"{"version":1}"#,
            &["write", "promote"],
        ),
        (
            "PUT",
            "/api/prompts/ID/labels/production",
            r#"{"version":1}"#,
            &["promote"],
        ),
        ("GET", "/api/v1/log?id=ID", "", &["admin"]),
        ("GET", "/api/v1/dbs/ID", "", &["read"]),
        (
            "POST",
            "/api/v1/dbs/ID/query",
            r#"{"sql":"SELECT 1"}"#,
            &["render"],
        ),
        ("DELETE", "/api/v1/dbs/ID", "", &["write"]),
    ];
    for (method, path, body, opened_by) in cases {
        for id in ["greet.hello", "secret.plan"] {
            let path = path.replace("ID", id);
            for who in all {
                let answer = place.send(who, method, &path, body).await;
                let may = id == "greet.hello" && (who == "admin" || opened_by.contains(&who));
                assert_eq!(
                    answer.status != 403,
                    may,
                    "{who}: {method} {path}: {answer:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn who_was_refused_what_is_said_and_noted() {
    let tokens = [
        ("ci", &["write greet.* !greet.secret"] as &[&str]),
        ("boss", &["admin"]),
        ("half", &["admin greet.*"]),
    ];
    let place = start(&tokens).await;
    let definition = r#"{"userPrompt":"Hello"}"#;
    let refused = place
        .send("ci", "PUT", "/api/v1/prompts/greet.secret", definition)
        .await;
    assert_eq!(code(&refused), (403, "auth.forbidden".to_owned()));
    let said = "ci does not have the permission write for prompt greet.secret";
    assert_eq!(refused.json()["detail"], said);
    let refused = place.send("ci", "GET", "/api/prompts", "").await;
    let said = "ci does not have the permission read for any definition";
    assert_eq!(refused.json()["detail"], said);

    let path = "/api/v1/prompts/greet.a?message=why&label=next";
    let written = place.send("ci", "PUT", path, definition).await;
    assert_eq!(written.status, 201);
    let lines = place.log("boss", "").await;
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            let from = text("from");
            assert_eq!(from, "127.0.0.1");
            [text("who"), text("action"), text("id"), text("label")]
        })
        .collect();
    assert_eq!(
        told,
        [
            ["ci", "label", "greet.a", "next"],
            ["ci", "write", "greet.a", ""],
            ["ci", "refused", "", ""],
            ["ci", "refused", "greet.secret", ""],
        ]
    );
    assert_eq!(
        lines[2]["message"],
        "ci does not have the permission read for any definition: GET /api/prompts"
    );
    assert_eq!(
        (&lines[1]["version"], &lines[1]["message"]),
        (&1.into(), &"why".into())
    );
    // Tests the pages, filters and visibility of entries.
    let path = format!("?before={}&limit=1", lines[0]["number"]);
    assert_eq!(place.log("boss", &path).await, lines[1..2]);
    assert_eq!(
        place
            .log("boss", "?kind=prompt&id=greet.secret")
            .await
            .len(),
        1
    );
    assert_eq!(place.log("boss", "?who=boss").await.len(), 0);
    assert_eq!(place.log("half", "?id=greet.a").await.len(), 2);
    for (who, query, status) in [
        ("half", "", 403),
        ("half", "?id=other", 403),
        ("ci", "", 403),
        ("boss", "?kind=nothing", 422),
        ("boss", "?limit=0", 422),
    ] {
        let path = format!("/api/v1/log{query}");
        assert_eq!(
            place.send(who, "GET", &path, "").await.status,
            status,
            "{who} {query}"
        );
    }
}

#[tokio::test]
async fn whoever_has_no_token_leaves_no_line_and_who_has_one_leaves_few() {
    let place = start(&[("few", &["render greet.*"]), ("boss", &["admin"])]).await;
    for who in ["", "nobody"] {
        for (method, path) in [("GET", "/api/prompts"), ("PUT", "/api/prompts/greet.a")] {
            let answer = place.send(who, method, path, "{}").await;
            assert_eq!(answer.status, 401, "{answer:?}");
        }
    }
    assert!(place.log("boss", "").await.is_empty());
    let everything = r#"{"template":"{{.variables.x}}"}"#;
    for (method, path, body, said) in [
        (
            "GET",
            "/api/v1/log",
            "",
            "permission admin for any definition: GET /api/v1/log",
        ),
        (
            "POST",
            "/api/render",
            everything,
            "permission render for every definition: POST /api/render",
        ),
        (
            "GET",
            "/metrics",
            "",
            "permission read for any definition: GET /metrics",
        ),
    ] {
        let answer = place.send("few", method, path, body).await;
        assert_eq!(answer.status, 403, "{answer:?}");
        let lines = place.log("boss", "?limit=1").await;
        let message = lines[0]["message"].as_str().unwrap();
        assert!(message.ends_with(said), "{message}");
        assert_eq!(
            (&lines[0]["kind"], &lines[0]["id"]),
            (&Value::Null, &Value::Null)
        );
    }
    for _ in 0..200 {
        place
            .send("few", "DELETE", "/api/prompts/greet.hello", "")
            .await;
    }
    let lines = place.log("boss", "?limit=1000").await;
    assert!((60..200).contains(&lines.len()), "{}", lines.len());
}

#[tokio::test]
async fn basic_is_as_good_as_bearer() {
    let place = start(&[("pk-lf-1", &["read"])]).await;
    // The pair is the output of `printf pk-lf-1:pk-lf-1-secret | base64`.
    let pair = "Basic cGstbGYtMTpway1sZi0xLXNlY3JldA==";
    let headers = [("authorization", pair)];
    let answer = place
        .send_with("", "GET", "/api/prompts", "", &headers)
        .await;
    assert_eq!(answer.status, 200);
    let headers = [("authorization", "Basic cGstbGYtMg==")];
    let answer = place
        .send_with("", "GET", "/api/prompts", "", &headers)
        .await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn connections_of_databases_have_versions_and_no_password_gets_out() {
    let place = start(&[("boss", &["admin"]), ("dba", &["write", "read"])]).await;
    let path = std::env::temp_dir().join(format!("quillet-rights-{}.db", std::process::id()));
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let body = format!(
        r#"{{"url":"sqlite:{}","sshConfig":null,"description":"the shop"}}"#,
        path.display()
    );
    place.ok("dba", "PUT", "/api/v1/dbs/shop", &body).await;
    let gone = place.send("dba", "DELETE", "/api/v1/dbs/shop", "").await;
    assert_eq!(gone.status, 204, "{gone:?}");
    std::fs::remove_file(path).unwrap();
    let history = place.served.store.history().unwrap();
    let key = EntryKey::new("shop");
    let versions = history
        .versions(EntryKind::Database, &key, None, 9)
        .await
        .unwrap();
    let told: Vec<_> = versions
        .iter()
        .map(|version| (version.number, &*version.author, version.removed))
        .collect();
    assert_eq!(told, [(2, "dba", true), (1, "dba", false)]);
    let lines = place.log("boss", "?kind=database").await;
    let actions: Vec<_> = lines.iter().map(|line| &line["action"]).collect();
    assert_eq!(actions, ["remove", "write"]);
    assert!(!format!("{lines:?}").contains("sqlite:"), "{lines:?}");
}
