//! Elements of a message text: prefixes, holes, templates, biases.
//!
//! The functions convert text to data and can be used without running a script. They never call
//! models, scripts or JavaScript. Only [`template`] is asynchronous, because a template may call
//! functions.

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
