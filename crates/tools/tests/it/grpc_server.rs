//! A real gRPC server with reflection. Its descriptors are compiled from text.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};

// Both sides pass messages as bytes, which the descriptors describe.
#[path = "../../src/grpc/codec.rs"]
mod codec;

use codec::RawCodec;

const TYPES: &str = r#"
syntax = "proto3";
package shop.types;
enum Mood { CALM = 0; BUSY = 1; }
message Item { string item_name = 1; int64 big = 2; uint64 huge = 3; Mood mood = 4; bytes raw = 5; repeated string tags = 6; }
"#;

const SERVICE: &str = r#"
syntax = "proto3";
package shop.v1;
import "types.proto";
import "google/protobuf/timestamp.proto";
message Ask { string code = 1; int64 number = 2; shop.types.Item item = 3; repeated int32 list = 4; google.protobuf.Timestamp at = 5; }
message Answer { string translated_code = 1; Ask given = 2; bool flag = 3; }
service Translator {
  rpc TranslateZhEn(Ask) returns (Answer);
  rpc Slow(Ask) returns (Answer);
  rpc Fail(Ask) returns (Answer);
  rpc Large(Ask) returns (Answer);
  rpc Token(Ask) returns (Answer);
  rpc Watch(Ask) returns (stream Answer);
}
"#;

/// Reflection version of the server.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reflection {
    V1,
    V1Alpha,
    None,
}

pub(crate) struct GrpcServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

pub(crate) fn descriptors() -> DescriptorPool {
    let files = |name: &str| match name {
        "types.proto" => Some(TYPES),
        "service.proto" => Some(SERVICE),
        _ => None,
    };
    struct Texts<F>(F);
    impl<F: Fn(&str) -> Option<&'static str> + Send + Sync> protox::file::FileResolver for Texts<F> {
        fn open_file(&self, name: &str) -> Result<protox::file::File, protox::Error> {
            match (self.0)(name) {
                Some(text) => protox::file::File::from_source(name, text),
                None => protox::file::GoogleFileResolver::new().open_file(name),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Texts(files));
    compiler
        .include_imports(true)
        .open_file("service.proto")
        .unwrap();
    compiler.descriptor_pool()
}

/// The service and its reflection, for other test servers.
pub(crate) fn router() -> axum::Router {
    let pool = descriptors();
    let set = pool.encode_to_vec();
    let describe = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(&set)
        .build_v1()
        .unwrap();
    tonic::service::Routes::new(Translator(pool))
        .add_service(describe)
        .into_axum_router()
}

impl GrpcServer {
    pub(crate) async fn start(reflection: Reflection) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        Self::start_on(&listener, reflection)
    }

    /// Serves at a port that the caller keeps open, so that a server can restart at the same
    /// address.
    pub(crate) fn start_on(listener: &std::net::TcpListener, reflection: Reflection) -> Self {
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener.try_clone().unwrap()).unwrap();
        let pool = descriptors();
        let set = pool.encode_to_vec();
        let describe = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(&set);
        let router = tonic::transport::Server::builder().add_service(Translator(pool));
        let router = match reflection {
            Reflection::V1 => router.add_service(describe.build_v1().unwrap()),
            Reflection::V1Alpha => router.add_service(describe.build_v1alpha().unwrap()),
            Reflection::None => router,
        };
        let incoming = TcpListenerStream::new(listener);
        let (stop, stopped) = oneshot::channel();
        let stopped = async move { drop(stopped.await) };
        let serve = router.serve_with_incoming_shutdown(incoming, stopped);
        let task = tokio::spawn(async move { serve.await.unwrap() });
        GrpcServer {
            address,
            task,
            stop,
        }
    }

    /// Stops the server and closes its connections.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }
}

#[derive(Clone)]
struct Translator(DescriptorPool);

impl NamedService for Translator {
    const NAME: &'static str = "shop.v1.Translator";
}

impl tower::Service<tonic::codegen::http::Request<Body>> for Translator {
    type Response = tonic::codegen::http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::codegen::http::Request<Body>) -> Self::Future {
        let method = request
            .uri()
            .path()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let one = One {
            pool: self.0.clone(),
            method,
        };
        Box::pin(async move { Ok(Grpc::new(RawCodec).unary(one, request).await) })
    }
}

struct One {
    pool: DescriptorPool,
    method: String,
}

impl UnaryService<Bytes> for One {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let (pool, method) = (self.pool.clone(), self.method.clone());
        Box::pin(async move { answer(&pool, &method, request).await })
    }
}

async fn answer(
    pool: &DescriptorPool,
    method: &str,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, Status> {
    let token = request
        .metadata()
        .get("authorization")
        .map(|value| value.to_str().unwrap().to_owned());
    let ask = pool.get_message_by_name("shop.v1.Ask").unwrap();
    let ask = DynamicMessage::decode(ask, request.into_inner())
        .map_err(|error| Status::invalid_argument(error.to_string()))?;
    let code = ask
        .get_field_by_name("code")
        .unwrap()
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let text = match method {
        "TranslateZhEn" => code.replace("你好", "hello"),
        "Token" => token.unwrap_or_default(),
        "Large" => "x".repeat(2 << 20),
        "Slow" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            String::new()
        }
        "Fail" => return Err(Status::failed_precondition("the shop is closed")),
        _ => return Err(Status::unimplemented("no such method")),
    };
    let mut answer = DynamicMessage::new(pool.get_message_by_name("shop.v1.Answer").unwrap());
    answer.set_field_by_name("translated_code", Value::String(text));
    answer.set_field_by_name("given", Value::Message(ask));
    Ok(Response::new(answer.encode_to_vec().into()))
}
