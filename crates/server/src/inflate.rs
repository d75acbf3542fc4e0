//! Bodies that come as gzip, inflated while they are read.
//!
//! Whoever reads a body bounds it, in bytes as they are inflated. Nothing is inflated that nobody
//! reads, so of a small body that would become a large one no more is made than its reader's limit.

use std::io::Write;
use std::mem;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use bytes::Buf;
use flate2::write::MultiGzDecoder;
use futures_util::stream;
use http_body_util::BodyExt;

/// Bytes that a body may have beyond those that it becomes: of headers, and of what waits to be
/// given out. A body could go on for ever otherwise, and become nothing.
const MOST_BEYOND: usize = 128 << 10;

/// A body on its way from gzip.
struct Inflating<B> {
    body: B,
    decoder: MultiGzDecoder<Vec<u8>>,
    /// What has come and is not inflated yet.
    piece: Bytes,
    taken: usize,
    given: usize,
}

/// What a body is that comes as gzip.
pub(crate) fn inflated<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let inflating = Inflating {
        body,
        decoder: MultiGzDecoder::new(Vec::new()),
        piece: Bytes::new(),
        taken: 0,
        given: 0,
    };
    Body::from_stream(stream::try_unfold(Some(inflating), |state| async move {
        match state {
            Some(inflating) => inflating.next().await,
            None => Ok(None),
        }
    }))
}

impl<B> Inflating<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    /// The next piece, with itself if there may be more.
    async fn next(mut self) -> Result<Option<(Bytes, Option<Self>)>, BoxError> {
        loop {
            if self.piece.is_empty() {
                let Some(frame) = self.body.frame().await else {
                    return self.end();
                };
                self.piece = frame.map_err(Into::into)?.into_data().unwrap_or_default();
                continue;
            }
            // At most 32 KiB come of one write.
            let read = self
                .decoder
                .write(&self.piece)
                .map_err(|error| unreadable(&error))?;
            self.piece.advance(read);
            self.taken += read;
            let piece = mem::take(self.decoder.get_mut());
            self.given += piece.len();
            if self.taken > self.given + MOST_BEYOND {
                return Err("its gzip becomes nothing".into());
            }
            if !piece.is_empty() {
                // A large body does not keep others from their turn.
                tokio::task::yield_now().await;
                return Ok(Some((piece.into(), Some(self))));
            }
        }
    }

    fn end(mut self) -> Result<Option<(Bytes, Option<Self>)>, BoxError> {
        // Requests without a body may have the header, too.
        if self.taken == 0 {
            return Ok(None);
        }
        self.decoder
            .try_finish()
            .map_err(|error| unreadable(&error))?;
        let rest = mem::take(self.decoder.get_mut());
        Ok((!rest.is_empty()).then(|| (rest.into(), None)))
    }
}

fn unreadable(error: &std::io::Error) -> BoxError {
    format!("its gzip cannot be read: {error}").into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::api::body;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A body that comes in pieces of this size.
    fn pieces(bytes: &[u8], size: usize) -> Body {
        let pieces: Vec<Result<Bytes, BoxError>> = bytes
            .chunks(size)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Body::from_stream(stream::iter(pieces))
    }

    async fn read(body: Body, most: usize) -> Result<Bytes, String> {
        let read = body::read(inflated(body), most, Duration::from_secs(60)).await;
        read.map_err(|error| error.message().to_owned())
    }

    #[tokio::test]
    async fn a_body_is_the_same_in_whatever_pieces_it_comes() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let [one, two] = [&text[..100_000], &text[100_000..]].map(gzip);
        for (sent, expected) in [
            (gzip(&text), &text[..]),
            // Several members are one text.
            ([one, two].concat(), &text),
            (gzip(b""), b""),
            (Vec::new(), b""),
        ] {
            for size in [1, 7, 4096, usize::MAX] {
                let read = read(pieces(&sent, size), text.len()).await;
                assert!(read.as_deref() == Ok(expected), "{} {size}", sent.len());
            }
        }
    }

    #[tokio::test]
    async fn what_is_too_large_or_no_gzip_is_refused() {
        let zeros = gzip(&vec![0; 64 << 20]);
        assert!(zeros.len() < 70_000, "{}", zeros.len());
        let whole = gzip(&[7; 5000]);
        let mut wrong_sum = whole.clone();
        let sum = wrong_sum.len() - 8;
        wrong_sum[sum] ^= 1;
        // Blocks without any bytes, for ever.
        let header = &whole[..10];
        let nothing = [header, &[0, 0, 0, 0xFF, 0xFF].repeat(100_000)].concat();
        for (sent, part) in [
            (zeros, "the limit on body_bytes (5000)"),
            (gzip(&[7; 5001]), "the limit on body_bytes (5000)"),
            (whole[..whole.len() - 9].to_vec(), "its gzip cannot be read"),
            (whole[..5].to_vec(), "its gzip cannot be read"),
            (wrong_sum, "its gzip cannot be read"),
            (
                [whole, b"more".to_vec()].concat(),
                "its gzip cannot be read",
            ),
            (b"{\"variables\":{}}".to_vec(), "its gzip cannot be read"),
            (nothing, "its gzip becomes nothing"),
        ] {
            for size in [1000, usize::MAX] {
                let error = read(pieces(&sent, size), 5000).await.unwrap_err();
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }
}
