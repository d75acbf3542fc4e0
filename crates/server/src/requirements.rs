//! What a route needs of whoever asks. The lists of routes say it beside each.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;

/// What a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteRequirements {
    /// Nothing but to be let in.
    Entry,
    /// A right for any definition at all: the handler asks for those that it works on.
    Any(Permission),
    /// One of these rights for the definition that the path names.
    Of(&'static [Permission], EntryKind),
}

/// `read`.
pub(crate) const READ: &[Permission] = &[Permission::Read];
/// `render`.
pub(crate) const RENDER: &[Permission] = &[Permission::Render];
/// `write`.
pub(crate) const WRITE: &[Permission] = &[Permission::Write];
/// What moves labels; which of the two it takes for one, [`quillet_host::definitions`] knows.
pub(crate) const LABEL: &[Permission] = &[Permission::Write, Permission::Promote];

/// The first name in a path, percent-decoded.
pub(crate) async fn name_in(parts: &mut Parts) -> Option<String> {
    let names = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    names.iter().next().map(|(_, name)| name.to_owned())
}
