//! What stands where wasm modules would, in a build without the feature `wasm`: none can be loaded.

use std::convert::Infallible;
use std::sync::Arc;

use quillet_core::Value;
use quillet_core::build::FeatureDisabled;

use super::error::{JsError, JsErrorKind};
use super::{WasmBounds, WasmExport};

const WASM: FeatureDisabled = FeatureDisabled {
    what: "WebAssembly",
    feature: "wasm",
};

/// A module that was loaded, which none ever is.
#[derive(Debug)]
pub struct Wasm(Infallible);

impl Wasm {
    /// Loads no module.
    ///
    /// # Errors
    /// Kind `FeatureDisabled`, always.
    pub fn load(_: &[u8], _: &WasmBounds) -> Result<Self, JsError> {
        Err(JsError::new(JsErrorKind::Missing, WASM.to_string()))
    }

    /// The functions that it exports, in their order.
    #[must_use]
    pub fn exports(&self) -> &[WasmExport] {
        match self.0 {}
    }

    /// Calls an exported function with numbers.
    ///
    /// # Errors
    /// None, since nothing is ever called.
    #[allow(clippy::unused_async)] // As where there are modules.
    pub async fn call(
        self: &Arc<Self>,
        _: &str,
        _: &[Option<Value>],
    ) -> Result<Option<Value>, JsError> {
        match self.0 {}
    }
}
