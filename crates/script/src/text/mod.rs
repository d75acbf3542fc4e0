//! What stands inside of a message: prefixes, holes, templates, biases.
//!
//! Functions from text to data, without a run: none of them calls a model, a script or
//! JavaScript. Only [`template`] waits, for functions that a template calls.

pub mod bias;
pub mod hole;
pub mod markdown;
pub mod merge;
pub mod prefix;
pub mod recipients;
pub mod repeat;
pub mod spacing;
pub mod system;
pub mod template;
