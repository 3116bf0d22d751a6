//! Reads the field sections of responses (RFC 9114 §4.1).
//!
//! Of a section, only the fields that frame and count a response are kept. A server sends nearly the same section again
//! and again, and equal bytes mean equal fields: a thread keeps recent sections and compares them.

use super::error::Http3Error;
use super::qpack::{QpackScratch, decode};
use crate::h2::DecodedFields;
use crate::h2::response::FieldReading;

/// The number of sections that a thread keeps. Go's servers order fields at random.
const SECTIONS_KEPT: usize = 8;

/// The maximum length of a kept section.
const SECTION_KEPT_BYTES: usize = 2048;

/// Reads field sections, of all connections of a thread.
#[derive(Debug, Default)]
pub struct SectionDecoder {
    /// The most recently used first.
    recent: Vec<(Vec<u8>, DecodedFields)>,
    scratch: QpackScratch,
}

impl SectionDecoder {
    /// Decodes a section, or recognises it.
    ///
    /// # Errors
    /// [`Http3Error::Compression`] ends the connection, [`Http3Error::Response`] the stream.
    #[inline]
    pub fn decode(&mut self, section: &[u8]) -> Result<DecodedFields, Http3Error> {
        match self.recent.iter().position(|(known, _)| known == section) {
            Some(0) => Ok(self.recent[0].1),
            Some(place) => {
                self.recent.swap(0, place);
                Ok(self.recent[0].1)
            }
            None => self.decode_unknown(section),
        }
    }

    /// Decodes a section and appends its fields as text: a line for each as HTTP/1.1 has it, after one for the status.
    /// The text is only valid if this returns no error.
    ///
    /// # Errors
    /// As [`SectionDecoder::decode`].
    pub fn decode_as_text(
        &mut self,
        section: &[u8],
        text: &mut Vec<u8>,
    ) -> Result<DecodedFields, Http3Error> {
        let mut reading = FieldReading::default();
        let list_size = decode(section, &mut self.scratch, |field| {
            reading.field(field);
            let (name, separator): (&[u8], &[u8]) = match field.name {
                // It comes first, or is an error.
                b":status" => (b"HTTP/3", b" "),
                name => (name, b": "),
            };
            text.extend([name, separator, field.value, b"\r\n"].into_iter().flatten());
        })?;
        text.extend_from_slice(b"\r\n");
        Ok(reading.finish(list_size)?)
    }

    #[cold]
    fn decode_unknown(&mut self, section: &[u8]) -> Result<DecodedFields, Http3Error> {
        let mut reading = FieldReading::default();
        let list_size = decode(section, &mut self.scratch, |field| reading.field(field))?;
        let fields = reading.finish(list_size)?;
        if section.len() <= SECTION_KEPT_BYTES {
            if self.recent.len() == SECTIONS_KEPT {
                self.recent.pop();
            }
            self.recent.insert(0, (section.to_vec(), fields));
        }
        Ok(fields)
    }
}
