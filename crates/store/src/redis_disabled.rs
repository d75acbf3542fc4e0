//! Replacement for Redis in a build without the feature `redis`: the same functions, which return
//! an error that names the missing feature.

use std::sync::Arc;

use quillet_core::archive::Archive;
use quillet_core::batch::Batches;
use quillet_core::budget::Budgets;
use quillet_core::build::FeatureDisabled;
use quillet_core::journal::Journal;
use quillet_core::rates::Rates;
use quillet_core::runs::Runs;
use quillet_core::session::Sessions;
use quillet_core::store::{Store, StoreError};

use crate::address::RedisAddress;
use crate::{ArchiveOptions, JournalOptions, RunOptions, SessionOptions, StoreOptions};

const REDIS: FeatureDisabled = FeatureDisabled {
    what: "Redis",
    feature: "redis",
};

pub(crate) fn store(_: &RedisAddress, _: &StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn sessions(
    _: &RedisAddress,
    _: &StoreOptions,
    _: &SessionOptions,
) -> Result<Arc<dyn Sessions>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn archive(
    _: &RedisAddress,
    _: &StoreOptions,
    _: &ArchiveOptions,
) -> Result<Arc<dyn Archive>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn runs(
    _: &RedisAddress,
    _: &StoreOptions,
    _: &RunOptions,
) -> Result<Arc<dyn Runs>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn journal(
    _: &RedisAddress,
    _: &StoreOptions,
    _: &JournalOptions,
) -> Result<Arc<dyn Journal>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn rates(_: &RedisAddress, _: &StoreOptions) -> Result<Arc<dyn Rates>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn budgets(
    _: &RedisAddress,
    _: &StoreOptions,
    _: bool,
) -> Result<Arc<dyn Budgets>, StoreError> {
    Err(REDIS.into())
}

pub(crate) fn batches(_: &RedisAddress, _: &StoreOptions) -> Result<Arc<dyn Batches>, StoreError> {
    Err(REDIS.into())
}
