//! Open documents over the files of a library.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::BoxFuture;

use crate::error::ScriptError;
use crate::library::Library;
use crate::syntax::{Script, ScriptSource};

/// A library in which scripts that are open in an editor stand as they are there.
#[derive(Clone, Debug)]
pub struct Overlay {
    /// Where scripts are found.
    pub below: Arc<dyn Library>,
    /// The open scripts, by the absolute path of their file.
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
