//! Error messages about providers: address, cause and the setting to change, but never a secret.

use std::error::Error;
use std::io;
use std::time::Duration;

use quillet_core::chat::{ModelError, ModelErrorKind};
use secrecy::{ExposeSecret, SecretString};

use crate::answer::{TransportError, cause_of};
use crate::endpoint::NativeProvider;
use crate::guarded_resolver::AddressDenied;
use crate::protocol::ProviderError;

/// Maximum number of bytes of a provider's text in a message; tools have the same limit.
pub(crate) const MOST_REPEATED: usize = 1024;

/// Context of errors: the provider that caused them.
#[derive(Clone)]
pub(crate) struct ErrorContext {
    /// Address of the provider, without secrets.
    pub(crate) address: String,
    /// Original provider of the API, which determines the names of the settings.
    pub(crate) home: &'static NativeProvider,
    /// Whether the address is that of the original provider.
    pub(crate) is_home: bool,
    /// Whether key and address came with the request, so no setting can fix the error.
    pub(crate) by_request: bool,
    /// Secrets to remove from messages.
    pub(crate) secrets: Vec<SecretString>,
    /// The provider's id of the request, after its response has arrived.
    pub(crate) request_id: Option<String>,
}

impl ErrorContext {
    pub(crate) fn error(&self, kind: ModelErrorKind, cause: impl AsRef<str>) -> ModelError {
        self.with_context(ModelError::new(kind, cause.as_ref()))
    }

    /// Adds the address of the provider to the error and removes secrets.
    pub(crate) fn with_context(&self, error: ModelError) -> ModelError {
        ModelError {
            message: format!("{}: {}", self.address, clip(&self.clean(&error.message))),
            provider_code: error.provider_code.map(|code| self.clean(&code)),
            request_id: error.request_id.or_else(|| self.request_id.clone()),
            ..error
        }
    }

    /// Error of a request without an answer.
    pub(crate) fn request_error(&self, fault: impl Into<TransportError>) -> ModelError {
        let fault = fault.into();
        // Checked before timeouts and connection errors, because one of them wraps it.
        if let Some(denied) = denied(&*fault.error) {
            return self.error(ModelErrorKind::Configuration, denied.to_string());
        }
        let cause = root_cause(&*fault.error);
        let mend = self.url_mend();
        if fault.is_timeout {
            return self.error(
                ModelErrorKind::Timeout,
                format!("no connection in time ({cause}); is the address right? {mend}"),
            );
        }
        if fault.is_connect {
            return self.error(
                ModelErrorKind::Connect,
                if self.is_home { format!(
                    "cannot connect ({cause}); check the network; behind a proxy, set HTTPS_PROXY"
                ) } else { format!("cannot connect ({cause}); is it running? {mend}") },
            );
        }
        self.error(
            ModelErrorKind::Connect,
            format!("the connection closed before an answer ({cause})"),
        )
    }

    /// Error of an interrupted stream.
    pub(crate) fn stream_error(&self, fault: impl Into<TransportError>) -> ModelError {
        let cause = root_cause(&*fault.into().error);
        self.error(
            ModelErrorKind::Cut,
            format!("the answer was interrupted ({cause})"),
        )
    }

    /// Timeout error.
    pub(crate) fn timeout_error(&self, what: &str, setting: &str, after: Duration) -> ModelError {
        self.error(
            ModelErrorKind::Timeout,
            format!("{what} within {after:?} (limit {setting})"),
        )
    }

    /// Error of a response with an error status. The wait time of the headers takes precedence over
    /// that of the body.
    pub(crate) fn status_error(
        &self,
        status: u16,
        refusal: ProviderError,
        retry_after: Option<Duration>,
    ) -> ModelError {
        let said = self.clean(refusal.message.trim());
        let said = clip(&said);
        let mend = self.mend(status, refusal.kind);
        // The fix follows in the same sentence, so the provider's full stop is removed.
        let said = if mend.is_empty() {
            said
        } else {
            said.trim_end_matches('.')
        };
        let colon = if said.is_empty() { "" } else { ": " };
        ModelError {
            kind: refusal.kind,
            message: format!("{}: answered {status}{colon}{said}{mend}", self.address),
            status: Some(status),
            retry_after: retry_after.or(refusal.retry_after),
            provider_code: refusal.code.map(|code| self.clean(&code)),
            request_id: self.request_id.clone(),
        }
    }

    fn mend(&self, status: u16, kind: ModelErrorKind) -> String {
        match (kind, status) {
            (ModelErrorKind::Auth | ModelErrorKind::Forbidden, _) if self.by_request => {
                "; check the key that came with the request".to_owned()
            }
            (ModelErrorKind::Auth | ModelErrorKind::Forbidden, _) => format!(
                "; check the key: set {} or {}, or run `quillet keys set {}`",
                self.home.key_variable, self.home.key_setting, self.home.name
            ),
            (ModelErrorKind::ModelNotFound, _) | (_, 404) => format!(
                "; check the model's name and the base URL, normally {}",
                self.home.base_url
            ),
            (_, 300..=399) => {
                "; redirects are not followed: set the base URL to the final address".to_owned()
            }
            _ => String::new(),
        }
    }

    fn url_mend(&self) -> String {
        if self.by_request {
            "check the base URL of the request".to_owned()
        } else {
            format!(
                "set {} or {}",
                self.home.url_variable, self.home.url_setting
            )
        }
    }

    fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            let secret = secret.expose_secret().trim();
            // A shorter value is a flag rather than a secret, and would match everywhere.
            // `contains` avoids a copy in the normal case.
            if secret.len() >= 4 && text.contains(secret) {
                text = text.replace(secret, "[secret]");
            }
        }
        text
    }
}

/// Whether the address is not allowed. An I/O error does not return its inner error as its source,
/// so both are searched.
fn denied<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a AddressDenied> {
    let held = || cause_of::<io::Error>(error)?.get_ref()?.downcast_ref();
    cause_of(error).or_else(held)
}

/// Returns the innermost cause: `Connection refused (os error 111)` without the layers around it.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Truncates a text at a character boundary.
pub(crate) fn clip(text: &str) -> &str {
    let mut end = text.len().min(MOST_REPEATED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
