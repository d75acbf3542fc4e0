//! What a set of sources can touch.

use crate::Source;
use crate::reference::References;

use super::template::Compiled;

pub(super) fn find(_compiled: &Compiled, _sources: &[Source<'_>]) -> References {
    References::default()
}
