//! Traits for collections of documents that models can search.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::chat::ModelError;
use crate::store::StoreError;

/// A document to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentInput {
    /// Its collection.
    pub collection: String,
    /// Its name in the collection: a path, a title, or the owner's id for it.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its URL, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A summary of a few sentences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its text.
    pub text: String,
}

/// A document, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentInfo {
    /// Number of the document. The number never changes.
    pub id: i64,
    /// Its collection.
    pub collection: String,
    /// Its name in the collection.
    pub name: String,
    /// Its title.
    pub title: String,
    /// A summary of a few sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Length of its text in characters.
    pub characters: u64,
}

/// A passage that answers a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passage {
    /// Number of its document.
    pub document: i64,
    /// Collection of the document.
    pub collection: String,
    /// Title of the document.
    pub title: String,
    /// URL of the document, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The text.
    pub content: String,
    /// Relevance from 0 to 1; comparable within one result list.
    pub score: f64,
}

/// Documents in collections.
pub trait Knowledge: Send + Sync + fmt::Debug {
    /// Returns the best passages of these collections (of all if none are given), best first.
    fn search<'a>(
        &'a self,
        question: &'a str,
        collections: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Passage>, StoreError>>;

    /// Returns the documents of a collection, by name.
    fn list<'a>(
        &'a self,
        collection: &'a str,
    ) -> BoxFuture<'a, Result<Vec<DocumentInfo>, StoreError>>;

    /// Returns `limit` characters of a document, starting at `offset`; `None` if the document does
    /// not exist.
    fn read(
        &self,
        document: i64,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>>;

    /// Adds a document and returns its number. Replaces a document with the same collection and
    /// name.
    fn put<'a>(&'a self, document: &'a DocumentInput) -> BoxFuture<'a, Result<i64, StoreError>>;

    /// Removes a document; `false` if it does not exist.
    fn remove<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// An embedding model, which maps texts with similar meanings to nearby vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// Name of the model. Vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// Returns one vector per text, in order.
    fn embed<'a>(&'a self, texts: &'a [String])
    -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelError>>;
}
