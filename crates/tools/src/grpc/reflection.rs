//! gRPC server reflection. Versions 1 and 1alpha have the same messages in different packages.
//! Version 1alpha is used if the server does not support version 1.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use prost::Message;
use prost_reflect::DescriptorPool;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use super::codec::RawCodec;

/// Maximum number of descriptor files of one server; typical servers have tens.
const MOST_FILES: usize = 2_000;

/// Maximum bytes of a reflection answer. The limit on answers of tools does not apply to it.
pub(super) const MOST_BYTES: usize = 16 << 20;

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

/// Returns the descriptors of all services of a server.
pub(super) async fn all(client: &Grpc<Channel>) -> Result<DescriptorPool, Status> {
    match read(client, V1).await {
        Err(status) if status.code() == Code::Unimplemented => read(client, V1_ALPHA).await,
        result => result,
    }
}

async fn read(client: &Grpc<Channel>, path: &'static str) -> Result<DescriptorPool, Status> {
    let mut files = BTreeMap::new();
    let services = services(client, path).await?;
    let symbols = services
        .into_iter()
        .map(MessageRequest::FileContainingSymbol)
        .collect();
    collect(ask(client, path, symbols).await?, &mut files)?;
    // Servers may omit the imports of these files, so missing ones are requested.
    loop {
        let missing = missing(&files);
        if missing.is_empty() {
            break;
        }
        let before = files.len();
        let names = missing
            .into_iter()
            .map(MessageRequest::FileByFilename)
            .collect();
        collect(ask(client, path, names).await?, &mut files)?;
        // A server that does not know an import must not cause an endless loop.
        if files.len() == before {
            break;
        }
    }
    let file = files.into_values().collect();
    DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file })
        .map_err(|error| Status::internal(format!("its descriptors are inconsistent: {error}")))
}

async fn services(client: &Grpc<Channel>, path: &'static str) -> Result<Vec<String>, Status> {
    let list = MessageRequest::ListServices(String::new());
    let mut answers = ask(client, path, vec![list]).await?;
    match answers.pop().and_then(|answer| answer.message_response) {
        Some(MessageResponse::ListServicesResponse(list)) => Ok(list
            .service
            .into_iter()
            .map(|service| service.name)
            .collect()),
        Some(MessageResponse::ErrorResponse(error)) => Err(Status::new(
            Code::from_i32(error.error_code),
            error.error_message,
        )),
        _ => Err(Status::internal("its reflection does not list services")),
    }
}

/// Sends several requests in one stream. Answers have the same order.
async fn ask(
    client: &Grpc<Channel>,
    path: &'static str,
    questions: Vec<MessageRequest>,
) -> Result<Vec<ServerReflectionResponse>, Status> {
    let count = questions.len();
    let questions = questions.into_iter().map(|question| {
        let request = ServerReflectionRequest {
            host: String::new(),
            message_request: Some(question),
        };
        Bytes::from(request.encode_to_vec())
    });
    let mut client = client.clone();
    client
        .ready()
        .await
        .map_err(|error| Status::from_error(error.into()))?;
    let stream = futures_util::stream::iter(questions.collect::<Vec<_>>());
    let path = tonic::codegen::http::uri::PathAndQuery::from_static(path);
    let mut answers = client
        .streaming(Request::new(stream), path, RawCodec)
        .await?
        .into_inner();
    let mut all = Vec::with_capacity(count);
    while all.len() < count
        && let Some(bytes) = answers.message().await?
    {
        let answer = ServerReflectionResponse::decode(bytes)
            .map_err(|error| Status::internal(format!("its reflection cannot be read: {error}")))?;
        all.push(answer);
    }
    Ok(all)
}

/// Adds the files of the answers. Skips services that the server lists but cannot describe.
fn collect(
    answers: Vec<ServerReflectionResponse>,
    files: &mut BTreeMap<String, FileDescriptorProto>,
) -> Result<(), Status> {
    for answer in answers {
        let Some(MessageResponse::FileDescriptorResponse(found)) = answer.message_response else {
            continue;
        };
        for bytes in found.file_descriptor_proto {
            let file = FileDescriptorProto::decode(bytes.as_slice()).map_err(|error| {
                Status::internal(format!("a descriptor cannot be read: {error}"))
            })?;
            files.insert(file.name().to_owned(), file);
        }
        if files.len() > MOST_FILES {
            return Err(Status::resource_exhausted(format!(
                "its description has more than {MOST_FILES} files"
            )));
        }
    }
    Ok(())
}

fn missing(files: &BTreeMap<String, FileDescriptorProto>) -> BTreeSet<String> {
    let imports = files.values().flat_map(|file| file.dependency.iter());
    imports
        .filter(|name| !files.contains_key(*name))
        .cloned()
        .collect()
}
