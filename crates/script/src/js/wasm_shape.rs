//! Limits and exports of a wasm module, available with and without the feature `wasm`.

/// Limits of one WebAssembly module. When a limit is exceeded, the error names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WasmBounds {
    /// Maximum size of the module file in bytes. Default 16 MiB.
    pub bytes: usize,
    /// Maximum total size of the module's memories in bytes. Default 64 MiB.
    pub memory: usize,
    /// Approximate maximum number of instructions per call. The default of 500,000,000 takes one to
    /// two seconds.
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
    /// Types of the parameters: `i32`, `i64`, `f32`, `f64`.
    pub parameters: Vec<&'static str>,
    /// Types of the results.
    pub results: Vec<&'static str>,
}
