//! Parts of Quillet with a store, a runtime or an SQL parser, as a module of Python:
//! `quillet_engine_service._service`. Values and errors are those of `quillet_engine`.
//!
//! The convenient Python interface is written there, in `python/quillet_engine_service`: how
//! functions are called, in threads or in an event loop, is `_drive.py`.

mod catalogue;
mod error;
mod functions;
mod guard;
mod runtime;
mod script;
mod work;

use pyo3::prelude::*;

/// The module.
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
