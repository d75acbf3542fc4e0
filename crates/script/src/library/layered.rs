//! Combines several libraries.

use std::sync::Arc;

use quillet_core::BoxFuture;

use super::Library;
use crate::error::ScriptError;
use crate::syntax::{Script, ScriptSource};

/// Libraries in order of precedence. The first library that contains a name provides the script.
#[derive(Clone, Debug)]
pub struct LayeredLibrary {
    layers: Vec<Arc<dyn Library>>,
}

impl LayeredLibrary {
    /// Combines libraries in order of precedence.
    #[must_use]
    pub fn new(layers: Vec<Arc<dyn Library>>) -> Self {
        LayeredLibrary { layers }
    }
}

impl Library for LayeredLibrary {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
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
        from: Option<&'a ScriptSource>,
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
        // Several layers may have the same id, but only the script of the first layer is ever
        // found.
        ids.dedup();
        ids
    }
}
