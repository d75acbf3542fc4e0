//! Errors about disabled features name the feature to enable.

use crate::Place;
#[cfg(not(all(feature = "mcp", feature = "sql")))]
use crate::serve::Running;

/// The sentence that each of these errors contains.
fn mend(what: &str, feature: &str) -> String {
    format!(
        "this build has no {what}: build with `--features {feature}`, or take the released binary"
    )
}

#[cfg(not(feature = "sql"))]
#[test]
fn a_build_without_databases_still_knows_their_command() {
    let place = Place::new();
    let said = mend("databases", "sql");
    for command in [
        &["sql", "How many orders?", "--db", "demo"][..],
        &["sql", "tables", "--db", "demo"],
    ] {
        place.run(command).fails(2, &[&said]);
    }
    let help = place.run(&["--help"]);
    assert!(help.out.contains("\n  sql "), "{help:?}");
    let tour = place.run(&["demo"]);
    assert_eq!(tour.code, Some(0), "{tour:?}");
    assert!(tour.out.contains(&said), "{tour:?}");
}

#[cfg(not(feature = "sql"))]
#[test]
fn stored_databases_that_are_left_out_are_told() {
    let place = Place::new().with(&[("store/databases/shop.json", r#"{"url": "sqlite:shop.db"}"#)]);
    let done = place.run(&["doctor", "--store", "dir:store"]);
    assert!(
        done.out.contains(&mend("databases", "sql")) && done.out.contains("shop"),
        "{done:?}"
    );
}

#[cfg(not(feature = "redis"))]
#[test]
fn a_build_without_redis_says_so() {
    let place = Place::new();
    let said = mend("Redis", "redis");
    for store in [
        "redis://h",
        "rediss://u:canary@h:1/2",
        "redis+cluster://a,b",
    ] {
        let done = place.run(&["prompt", "list", "--store", store]);
        done.fails(2, &[&said]);
        assert!(!done.err.contains("canary"), "{done:?}");
    }
}

#[cfg(not(feature = "js"))]
#[test]
fn a_script_that_needs_javascript_says_so() {
    let place = Place::new().with(&[
        ("plain.ai.yaml", "$echo: \"?=1 + 1\"\n"),
        ("js.ai.yaml", "$echo: \"?=[1].map((x) => x + 1)[0]\"\n"),
    ]);
    place.run(&["run", "plain.ai.yaml"]).gives("2\n");
    let done = place.run(&["run", "js.ai.yaml"]);
    done.fails(2, &["js.ai.yaml:1:", &mend("JavaScript", "js")]);
}

#[cfg(not(feature = "wasm"))]
#[test]
fn a_script_that_imports_wasm_says_so() {
    let place = Place::new().with(&[
        ("sum.wasm", "\0asm"),
        ("w.ai.yaml", "---\nimport:\n  - sum.wasm\n---\n$echo: hi\n"),
    ]);
    let done = place.run(&["run", "w.ai.yaml"]);
    done.fails(2, &[&mend("WebAssembly", "wasm")]);
}

#[cfg(not(all(feature = "grpc", feature = "mcp")))]
#[test]
fn tools_that_this_build_cannot_call_are_broken_definitions() {
    let place = Place::new().with(&[
        (
            "store/tools/g.json",
            r#"{"type": "grpc", "grpc": {"url": "localhost:1", "service": "s", "method": "m"}}"#,
        ),
        (
            "store/tools/m.json",
            r#"{"type": "mcp", "mcp": {"url": "http://localhost:1/mcp", "tool": "t"}}"#,
        ),
    ]);
    let done = place.run(&["check", "--store", "dir:store"]);
    #[cfg(not(feature = "grpc"))]
    assert!(done.out.contains(&mend("gRPC", "grpc")), "{done:?}");
    #[cfg(not(feature = "mcp"))]
    assert!(done.out.contains(&mend("MCP", "mcp")), "{done:?}");
}

#[cfg(not(feature = "mcp"))]
#[test]
fn a_build_without_mcp_is_no_mcp_server() {
    let done = Place::new().run(&["mcp", "--demo"]);
    done.fails(2, &[&mend("MCP", "mcp")]);
}

#[cfg(not(all(feature = "mcp", feature = "sql")))]
#[test]
fn routes_of_missing_parts_say_so() {
    let server = Running::start(&Place::new(), &["--demo"]);
    let is_told = |answer: &str, said: &str| {
        answer.starts_with("HTTP/1.1 501 ")
            && answer.contains("build.feature_missing")
            && answer.contains(said)
    };
    #[cfg(not(feature = "sql"))]
    for path in ["/api/v1/dbs", "/api/v1/dbs/demo/query"] {
        let answer = server.request("GET", path, "");
        assert!(is_told(&answer, &mend("databases", "sql")), "{answer}");
    }
    #[cfg(not(feature = "mcp"))]
    {
        let answer = server.request(
            "POST",
            "/mcp",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#,
        );
        assert!(is_told(&answer, &mend("MCP", "mcp")), "{answer}");
    }
    let answer = server.request("GET", "/api/v1/nothing", "");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}
