//! A protected label on every compatible API that can write. MCP cannot write, and the command line
//! accesses the store directly, without tokens.

use serde_json::{Value, json};

use super::service::open;

#[tokio::test]
async fn no_door_moves_a_protected_label_for_whoever_may_not_promote() {
    let service = open().await;
    for text in ["one", "two"] {
        let body = json!({"name": "story", "prompt": text});
        service
            .done("POST", "/api/public/v2/prompts", &body.to_string())
            .await;
    }
    let labels = "/api/v1/prompts/story/labels";
    let production = format!("{labels}/production");
    for version in [2, 1] {
        let body = json!({"version": version}).to_string();
        service.done("PUT", &production, &body).await;
    }
    let prompt = json!({"userPrompt": "three"}).to_string();
    let version = json!({"version": 2}).to_string();
    let shares = json!({"versions": {"1": 1, "2": 1}}).to_string();
    let langfuse = json!({"name": "story", "prompt": "three", "labels": ["production"]});
    let langfuse = langfuse.to_string();
    let moved = json!({"newLabels": ["next", "production"]}).to_string();
    let alias = json!({"name": "story", "alias": "production", "version": "2"}).to_string();
    let mut doors: Vec<(&str, String, &str)> = Vec::new();
    for base in ["/api", "/api/v1"] {
        let one = format!("{base}/prompts/story");
        for method in ["PUT", "POST", "PATCH"] {
            doors.push((method, format!("{one}?label=next,production"), &prompt));
        }
        let label = format!("{one}/labels/production");
        doors.push(("PUT", label.clone(), &version));
        doors.push(("PUT", label.clone(), &shares));
        doors.push(("DELETE", label.clone(), ""));
        doors.push(("POST", format!("{label}/rollback"), ""));
        doors.push(("DELETE", one, ""));
    }
    let one = "/api/public/v2/prompts/story";
    doors.push(("POST", "/api/public/v2/prompts".to_owned(), &langfuse));
    doors.push(("PATCH", format!("{one}/versions/2"), &moved));
    doors.push(("DELETE", one.to_owned(), ""));
    doors.push(("DELETE", format!("{one}?version=1"), ""));
    doors.push(("DELETE", format!("{one}?label=production"), ""));
    let mlflow = "/api/2.0/mlflow/registered-models/alias";
    doors.push(("POST", mlflow.to_owned(), &alias));
    doors.push(("DELETE", mlflow.to_owned(), &alias));
    let before = service.done("GET", labels, "").await;
    assert_eq!(before["labels"], json!({"production": 1}));
    for (method, path, body) in doors {
        let answer = service.ask("writer", method, &path, body).await;
        assert_eq!(answer.status, 403, "{method} {path} {body}: {answer:?}");
        let told = "label production of story is protected";
        assert!(answer.body.contains(told), "{method} {path}: {answer:?}");
        let now = service.done("GET", labels, "").await;
        assert_eq!(now, before, "{method} {path} {body}");
        let log = service.done("GET", "/api/v1/log?limit=1", "").await;
        let line = &log["lines"][0];
        let said = ["action", "who", "id", "label"].map(|name| line[name].clone());
        let expected = ["refused", "writer", "story", "production"].map(Value::from);
        assert_eq!(said, expected, "{method} {path}: {line}");
    }
}
