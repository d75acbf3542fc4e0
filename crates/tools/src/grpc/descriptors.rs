//! Reads descriptor sets from files and definitions.

use std::path::Path;

use prost_reflect::DescriptorPool;

/// Descriptors of the methods of a server.
pub(crate) type Descriptors = DescriptorPool;

/// Reads a descriptor set from a file.
///
/// # Errors
/// A sentence that describes the problem.
pub(crate) fn descriptors_in_file(path: &Path) -> Result<DescriptorPool, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    descriptors(&bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Decodes a descriptor set.
///
/// # Errors
/// A sentence that describes the problem and its fix.
pub(super) fn descriptors(bytes: &[u8]) -> Result<DescriptorPool, String> {
    DescriptorPool::decode(bytes).map_err(|error| {
        format!("not a descriptor set: {error} (make one with protoc --include_imports --descriptor_set_out)")
    })
}
