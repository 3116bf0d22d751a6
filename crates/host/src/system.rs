//! Safe wrappers for system calls that the standard library lacks: signals, waiting, namespaces, affinity, polling.
//!
//! Used by the shepherd, sampling and pinning. Each function is one system call with its error, without policy.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

/// A process id in the caller's namespace.
pub type Pid = libc::pid_t;

/// The result of [`wait_any`].
#[derive(Debug)]
pub enum WaitResult {
    /// A child ended and was reaped.
    Ended(Pid, ExitStatus),
    /// There are children, and none has ended.
    Running,
    /// There are no children at all.
    Childless,
}

/// Converts the return value of a system call into a result.
fn checked(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Makes the caller the subreaper of its descendants: orphans become its children, so that it can wait for them and
/// kill them.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: prctl with integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }).map(drop)
}

/// Sets SIGKILL for the caller when the thread that started it ends.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl with integers only.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) }).map(drop)
}

/// Permanently changes to another user with its one group: no program that it starts can gain more rights.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: system calls with integers only; an empty list of groups is not read.
    unsafe {
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(gid, gid, gid))?;
        checked(libc::setresuid(uid, uid, uid))?;
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)).map(drop)
    }
}

/// Puts later children into new namespaces, as set by `flags`.
pub fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: takes an integer; CLONE_NEW* flags do not share memory.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Starts the loopback interface of the calling thread's network namespace: netdevice(7).
pub fn start_loopback() -> io::Result<()> {
    // SAFETY: every bit pattern is a valid `ifreq`; the name ends with a zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from as libc::c_char;
    }
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the kernel reads and writes one `ifreq`.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as libc::Ioctl, &raw mut request) })?;
    // SAFETY: the kernel has filled this field.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    // SAFETY: the kernel reads one `ifreq`.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as libc::Ioctl, &raw const request) })
        .map(drop)
}

/// Makes a mount read-only, without set-user-id programs and devices: mount_setattr(2), by its descriptor.
pub fn protect_mount(mount: BorrowedFd<'_>) -> io::Result<()> {
    /// `struct mount_attr` of `linux/mount.h`: four numbers.
    const SIZE: usize = 32;
    /// `MOUNT_ATTR_RDONLY`, `MOUNT_ATTR_NOSUID` and `MOUNT_ATTR_NODEV` of the same file.
    const SET: u64 = 0x1 | 0x2 | 0x4;
    let attributes: [u64; SIZE / size_of::<u64>()] = [SET, 0, 0, 0];
    // SAFETY: the kernel reads an empty path and `SIZE` bytes.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            attributes.as_ptr(),
            SIZE,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Removes every capability from those that a program may gain: capabilities(7).
pub fn drop_bounding_set() -> io::Result<()> {
    for capability in 0.. {
        // SAFETY: takes integers.
        match checked(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }) {
            Ok(_) => {}
            // The number after the kernel's last one.
            Err(error) if capability > 0 && error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives up all capabilities, and the right to gain any by starting a program.
pub fn drop_capabilities() -> io::Result<()> {
    let none = rustix::thread::CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Refuses io_uring to the caller and its children with `ENOSYS`, as on a kernel without it: seccomp(2). The numbers of
/// its three calls are the same on every architecture.
pub fn deny_io_uring() -> io::Result<()> {
    const FIRST: u32 = libc::SYS_io_uring_setup as u32;
    const LAST: u32 = libc::SYS_io_uring_register as u32;
    /// The bit that marks a call of the x32 ABI.
    const X32: u32 = 0x4000_0000;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
    // SAFETY: these only fill a struct.
    let mut filter = unsafe {
        [
            libc::BPF_STMT((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0),
            libc::BPF_STMT((libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16, !X32),
            libc::BPF_JUMP((libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16, FIRST, 0, 2),
            libc::BPF_JUMP((libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16, LAST, 1, 0),
            libc::BPF_STMT((libc::BPF_RET | libc::BPF_K) as u16, refuse),
            libc::BPF_STMT((libc::BPF_RET | libc::BPF_K) as u16, libc::SECCOMP_RET_ALLOW),
        ]
    };
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the program, which outlives the call.
    let answer = unsafe {
        // Without the flag, older kernels turn off speculation, which would slow down what is measured.
        let flag = libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flag, &raw const program)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Forks. `None` in the child.
///
/// # Safety
/// The caller must have only one thread: a fork of several would leave locks held forever in the child.
pub unsafe fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the caller promises to be the only thread.
    let pid = checked(unsafe { libc::fork() })?;
    Ok((pid != 0).then_some(pid))
}

/// Makes the caller the leader of a new session and process group, so that both can be signalled as one.
pub fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    checked(unsafe { libc::setsid() }).map(drop)
}

/// Reaps one ended child, without waiting.
pub fn wait_any() -> io::Result<WaitResult> {
    let mut status = 0;
    // SAFETY: `status` is a valid place to write to.
    match checked(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) }) {
        Ok(0) => Ok(WaitResult::Running),
        Ok(pid) => Ok(WaitResult::Ended(pid, ExitStatus::from_raw(status))),
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(WaitResult::Childless),
        Err(error) => Err(error),
    }
}

/// Sends a signal to a process. If it has already ended, that is not an error.
pub fn kill(pid: Pid, signal: c_int) -> io::Result<()> {
    // SAFETY: takes integers.
    gone_is_fine(checked(unsafe { libc::kill(pid, signal) }))
}

/// Sends a signal to a process group. If it has already ended, that is not an error.
pub fn kill_group(group: Pid, signal: c_int) -> io::Result<()> {
    // SAFETY: takes integers.
    gone_is_fine(checked(unsafe { libc::killpg(group, signal) }))
}

fn gone_is_fine(answer: io::Result<c_int>) -> io::Result<()> {
    match answer {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(error),
        _ => Ok(()),
    }
}

/// CPU time and memory of several processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ResourceUsage {
    /// User CPU time, in seconds.
    pub user_s: f64,
    /// System CPU time, in seconds.
    pub system_s: f64,
    /// Peak resident memory of the largest process, in bytes.
    pub rss_bytes_peak: u64,
}

/// The usage of all children waited for, and of their descendants: getrusage(2).
pub fn children_usage() -> ResourceUsage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the struct; if it does not, zeroes are a valid value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    ResourceUsage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        rss_bytes_peak: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
    }
}

/// A set of signals.
fn signal_set(signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: sigemptyset initialises the set before sigaddset reads it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// Blocks the signals for the calling thread; they are read from a descriptor instead.
pub fn signal_descriptor(signals: &[c_int]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: `set` is initialised and outlives both calls; a new descriptor has no other owner.
    unsafe {
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Reads one signal from a [`signal_descriptor`], if one has arrived.
pub fn next_signal(descriptor: BorrowedFd<'_>) -> Option<c_int> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    let length = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the buffer has the length given; the struct is plain integers, valid when zeroed.
    unsafe {
        let got = libc::read(descriptor.as_raw_fd(), info.as_mut_ptr().cast(), length);
        (got == length as isize).then(|| info.assume_init().ssi_signo.cast_signed())
    }
}

/// Installs `handler` for the signal. System calls it interrupts are restarted, except polls and sleeps.
pub fn handle_signal(signal: c_int, handler: extern "C" fn(c_int)) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed action is a valid one; the handler has the signature that its flags require.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = handler as *const () as usize;
        (*action.as_mut_ptr()).sa_flags = libc::SA_RESTART;
        checked(libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut())).map(drop)
    }
}

/// Gives the signals that ask a command to end their default action: one of them ends this process from now on.
pub fn end_by_signals() {
    for signal in end_signals() {
        // SAFETY: the default action involves no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The signals that ask a command to end: Ctrl-C, termination and, except under nohup, the end of its terminal.
pub fn end_signals() -> Vec<c_int> {
    let mut hangup = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads the action of a signal into a struct that is valid when zeroed.
    let is_ignored = unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), hangup.as_mut_ptr());
        hangup.assume_init().sa_sigaction == libc::SIG_IGN
    };
    let hangup = (!is_ignored).then_some(libc::SIGHUP);
    [libc::SIGINT, libc::SIGTERM].into_iter().chain(hangup).collect()
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error, where it would end this process by SIGXFSZ.
/// Programs that this process starts keep the default: a handler does not outlive exec.
pub fn survive_size_limit() -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    handle_signal(libc::SIGXFSZ, nothing)
}

/// Unblocks every signal; for a child between fork and exec.
pub fn unblock_signals() -> io::Result<()> {
    let none = signal_set(&[]);
    // SAFETY: `none` is initialised.
    checked(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) }).map(drop)
}

/// Waits until one of the descriptors is readable or at its end, at most `limit`; returns which. A signal ends the wait
/// early. A negative descriptor is skipped.
pub fn poll_readable<const N: usize>(
    descriptors: [RawFd; N],
    limit: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up: a wait of less than a millisecond must not turn into a busy loop.
    let limit = limit.map_or(-1, |limit| limit.as_micros().div_ceil(1000).min(i32::MAX as u128) as c_int);
    // SAFETY: the array is valid for its length.
    match checked(unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, limit) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(error) => Err(error),
        Ok(_) => Ok(polled.map(|one| one.revents != 0)),
    }
}

/// Marks every descriptor from `first` on to be closed by the next exec, including those opened by other code.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    close_range(first, libc::CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from `first` on.
///
/// # Safety
/// No code in this process uses any of them any more.
pub unsafe fn close_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

fn close_range(first: u32, flags: u32) -> io::Result<()> {
    // SAFETY: takes integers. Called through syscall(2), since older C libraries have no wrapper.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a number is an open descriptor.
pub fn is_open(fd: RawFd) -> bool {
    // SAFETY: F_GETFD reads a flag of any descriptor, or fails.
    fd >= 0 && unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0
}

/// Keeps the descriptor open over the next exec.
pub fn keep_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes integers.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }).map(drop)
}

/// Makes an open file the standard input, also over the next exec.
pub fn set_standard_input(file: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes integers; standard input has no owner that would close it.
    checked(unsafe { libc::dup2(file.as_raw_fd(), libc::STDIN_FILENO) }).map(drop)
}

/// Makes reads of the descriptor non-blocking.
pub fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    // SAFETY: takes integers.
    let flags = checked(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
    // SAFETY: takes integers.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) }).map(drop)
}

/// Raises the soft limit of open files to the hard limit.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        checked(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        checked(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit)).map(drop)
    }
}

/// Sets the soft limit on file locks, which Linux has not enforced since 2.4.25: getrlimit(2).
pub(crate) fn set_file_locks(soft: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        checked(libc::getrlimit(libc::RLIMIT_LOCKS, &raw mut limit))?;
        limit.rlim_cur = soft;
        checked(libc::setrlimit(libc::RLIMIT_LOCKS, &raw const limit)).map(drop)
    }
}

/// Raises both limits of open files to `least`, unless they are higher; returns the hard limit before and after. Only
/// root may raise the hard limit.
pub fn raise_open_files_to(least: u64) -> io::Result<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        checked(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        let before = limit.rlim_max;
        limit.rlim_max = before.max(least);
        limit.rlim_cur = limit.rlim_cur.max(least);
        checked(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
        Ok((before, limit.rlim_max))
    }
}

/// The limit of open files for a process that raises its soft limit to the hard limit.
pub fn max_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for the call.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok(limit.rlim_max)
}

/// Restricts the calling thread, and the processes it starts, to these cores.
pub fn set_affinity(cores: &[u32]) -> io::Result<()> {
    // SAFETY: a zeroed set is an empty one, CPU_SET stays inside it, and the size is the set's own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in cores.iter().filter(|core| **core < libc::CPU_SETSIZE as u32) {
            libc::CPU_SET(*core as usize, &mut set);
        }
        checked(libc::sched_setaffinity(0, size_of_val(&set), &raw const set)).map(drop)
    }
}

/// The cores the calling thread may run on, ascending.
pub fn affinity() -> io::Result<Vec<u32>> {
    affinity_of(0)
}

/// The cores that a process may run on, ascending; for 0 those of the calling thread.
pub fn affinity_of(pid: Pid) -> io::Result<Vec<u32>> {
    // SAFETY: the kernel fills the set, whose size is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        checked(libc::sched_getaffinity(pid, size_of_val(&set), &raw mut set))?;
        set
    };
    // SAFETY: CPU_ISSET stays inside the set.
    Ok((0..libc::CPU_SETSIZE as u32)
        .filter(|core| unsafe { libc::CPU_ISSET(*core as usize, &set) })
        .collect())
}

/// A pipe whose ends are closed on exec: the read end, the write end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// The monotonic clock, in nanoseconds: the clock of the generator's events.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The monotonic clock that does not stand still while the machine is suspended, in nanoseconds.
pub(crate) fn boottime_ns() -> u64 {
    clock_ns(libc::CLOCK_BOOTTIME)
}

/// The time of a clock that every Linux has, in nanoseconds.
fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid; such a clock cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process at the other end of a Unix socket, as reported by the kernel: the one that listened or connected. 0 for
/// a process in a PID namespace that is not visible from here.
pub fn peer_process(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `peer`, which has that size.
    checked(unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        libc::getsockopt(socket.as_raw_fd(), level, option, (&raw mut peer).cast(), &raw mut length)
    })?;
    Ok(peer.pid.cast_unsigned())
}

/// Clock ticks per second, the unit of CPU times under `/proc`.
pub fn ticks_per_s() -> f64 {
    // SAFETY: takes an integer.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

/// The size of a memory page in bytes, the unit of resident memory under `/proc`.
pub fn page_bytes() -> u64 {
    // SAFETY: takes an integer.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}
