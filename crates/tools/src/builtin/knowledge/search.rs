//! Tool `knowledge_base_search`.

use std::sync::{Arc, LazyLock};

use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{BoxFuture, Map, Value};
use serde_json::{Value as Json, json};

use super::base::KnowledgeBase;
use super::document::{SearchHit, Sizes, id, tokens};
use super::source::KnowledgeSource;
use crate::builtin::work::{BuiltinHandler, BuiltinSpec, failure};

/// Maximum number of passages per call.
const MOST_RESULTS: u32 = 100;

pub(super) static SHAPE: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "knowledge_base_search",
        "Searches the documents of the knowledge bases. Gives the passages that fit best, and where they are from.",
        &json!({
            "query": {"type": "string", "description": "What to search for."},
            "max_results": {"type": "integer", "minimum": 1, "description": "The most passages to give; 20 if left out."},
        }),
        &["query"],
    )
});

/// The tool `knowledge_base_search` for one conversation.
#[derive(Debug)]
pub(super) struct SearchDocuments {
    pub(super) base: Arc<KnowledgeBase>,
    pub(super) max_results: Option<u32>,
}

impl BuiltinHandler for SearchDocuments {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let question = arguments.get("query").and_then(Value::as_str);
            let question = question.unwrap_or_default().trim();
            let most = match arguments.get("max_results") {
                Some(Value::Int(most)) => u32::try_from(*most).unwrap_or(MOST_RESULTS),
                _ => self.max_results.unwrap_or(20),
            };
            let most = most.clamp(1, MOST_RESULTS) as usize;
            let answer = self.base.search(question, most).await;
            answer.map(Value::from).map_err(|error| {
                let told = json!({"status": "error", "error": error.for_model, "query": question});
                let message = format!("knowledge_base_search: {}", error.message);
                failure(error.kind, message, &told)
            })
        })
    }
}

impl KnowledgeBase {
    async fn search(&self, question: &str, most: usize) -> Result<Json, ToolError> {
        if question.is_empty() {
            let text = "the query is empty (say what to search for)";
            return Err(ToolError::new(ToolErrorKind::Arguments, text));
        }
        let Sizes {
            calls, searchable, ..
        } = self.sizes().await?;
        if searchable.is_empty() {
            return Ok(not_searchable());
        }
        let warning = match self.budget().search(*calls) {
            Ok(warning) => warning,
            Err(rejected) => return Ok(rejected),
        };
        let documents = &self.scope.documents;
        let found = self.source.search(question, searchable, documents, most);
        let found = found.await?;
        let used = found.iter().map(|found| tokens(&found.content)).sum();
        self.budget().read(used);
        let sources = sources(&found);
        self.save(&found, &sources).await;
        let mut answer = json!({
            "query": question,
            "mode": "rag_retrieval",
            "results": found.iter().map(|found| result(found, &sources)).collect::<Vec<_>>(),
            "count": found.len(),
            "sources": sources,
        });
        if let Some(warning) = warning {
            answer["warning"] = warning.into();
        }
        Ok(answer)
    }

    /// Saves the results on the remote side, if the request asks for it.
    async fn save(&self, found: &[SearchHit], sources: &[Json]) {
        let (KnowledgeSource::Remote(remote), Some(message)) = (&self.source, self.scope.saved_for)
        else {
            return;
        };
        for collection in &self.scope.collections {
            let of_it = found.iter().filter(|found| found.collection == *collection);
            let texts: Vec<&str> = of_it.map(|found| found.content.as_str()).collect();
            if texts.is_empty() {
                continue;
            }
            let name = id(collection);
            let sources = sources.iter().filter(|source| source["kb_id"] == name);
            let sources: Vec<Json> = sources.cloned().collect();
            remote
                .save(message, collection, &texts.join("\n\n"), &sources)
                .await;
        }
    }
}

fn not_searchable() -> Json {
    json!({
        "status": "error",
        "error_code": "rag_not_configured",
        "message": "none of the knowledge bases can be searched (kb_ls lists their documents, kb_head reads them)",
    })
}

fn result(found: &SearchHit, sources: &[Json]) -> Json {
    let source = sources.iter().find(|source| is_of(source, found));
    let mut result = json!({
        "content": found.content,
        "source": found.title,
        "score": found.score,
        "knowledge_base_id": id(&found.collection),
        "source_index": source.map(|source| source["index"].clone()),
    });
    if let Some(document) = found.document {
        result["document_id"] = document.into();
    }
    result
}

fn is_of(source: &Json, found: &SearchHit) -> bool {
    source["title"] == found.title.as_str() && source["kb_id"] == id(&found.collection)
}

/// Returns each document once, numbered in the order of the passages.
pub(super) fn sources(found: &[SearchHit]) -> Vec<Json> {
    let mut sources: Vec<Json> = Vec::new();
    for found in found {
        if sources.iter().any(|source| is_of(source, found)) {
            continue;
        }
        let index = sources.len() + 1;
        let mut source =
            json!({"index": index, "title": found.title, "kb_id": id(&found.collection)});
        if let Some(url) = &found.url {
            source["url"] = url.as_str().into();
        }
        sources.push(source);
    }
    sources
}
