//! Replacement of the MySQL driver in builds without the feature `mysql`.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;

use crate::database::{ConnectOptions, Database};
use crate::{ConnectionUrl, DatabaseError};

const DRIVER: FeatureDisabled = FeatureDisabled {
    what: "MySQL and MariaDB",
    feature: "mysql",
};

pub(crate) fn open(
    _: &ConnectionUrl,
    _: &ConnectOptions,
) -> Result<Arc<dyn Database>, DatabaseError> {
    Err(DRIVER.into())
}
