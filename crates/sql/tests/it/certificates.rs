//! A certificate authority, and its certificates in every file format.

use std::path::PathBuf;
use std::process::Command;

/// Creates `ca.crt`; `server.crt` for `localhost`; `rsa.crt` with its key as PKCS#8 and PKCS#1,
/// each also with a passphrase; `ec.crt` with its key as SEC1; `own.crt`, a self-signed CA
/// certificate without alternative names, which is the default of `openssl req -x509`; and
/// `stranger.crt`, the same from another issuer.
const SCRIPT: &str = r#"
set -e
cd "$1"
sign() {
  openssl req -new -key "$1.key" -subj "/CN=$2" -out "$1.csr"
  printf 'subjectAltName=DNS:%s' "$2" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.crt"
}
own() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=localhost" \
    -keyout "$1.key" -out "$1.crt"
}
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=an authority" \
  -keyout ca.key -out ca.crt
openssl ecparam -name prime256v1 -genkey -noout -out server.key
sign server localhost
openssl genrsa -out rsa.key 2048
sign rsa reader
openssl rsa -in rsa.key -traditional -out rsa.pkcs1.key
openssl pkcs8 -topk8 -in rsa.key -passout pass:x -out encrypted.pkcs8.key
openssl rsa -in rsa.key -traditional -aes128 -passout pass:x -out encrypted.pkcs1.key
openssl ecparam -name prime256v1 -genkey -noout -out ec.key
sign ec reader
own own
own stranger
printf 'nothing' > nothing.pem
"#;

/// A folder of files, removed on drop.
#[derive(Debug)]
pub(crate) struct Certificates(PathBuf);

impl Certificates {
    pub(crate) fn make() -> Self {
        let folder = std::env::temp_dir().join(format!("quillet-tls-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let made = Certificates(folder);
        let mut command = Command::new("sh");
        let done = command
            .args(["-c", SCRIPT, "sh"])
            .arg(&made.0)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "openssl: {errors}");
        made
    }

    /// Returns the path of a file as a URL parameter.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // The system cleans up temporary folders that cannot be removed here.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
