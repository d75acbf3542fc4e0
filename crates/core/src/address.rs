//! Classifies IP addresses and host names with static tables, without any lookup.
//!
//! Each client decides which connections it allows. All of them must recognize cloud metadata
//! services, which hand out credentials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an IP address, as connection rules distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Reachable from the internet.
    Public,
    /// The local machine.
    Loopback,
    /// Private networks, shared address space, unique local and site-local addresses, and
    /// benchmarking blocks.
    Private,
    /// Reachable on the local link only. Clouds put their metadata services here.
    LinkLocal,
    /// A cloud metadata service outside the link-local range.
    Metadata,
    /// "This host", which most systems treat as loopback.
    Unspecified,
    /// Multicast.
    Multicast,
    /// Ranges for documentation or protocols, and unassigned ranges. They contain no reachable
    /// hosts.
    Reserved,
}

impl AddressClass {
    /// Returns the class of an address. IPv4 addresses inside IPv6 addresses (mapped, compatible,
    /// NAT64, 6to4) are classified as the IPv4 address.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::address::AddressClass;
    ///
    /// let class = |ip: &str| AddressClass::of(ip.parse().unwrap());
    /// assert_eq!(class("8.8.8.8"), AddressClass::Public);
    /// assert_eq!(class("169.254.169.254"), AddressClass::LinkLocal);
    /// assert_eq!(class("::ffff:127.0.0.1"), AddressClass::Loopback);
    /// ```
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => {
                embedded_v4(address).map_or_else(|| Self::of_v6(address), Self::of_v4)
            }
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let bits = address.to_bits();
        let block = V4.iter().find(|block| block.contains(bits));
        block.map_or(Self::Public, |block| block.class)
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let bits = address.to_bits();
        let block = V6.iter().find(|block| block.contains(bits));
        // Only assigned space is routed (RFC 4291), so everything outside the table is reserved.
        block.map_or(Self::Reserved, |block| block.class)
    }

    /// Display name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

/// A range of addresses of one class.
struct AddressBlock<T> {
    first: T,
    last: T,
    class: AddressClass,
    /// The document that defines the range, for readers of the table.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers, and for the tests")
    )]
    source: &'static str,
}

impl<T: PartialOrd + Copy> AddressBlock<T> {
    fn contains(&self, address: T) -> bool {
        self.first <= address && address <= self.last
    }
}

const fn v4(
    [a, b, c, d]: [u8; 4],
    bits: u32,
    class: AddressClass,
    source: &'static str,
) -> AddressBlock<u32> {
    let first = Ipv4Addr::new(a, b, c, d).to_bits();
    AddressBlock {
        first,
        // `unbounded_shr` by the full width returns 0, where `>>` would overflow.
        last: first | u32::MAX.unbounded_shr(bits),
        class,
        source,
    }
}

const fn v6(
    [a, b, c, d, e, f, g, h]: [u16; 8],
    bits: u32,
    class: AddressClass,
    source: &'static str,
) -> AddressBlock<u128> {
    let first = Ipv6Addr::new(a, b, c, d, e, f, g, h).to_bits();
    AddressBlock {
        first,
        // As for IPv4, `>>` by the full width would overflow.
        last: first | u128::MAX.unbounded_shr(bits),
        class,
        source,
    }
}

// Imported below the functions, because only the tables use the short names.
use AddressClass::{
    LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Unspecified,
};

/// IANA's special-purpose and multicast addresses of IPv4, and cloud metadata services. The first
/// match wins, so a block precedes any larger block that contains it. Addresses in no block are
/// public.
///
/// Blocks for benchmarking count as private, because programs that tunnel traffic use their
/// addresses as placeholders for names.
const V4: [AddressBlock<u32>; 24] = [
    v4([100, 100, 100, 200], 32, Metadata, "Alibaba Cloud"),
    v4([192, 0, 0, 192], 32, Metadata, "Oracle Cloud"),
    v4([168, 63, 129, 16], 32, Metadata, "Azure"),
    v4([0, 0, 0, 0], 8, Unspecified, "RFC 791"),
    v4([10, 0, 0, 0], 8, Private, "RFC 1918"),
    v4([100, 64, 0, 0], 10, Private, "RFC 6598"),
    v4([127, 0, 0, 0], 8, Loopback, "RFC 1122"),
    v4([169, 254, 0, 0], 16, LinkLocal, "RFC 3927"),
    v4([172, 16, 0, 0], 12, Private, "RFC 1918"),
    v4([192, 0, 0, 9], 32, Public, "RFC 7723"),
    v4([192, 0, 0, 10], 32, Public, "RFC 8155"),
    v4([192, 0, 0, 0], 24, Reserved, "RFC 6890"),
    v4([192, 0, 2, 0], 24, Reserved, "RFC 5737"),
    v4([192, 31, 196, 0], 24, Public, "RFC 7535"),
    v4([192, 52, 193, 0], 24, Public, "RFC 7450"),
    v4([192, 88, 99, 0], 24, Reserved, "RFC 7526"),
    v4([192, 168, 0, 0], 16, Private, "RFC 1918"),
    v4([192, 175, 48, 0], 24, Public, "RFC 7534"),
    v4([198, 18, 0, 0], 15, Private, "RFC 2544"),
    v4([198, 51, 100, 0], 24, Reserved, "RFC 5737"),
    v4([203, 0, 113, 0], 24, Reserved, "RFC 5737"),
    v4([224, 0, 0, 0], 4, Multicast, "RFC 5771"),
    v4([255, 255, 255, 255], 32, Reserved, "RFC 8190"),
    v4([240, 0, 0, 0], 4, Reserved, "RFC 1112"),
];

/// Like [`V4`], but for IPv6, and including the assigned space (`2000::/3`). Addresses in no block
/// are reserved. Addresses that contain an IPv4 address are classified before this table is used.
const V6: [AddressBlock<u128>; 26] = [
    v6(
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
        128,
        Metadata,
        "Amazon",
    ),
    v6(
        [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
        128,
        Metadata,
        "Google",
    ),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Unspecified, "RFC 4291"),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Loopback, "RFC 4291"),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Reserved, "RFC 8215"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, Reserved, "RFC 6666"),
    v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64, Reserved, "RFC 9780"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Reserved, "RFC 4380"),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 1], 128, Public, "RFC 7723"),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 2], 128, Public, "RFC 8155"),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 3], 128, Public, "RFC 9665"),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, Private, "RFC 5180"),
    v6([0x2001, 3, 0, 0, 0, 0, 0, 0], 32, Public, "RFC 7450"),
    v6([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48, Public, "RFC 7535"),
    v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28, Reserved, "RFC 4843"),
    v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, Public, "RFC 7343"),
    v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28, Public, "RFC 9374"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Reserved, "RFC 2928"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Reserved, "RFC 3849"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Reserved, "RFC 9637"),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, Reserved, "RFC 9602"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Private, "RFC 4193"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LinkLocal, "RFC 4291"),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Private, "RFC 3879"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Multicast, "RFC 4291"),
    v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, Public, "RFC 4291"),
];

/// Returns the IPv4 address inside an IPv6 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let pair = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // `::` and `::1` look like IPv4-compatible addresses, but are not.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // IPv4-mapped and IPv4-compatible addresses (RFC 4291), and IPv4-translated addresses (RFC
        // 7915).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            pair(high, low)
        }
        // NAT64 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => pair(high, low),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => pair(high, low),
        _ => None,
    }
}

/// Whether the host name is that of a cloud metadata service. Inside the cloud, such a name
/// resolves to a link-local address.
///
/// # Examples
///
/// ```
/// use quillet_core::address::is_metadata_name;
///
/// assert!(is_metadata_name("Metadata.Google.Internal."));
/// assert!(!is_metadata_name("example.com"));
/// ```
#[must_use]
pub fn is_metadata_name(host: &str) -> bool {
    // DNS ignores case and a final dot, so this comparison must ignore them too.
    let plain = host.trim_end_matches('.').to_ascii_lowercase();
    matches!(
        plain.as_str(),
        "metadata.google.internal" | "metadata.goog" | "instance-data"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        use AddressClass::*;
        let cases = [
            ("8.8.8.8", Public),
            ("127.0.0.1", Loopback),
            ("127.9.9.9", Loopback),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("10.0.0.1", Private),
            ("172.15.0.1", Public),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("100.100.100.200", Metadata),
            ("168.63.129.16", Metadata),
            ("169.254.169.254", LinkLocal),
            ("224.0.0.1", Multicast),
            ("255.255.255.255", Reserved),
            ("::", Unspecified),
            ("::1", Loopback),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:169.254.169.254", LinkLocal),
            ("::7f00:1", Loopback),
            ("64:ff9b::a9fe:a9fe", LinkLocal),
            ("2002:7f00:1::", Loopback),
            ("fe80::1", LinkLocal),
            ("fd00:ec2::254", Metadata),
            ("fd20:ce::254", Metadata),
            ("fd12:3456::1", Private),
            ("ff02::1", Multicast),
            ("2606:4700::1111", Public),
        ];
        for (text, class) in cases {
            assert_eq!(AddressClass::of(text.parse().unwrap()), class, "{text}");
        }
    }

    /// A block; the class of its first, middle and last addresses; the class of the address before
    /// it; the class of the address after it.
    type Row = (&'static str, AddressClass, AddressClass, AddressClass);

    #[test]
    fn every_block_of_the_registries_has_its_class_and_ends_where_it_ends() {
        use AddressClass::*;
        // The expected values are copied from
        // https://www.iana.org/assignments/iana-ipv4-special-registry and
        // iana-ipv6-special-registry, independently of the tables under test.
        let rows: [Row; 43] = [
            ("0.0.0.0/8", Unspecified, Reserved, Public),
            ("10.0.0.0/8", Private, Public, Public),
            ("100.64.0.0/10", Private, Public, Public),
            ("127.0.0.0/8", Loopback, Public, Public),
            ("169.254.0.0/16", LinkLocal, Public, Public),
            ("172.16.0.0/12", Private, Public, Public),
            ("192.0.0.0/29", Reserved, Public, Reserved),
            ("192.0.0.8/32", Reserved, Reserved, Public),
            ("192.0.0.9/32", Public, Reserved, Public),
            ("192.0.0.10/32", Public, Public, Reserved),
            ("192.0.0.170/31", Reserved, Reserved, Reserved),
            ("192.0.0.0/24", Reserved, Public, Public),
            ("192.0.2.0/24", Reserved, Public, Public),
            ("192.31.196.0/24", Public, Public, Public),
            ("192.52.193.0/24", Public, Public, Public),
            ("192.88.99.0/24", Reserved, Public, Public),
            ("192.168.0.0/16", Private, Public, Public),
            ("192.175.48.0/24", Public, Public, Public),
            ("198.18.0.0/15", Private, Public, Public),
            ("198.51.100.0/24", Reserved, Public, Public),
            ("203.0.113.0/24", Reserved, Public, Public),
            ("224.0.0.0/4", Multicast, Public, Reserved),
            ("240.0.0.0/4", Reserved, Multicast, Unspecified),
            ("64:ff9b:1::/48", Reserved, Reserved, Reserved),
            ("100::/64", Reserved, Reserved, Reserved),
            ("100:0:0:1::/64", Reserved, Reserved, Reserved),
            ("2000::/16", Public, Reserved, Reserved),
            ("2001::/32", Reserved, Public, Reserved),
            ("2001:1::1/128", Public, Reserved, Public),
            ("2001:1::3/128", Public, Public, Reserved),
            ("2001:2::/48", Private, Reserved, Reserved),
            ("2001:3::/32", Public, Reserved, Reserved),
            ("2001:4:112::/48", Public, Reserved, Reserved),
            ("2001:10::/28", Reserved, Reserved, Public),
            ("2001:20::/27", Public, Reserved, Reserved),
            ("2001:db8::/32", Reserved, Public, Public),
            ("2620:4f:8000::/48", Public, Public, Public),
            ("3fff::/20", Reserved, Public, Public),
            ("5f00::/16", Reserved, Reserved, Reserved),
            ("fc00::/7", Private, Reserved, Reserved),
            ("fe80::/10", LinkLocal, Reserved, Private),
            ("fec0::/10", Private, LinkLocal, Multicast),
            ("ff00::/8", Multicast, Private, Unspecified),
        ];
        for (block, class, before, after) in rows {
            let (network, bits) = block.split_once('/').unwrap();
            let bits: u32 = bits.parse().unwrap();
            let class_at = |offset: Offset| match network.parse().unwrap() {
                IpAddr::V4(first) => {
                    let size = u32::MAX.unbounded_shr(bits);
                    let bits = match offset {
                        Offset::Before => first.to_bits().wrapping_sub(1),
                        Offset::Part(part) => first.to_bits() + size / 4 * part,
                        Offset::Last => first.to_bits() + size,
                        Offset::After => (first.to_bits() + size).wrapping_add(1),
                    };
                    AddressClass::of(Ipv4Addr::from_bits(bits).into())
                }
                IpAddr::V6(first) => {
                    let size = u128::MAX.unbounded_shr(bits);
                    let bits = match offset {
                        Offset::Before => first.to_bits().wrapping_sub(1),
                        Offset::Part(part) => first.to_bits() + size / 4 * u128::from(part),
                        Offset::Last => first.to_bits() + size,
                        Offset::After => (first.to_bits() + size).wrapping_add(1),
                    };
                    AddressClass::of(Ipv6Addr::from_bits(bits).into())
                }
            };
            for inside in [
                Offset::Part(0),
                Offset::Part(1),
                Offset::Part(3),
                Offset::Last,
            ] {
                assert_eq!(class_at(inside), class, "{inside:?} of {block}");
            }
            assert_eq!(class_at(Offset::Before), before, "before {block}");
            assert_eq!(class_at(Offset::After), after, "after {block}");
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Offset {
        Before,
        /// Position within the block, in quarters of its size.
        Part(u32),
        Last,
        After,
    }

    #[test]
    fn an_address_that_carries_another_is_what_it_carries() {
        use AddressClass::*;
        for (v4, class) in [
            ("8.8.8.8", Public),
            ("10.1.2.3", Private),
            ("127.0.0.1", Loopback),
            ("169.254.169.254", LinkLocal),
            ("192.0.2.7", Reserved),
            ("198.18.0.1", Private),
            ("100.100.100.200", Metadata),
        ] {
            let [a, b, c, d] = v4.parse::<Ipv4Addr>().unwrap().octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for text in [
                format!("::ffff:{v4}"),
                format!("::{v4}"),
                format!("::ffff:0:{v4}"),
                format!("64:ff9b::{v4}"),
                format!("2002:{high:x}:{low:x}::1"),
            ] {
                let address = text.parse().unwrap();
                assert_eq!(AddressClass::of(address), class, "{text}");
            }
        }
    }

    #[test]
    fn a_block_stands_before_those_that_it_lies_in() {
        fn check<T: PartialOrd + Copy>(blocks: &[AddressBlock<T>]) {
            for (place, block) in blocks.iter().enumerate() {
                let hidden = blocks[..place]
                    .iter()
                    .find(|earlier| earlier.contains(block.first) && earlier.contains(block.last));
                let hidden = hidden.map(|earlier| earlier.source);
                assert_eq!(hidden, None, "row {place}, {}", block.source);
                assert!(!block.source.is_empty());
            }
        }
        check(&V4);
        check(&V6);
    }
}
