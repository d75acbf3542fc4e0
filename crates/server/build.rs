//! Compresses the files of the console at build time, so that a server does not keep the memory
//! that compression would need.

use std::io::{Error, Write};
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Error> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=console");
    let of = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or(Error::other(name.to_owned()))
    };
    let (from, to) = (of("CARGO_MANIFEST_DIR")?, of("OUT_DIR")?);
    pack(&from.join("console"), &to.join("console"))
}

fn pack(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (from, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if from.is_dir() {
            pack(&from, &to.join(name))?;
            continue;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(from)?)?;
        fs::write(to.join(name), encoder.finish()?)?;
    }
    Ok(())
}
