//! Keeps processors out of idle states.

use paceline_record::Tuned;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file that takes the longest time in which processors must wake, in microseconds, as a native 32-bit number. It
/// applies as long as the file is open (kernel documentation, power/pm_qos_interface).
const DEVICE: &str = "dev/cpu_dma_latency";
/// The number that is read if no process has set a limit.
const NO_LIMIT: i32 = 2_000_000_000;

/// Keeps all processors out of idle states until dropped: an idle processor polls.
///
/// Waking a processor takes tens of microseconds, which are otherwise part of every response time at low rates. In a
/// virtual machine an idle processor also returns its core to the hypervisor, which counts the time until it has a core
/// again as steal.
#[derive(Debug)]
pub struct QuietCpu {
    before: i32,
    _file: File,
}

impl QuietCpu {
    /// Sets the limit to 0 in the device below `root` (`/`).
    ///
    /// # Errors
    /// When the device does not exist or cannot be written, which needs root; the message names it.
    pub fn hold(root: &Path) -> io::Result<Self> {
        let path = root.join(DEVICE);
        let held = || {
            let flags = OFlags::NOFOLLOW.bits().cast_signed();
            let mut file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path)?;
            let mut before = [0; size_of::<i32>()];
            file.read_exact(&mut before)?;
            file.write_all(&0i32.to_ne_bytes())?;
            Ok(Self { before: i32::from_ne_bytes(before), _file: file })
        };
        held().map_err(|error: io::Error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
        })
    }

    /// The setting for the record of a round, also if it could not be set.
    pub fn setting(held: &io::Result<Self>) -> Tuned {
        let name = "CPU wake-up limit".to_owned();
        match held {
            Ok(held) => {
                let before =
                    if held.before >= NO_LIMIT { "none".into() } else { format!("{} µs", held.before) };
                Tuned { name, before, after: "0 µs".to_owned(), why: String::new() }
            }
            Err(error) => Tuned { name, before: String::new(), after: String::new(), why: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_limit_is_zero_while_held_and_a_refusal_names_the_device() {
        let root = tempfile::tempdir().unwrap();
        let refused = QuietCpu::hold(root.path());
        let setting = QuietCpu::setting(&refused);
        assert!(setting.why.contains("dev/cpu_dma_latency: "), "{}", setting.why);
        assert_eq!(setting.changed(), None);

        let device = root.path().join(DEVICE);
        fs::create_dir(root.path().join("dev")).unwrap();
        for (limit, before) in [(NO_LIMIT, "none"), (70, "70 µs")] {
            fs::write(&device, limit.to_ne_bytes()).unwrap();
            let held = QuietCpu::hold(root.path());
            let changed = QuietCpu::setting(&held).changed();
            assert_eq!(changed, Some(format!("CPU wake-up limit {before} -> 0 µs")));
            // In a plain file the new number follows the one that was read.
            assert_eq!(fs::read(&device).unwrap()[4..], [0; 4]);
        }
    }
}
