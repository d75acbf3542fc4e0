//! What a build without Arrow and Parquet says of them.

use quillet_core::build::Missing;

pub(crate) const COLUMNAR: Missing = Missing {
    what: "Arrow and Parquet",
    feature: "columnar",
};
