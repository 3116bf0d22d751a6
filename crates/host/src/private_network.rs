//! A network namespace with only a loopback interface, for servers with a fixed port: the port collides with no other
//! process of the machine.
//!
//! A namespace belongs to a thread: while a thread is inside, its sockets and the processes that it starts are inside
//! too. It exists as long as a process is in it or [`PrivateNetwork`] is alive. Only root can enter one
//! (network_namespaces(7)).

use crate::system::{self, Pid};
use crate::tune::network_settings;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";
/// Settings that a new namespace does not inherit, besides those that `round --tune` changes: the sizes of buffers.
const BUFFERS: [&str; 2] = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
/// Every port may be used by every user inside: a server on port 80 does not need root.
const UNPRIVILEGED_PORTS: &str = "net.ipv4.ip_unprivileged_port_start";

thread_local! {
    /// The namespaces that the thread has entered.
    static INSIDE: RefCell<Option<Rc<Namespaces>>> = const { RefCell::new(None) };
}

/// A namespace and the one to return to.
struct Namespaces {
    inside: File,
    outside: File,
}

/// A private network.
pub struct PrivateNetwork(Rc<Namespaces>);

/// The thread is in a private network until this is dropped.
#[must_use]
pub struct NetworkGuard {
    /// The guard must be dropped by its thread.
    _thread: PhantomData<Rc<()>>,
}

impl PrivateNetwork {
    /// Creates one, with the machine's settings and a working loopback interface.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] without root's rights; the system's error otherwise.
    pub fn create() -> io::Result<Self> {
        let outside = File::open(OWN)?;
        let copied = network_settings().chain(BUFFERS).map(file_of);
        let settings = copied.filter_map(|file| Some((fs::read_to_string(&file).ok()?, file))).collect();
        // The thread ends in its namespace; this one never leaves its own.
        let made = std::thread::Builder::new().spawn(move || make(settings))?.join();
        let inside = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Self(Rc::new(Namespaces { inside, outside })))
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// The system's error, or one if the thread is in a private network already.
    pub fn enter(&self) -> io::Result<NetworkGuard> {
        if INSIDE.with_borrow(Option::is_some) {
            return Err(io::Error::other("this thread is in a private network already"));
        }
        enter(&self.0.inside)?;
        INSIDE.set(Some(Rc::clone(&self.0)));
        Ok(NetworkGuard { _thread: PhantomData })
    }
}

impl Drop for NetworkGuard {
    fn drop(&mut self) {
        if let Some(namespaces) = INSIDE.take() {
            // A thread may always return to a namespace whose rights it has not given up.
            let _ = enter(&namespaces.outside);
        }
    }
}

/// Whether the calling thread is in a private network.
pub fn is_private() -> bool {
    INSIDE.with_borrow(Option::is_some)
}

/// Calls `action` outside the private network of the calling thread, if it is in one: for connections to other
/// machines.
///
/// # Panics
/// If the thread cannot return to its private network: everything after it would be measured elsewhere.
pub fn outside<T>(action: impl FnOnce() -> T) -> T {
    let Some(namespaces) = INSIDE.with_borrow(Clone::clone) else { return action() };
    let has_left = enter(&namespaces.outside).is_ok();
    let result = action();
    if has_left {
        let returned = enter(&namespaces.inside);
        assert!(returned.is_ok(), "cannot return to the private network: {returned:?}");
    }
    result
}

/// Calls `action` in the network namespace of a process: in a thread that ends there, unless it is that of the caller.
///
/// # Errors
/// The system's error: without root's rights another namespace cannot be entered.
pub(crate) fn in_network_of<T: Send>(
    pid: Pid,
    action: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let theirs = format!("/proc/{pid}/ns/net");
    if fs::read_link(&theirs)? == fs::read_link(OWN)? {
        return action();
    }
    let network = File::open(theirs)?;
    let inside = || {
        enter(&network)?;
        action()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, inside)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Makes a namespace with these values of settings, each with its file.
fn make(settings: Vec<(String, PathBuf)>) -> io::Result<File> {
    system::unshare(libc::CLONE_NEWNET)?;
    system::start_loopback()?;
    for (value, file) in settings {
        // A kernel that shares the setting between namespaces does not have it here.
        let _ = fs::write(file, value);
    }
    // Before Linux 4.11 there is no such setting.
    let _ = fs::write(file_of(UNPRIVILEGED_PORTS), "0");
    File::open(OWN)
}

/// The file of a setting.
fn file_of(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// Moves the calling thread into a network namespace: setns(2).
fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    /// A network, if this machine allows one.
    fn network() -> Option<PrivateNetwork> {
        match PrivateNetwork::create() {
            Ok(network) => Some(network),
            Err(error) => {
                assert_ne!(error.kind(), io::ErrorKind::NotFound, "{error}");
                eprintln!("skipped: no private network can be made here: {error}");
                None
            }
        }
    }

    #[test]
    fn a_taken_port_is_free_inside_and_both_are_separate() {
        let Some(network) = network() else { return };
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let inside = network.enter().unwrap();
        assert!(is_private() && network.enter().is_err());
        assert!(TcpStream::connect(address).is_err(), "connected to a listener outside");
        let own = TcpListener::bind(address).unwrap();
        assert!(TcpStream::connect(address).is_ok());
        let status = std::process::Command::new("true").status().unwrap();
        assert!(status.success());
        assert!(outside(|| TcpListener::bind(address).is_err()), "it is taken outside");
        drop(own);
        drop(inside);
        assert!(!is_private() && TcpStream::connect(address).is_ok());
    }

    #[test]
    fn the_ports_of_a_process_inside_are_found_from_outside() {
        let Some(network) = network() else { return };
        let inside = network.enter().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let held = std::process::Stdio::from(std::os::fd::OwnedFd::from(listener));
        let mut holder = std::process::Command::new("sleep").arg("60").stdin(held).spawn().unwrap();
        drop(inside);
        let pid = holder.id().cast_signed();
        let found = crate::port::ports_of(&[pid]);
        let listening = in_network_of(pid, || crate::sock_diag::listening(port));
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert_eq!(found, [port]);
        assert_eq!(listening.unwrap().len(), 1, "the kernel is asked inside");
    }

    #[test]
    fn threads_of_a_thread_inside_are_inside() {
        let Some(network) = network() else { return };
        let inside = network.enter().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connects = move || TcpStream::connect(address).is_ok();
        assert!(std::thread::spawn(connects).join().unwrap());
        drop(inside);
        assert!(!std::thread::spawn(connects).join().unwrap());
    }
}
