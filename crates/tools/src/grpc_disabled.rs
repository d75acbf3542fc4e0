//! Replaces gRPC in builds without the feature `grpc`: definitions of gRPC tools are rejected.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::Value;
use quillet_core::build::FeatureDisabled;
use quillet_core::tool::{ToolContext, ToolError};
use reqwest::header::HeaderMap;

use crate::definition::GrpcDefinition;
use crate::module::Module;
use crate::network::Network;
use crate::parameters::CallArguments;

const GRPC: FeatureDisabled = FeatureDisabled {
    what: "gRPC",
    feature: "grpc",
};

/// Whether this build has gRPC.
pub(crate) const AVAILABLE: Result<(), FeatureDisabled> = Err(GRPC);

/// Empty counterpart of the descriptors.
#[derive(Clone, Debug)]
pub(crate) struct Descriptors;

/// Always fails.
///
/// # Errors
/// This build does not have gRPC.
pub(crate) fn descriptors_in_file(_: &Path) -> Result<Descriptors, String> {
    Err(GRPC.to_string())
}

/// Empty counterpart of the shared servers.
#[derive(Debug)]
pub(crate) struct GrpcServers;

impl GrpcServers {
    pub(crate) fn new(_: Network, _: usize) -> Self {
        GrpcServers
    }
}

/// Uninhabited counterpart of a gRPC method.
#[derive(Debug)]
pub(crate) struct GrpcMethod(Infallible);

impl GrpcMethod {
    pub(crate) fn new(
        _: Arc<GrpcServers>,
        _: &GrpcDefinition,
        _: Module,
        _: HeaderMap,
    ) -> Result<Self, String> {
        Err(GRPC.to_string())
    }

    pub(crate) fn is_relative(&self) -> bool {
        match self.0 {}
    }

    #[allow(clippy::unused_async)] // Same signature as the enabled variant.
    pub(crate) async fn call(
        &self,
        _: &str,
        _: CallArguments<'_>,
        _: &ToolContext,
        _: Duration,
    ) -> Result<Value, ToolError> {
        match self.0 {}
    }
}
