//! The state of one user: the session that it is in, its values and cookies, its request, and the response being read.

use super::cookies::Cookies;
use super::plan::{Extract, ExtractFault};
use super::redirect::{Redirect, RedirectFault};
use crate::hot::{BlockIndex, JudgedHead, ResponsePart, SetAside};
use crate::{Nanos, decoded};
use paceline_http::Scheme;

/// The maximum number of bytes kept of a body: no value can be extracted from the rest of a longer one.
const MAX_KEPT: usize = 1 << 20;

/// A session that a user is in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CurrentSession {
    pub session: u16,
    pub step: u16,
    /// When the session was due.
    pub due: Nanos,
    /// The block of its first step, minus the kind of that step.
    pub base: BlockIndex,
    /// When the step is due, if it waits; [`Nanos::NEVER`] otherwise.
    pub step_due: Nanos,
}

/// An exchange that continues with another request.
#[derive(Debug)]
pub(super) struct NextRequest {
    pub aside: SetAside,
    pub request: Vec<u8>,
    /// Length of the cookies in it.
    pub cookie_bytes: usize,
}

/// The request that was made last, in case no byte of it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MadeLast {
    /// Its number, unless it continues an exchange.
    pub number: Option<u64>,
    /// Whether a session begins with it.
    pub is_first: bool,
}

/// One user.
#[derive(Debug, Default)]
pub(super) struct SessionUser {
    /// None while idle.
    pub current: Option<CurrentSession>,
    pub values: Vec<Vec<u8>>,
    pub cookies: Cookies,
    /// The request in flight or being sent.
    pub request: Vec<u8>,
    /// Length of the cookies in it.
    pub cookie_bytes: usize,
    pub made: MadeLast,
    /// The number of redirects followed for it.
    pub followed: u16,
    /// The request that continues its exchange, once that was set aside.
    pub next: Option<NextRequest>,
    /// The head of the response being read.
    pub head: Vec<u8>,
    /// Its body.
    pub body: Vec<u8>,
}

impl SessionUser {
    /// Reads a part of a response.
    #[inline]
    pub fn read(&mut self, part: ResponsePart<'_>) {
        match part {
            ResponsePart::Start => {
                self.head.clear();
                self.body.clear();
            }
            ResponsePart::Head(bytes) => self.head.extend_from_slice(bytes),
            ResponsePart::Interim => self.head.clear(),
            ResponsePart::Body(piece) => {
                let room = MAX_KEPT - self.body.len().min(MAX_KEPT);
                self.body.extend_from_slice(&piece[..piece.len().min(room)]);
            }
        }
    }

    /// Makes the request that follows the received redirect; returns it with the length of its cookies.
    pub fn redirected(
        &mut self,
        status: u16,
        scheme: Scheme,
        most: u16,
    ) -> Result<(Vec<u8>, usize), RedirectFault> {
        let redirect = Redirect { request: &self.request, status, head: &self.head, followed: self.followed };
        let mut request = redirect.next_request(scheme, most)?;
        let cookie_bytes = self.cookies.put_into(&mut request, self.cookie_bytes);
        self.followed += 1;
        Ok((request, cookie_bytes))
    }

    /// Extracts values from the received response.
    pub fn extract(&mut self, extracts: &[Extract], head: JudgedHead) -> Result<(), ExtractFault> {
        if extracts.is_empty() {
            return Ok(());
        }
        let content = decoded(head.coding, &self.body);
        for extract in extracts {
            self.values[extract.variable] = extract.value(&self.head, content.as_deref())?;
        }
        Ok(())
    }
}
