//! Reads TLS files, and verifies self-signed certificates.

use std::path::Path;

use rustls::client::verify_server_name;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};

/// Reads the certificates of the PEM file that the URL parameter `setting` names; at least one.
///
/// # Errors
/// Returns an error message if the file is unreadable or does not contain a certificate.
pub(crate) fn certificates(
    setting: &str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(setting, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| format!("{setting} {}: {error}", path.display()))?;
    if !found.is_empty() {
        Ok(found)
    } else {
        Err(format!(
            "{setting} {}: no certificate found; expected PEM, which begins with \
         -----BEGIN CERTIFICATE-----",
            path.display()
        ))
    }
}

/// Reads the private key of a PEM file: PKCS#8, PKCS#1 or SEC1, without a passphrase.
///
/// # Errors
/// Returns an error message if the file is unreadable, or if its key is missing or encrypted.
pub(crate) fn key(setting: &str, path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = read(setting, path)?;
    // The library's error does not say that a key is encrypted, so the PEM headers are checked
    // first. The second header is the older format of PKCS#1.
    let has = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
    let shown = path.display();
    if has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Err(format!(
            "{setting} {shown}: the private key is encrypted, and its passphrase cannot be entered here; \
             remove the passphrase: openssl pkey -in {shown} -out plain.key && chmod 600 plain.key"
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        PemError::NoItemsFound => format!(
            "{setting} {shown}: no private key found; expected PEM (PKCS#8, PKCS#1 or SEC1), \
             which begins with -----BEGIN PRIVATE KEY-----, RSA PRIVATE KEY or EC PRIVATE KEY"
        ),
        error => format!("{setting} {shown}: {error}"),
    })
}

fn read(setting: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| {
        format!(
            "{setting} {}: {error}; name a file that this process can read",
            path.display()
        )
    })
}

/// Verifies a certificate that is itself in the trusted list, as `openssl req -x509` creates it.
/// Checks its validity period and, with a `name`, that it is issued for that name. As in libpq, the
/// common name counts if the certificate has no other names.
///
/// # Errors
/// Fails if the certificate is not currently valid, or is for another name.
pub(crate) fn check_trusted_certificate(
    certificate: &CertificateDer<'_>,
    name: Option<&ServerName<'_>>,
    now: UnixTime,
) -> Result<(), Error> {
    let bad = || Error::InvalidCertificate(CertificateError::BadEncoding);
    let read = CertificateInfo::of(certificate).ok_or_else(bad)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < read.from {
        return Err(Error::InvalidCertificate(CertificateError::NotValidYet));
    }
    if now > read.until {
        return Err(Error::InvalidCertificate(CertificateError::Expired));
    }
    let Some(name) = name else {
        return Ok(());
    };
    let checked = verify_server_name(&ParsedCertificate::try_from(certificate)?, name);
    let host = name.to_str();
    let is_common = || {
        let common = read.common_name.as_deref().unwrap_or_default();
        !read.has_names && common.eq_ignore_ascii_case(host.as_bytes())
    };
    match checked {
        Err(_) if is_common() => Ok(()),
        checked => checked,
    }
}

/// The required fields of a certificate.
#[derive(Debug, PartialEq, Eq)]
struct CertificateInfo {
    /// Start of validity in seconds since 1970-01-01 UTC.
    from: i64,
    until: i64,
    /// Whether it has alternative names.
    has_names: bool,
    common_name: Option<Vec<u8>>,
}

impl CertificateInfo {
    fn of(certificate: &[u8]) -> Option<CertificateInfo> {
        const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 0x04, 0x03];
        const OTHER_NAMES: &[u8] = &[0x06, 3, 0x55, 0x1D, 0x11];
        // TBSCertificate ::= SEQUENCE { [0] version, serial, algorithm, issuer, validity, subject,
        // … }
        let (_, whole, _) = element(certificate)?;
        let (_, mut fields, _) = element(whole)?;
        // The version field is optional; certificates of version 1 do not have it.
        if fields.first() == Some(&0xA0) {
            fields = element(fields)?.2;
        }
        for _ in 0..3 {
            fields = element(fields)?.2;
        }
        let (_, validity, fields) = element(fields)?;
        let (kind, from, rest) = element(validity)?;
        let from = seconds(kind, from)?;
        let (kind, until, _) = element(rest)?;
        let until = seconds(kind, until)?;
        let (_, subject, rest) = element(fields)?;
        // The subject is searched for the OID's bytes instead of parsed. A certificate that is
        // already trusted byte for byte cannot gain anything by containing fake OID bytes.
        let at = subject
            .windows(COMMON_NAME.len())
            .position(|part| part == COMMON_NAME);
        let common = at.and_then(|at| element(subject.get(at + COMMON_NAME.len()..)?));
        Some(CertificateInfo {
            from,
            until,
            has_names: rest
                .windows(OTHER_NAMES.len())
                .any(|part| part == OTHER_NAMES),
            common_name: common.map(|(_, text, _)| text.to_vec()),
        })
    }
}

/// Parses UTCTime (`YYMMDDHHMMSSZ`, years 1950 to 2049) or GeneralizedTime (`YYYYMMDDHHMMSSZ`).
fn seconds(kind: u8, text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let text = match kind {
        0x17 if text.get(..2)? < "50" => format!("20{text}"),
        0x17 => format!("19{text}"),
        0x18 => text.to_owned(),
        _ => return None,
    };
    let time = jiff::civil::DateTime::strptime("%Y%m%d%H%M%S", &text).ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(time.timestamp().as_second())
}

/// Returns the tag and the content of the first DER element, and the bytes after it.
pub(crate) fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7F => (usize::from(*first), rest),
        // This is the long form of a length, with up to four bytes. No real certificate is longer,
        // and more bytes could overflow `usize`.
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
            let length = length
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_certificates_are_read() {
        for (kind, text, expected) in [
            (0x17, "700101000000Z", Some(0)),
            (0x17, "491231235959Z", Some(2_524_607_999)),
            (0x17, "500101000000Z", Some(-631_152_000)),
            (0x18, "20500101000000Z", Some(2_524_608_000)),
            (0x17, "7001010000Z", None),
            (0x17, "700101000000", None),
            (0x18, "20501301000000Z", None),
            (0x04, "700101000000Z", None),
        ] {
            assert_eq!(seconds(kind, text.as_bytes()), expected, "{text}");
        }
    }

    /// Returns a certificate with only the common name `localhost`, valid from 1970-01-01 to
    /// 2049-12-31.
    fn own() -> Vec<u8> {
        let tlv = |tag: u8, contents: &[u8]| {
            let mut out = vec![tag, u8::try_from(contents.len()).unwrap()];
            out.extend(contents);
            out
        };
        let common = [tlv(0x06, &[0x55, 0x04, 0x03]), tlv(0x0C, b"localhost")].concat();
        let subject = tlv(0x30, &tlv(0x31, &tlv(0x30, &common)));
        let times = [tlv(0x17, b"700101000000Z"), tlv(0x17, b"491231235959Z")].concat();
        let fields = [
            tlv(0xA0, &tlv(0x02, &[2])),
            tlv(0x02, &[1]),
            tlv(0x30, &[]),
            tlv(0x30, &[]),
            tlv(0x30, &times),
            subject,
        ];
        tlv(0x30, &tlv(0x30, &fields.concat()))
    }

    #[test]
    fn what_a_certificate_says_of_itself_is_read_or_it_is_none() {
        let certificate = own();
        let read = CertificateInfo::of(&certificate).unwrap();
        let expected = CertificateInfo {
            from: 0,
            until: 2_524_607_999,
            has_names: false,
            common_name: Some(b"localhost".to_vec()),
        };
        assert_eq!(read, expected);
        for end in 0..certificate.len() {
            assert_eq!(CertificateInfo::of(&certificate[..end]), None, "{end}");
        }
        let der = CertificateDer::from(certificate);
        let at = |seconds| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        assert_eq!(check_trusted_certificate(&der, None, at(1)), Ok(()));
        assert_eq!(
            check_trusted_certificate(&der, None, at(2_524_608_000)),
            Err(Error::InvalidCertificate(CertificateError::Expired))
        );
    }

    #[test]
    fn cut_elements_are_none() {
        let whole = [0x30, 0x82, 0, 2, 1, 2];
        assert_eq!(element(&whole), Some((0x30, &[1, 2][..], &[][..])));
        for end in 0..whole.len() {
            assert_eq!(element(&whole[..end]), None, "{end}");
        }
        assert_eq!(element(&[0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    }
}
