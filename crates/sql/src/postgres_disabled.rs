//! Replacement of the PostgreSQL driver in builds without the feature `postgres`.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;

use crate::database::{ConnectOptions, Database};
use crate::{ConnectionUrl, DatabaseError};

const DRIVER: FeatureDisabled = FeatureDisabled {
    what: "PostgreSQL",
    feature: "postgres",
};

pub(crate) fn open(
    _: &ConnectionUrl,
    _: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Err(DRIVER.into())
}
