//! Knowledge tools over documents in memory, and over a real HTTP server with Chat Shell's
//! interface.

use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json as Body, Router};
use quillet_core::BoxFuture;
use quillet_core::knowledge::{DocumentInfo, DocumentInput, Knowledge, Passage};
use quillet_core::store::StoreError;
use quillet_core::tool::{Tool, ToolErrorKind};
use quillet_tools::builtin::{BuiltinOptions, KnowledgeBase, KnowledgeScope};
use quillet_tools::{Tools, ToolsConfig};
use serde_json::{Value as Json, json};

use crate::support::{call, text};

/// Documents in memory, with their index as the id. A search finds a document if the document
/// contains the query.
#[derive(Debug)]
struct TestDocuments(Vec<DocumentInput>);

impl TestDocuments {
    fn info(&self, at: usize) -> DocumentInfo {
        let document = &self.0[at];
        DocumentInfo {
            id: i64::try_from(at).unwrap(),
            collection: document.collection.clone(),
            name: document.name.clone(),
            title: document.title.clone(),
            summary: document.summary.clone(),
            characters: document.text.chars().count() as u64,
        }
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl Knowledge for TestDocuments {
    fn search<'a>(
        &'a self,
        question: &'a str,
        collections: &'a [String],
        most: usize,
    ) -> Answer<'a, Vec<Passage>> {
        let fits = |document: &&DocumentInput| {
            collections.contains(&document.collection) && document.text.contains(question)
        };
        let passage = |(at, document): (usize, &DocumentInput)| Passage {
            document: i64::try_from(at).unwrap(),
            collection: document.collection.clone(),
            title: document.title.clone(),
            url: document.url.clone(),
            content: document.text.clone(),
            score: 1.0 / (at + 1) as f64,
        };
        let all = self.0.iter().enumerate();
        let found = all
            .filter(|(_, document)| fits(document))
            .map(passage)
            .take(most)
            .collect();
        Box::pin(async move { Ok(found) })
    }

    fn list<'a>(&'a self, collection: &'a str) -> Answer<'a, Vec<DocumentInfo>> {
        let all = (0..self.0.len()).map(|at| self.info(at));
        let found = all.filter(|info| info.collection == collection).collect();
        Box::pin(async move { Ok(found) })
    }

    fn read(&self, document: i64, offset: u64, limit: u64) -> Answer<'_, Option<String>> {
        let document = usize::try_from(document).ok().and_then(|at| self.0.get(at));
        let text = document.map(|document| {
            document
                .text
                .chars()
                .skip(usize::try_from(offset).unwrap())
                .take(usize::try_from(limit).unwrap())
                .collect()
        });
        Box::pin(async move { Ok(text) })
    }

    fn put<'a>(&'a self, _: &'a DocumentInput) -> Answer<'a, i64> {
        unreachable!("tools only read")
    }

    fn remove<'a>(&'a self, _: &'a str, _: &'a str) -> Answer<'a, bool> {
        unreachable!("tools only read")
    }
}

fn document(collection: &str, title: &str, text: &str) -> DocumentInput {
    DocumentInput {
        collection: collection.to_owned(),
        name: format!("{title}.md"),
        title: title.to_owned(),
        url: (title == "Tea").then(|| "https://example.org/tea".to_owned()),
        summary: Some(format!("about {title}")),
        text: text.to_owned(),
    }
}

fn shelf() -> Arc<dyn Knowledge> {
    Arc::new(TestDocuments(vec![
        document("drinks", "Tea", "tea is made of leaves"),
        document("7", "Coffee", "coffee is made of beans"),
        document("secret", "Recipe", "cola is made of secrets"),
        document("drinks", "Tea", "green tea is tea as well"),
        document("drinks", "Long", &"长".repeat(60_000)),
    ]))
}

fn scope(collections: &[&str], window: u64) -> KnowledgeScope {
    KnowledgeScope {
        collections: collections.iter().map(|name| (*name).to_owned()).collect(),
        window,
        ..KnowledgeScope::default()
    }
}

fn base(scope: KnowledgeScope) -> Arc<KnowledgeBase> {
    crate::support::tools()
        .knowledge(Some(shelf()), scope)
        .unwrap()
}

async fn ask(base: &Arc<KnowledgeBase>, name: &str, arguments: Json) -> Json {
    let tool = tool(base, name);
    let answer = call(&*tool, &arguments.to_string()).await.unwrap();
    serde_json::from_str(&text(&answer)).unwrap()
}

fn tool(base: &Arc<KnowledgeBase>, name: &str) -> Arc<dyn Tool> {
    let mut tools = base.tools(None).into_iter();
    tools.find(|tool| tool.spec().name == name).unwrap()
}

#[tokio::test]
async fn passages_come_with_their_sources() {
    let base = base(scope(&["drinks", "7"], 100_000));
    let found = ask(&base, "knowledge_base_search", json!({"query": "made of"})).await;
    assert_eq!(found["count"], 2);
    assert_eq!(
        found["results"][0],
        json!({"content": "tea is made of leaves", "source": "Tea", "score": 1.0,
        "knowledge_base_id": "drinks", "source_index": 1, "document_id": 0})
    );
    assert_eq!(found["results"][1]["knowledge_base_id"], 7);
    assert_eq!(
        found["sources"],
        json!([
        {"index": 1, "title": "Tea", "kb_id": "drinks", "url": "https://example.org/tea"},
        {"index": 2, "title": "Coffee", "kb_id": 7}])
    );
    let twice = ask(&base, "knowledge_base_search", json!({"query": "tea"})).await;
    assert_eq!(
        (
            twice["count"].clone(),
            twice["sources"].as_array().unwrap().len()
        ),
        (json!(2), 1)
    );
    let one = ask(
        &base,
        "knowledge_base_search",
        json!({"query": "tea", "max_results": 1}),
    )
    .await;
    assert_eq!(one["count"], 1);
    let none = ask(
        &base,
        "knowledge_base_search",
        json!({"query": "\" OR * NEAR( --"}),
    )
    .await;
    assert_eq!((&none["count"], &none["sources"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn documents_are_listed_and_read_in_pieces() {
    let base = base(scope(&["drinks", "7"], 100_000));
    let listed = ask(&base, "kb_ls", json!({"knowledge_base_id": 7})).await;
    assert_eq!(
        listed,
        json!({"knowledge_base_id": 7, "total": 1, "documents": [
        {"id": 1, "name": "Coffee.md", "title": "Coffee", "summary": "about Coffee", "characters": 23}]})
    );
    let read = ask(
        &base,
        "kb_head",
        json!({"document_ids": [1, 4], "offset": 10}),
    )
    .await;
    assert_eq!(
        read["documents"][0],
        json!({"id": 1, "name": "Coffee", "content": "made of beans",
        "total_length": 23, "returned_length": 13, "has_more": false})
    );
    let long = &read["documents"][1];
    assert_eq!(
        (&long["returned_length"], &long["has_more"]),
        (&json!(50_000), &json!(true))
    );
    assert_eq!(
        read["sources"][1],
        json!({"index": 2, "title": "Long", "kb_id": "drinks"})
    );
}

/// Only collections and documents that the request allows can be read.
#[tokio::test]
async fn nothing_else_is_read() {
    let base = base(scope(&["drinks"], 100_000));
    let found = ask(&base, "knowledge_base_search", json!({"query": "cola"})).await;
    assert_eq!(found["count"], 0);
    let listed = ask(&base, "kb_ls", json!({"knowledge_base_id": "secret"})).await;
    assert_eq!(
        listed["error"],
        "there is no knowledge base \"secret\" here (there are drinks)"
    );
    let read = ask(
        &base,
        "kb_head",
        json!({"document_ids": [2, -1, 99, i64::MAX]}),
    )
    .await;
    for document in read["documents"].as_array().unwrap() {
        assert!(
            document["error"]
                .as_str()
                .unwrap()
                .contains("no such document"),
            "{document}"
        );
    }
    let narrow = KnowledgeScope {
        documents: vec![3],
        ..scope(&["drinks"], 100_000)
    };
    let base = self::base(narrow);
    let found = ask(&base, "knowledge_base_search", json!({"query": "tea"})).await;
    assert_eq!(found["results"][0]["document_id"], 3);
    assert_eq!(found["count"], 1);
    let read = ask(&base, "kb_head", json!({"document_ids": [0]})).await;
    assert!(read["documents"][0]["error"].is_string());
    let listed = ask(&base, "kb_ls", json!({"knowledge_base_id": "drinks"})).await;
    assert_eq!(listed["total"], 1);
}

#[tokio::test]
async fn bad_arguments_name_what_is_wrong() {
    let base = base(scope(&["drinks"], 100_000));
    let cases = [
        ("knowledge_base_search", json!({}), "query is missing"),
        ("knowledge_base_search", json!({"query": "  "}), "empty"),
        (
            "knowledge_base_search",
            json!({"query": "x", "max_results": 0}),
            "max_results",
        ),
        (
            "kb_ls",
            json!({"knowledge_base_id": [1]}),
            "knowledge_base_id",
        ),
        ("kb_head", json!({"document_ids": []}), "document_ids"),
        (
            "kb_head",
            json!({"document_ids": (0..21).collect::<Vec<_>>()}),
            "document_ids",
        ),
        (
            "kb_head",
            json!({"document_ids": [1], "limit": 500_001}),
            "limit",
        ),
        (
            "kb_head",
            json!({"document_ids": [1], "ofset": 1}),
            "did you mean offset?",
        ),
    ];
    for (name, arguments, said) in cases {
        let error = call(&*tool(&base, name), &arguments.to_string())
            .await
            .unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Arguments, "{arguments}");
        assert!(error.message.contains(said), "{arguments}: {error}");
    }
}

/// At most ten searches are allowed. The first five ignore the token limit; later ones must fit
/// into the window.
#[tokio::test]
async fn calls_are_limited() {
    let question = json!({"query": "长"});
    let small = base(scope(&["drinks"], 600_000));
    let mut statuses = Vec::new();
    for _ in 0..11 {
        let answer = ask(&small, "knowledge_base_search", question.clone()).await;
        let warned = answer.get("warning").map(|_| json!("warned"));
        statuses.push(warned.unwrap_or_else(|| answer["reason"].clone()));
    }
    let null = Json::Null;
    let rejected = json!("token_limit_exceeded");
    let mut expected = vec![null.clone(); 7];
    expected.extend([json!("warned"), json!("warned"), rejected.clone(), rejected]);
    assert_eq!(statuses, expected);
    let large = base(scope(&["drinks"], 100_000_000));
    for _ in 0..10 {
        let answer = ask(&large, "knowledge_base_search", question.clone()).await;
        assert_eq!(answer["count"], 1);
    }
    let answer = ask(&large, "knowledge_base_search", question).await;
    assert_eq!(
        (&answer["status"], &answer["reason"], &answer["max_calls"]),
        (&json!("rejected"), &json!("max_calls_exceeded"), &json!(10))
    );
}

#[tokio::test]
async fn small_collections_go_into_the_prompt() {
    let small = base(scope(&["7"], 1_000))
        .injection("x")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(small.text, "## Coffee\n\ncoffee is made of beans\n\n");
    assert_eq!(
        small.sources,
        [json!({"index": 1, "title": "Coffee", "kb_id": 7})]
    );
    for (collection, window) in [
        ("drinks", 10_000),
        ("drinks", 150_000),
        ("7", 10),
        ("empty", 1_000),
    ] {
        let none = base(scope(&[collection], window))
            .injection("x")
            .await
            .unwrap();
        assert_eq!(none, None, "{collection} {window}");
    }
    let whole = base(scope(&["drinks"], 250_000))
        .injection("x")
        .await
        .unwrap()
        .unwrap();
    assert!(
        whole
            .text
            .starts_with("## Tea\n\ntea is made of leaves\n\ngreen tea"),
        "{:.50}",
        whole.text
    );
}

#[test]
fn tools_are_there_by_either_name() {
    let tools = crate::support::tools();
    let error = tools
        .builtin("knowledge_base", &BuiltinOptions::default())
        .unwrap_err();
    assert_eq!(error.code(), "tool.not_configured");
    let options = BuiltinOptions {
        knowledge: Some(base(scope(&["7"], 1))),
        ..BuiltinOptions::default()
    };
    for name in ["knowledge_base", "knowledge_base_search"] {
        let names: Vec<String> = tools
            .builtin(name, &options)
            .unwrap()
            .iter()
            .map(|tool| tool.spec().name.clone())
            .collect();
        assert_eq!(names, ["knowledge_base_search", "kb_ls", "kb_head"]);
    }
    assert!(tools.knowledge(Some(shelf()), scope(&[], 1)).is_none());
    assert!(tools.knowledge(None, scope(&["7"], 1)).is_none());
}

/// Chat Shell's interface with four knowledge bases: two can be searched, one cannot, and one
/// fails.
#[derive(Clone, Default)]
struct Backend(Arc<Mutex<Vec<(String, Json)>>>);

impl Backend {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .route("/api/internal/rag/{what}", post(answer))
            .with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        url
    }

    fn asked(&self, what: &str) -> Vec<Json> {
        let seen = self.0.lock().unwrap();
        let seen = seen.iter().filter(|(path, _)| path == what);
        seen.map(|(_, body)| body.clone()).collect()
    }
}

async fn answer(
    State(backend): State<Backend>,
    Path(what): Path<String>,
    headers: HeaderMap,
    Body(body): Body<Json>,
) -> Response {
    backend.0.lock().unwrap().push((what.clone(), body.clone()));
    if headers
        .get("authorization")
        .is_none_or(|token| token != "Bearer t0ken")
    {
        return (StatusCode::UNAUTHORIZED, "no").into_response();
    }
    let base = body["knowledge_base_id"].as_i64().unwrap_or_default();
    let record = |title: &str, score: f64| json!({"content": format!("{title} of {base}"), "title": title, "score": score});
    Body(match (what.as_str(), base) {
        ("kb-size", _) => {
            let item = |id: &Json| json!({"id": id, "name": "n", "rag_enabled": *id != 3,
                "max_calls_per_conversation": 2, "exempt_calls_before_check": 1});
            let items: Vec<Json> = body["knowledge_base_ids"].as_array().unwrap().iter().map(item).collect();
            json!({"total_file_size": 10, "total_estimated_tokens": 100, "items": items})
        }
        ("retrieve", 4) => return (StatusCode::INTERNAL_SERVER_ERROR, "down").into_response(),
        ("retrieve", 1) => json!({"records": [record("a", 0.9), record("b", 0.3)]}),
        ("retrieve", _) => json!({"records": [record("c", 0.6)]}),
        ("all-chunks", _) => json!({"chunks": [{"content": "one", "title": "a"}, {"content": "two", "title": "a"},
            {"content": "far", "title": "b", "score": 0.2}]}),
        ("save-result", _) => json!({"success": true}),
        ("list-docs", _) => json!({"documents": [{"id": 5, "name": "a.md", "file_extension": "md", "file_size": 3, "short_summary": "s"}]}),
        ("read-doc", _) if body["document_id"] == 5 =>
            json!({"document_id": 5, "name": "a.md", "content": "abc", "total_length": 9, "returned_length": 3, "has_more": true}),
        _ => return StatusCode::NOT_FOUND.into_response(),
    }).into_response()
}

async fn remote(
    backend: &Backend,
    collections: &[&str],
    token: &str,
    suffix: &str,
) -> Arc<KnowledgeBase> {
    let rag = json!({"base_url": format!("{}{suffix}", backend.start().await), "token": token});
    let config: ToolsConfig = serde_json::from_value(json!({"rag": rag})).unwrap();
    let scope = KnowledgeScope {
        saved_for: Some(42),
        ..scope(collections, 1_000)
    };
    Tools::new(config).unwrap().knowledge(None, scope).unwrap()
}

#[tokio::test]
async fn the_origins_interface_gives_the_same() {
    for suffix in ["", "/", "/api/internal", "/api/internal/rag/"] {
        let backend = Backend::default();
        let base = remote(&backend, &["1", "2", "3", "4"], "t0ken", suffix).await;
        let found = ask(
            &base,
            "knowledge_base_search",
            json!({"query": "q", "max_results": 2}),
        )
        .await;
        let contents: Vec<&str> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["content"].as_str().unwrap())
            .collect();
        assert_eq!(contents, ["a of 1", "c of 2"]);
        assert_eq!(
            found["sources"],
            json!([{"index": 1, "title": "a", "kb_id": 1}, {"index": 2, "title": "c", "kb_id": 2}])
        );
        let bases: Vec<Json> = backend
            .asked("retrieve")
            .iter()
            .map(|body| body["knowledge_base_id"].clone())
            .collect();
        assert_eq!(bases.len(), 3, "{bases:?}");
        assert_eq!(
            backend.asked("save-result"),
            [
                json!({"user_subtask_id": 42, "knowledge_base_id": 1, "extracted_text": "a of 1", "sources": [{"index": 1, "title": "a", "kb_id": 1}]}),
                json!({"user_subtask_id": 42, "knowledge_base_id": 2, "extracted_text": "c of 2", "sources": [{"index": 2, "title": "c", "kb_id": 2}]})
            ]
        );
        let listed = ask(&base, "kb_ls", json!({"knowledge_base_id": 1})).await;
        assert_eq!(
            listed["documents"][0],
            json!({"id": 5, "name": "a.md", "type": "md", "size": 3, "summary": "s"})
        );
        let read = ask(&base, "kb_head", json!({"document_ids": [5, 6]})).await;
        assert_eq!(read["documents"][0]["has_more"], true);
        assert!(read["documents"][1]["error"].is_string());
        let last = ask(&base, "knowledge_base_search", json!({"query": "q"})).await;
        assert_eq!(last["count"], 3);
        let over = ask(&base, "knowledge_base_search", json!({"query": "q"})).await;
        assert_eq!(
            (&over["reason"], &over["max_calls"]),
            (&json!("max_calls_exceeded"), &json!(2))
        );
        assert_eq!(backend.asked("kb-size").len(), 1);
        let injection = base.injection("q").await.unwrap().unwrap();
        assert!(
            injection
                .text
                .starts_with("## a\n\none\n\ntwo\n\n## a\n\none")
                || injection.text.starts_with("## a\n\none\n\ntwo\n\none"),
            "{}",
            injection.text
        );
        assert!(!injection.text.contains("far"));
    }
}

#[tokio::test]
async fn the_origins_interface_fails() {
    let backend = Backend::default();
    let only = remote(&backend, &["3"], "t0ken", "").await;
    let answer = ask(&only, "knowledge_base_search", json!({"query": "q"})).await;
    assert_eq!(
        (&answer["status"], &answer["error_code"]),
        (&json!("error"), &json!("rag_not_configured"))
    );
    let down = remote(&backend, &["4"], "t0ken", "").await;
    let wrong = remote(&backend, &["1"], "s3cret", "").await;
    for (base, said) in [(down, "answered 500"), (wrong, "answered 401")] {
        let error = call(&*tool(&base, "knowledge_base_search"), r#"{"query": "q"}"#)
            .await
            .unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Remote);
        assert!(error.message.contains(said), "{error}");
        let told: Json = serde_json::from_str(&error.for_model).unwrap();
        assert_eq!(
            (&told["status"], &told["query"]),
            (&json!("error"), &json!("q"))
        );
        assert!(!format!("{error:?} {base:?}").contains("s3cret"));
    }
    let config = json!({"rag": {"base_url": "http://169.254.169.254"}});
    let error = Tools::new(serde_json::from_value(config).unwrap()).unwrap_err();
    assert!(
        error.to_string().starts_with("tools.rag.base_url: "),
        "{error}"
    );
}
