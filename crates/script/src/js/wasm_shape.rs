//! What may be said of a wasm module, whether or not this build can run one.

/// Bounds of one module. Each has an error that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmBounds {
    /// Bytes of the module itself. Default 16 MiB.
    pub bytes: usize,
    /// Bytes of its memories together. Default 64 MiB.
    pub memory: usize,
    /// Instructions of one call, roughly. Default 500,000,000: a second or two.
    pub fuel: u64,
}

impl Default for WasmBounds {
    fn default() -> Self {
        WasmBounds {
            bytes: 16 << 20,
            memory: 64 << 20,
            fuel: 500_000_000,
        }
    }
}

/// A function that a module exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmExport {
    /// Its name.
    pub name: String,
    /// Kinds of its parameters: `i32`, `i64`, `f32`, `f64`.
    pub parameters: Vec<&'static str>,
    /// Kinds of its results.
    pub results: Vec<&'static str>,
}
