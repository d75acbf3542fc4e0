//! Recording exchanges with models, and replaying them without a network.
//!
//! The boundary is the [`ChatModel`](quillet_core::chat::ChatModel): a recording holds
//! the neutral request and the events of the answer with their times, in one file of
//! JSON lines per exchange. It fits every provider and outlives changes of a wire. What
//! looks like a secret is taken out before anything is written (module `scrub`); one that
//! a model spells over several pieces of its stream is not recognized.
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
