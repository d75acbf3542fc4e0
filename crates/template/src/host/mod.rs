//! Time and random bits from the environment of a render.
//!
//! An operating system provides both. WebAssembly without one (`wasm32-unknown-unknown`) has
//! neither, so the embedding program must pass them in before the first template, see [`provide`].
//!
//! Without a clock the time limit does not apply, and dates are those of 1970; the limits on steps,
//! memory and output still end every template.

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
/// An instant of the clock that bounds renders.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
