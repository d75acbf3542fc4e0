//! A minimal protobuf reader for spans. The protobuf crates belong to the gRPC feature, and this
//! route must work without it.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ProtoField<'b> {
    /// A number of any type, as its bits.
    Number(u64),
    /// A string, bytes or a message.
    Bytes(&'b [u8]),
}

/// Iterates over the fields of a message. Ends with an error if the message is truncated or
/// invalid.
pub(super) struct ProtoReader<'b>(&'b [u8]);

/// The bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("invalid protobuf message")]
pub(super) struct ProtoDecodeError;

impl<'b> ProtoReader<'b> {
    /// Creates a reader for the fields of a message.
    pub(super) fn of(message: &'b [u8]) -> Self {
        ProtoReader(message)
    }

    fn varint(&mut self) -> Result<u64, ProtoDecodeError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or(ProtoDecodeError)?;
            self.0 = rest;
            value |= u64::from(first & 0x7F) << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtoDecodeError)
    }

    fn take(&mut self, length: u64) -> Result<&'b [u8], ProtoDecodeError> {
        let length = usize::try_from(length).map_err(|_| ProtoDecodeError)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ProtoDecodeError)?;
        self.0 = rest;
        Ok(taken)
    }

    fn little_endian(&mut self, length: u64) -> Result<u64, ProtoDecodeError> {
        let bytes = self.take(length)?.iter().rev();
        Ok(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn read(&mut self) -> Result<(u64, ProtoField<'b>), ProtoDecodeError> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => ProtoField::Number(self.varint()?),
            1 => ProtoField::Number(self.little_endian(8)?),
            2 => {
                let length = self.varint()?;
                ProtoField::Bytes(self.take(length)?)
            }
            5 => ProtoField::Number(self.little_endian(4)?),
            _ => return Err(ProtoDecodeError),
        };
        Ok((tag >> 3, field))
    }
}

impl<'b> Iterator for ProtoReader<'b> {
    type Item = Result<(u64, ProtoField<'b>), ProtoDecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.0 = &[];
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_cut_ones_are_not() {
        // 1: 150, 2: "testing", 3: fixed64 1, 4: fixed32 2
        let message = b"\x08\x96\x01\x12\x07testing\x19\x01\0\0\0\0\0\0\0\x25\x02\0\0\0";
        let read: Result<Vec<_>, _> = ProtoReader::of(message).collect();
        let expected = vec![
            (1, ProtoField::Number(150)),
            (2, ProtoField::Bytes(b"testing")),
            (3, ProtoField::Number(1)),
            (4, ProtoField::Number(2)),
        ];
        assert_eq!(read, Ok(expected));
        for cut in [1, 2, 4, 11, 13, 20] {
            let read: Result<Vec<_>, _> = ProtoReader::of(&message[..cut]).collect();
            assert_eq!(read, Err(ProtoDecodeError), "{cut}");
        }
        for hostile in [
            &b"\x0b"[..],
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        ] {
            let read: Result<Vec<_>, _> = ProtoReader::of(hostile).collect();
            assert_eq!(read, Err(ProtoDecodeError), "{hostile:?}");
        }
    }
}
