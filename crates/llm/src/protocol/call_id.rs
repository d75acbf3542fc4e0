//! Replacement for call ids that a provider would reject because another provider created them.

/// Returns a digest of an id. It is deterministic, so a call and its result still match, and the
/// beginning of the conversation stays byte-for-byte the same, as prompt caches require.
pub(crate) fn digest(id: &str, length: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // 128-bit FNV-1a, which is not cryptographic but makes collisions within a conversation
    // unlikely.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in id.bytes() {
        hash ^= u128::from(byte);
        hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let digit = |_| {
        let digit = DIGITS.get((hash % 36) as usize).copied().unwrap_or(b'0');
        hash /= 36;
        char::from(digit)
    };
    (0..length).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_stable_and_differ() {
        assert_eq!(digest("a", 9).len(), 9);
        assert_eq!(digest("toolu_1", 24), digest("toolu_1", 24));
        assert_ne!(digest("toolu_1", 9), digest("toolu_2", 9));
        assert!(
            digest("", 24)
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );
    }
}
