//! gRPC tools of definitions, and the servers that they share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quillet_core::Value;
use quillet_core::lock::lock;
use quillet_core::tool::{ToolContext, ToolError};
use reqwest::header::HeaderMap;
use tonic::metadata::MetadataMap;

use super::descriptors::descriptors;
use super::{GrpcServer, Method};
use crate::address::grpc_url;
use crate::definition::GrpcDefinition;
use crate::http::{address_error, checked_url, request_id};
use crate::module::Module;
use crate::network::Network;
use crate::parameters::CallArguments;

/// The gRPC servers that tools share, by address. Servers are looked up at call time, because the
/// address of a module may change. Their number is limited by the addresses that operators
/// register.
#[derive(Debug)]
pub(crate) struct GrpcServers {
    network: Network,
    response_bytes: usize,
    known: Mutex<HashMap<String, Arc<GrpcServer>>>,
}

impl GrpcServers {
    pub(crate) fn new(network: Network, response_bytes: usize) -> Self {
        GrpcServers {
            network,
            response_bytes,
            known: Mutex::default(),
        }
    }

    /// Returns the server at an address.
    fn server_at(&self, url: &str) -> Result<Arc<GrpcServer>, ToolError> {
        let mut servers = lock(&self.known);
        if let Some(server) = servers.get(url) {
            return Ok(server.clone());
        }
        let checked =
            checked_url(&self.network.policy, url).map_err(|denied| address_error(&denied))?;
        let server = Arc::new(GrpcServer::new(
            checked,
            self.network.clone(),
            self.response_bytes,
        ));
        servers.insert(url.to_owned(), server.clone());
        Ok(server)
    }
}

/// A gRPC method with the address of its server.
#[derive(Debug)]
pub(crate) struct GrpcMethod {
    servers: Arc<GrpcServers>,
    module: Module,
    /// Address; the module's base URL if `None`.
    url: Option<String>,
    tls: bool,
    method: Method,
    headers: HeaderMap,
}

impl GrpcMethod {
    /// Creates the method of a definition whose address has been checked.
    ///
    /// # Errors
    /// A sentence about its invalid descriptor set.
    pub(crate) fn new(
        servers: Arc<GrpcServers>,
        definition: &GrpcDefinition,
        module: Module,
        headers: HeaderMap,
    ) -> Result<Self, String> {
        let own = definition.descriptor_set.as_deref().map(|text| {
            let bytes = STANDARD
                .decode(text)
                .map_err(|error| format!("not base64: {error}"))?;
            descriptors(&bytes)
        });
        let own = own.transpose()?;
        Ok(GrpcMethod {
            servers,
            url: definition.url.clone(),
            tls: definition.tls,
            method: Method {
                service: definition.service.clone(),
                method: definition.method.clone(),
                descriptors: own.or_else(|| module.settings.descriptors.clone()),
            },
            module,
            headers,
        })
    }

    /// Whether the module's base URL is used.
    pub(crate) fn is_relative(&self) -> bool {
        self.url.is_none()
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        given: CallArguments<'_>,
        context: &ToolContext,
        left: Duration,
    ) -> Result<Value, ToolError> {
        let url = match &self.url {
            Some(url) => url.clone(),
            None => self.module.base(tool).await?,
        };
        let server = self.servers.server_at(&grpc_url(&url, self.tls))?;
        let mut headers = self.module.headers_for(server.url(), &self.headers);
        if let Some((name, id)) = request_id(context) {
            headers.insert(name, id);
        }
        let headers = MetadataMap::from_headers(headers);
        server.call(tool, &self.method, given, headers, left).await
    }
}
