//! The error for builds without Arrow and Parquet.

use quillet_core::build::FeatureDisabled;

pub(crate) const COLUMNAR: FeatureDisabled = FeatureDisabled {
    what: "Arrow and Parquet",
    feature: "columnar",
};
