//! Tools `kb_ls` and `kb_head`: list and read documents, for questions that a search does not
//! answer. They share their call counter.

use std::sync::{Arc, LazyLock};

use quillet_core::tool::ToolError;
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Value as Json, json};

use super::base::KnowledgeBase;
use super::document::{DocumentExcerpt, id, tokens};
use crate::builtin::work::{BuiltinHandler, BuiltinSpec, failure};

/// Maximum number of documents in one list or one read.
const MOST_LISTED: usize = 1_000;
const MOST_READ: usize = 20;
/// Maximum characters per call, over all of its documents. Chat Shell has the same limit per
/// document.
const MOST_CHARACTERS: u64 = 500_000;

pub(super) static LIST: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "kb_ls",
        "Lists the documents of a knowledge base with their summaries, for when a search does not find what is needed.",
        &json!({"knowledge_base_id": {"type": ["integer", "string"], "description": "The knowledge base."}}),
        &["knowledge_base_id"],
    )
});

pub(super) static HEAD: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "kb_head",
        "Reads a part of documents of the knowledge bases. If has_more is true, continue with a larger offset.",
        &json!({
            "document_ids": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": MOST_READ,
                "description": "Numbers of the documents, as kb_ls gives them."},
            "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The first character to give."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST_CHARACTERS, "default": 50_000,
                "description": "The most characters to give of each document."},
        }),
        &["document_ids"],
    )
});

/// The tool `kb_ls`, which lists the documents of a collection.
#[derive(Debug)]
pub(super) struct ListCollections(pub(super) Arc<KnowledgeBase>);

/// The tool `kb_head`, which reads documents.
#[derive(Debug)]
pub(super) struct ReadDocument(pub(super) Arc<KnowledgeBase>);

impl BuiltinHandler for ListCollections {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let answer = self.0.list(&name(arguments)).await;
            answer
                .map(Value::from)
                .map_err(|error| to_model_error("kb_ls", &error))
        })
    }
}

impl BuiltinHandler for ReadDocument {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let count = |name: &str| match arguments.get(name) {
                Some(Value::Int(count)) => u64::try_from(*count).unwrap_or_default(),
                _ => 0,
            };
            let (offset, limit) = (count("offset"), count("limit"));
            let answer = self.0.head(&documents(arguments), offset, limit).await;
            answer
                .map(Value::from)
                .map_err(|error| to_model_error("kb_head", &error))
        })
    }
}

fn to_model_error(tool: &str, error: &ToolError) -> ToolError {
    let told = json!({"error": error.for_model});
    failure(error.kind, format!("{tool}: {}", error.message), &told)
}

fn name(arguments: &Map) -> String {
    match arguments.get("knowledge_base_id") {
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Str(name)) => name.to_string(),
        _ => String::new(),
    }
}

fn documents(arguments: &Map) -> Vec<i64> {
    let Some(Value::List(list)) = arguments.get("document_ids") else {
        return Vec::new();
    };
    let numbers = list.as_slice().iter().filter_map(|value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    });
    numbers.collect()
}

impl KnowledgeBase {
    async fn list(&self, collection: &str) -> Result<Json, ToolError> {
        let allowed = &self.scope.collections;
        if !allowed.iter().any(|name| name == collection) {
            let text = format!(
                "there is no knowledge base {collection:?} here (there are {})",
                allowed.join(", ")
            );
            return Ok(json!({"error": text}));
        }
        let calls = self.sizes().await?.calls;
        if let Err(rejected) = self.budget().look(calls) {
            return Ok(rejected);
        }
        let mut documents = self.source.list(collection).await?;
        let asked_for = &self.scope.documents;
        documents.retain(|document| {
            let number = document["id"].as_i64();
            asked_for.is_empty() || number.is_some_and(|number| asked_for.contains(&number))
        });
        let total = documents.len();
        documents.truncate(MOST_LISTED);
        let mut answer =
            json!({"knowledge_base_id": id(collection), "documents": documents, "total": total});
        if total > MOST_LISTED {
            answer["truncated"] = format!("only the first {MOST_LISTED} are listed").into();
        }
        Ok(answer)
    }

    async fn head(&self, documents: &[i64], offset: u64, limit: u64) -> Result<Json, ToolError> {
        let calls = self.sizes().await?.calls;
        if let Err(rejected) = self.budget().look(calls) {
            return Ok(rejected);
        }
        let mut room = MOST_CHARACTERS;
        let (mut pieces, mut sources) = (Vec::new(), Vec::new());
        for &document in documents {
            if room == 0 {
                let text =
                    "not read: the preceding documents are long (request this document separately)";
                pieces.push(json!({"id": document, "error": text}));
                continue;
            }
            let Some(piece) = self.piece(document, offset, limit.min(room)).await? else {
                let text = "there is no such document in the knowledge bases of this conversation";
                pieces.push(json!({"id": document, "error": text}));
                continue;
            };
            self.budget().read(tokens(&piece.content));
            if let Some(collection) = &piece.collection {
                let index = sources.len() + 1;
                sources.push(json!({"index": index, "title": piece.name, "kb_id": id(collection)}));
            }
            let returned = piece.content.chars().count() as u64;
            room = room.saturating_sub(returned);
            pieces.push(shown(document, &piece, offset, returned));
        }
        Ok(json!({"documents": pieces, "sources": sources}))
    }

    /// Returns a part of a document if the conversation may read it.
    async fn piece(
        &self,
        document: i64,
        offset: u64,
        limit: u64,
    ) -> Result<Option<DocumentExcerpt>, ToolError> {
        let asked_for = &self.scope.documents;
        if !asked_for.is_empty() && !asked_for.contains(&document) {
            return Ok(None);
        }
        let collections = &self.scope.collections;
        self.source.read(document, collections, offset, limit).await
    }
}

fn shown(document: i64, piece: &DocumentExcerpt, offset: u64, returned: u64) -> Json {
    json!({
        "id": document,
        "name": piece.name,
        "content": piece.content,
        "total_length": piece.total,
        "returned_length": returned,
        "has_more": offset.saturating_add(returned) < piece.total,
    })
}
