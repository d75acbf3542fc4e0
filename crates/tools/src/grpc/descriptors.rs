//! Descriptor sets that are read from files and definitions.

use std::path::Path;

use prost_reflect::DescriptorPool;

/// What servers say of their methods.
pub(crate) type Descriptors = DescriptorPool;

/// Reads a descriptor set.
///
/// # Errors
/// The sentence that says why not.
pub(crate) fn descriptors_in_file(path: &Path) -> Result<DescriptorPool, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    descriptors(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a descriptor set.
///
/// # Errors
/// The sentence that says why not, and the fix.
pub(super) fn descriptors(bytes: &[u8]) -> Result<DescriptorPool, String> {
    DescriptorPool::decode(bytes).map_err(|error| {
        format!("not a descriptor set: {error} (make one with protoc --include_imports --descriptor_set_out)")
    })
}
