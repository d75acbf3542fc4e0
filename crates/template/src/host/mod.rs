//! Sources of the time and of random bits.
//!
//! An operating system provides both. WebAssembly without an operating system
//! (`wasm32-unknown-unknown`) provides neither, so the embedding program must register functions
//! before the first template, see [`provide`].
//!
//! Without a clock there is no time limit, and dates are those of 1970. The limits on steps, memory
//! and output still end every render.

#[cfg(any(doc, test, all(target_family = "wasm", target_os = "unknown")))]
#[cfg_attr(
    test,
    expect(unreachable_pub, reason = "tests run where it is not used")
)]
mod embedder;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
mod system;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use self::embedder::Instant;
#[cfg(any(doc, test, all(target_family = "wasm", target_os = "unknown")))]
pub use self::embedder::{HostFunctions, provide};
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use self::embedder::{random, time_of_day};
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use self::system::{random, time_of_day};
/// A time on the clock that limits renders.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
