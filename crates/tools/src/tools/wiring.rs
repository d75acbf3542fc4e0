//! Connects a definition to its protocol: checks addresses, and resolves modules and servers.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;
use reqwest::header::HeaderMap;
use url::Url;

use super::Tools;
use crate::address::{AddressError, grpc_url};
use crate::config::McpWire;
use crate::defined::ToolTransport;
use crate::definition::{
    GrpcDefinition, McpDefinition, RestfulDefinition, ToolDefinition, WireDefinition,
};
use crate::headers::plain_headers;
use crate::http::checked_url;
use crate::module::Module;
use crate::restful::{RestTool, UrlTemplate};
use crate::{grpc, mcp};

/// Error of a definition that cannot be used.
pub(super) enum ToolBuildError {
    /// An invalid field of the type's own object, and the problem.
    Field(&'static str, String),
    /// This build does not support the protocol.
    Missing(FeatureDisabled),
}

impl ToolBuildError {
    fn url(denied: &AddressError) -> Self {
        ToolBuildError::Field("url", denied.to_string())
    }
}

impl From<FeatureDisabled> for ToolBuildError {
    fn from(missing: FeatureDisabled) -> Self {
        ToolBuildError::Missing(missing)
    }
}

impl Tools {
    fn module(&self, name: &str) -> Module {
        Module {
            name: name.into(),
            settings: self.modules.get(name).cloned().unwrap_or_default(),
            elsewhere: self.elsewhere.clone(),
        }
    }

    pub(super) fn wire(
        &self,
        definition: &ToolDefinition,
    ) -> Result<ToolTransport, ToolBuildError> {
        let headers = plain_headers(&definition.headers)
            .map_err(|why| ToolBuildError::Field("headers", why))?;
        let module = self.module(&definition.module);
        match &definition.wire {
            WireDefinition::Restful(restful) => self.restful(definition, restful, module, headers),
            WireDefinition::Grpc(grpc) => self.grpc(grpc, module, headers),
            WireDefinition::Mcp(mcp) => self.mcp(mcp, headers),
        }
    }

    fn restful(
        &self,
        definition: &ToolDefinition,
        restful: &RestfulDefinition,
        module: Module,
        headers: HeaderMap,
    ) -> Result<ToolTransport, ToolBuildError> {
        let template =
            UrlTemplate::parse(&restful.url).map_err(|denied| ToolBuildError::url(&denied))?;
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
            return Err(ToolBuildError::Field("url", why));
        }
        Ok(ToolTransport::Restful(Box::new(RestTool {
            http: self.http.clone(),
            module,
            template,
            method: restful.method.clone(),
            array: restful.array,
            order,
            headers,
        })))
    }

    fn check(&self, url: &str) -> Result<Url, ToolBuildError> {
        checked_url(&self.network.policy, url).map_err(|denied| ToolBuildError::url(&denied))
    }

    fn grpc(
        &self,
        definition: &GrpcDefinition,
        module: Module,
        headers: HeaderMap,
    ) -> Result<ToolTransport, ToolBuildError> {
        grpc::AVAILABLE?;
        match &definition.url {
            Some(url) => drop(self.check(&grpc_url(url, definition.tls))?),
            None => has_module(&module)?,
        }
        let wire = grpc::GrpcMethod::new(self.servers.grpc.clone(), definition, module, headers);
        let wire = wire.map_err(|why| ToolBuildError::Field("descriptor_set", why))?;
        Ok(ToolTransport::Grpc(wire))
    }

    fn mcp(
        &self,
        definition: &McpDefinition,
        headers: HeaderMap,
    ) -> Result<ToolTransport, ToolBuildError> {
        mcp::AVAILABLE?;
        if definition.url.is_none() && !headers.is_empty() {
            let why =
                "headers need a \"url\" (those of a configured server are in tools.mcp_servers)";
            return Err(ToolBuildError::Field("headers", why.to_owned()));
        }
        let endpoint = match (&definition.server, &definition.url, &definition.command) {
            (Some(name), ..) => self
                .mcp_servers
                .get(name)
                .cloned()
                .ok_or_else(|| self.no_such_server(name))?,
            (_, Some(url), _) => mcp::Endpoint::Address {
                wire: McpWire::StreamableHttp,
                url: self.check(url)?,
                headers,
            },
            (.., command) => self.program(definition, command.clone().unwrap_or_default())?,
        };
        Ok(ToolTransport::Mcp {
            server: self.servers.mcp(endpoint),
            tool: definition.tool.clone(),
        })
    }

    fn program(
        &self,
        definition: &McpDefinition,
        command: String,
    ) -> Result<mcp::Endpoint, ToolBuildError> {
        if !self.config.allow_stdio {
            let why = format!(
                "definitions cannot start programs here (name {command:?} in tools.mcp_servers \
                 and refer to it with \"server\", or set tools.allow_stdio = true)"
            );
            return Err(ToolBuildError::Field("command", why));
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

    fn no_such_server(&self, name: &str) -> ToolBuildError {
        let known: Vec<&str> = self.mcp_servers.keys().map(String::as_str).collect();
        let hint = match quillet_core::nearest(name, known.iter().copied()) {
            Some(known) => format!("did you mean {known:?}?"),
            None => format!("configure it as tools.mcp_servers.{name}"),
        };
        ToolBuildError::Field("server", format!("unknown server {name:?} ({hint})"))
    }
}

fn has_module(module: &Module) -> Result<(), ToolBuildError> {
    if module.name.is_empty() {
        let why = "the url is relative, so the tool needs a \"module\" whose base_url it extends";
        return Err(ToolBuildError::Field("url", why.to_owned()));
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
