//! Limits and exports of a wasm module, available with and without the feature `wasm`.

/// Limits of one module. Each has an error that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmBounds {
    /// Size of the module file in bytes. Default 16 MiB.
    pub bytes: usize,
    /// Total size of its memories in bytes. Default 64 MiB.
    pub memory: usize,
    /// Approximate number of instructions per call. Default 500,000,000, or one to two seconds.
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
    /// Types of its parameters: `i32`, `i64`, `f32`, `f64`.
    pub parameters: Vec<&'static str>,
    /// Types of its results.
    pub results: Vec<&'static str>,
}
