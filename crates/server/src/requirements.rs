//! The permissions that routes require. The route lists have one for each route.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;

/// The permission that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteRequirements {
    /// Authentication only.
    Entry,
    /// A permission for at least one definition. The handler checks the definitions that it uses.
    Any(Permission),
    /// One of these permissions for the definition in the path.
    Of(&'static [Permission], EntryKind),
}

/// Only `read`.
pub(crate) const READ: &[Permission] = &[Permission::Read];
/// Only `render`.
pub(crate) const RENDER: &[Permission] = &[Permission::Render];
/// Only `write`.
pub(crate) const WRITE: &[Permission] = &[Permission::Write];
/// The permissions to move labels. [`quillet_host::definitions`] decides which one a label
/// requires.
pub(crate) const LABEL: &[Permission] = &[Permission::Write, Permission::Promote];

/// Returns the first parameter of a path, percent-decoded.
pub(crate) async fn name_in(parts: &mut Parts) -> Option<String> {
    let names = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    names.iter().next().map(|(_, name)| name.to_owned())
}
