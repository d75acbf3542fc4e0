//! The template engine of Quillet as a module of Python, `quillet_engine._engine`.
//!
//! It is built on the crate `quillet` without features, which has no runtime: `template` renders,
//! `rendering` lets Python's event loop make the calls of a template; values and errors are the crate
//! `values`. What is pleasant to write in Python is written there, in
//! `python/quillet_engine`.

mod inspect;
mod interrupt;
mod options;
mod rendering;
mod template;
mod tools;

use pyo3::prelude::*;

/// The module.
#[pymodule(gil_used = true)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Made now: who forks while another thread makes it would wait for that thread forever.
    let _ = quillet::formats();
    module.add_class::<template::PyTemplate>()?;
    module.add_class::<rendering::PyRendering>()?;
    module.add_function(wrap_pyfunction!(inspect::check, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::convert, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::formats, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::parse_yaml, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
