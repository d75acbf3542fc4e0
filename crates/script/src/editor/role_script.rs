//! Scripts of the roles of a group chat.

use quillet_yaml::Node;

use crate::syntax::Script;

/// Returns the script of a role of the group chat.
pub(super) fn role_script<'s>(script: &'s Script, name: &str) -> Option<&'s str> {
    let roles = script.config.get("roles")?;
    if let Some(items) = roles.items() {
        return items
            .iter()
            .filter_map(Node::as_str)
            .find(|item| *item == name);
    }
    let node = roles.get(name)?;
    let id = node.get("id").or_else(|| node.get("script"));
    id.unwrap_or(node).as_str()
}
