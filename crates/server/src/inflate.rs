//! Gzip request bodies, inflated on demand.
//!
//! The reader of a body limits its inflated size. A small body that would inflate to a huge one is
//! therefore inflated only up to that limit.

use std::io::Write;
use std::mem;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use bytes::Buf;
use flate2::write::MultiGzDecoder;
use futures_util::stream;
use http_body_util::BodyExt;

/// The maximum number of compressed bytes in excess of the inflated size, for headers and for data
/// that waits for output. Without this limit an endless body could inflate to nothing.
const MOST_BEYOND: usize = 128 << 10;

/// A gzip body that is being inflated.
struct GunzipBody<B> {
    body: B,
    decoder: MultiGzDecoder<Vec<u8>>,
    /// Received bytes that are not inflated yet.
    piece: Bytes,
    taken: usize,
    given: usize,
}

/// Returns the inflated body.
pub(crate) fn inflate_body<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let inflating = GunzipBody {
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

impl<B> GunzipBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    /// Returns the next chunk, with the decoder if more may follow.
    async fn next(mut self) -> Result<Option<(Bytes, Option<Self>)>, BoxError> {
        loop {
            if self.piece.is_empty() {
                let Some(frame) = self.body.frame().await else {
                    return self.end();
                };
                self.piece = frame.map_err(Into::into)?.into_data().unwrap_or_default();
                continue;
            }
            // One write produces at most 32 KiB.
            let read = self
                .decoder
                .write(&self.piece)
                .map_err(|error| unreadable(&error))?;
            self.piece.advance(read);
            self.taken += read;
            let piece = mem::take(self.decoder.get_mut());
            self.given += piece.len();
            if self.taken > self.given + MOST_BEYOND {
                return Err("the gzip data does not inflate to any content".into());
            }
            if !piece.is_empty() {
                // Yield so that a large body does not block other tasks.
                tokio::task::yield_now().await;
                return Ok(Some((piece.into(), Some(self))));
            }
        }
    }

    fn end(mut self) -> Result<Option<(Bytes, Option<Self>)>, BoxError> {
        // Requests without a body may also send Content-Encoding.
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
    format!("invalid gzip data: {error}").into()
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

    /// Returns a body in chunks of this size.
    fn pieces(bytes: &[u8], size: usize) -> Body {
        let pieces: Vec<Result<Bytes, BoxError>> = bytes
            .chunks(size)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        Body::from_stream(stream::iter(pieces))
    }

    async fn read(body: Body, most: usize) -> Result<Bytes, String> {
        let read = body::read(inflate_body(body), most, Duration::from_secs(60)).await;
        read.map_err(|error| error.message().to_owned())
    }

    #[tokio::test]
    async fn a_body_is_the_same_in_whatever_pieces_it_comes() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let [one, two] = [&text[..100_000], &text[100_000..]].map(gzip);
        for (sent, expected) in [
            (gzip(&text), &text[..]),
            // Several gzip members decompress to one text.
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
        // This header is followed by an endless sequence of empty blocks.
        let header = &whole[..10];
        let nothing = [header, &[0, 0, 0, 0xFF, 0xFF].repeat(100_000)].concat();
        for (sent, part) in [
            (zeros, "the limit on body_bytes (5000)"),
            (gzip(&[7; 5001]), "the limit on body_bytes (5000)"),
            (whole[..whole.len() - 9].to_vec(), "invalid gzip data"),
            (whole[..5].to_vec(), "invalid gzip data"),
            (wrong_sum, "invalid gzip data"),
            ([whole, b"more".to_vec()].concat(), "invalid gzip data"),
            (b"{\"variables\":{}}".to_vec(), "invalid gzip data"),
            (nothing, "the gzip data does not inflate to any content"),
        ] {
            for size in [1000, usize::MAX] {
                let error = read(pieces(&sent, size), 5000).await.unwrap_err();
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }
}
