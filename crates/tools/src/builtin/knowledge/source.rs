//! Source of documents: the local store or the remote API.

use std::sync::Arc;

use futures_util::future::join_all;
use quillet_core::knowledge::{DocumentInfo, Knowledge};
use quillet_core::store::StoreError;
use quillet_core::tool::{ToolError, ToolErrorKind};
use serde_json::{Value as Json, json};

use super::budget::KnowledgeLimits;
use super::document::{DocumentExcerpt, SearchHit, Sizes};
use super::remote::Remote;

/// Location of the documents.
#[derive(Debug)]
pub(super) enum KnowledgeSource {
    Here(Arc<dyn Knowledge>),
    Remote(Arc<Remote>),
}

impl KnowledgeSource {
    pub(super) async fn sizes(&self, collections: &[String]) -> Result<Sizes, ToolError> {
        let here = match self {
            KnowledgeSource::Here(here) => here,
            KnowledgeSource::Remote(remote) => return remote.sizes(collections).await,
        };
        let mut characters = 0;
        for collection in collections {
            let documents = here
                .list(collection)
                .await
                .map_err(|error| failed(&error))?;
            characters += documents.iter().map(|info| info.characters).sum::<u64>();
        }
        Ok(Sizes {
            tokens: characters / 4,
            calls: KnowledgeLimits::default(),
            searchable: collections.to_vec(),
        })
    }

    /// Returns the best passages, best first. If `documents` is not empty, other documents are
    /// excluded.
    pub(super) async fn search(
        &self,
        question: &str,
        collections: &[String],
        documents: &[i64],
        most: usize,
    ) -> Result<Vec<SearchHit>, ToolError> {
        let mut found = match self {
            KnowledgeSource::Here(here) => {
                // The store cannot filter by document, so more passages are requested and filtered
                // below.
                let asked = if documents.is_empty() {
                    most
                } else {
                    most * 10
                };
                let passages = here.search(question, collections, asked).await;
                let passages = passages.map_err(|error| failed(&error))?;
                let passages = passages.into_iter().map(|passage| SearchHit {
                    collection: passage.collection,
                    document: Some(passage.document),
                    title: passage.title,
                    url: passage.url,
                    content: passage.content,
                    score: Some(passage.score),
                });
                passages.collect()
            }
            KnowledgeSource::Remote(remote) => {
                let asked = collections
                    .iter()
                    .map(|collection| remote.retrieve(question, collection, documents, most));
                merged(join_all(asked).await)?
            }
        };
        let asked_for = |found: &SearchHit| {
            let document = found.document;
            documents.is_empty() || document.is_none_or(|document| documents.contains(&document))
        };
        found.retain(asked_for);
        found.sort_by(|a, b| b.score.unwrap_or(0.0).total_cmp(&a.score.unwrap_or(0.0)));
        found.truncate(most);
        Ok(found)
    }

    /// Lists the documents of a collection in the format for the model.
    pub(super) async fn list(&self, collection: &str) -> Result<Vec<Json>, ToolError> {
        match self {
            KnowledgeSource::Remote(remote) => remote.list(collection).await,
            KnowledgeSource::Here(here) => {
                let documents = here
                    .list(collection)
                    .await
                    .map_err(|error| failed(&error))?;
                Ok(documents.iter().map(listed).collect())
            }
        }
    }

    /// Returns a part of a document. `None` if none of these collections contains it.
    pub(super) async fn read(
        &self,
        document: i64,
        collections: &[String],
        offset: u64,
        limit: u64,
    ) -> Result<Option<DocumentExcerpt>, ToolError> {
        let here = match self {
            KnowledgeSource::Here(here) => here,
            KnowledgeSource::Remote(remote) => {
                return remote.read(document, collections, offset, limit).await;
            }
        };
        let Some(info) = find(&**here, document, collections).await? else {
            return Ok(None);
        };
        let text = here.read(document, offset, limit).await;
        let text = text.map_err(|error| failed(&error))?;
        Ok(text.map(|content| DocumentExcerpt {
            name: info.title,
            collection: Some(info.collection),
            content,
            total: info.characters,
        }))
    }

    /// Returns the full text of the collections, as passages.
    pub(super) async fn everything(
        &self,
        question: &str,
        collections: &[String],
    ) -> Result<Vec<SearchHit>, ToolError> {
        let mut all = Vec::new();
        for collection in collections {
            match self {
                KnowledgeSource::Remote(remote) => {
                    all.extend(remote.all_chunks(question, collection).await?)
                }
                KnowledgeSource::Here(here) => all.extend(texts(&**here, collection).await?),
            }
        }
        Ok(all)
    }
}

/// Merges the results of several collections. Fails only if every collection failed.
fn merged(answers: Vec<Result<Vec<SearchHit>, ToolError>>) -> Result<Vec<SearchHit>, ToolError> {
    let (mut found, mut failure, mut answered) = (Vec::new(), None, false);
    for answer in answers {
        match answer {
            Ok(some) => {
                answered = true;
                found.extend(some);
            }
            Err(error) => {
                tracing::warn!(%error, "a knowledge base did not answer");
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) if !answered => Err(error),
        _ => Ok(found),
    }
}

fn listed(info: &DocumentInfo) -> Json {
    json!({
        "id": info.id,
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "characters": info.characters,
    })
}

async fn find(
    here: &dyn Knowledge,
    document: i64,
    collections: &[String],
) -> Result<Option<DocumentInfo>, ToolError> {
    for collection in collections {
        let documents = here
            .list(collection)
            .await
            .map_err(|error| failed(&error))?;
        if let Some(info) = documents.into_iter().find(|info| info.id == document) {
            return Ok(Some(info));
        }
    }
    Ok(None)
}

async fn texts(here: &dyn Knowledge, collection: &str) -> Result<Vec<SearchHit>, ToolError> {
    let documents = here
        .list(collection)
        .await
        .map_err(|error| failed(&error))?;
    let mut texts = Vec::new();
    for info in documents {
        let text = here.read(info.id, 0, info.characters).await;
        let Some(content) = text.map_err(|error| failed(&error))? else {
            continue;
        };
        texts.push(SearchHit {
            collection: info.collection,
            document: Some(info.id),
            title: info.title,
            content,
            ..SearchHit::default()
        });
    }
    Ok(texts)
}

fn failed(error: &StoreError) -> ToolError {
    ToolError {
        kind: ToolErrorKind::Transport,
        message: error.message.clone(),
        for_model: "the documents cannot be reached".to_owned(),
    }
}
