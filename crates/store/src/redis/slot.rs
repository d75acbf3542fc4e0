//! Hash slots of keys in a Redis Cluster (see the cluster specification).

/// Number of slots in every cluster.
pub(crate) const SLOTS: usize = 16384;

/// Returns the slot of a key: the CRC16 of its hash tag (the text in the first `{…}`, unless it is
/// empty) or of the whole key.
pub(crate) fn slot(key: &[u8]) -> usize {
    usize::from(crc16(hash_tag(key).unwrap_or(key))) % SLOTS
}

fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let tag = key.get(open + 1..)?;
    let close = tag.iter().position(|byte| *byte == b'}')?;
    tag.get(..close).filter(|tag| !tag.is_empty())
}

/// CRC-16/XMODEM checksum.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_the_specification_says() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot(b"{user1000}.following"), slot(b"user1000"));
        assert_eq!(
            slot(b"foo{}{bar}"),
            usize::from(crc16(b"foo{}{bar}")) % SLOTS
        );
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
        assert_eq!(slot(b"foo"), 12182);
    }
}
