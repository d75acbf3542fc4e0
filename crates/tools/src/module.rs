//! Module of a tool: the base of its relative URLs, and the operator's headers for it.

use std::sync::{Arc, OnceLock};

use quillet_core::tool::{ToolError, ToolErrorKind};
use reqwest::header::HeaderMap;
use url::Url;

use crate::address::{AddressPolicy, is_absolute, parse_url};
use crate::config::{ModuleConfig, ModuleUrls};
use crate::grpc;
use crate::headers::secret_headers;
use crate::http::{address_error, checked_url};
use crate::setting::ConfigError;

/// The operator's settings of a module.
#[derive(Debug, Default)]
pub(crate) struct ModuleSettings {
    pub(crate) base_url: Option<Url>,
    pub(crate) headers: HeaderMap,
    pub(crate) descriptors: Option<grpc::Descriptors>,
}

impl ModuleSettings {
    pub(crate) fn new(
        name: &str,
        config: &ModuleConfig,
        policy: &AddressPolicy,
    ) -> Result<Self, ConfigError> {
        let setting = |field: &str| format!("tools.modules.{name}.{field}");
        let base_url = config
            .base_url
            .as_deref()
            .map(|text| checked_url(policy, text))
            .transpose()
            .map_err(|denied| ConfigError::new(setting("base_url"), &denied))?;
        if base_url.is_none() && !config.headers.is_empty() {
            let message = "headers are sent only to the base_url, which is missing (set base_url)";
            return Err(ConfigError::new(setting("headers"), &message));
        }
        let pairs = config
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value));
        let headers =
            secret_headers(pairs).map_err(|why| ConfigError::new(setting("headers"), &why))?;
        let descriptors = config
            .descriptor_set
            .as_deref()
            .map(grpc::descriptors_in_file)
            .transpose()
            .map_err(|why| ConfigError::new(setting("descriptor_set"), &why))?;
        Ok(ModuleSettings {
            base_url,
            headers,
            descriptors,
        })
    }
}

/// The module of one tool.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) name: Arc<str>,
    pub(crate) settings: Arc<ModuleSettings>,
    pub(crate) elsewhere: Arc<OnceLock<Arc<dyn ModuleUrls>>>,
}

impl Module {
    /// Returns the module's base URL, which is configured or registered.
    pub(crate) async fn base(&self, tool: &str) -> Result<String, ToolError> {
        if let Some(base) = &self.settings.base_url {
            return Ok(base.as_str().to_owned());
        }
        let registered = match self.elsewhere.get() {
            Some(elsewhere) => elsewhere.base_url(&self.name).await,
            None => None,
        };
        registered.ok_or_else(|| {
            let name = &self.name;
            let message = format!(
                "{tool}: its url is relative and module {name:?} has no base (set tools.modules.{name}.base_url or the shared variable modules:{name} with a field url)"
            );
            ToolError {
                kind: ToolErrorKind::Refused,
                message,
                for_model: "the tool has no address".to_owned(),
            }
        })
    }

    /// Returns the absolute form of a tool's URL.
    pub(crate) async fn absolute(&self, tool: &str, url: &str) -> Result<Url, ToolError> {
        if is_absolute(url) {
            return parse_url(url).map_err(|denied| address_error(&denied));
        }
        join(&self.base(tool).await?, url)
    }

    /// Returns the definition's headers, plus the module's headers if the URL has the configured
    /// origin. A definition cannot send the module's headers to another origin.
    pub(crate) fn headers_for(&self, url: &Url, own: &HeaderMap) -> HeaderMap {
        let mut headers = own.clone();
        let base = self.settings.base_url.as_ref();
        if base.is_some_and(|base| base.origin() == url.origin()) {
            for (name, value) in &self.settings.headers {
                // Replaces a header of the definition: the operator's value wins.
                headers.insert(name.clone(), value.clone());
            }
        }
        headers
    }
}

/// Appends a relative URL to a base. The path of the base is preserved, with or without a trailing
/// slash.
fn join(base: &str, relative: &str) -> Result<Url, ToolError> {
    let text = format!(
        "{}/{}",
        base.trim_end_matches('/'),
        relative.trim_start_matches('/')
    );
    parse_url(&text).map_err(|denied| address_error(&denied))
}
