//! What stands where PostgreSQL would, in a build without the feature `postgres`.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;

use crate::database::{ConnectOptions, Database};
use crate::{ConnectionUrl, DatabaseError};

const DRIVER: FeatureDisabled = FeatureDisabled {
    what: "PostgreSQL",
    feature: "postgres",
};

/// Nothing is opened here.
pub(crate) fn open(
    _: &ConnectionUrl,
    _: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Err(DRIVER.into())
}
