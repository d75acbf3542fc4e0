//! Replacement for wasm support in a build without the feature `wasm`.

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

/// A loaded WebAssembly module. Without the crate feature, this type has no values.
#[derive(Debug)]
pub struct Wasm(Infallible);

impl Wasm {
    /// Always fails.
    ///
    /// # Errors
    /// Always kind `Missing`.
    pub fn load(_: &[u8], _: &WasmBounds) -> Result<Self, JsError> {
        Err(JsError::new(JsErrorKind::Missing, WASM.to_string()))
    }

    /// Returns the exported functions, in order.
    #[must_use]
    pub fn exports(&self) -> &[WasmExport] {
        match self.0 {}
    }

    /// Calls an exported function and passes numbers as arguments.
    ///
    /// # Errors
    /// Never called, because no module can be loaded.
    #[allow(clippy::unused_async)] // Async with `wasm`.
    pub async fn call(
        self: &Arc<Self>,
        _: &str,
        _: &[Option<Value>],
    ) -> Result<Option<Value>, JsError> {
        match self.0 {}
    }
}
