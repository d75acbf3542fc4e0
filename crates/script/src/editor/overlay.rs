//! Overlays the files of a library with open documents.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::BoxFuture;

use crate::error::ScriptError;
use crate::library::Library;
use crate::syntax::{Script, ScriptSource};

/// A library in which open documents replace their files.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// The library that contains the files.
    pub below: Arc<dyn Library>,
    /// The open scripts, by the absolute paths of their files.
    pub open: HashMap<PathBuf, Arc<Script>>,
}

impl Library for Overlay {
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>> {
        Box::pin(async move {
            let found = self.below.find(name, from).await?;
            let open = found
                .as_ref()
                .and_then(|script| self.open.get(script.source.path.as_ref()?));
            Ok(open.cloned().or(found))
        })
    }

    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>> {
        self.below.file(name, from)
    }

    fn ids(&self) -> Vec<String> {
        self.below.ids()
    }
}
