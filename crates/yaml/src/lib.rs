//! YAML whose keys and values know where they stand in the file.
//!
//! The one home of YAML events. It reads one document into a tree of [`Node`]s
//! with spans, tags and styles, within limits, and knows nothing of what the
//! tree means: prompt files, agents, scripts and fixtures read it each in its way.

mod node;

pub use node::{Data, Entry, Node, Scalar, Style};
