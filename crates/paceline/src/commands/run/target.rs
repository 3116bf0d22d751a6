//! Flags of the target: where to connect, and TLS.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_job::{IpVersion, Job, Proxy, TlsVersion};
use std::path::PathBuf;

/// Where to connect, and TLS.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Target")]
pub struct TargetFlags {
    /// Connect to a unix socket; the URL still sets the path and host to request
    #[arg(hide_short_help = true, long, value_name = "PATH", conflicts_with_all = ["resolve", "ipv4", "ipv6", "source"])]
    unix_socket: Option<PathBuf>,

    /// Addresses of this host and port; may be repeated
    ///
    /// The name is not looked up then.
    #[arg(hide_short_help = true, long, value_name = "HOST:PORT:ADDR,...")]
    resolve: Vec<String>,

    /// Spread connections over all addresses of the host
    ///
    /// Without it, all go to the first that accepts one.
    #[arg(hide_short_help = true, long)]
    spread: bool,

    /// Connect to TO, HOST2:PORT2, instead of HOST:PORT
    ///
    /// Path and Host header still come from the URL. An empty HOST or PORT matches any, an empty HOST2 or PORT2 keeps the URL's. Example: ::127.0.0.1:8443. TO may list several for --spread: ::127.0.0.1:8081,127.0.0.1:8082.
    #[arg(hide_short_help = true, long, value_name = "HOST:PORT:TO", conflicts_with = "unix_socket")]
    connect_to: Option<String>,

    /// Send requests through an HTTP proxy: http://[USER:PASS@]HOST:PORT
    ///
    /// Requests for http:// are sent to the proxy; for https:// the proxy opens a tunnel (CONNECT) on each connection.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "URL",
        value_parser = Proxy::parse,
        conflicts_with_all = ["unix_socket", "connect_to", "resolve"]
    )]
    pub proxy: Option<Proxy>,

    /// Local addresses to connect from, in turn: 127.0.0.2,127.0.0.3 or 127.0.1.0/28
    ///
    /// Without it the kernel chooses the address; over loopback Paceline uses as many addresses as are needed to have
    /// enough ports.
    #[arg(hide_short_help = true, long, value_name = "ADDR[,ADDR|/PREFIX]")]
    source: Option<String>,

    /// Show CPU, memory and threads of these processes
    ///
    /// And of their children. Without it, of the processes that listen on the port, if they are on this machine.
    /// The servers on this machine to which it has connections, such as an application behind a proxy, are shown too.
    #[arg(hide_short_help = true, long, value_name = "PID[,PID]", value_delimiter = ',', conflicts_with_all = ["loaders", "on"])]
    pub pid: Vec<u32>,

    /// Connect only to IPv4 addresses of the host
    #[arg(hide_short_help = true, short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,

    /// Connect only to IPv6 addresses of the host
    #[arg(hide_short_help = true, short = '6', long)]
    ipv6: bool,

    /// Do not check the server's certificate
    #[arg(hide_short_help = true, short = 'k', long, conflicts_with = "cacert")]
    insecure: bool,

    /// Trust this file's certificates (PEM), not the system's
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    cacert: Option<PathBuf>,

    /// Client certificate for a server that requests one (PEM, with its chain)
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    cert: Option<PathBuf>,

    /// The client certificate's key (PEM) [default: in the file of --cert]
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Server name to send in the TLS handshake (SNI) and to check in the certificate [default: the URL's host]
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    sni: Option<String>,

    /// The only version of TLS to offer [default: 1.2 and 1.3]
    #[arg(hide_short_help = true, long, value_enum, value_name = "VERSION")]
    tls_version: Option<TlsVersion>,

    /// Do not resume TLS sessions: every handshake is a full one
    #[arg(hide_short_help = true, long)]
    no_tls_resumption: bool,

    /// Send GET and HEAD in resumed handshakes (0-RTT); --http 3
    ///
    /// TLS early data. Needs a server whose tickets allow it, and connections that are made during the run, as with
    /// --no-keepalive. Requests that the server does not accept early are sent again after the handshake; their times
    /// count from the first send.
    #[arg(hide_short_help = true, long)]
    early_data: bool,
}

/// A URL without the user name and password in it, and these as the value of `Authorization` (RFC 7617), as curl and
/// browsers send them.
pub fn without_user_info(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), None) };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let Some(at) = authority.rfind('@') else { return (url.to_owned(), None) };
    let user_info = &authority[..at];
    let mut credentials = percent_decoded(user_info);
    if !user_info.contains(':') {
        // A password that is left out is empty (RFC 7617 section 2).
        credentials.push(b':');
    }
    let field = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    (format!("{scheme}://{}", &rest[at + 1..]), Some(field).filter(|_| !user_info.is_empty()))
}

/// The bytes of a percent-encoded text (RFC 3986 section 2.1).
fn percent_decoded(text: &str) -> Vec<u8> {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.first_chunk::<2>().and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    decoded
}

impl TargetFlags {
    /// Puts the flags that were given into a job.
    pub fn fill(&self, job: &mut Job) {
        let Self { unix_socket, resolve, source, ipv4, ipv6, .. } = self;
        if unix_socket.is_some() {
            job.unix_socket.clone_from(unix_socket);
        }
        if !resolve.is_empty() {
            job.resolve.clone_from(resolve);
        }
        job.spread |= self.spread;
        if self.connect_to.is_some() {
            job.connect_to.clone_from(&self.connect_to);
        }
        if self.proxy.is_some() {
            job.proxy.clone_from(&self.proxy);
        }
        if source.is_some() {
            job.source.clone_from(source);
        }
        match (ipv4, ipv6) {
            (true, _) => job.ip_version = Some(IpVersion::V4),
            (false, true) => job.ip_version = Some(IpVersion::V6),
            (false, false) => {}
        }
        self.fill_tls(job);
    }

    fn fill_tls(&self, job: &mut Job) {
        let Self { insecure, cacert, cert, key, sni, tls_version, no_tls_resumption, early_data, .. } = self;
        let tls = &mut job.tls;
        tls.insecure |= insecure;
        tls.no_resumption |= no_tls_resumption;
        tls.early_data |= early_data;
        for (file, given) in
            [(&mut tls.ca_file, cacert), (&mut tls.cert_file, cert), (&mut tls.key_file, key)]
        {
            if given.is_some() {
                file.clone_from(given);
            }
        }
        if sni.is_some() {
            tls.server_name.clone_from(sni);
        }
        tls.version = tls_version.or(tls.version);
    }
}
