//! What of Quillet needs a store, a runtime or a parser of SQL, as a module of Python:
//! `quillet_engine_service._service`. Values and errors are those of `quillet_engine`.

mod catalogue;
mod error;
mod guard;
mod model;
mod runtime;
mod script;

use pyo3::prelude::*;

/// The module.
#[pymodule(gil_used = true)]
fn _service(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<catalogue::Catalogue>()?;
    module.add_function(wrap_pyfunction!(guard::check_query, module)?)?;
    module.add_function(wrap_pyfunction!(script::run, module)?)
}
