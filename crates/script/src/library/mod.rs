//! Where scripts are found, and what they inherit, import and export.
//!
//! Everything here is known before a run: [`resolve`] says what a script consists of, and the
//! interpreter only carries it out.

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

/// The source of scripts: folders, a store, or both.
pub trait Library: Send + Sync + fmt::Debug {
    /// The script of an id or of a relative file name, as a script names it, or `None` where there
    /// is none. `from` is the script that names it: its own folder comes first. A name never leads
    /// out of the library's roots.
    ///
    /// # Errors
    /// That it cannot be read, or is not a script.
    fn find<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<Script>>, ScriptError>>;

    /// A file beside a script that is not a script itself (a module, wasm), by its relative name.
    ///
    /// # Errors
    /// That it leaves the roots or cannot be read.
    fn file<'a>(
        &'a self,
        name: &'a str,
        from: Option<&'a ScriptSource>,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, ScriptError>>;

    /// Ids of all scripts that can be found, to suggest one for a mistyped id.
    fn ids(&self) -> Vec<String>;
}
