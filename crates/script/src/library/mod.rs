//! Finds scripts, and resolves what they inherit, import and export.
//!
//! All of this is done before a run. [`resolve`] determines what a script consists of, and the
//! interpreter executes it.

use std::fmt;
use std::sync::Arc;

use quillet_core::BoxFuture;

use crate::error::ScriptError;
use crate::syntax::{Script, ScriptSource};

mod builtin;
pub(crate) mod check;
mod export;
mod exports;
mod folders;
pub mod import;
mod index;
mod inherit;
mod layered;
mod memory;
mod merge;
mod missing;
mod name;
pub mod permissions;
mod read;
mod start;

pub use builtin::BuiltinLibrary;
pub use check::check;
pub(crate) use check::{FileSpot, called_on_this};
pub use export::{ExportItem, exports};
pub use exports::{
    Binding, ExportedItem, Initialize, ScriptExports, exported_items, js_initializer,
};
pub use folders::{Folders, MAX_FILE, MAX_SCRIPT};
pub use inherit::{MAX_LINEAGE, ResolvedScript, resolve};
pub use layered::LayeredLibrary;
pub use memory::Memory;
pub use missing::demand;
pub use name::{MAX_NAME, NameError, check as check_name, id};
pub use start::{OpenedScript, open};

/// A source of scripts: folders, a store, or both.
pub trait Library: Send + Sync + fmt::Debug {
    /// Finds a script by id or relative file name. Returns `None` if it does not exist. `from` is
    /// the script that contains the name; its own folder is searched first. A name cannot lead
    /// outside the library's roots.
    ///
    /// # Errors
    /// The file cannot be read, or is not a script.
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>>;

    /// Reads a file next to a script that is not a script itself (a module, wasm), by relative
    /// name.
    ///
    /// # Errors
    /// The file is outside the roots or cannot be read.
    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>>;

    /// Returns the ids of all scripts, for suggestions when an id is misspelled.
    fn ids(&self) -> Vec<String>;
}
