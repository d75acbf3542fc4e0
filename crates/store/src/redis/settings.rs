//! What address and options say together, checked once.

use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};

use super::layout::{DEFAULT_PREFIX, Layout};
use crate::StoreOptions;
use crate::address::RedisAddress;

/// How to reach Redis and how long to wait for it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) address: RedisAddress,
    pub(crate) layout: Layout,
    /// Certificate authorities to trust, PEM.
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) insecure: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) retry_pause: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) max_value_bytes: usize,
}

impl Settings {
    /// What the address says goes before what the options say.
    pub(crate) fn new(address: &RedisAddress, options: &StoreOptions) -> Result<Self, StoreError> {
        let prefix = address.prefix.as_ref().or(options.prefix.as_ref());
        let ca_file = address.ca_file.as_ref().or(options.ca_file.as_ref());
        let ca = match ca_file {
            Some(path) => Some(std::fs::read(path).map_err(|error| {
                let message = format!("certificate file {}: {error}", path.display());
                StoreError::new(StoreErrorKind::Configuration, message)
            })?),
            None => None,
        };
        Ok(Settings {
            address: address.clone(),
            layout: Layout::new(prefix.map_or(DEFAULT_PREFIX, String::as_str)),
            ca,
            insecure: address.insecure || options.insecure,
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
            retry_pause: options.retry_pause,
            poll_interval: options.poll_interval,
            max_value_bytes: options.max_value_bytes,
        })
    }
}
