//! Validated settings from address and options.

use std::path::Path;
use std::time::Duration;

use quillet_core::store::{StoreError, StoreErrorKind};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::layout::{DEFAULT_PREFIX, KeyLayout};
use crate::StoreOptions;
use crate::address::RedisAddress;

/// Connection settings and timeouts.
#[derive(Clone, Debug)]
pub(crate) struct RedisSettings {
    pub(crate) address: RedisAddress,
    pub(crate) layout: KeyLayout,
    /// Certificate authorities to trust (PEM).
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) insecure: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
    pub(crate) retry_pause: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) max_value_bytes: usize,
    pub(crate) max_versions: usize,
    /// Whether change notifications are needed.
    pub(crate) notices: bool,
}

impl RedisSettings {
    /// Combines an address with options; the address takes precedence.
    pub(crate) fn new(address: &RedisAddress, options: &StoreOptions) -> Result<Self, StoreError> {
        let prefix = address.prefix.as_ref().or(options.prefix.as_ref());
        let ca_file = address.ca_file.as_ref().or(options.ca_file.as_ref());
        let ca = ca_file.map(|path| certificates(path)).transpose()?;
        Ok(RedisSettings {
            address: address.clone(),
            layout: KeyLayout::new(prefix.map_or(DEFAULT_PREFIX, String::as_str)),
            ca,
            insecure: address.insecure || options.insecure,
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
            retry_pause: options.retry_pause,
            poll_interval: options.poll_interval,
            max_value_bytes: options.max_value_bytes,
            max_versions: options.max_versions,
            notices: true,
        })
    }

    /// Checks whether a value of this size may be stored.
    pub(crate) fn fits(&self, name: &str, bytes: usize) -> Result<(), StoreError> {
        let limit = self.max_value_bytes;
        if bytes <= limit {
            return Ok(());
        }
        let message = format!("{name}: longer than the limit of {limit} bytes (max_value_bytes)");
        Err(StoreError::new(StoreErrorKind::Refused, message))
    }

    /// Creates settings without change notifications.
    pub(crate) fn quiet(
        address: &RedisAddress,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let mut settings = RedisSettings::new(address, options)?;
        settings.notices = false;
        Ok(settings)
    }
}

/// Reads and validates a file of certificate authorities, so an invalid file is detected at
/// startup.
fn certificates(path: &Path) -> Result<Vec<u8>, StoreError> {
    let wrong = |reason: String| {
        let message = format!("certificate file {}: {reason}", path.display());
        StoreError::new(StoreErrorKind::Configuration, message)
    };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut trusted = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        trusted
            .add(certificate)
            .map_err(|error| wrong(error.to_string()))?;
    }
    if trusted.is_empty() {
        return Err(wrong("it holds no PEM certificate".to_owned()));
    }
    Ok(pem)
}
