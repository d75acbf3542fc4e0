//! Stores, scripts and the SQL guard of Quillet as a Python module:
//! `quillet_engine_service._service`. Values and errors are those of `quillet_engine`.
//!
//! The public interface is Python code in `python/quillet_engine_service`; `_drive.py` calls
//! functions in threads or in an event loop.

mod catalogue;
mod error;
mod functions;
mod guard;
mod runtime;
mod script;
mod work;

use pyo3::prelude::*;

/// Defines the module.
#[pymodule(gil_used = true)]
fn _service(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<catalogue::PyCatalogue>()?;
    module.add_class::<work::PyTask>()?;
    module.add_function(wrap_pyfunction!(guard::check_query, module)?)?;
    module.add_function(wrap_pyfunction!(script::begin_run, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::after_fork, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
