//! Makes tools of definitions.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quillet_core::Diagnostic;
use quillet_core::tool::{BuiltTool, ToolBuilder, ToolSpec};
use reqwest::header::HeaderMap;
use url::Url;

use crate::address::Denied;
use crate::config::{ConfigError, McpServerConfig, ModuleUrls, ToolsConfig};
use crate::defined::{DefinedTool, GrpcWire, Wire};
use crate::definition::{
    self, Definition, GrpcDefinition, McpDefinition, RestfulDefinition, WireDefinition,
};
use crate::http::{Http, checked_url};
use crate::module::{Module, ModuleSettings, plain_headers, secret_headers};
use crate::network::{Lookup, Network, SystemLookup};
use crate::parameters::Parameters;
use crate::restful::{Restful, UrlTemplate};
use crate::returns::Returns;
use crate::servers::Servers;
use crate::{grpc, mcp};

/// The builder of all tools, and the owner of what they share. Cheap to clone
/// behind an `Arc`; dropping it and its tools ends every session and program.
#[derive(Debug)]
pub struct Tools {
    config: ToolsConfig,
    network: Network,
    http: Arc<Http>,
    servers: Arc<Servers>,
    modules: HashMap<String, Arc<ModuleSettings>>,
    mcp_servers: HashMap<String, mcp::Endpoint>,
    elsewhere: OnceLock<Arc<dyn ModuleUrls>>,
}

/// A finding about a definition: the field of the type's own object and what
/// is wrong with it.
struct Finding(&'static str, String);

impl Finding {
    fn url(denied: &Denied) -> Self {
        Finding("url", denied.to_string())
    }
}

impl Tools {
    /// Tools with these settings. Connects to nothing yet.
    ///
    /// # Errors
    /// A setting is wrong: a base url that the address policy denies, a header
    /// that is none, a descriptor set that cannot be read.
    pub fn new(config: ToolsConfig) -> Result<Self, ConfigError> {
        Tools::with_lookup(config, Arc::new(SystemLookup))
    }

    /// As [`Tools::new`], with names looked up by something else than the system.
    ///
    /// # Errors
    /// As [`Tools::new`].
    pub fn with_lookup(config: ToolsConfig, lookup: Arc<dyn Lookup>) -> Result<Self, ConfigError> {
        // The first provider wins; whoever installed one before has chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let network = Network::new(config.addresses.clone(), trusted(&config)?, lookup);
        let http = Arc::new(Http::new(
            network.clone(),
            config.redirects,
            config.response_bytes,
        ));
        let servers = Servers::new(
            network.clone(),
            http.clone(),
            config.response_bytes,
            config.mcp_start,
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
        Ok(Tools {
            network,
            http,
            servers: Arc::new(servers),
            modules,
            mcp_servers,
            elsewhere: OnceLock::new(),
            config,
        })
    }

    /// Says where modules are that the configuration does not name. Holds for
    /// tools that are built afterwards; the first call counts.
    pub fn find_modules_with(&self, urls: Arc<dyn ModuleUrls>) {
        let _ = self.elsewhere.set(urls);
    }

    fn module(&self, name: &str) -> Module {
        Module {
            name: name.into(),
            settings: self.modules.get(name).cloned().unwrap_or_default(),
            elsewhere: self.elsewhere.get().cloned(),
        }
    }

    fn wire(&self, definition: &Definition) -> Result<Wire, Finding> {
        let headers = plain_headers(&definition.headers).map_err(|why| Finding("headers", why))?;
        let module = self.module(&definition.module);
        match &definition.wire {
            WireDefinition::Restful(restful) => self.restful(definition, restful, module, headers),
            WireDefinition::Grpc(grpc) => self.grpc(grpc, module, headers),
            WireDefinition::Mcp(mcp) => self.mcp(mcp, headers),
        }
    }

    fn restful(
        &self,
        definition: &Definition,
        restful: &RestfulDefinition,
        module: Module,
        headers: HeaderMap,
    ) -> Result<Wire, Finding> {
        let template = UrlTemplate::parse(&restful.url).map_err(|denied| Finding::url(&denied))?;
        if template.is_relative() {
            has_module(&module)?;
        } else {
            self.check(&template.sample())?;
        }
        let order: Vec<Arc<str>> = parameter_names(&definition.parameters)
            .map(Arc::from)
            .collect();
        let known = |name: &String| order.iter().any(|known| **known == **name);
        if let Some(name) = template.names().iter().find(|name| !known(name)) {
            let why = format!("{{{name}}} is not a parameter of the tool");
            return Err(Finding("url", why));
        }
        Ok(Wire::Restful(Restful {
            http: self.http.clone(),
            module,
            template,
            method: restful.method.clone(),
            array: restful.array,
            order,
            headers,
        }))
    }

    fn check(&self, url: &str) -> Result<Url, Finding> {
        checked_url(&self.network.policy, url).map_err(|denied| Finding::url(&denied))
    }

    fn grpc(
        &self,
        definition: &GrpcDefinition,
        module: Module,
        headers: HeaderMap,
    ) -> Result<Wire, Finding> {
        match &definition.url {
            Some(url) => drop(self.check(&grpc::server_url(url, definition.tls))?),
            None => has_module(&module)?,
        }
        let wrong = |why: String| Finding("descriptor_set", why);
        let own = definition
            .descriptor_set
            .as_deref()
            .map(|text| {
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|error| format!("not base64: {error}"))?;
                grpc::descriptors(&bytes)
            })
            .transpose()
            .map_err(wrong)?;
        Ok(Wire::Grpc(GrpcWire {
            servers: self.servers.clone(),
            url: definition.url.clone(),
            tls: definition.tls,
            method: grpc::Method {
                service: definition.service.clone(),
                method: definition.method.clone(),
                descriptors: own.or_else(|| module.settings.descriptors.clone()),
            },
            module,
            headers,
        }))
    }

    fn mcp(&self, definition: &McpDefinition, headers: HeaderMap) -> Result<Wire, Finding> {
        let endpoint = match (&definition.server, &definition.url, &definition.command) {
            (Some(name), ..) => self
                .mcp_servers
                .get(name)
                .cloned()
                .ok_or_else(|| self.no_such_server(name))?,
            (_, Some(url), _) => mcp::Endpoint::Address {
                url: self.check(url)?,
                headers,
            },
            (.., command) => self.program(definition, command.clone().unwrap_or_default())?,
        };
        Ok(Wire::Mcp {
            server: self.servers.mcp(endpoint),
            tool: definition.tool.clone(),
        })
    }

    fn program(
        &self,
        definition: &McpDefinition,
        command: String,
    ) -> Result<mcp::Endpoint, Finding> {
        if !self.config.allow_stdio {
            let why = format!(
                "definitions may not start programs here (name {command:?} in tools.mcp_servers and refer to it with \"server\", or set tools.allow_stdio = true)"
            );
            return Err(Finding("command", why));
        }
        let env = definition
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()));
        Ok(mcp::Endpoint::Program {
            command,
            args: definition.args.clone(),
            env: env.collect(),
        })
    }

    fn no_such_server(&self, name: &str) -> Finding {
        let known: Vec<&str> = self.mcp_servers.keys().map(String::as_str).collect();
        let hint = match quillet_core::nearest(name, known.iter().copied()) {
            Some(known) => format!("did you mean {known:?}?"),
            None => format!("configure it as tools.mcp_servers.{name}"),
        };
        Finding("server", format!("there is no server {name:?} ({hint})"))
    }

    /// What is worth saying about a definition that can be used.
    fn remark(&self, definition: &Definition, wire: &Wire) -> Option<String> {
        let relative = match wire {
            Wire::Restful(restful) => restful.template.is_relative(),
            Wire::Grpc(grpc) => grpc.url.is_none(),
            Wire::Mcp { .. } => false,
        };
        let module = &definition.module;
        let known = self
            .modules
            .get(module)
            .is_some_and(|module| module.base_url.is_some());
        (relative && !known && self.elsewhere.get().is_none()).then(|| {
            format!("the url is relative, and tools.modules.{module}.base_url is not set: calls will fail")
        })
    }
}

impl ToolBuilder for Tools {
    fn build(&self, name: &str, source: &str, text: &str) -> Result<BuiltTool, Vec<Diagnostic>> {
        let (definition, mut warnings) = definition::read(source, text)?;
        let wrong = |path: &[&str], why: &str| {
            let message = format!("{}: {why}", path.join("."));
            let finding = Diagnostic::error("tool.definition", source, message);
            vec![finding.at(text, crate::place::of_value(text, path))]
        };
        let wire = self.wire(&definition).map_err(|Finding(field, why)| {
            let path: Vec<&str> = definition.own_key.into_iter().chain([field]).collect();
            wrong(&path, &why)
        })?;
        let parameters = Parameters::compile(&definition.parameters)
            .map_err(|why| wrong(&["parameters"], &why))?;
        if let Some(remark) = self.remark(&definition, &wire) {
            warnings.push(Diagnostic::warning("tool.address", source, remark));
        }
        let returns = Returns::new(definition.returns.as_ref(), definition.result);
        let spec = ToolSpec {
            name: name.to_owned(),
            description: definition.description,
            parameters: definition.parameters,
            idempotent: definition.idempotent,
            default: returns.default(definition.default),
            returns: definition.returns,
        };
        let tool = DefinedTool {
            spec,
            parameters,
            returns,
            timeout: definition.timeout.unwrap_or(self.config.timeout),
            wire,
        };
        Ok(BuiltTool {
            tool: Arc::new(tool),
            warnings,
        })
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
        Ok(_) => Err(wrong("no certificate in PEM form in it".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn has_module(module: &Module) -> Result<(), Finding> {
    if module.name.is_empty() {
        let why = "the url is relative, so the tool needs a \"module\" that it is relative to";
        return Err(Finding("url", why.to_owned()));
    }
    Ok(())
}

fn parameter_names(schema: &serde_json::Value) -> impl Iterator<Item = &str> {
    let properties = schema
        .get("properties")
        .and_then(serde_json::Value::as_object);
    properties
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .map(String::as_str)
}

fn mcp_endpoint(
    name: &str,
    config: &McpServerConfig,
    network: &Network,
) -> Result<mcp::Endpoint, ConfigError> {
    let setting = |field: &str| format!("tools.mcp_servers.{name}{field}");
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
            Ok(mcp::Endpoint::Address { url, headers })
        }
        _ => Err(ConfigError::new(setting(""), &"set either command or url")),
    }
}
