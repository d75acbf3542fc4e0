//! Several libraries as one.

use std::sync::Arc;

use quillet_core::BoxFuture;

use super::Library;
use crate::error::ScriptError;
use crate::syntax::{Script, Source};

/// Libraries in order: what the first does not have, the next may.
#[derive(Clone, Debug)]
pub struct Layered {
    layers: Vec<Arc<dyn Library>>,
}

impl Layered {
    /// A library of these, the most important first.
    #[must_use]
    pub fn new(layers: Vec<Arc<dyn Library>>) -> Self {
        Layered { layers }
    }
}

impl Library for Layered {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a Source>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        Box::pin(async move {
            for layer in &self.layers {
                if let Some(script) = layer.find(name, from).await? {
                    return Ok(Some(script));
                }
            }
            Ok(None)
        })
    }

    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a Source>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        Box::pin(async move {
            for layer in &self.layers {
                if let Some(bytes) = layer.file(name, from).await? {
                    return Ok(Some(bytes));
                }
            }
            Ok(None)
        })
    }

    fn ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.layers.iter().flat_map(|layer| layer.ids()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
