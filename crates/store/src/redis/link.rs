//! A connection to one node, with change notifications if the node supports them.

use quillet_core::store::{EntryKind, StoreError};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline,
    ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, RedisResult, TlsCertificates,
    Value,
};
use secrecy::ExposeSecret;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use super::error;
use super::settings::RedisSettings;
use crate::address::{Login, RedisNode};

/// A connection shared by many callers.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) node: RedisNode,
    connection: MultiplexedConnection,
    /// Whether the node sends a push for every changed key.
    pub(crate) tracked: bool,
}

impl Link {
    /// Connects to a data node. Pushes are sent to `pushes`; the last one has the kind
    /// `Disconnection`.
    ///
    /// If the server does not support RESP3, a proxy rejects a command, or the user may not use
    /// tracking, the connection has no notifications.
    pub(crate) async fn open(
        settings: &RedisSettings,
        node: &RedisNode,
        pushes: &UnboundedSender<PushInfo>,
    ) -> Result<Self, StoreError> {
        match Link::with_pushes(settings, node, pushes).await {
            Ok(link) => Ok(link),
            Err(error) if is_answer(&error) => {
                Link::plain(settings, node, &settings.address.login, settings.address.db).await
            }
            Err(error) => Err(error::of_connection(node, &error)),
        }
    }

    async fn with_pushes(
        settings: &RedisSettings,
        node: &RedisNode,
        pushes: &UnboundedSender<PushInfo>,
    ) -> RedisResult<Self> {
        let login = &settings.address.login;
        let info = who(login, settings.address.db).set_protocol(ProtocolVersion::RESP3);
        let config = timeouts(settings).set_push_sender(pushes.clone());
        let client = client(settings, node, info)?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut link = Link {
            node: node.clone(),
            connection,
            tracked: false,
        };
        if settings.notices {
            link.tracked = link.track(settings).await?;
        }
        Ok(link)
    }

    /// Connects without notifications: to a sentinel or an old server.
    pub(crate) async fn plain(
        settings: &RedisSettings,
        node: &RedisNode,
        login: &Login,
        db: i64,
    ) -> Result<Self, StoreError> {
        let wrong = |error| error::of_connection(node, &error);
        let client = client(settings, node, who(login, db)).map_err(wrong)?;
        let config = timeouts(settings);
        let opening = client.get_multiplexed_async_connection_with_config(&config);
        Ok(Link {
            node: node.clone(),
            connection: opening.await.map_err(wrong)?,
            tracked: false,
        })
    }

    /// Requests a push for every change of keys with our prefixes. The server forgets this when the
    /// connection closes, so every new connection requests it again.
    async fn track(&self, settings: &RedisSettings) -> RedisResult<bool> {
        let mut command = redis::cmd("CLIENT");
        command.arg("TRACKING").arg("ON").arg("BCAST");
        for kind in EntryKind::ALL {
            command.arg("PREFIX").arg(settings.layout.prefix(kind));
        }
        match self.run(&[command]).await?.as_slice() {
            [Value::ServerError(error)] => {
                tracing::warn!(node = %self.node, error = %error, "redis sends no change notifications");
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    /// Sends the commands in one pipeline. Returns one reply for each, including error replies.
    pub(crate) async fn run(&self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command.clone());
        }
        let mut connection = self.connection.clone();
        connection
            .send_packed_commands(&pipeline, 0, commands.len())
            .await
    }

    /// Sends one command.
    pub(crate) async fn ask(&self, command: Cmd) -> Result<Value, StoreError> {
        let replies = self.run(&[command]).await;
        let replies = replies.map_err(|error| error::of_connection(&self.node, &error))?;
        Ok(replies.into_iter().next().unwrap_or(Value::Nil))
    }
}

/// Opens a dedicated connection for pub/sub messages.
pub(crate) async fn listen(
    settings: &RedisSettings,
    node: &RedisNode,
) -> Result<PubSub, StoreError> {
    let wrong = |error| error::of_connection(node, &error);
    let who = who(&settings.address.login, settings.address.db);
    let client = client(settings, node, who).map_err(wrong)?;
    match timeout(settings.connect_timeout, client.get_async_pubsub()).await {
        Ok(opened) => opened.map_err(wrong),
        Err(_) => Err(error::unavailable(format!(
            "redis at {node} did not answer within {:?}",
            settings.connect_timeout
        ))),
    }
}

fn client(
    settings: &RedisSettings,
    node: &RedisNode,
    who: RedisConnectionInfo,
) -> RedisResult<Client> {
    let host = node.host.clone();
    let address = if !settings.address.tls {
        ConnectionAddr::Tcp(host, node.port)
    } else {
        ConnectionAddr::TcpTls {
            host,
            port: node.port,
            insecure: settings.insecure,
            tls_params: None,
        }
    };
    let info = address.into_connection_info()?.set_redis_settings(who);
    if !settings.address.tls {
        return Client::open(info);
    }
    // Another part of the process may have installed a provider, which also works.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificates = TlsCertificates {
        client_tls: None,
        root_cert: settings.ca.clone(),
    };
    Client::build_with_tls(info, certificates)
}

fn who(login: &Login, db: i64) -> RedisConnectionInfo {
    let mut info = RedisConnectionInfo::default().set_db(db);
    if let Some(user) = &login.user {
        info = info.set_username(user);
    }
    if let Some(password) = &login.password {
        info = info.set_password(password.expose_secret());
    }
    info
}

fn timeouts(settings: &RedisSettings) -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(settings.connect_timeout))
        .set_response_timeout(Some(settings.response_timeout))
}

/// Whether the error is a reply of the server.
fn is_answer(error: &RedisError) -> bool {
    !error.is_io_error() && !error.is_timeout()
}
