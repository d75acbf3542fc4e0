//! Where scripts are found, and what they inherit, import and export.

use std::fmt;
use std::sync::Arc;

use quillet_core::BoxFuture;

use crate::error::ScriptError;
use crate::syntax::{Script, Source};

/// Where scripts come from: folders, a store, or both.
pub trait Library: Send + Sync + fmt::Debug {
    /// The script of an id or of a relative file name, as a script names it, or `None` where there is none.
    /// `from` is the script that names it: its own folder comes first (note 72). A name never leads out
    /// of the library's roots.
    ///
    /// # Errors
    /// That it cannot be read, or is not a script.
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a Source>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>>;

    /// A file beside a script that is not a script itself (a module, wasm), by its relative name.
    ///
    /// # Errors
    /// That it leaves the roots or cannot be read.
    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a Source>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>>;

    /// Ids of all scripts that can be found, to suggest one for a mistyped id.
    fn ids(&self) -> Vec<String>;
}
