//! Ids of functions and modules in the JavaScript of one run.

use serde::{Deserialize, Serialize};

/// The id of a JavaScript function of one run: from the script's text, or created while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FunctionId(pub(crate) u64);

/// The id of a module that the JavaScript of one run imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleId(pub(crate) u64);
