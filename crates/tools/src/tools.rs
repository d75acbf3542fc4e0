//! Builder of all tools, and the state that they share.

mod build;
mod wiring;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::address::{AddressPolicy, AddressScope};
use crate::builtin::{Remote, WebSearch, Workspace};
use crate::config::{McpServerConfig, ModuleUrls, ToolsConfig};
use crate::headers::secret_headers;
use crate::http::{Http, checked_url};
use crate::mcp;
use crate::module::ModuleSettings;
use crate::network::{Lookup, Network, SystemLookup};
use crate::servers::ToolServers;
use crate::setting::ConfigError;

/// Builder of all tools and owner of the resources that they share. Share this value in an `Arc`.
/// Dropping this value and all tools built from it ends every MCP session and program.
#[derive(Debug)]
pub struct Tools {
    pub(crate) config: ToolsConfig,
    pub(crate) network: Network,
    http: Arc<Http>,
    /// Network access of scripts.
    pub(crate) web: Http,
    pub(crate) servers: Arc<ToolServers>,
    modules: HashMap<String, Arc<ModuleSettings>>,
    pub(crate) mcp_servers: HashMap<String, mcp::Endpoint>,
    elsewhere: Arc<OnceLock<Arc<dyn ModuleUrls>>>,
    pub(crate) web_search: WebSearch,
    pub(crate) workspace: Option<Arc<Workspace>>,
    pub(crate) rag: Option<Arc<Remote>>,
}

impl Tools {
    /// Creates the builder with these settings. This does not connect to any server.
    ///
    /// # Errors
    /// A setting is invalid: a base URL that the address policy denies, an invalid header, or an
    /// unreadable descriptor set.
    pub fn new(config: ToolsConfig) -> Result<Self, ConfigError> {
        Tools::with_lookup(config, Arc::new(SystemLookup))
    }

    /// Creates the builder like [`Tools::new`], but with a custom name resolver.
    ///
    /// # Errors
    /// Like [`Tools::new`].
    pub fn with_lookup(config: ToolsConfig, lookup: Arc<dyn Lookup>) -> Result<Self, ConfigError> {
        // The first installed provider is used; an error means that the program has already chosen
        // one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let trusted = trusted(&config)?;
        // The allow list also applies to scripts, but the scope does not.
        let public = AddressPolicy {
            scope: AddressScope::Public,
            ..config.addresses.clone()
        };
        let web = Network::new(public, trusted.clone(), lookup.clone());
        let web = Http::new(web, config.redirects, config.response_bytes);
        let network = Network::new(config.addresses.clone(), trusted, lookup);
        let http = Arc::new(Http::new(
            network.clone(),
            config.redirects,
            config.response_bytes,
        ));
        let servers = ToolServers::new(
            network.clone(),
            http.clone(),
            config.response_bytes,
            mcp::McpTimeouts::new(config.mcp_start, config.mcp_wait),
            config.mcp_idle,
        );
        let modules = config.modules.iter().map(|(name, module)| {
            let settings = ModuleSettings::new(name, module, &network.policy)?;
            Ok((name.clone(), Arc::new(settings)))
        });
        let modules = modules.collect::<Result<_, ConfigError>>()?;
        let mcp_servers = config
            .mcp_servers
            .iter()
            .map(|(name, server)| Ok((name.clone(), mcp_endpoint(name, server, &network)?)));
        let mcp_servers = mcp_servers.collect::<Result<_, ConfigError>>()?;
        let web_search = WebSearch::new(&config.web_search, http.clone(), &network.policy)?;
        let workspace = config.workspace.as_deref().map(workspace).transpose()?;
        let rag = Remote::new(&config.rag, http.clone(), &network.policy)?;
        Ok(Tools {
            rag: rag.map(Arc::new),
            web_search,
            workspace,
            network,
            http,
            web,
            servers: Arc::new(servers),
            modules,
            mcp_servers,
            elsewhere: Arc::default(),
            config,
        })
    }

    /// Sets the resolver of modules that are not configured. Only the first call has an effect, but
    /// tools that are already built use the resolver too. `urls` must not own these tools, or
    /// neither is ever dropped.
    pub fn find_modules_with(&self, urls: Arc<dyn ModuleUrls>) {
        let _ = self.elsewhere.set(urls);
    }
}

fn trusted(config: &ToolsConfig) -> Result<Option<Arc<[u8]>>, ConfigError> {
    let Some(path) = &config.ca_file else {
        return Ok(None);
    };
    let wrong =
        |why: String| ConfigError::new("tools.ca_file", &format!("{}: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(Some(pem.into())),
        Ok(_) => Err(wrong("no PEM certificate found in it".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn workspace(folder: &Path) -> Result<Arc<Workspace>, ConfigError> {
    let opened = Workspace::open(folder).map_err(|error| {
        ConfigError::new("tools.workspace", &format!("{}: {error}", folder.display()))
    })?;
    Ok(Arc::new(opened))
}

fn mcp_endpoint(
    name: &str,
    config: &McpServerConfig,
    network: &Network,
) -> Result<mcp::Endpoint, ConfigError> {
    let setting = |field: &str| format!("tools.mcp_servers.{name}{field}");
    mcp::AVAILABLE.map_err(|missing| ConfigError::new(setting(""), &missing))?;
    match (&config.command, &config.url) {
        (Some(command), None) => Ok(mcp::Endpoint::Program {
            command: command.clone(),
            args: config.args.clone(),
            env: config
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        }),
        (None, Some(url)) => {
            let url = checked_url(&network.policy, url)
                .map_err(|denied| ConfigError::new(setting(".url"), &denied))?;
            let pairs = config
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value));
            let headers =
                secret_headers(pairs).map_err(|why| ConfigError::new(setting(".headers"), &why))?;
            Ok(mcp::Endpoint::Address {
                wire: config.wire,
                url,
                headers,
            })
        }
        _ => Err(ConfigError::new(setting(""), &"set either command or url")),
    }
}
