//! The permissions that routes require; the route lists state them next to each route.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;

/// The permission that a route requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteRequirements {
    /// Authentication only.
    Entry,
    /// A permission for at least one definition; the handler checks the definitions that it works
    /// on.
    Any(Permission),
    /// One of these permissions for the definition that the path names.
    Of(&'static [Permission], EntryKind),
}

/// `read`.
pub(crate) const READ: &[Permission] = &[Permission::Read];
/// `render`.
pub(crate) const RENDER: &[Permission] = &[Permission::Render];
/// `write`.
pub(crate) const WRITE: &[Permission] = &[Permission::Write];
/// The permissions that move labels; [`quillet_host::definitions`] decides which one a label
/// requires.
pub(crate) const LABEL: &[Permission] = &[Permission::Write, Permission::Promote];

/// Returns the first parameter of a path, percent-decoded.
pub(crate) async fn name_in(parts: &mut Parts) -> Option<String> {
    let names = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    names.iter().next().map(|(_, name)| name.to_owned())
}
