//! Base64, base32 and checksums.

use super::super::{FunctionContext, FunctionError, GoFunction, GoType, GoValue};
use super::{args, cost};

type FnResult = Result<GoValue, FunctionError>;

const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("b64enc", &[STRING], base64_encode),
    GoFunction::new("b64dec", &[STRING], base64_decode),
    GoFunction::new("b32enc", &[STRING], base32_encode),
    GoFunction::new("b32dec", &[STRING], base32_decode),
    GoFunction::new("sha1sum", &[STRING], sha1),
    GoFunction::new("sha256sum", &[STRING], sha256),
    GoFunction::new("sha512sum", &[STRING], sha512),
    GoFunction::new("adler32sum", &[STRING], adler32),
];

/// An encoding with `bits` bits per letter. A group of `group` letters encodes whole bytes.
struct BaseEncoding {
    name: &'static str,
    alphabet: &'static [u8],
    bits: u32,
    group: usize,
}

const BASE64: BaseEncoding = BaseEncoding {
    name: "base64",
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    group: 4,
};

const BASE32: BaseEncoding = BaseEncoding {
    name: "base32",
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    bits: 5,
    group: 8,
};

impl BaseEncoding {
    fn encode(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() * 2);
        let (mut held, mut bits) = (0_u32, 0);
        for &byte in bytes {
            held = (held << 8 | u32::from(byte)) & 0xffff;
            bits += 8;
            while bits >= self.bits {
                bits -= self.bits;
                out.push(self.letter(held >> bits));
            }
        }
        if bits > 0 {
            out.push(self.letter(held << (self.bits - bits)));
        }
        out.resize(out.len().next_multiple_of(self.group), b'=');
        out
    }

    fn letter(&self, value: u32) -> u8 {
        let mask = (1 << self.bits) - 1;
        self.alphabet[(value & mask) as usize]
    }

    /// Decodes a text to bytes. The error is the offset of the first invalid letter. As in Go, line
    /// endings are skipped.
    fn decode(&self, text: &[u8]) -> Result<Vec<u8>, usize> {
        let letters: Vec<(usize, u8)> = text
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'))
            .collect();
        let padding = letters.iter().position(|(_, byte)| *byte == b'=');
        let (data, padded) = letters.split_at(padding.unwrap_or(letters.len()));
        let mut out = Vec::with_capacity(text.len());
        let (mut held, mut bits) = (0_u32, 0);
        for &(at, byte) in data {
            let value = self.alphabet.iter().position(|letter| *letter == byte);
            let value = value.ok_or(at)? as u32;
            held = (held << self.bits | value) & 0xffff;
            bits += self.bits;
            if bits >= 8 {
                bits -= 8;
                out.push((held >> bits) as u8);
            }
        }
        self.check_end(text, data, padded)?;
        Ok(out)
    }

    fn check_end(
        &self,
        text: &[u8],
        data: &[(usize, u8)],
        padded: &[(usize, u8)],
    ) -> Result<(), usize> {
        let open = data.len() % self.group;
        let Some(&(first, _)) = padded.first() else {
            // Go reports the start of the incomplete group.
            let start = data.len() - open;
            return match data.get(start) {
                Some(&(at, _)) => Err(at),
                None => Ok(()),
            };
        };
        // The remaining bits are less than a byte.
        if (open as u32 * self.bits) < 8 {
            return Err(first);
        }
        let wanted = self.group - open;
        let pads = padded.iter().take(wanted);
        let pads = pads.take_while(|(_, byte)| *byte == b'=').count();
        match (pads < wanted, padded.get(pads)) {
            (true, None) => Err(text.len()),
            (true, Some(_)) => Err(padded[pads - 1].0),
            (false, Some(&(trailing, _))) => Err(trailing),
            (false, None) => Ok(()),
        }
    }
}

fn encode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue], base: &BaseEncoding) -> FnResult {
    let bytes = args::text(args, 0);
    cost::build_many(cx, bytes.len() + base.group, 2)?;
    Ok(base.encode(bytes).into())
}

/// Decodes a text. Like Sprig, it returns an error message as the result.
fn decode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue], base: &BaseEncoding) -> FnResult {
    let text = args::text(args, 0);
    // Each letter is stored with its offset.
    cost::build_many(cx, text.len(), size_of::<(usize, u8)>())?;
    Ok(match base.decode(text) {
        Ok(bytes) => bytes.into(),
        Err(at) => format!("illegal {} data at input byte {at}", base.name).into(),
    })
}

fn base64_encode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    encode(cx, args, &BASE64)
}

fn base64_decode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    decode(cx, args, &BASE64)
}

fn base32_encode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    encode(cx, args, &BASE32)
}

fn base32_decode(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    decode(cx, args, &BASE32)
}

fn hex(digest: &[u8]) -> GoValue {
    let digit = |value: u8| char::from_digit(value.into(), 16);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(digit).collect::<String>().into()
}

/// Returns the bytes to digest. A digest costs about as much as four searches.
fn digested<'a>(
    cx: &mut FunctionContext<'_, '_>,
    args: &'a [GoValue],
) -> Result<&'a [u8], FunctionError> {
    let bytes = args::text(args, 0);
    cost::scan(cx, bytes.len().saturating_mul(4))?;
    Ok(bytes)
}

fn sha1(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let bytes = digested(cx, args)?;
    Ok(hex(&sha1_smol::Sha1::from(bytes).digest().bytes()))
}

fn sha256(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let bytes = digested(cx, args)?;
    Ok(hex(&hmac_sha256::Hash::hash(bytes)))
}

fn sha512(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let bytes = digested(cx, args)?;
    Ok(hex(&hmac_sha512::Hash::hash(bytes)))
}

fn adler32(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let bytes = digested(cx, args)?;
    let (mut a, mut b) = (1_u32, 0_u32);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65521;
        b = (b + a) % 65521;
    }
    Ok((b << 16 | a).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_bytes_go_both_ways() {
        // These are the test vectors of RFC 4648, section 10.
        let cases = [
            ("", "", ""),
            ("f", "Zg==", "MY======"),
            ("fo", "Zm8=", "MZXQ===="),
            ("foo", "Zm9v", "MZXW6==="),
            ("foob", "Zm9vYg==", "MZXW6YQ="),
            ("fooba", "Zm9vYmE=", "MZXW6YTB"),
            ("foobar", "Zm9vYmFy", "MZXW6YTBOI======"),
        ];
        for (plain, base64, base32) in cases {
            assert_eq!(BASE64.encode(plain.as_bytes()), base64.as_bytes());
            assert_eq!(BASE32.encode(plain.as_bytes()), base32.as_bytes());
            assert_eq!(BASE64.decode(base64.as_bytes()), Ok(plain.into()));
            assert_eq!(BASE32.decode(base32.as_bytes()), Ok(plain.into()));
        }
    }

    #[test]
    fn errors_point_where_go_points() {
        let cases = [
            ("Zm9v!", 4),
            ("Zm9vYg", 4),
            ("Zg=x", 2),
            ("Zg=", 3),
            ("Zg==x", 4),
            ("Z===", 1),
        ];
        for (text, at) in cases {
            assert_eq!(BASE64.decode(text.as_bytes()), Err(at), "{text}");
        }
        assert_eq!(BASE64.decode(b"Zm9v\r\nYg=\n="), Ok(b"foob".to_vec()));
    }
}
