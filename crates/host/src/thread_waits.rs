//! Where the threads of processes wait: the system call that each of them is in, looked at many times.
//!
//! `/proc/PID/task/TID/syscall` has the call of a thread that is not running, with its arguments: a descriptor leads to a
//! file or a socket. Threads that wait for a request (accept, epoll, reading from a client) are left out. Event loops are
//! counted if they wait for a timer too. The kernel shows the file to those who may trace the process: root, or its user
//! where kernel.yama.ptrace_scope permits it. It also counts for each socket what was sent to other services over TCP.

use crate::private_network::in_network_of;
use crate::proc_sockets;
use crate::process;
use crate::sock_diag::{self, SentSegments};
use crate::system::Pid;
use paceline_record::{LoopTimers, ServerWaits, ServiceCalls, ThreadWait, WaitKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;

/// Threads that are looked at, at most: more cost too much. Of a server with more, each look takes others of them.
const MAX_THREADS: usize = 256;
/// Looks from one reading of the processes' connections to the next: large tables of TCP take milliseconds.
const LOOKS_PER_TABLE: u32 = 10;
/// The port of name servers.
const NAME_SERVER: u16 = 53;
/// Waits of fewer threads than this, on average, are left out.
const MIN_THREADS: f64 = 0.05;
/// Waits and services that are kept, at most.
const KEPT: usize = 10;
/// Timers of event loops that are due later, in milliseconds, are time limits of connections and requests.
const MAX_TIMER_MS: u32 = 1_000;
/// Messages for each request below this are those of connections being checked.
const MIN_MESSAGES: f64 = 0.05;

/// Looks at the threads of some processes.
#[derive(Debug)]
pub struct WaitSampler {
    pids: Vec<Pid>,
    /// The ports on which they listen: connections to these are clients'.
    ports: Vec<u16>,
    looks: u32,
    /// How many threads each one that is looked at stands for.
    weight: u64,
    /// Threads of all looks together.
    threads: BTreeMap<(WaitKind, String), u64>,
    loops: LoopCount,
    sockets: HashMap<u64, Ends>,
    /// Segments with data that each socket had sent at the start.
    sent_before: HashMap<u64, u32>,
    /// For each socket the service, and the segments with data that it had sent when it was last read.
    sent_last: HashMap<u64, (SocketAddr, u32)>,
}

/// Event loops that waited for a timer, of all looks together.
#[derive(Clone, Copy, Debug, Default)]
struct LoopCount {
    threads: u64,
    /// The sum of the times for which they asked to wait.
    milliseconds: u64,
}

/// The local port and the remote end of a socket.
type Ends = (u16, SocketAddr);

impl WaitSampler {
    /// Begins with these processes.
    pub fn begin(pids: Vec<Pid>) -> Self {
        let ports = crate::port::ports_of(&pids);
        let mut sampler = Self {
            pids,
            ports,
            looks: 0,
            weight: 1,
            threads: BTreeMap::new(),
            loops: LoopCount::default(),
            sockets: HashMap::new(),
            sent_before: HashMap::new(),
            sent_last: HashMap::new(),
        };
        sampler.sent_before =
            sampler.sent_now().into_iter().map(|(socket, _)| (socket.inode, socket.segments)).collect();
        sampler
    }

    /// Looks at every thread once, or at a part of very many.
    pub fn look(&mut self) {
        if self.looks.is_multiple_of(LOOKS_PER_TABLE) {
            self.sockets.clear();
            self.add_sockets("tcp");
            // Connections for one request may be gone at the end.
            self.end();
        }
        // A name lookup opens a socket for milliseconds: it may be closed when all threads have been looked at.
        self.add_sockets("udp");
        let threads: Vec<(Pid, Pid)> = self
            .pids
            .iter()
            .flat_map(|pid| process::threads(*pid).into_iter().map(move |id| (*pid, id)))
            .collect();
        let (first, step) = part_of(threads.len(), self.looks);
        self.weight = step as u64;
        self.looks += 1;
        let mut links: Vec<String> = Vec::new();
        for (pid, thread) in threads.into_iter().skip(first).step_by(step) {
            let Some(text) = process::file(pid, &format!("task/{thread}/syscall")) else { continue };
            match SystemCall::parse(&text).map(|call| call.wait()) {
                Some(Wait::Lock) => self.count(WaitKind::Lock, String::new()),
                Some(Wait::Time) => self.count(WaitKind::Timer, String::new()),
                Some(Wait::Descriptor(descriptor)) => links.extend(descriptor_link(pid, descriptor)),
                Some(Wait::Poll { list, length }) => {
                    let polled = polled(pid, list, length);
                    links.extend(polled.and_then(|descriptor| descriptor_link(pid, descriptor)));
                }
                Some(Wait::Events { milliseconds }) => self.loops.add(milliseconds, self.weight),
                Some(Wait::EventsUntil { length }) => {
                    self.loops.add(timer_milliseconds(pid, length).unwrap_or(0), self.weight);
                }
                Some(Wait::Request) | None => {}
            }
        }
        self.count_descriptors(links);
    }

    /// Reads what was sent until now. To be called at the end of the load, while its connections are open.
    pub fn end(&mut self) {
        let sent = self.sent_now().into_iter();
        self.sent_last.extend(sent.map(|(socket, (_, remote))| (socket.inode, (remote, socket.segments))));
    }

    /// What was seen, for a load with so many valid responses since the start, at this rate; `None` if the kernel shows
    /// nothing of these processes.
    pub fn finish(self, responses: u64, achieved_per_s: f64) -> Option<ServerWaits> {
        let per_request = |segments: u64| segments as f64 / responses.max(1) as f64;
        let mut sent: BTreeMap<SocketAddr, u64> = BTreeMap::new();
        for (inode, (remote, segments)) in self.sent_last {
            let before = self.sent_before.get(&inode).copied().unwrap_or(0);
            *sent.entry(remote).or_default() += u64::from(segments.saturating_sub(before));
        }
        let mut calls: Vec<ServiceCalls> = sent
            .into_iter()
            .map(|(remote, segments)| ServiceCalls {
                address: remote.to_string(),
                messages_per_request: per_request(segments),
            })
            .filter(|calls| calls.messages_per_request >= MIN_MESSAGES)
            .collect();
        calls.sort_by(|one, other| other.messages_per_request.total_cmp(&one.messages_per_request));
        calls.truncate(KEPT);
        let looks = f64::from(self.looks.max(1));
        let mut waits: Vec<ThreadWait> = self
            .threads
            .into_iter()
            .map(|((kind, on), threads)| ThreadWait { kind, on, threads: threads as f64 / looks })
            .filter(|wait| wait.threads >= MIN_THREADS)
            .collect();
        waits.sort_by(|one, other| other.threads.total_cmp(&one.threads));
        waits.truncate(KEPT);
        let first = *self.pids.first()?;
        let is_shown = process::file(first, &format!("task/{first}/syscall")).is_some();
        (is_shown || !calls.is_empty()).then_some(ServerWaits {
            looks: self.looks,
            achieved_per_s,
            waits,
            calls,
            loop_timers: self.loops.means(looks),
        })
    }

    fn count(&mut self, kind: WaitKind, on: String) {
        *self.threads.entry((kind, on)).or_default() += self.weight;
    }

    /// Counts threads that wait at what these descriptors lead to, except for those that wait for a client or a part of
    /// the program.
    fn count_descriptors(&mut self, links: Vec<String>) {
        let mut sockets = Vec::new();
        for link in links {
            if let Some(inode) = link.strip_prefix("socket:[") {
                sockets.extend(inode.strip_suffix(']').and_then(|inode| inode.parse::<u64>().ok()));
            } else if link.starts_with('/') && !link.starts_with("/dev/") {
                self.count(WaitKind::File, link);
            }
        }
        // Sockets that were opened since. Those of UDP are read first: name lookups may end while TCP's are read.
        for protocol in ["udp", "tcp"] {
            if sockets.iter().any(|inode| !self.sockets.contains_key(inode)) {
                self.add_sockets(protocol);
            }
        }
        let known = sockets.iter().filter_map(|inode| self.sockets.get(inode));
        let services: Vec<Ends> = known.filter(|ends| self.is_to_service(ends)).copied().collect();
        for (_, remote) in services {
            let kind = if remote.port() == NAME_SERVER { WaitKind::NameLookup } else { WaitKind::Service };
            self.count(kind, remote.to_string());
        }
    }

    /// Whether a socket was opened by the processes, to another service.
    fn is_to_service(&self, (local, remote): &Ends) -> bool {
        !self.ports.contains(local) && remote.port() != 0
    }

    /// Adds the sockets of a protocol (`tcp`, `udp`) in the network namespace of the processes.
    fn add_sockets(&mut self, protocol: &str) {
        let Some(first) = self.pids.first().copied() else { return };
        let sockets = proc_sockets::sockets(&first.to_string(), &[protocol]).into_iter();
        self.sockets.extend(sockets.map(|socket| (socket.inode, (socket.local.port(), socket.remote))));
    }

    /// The connections of the processes to services, with what was sent on each. The kernel is asked in the network
    /// namespaces of the processes: a container has another one than this process.
    fn sent_now(&self) -> Vec<(SentSegments, Ends)> {
        let own: HashSet<u64> = self.pids.iter().flat_map(|pid| crate::port::sockets_of(*pid)).collect();
        let networks = crate::port::one_of_each_network(&self.pids).into_iter();
        let sockets =
            networks.flat_map(|pid| in_network_of(pid, sock_diag::sent_segments).unwrap_or_default());
        let with_ends = sockets.filter(|socket| own.contains(&socket.inode)).map(|socket| {
            let ends = (socket.local_port, socket.remote);
            (socket, ends)
        });
        with_ends.filter(|(_, ends)| self.is_to_service(ends)).collect()
    }
}

impl LoopCount {
    /// Counts a thread, which stands for so many, that asked to wait for events for so long, if a timer may be the
    /// reason.
    fn add(&mut self, milliseconds: u32, weight: u64) {
        if (1..=MAX_TIMER_MS).contains(&milliseconds) {
            self.threads += weight;
            self.milliseconds += weight * u64::from(milliseconds);
        }
    }

    /// The means over so many looks; none if hardly any thread was seen.
    fn means(self, looks: f64) -> Option<LoopTimers> {
        let threads = self.threads as f64 / looks;
        let due_ns_mean = self.milliseconds as f64 * 1e6 / self.threads.max(1) as f64;
        (threads >= MIN_THREADS).then_some(LoopTimers { threads, due_ns_mean })
    }
}

/// Which of so many threads a look takes: the first, and the distance to the next. Looks that follow each other take
/// each thread equally often.
fn part_of(threads: usize, look: u32) -> (usize, usize) {
    let step = threads.div_ceil(MAX_THREADS).max(1);
    (look as usize % step, step)
}

/// The system call that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SystemCall {
    number: i64,
    arguments: [u64; 4],
}

/// What a thread in a system call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Lock,
    Time,
    Descriptor(i32),
    Poll {
        list: u64,
        length: u64,
    },
    /// Events of several descriptors for so long, 0 for as long as it takes.
    Events {
        milliseconds: u32,
    },
    /// The same, with the address of the `timespec`.
    EventsUntil {
        length: u64,
    },
    /// The next request, or something that is not known.
    Request,
}

impl SystemCall {
    /// Reads `/proc/PID/task/TID/syscall`: the number, six arguments, two registers. A running thread has only the word
    /// `running`, one that is outside of a call -1.
    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split_ascii_whitespace();
        let number = fields.next()?.parse().ok()?;
        let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
        Some(Self { number, arguments: [argument()?, argument()?, argument()?, argument()?] })
    }

    fn wait(self) -> Wait {
        let [first, second, _, fourth] = self.arguments;
        let descriptor = || i32::try_from(first).map_or(Wait::Request, Wait::Descriptor);
        match self.number {
            libc::SYS_futex => Wait::Lock,
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Wait::Time,
            libc::SYS_ppoll => polling(first, second),
            libc::SYS_pselect6 if first == 0 => Wait::Time,
            libc::SYS_epoll_pwait => events(fourth),
            libc::SYS_epoll_pwait2 => Wait::EventsUntil { length: fourth },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => events(fourth),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => polling(first, second),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select if first == 0 => Wait::Time,
            libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_pread64
            | libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_pwrite64
            | libc::SYS_fsync
            | libc::SYS_fdatasync
            | libc::SYS_sync_file_range
            | libc::SYS_flock
            | libc::SYS_fcntl
            | libc::SYS_sendfile
            | libc::SYS_connect
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_sendto
            | libc::SYS_sendmsg => descriptor(),
            _ => Wait::Request,
        }
    }
}

fn polling(list: u64, length: u64) -> Wait {
    if length == 0 { Wait::Time } else { Wait::Poll { list, length } }
}

/// The wait of `epoll_wait`, whose last argument is an `int`: -1 for as long as it takes. The upper half of its register
/// means nothing.
fn events(milliseconds: u64) -> Wait {
    let milliseconds = (milliseconds as u32).cast_signed();
    Wait::Events { milliseconds: u32::try_from(milliseconds).unwrap_or(0) }
}

/// The length of a wait in the memory of a process, rounded up; none without a limit.
fn timer_milliseconds(pid: Pid, length: u64) -> Option<u32> {
    if length == 0 {
        return None;
    }
    // `struct timespec`: seconds, nanoseconds.
    let mut bytes = [0; 16];
    fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut bytes, length).ok()?;
    let [seconds, nanoseconds] = [0, 8].map(|at| i64_at(&bytes, at));
    let milliseconds =
        seconds.checked_mul(1_000)?.checked_add(nanoseconds.checked_add(999_999)? / 1_000_000)?;
    u32::try_from(milliseconds).ok()
}

fn i64_at(bytes: &[u8; 16], at: usize) -> i64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    i64::from_ne_bytes(number)
}

/// What a descriptor of a process leads to: the path of a file, or a socket as `socket:[INODE]`.
fn descriptor_link(pid: Pid, descriptor: i32) -> Option<String> {
    fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?.into_os_string().into_string().ok()
}

/// The descriptor that a thread polls, if it is the only one (or one of two: resolvers ask for both kinds of addresses).
fn polled(pid: Pid, list: u64, length: u64) -> Option<i32> {
    if length > 2 {
        return None;
    }
    // `struct pollfd` begins with the descriptor: poll(2).
    let mut descriptor = [0; 4];
    fs::File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut descriptor, list).ok()?;
    Some(i32::from_ne_bytes(descriptor))
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    let _ = SystemCall::parse(text).map(SystemCall::wait);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd as _;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn system_calls_are_read_with_their_arguments() {
        let wait = |text: &str| SystemCall::parse(text).map(SystemCall::wait);
        let line =
            |number: i64, first: u64| format!("{number} {first:#x} 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00\n");
        assert_eq!(wait(&line(libc::SYS_futex, 0x7f10)), Some(Wait::Lock));
        assert_eq!(wait(&line(libc::SYS_fsync, 5)), Some(Wait::Descriptor(5)));
        assert_eq!(wait(&line(libc::SYS_clock_nanosleep, 0)), Some(Wait::Time));
        assert_eq!(wait(&line(libc::SYS_ppoll, 0x7f10)), Some(Wait::Time), "no descriptor");
        assert_eq!(wait(&line(libc::SYS_accept4, 3)), Some(Wait::Request));
        assert_eq!((wait("running\n"), wait("-1 0x7ffe 0x7f00\n"), wait("")), (None, None, None));
        let events =
            |limit: &str| wait(&format!("{} 0x5 0x7f10 0x400 {limit} 0x0 0x8", libc::SYS_epoll_pwait));
        assert_eq!(events("0x14"), Some(Wait::Events { milliseconds: 20 }));
        let endless = Some(Wait::Events { milliseconds: 0 });
        assert_eq!((events("0xffffffff"), events("0xffffffffffffffff")), (endless, endless));
    }

    #[test]
    fn the_length_of_a_wait_is_read_from_memory() {
        let waits = [[0i64, 1_500_000], [2, 0], [-1, 0], [i64::MAX, 0]];
        let read = |wait: &[i64; 2]| timer_milliseconds(process::own(), wait.as_ptr() as u64);
        assert_eq!(waits.each_ref().map(read), [Some(2), Some(2_000), None, None]);
        assert_eq!(timer_milliseconds(process::own(), 0), None);
    }

    #[test]
    fn the_polled_descriptor_is_read_from_memory() {
        // A `struct pollfd`: the descriptor, and the events of two shorts.
        let list = [7i32, 1];
        let polled = |length| polled(process::own(), list.as_ptr() as u64, length);
        assert_eq!((polled(1), polled(2), polled(3)), (Some(7), Some(7), None));
    }

    #[test]
    fn loops_with_a_timer_are_counted_and_those_with_a_time_limit_are_not() {
        let mut loops = LoopCount::default();
        [1, 3, 0, 30_000].into_iter().for_each(|milliseconds| loops.add(milliseconds, 1));
        let expected = LoopTimers { threads: 0.5, due_ns_mean: 2e6 };
        assert_eq!((loops.means(4.0), loops.means(1_000.0)), (Some(expected), None));
        loops.add(2, 8);
        let expected = LoopTimers { threads: 2.5, due_ns_mean: 2e6 };
        assert_eq!(loops.means(4.0), Some(expected), "one of 2,000 threads stands for eight");
    }

    #[test]
    fn looks_take_each_of_many_threads_equally_often() {
        for threads in [0, 1, MAX_THREADS, MAX_THREADS + 1, 2_000] {
            let (_, step) = part_of(threads, 0);
            let mut taken: Vec<usize> = Vec::new();
            for look in 0..step as u32 {
                let (first, step) = part_of(threads, look);
                let part: Vec<usize> = (0..threads).skip(first).step_by(step).collect();
                assert!(part.len() <= MAX_THREADS, "{threads}");
                taken.extend(part);
            }
            taken.sort_unstable();
            assert_eq!(taken, (0..threads).collect::<Vec<_>>());
        }
    }

    /// Looks until these are seen. The threads of this process may always be looked at.
    fn look_until(sampler: &mut WaitSampler, wanted: impl Fn(&(WaitKind, String)) -> bool) {
        for _ in 0..20_000 {
            sampler.look();
            if sampler.threads.keys().any(&wanted) {
                return;
            }
            std::thread::yield_now();
        }
        panic!("not seen among {:?}", sampler.threads);
    }

    #[test]
    fn threads_are_seen_at_a_lock_a_timer_and_a_service() {
        let service = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = service.local_addr().unwrap().to_string();
        let to_service = TcpStream::connect(&address).unwrap();
        let (mut from_client, _) = service.accept().unwrap();
        to_service.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // This process is also the service: its port is not one that the sampled server listens on.
        drop(service);
        let mut sampler = WaitSampler::begin(vec![process::own()]);
        let (lock, is_over) = (Mutex::new(()), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let held = lock.lock().unwrap();
            (0..2).for_each(|_| _ = scope.spawn(|| drop(lock.lock())));
            scope.spawn(|| (&to_service).read_exact(&mut [0; 4]).unwrap());
            scope.spawn(|| {
                // Ends if the test fails, too.
                for _ in (0..1_000).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            look_until(&mut sampler, |(kind, _)| *kind == WaitKind::Timer);
            look_until(&mut sampler, |(kind, _)| *kind == WaitKind::Lock);
            look_until(&mut sampler, |(kind, on)| *kind == WaitKind::Service && *on == address);
            (&to_service).write_all(b"1").unwrap();
            from_client.write_all(b"1234").unwrap();
            is_over.store(true, Ordering::Relaxed);
            drop(held);
        });
        sampler.end();
        let waits = sampler.finish(1, 10.0).unwrap();
        assert!(waits.looks > 0 && waits.achieved_per_s == 10.0, "{waits:?}");
        let calls: Vec<f64> = waits
            .calls
            .iter()
            .filter(|calls| calls.address == address)
            .map(|calls| calls.messages_per_request)
            .collect();
        assert_eq!(calls, [1.0], "{waits:?}");
    }

    #[test]
    fn a_polled_name_server_is_a_name_lookup() {
        let mut sampler = WaitSampler::begin(vec![process::own()]);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // No packet is sent: a connected datagram socket only has an address.
        socket.connect("127.0.0.53:53").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| socket.recv(&mut [0; 4]));
            look_until(&mut sampler, |(kind, on)| *kind == WaitKind::NameLookup && on == "127.0.0.53:53");
        });
    }

    #[test]
    fn a_name_lookup_that_ends_during_a_look_is_counted() {
        let mut sampler = WaitSampler::begin(vec![process::own()]);
        let connected = |name_server: &str| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(name_server).unwrap();
            socket
        };
        let link = |socket: &UdpSocket| descriptor_link(process::own(), socket.as_raw_fd()).unwrap();
        let ending = connected("127.0.0.54:53");
        sampler.look();
        let links = vec![link(&ending)];
        drop(ending);
        sampler.count_descriptors(links);
        // One that begins during a look is found by reading the sockets again.
        let beginning = connected("127.0.0.55:53");
        sampler.count_descriptors(vec![link(&beginning)]);
        for name_server in ["127.0.0.54:53", "127.0.0.55:53"] {
            let seen = sampler.threads.get(&(WaitKind::NameLookup, name_server.to_owned()));
            assert_eq!(seen, Some(&1), "{name_server}");
        }
    }
}
