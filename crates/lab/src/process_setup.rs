//! How the process of a launch is started: a command of a manifest, or the files of an image.

use crate::node::LaunchOrder;
use crate::provision::ImageLaunch;
use paceline_catalogue::Variables;
use paceline_host::User;
use paceline_host::shepherd::FileView;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

/// What differs between a command and an image.
pub(crate) struct ProcessSetup {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder of the machine that it starts in.
    pub folder: PathBuf,
    /// Its variables, beside those that it inherits.
    pub env: BTreeMap<String, String>,
    /// The file system as it sees it, if that differs from the machine's.
    pub view: Option<FileView>,
    /// The user that it runs as; `None` for the lab's own.
    pub user: Option<User>,
}

impl ProcessSetup {
    /// The setup for a launch, where servers run as `user`.
    ///
    /// # Errors
    /// In words: a variable of the environment is not text, or an image has no user to run as.
    pub fn new(order: &LaunchOrder, variables: &Variables, user: Option<&User>) -> Result<Self, String> {
        let has_view = order.image.is_some() || !order.hosts.is_empty();
        let root = order.image.as_ref().map(|image| image.root.clone());
        let view = has_view.then(|| FileView { hosts: hosts(order), root });
        Ok(match &order.image {
            Some(image) => Self {
                command: image.argv.clone(),
                folder: PathBuf::from("/"),
                env: image_environment(image, &order.env, variables),
                view,
                user: if image.is_root { None } else { unprivileged(user)? },
            },
            None => Self {
                command: ["sh", "-c", &order.command].map(str::to_owned).into(),
                folder: order.folder.clone(),
                env: environment(&order.env, variables)?,
                view,
                user: user.cloned(),
            },
        })
    }
}

/// The user of an image without the right `root`: that of servers, or the usual one if these run as root.
fn unprivileged(user: Option<&User>) -> Result<Option<User>, String> {
    if user.is_some() {
        return Ok(user.cloned());
    }
    // It has no home in the image: see `Provisioner::image_launch`.
    User::for_servers(None, Path::new("/")).map_err(|_| {
        "there is no user to run a container as, neither `paceline` nor `nobody`: create one with useradd --system \
         paceline"
            .to_owned()
    })
}

/// The environment of an image, then the variables of a form. These may name the port, which is chosen for each launch.
fn image_environment(
    image: &ImageLaunch,
    own: &BTreeMap<String, String>,
    variables: &Variables,
) -> BTreeMap<String, String> {
    let own = own.iter().map(|(name, value)| (name.clone(), variables.expand(value)));
    image.env.clone().into_iter().chain(own).collect()
}

fn environment(
    own: &BTreeMap<String, String>,
    variables: &Variables,
) -> Result<BTreeMap<String, String>, String> {
    let text = |(name, value): (String, std::ffi::OsString)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(value) => Err(format!("the environment variable {name} is not valid UTF-8: {}", value.display())),
    };
    variables.with(own).into_iter().map(text).collect()
}

/// The host names of a server with their addresses: that of its database, if it has one.
fn hosts(order: &LaunchOrder) -> BTreeMap<String, IpAddr> {
    let database = order.variables.database.as_ref().and_then(|database| database.host.parse().ok());
    let address = database.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    order.hosts.iter().map(|name| (name.clone(), address)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_host::shepherd::ImageRoot;
    use std::time::Duration;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_variable_of_an_image_has_the_port_of_the_launch() {
        let variables = Variables {
            port: Some(20_001),
            host: "127.0.0.1".into(),
            build: "/b".into(),
            cores: 2,
            workloads: "/w".into(),
            static_files: "/s".into(),
            database: None,
        };
        let image = ImageLaunch {
            argv: vec!["app".into()],
            env: env(&[("PORT", "80"), ("PRICE", "$5")]),
            root: ImageRoot::default(),
            is_root: true,
        };
        let order = LaunchOrder {
            id: "a".into(),
            server: "go-app".into(),
            folder: "/x".into(),
            command: String::new(),
            env: env(&[("PORT", "$PACELINE_PORT")]),
            pass_env: Vec::new(),
            // A launch is ordered before its port is chosen.
            variables: Variables { port: None, ..variables.clone() },
            hosts: Vec::new(),
            image: Some(image),
            cores: Vec::new(),
            tcp_offsets: Vec::new(),
            udp_offsets: Vec::new(),
            start_timeout: Duration::from_secs(1),
        };
        let setup = ProcessSetup::new(&order, &variables, None).unwrap();
        assert_eq!(setup.env, env(&[("PORT", "20001"), ("PRICE", "$5")]));
    }
}
