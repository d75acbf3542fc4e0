//! What a build without Arrow and Parquet says of them.

use quillet_core::build::FeatureDisabled;

pub(crate) const COLUMNAR: FeatureDisabled = FeatureDisabled {
    what: "Arrow and Parquet",
    feature: "columnar",
};
