//! TLS with libpq's semantics: used if the server supports it, with certificates verified as the
//! address requests (PostgreSQL documentation, "SSL Support", table of `sslmode`).

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use sha2::{Digest, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::socket::Socket;
use crate::tls::{self, element};

/// Verification of the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// No verification. This protects against passive eavesdropping only.
    Nothing,
    /// Verifies that a trusted authority issued the certificate.
    Authority,
    /// Verifies the authority and the host name.
    Host,
}

/// Creates TLS streams over sockets.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    host: String,
}

impl Tls {
    /// Creates a connector for a host. It trusts the authorities of a PEM file or of the system,
    /// and can present a client certificate with its key from PEM files.
    ///
    /// # Errors
    /// Returns an error message if a file is unusable.
    pub(super) fn new(
        host: &str,
        checks: Checks,
        authorities: Option<&Path>,
        identity: Option<[&Path; 2]>,
    ) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let mut trusted = Vec::new();
        let authority = match checks {
            Checks::Nothing => None,
            _ => {
                if let Some(path) = authorities {
                    trusted = tls::certificates("sslrootcert", path)?;
                }
                Some(verifier(
                    authorities.is_some().then_some(&trusted),
                    &provider,
                )?)
            }
        };
        let verifier = Verifier {
            checks,
            authority,
            trusted,
            provider: Arc::clone(&provider),
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match identity {
            None => config.with_no_client_auth(),
            Some([certificate, key]) => config
                .with_client_auth_cert(
                    tls::certificates("sslcert", certificate)?,
                    tls::key("sslkey", key)?,
                )
                .map_err(|error| {
                    let (certificate, key) = (certificate.display(), key.display());
                    format!("sslcert {certificate} and sslkey {key} do not match: {error}")
                })?,
        };
        Ok(Tls {
            connector: Arc::new(config).into(),
            host: host.to_owned(),
        })
    }
}

fn verifier(
    authorities: Option<&Vec<CertificateDer<'static>>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    let certificates = match authorities {
        None => rustls_native_certs::load_native_certs().certs,
        Some(certificates) => certificates.clone(),
    };
    let mut roots = RootCertStore::empty();
    // Certificates that cannot be parsed are skipped, because one bad entry in the system store
    // must not disable TLS.
    roots.add_parsable_certificates(certificates);
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| {
            format!("no trusted certificate authority ({error}); name one with sslrootcert=FILE")
        })
}

#[derive(Debug)]
struct Verifier {
    checks: Checks,
    authority: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates named in the address. A server that presents one of them is trusted directly.
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        // The library does not accept a CA certificate as a server certificate. In libpq, a server
        // certificate in the list of trusted certificates means that this server is trusted.
        if self.trusted.iter().any(|trusted| trusted == certificate) {
            let name = (self.checks == Checks::Host).then_some(name);
            tls::check_trusted_certificate(certificate, name, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        match authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The library verifies the chain before the name, so only the name is wrong here.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.checks == Checks::Authority => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

impl TlsConnect<Socket> for Tls {
    type Stream = Channel;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Channel>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            let stream = self.connector.connect(name, socket).await?;
            Ok(Channel(stream))
        })
    }
}

/// A socket with TLS.
pub(super) struct Channel(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Channel {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, connection) = self.0.get_ref();
        let certificate = connection.peer_certificates().and_then(<[_]>::first);
        certificate
            .and_then(|certificate| end_point(certificate))
            .map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// Returns the digest of a certificate for `tls-server-end-point` (RFC 5929, section 4.1). It uses
/// the hash of the certificate's own signature, with SHA-256 instead of older ones. Returns `None`
/// for other signature algorithms.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01];
    const ECDSA_SHA1: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01];
    const ECDSA: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03];
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signature }
    let (_, whole, _) = element(certificate)?;
    let (_, _, rest) = element(whole)?;
    let (_, algorithm, _) = element(rest)?;
    let (_, identifier, _) = element(algorithm)?;
    let (last, family) = identifier.split_last()?;
    let sha256 = || Some(Sha256::digest(certificate).to_vec());
    let sha384 = || Some(Sha384::digest(certificate).to_vec());
    let sha512 = || Some(Sha512::digest(certificate).to_vec());
    match (family, *last) {
        _ if identifier == ECDSA_SHA1 => sha256(),
        (RSA, 4 | 5 | 11) | (ECDSA, 2) => sha256(),
        (RSA, 12) | (ECDSA, 3) => sha384(),
        (RSA, 13) | (ECDSA, 4) => sha512(),
        _ => None,
    }
}

impl AsyncRead for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_certificates_have_no_end_point() {
        // SEQUENCE { SEQUENCE {}, SEQUENCE { OID ecdsa-with-SHA256 } }
        let oid = [0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];
        let mut certificate = vec![0x30, 14, 0x30, 0, 0x30, 10];
        certificate.extend(oid);
        assert_eq!(end_point(&certificate).map(|hash| hash.len()), Some(32));
        for end in 0..certificate.len() {
            assert_eq!(end_point(&certificate[..end]), None, "{end}");
        }
        assert_eq!(end_point(&[0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    }
}
