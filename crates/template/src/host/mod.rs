//! What a render asks of the machine it runs on: the time, and random bits.
//!
//! An operating system has both. WebAssembly without one (`wasm32-unknown-unknown`) has neither, and
//! whoever embeds the engine there hands them in before the first template, see [`provide`].
//!
//! Without a clock the limit on time does not apply, and dates are those of 1970; the limits on steps,
//! memory and output end every template all the same.

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
/// A moment of the clock by which renders are bounded.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;
