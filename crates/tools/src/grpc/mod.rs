//! Unary gRPC methods without generated code. Descriptors come from the server's reflection or from
//! a descriptor set. Arguments and answers use protobuf's canonical JSON.
//!
//! Two departures from the canonical form make answers easier to use in templates. 64-bit integers
//! are numbers instead of strings, unless they exceed the signed range. Fields with default values
//! are present, under their names in the `.proto` file.

mod codec;
mod descriptors;
mod reflection;
mod wire;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use prost::Message;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, MethodDescriptor,
    SerializeOptions, ServiceDescriptor,
};
use quillet_core::build::FeatureDisabled;
use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Map, Value, nearest};
use serde_json::Value as Json;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};
use url::Url;

use crate::address::AddressError;
use crate::flight::SingleFlight;
use crate::http::{address_error, too_large};
use crate::network::{Network, denied, error_chain};
use crate::parameters::{self, CallArguments};
use codec::RawCodec;
pub(crate) use descriptors::{Descriptors, descriptors_in_file};
pub(crate) use wire::{GrpcMethod, GrpcServers};

/// Whether this build has gRPC.
pub(crate) const AVAILABLE: Result<(), FeatureDisabled> = Ok(());

/// Server with its cached descriptors; shared by all tools that call it.
#[derive(Debug)]
struct GrpcServer {
    url: Url,
    network: Network,
    response_bytes: usize,
    channel: OnceLock<Channel>,
    descriptors: SingleFlight<DescriptorPool>,
}

/// A method as written in a definition.
#[derive(Debug)]
struct Method {
    service: String,
    method: String,
    /// Descriptors to use instead of reflection.
    descriptors: Option<DescriptorPool>,
}

impl GrpcServer {
    fn new(url: Url, network: Network, response_bytes: usize) -> Self {
        GrpcServer {
            url,
            network,
            response_bytes,
            channel: OnceLock::new(),
            descriptors: SingleFlight::default(),
        }
    }

    fn url(&self) -> &Url {
        &self.url
    }

    /// Calls a method. The caller enforces the timeout; `timeout` is also sent to the server.
    async fn call(
        self: &Arc<Self>,
        tool: &str,
        method: &Method,
        given: CallArguments<'_>,
        headers: MetadataMap,
        timeout: Duration,
    ) -> Result<Value, ToolError> {
        let found = self.find(tool, method).await?;
        if found.is_client_streaming() || found.is_server_streaming() {
            let message = format!(
                "{tool}: {} streams; tools call unary methods",
                found.full_name()
            );
            return Err(ToolError::new(ToolErrorKind::Protocol, message));
        }
        let message = match given {
            CallArguments::Named(arguments) => to_message(tool, found.input(), arguments)?,
            CallArguments::InOrder(list) => {
                let arguments = in_order(tool, &found.input(), list)?;
                to_message(tool, found.input(), &arguments)?
            }
        };
        let mut request = Request::from_parts(headers, tonic::Extensions::new(), message.into());
        request.set_timeout(timeout);
        let path = format!("/{}/{}", found.parent_service().full_name(), found.name());
        let answer = self
            .unary(&path, request)
            .await
            .map_err(|status| self.failed(tool, &status))?;
        from_message(tool, found.output(), &answer)
    }

    async fn unary(&self, path: &str, request: Request<Bytes>) -> Result<Bytes, Status> {
        let path = path
            .parse()
            .map_err(|_| Status::invalid_argument(format!("{path} is not a path")))?;
        // The channel must report that it is ready before each call.
        let mut client = self.client(self.response_bytes)?;
        client
            .ready()
            .await
            .map_err(|error| Status::from_error(error.into()))?;
        Ok(client.unary(request, path, RawCodec).await?.into_inner())
    }

    fn client(&self, most_bytes: usize) -> Result<tonic::client::Grpc<Channel>, Status> {
        let client = tonic::client::Grpc::new(self.channel()?);
        Ok(client.max_decoding_message_size(most_bytes))
    }

    fn channel(&self) -> Result<Channel, Status> {
        if let Some(channel) = self.channel.get() {
            return Ok(channel.clone());
        }
        let unusable = |error: tonic::transport::Error| Status::unavailable(error_chain(&error));
        let endpoint = self.endpoint().map_err(unusable)?;
        // Connections go through `Network`, which checks every address, as for HTTP.
        let network = self.network.clone();
        let connector = tower::service_fn(move |uri: tonic::codegen::http::Uri| {
            let network = network.clone();
            async move {
                let port = uri
                    .port_u16()
                    .unwrap_or(if uri.scheme_str() == Some("https") {
                        443
                    } else {
                        80
                    });
                let stream = network
                    .connect(uri.host().unwrap_or_default(), port)
                    .await?;
                Ok::<_, std::io::Error>(TokioIo::new(stream))
            }
        });
        // The channel is lazy: it connects at the first call, and again after a failure.
        let channel = endpoint.connect_with_connector_lazy(connector);
        Ok(self.channel.get_or_init(|| channel).clone())
    }

    fn endpoint(&self) -> Result<Endpoint, tonic::transport::Error> {
        let endpoint = Endpoint::from_shared(self.url.to_string())?
            .user_agent(concat!("quillet/", env!("CARGO_PKG_VERSION")))?
            .tcp_nodelay(true)
            // Detects a connection that breaks silently during a call.
            .http2_keep_alive_interval(Duration::from_secs(30));
        if self.url.scheme() != "https" {
            return Ok(endpoint);
        }
        let own = match &self.network.trusted {
            Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
            None => ClientTlsConfig::new(),
        };
        let both = endpoint.clone().tls_config(own.clone().with_native_roots());
        // System certificates may be unavailable, in which case this fails.
        both.or_else(|_| endpoint.tls_config(own))
    }

    /// Returns the method's descriptor. The server's reflection is queried again if the cached one
    /// lacks the method.
    async fn find(
        self: &Arc<Self>,
        tool: &str,
        method: &Method,
    ) -> Result<MethodDescriptor, ToolError> {
        if let Some(pool) = &method.descriptors {
            return find_in(pool, method).ok_or_else(|| unknown(tool, pool, method));
        }
        let knows = |pool: &DescriptorPool| find_in(pool, method).is_some();
        let server = self.clone();
        let make = || async move {
            let pool = match server.client(reflection::MOST_BYTES) {
                Ok(client) => reflection::all(&client).await,
                Err(status) => Err(status),
            };
            pool.map_err(|status| {
                server.failed(
                    "reflection (give the tool a descriptor_set if the server has none)",
                    &status,
                )
            })
        };
        let pool = self.descriptors.get(knows, make).await?;
        find_in(&pool, method).ok_or_else(|| unknown(tool, &pool, method))
    }

    fn failed(&self, what: &str, status: &Status) -> ToolError {
        if let Some(denied) = denied_in(status) {
            return address_error(&denied);
        }
        let kind = match status.code() {
            // Both sides apply the timeout, so either error may arrive first.
            Code::DeadlineExceeded | Code::Cancelled => ToolErrorKind::Timeout,
            Code::Unavailable => ToolErrorKind::Transport,
            // tonic reports an oversized message only by this text, without a separate code.
            Code::OutOfRange
                if status
                    .message()
                    .contains("decoded message length too large") =>
            {
                return too_large(self.response_bytes);
            }
            _ => ToolErrorKind::Remote,
        };
        let story = match (status.message(), std::error::Error::source(status)) {
            ("", Some(source)) => error_chain(source),
            (_, Some(source)) if kind == ToolErrorKind::Transport => error_chain(source),
            (text, _) => text.to_owned(),
        };
        let code = status.code();
        ToolError {
            kind,
            message: format!("{what}: {} answered {code:?}: {story}", self.url),
            for_model: format!("the tool answered {code:?}: {}", status.message()),
        }
    }
}

fn denied_in(status: &Status) -> Option<AddressError> {
    std::error::Error::source(status).and_then(denied)
}

fn find_in(pool: &DescriptorPool, wanted: &Method) -> Option<MethodDescriptor> {
    let service = service_in(pool, &wanted.service)?;
    let exact = service
        .methods()
        .find(|method| method.name() == wanted.method);
    exact.or_else(|| {
        service
            .methods()
            .find(|method| alike(method.name(), &wanted.method))
    })
}

/// Finds a service by its full name, or by its last part if that is unique, because definitions for
/// ai-prompt-shell use `<module>/<name>`.
fn service_in(pool: &DescriptorPool, wanted: &str) -> Option<ServiceDescriptor> {
    if let Some(service) = pool.get_service_by_name(wanted) {
        return Some(service);
    }
    let mut found = pool
        .services()
        .filter(|service| alike(service.name(), wanted));
    let service = found.next()?;
    found.next().is_none().then_some(service)
}

/// Compares names in different conventions: `translate_zh_en` equals `TranslateZhEn`.
fn alike(a: &str, b: &str) -> bool {
    let letters = |text: &str| {
        text.chars()
            .filter(|c| *c != '_')
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    letters(a) == letters(b)
}

fn unknown(tool: &str, pool: &DescriptorPool, wanted: &Method) -> ToolError {
    let message = match service_in(pool, &wanted.service) {
        None => {
            let names: Vec<String> = pool
                .services()
                .map(|service| service.full_name().to_owned())
                .collect();
            format!(
                "{tool}: the server has no service {} (it has {})",
                wanted.service,
                names.join(", ")
            )
        }
        Some(service) => {
            let names: Vec<String> = service
                .methods()
                .map(|method| method.name().to_owned())
                .collect();
            let hint = match nearest(&wanted.method, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean {name}?"),
                None => format!("it has {}", names.join(", ")),
            };
            format!(
                "{tool}: {} has no method {} ({hint})",
                service.full_name(),
                wanted.method
            )
        }
    };
    ToolError::new(ToolErrorKind::Remote, message)
}

/// Names positional arguments after the message's fields, in the order of their numbers.
fn in_order(tool: &str, input: &MessageDescriptor, list: &[Value]) -> Result<Map, ToolError> {
    let mut fields: Vec<_> = input.fields().collect();
    fields.sort_by_key(prost_reflect::FieldDescriptor::number);
    parameters::named(tool, list, fields.iter().map(|field| field.name()))
}

fn to_message(tool: &str, input: MessageDescriptor, arguments: &Map) -> Result<Vec<u8>, ToolError> {
    let tree = Json::from(&Value::Map(arguments.clone()));
    // Misspelled arguments are rejected instead of dropped.
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    let name = input.full_name().to_owned();
    let message =
        DynamicMessage::deserialize_with_options(input, tree, &options).map_err(|error| {
            let message = format!("{tool}: the arguments do not fit {name}: {error}");
            ToolError::new(ToolErrorKind::Arguments, message)
        })?;
    Ok(message.encode_to_vec())
}

fn from_message(tool: &str, output: MessageDescriptor, bytes: &[u8]) -> Result<Value, ToolError> {
    let name = output.full_name().to_owned();
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("{tool}: the answer is not a {name}: {error}");
        ToolError::new(ToolErrorKind::Protocol, message)
    };
    let message = DynamicMessage::decode(output, bytes).map_err(|error| unreadable(&error))?;
    let options = SerializeOptions::new()
        .stringify_64_bit_integers(false)
        .use_proto_field_name(true)
        .skip_default_fields(false);
    let tree = message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| unreadable(&error))?;
    Ok(value_of(tree))
}

/// Converts JSON to a value, like `Value::from`, but integers beyond the signed range become text
/// to keep all digits. prost limits messages to a nesting of 100, so recursion is safe.
fn value_of(tree: Json) -> Value {
    match tree {
        Json::Number(number) if number.is_u64() && number.as_i64().is_none() => {
            Value::from(number.to_string())
        }
        Json::Array(items) => items.into_iter().map(value_of).collect::<Vec<_>>().into(),
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, value_of(value)))
            .collect::<Map>()
            .into(),
        other => Value::from(other),
    }
}
