//! Builds a server, unless what is there was built from the same.
//!
//! For `paceline lab build`, `serve` and `check`, and for a round before it pins or measures anything. A first set-up
//! is `setup`'s, the command is run by `command`, and what "the same" means is `fingerprint`'s.

use super::{LAUNCHED, MAKE_LIMIT, Made, Workshop, lock, stamp};
use crate::{LabError, Manifest};
use std::time::Duration;

impl Workshop {
    /// Builds `server` unless nothing it is made from has changed, or with `again` in any case. A set-up older than
    /// the folder is repeated first, which a set-up must allow; one that was never done is not begun here, since it
    /// downloads. Several processes may ask at once: one builds, the others wait and find it done.
    ///
    /// # Errors
    /// [`LabError::NotSetUp`], [`LabError::Command`] with the end of the log, [`LabError::Interrupted`]; no stamp is
    /// left behind by any of them.
    pub fn build(&self, server: &Manifest, again: bool) -> Result<Made, LabError> {
        let missing = self.toolbox.missing(&server.needs);
        if !missing.is_empty() {
            return Err(not_set_up(server, format!("it lacks {}", missing.join(", "))));
        }
        let _lock = self.lock(server)?;
        let wanted = self.fingerprints(server)?;
        let mut took = self.renew_setup(server, &wanted.setup)?;
        if let Some(command) = &server.build {
            let current = self.stamp(server, "build").as_deref() == Some(wanted.build.as_str());
            // What was made before an older set-up was renewed may refer to what that replaced.
            if again || !current || took.is_some() {
                let elapsed = self.make(server, "build", command, &wanted.build)?;
                took = Some(took.unwrap_or_default() + elapsed);
            }
        }
        Ok(took.map_or(Made::Already, Made::Now))
    }

    fn renew_setup(&self, server: &Manifest, wanted: &str) -> Result<Option<Duration>, LabError> {
        let Some(setup) = &server.setup else { return Ok(None) };
        match self.stamp(server, "setup") {
            None => Err(not_set_up(server, "its private environment was never fetched".into())),
            Some(found) if found == wanted => Ok(None),
            Some(_) => self.make(server, "setup", &setup.command, wanted).map(Some),
        }
    }

    /// Runs one command that makes something, and stamps it once it succeeded. The caller holds the lock.
    pub(super) fn make(
        &self,
        server: &Manifest,
        name: &'static str,
        command: &str,
        fingerprint: &str,
    ) -> Result<Duration, LabError> {
        let keep = self.keep_dir(server);
        stamp::remove(&keep, name)?;
        stamp::remove(&keep, LAUNCHED)?;
        let elapsed = self.run(&self.step(server, name, command, MAKE_LIMIT)?, server)?;
        stamp::write(&keep, name, fingerprint)?;
        Ok(elapsed)
    }

    pub(super) fn lock(&self, server: &Manifest) -> Result<lock::Lock, LabError> {
        let waiting =
            || (self.notice)(&format!("{}: waiting for another paceline that is building it", server.id));
        lock::Lock::take(&self.keep_dir(server), waiting, || self.interrupt.asked())
    }
}

fn not_set_up(server: &Manifest, missing: String) -> LabError {
    LabError::NotSetUp { server: server.id.clone(), missing }
}
