//! The template engine of Quillet as the Python module `quillet_engine._engine`.
//!
//! It is built on the crate `quillet` without features, which has no runtime. `template` renders,
//! and `rendering` lets Python's event loop make the calls of a template. The crate `values` has
//! values and errors. Everything else is Python code in `python/quillet_engine`.

mod inspect;
mod interrupt;
mod options;
mod rendering;
mod template;
mod tools;

use pyo3::prelude::*;

/// Defines the module.
#[pymodule(gil_used = true)]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The formats are created here, because a child that is forked while another thread creates
    // them would wait forever.
    let _ = quillet::formats();
    module.add_class::<template::PyTemplate>()?;
    module.add_class::<rendering::PyRendering>()?;
    module.add_function(wrap_pyfunction!(inspect::check, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::convert, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::formats, module)?)?;
    module.add_function(wrap_pyfunction!(inspect::parse_yaml, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
