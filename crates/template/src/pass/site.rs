//! Location of a call.

use smallvec::SmallVec;

/// Location of a call: the enclosing loop iterations, macro calls and includes, followed by the
/// position in the source. Empty for formats that do not report it.
pub(super) type Site = SmallVec<[usize; 8]>;
