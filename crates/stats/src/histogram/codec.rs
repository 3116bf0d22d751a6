//! The histogram's encoding, compatible with HdrHistogram's tools: HdrHistogram V2, compressed, in base64.
//!
//! The `hdrhistogram` crate encodes; this file copies counts to and from it. The encoding has no exact minimum,
//! maximum or sum: records store those beside it (`times`).

use super::{HIGHEST, Histogram};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read as _;

/// Longest accepted count array: 16 MiB hold every histogram of five digits. The decoder allocates the announced length
/// before it reads, so an unchecked one would let 40 bytes allocate gigabytes.
const COUNTS_BYTES_MOST: u32 = 1 << 24;
/// Bytes before the compressed part: a cookie and its length.
const OUTER_BYTES: usize = 8;

/// Why a stored histogram cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram is not base64")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not a V2 compressed histogram of 64-bit counts.
    #[error("the histogram is not in the HdrHistogram V2 encoding: {0}")]
    Encoding(String),
}

/// Checks the announced length of the counts: the second number of the compressed part.
fn check_length(bytes: &[u8]) -> Result<(), DecodeError> {
    let compressed = bytes.get(OUTER_BYTES..).unwrap_or_default();
    let mut start = [0; 8];
    ZlibDecoder::new(compressed)
        .read_exact(&mut start)
        .map_err(|error| DecodeError::Encoding(error.to_string()))?;
    let length = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
    if length > COUNTS_BYTES_MOST {
        return Err(DecodeError::Encoding(format!(
            "the encoding announces {length} bytes of counts, more than {COUNTS_BYTES_MOST}"
        )));
    }
    Ok(())
}

impl Histogram {
    /// Encodes the counts (HdrHistogram V2, compressed, base64). An empty histogram has an encoding too.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        // Neither step can fail: the bounds are valid constants, every value is inside them, and writing to a Vec
        // cannot fail.
        if let Ok(mut twin) = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST, 3) {
            for (lowest, _, count) in self.bars() {
                twin.saturating_record_n(lowest, count);
            }
            if V2DeflateSerializer::new().serialize(&twin, &mut bytes).is_err() {
                bytes.clear();
            }
        }
        STANDARD.encode(bytes)
    }

    /// Decodes the output of [`Histogram::to_base64`] or of any HdrHistogram tool. Minimum, maximum and sum are only as
    /// precise as a cell.
    ///
    /// # Errors
    /// [`DecodeError`] when the text is not such an encoding; never panics on any input.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        let bytes = STANDARD.decode(text)?;
        check_length(&bytes)?;
        let twin: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| DecodeError::Encoding(error.to_string()))?;
        let mut histogram = Histogram::new();
        for bar in twin.iter_recorded() {
            if histogram.count().checked_add(bar.count_at_value()).is_none() {
                return Err(DecodeError::Encoding("the sum of its counts overflows 64 bits".to_owned()));
            }
            histogram.record_n(twin.lowest_equivalent(bar.value_iterated_to()), bar.count_at_value());
        }
        Ok(histogram)
    }

    /// Restores the exact minimum, maximum and sum, which the encoding does not contain. Ignores values outside the
    /// cells in use.
    pub fn with_exact(mut self, min: u64, max: u64, sum: u128) -> Self {
        let fits = |exact: u64, cell_value: u64| {
            super::cell_of(exact.min(HIGHEST)) == super::cell_of(cell_value.min(HIGHEST))
        };
        if self.count > 0 && min <= max && fits(min, self.min) && fits(max, self.max) {
            (self.min, self.max, self.sum) = (min, max, sum);
        }
        self
    }
}
