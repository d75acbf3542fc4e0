//! Version selection for a request: by number, digest, label or weight, and inside a label.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::history::{
    Commit, DefinitionContent, LabelMove, LabelTarget, Labels, TrafficSplit,
};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_core::{Map, Value};
use quillet_prompt::{
    Catalogue, PromptService, RenderInput, RenderedPrompt, ServiceError, ServiceOptions, Variables,
};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use tokio::time::timeout;

fn definition(text: &str) -> String {
    serde_json::json!({ "prompt": text }).to_string()
}

struct Shop {
    store: Arc<MemoryStore>,
    service: Arc<PromptService>,
}

impl Shop {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::new());
        let factory = TemplateFactory::standard();
        let catalogue = Catalogue::new(store.clone(), factory, Arc::new(EchoTools), 100);
        let variables = Variables::new(store.clone());
        let options = ServiceOptions::default();
        let service = Arc::new(PromptService::new(catalogue, variables, None, options));
        service.load().await.unwrap();
        let watched = service.clone();
        tokio::spawn(async move { watched.watch().await });
        Shop { store, service }
    }

    async fn write(&self, key: &str, text: &str) {
        let content = DefinitionContent::new(definition(text));
        let commit = Commit::new(EntryKind::Prompt, EntryKey::new(key), Some(content), "ada");
        self.history().commit(&commit).await.unwrap();
        self.service.sync().await.unwrap();
    }

    async fn label(&self, key: &str, name: &str, to: Option<LabelTarget>) -> Labels {
        let moves = [LabelMove {
            name: name.to_owned(),
            to,
            expect: None,
        }];
        let key = EntryKey::new(key);
        let moved = self.history().relabel(EntryKind::Prompt, &key, &moves);
        let labels = moved.await.unwrap();
        self.service.sync().await.unwrap();
        labels
    }

    fn history(&self) -> &dyn quillet_core::history::HistoryStore {
        self.store.history().unwrap()
    }

    async fn try_render(&self, id: &str, user: Option<&str>) -> Result<String, ServiceError> {
        let variables = Map::from([("name", Value::from("Ada"))]);
        let input = RenderInput {
            user,
            ..RenderInput::new(&variables, "request")
        };
        let rendered = self.service.render(id, &input).await?;
        Ok(match rendered.prompt {
            RenderedPrompt::Text(text) => text,
            RenderedPrompt::Messages(_) => panic!("one text was wanted"),
        })
    }

    async fn render(&self, id: &str) -> String {
        self.try_render(id, None).await.unwrap()
    }
}

#[tokio::test]
async fn a_mark_names_a_version() {
    let shop = Shop::new().await;
    for text in ["one", "two", "three"] {
        shop.write("greet:hello", text).await;
    }
    shop.label("greet:hello", "next", Some(LabelTarget::Version(2)))
        .await;
    let one = DefinitionContent::new(definition("one"))
        .digest()
        .to_string();
    let cases = [
        ("greet.hello", "three"),
        ("greet.hello@latest", "three"),
        ("greet.hello@1", "one"),
        ("greet.hello@3", "three"),
        ("greet.hello@next", "two"),
    ];
    for (id, expected) in cases {
        assert_eq!(shop.render(id).await, expected, "{id}");
        // The second result comes from the cache and is the same.
        assert_eq!(shop.render(id).await, expected, "{id}");
    }
    for digits in [&one[..], &one[..8]] {
        let id = format!("greet.hello@sha256:{digits}");
        assert_eq!(shop.render(&id).await, "one", "{id}");
    }
    shop.label("greet:hello", "production", Some(LabelTarget::Version(1)))
        .await;
    let cases = [
        ("greet.hello", "one"),
        ("greet.hello@production", "one"),
        ("greet.hello@latest", "three"),
        ("greet.hello@next", "two"),
    ];
    for (id, expected) in cases {
        assert_eq!(shop.render(id).await, expected, "{id}");
    }
    shop.label("greet:hello", "production", None).await;
    assert_eq!(shop.render("greet.hello").await, "three");
}

#[tokio::test]
async fn what_is_not_there_is_named_with_the_nearest() {
    let shop = Shop::new().await;
    shop.write("greet:hello", "one").await;
    shop.label("greet:hello", "staging", Some(LabelTarget::Version(1)))
        .await;
    for (id, expected) in [
        ("greet.hello@stagin", "greet.hello@staging"),
        ("greet.hello@9", "greet.hello@1"),
        ("greet.helo@1", "greet.hello"),
        ("greet.hello@sha256:00000000", "greet.hello@1"),
    ] {
        let error = shop.try_render(id, None).await.unwrap_err();
        assert_eq!(error.code(), "not_found", "{id}: {error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("did you mean {expected:?}")),
            "{id}: {text}"
        );
    }
    for id in [
        "greet.hello@",
        "greet.hello@0",
        "greet.hello@a b",
        "@1",
        "greet.hello@sha256:12",
    ] {
        let error = shop.try_render(id, None).await.unwrap_err();
        assert_eq!(error.code(), "not_found", "{id}: {error}");
    }
}

#[tokio::test]
async fn called_prompts_are_looked_for_within_the_same_label() {
    let shop = Shop::new().await;
    shop.write("sig", "old sig").await;
    shop.write("sig", "new sig").await;
    shop.write("greet", r#"v1 {{template "sig" .}}"#).await;
    shop.write("greet", r#"v2 {{template "sig" .}}"#).await;
    shop.write(
        "pinned",
        r#"{{template "sig@1" .}}, {{template "sig@next" .}}"#,
    )
    .await;
    shop.write("plain", r#"{{template "sig" .}}"#).await;
    shop.label("greet", "next", Some(LabelTarget::Version(1)))
        .await;
    let cases = [
        ("greet", "v2 new sig"),
        ("greet@next", "v1 new sig"),
        ("plain", "new sig"),
    ];
    for (id, expected) in cases {
        assert_eq!(shop.render(id).await, expected, "{id}");
    }
    // Until the label exists, prompts that refer to it are invalid.
    assert!(shop.try_render("pinned", None).await.is_err());

    shop.label("sig", "next", Some(LabelTarget::Version(1)))
        .await;
    let cases = [
        ("greet", "v2 new sig"),
        ("greet@next", "v1 old sig"),
        ("greet@1", "v1 new sig"),
        ("plain", "new sig"),
        ("pinned", "old sig, old sig"),
    ];
    for (id, expected) in cases {
        assert_eq!(shop.render(id).await, expected, "{id}");
    }

    shop.label("sig", "production", Some(LabelTarget::Version(1)))
        .await;
    let cases = [
        ("greet", "v2 old sig"),
        ("greet@latest", "v2 new sig"),
        ("plain", "old sig"),
        ("plain@latest", "new sig"),
    ];
    for (id, expected) in cases {
        assert_eq!(shop.render(id).await, expected, "{id}");
    }

    shop.write("sig", "newest sig").await;
    assert_eq!(shop.render("plain").await, "old sig");
    assert_eq!(shop.render("plain@latest").await, "newest sig");
    shop.label("sig", "next", Some(LabelTarget::Version(3)))
        .await;
    assert_eq!(shop.render("pinned").await, "old sig, newest sig");
    assert_eq!(shop.render("greet@next").await, "v1 newest sig");
}

#[tokio::test]
async fn versions_that_templates_name_are_found_whenever_they_come() {
    let shop = Shop::new().await;
    shop.write("outer", r#"[{{template "inner@2" .}}]"#).await;
    assert!(shop.try_render("outer", None).await.is_err());
    shop.write("inner", r#"1"#).await;
    assert!(shop.try_render("outer", None).await.is_err());
    shop.write("inner", r#"2 {{template "deep@1" .}}"#).await;
    assert!(shop.try_render("outer", None).await.is_err());
    shop.write("deep", "deep").await;
    assert_eq!(shop.render("outer").await, "[2 deep]");
    shop.write("inner", "3").await;
    shop.write("deep", "other").await;
    assert_eq!(shop.render("outer").await, "[2 deep]");
}

#[tokio::test]
async fn shares_are_sticky_by_what_the_label_names() {
    let shop = Shop::new().await;
    shop.write("sig", "a").await;
    shop.write("sig", "b").await;
    shop.write("greet", r#"1{{template "sig" .}}"#).await;
    shop.write("greet", r#"2{{template "sig" .}}"#).await;
    let split = |by: Option<&str>| {
        LabelTarget::Split(TrafficSplit {
            versions: [(1, 50), (2, 50)].into(),
            by: by.map(str::to_owned),
            salt: None,
        })
    };
    let labels = shop
        .label("greet", "production", Some(split(Some("user"))))
        .await;
    shop.label("sig", "production", Some(split(Some("user"))))
        .await;
    let Some(LabelTarget::Split(greet)) = labels.get("production") else {
        panic!("{labels:?}")
    };
    let mut seen = std::collections::BTreeSet::new();
    for user in 0..40 {
        let user = format!("user-{user}");
        let own = greet.select_version("greet@production", &user);
        let sig = ["a", "b"][greet.select_version("sig@production", &user) as usize - 1];
        let expected = format!("{own}{sig}");
        for id in ["greet", "greet@production", "greet"] {
            let got = shop.try_render(id, Some(&user)).await.unwrap();
            assert_eq!(got, expected, "{id} {user}");
        }
        seen.insert(expected);
    }
    // The two labels are split independently of each other.
    assert_eq!(seen.len(), 4, "{seen:?}");
    // A variable of the request can also be the split key.
    shop.label("greet", "production", Some(split(Some("name"))))
        .await;
    shop.label("sig", "production", None).await;
    let first = shop.try_render("greet", Some("x")).await.unwrap();
    for user in ["y", "z", "u"] {
        assert_eq!(shop.try_render("greet", Some(user)).await.unwrap(), first);
    }
}

#[tokio::test]
async fn what_is_removed_is_gone_at_every_label_and_comes_back() {
    let shop = Shop::new().await;
    shop.write("greet", "one").await;
    shop.write("greet", "two").await;
    shop.label("greet", "production", Some(LabelTarget::Version(1)))
        .await;
    assert_eq!(shop.render("greet").await, "one");
    // A program that does not support labels wrote this prompt.
    shop.store
        .remove(EntryKind::Prompt, &EntryKey::new("greet"))
        .await
        .unwrap();
    shop.service.sync().await.unwrap();
    for id in ["greet", "greet@production", "greet@2", "greet@latest"] {
        let error = shop.try_render(id, None).await.unwrap_err();
        assert_eq!(error.code(), "not_found", "{id}");
    }
    let text = definition("three");
    shop.store
        .put(EntryKind::Prompt, &EntryKey::new("greet"), &text)
        .await
        .unwrap();
    shop.service.sync().await.unwrap();
    assert_eq!(shop.render("greet").await, "one");
    assert_eq!(shop.render("greet@latest").await, "three");
}

#[tokio::test]
async fn keys_with_the_sign_in_them_are_found_as_before() {
    let shop = Shop::new().await;
    let text = definition("literal");
    for key in ["a@1", "mail:ada@home"] {
        shop.store
            .put(EntryKind::Prompt, &EntryKey::new(key), &text)
            .await
            .unwrap();
    }
    shop.write("a", "a's first").await;
    assert_eq!(shop.render("a@1").await, "literal");
    assert_eq!(shop.render("mail.ada@home").await, "literal");
    assert_eq!(shop.render("mail.ada@home@latest").await, "literal");
}

#[tokio::test]
async fn a_label_that_names_what_is_not_there_says_so() {
    let shop = Shop::new().await;
    shop.write("greet", "one").await;
    let place = quillet_core::history::label_key(EntryKind::Prompt, &EntryKey::new("greet"));
    // The label is written directly to the store, without validation.
    shop.store
        .put(EntryKind::Label, &place, r#"{"production": 7}"#)
        .await
        .unwrap();
    shop.service.sync().await.unwrap();
    let error = shop
        .try_render("greet", None)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("points to version 7 of greet, which does not exist"),
        "{error}"
    );
    assert_eq!(shop.render("greet@latest").await, "one");
    // If new labels are invalid, the previous ones stay in effect.
    shop.label("greet", "production", Some(LabelTarget::Version(1)))
        .await;
    shop.store.put(EntryKind::Label, &place, "{").await.unwrap();
    let synced = timeout(Duration::from_secs(5), shop.service.sync()).await;
    synced.unwrap().unwrap();
    assert_eq!(shop.render("greet").await, "one");
}

#[tokio::test]
async fn tools_of_prompts_take_marks() {
    let shop = Shop::new().await;
    let tool = |id: &str| shop.service.tool(id, quillet_prompt::PromptResult::Text);
    shop.write("greet", "one {{.variables.first}}").await;
    shop.write("greet", "two {{.variables.second}}").await;
    shop.label("greet", "old", Some(LabelTarget::Version(1)))
        .await;
    let parameters = |id: &str| tool(id).unwrap().spec().parameters.to_string();
    assert!(parameters("greet@old").contains("first"));
    assert!(parameters("greet").contains("second"));
    assert_eq!(tool("greet@old").unwrap().spec().name, "prompt_greet_old");
    assert!(tool("greet@nothing").is_err());
}

#[tokio::test]
async fn answers_say_which_version_spoke() {
    let shop = Shop::new().await;
    shop.write("greet", "one").await;
    shop.write("greet", "two").await;
    shop.label("greet", "old", Some(LabelTarget::Version(1)))
        .await;
    let variables = Map::default();
    let version = async |id: &str, numbered: bool| {
        let input = RenderInput {
            numbered,
            ..RenderInput::new(&variables, "request")
        };
        shop.service.render(id, &input).await.unwrap().version
    };
    for (id, numbered, expected) in [
        ("greet", false, None),
        ("greet", true, Some(2)),
        ("greet@old", false, Some(1)),
        ("greet@2", false, Some(2)),
    ] {
        assert_eq!(version(id, numbered).await, expected, "{id} {numbered}");
    }
    // A program that does not support versions wrote the prompt. Reporting a number records the
    // version.
    let key = EntryKey::new("greet");
    let text = definition("three");
    shop.store
        .put(EntryKind::Prompt, &key, &text)
        .await
        .unwrap();
    shop.service.sync().await.unwrap();
    assert_eq!(version("greet", true).await, Some(3));
    let newest = shop.history().versions(EntryKind::Prompt, &key, None, 1);
    assert_eq!(&*newest.await.unwrap()[0].author, "store");
    // A change of white space only does not create a version.
    shop.store
        .put(EntryKind::Prompt, &key, &format!("{text}\n"))
        .await
        .unwrap();
    shop.service.sync().await.unwrap();
    assert_eq!(version("greet", true).await, Some(3));
}

#[tokio::test]
async fn templates_of_requests_and_checks_know_marks() {
    let shop = Shop::new().await;
    shop.write("greet", "one").await;
    shop.write("greet", "two").await;
    shop.label("greet", "old", Some(LabelTarget::Version(1)))
        .await;
    let variables = Map::default();
    let template = r#"{{template "greet@1" .}} {{template "greet@old" .}} {{template "greet" .}}"#;
    let definition = serde_json::Map::from_iter([("prompt".to_owned(), template.into())]);
    let input = RenderInput::new(&variables, "request");
    let rendered = shop.service.render_inline(definition.clone(), &input).await;
    let expected = RenderedPrompt::Text("one one two".to_owned());
    assert_eq!(rendered.unwrap().prompt, expected);
    let text = serde_json::Value::from(definition).to_string();
    let catalogue = shop.service.catalogue();
    let found = catalogue.check_prompt("caller", "caller", &text);
    assert!(found.is_empty(), "{found:?}");
}
