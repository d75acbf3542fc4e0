//! The contract with collections of documents that models may search.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::BoxFuture;
use crate::chat::ModelError;
use crate::store::StoreError;

/// A document as it is put in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentInput {
    /// The collection that it belongs to.
    pub collection: String,
    /// Its name in the collection: a path, a title, an id of its owner.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Where it is from, if it has an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A few sentences about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its text.
    pub text: String,
}

/// A document, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DocumentInfo {
    /// Number of the document; stays as long as the document does.
    pub id: i64,
    /// The collection that it belongs to.
    pub collection: String,
    /// Its name in the collection.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// A few sentences about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Length of its text in characters.
    pub characters: u64,
}

/// A passage that answers a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passage {
    /// The document that it is from.
    pub document: i64,
    /// The collection of that document.
    pub collection: String,
    /// What the document is called.
    pub title: String,
    /// Where the document is from, if it has an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The text.
    pub content: String,
    /// How well it fits, from 0 to 1; comparable within one answer.
    pub score: f64,
}

/// Documents in collections.
pub trait Knowledge: Send + Sync + fmt::Debug {
    /// The best passages of these collections (all where there are none), best first.
    fn search<'a>(
        &'a self,
        question: &'a str,
        collections: &'a [String],
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Passage>, StoreError>>;

    /// The documents of a collection, by name.
    fn list<'a>(
        &'a self,
        collection: &'a str,
    ) -> BoxFuture<'a, Result<Vec<DocumentInfo>, StoreError>>;

    /// `limit` characters of a document from `offset` on; `None` if there is no such document.
    fn read(
        &self,
        document: i64,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>>;

    /// Puts a document in, in place of one of the same collection and name; its number.
    fn put<'a>(&'a self, document: &'a DocumentInput) -> BoxFuture<'a, Result<i64, StoreError>>;

    /// Takes a document out; `false` if there was none.
    fn remove<'a>(
        &'a self,
        collection: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}

/// An embedding model: turns texts into vectors whose nearness is nearness in meaning.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// Name of the model, which vectors are only comparable within.
    fn model(&self) -> &str;

    /// One vector per text, in order.
    fn embed<'a>(&'a self, texts: &'a [String])
    -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelError>>;
}
