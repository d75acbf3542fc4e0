//! Documents: search by words and by meaning.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_core::knowledge::{DocumentInput, Embedder, Knowledge, Passage};
use quillet_core::store::StoreErrorKind;
use quillet_store::{KnowledgeOptions, SqliteKnowledge, open_knowledge};
use quillet_test_support::TempDir;

async fn memory(embedder: Option<Arc<dyn Embedder>>) -> SqliteKnowledge {
    at(Path::new(":memory:"), embedder).await
}

async fn at(path: &Path, embedder: Option<Arc<dyn Embedder>>) -> SqliteKnowledge {
    let options = KnowledgeOptions::default();
    open_knowledge(path, embedder, options).await.unwrap()
}

fn document(collection: &str, name: &str, text: &str) -> DocumentInput {
    DocumentInput {
        collection: collection.into(),
        name: name.into(),
        title: format!("The {name}"),
        url: Some(format!("https://x/{name}")),
        summary: Some(format!("about {name}")),
        text: text.into(),
    }
}

async fn found(knowledge: &SqliteKnowledge, question: &str) -> Vec<Passage> {
    let found = knowledge.search(question, &[], 10).await.unwrap();
    for pair in found.windows(2) {
        assert!(pair[0].score >= pair[1].score, "best first");
    }
    assert!(
        found
            .iter()
            .all(|passage| (0.0..=1.0).contains(&passage.score))
    );
    found
}

async fn titles(knowledge: &SqliteKnowledge, question: &str) -> Vec<String> {
    let found = found(knowledge, question).await;
    found.into_iter().map(|passage| passage.title).collect()
}

async fn filled(knowledge: &SqliteKnowledge) {
    let documents = [
        document(
            "a",
            "boats",
            "A boat floats on water. Sailing needs wind and a café.",
        ),
        document("a", "cars", "Cars drive on roads; an engine needs fuel."),
        document("b", "北京", "北京大学在北京市海淀区。学生很多。"),
        document("b", "猫", "我家有一只小猫"),
        document("b", "syntax", "NEAR OR AND NOT near \"quoted\" col:on"),
    ];
    for document in &documents {
        knowledge.put(document).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_found_by_words() {
    let knowledge = memory(None).await;
    filled(&knowledge).await;
    let cases: [(&str, &[&str]); 9] = [
        ("Who sails a BOAT?", &["The boats"]),
        ("CAFE", &["The boats"]),
        ("needs fuel", &["The cars", "The boats"]),
        ("cars", &["The cars"]),
        ("北京大学", &["The 北京"]),
        ("学", &["The 北京"]),
        ("猫", &["The 猫"]),
        ("zebra", &[]),
        ("  \n ", &[]),
    ];
    for (question, expected) in cases {
        let titles = titles(&knowledge, question).await;
        assert!(
            titles.starts_with(&expected.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>()),
            "{question}: {titles:?}"
        );
        assert_eq!(
            titles.is_empty(),
            expected.is_empty(),
            "{question}: {titles:?}"
        );
    }
    let best = &found(&knowledge, "engine").await[0];
    assert_eq!(best.url.as_deref(), Some("https://x/cars"));
    assert_eq!(best.collection, "a");
    assert!(best.content.contains("engine") && best.score == 1.0);

    let only = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let in_b = knowledge
        .search("on", &only(&["b", "none"]), 9)
        .await
        .unwrap();
    assert_eq!(in_b.len(), 1, "{in_b:?}");
    assert_eq!(
        knowledge
            .search("on", &only(&["none", "'a'", "[]"]), 9)
            .await
            .unwrap(),
        []
    );
    assert_eq!(knowledge.search("on", &[], 1).await.unwrap().len(), 1);
    assert_eq!(knowledge.search("on", &[], 0).await.unwrap(), []);
}

/// User input is never interpreted as FTS5 or SQL syntax.
#[tokio::test(flavor = "multi_thread")]
async fn questions_are_data() {
    let knowledge = memory(None).await;
    filled(&knowledge).await;
    let questions = [
        "\"",
        "\"\"\"",
        "'",
        "NEAR(boat wind)",
        "boat*",
        "title:boat",
        "-boat",
        "^boat",
        "boat AND NOT wind",
        "(boat",
        "boat)",
        "{title} : boat",
        "boat + wind",
        "\0boat",
        "'; DROP TABLE documents; --",
        "?1",
        "%",
    ];
    for question in questions {
        let titles = titles(&knowledge, question).await;
        assert_eq!(
            titles.iter().any(|title| title == "The boats"),
            question.contains("boat"),
            "{question}"
        );
    }
    assert_eq!(titles(&knowledge, "near").await, ["The syntax"]);
    let long = "boat \"*( ".repeat(100_000);
    assert!(!found(&knowledge, &long).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_put_read_listed_and_removed() {
    let dir = TempDir::new();
    let path = dir.path().join("k.db");
    let knowledge = at(&path, None).await;
    let id = knowledge
        .put(&document("a", "x", "ünï\0☂ text"))
        .await
        .unwrap();
    let other = knowledge.put(&document("a", "b", "first")).await.unwrap();
    assert_eq!(
        knowledge.put(&document("a", "b", "second")).await.unwrap(),
        other
    );
    drop(knowledge);

    let knowledge = at(&path, None).await;
    let read = |offset, limit| knowledge.read(id, offset, limit).map(Result::unwrap);
    assert_eq!(read(0, 99).await.as_deref(), Some("ünï\0☂ text"));
    assert_eq!(read(1, 4).await.as_deref(), Some("nï\0☂"));
    assert_eq!(read(50, 4).await.as_deref(), Some(""));
    assert_eq!(read(u64::MAX, u64::MAX).await.as_deref(), Some(""));
    assert_eq!(knowledge.read(12345, 0, 9).await.unwrap(), None);

    let list = knowledge.list("a").await.unwrap();
    let names: Vec<(i64, &str, u64)> = list
        .iter()
        .map(|info| (info.id, info.name.as_str(), info.characters))
        .collect();
    assert_eq!(names, [(other, "b", 6), (id, "x", 10)]);
    assert_eq!(knowledge.list("none").await.unwrap(), []);
    assert!(
        found(&knowledge, "first").await.is_empty(),
        "the old passages are gone"
    );
    assert_eq!(found(&knowledge, "second").await.len(), 1);

    assert!(knowledge.remove("a", "b").await.unwrap());
    assert!(!knowledge.remove("a", "b").await.unwrap());
    assert!(found(&knowledge, "second").await.is_empty());
    let new = knowledge.put(&document("a", "b", "third")).await.unwrap();
    assert_ne!(new, other, "a number is not used again");

    for wrong in [
        document("", "b", "x"),
        document("a", "", "x"),
        document("a", "b", &"x".repeat((4 << 20) + 1)),
    ] {
        let error = knowledge.put(&wrong).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
        assert!(error.message.len() < 300);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_documents_are_cut_into_passages() {
    let knowledge = memory(None).await;
    let paragraph = |n: usize| {
        format!(
            "Paragraph {n} is about subject{n}. {}",
            "Filler goes on. ".repeat(30)
        )
    };
    let text: Vec<String> = (0..200).map(paragraph).collect();
    knowledge
        .put(&document("a", "long", &text.join("\n\n")))
        .await
        .unwrap();
    for n in [0, 77, 199] {
        let found = found(&knowledge, &format!("subject{n}")).await;
        assert!(found[0].content.contains(&format!("subject{n}.")), "{n}");
        assert!(found[0].content.chars().count() <= 1000);
        assert!(found.len() <= 2, "only what it overlaps with");
    }
}

/// Embedder that distinguishes three subjects, each by many words.
#[derive(Debug)]
struct Subjects {
    model: &'static str,
    fails: bool,
}

impl Embedder for Subjects {
    fn model(&self) -> &str {
        self.model
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelError>> {
        let subjects = [
            ["boat", "ship", "vessel"],
            ["car", "road", "vehicle"],
            ["cat", "猫", "kitten"],
        ];
        let vector = move |text: &String| -> Vec<f32> {
            let count =
                |words: &[&str; 3]| words.iter().filter(|word| text.contains(**word)).count();
            subjects.iter().map(|words| count(words) as f32).collect()
        };
        let result = if self.fails {
            Err(ModelError::new(
                ModelErrorKind::Timeout,
                "no embeddings today",
            ))
        } else {
            Ok(texts.iter().map(vector).collect())
        };
        async move { result }.boxed()
    }
}

fn subjects(model: &'static str, fails: bool) -> Option<Arc<dyn Embedder>> {
    Some(Arc::new(Subjects { model, fails }))
}

#[tokio::test(flavor = "multi_thread")]
async fn passages_are_found_by_meaning_too() {
    let dir = TempDir::new();
    let path = dir.path().join("k.db");
    let knowledge = at(&path, subjects("s1", false)).await;
    filled(&knowledge).await;
    assert_eq!(
        titles(&knowledge, "a vessel").await[0],
        "The boats",
        "no word of it is there"
    );
    assert_eq!(titles(&knowledge, "kitten").await[0], "The 猫");
    // This passage is first in both rankings.
    let best = &found(&knowledge, "road fuel").await[0];
    assert_eq!((best.title.as_str(), best.score), ("The cars", 1.0));
    let only = ["b".to_owned()];
    let in_b = knowledge.search("vessel", &only, 9).await.unwrap();
    assert!(in_b.iter().all(|passage| passage.collection == "b"));
    drop(knowledge);

    let other = at(&path, subjects("s2", false)).await;
    assert!(
        titles(&other, "vessel").await.is_empty(),
        "vectors of another model say nothing"
    );
    assert_eq!(titles(&other, "boat").await, ["The boats"]);
    drop(other);

    let failing = at(&path, subjects("s1", true)).await;
    assert_eq!(
        titles(&failing, "boat").await,
        ["The boats"],
        "words have to do"
    );
    let error = failing
        .put(&document("a", "new", "text"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
    assert!(error.message.contains("no embeddings today"), "{error}");
    assert_eq!(failing.list("a").await.unwrap().len(), 2, "all or nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_a_collection() {
    let dir = TempDir::new();
    let write = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("guide/boats.md", b"Intro\n\n# All boats #\n\nThey float.");
    write(
        "page.html",
        b"<title>Cars</title><script>alert('x')</script><p>They&nbsp;drive.",
    );
    write("data.json", b"{\"animal\": \"okapi\"}");
    write("bad.txt", b"latin \xff");
    write("large.txt", &vec![b'x'; (4 << 20) + 1]);
    write(".hidden.md", b"hidden secrets");
    write("image.png", b"not text");
    std::os::unix::fs::symlink("/etc", dir.path().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("passwd.txt")).unwrap();
    let knowledge = memory(None).await;
    knowledge
        .put(&document("other", "page.html", "stays"))
        .await
        .unwrap();

    let done = knowledge.import(dir.path(), "docs").await.unwrap();
    assert_eq!(
        (done.put, done.unchanged, done.removed, done.problems.len()),
        (3, 0, 0, 2),
        "{done:?}"
    );
    assert!(
        done.problems[0].contains("bad.txt: invalid UTF-8 at byte offset 6"),
        "{done:?}"
    );
    assert!(done.problems[1].contains("max_document_bytes"), "{done:?}");
    assert_eq!(titles(&knowledge, "float").await, ["All boats"]);
    assert_eq!(titles(&knowledge, "drive").await, ["Cars"]);
    assert_eq!(titles(&knowledge, "okapi").await, ["data.json"]);
    assert!(titles(&knowledge, "secrets alert root").await.is_empty());

    write("page.html", b"<title>Cars</title>They stop.");
    fs::remove_file(dir.path().join("data.json")).unwrap();
    let ids = |list: Vec<quillet_core::knowledge::DocumentInfo>| -> Vec<i64> {
        list.into_iter()
            .filter(|info| info.name != "data.json")
            .map(|info| info.id)
            .collect()
    };
    let before = ids(knowledge.list("docs").await.unwrap());
    let done = knowledge.import(dir.path(), "docs").await.unwrap();
    assert_eq!(
        (done.put, done.unchanged, done.removed),
        (1, 1, 1),
        "{done:?}"
    );
    assert_eq!(ids(knowledge.list("docs").await.unwrap()), before);
    assert_eq!(titles(&knowledge, "stop").await, ["Cars"]);
    assert_eq!(titles(&knowledge, "stays").await, ["The page.html"]);

    let error = knowledge
        .import(&dir.path().join("none"), "docs")
        .await
        .unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Configuration);
    assert_eq!(
        knowledge.list("docs").await.unwrap().len(),
        2,
        "a folder that is away takes nothing out"
    );
}
