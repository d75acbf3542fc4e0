//! The OpenAPI document matches the routes of the server.

use std::collections::BTreeSet;

use crate::client::request;
use crate::test_server::start;

#[tokio::test]
async fn every_documented_operation_is_served_and_no_other_is() {
    let server = start().await;
    let paths = server.openapi["paths"].as_object().unwrap();
    for (path, item) in paths {
        let documented: BTreeSet<String> = item
            .as_object()
            .unwrap()
            .keys()
            .map(|method| method.to_uppercase())
            .collect();
        let real = path.replace("{id}", "no-such-id");
        let real = real.replace("{file}", "app.js");
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            let answer = request(server.address, method, &real, &[], "").await;
            let is_route = answer.status != 405 && !answer.body.contains("route.unknown");
            assert_eq!(
                is_route,
                documented.contains(method),
                "{method} {path}: {}",
                answer.status
            );
        }
    }
    // These are the ten routes documented by ai-prompt-shell.
    for route in [
        "/api/extensions",
        "/api/extensions/{id}",
        "/api/prompts",
        "/api/prompts/{id}",
        "/api/environs",
        "/api/environs/{id}",
        "/api/tools",
        "/api/tools/{id}",
        "/api/render/prompts/{id}",
        "/api/chat/prompts/{id}",
    ] {
        assert!(paths.contains_key(route), "{route}");
        assert!(
            paths.contains_key(&route.replace("/api/", "/api/v1/")),
            "{route} under /api/v1"
        );
    }
    for route in ["/mcp", "/v1/response", "/v1/response/cancel"] {
        assert!(paths.contains_key(route), "{route}");
    }
}

#[tokio::test]
async fn operations_have_ids_of_their_own_and_every_reference_leads_somewhere() {
    let server = start().await;
    let mut ids = BTreeSet::new();
    for item in server.openapi["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(
                ids.insert(operation["operationId"].as_str().unwrap()),
                "{operation}"
            );
            assert!(
                operation["summary"].is_string() || operation["description"].is_string(),
                "{operation}"
            );
        }
    }
    let text = server.openapi.to_string();
    for reference in text
        .split("\"$ref\":\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
    {
        assert!(server.openapi.pointer(reference).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn the_page_needs_nothing_from_elsewhere() {
    let server = start().await;
    assert_eq!(server.get("/openapi.json").await.json(), server.openapi);
    for path in ["/", "/docs"] {
        let page = server.get(path).await;
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"));
        assert!(
            !page.body.contains("//"),
            "{path} loads something of others"
        );
    }
    let old = server.get("/swagger/index.html").await;
    assert_eq!((old.status, old.header("location")), (308, Some("/docs")));
}
