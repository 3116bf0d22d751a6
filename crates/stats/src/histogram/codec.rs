//! The histogram's encoding, which HdrHistogram's tools read: HdrHistogram V2, compressed, in base64.
//!
//! Format: `V2` in HdrHistogram's Java source (`AbstractHistogram.encodeIntoByteBuffer`, `ZigZagEncoding`). A header,
//! then one number for each count from the first cell to the highest in use; a negative number is a run of empty cells.
//! It is implemented here, and tested against the `hdrhistogram` crate, because a run encodes dozens of histograms when
//! it ends: a copy of each in another library's type doubled that time. The encoding has no exact minimum, maximum or
//! sum: records store those beside it (`times`).

use super::{HIGHEST, Histogram};
use crate::counted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read as _, Write as _};

/// The first four bytes of a V2 histogram, with the number format of this file (`0x10`).
const COOKIE: u32 = 0x1c84_9313;
/// The first four bytes of a compressed one.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Bytes before the compressed part: the cookie and the length of that part.
const OUTER_BYTES: usize = 8;
/// Bytes before the counts: cookie, length of the counts, offset, digits, lowest and highest value, ratio.
const HEADER_BYTES: usize = 40;
/// Longest accepted array of counts: 16 MiB hold every histogram of five digits.
const MAX_COUNTS_BYTES: u32 = 1 << 24;
/// Significant decimal digits of [`Histogram`].
const DIGITS: u32 = 3;
/// Most bytes of a number; the last one has eight bits of it, the others seven.
const NUMBER_BYTES: usize = 9;

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

fn invalid<T>(reason: impl Into<String>) -> Result<T, DecodeError> {
    Err(DecodeError::Encoding(reason.into()))
}

impl Histogram {
    /// Encodes the counts (HdrHistogram V2, compressed, base64). An empty histogram has an encoding too.
    pub fn to_base64(&self) -> String {
        let counts = self.encode_counts();
        let mut plain = Vec::with_capacity(HEADER_BYTES + counts.len());
        plain.extend(COOKIE.to_be_bytes());
        // At most 9 bytes for each of 38,000 cells.
        plain.extend((counts.len() as u32).to_be_bytes());
        plain.extend(0u32.to_be_bytes());
        plain.extend(DIGITS.to_be_bytes());
        plain.extend(1u64.to_be_bytes());
        plain.extend(HIGHEST.to_be_bytes());
        plain.extend(1f64.to_be_bytes());
        plain.extend(counts);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing to a Vec cannot fail.
        let compressed = encoder.write_all(&plain).and_then(|()| encoder.finish()).unwrap_or_default();
        let mut bytes = Vec::with_capacity(OUTER_BYTES + compressed.len());
        bytes.extend(COMPRESSED_COOKIE.to_be_bytes());
        bytes.extend((compressed.len() as u32).to_be_bytes());
        bytes.extend(compressed);
        STANDARD.encode(bytes)
    }

    /// The counts up to the highest cell in use. A histogram has at least one number.
    fn encode_counts(&self) -> Vec<u8> {
        let occupied = self.occupied();
        let mut numbers = Vec::with_capacity(2 * occupied.len() + NUMBER_BYTES);
        let mut empty = occupied.start as i64;
        for cell in &self.cells[occupied] {
            if *cell == 0 {
                empty += 1;
                continue;
            }
            push_empty(&mut numbers, empty);
            empty = 0;
            // The format has signed numbers. 2^63 requests are never counted.
            push_number(&mut numbers, i64::try_from(*cell).unwrap_or(i64::MAX));
        }
        if numbers.is_empty() {
            push_number(&mut numbers, 0);
        }
        numbers
    }

    /// Decodes the output of [`Histogram::to_base64`] or of any HdrHistogram tool. Minimum, maximum and sum are only as
    /// precise as a cell.
    ///
    /// # Errors
    /// [`DecodeError`] when the text is not such an encoding; never panics on any input.
    pub fn from_base64(text: &str) -> Result<Self, DecodeError> {
        let bytes = STANDARD.decode(text)?;
        let Some((outer, compressed)) = bytes.split_at_checked(OUTER_BYTES) else {
            return invalid(format!("it is too short ({})", counted(bytes.len(), "byte", "bytes")));
        };
        if u32_at(outer, 0) != COMPRESSED_COOKIE {
            return invalid("it does not begin with the signature of the encoding");
        }
        let length = u64::from(u32_at(outer, 4));
        let (layout, counts) = read_plain(ZlibDecoder::new(compressed.take(length)))?;
        let mut histogram = Histogram::new();
        let (mut rest, mut index) = (counts.as_slice(), 0u64);
        while let Some(number) = next_number(&mut rest)? {
            if number <= 0 {
                // A single empty cell is a zero.
                index = index.saturating_add(number.unsigned_abs().max(1));
                continue;
            }
            let Some(value) = layout.lowest_value(index) else {
                return invalid(format!("it has counts for values above its maximum, {}", layout.highest));
            };
            if histogram.count().checked_add(number.unsigned_abs()).is_none() {
                return invalid("the sum of the counts overflows 64 bits");
            }
            histogram.record_n(value, number.unsigned_abs());
            index += 1;
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

/// Which values the cells of an encoded histogram count: other tools use other layouts than [`Histogram`].
struct Layout {
    /// The highest value that it can count.
    highest: u64,
    /// Values below this power of two share a cell: log2 of the lowest discernible value.
    unit_bits: u32,
    /// log2 of the cells before the first doubling of their width.
    precision_bits: u32,
}

impl Layout {
    /// From the header of the plain part.
    fn read(header: &[u8; HEADER_BYTES]) -> Result<Self, DecodeError> {
        let (digits, lowest, highest) = (u32_at(header, 12), u64_at(header, 16), u64_at(header, 24));
        if u32_at(header, 8) != 0 || f64::from_bits(u64_at(header, 32)) != 1.0 {
            return invalid("shifted and scaled histograms are not supported");
        }
        if digits > 5 || lowest == 0 || highest / 2 < lowest {
            return invalid(format!(
                "invalid histogram header: {digits} significant digits, values from {lowest} to {highest}"
            ));
        }
        // The lowest power of two that has 2 x 10^digits values.
        let precision_bits = (2 * 10u64.pow(digits)).next_power_of_two().ilog2();
        let unit_bits = lowest.ilog2();
        if unit_bits + precision_bits > 62 {
            return invalid(format!(
                "invalid histogram header: a lowest value of {lowest} with {digits} significant digits needs more than 64 bits"
            ));
        }
        Ok(Self { highest, unit_bits, precision_bits })
    }

    /// The lowest value of the cell at `index`, none beyond the highest value.
    fn lowest_value(&self, index: u64) -> Option<u64> {
        let half_bits = self.precision_bits - 1;
        let doublings = (index >> half_bits).saturating_sub(1);
        let within = if doublings == 0 { index } else { (index & ((1 << half_bits) - 1)) + (1 << half_bits) };
        let shift = u32::try_from(doublings).ok()?.checked_add(self.unit_bits)?;
        let value = within.checked_shl(shift).filter(|value| value >> shift == within)?;
        (value <= self.highest).then_some(value)
    }
}

/// Reads the decompressed part: its header and its counts.
fn read_plain(mut plain: impl std::io::Read) -> Result<(Layout, Vec<u8>), DecodeError> {
    let mut header = [0; HEADER_BYTES];
    let in_words = |error: std::io::Error| DecodeError::Encoding(error.to_string());
    // The announced length first: forty bytes could otherwise allocate gigabytes.
    plain.read_exact(&mut header[..8]).map_err(in_words)?;
    let length = u32_at(&header, 4);
    if u32_at(&header, 0) != COOKIE {
        return invalid("the compressed part does not begin with the signature of the encoding");
    }
    if length > MAX_COUNTS_BYTES {
        return invalid(format!(
            "the header declares {length} bytes of counts; the maximum is {MAX_COUNTS_BYTES}"
        ));
    }
    plain.read_exact(&mut header[8..]).map_err(in_words)?;
    let mut counts = Vec::new();
    plain.take(u64::from(length)).read_to_end(&mut counts).map_err(in_words)?;
    if counts.len() as u64 != u64::from(length) {
        return invalid(format!(
            "the histogram is truncated: it has only {} of {length} bytes of counts",
            counts.len()
        ));
    }
    Ok((Layout::read(&header)?, counts))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

/// Appends a run of empty cells: one is a zero, more are their negative number.
fn push_empty(numbers: &mut Vec<u8>, empty: i64) {
    match empty {
        0 => {}
        1 => push_number(numbers, 0),
        _ => push_number(numbers, -empty),
    }
}

/// Appends a signed number: ZigZag, then seven bits a byte (LEB128) and eight in the ninth.
fn push_number(numbers: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..NUMBER_BYTES {
        if rest < 128 {
            break;
        }
        numbers.push(rest as u8 | 128);
        rest >>= 7;
    }
    numbers.push(rest as u8);
}

/// Takes the next number of [`push_number`] from the bytes, none at their end.
fn next_number(rest: &mut &[u8]) -> Result<Option<i64>, DecodeError> {
    if rest.is_empty() {
        return Ok(None);
    }
    let mut zigzag = 0u64;
    for position in 0..NUMBER_BYTES {
        let Some((byte, after)) = rest.split_first() else {
            return invalid("the last count is truncated");
        };
        *rest = after;
        let last = position + 1 == NUMBER_BYTES;
        zigzag |= u64::from(if last { *byte } else { byte & 127 }) << (7 * position);
        if last || *byte < 128 {
            break;
        }
    }
    Ok(Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)))
}
