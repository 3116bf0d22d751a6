//! Builds a server, unless the existing build was made from the same inputs.
//!
//! For `paceline lab build`, `serve` and `check`, and for a round before it pins or measures anything. `setup` does a
//! first set-up, `command` runs the command, and `fingerprint` defines the inputs.

use super::{
    CommandStep, CommandWords, LAUNCHED, MAKE_LIMIT, Provisioner, StepOutcome, command, lock, owner, stamp,
    write_readable,
};
use crate::LabError;
use paceline_catalogue::Manifest;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

impl Provisioner {
    /// Builds `server` unless its inputs are unchanged; with `again` in any case. A set-up older than the folder is
    /// repeated first; set-up commands must allow that, and the repetition is reported. A set-up that was never done is
    /// not started here, since it downloads. Several processes may call this at once: one builds, the others wait and
    /// find the finished build.
    ///
    /// # Errors
    /// [`LabError::NotSetUp`], [`LabError::Command`] with the end of the log, [`LabError::Interrupted`]; each leaves
    /// the previous build in use, if there is one.
    pub fn build(&self, server: &Manifest, again: bool) -> Result<StepOutcome, LabError> {
        let missing = self.tools.missing(&server.needs);
        if !missing.is_empty() {
            return Err(not_set_up(server, format!("missing: {}", missing.join(", "))));
        }
        let _lock = self.lock(server)?;
        if server.setup.is_none() && server.build.is_none() {
            // No command shares the folder, and the server may write there.
            self.share_build(server)?;
        }
        self.make_static_files(server)?;
        if let Some(container) = &server.container {
            let took = self.build_container(server, container, again)?;
            return Ok(took.map_or(StepOutcome::Already, StepOutcome::Now));
        }
        let wanted = self.fingerprints(server)?;
        let mut took = self.renew_setup(server, &wanted.setup)?;
        if let Some(command) = &server.build {
            let current = self.stamp(server, "build").as_deref() == Some(wanted.build.as_str());
            if again || !current {
                let elapsed = self.make(server, "build", command, &wanted.build)?;
                took = Some(took.unwrap_or_default() + elapsed);
            }
        }
        self.make_certificate(server)?;
        Ok(took.map_or(StepOutcome::Already, StepOutcome::Now))
    }

    fn renew_setup(&self, server: &Manifest, wanted: &str) -> Result<Option<Duration>, LabError> {
        let Some(setup) = &server.setup else { return Ok(None) };
        match self.stamp(server, "setup") {
            None => Err(not_set_up(server, "its `setup` command has not been run successfully".into())),
            Some(found) if found == wanted => Ok(None),
            Some(_) => {
                let size =
                    setup.download_mb.map_or("an unknown size".into(), |mb| format!("about {mb:.0} MB"));
                (self.notice)(&format!(
                    "{}: the server's folder or tools changed since its set-up; repeating the set-up (may download \
                     {size}): {}",
                    server.id, setup.command
                ));
                self.make(server, "setup", &setup.command, wanted).map(Some)
            }
        }
    }

    /// Runs one set-up or build command, one at a time, and writes its stamp on success. The caller holds the server's
    /// lock. A set-up also removes the stamp of the build, which may refer to replaced files. If an earlier one was
    /// finished, the command works on a copy; a failure, an interruption or a kill leaves the earlier one in use.
    pub(super) fn make(
        &self,
        server: &Manifest,
        name: &'static str,
        command: &str,
        fingerprint: &str,
    ) -> Result<Duration, LabError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Keep the stamps if the step would be interrupted immediately.
        if self.interrupt.requested() {
            return Err(LabError::Interrupted);
        }
        owner::check_replaceable(&self.build_dir(server))?;
        let keep = self.keep_dir(server);
        let make_in_place = || {
            if name == "setup" {
                stamp::remove(&keep, "build")?;
            }
            stamp::remove(&keep, name)?;
            stamp::remove(&keep, LAUNCHED)?;
            let elapsed = self.run(&self.step(server, name, command, MAKE_LIMIT)?, server)?;
            stamp::write(&keep, name, fingerprint)?;
            Ok(elapsed)
        };
        if self.stamp(server, name).is_none() {
            return make_in_place();
        }
        let former = self.former(server);
        former.set_aside(self.user.as_ref(), |entries, to| self.copy(server, entries, to))?;
        match make_in_place() {
            Ok(elapsed) => former.replace().map(|()| elapsed),
            Err(error) => {
                match former.recover() {
                    Ok(_) => (self.notice)(&format!("{}: the previous {name} stays in use", server.id)),
                    Err(error) => (self.notice)(&format!(
                        "{}: {error}; the next `paceline lab {name}` restores the previous {name}",
                        server.id
                    )),
                }
                Err(error)
            }
        }
    }

    /// Copies entries of the build folder to a folder, as the user of servers: root would follow links that a process
    /// of this user may place there meanwhile. The copies belong to this user.
    fn copy(&self, server: &Manifest, entries: &[OsString], to: &Path) -> Result<(), LabError> {
        if entries.is_empty() {
            return Ok(());
        }
        // A command's words are text, and a name may be any bytes.
        let names: Vec<u8> =
            entries.iter().flat_map(|name| [&b"./"[..], name.as_bytes(), b"\0"].concat()).collect();
        let list = self.keep_dir(server).join("copy.list");
        write_readable(&list, &names).map_err(|source| LabError::File {
            action: "write",
            path: list.clone(),
            source,
        })?;
        let (listed, to) = (list.to_string_lossy(), to.to_string_lossy());
        let words = ["xargs", "-0", "-a", &listed, "cp", "-a", "--reflink=auto", "-t", &to, "--"];
        let step = CommandStep {
            user: self.user.clone(),
            server: &server.id,
            name: "copy",
            command: CommandWords::Program(&words),
            folder: &self.build_dir(server),
            environment: BTreeMap::new(),
            pass_env: &[],
            log: self.keep_dir(server).join("copy.log"),
            printed: None,
            limit: MAKE_LIMIT,
            removed_at_end: None,
        };
        match command::run(&step, &self.shepherd, self.interrupt) {
            Ok(_) => Ok(()),
            Err(LabError::Command(failure)) => {
                Err(LabError::Copy { failure, remedy: self.copy_remedy(server) })
            }
            Err(error) => Err(error),
        }
    }

    fn copy_remedy(&self, server: &Manifest) -> String {
        let room = "free up disk space for a copy of the build";
        let Some(user) = &self.user else { return room.into() };
        let folder = self.build_dir(server);
        format!(
            "{room}, and make the user that servers run as the owner of all files: chown -R {}: {}",
            user.name,
            folder.display()
        )
    }

    /// Lets this process alone change the build of `server`, once another one has finished.
    pub(crate) fn lock(&self, server: &Manifest) -> Result<paceline_host::FileLock, LabError> {
        self.check_owner(server)?;
        owner::check_replaceable(&self.keep_dir(server))?;
        let waiting = || {
            (self.notice)(&format!("{}: waiting for another paceline process that uses its build", server.id))
        };
        let lock = lock::take(&self.keep_dir(server), waiting, || self.interrupt.requested())?;
        if self.former(server).recover()? {
            (self.notice)(&format!(
                "{}: an earlier set-up or build was killed; the last complete build is in use again",
                server.id
            ));
        }
        Ok(lock)
    }
}

fn not_set_up(server: &Manifest, missing: String) -> LabError {
    LabError::NotSetUp { server: server.id.clone(), missing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::{MANIFEST, TestTree};
    use paceline_host::Interrupt;
    use std::sync::atomic::Ordering;

    #[test]
    fn an_interrupted_set_up_keeps_the_previous_one() {
        let tree = TestTree::new();
        let setup = "[setup]\ncommand = \"rm -rf fetched\"\ndownload_mb = 1\n[run]";
        tree.write("servers/go-server/server.toml", &MANIFEST.replacen("[run]", setup, 1));
        let server = Manifest::read(&tree.path("servers/go-server")).unwrap();
        let (interrupt, asked) = Interrupt::by_hand();
        let provisioner =
            Provisioner::new(&tree.catalogue().folders, vec!["no-such-shepherd".into()], interrupt);
        let keep = provisioner.keep_dir(&server);
        std::fs::create_dir_all(&keep).unwrap();
        stamp::write(&keep, "setup", "made before").unwrap();
        asked.store(true, Ordering::Relaxed);
        let ended = provisioner.make(&server, "setup", "rm -rf fetched", "made now");
        assert!(matches!(ended, Err(LabError::Interrupted)), "{ended:?}");
        assert_eq!(provisioner.stamp(&server, "setup").as_deref(), Some("made before"));
    }

    #[test]
    fn a_version_command_waits_for_a_build() {
        let tree = TestTree::with(&["go-server"]);
        let catalogue = tree.catalogue();
        let (interrupt, asked) = Interrupt::by_hand();
        let provisioner = Provisioner::new(&catalogue.folders, vec!["no-such-shepherd".into()], interrupt);
        let server = catalogue.server("go-server").unwrap();
        let _building = provisioner.lock(&server).unwrap();
        asked.store(true, Ordering::Relaxed);
        // The version command itself would fail to start.
        assert!(matches!(provisioner.versions(&server), Err(LabError::Interrupted)));
    }
}
