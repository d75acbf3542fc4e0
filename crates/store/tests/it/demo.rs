//! The bundled examples.

use quillet_core::store::EntryKind;
use serde_json::Value;

use crate::support::{names, open};

const FOLDER: &str = concat!("dir:", env!("CARGO_MANIFEST_DIR"), "/../../examples/demo");

/// The table that embeds the files must be complete.
#[tokio::test]
async fn the_demo_in_memory_is_the_demo_folder() {
    let (memory, folder) = (open("memory:demo").await, open(FOLDER).await);
    for kind in EntryKind::ALL {
        let entries = memory.load(kind).await.unwrap();
        // The demo contains no agents, which need a model, no databases, which need a file, and no
        // labels, which need versions.
        let may_miss = matches!(
            kind,
            EntryKind::Agent | EntryKind::Database | EntryKind::Label
        );
        assert!(may_miss || !entries.is_empty(), "{kind:?}");
        let mut files = folder.load(kind).await.unwrap();
        files.iter_mut().for_each(|entry| entry.folder = None);
        assert_eq!(entries, files);
    }
}

#[tokio::test]
async fn the_demo_is_whole() {
    let store = open("memory:demo").await;
    for kind in EntryKind::ALL {
        for entry in store.load(kind).await.unwrap() {
            assert_eq!(entry.problem, None);
            let value: Value = serde_json::from_str(&entry.text).unwrap();
            assert_eq!(
                value.is_object(),
                kind != EntryKind::Environ || value.is_object()
            );
        }
    }
    let prompts = store.load(EntryKind::Prompt).await.unwrap();
    let expected = [
        "choose_model",
        "code:explain",
        "code:review",
        "hello",
        "translate_comments",
    ];
    assert_eq!(names(&prompts), expected);
}
