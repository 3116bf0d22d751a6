//! Encrypts and decrypts the records of a connection whose handshake is done: in place, and without an allocation.
//!
//! rustls makes the handshake and then gives its keys away, as it does for TLS in a kernel. It keeps what follows from
//! the handshake: later keys and session tickets. Records of TLS 1.3 are those of RFC 8446 §5; those of TLS 1.2 of
//! RFC 5246 §6.2 with AES-GCM (RFC 5288) or ChaCha20-Poly1305 (RFC 7905).

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey,
};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::{
    AlertDescription, ConnectionTrafficSecrets, ContentType, Error, HandshakeType, InvalidMessage,
    PeerMisbehaved, ProtocolVersion, SupportedCipherSuite,
};

/// The maximum number of plain bytes in one record (RFC 8446 §5.1).
pub(super) const MAX_PLAIN: usize = 16 * 1024;
/// The longest record, with its header: TLS 1.2 allows 2 KiB for the encryption (RFC 5246 §6.2.3).
pub(super) const MAX_RECORD: usize = HEADER + MAX_PLAIN + 2048;

/// Kinds of records (RFC 8446 §B.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
pub(super) const DATA: u8 = 23;

/// Kind, version and length.
const HEADER: usize = 5;
/// TLS 1.2, which the header of TLS 1.3 names, too.
const VERSION: [u8; 2] = [3, 3];
/// The part of a nonce that a record with AES-GCM in TLS 1.2 contains.
const EXPLICIT_NONCE: usize = 8;
/// The part that it does not contain.
const SALT: usize = NONCE_LEN - EXPLICIT_NONCE;
/// The longest message of a handshake that is read.
const MAX_MESSAGE: usize = 0xffff;
/// The most records in a row without data: tickets, new keys, warnings. A server that sends more does not answer.
const MAX_WITHOUT_DATA: u32 = 256;

/// Messages of a handshake (RFC 8446 §B.3).
const HELLO_REQUEST: u8 = 0;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// Alerts (RFC 8446 §6): level and description.
const WARNING: u8 = 1;
const FATAL: u8 = 2;
const NO_RENEGOTIATION: u8 = 100;
/// The end of the data of a side.
pub(super) const CLOSE_NOTIFY: [u8; 2] = [WARNING, 0];

/// What encrypts one direction.
struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    is_tls13: bool,
    /// Whether a record contains a part of its nonce: AES-GCM in TLS 1.2 (RFC 5288 §3).
    has_nonce: bool,
    sequence: u64,
}

impl RecordKey {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets), is_tls13: bool) -> Result<Self, Error> {
        let unusable = || Error::General("the keys of the connection cannot be used".to_owned());
        let (algorithm, key, iv, is_gcm) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv, true),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv, true),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (&CHACHA20_POLY1305, key, iv, false),
            _ => return Err(unusable()),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| unusable())?;
        Ok(Self {
            key: LessSafeKey::new(key),
            iv: iv.as_ref().try_into().map_err(|_| unusable())?,
            is_tls13,
            has_nonce: is_gcm && !is_tls13,
            sequence,
        })
    }

    /// The bytes between the header and what is encrypted.
    fn prefix(&self) -> usize {
        if self.has_nonce { EXPLICIT_NONCE } else { 0 }
    }

    /// The nonce of the next record (RFC 8446 §5.3; for TLS 1.2 it is the sender's choice, and rustls chooses the same).
    fn nonce(&self) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, of_sequence) in nonce[SALT..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= of_sequence;
        }
        nonce
    }

    /// What is authenticated beside the bytes: the header (RFC 8446 §5.2), in TLS 1.2 with the sequence number and the
    /// length of the plain bytes (RFC 5246 §6.2.3.3).
    fn additional(&self, header: [u8; HEADER], plain: usize) -> AdditionalData {
        let mut bytes = [0; EXPLICIT_NONCE + HEADER];
        if self.is_tls13 {
            bytes[..HEADER].copy_from_slice(&header);
            return AdditionalData { bytes, length: HEADER };
        }
        bytes[..EXPLICIT_NONCE].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[EXPLICIT_NONCE..].copy_from_slice(&self::header(header[0], plain));
        AdditionalData { bytes, length: bytes.len() }
    }

    /// Appends a record with at most [`MAX_PLAIN`] bytes.
    fn seal(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let inner = plain.len() + usize::from(self.is_tls13);
        let visible = if self.is_tls13 { DATA } else { kind };
        let header = header(visible, self.prefix() + inner + MAX_TAG_LEN);
        let nonce = self.nonce();
        out.extend_from_slice(&header);
        if self.has_nonce {
            out.extend_from_slice(&nonce[SALT..]);
        }
        let begin = out.len();
        out.extend_from_slice(plain);
        if self.is_tls13 {
            out.push(kind);
        }
        let additional = Aad::from(self.additional(header, plain.len()));
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, additional, &mut out[begin..]);
        out.extend_from_slice(tag.map_err(|_| Error::EncryptError)?.as_ref());
        self.sequence += 1;
        Ok(())
    }

    /// Decrypts a whole record in place. Returns its kind and its bytes.
    fn open<'r>(&mut self, record: &'r mut [u8]) -> Result<(u8, &'r [u8]), Error> {
        let (first, body) = record.split_first_chunk_mut::<HEADER>().ok_or(Error::DecryptError)?;
        let header = *first;
        let plain = body.len().checked_sub(self.prefix() + MAX_TAG_LEN).ok_or(Error::DecryptError)?;
        if self.is_tls13 && header[0] != DATA {
            return Err(match header[0] {
                CHANGE_CIPHER_SPEC => PeerMisbehaved::IllegalMiddleboxChangeCipherSpec.into(),
                _ => Error::DecryptError,
            });
        }
        let mut nonce = self.nonce();
        if self.has_nonce {
            nonce[SALT..].copy_from_slice(&body[..EXPLICIT_NONCE]);
        }
        let additional = Aad::from(self.additional(header, plain));
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = self.key.open_within(nonce, additional, body, self.prefix()..);
        let opened = opened.map_err(|_| Error::DecryptError)?;
        self.sequence += 1;
        let (kind, length) = match self.is_tls13 {
            // The kind is the last byte before the padding (RFC 8446 §5.4).
            true => match opened.iter().rposition(|byte| *byte != 0) {
                Some(end) => (opened[end], end),
                None => return Err(PeerMisbehaved::IllegalTlsInnerPlaintext.into()),
            },
            false => (header[0], opened.len()),
        };
        if length > MAX_PLAIN {
            return Err(Error::PeerSentOversizedRecord);
        }
        Ok((kind, &opened[..length]))
    }
}

/// What a record authenticates beside its bytes.
struct AdditionalData {
    bytes: [u8; EXPLICIT_NONCE + HEADER],
    length: usize,
}

impl AsRef<[u8]> for AdditionalData {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The header of a record whose body has this length.
fn header(kind: u8, length: usize) -> [u8; HEADER] {
    // A body is at most 18 KiB long.
    let [high, low] = (length as u16).to_be_bytes();
    [kind, VERSION[0], VERSION[1], high, low]
}

/// The length of the record that the bytes begin with; none if it is not there as a whole.
pub(super) fn whole_record(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some([kind, major, _, high, low]) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let length = HEADER + usize::from(u16::from_be_bytes([*high, *low]));
    if !(CHANGE_CIPHER_SPEC..=DATA).contains(kind) {
        return Err(InvalidMessage::InvalidContentType.into());
    }
    if *major != VERSION[0] {
        return Err(InvalidMessage::UnknownProtocolVersion.into());
    }
    if length > MAX_RECORD {
        return Err(InvalidMessage::MessageTooLarge.into());
    }
    Ok((bytes.len() >= length).then_some(length))
}

/// The records of one connection.
pub(super) struct Records {
    /// Makes new keys, and keeps tickets.
    handshake: KernelConnection<ClientConnectionData>,
    is_tls13: bool,
    sending: RecordKey,
    receiving: RecordKey,
    /// The number of records that one key may encrypt.
    limit: u64,
    /// The beginning of a message of a handshake.
    message: Vec<u8>,
    /// The number of records since the last with data.
    without_data: u32,
}

impl Records {
    /// Takes over from a handshake that is done.
    pub(super) fn new(handshake: UnbufferedClientConnection) -> Result<Self, Error> {
        let (secrets, handshake) = handshake.dangerous_into_kernel_connection()?;
        let is_tls13 = handshake.protocol_version() == ProtocolVersion::TLSv1_3;
        let limit = match handshake.negotiated_cipher_suite() {
            SupportedCipherSuite::Tls12(suite) => suite.common.confidentiality_limit,
            SupportedCipherSuite::Tls13(suite) => suite.common.confidentiality_limit,
        };
        Ok(Self {
            sending: RecordKey::new(secrets.tx, is_tls13)?,
            receiving: RecordKey::new(secrets.rx, is_tls13)?,
            handshake,
            is_tls13,
            // The last is for the message that changes the key.
            limit: limit.saturating_sub(1),
            message: Vec::new(),
            without_data: 0,
        })
    }

    /// Renews the key after this many records.
    #[cfg(test)]
    pub(super) fn limit_to(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Appends a record with at most [`MAX_PLAIN`] bytes.
    pub(super) fn seal(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        if self.sending.sequence >= self.limit {
            if !self.is_tls13 {
                return Err(Error::EncryptError);
            }
            self.renew_sending(out)?;
        }
        self.sending.seal(kind, plain, out)
    }

    /// Decrypts the whole records that the bytes begin with, and hands their data on. Returns how many bytes they were,
    /// and whether the peer has closed its side. Replies are appended.
    pub(super) fn decrypt(
        &mut self,
        wire: &mut [u8],
        replies: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Error> {
        let mut read = 0;
        while let Some(length) = whole_record(&wire[read..])? {
            let (kind, plain) = self.receiving.open(&mut wire[read..read + length])?;
            read += length;
            if kind == DATA && !plain.is_empty() {
                self.without_data = 0;
                take(plain);
                continue;
            }
            self.without_data += 1;
            if self.without_data > MAX_WITHOUT_DATA {
                return Err(PeerMisbehaved::TooManyEmptyFragments.into());
            }
            match kind {
                DATA => {}
                ALERT if is_close(plain, self.is_tls13)? => return Ok((read, true)),
                ALERT => {}
                HANDSHAKE => {
                    self.message.extend_from_slice(plain);
                    self.handle_messages(replies)?;
                }
                _ => {
                    return Err(Error::InappropriateMessage {
                        expect_types: vec![ContentType::ApplicationData],
                        got_type: kind.into(),
                    });
                }
            }
        }
        Ok((read, false))
    }

    /// Handles the messages of a handshake that are there as a whole.
    fn handle_messages(&mut self, replies: &mut Vec<u8>) -> Result<(), Error> {
        let mut at = 0;
        while let Some([kind, length @ ..]) = self.message[at..].first_chunk::<4>() {
            let (kind, length) = (*kind, u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize);
            if length > MAX_MESSAGE {
                return Err(InvalidMessage::HandshakePayloadTooLarge.into());
            }
            let Some(body) = self.message.get(at + 4..at + 4 + length) else { break };
            at += 4 + length;
            match (kind, body) {
                (NEW_SESSION_TICKET, ticket) if self.is_tls13 => {
                    self.handshake.handle_new_session_ticket(ticket)?;
                }
                (KEY_UPDATE, _) if self.is_tls13 && at < self.message.len() => {
                    return Err(PeerMisbehaved::KeyEpochWithPendingFragment.into());
                }
                (KEY_UPDATE, [is_requested @ 0..=1]) if self.is_tls13 => {
                    let is_requested = *is_requested == 1;
                    self.receiving = RecordKey::new(self.handshake.update_rx_secret()?, true)?;
                    if is_requested {
                        self.renew_sending(replies)?;
                    }
                }
                (KEY_UPDATE, _) if self.is_tls13 => return Err(InvalidMessage::InvalidKeyUpdate.into()),
                (HELLO_REQUEST, []) if !self.is_tls13 => {
                    self.sending.seal(ALERT, &[WARNING, NO_RENEGOTIATION], replies)?;
                }
                _ => {
                    return Err(Error::InappropriateHandshakeMessage {
                        expect_types: vec![HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate],
                        got_type: kind.into(),
                    });
                }
            }
        }
        self.message.drain(..at);
        Ok(())
    }

    /// Tells the peer that the next record has another key, and changes it (RFC 8446 §4.6.3).
    fn renew_sending(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.sending.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], out)?;
        self.sending = RecordKey::new(self.handshake.update_tx_secret()?, true)?;
        Ok(())
    }
}

/// Whether an alert is a close_notify. A warning is ignored: in TLS 1.3 there is one other than it (RFC 8446 §6.1).
fn is_close(alert: &[u8], is_tls13: bool) -> Result<bool, Error> {
    let [level, description] = alert else { return Err(InvalidMessage::MessageTooShort.into()) };
    let description = AlertDescription::from(*description);
    match description {
        AlertDescription::CloseNotify => Ok(true),
        AlertDescription::UserCanceled => Ok(false),
        _ if *level == WARNING && !is_tls13 => Ok(false),
        _ => Err(Error::AlertReceived(description)),
    }
}

/// The alert that tells the peer of an error.
pub(super) fn alert_of(error: &Error) -> [u8; 2] {
    let description = match error {
        Error::DecryptError => AlertDescription::BadRecordMac,
        Error::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
        Error::InvalidMessage(_) => AlertDescription::DecodeError,
        Error::EncryptError | Error::General(_) => AlertDescription::InternalError,
        _ => AlertDescription::UnexpectedMessage,
    };
    [FATAL, description.into()]
}
