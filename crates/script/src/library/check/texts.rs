//! Iterates over the texts in a value.

use quillet_yaml::{Node, NodeData};

use super::line_map::text_of;
use crate::syntax::ScriptText;

/// Calls `each` for every text in a value, in order. Tagged values contain no texts.
pub(super) fn every(node: &Node, each: &mut dyn FnMut(&ScriptText)) {
    match &node.data {
        NodeData::Scalar(_) if node.tag.is_none() => {
            if let Some(text) = text_of(node) {
                each(&text);
            }
        }
        NodeData::Scalar(_) => {}
        NodeData::List(items) => items.iter().for_each(|item| every(item, each)),
        NodeData::Map(entries) => entries.iter().for_each(|entry| every(&entry.value, each)),
    }
}
