//! Numbers.

use super::bytes::Bytes;

/// Decodes `int2`, `int4` or `int8`, depending on the length.
pub(super) fn integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => Some(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        4 => Some(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        8 => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Decodes `float4` or `float8`. A `float4` becomes the number with its shortest digits: 0.1, not
/// 0.10000000149011612.
pub(super) fn float(bytes: &[u8]) -> Option<f64> {
    match bytes.len() {
        4 => f32::from_be_bytes(bytes.try_into().ok()?)
            .to_string()
            .parse()
            .ok(),
        8 => Some(f64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Decodes a `numeric` with all its digits. The format consists of groups of four decimal digits,
/// the weight of the first group, a sign, and the number of decimal places (`numeric_send` in
/// PostgreSQL).
pub(super) fn numeric(bytes: &[u8]) -> Option<String> {
    let mut bytes = Bytes(bytes);
    let (count, weight) = (bytes.i16()?, i32::from(bytes.i16()?));
    let (sign, scale) = (bytes.i16()? as u16, bytes.i16()?);
    let mut text = String::new();
    match sign {
        0 => {}
        0x4000 => text.push('-'),
        0xC000 => return Some("NaN".to_owned()),
        0xD000 => return Some("Infinity".to_owned()),
        0xF000 => return Some("-Infinity".to_owned()),
        _ => return None,
    }
    let mut groups = Vec::new();
    for _ in 0..usize::try_from(count).ok()? {
        groups.push(bytes.i16()?);
    }
    // The server does not send groups of zeros at either end.
    let group = |place: i32| {
        let index = usize::try_from(weight - place).ok();
        index
            .and_then(|index| groups.get(index))
            .copied()
            .unwrap_or(0)
    };
    text.push_str(&group(weight.max(0)).to_string());
    for place in (0..weight).rev() {
        text.push_str(&format!("{:04}", group(place)));
    }
    let scale = usize::try_from(scale).ok()?;
    if scale > 0 {
        text.push('.');
        let whole = text.len();
        let mut place = -1;
        while text.len() < whole + scale {
            text.push_str(&format!("{:04}", group(place)));
            place -= 1;
        }
        text.truncate(whole + scale);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(weight: i16, sign: u16, scale: i16, groups: &[i16]) -> Vec<u8> {
        let count = i16::try_from(groups.len()).unwrap();
        let mut bytes = Vec::new();
        for field in [count, weight, sign as i16, scale].iter().chain(groups) {
            bytes.extend(field.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn numerics_keep_their_digits() {
        for (weight, sign, scale, groups, text) in [
            (0, 0, 0, &[][..], "0"),
            (0, 0, 2, &[], "0.00"),
            (0, 0, 0, &[7], "7"),
            (1, 0, 0, &[1], "10000"),
            (1, 0x4000, 2, &[12, 3456, 7800], "-123456.78"),
            (-1, 0, 4, &[1], "0.0001"),
            (-2, 0, 8, &[1], "0.00000001"),
            (-1, 0, 5, &[1200], "0.12000"),
            (3, 0, 0, &[1, 0, 5], "1000000050000"),
            (0, 0xC000, 0, &[], "NaN"),
            (0, 0xD000, 0, &[], "Infinity"),
            (0, 0xF000, 0, &[], "-Infinity"),
        ] {
            let bytes = sent(weight, sign, scale, groups);
            assert_eq!(numeric(&bytes).as_deref(), Some(text));
            assert_eq!(numeric(&bytes[..bytes.len() - 1]), None, "{text} cut");
        }
    }

    #[test]
    fn small_floats_stay_short() {
        assert_eq!(float(&0.1_f32.to_be_bytes()), Some(0.1));
        assert_eq!(float(&f32::MIN_POSITIVE.to_be_bytes()), Some(1.1754944e-38));
        assert!(float(&f32::NAN.to_be_bytes()).unwrap().is_nan());
        assert_eq!(
            float(&f32::NEG_INFINITY.to_be_bytes()),
            Some(f64::NEG_INFINITY)
        );
        assert_eq!(integer(&(-2_i16).to_be_bytes()), Some(-2));
        assert_eq!(integer(&[0; 3]), None);
    }
}
