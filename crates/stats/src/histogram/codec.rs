//! The histogram on the wire: HdrHistogram's V2 compressed encoding in base64, as its own tools write and read it.
//!
//! The format is the `hdrhistogram` crate's business; this file only moves counts across. The encoding carries no
//! exact minimum, maximum or sum: whoever stores it stores those beside it (see the record's `times`).

use super::{HIGHEST, Histogram};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read as _;

/// Longest list of counts that is read: sixteen million bytes hold every histogram of five digits. A length is only claimed,
/// and memory is taken for it before it is there.
const COUNTS_BYTES_MOST: u32 = 1 << 24;
/// Bytes before the compressed part: a cookie and its length.
const OUTER_BYTES: usize = 8;

/// Why a stored histogram cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram is not base64")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not a V2 compressed histogram of 64-bit counts.
    #[error("the histogram is not in the HdrHistogram V2 encoding: {0}")]
    Encoding(String),
}

/// Whether the counts have a length that can be meant: the second number of the compressed part.
fn check_length(bytes: &[u8]) -> Result<(), DecodeError> {
    let compressed = bytes.get(OUTER_BYTES..).unwrap_or_default();
    let mut start = [0; 8];
    ZlibDecoder::new(compressed)
        .read_exact(&mut start)
        .map_err(|error| DecodeError::Encoding(error.to_string()))?;
    let length = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
    if length > COUNTS_BYTES_MOST {
        return Err(DecodeError::Encoding(format!("{length} bytes of counts are announced")));
    }
    Ok(())
}

impl Histogram {
    /// Encodes the counts (HdrHistogram V2, compressed, base64). An empty histogram has an encoding too.
    pub fn to_base64(&self) -> String {
        let mut bytes = Vec::new();
        // Neither step can fail: the bounds are valid constants, every value is inside them, a Vec takes every byte.
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

    /// Decodes what [`Histogram::to_base64`], or any HdrHistogram tool, wrote. Minimum, maximum and sum come out to
    /// the resolution of a cell.
    ///
    /// # Errors
    /// [`DecodeError`] when the text is not such an encoding; never panics on foreign bytes.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        let bytes = STANDARD.decode(text)?;
        check_length(&bytes)?;
        let twin: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| DecodeError::Encoding(error.to_string()))?;
        let mut histogram = Histogram::new();
        for bar in twin.iter_recorded() {
            if histogram.count().checked_add(bar.count_at_value()).is_none() {
                return Err(DecodeError::Encoding("its counts add up to more than 64 bits".to_owned()));
            }
            histogram.record_n(twin.lowest_equivalent(bar.value_iterated_to()), bar.count_at_value());
        }
        Ok(histogram)
    }

    /// Puts back the exact minimum, maximum and sum, which the encoding does not carry, from where they were stored
    /// beside it. Values that do not belong to the cells in use are ignored.
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
