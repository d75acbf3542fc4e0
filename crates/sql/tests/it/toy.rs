//! A toy embedder for tests.

use quillet_core::BoxFuture;
use quillet_core::chat::ModelError;
use quillet_core::knowledge::Embedder;

/// An embedder that returns similar vectors for synonyms.
#[derive(Debug)]
pub(crate) struct Toy;

impl Embedder for Toy {
    fn model(&self) -> &str {
        "toy"
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelError>> {
        let vector = |text: &String| {
            if text.contains("vqz") || text.contains("sailors") {
                vec![1.0, 0.0]
            } else {
                vec![0.0, 1.0]
            }
        };
        let vectors = texts.iter().map(vector).collect();
        Box::pin(async move { Ok(vectors) })
    }
}
