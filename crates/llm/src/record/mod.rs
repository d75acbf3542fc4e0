//! Recording exchanges with models, and replaying them without a network.
//!
//! Recording happens at the [`ChatModel`](quillet_core::chat::ChatModel) interface: a recording
//! contains the provider-neutral request and the events of the answer with their times, in one JSON
//! Lines file per exchange. It works for every provider and does not depend on changes of provider
//! APIs. Text that looks like a secret is removed before anything is written (module `scrub`). A
//! secret that the model splits across several chunks of its stream is not detected.
//!
//! ```json
//! {"quillet":"exchange","version":1,"request":{"model":"gpt-6-sol","messages":[…],"options":{…}}}
//! {"ms":312.5,"event":{"type":"start","id":"…","model":"gpt-6-sol","created":1760000000}}
//! {"ms":313.1,"event":{"type":"text","choice":0,"text":"Hello"}}
//! {"ms":401.0,"end":"done"}
//! ```

mod canonical;
mod exchange;
mod play;
mod scrub;
mod write;

pub use play::{Replay, ReplaySpeed};
pub use write::Record;
