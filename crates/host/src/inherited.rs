//! Which variables of this process's environment a program inherits that is measured, or that makes what is measured.
//!
//! The environment of a person contains secrets: the password of the results store, cloud credentials, access tokens.
//! Servers, balancers, databases and the commands that set up and build them get the variables listed here, which
//! tools need, and those that their manifest names. Load generators get everything: the user runs them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// The variables that a command inherits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InheritedVariables {
    /// All of them.
    All,
    /// Those that running programs need, without the settings of downloads.
    #[default]
    Running,
    /// Also the settings of downloads: proxies and package managers.
    Making,
}

/// Variables that programs need: by name, or by the beginning of the name up to the asterisk. The first lines are of
/// the system (environ(7), locale(7), tzset(3), ld.so(8)), then environment managers, then languages: where toolchains
/// are installed, and how their programs run. `SECURITY.md` describes the list.
const RUNNING: &str = "
    PATH HOME USER LOGNAME SHELL PWD TERM HOSTNAME LANG LANGUAGE LC_* TZ TZDIR
    TMPDIR TMP TEMP XDG_* LD_LIBRARY_PATH LD_PRELOAD MALLOC_* GLIBC_TUNABLES
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS DOCKER_HOST CONTAINER_HOST CONTAINERS_*
    NIX_* GUIX_* CONDA_* ASDF_* MISE_* NVM_DIR PYENV_* RBENV_* SDKMAN_DIR VOLTA_HOME
    MODULEPATH LOADEDMODULES EBROOT*
    RUST* CARGO_HOME GOROOT GOPATH GOTOOLCHAIN GODEBUG GOGC GOMEMLIMIT GOMAXPROCS GOAMD64
    GOARM64 CGO_* JAVA_* JDK_* GRAALVM_HOME M2_HOME SCALA_HOME SBT_* KOTLIN_HOME
    PYTHON* VIRTUAL_ENV GEM_HOME GEM_PATH RUBY* BUNDLE_PATH BUNDLE_GEMFILE NODE_* DENO_DIR
    BUN_INSTALL PHP_INI_SCAN_DIR PHPRC PERL5LIB PERL5OPT PERL_* ERL_* ELIXIR_* MIX_* HEX_HOME
    GHC* CABAL_DIR STACK_ROOT DOTNET_* MONO_* SWIFT* ZIG_* OPAM* OCAML* CAML_* JULIA_*
    LUA_* NIMBLE_DIR CRYSTAL_* DART_* PUB_CACHE LEIN_* CLJ_CONFIG R_HOME R_LIBS*";

/// Further variables for commands that download or build: proxies, in the forms that curl(1), apt-get(8) and languages'
/// tools read, and trusted authorities; then compilers and build tools (make(1), gcc(1), cmake(1), pkg-config(1)); then
/// package managers.
const MAKING: &str = "
    http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY
    ALL_PROXY NO_PROXY CURL_CA_BUNDLE CURL_HOME REQUESTS_CA_BUNDLE GIT_SSL_* GIT_PROXY_*
    GIT_CONFIG_* APT_CONFIG DEBIAN_*
    CC CXX CPP LD AR AS NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS
    CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH MAKE* CMAKE_* NINJA_* MESON_*
    PKG_CONFIG* CCACHE_* SCCACHE_DIR SOURCE_DATE_EPOCH VCPKG_* CONAN_*
    CARGO_* GO111MODULE GOBIN GOCACHE GOENV GOEXPERIMENT GOFLAGS GOMODCACHE GONOPROXY
    GONOSUMDB GOPRIVATE GOPROXY GOSUMDB GOINSECURE MAVEN_* GRADLE_* COURSIER_* IVY_* PIP_*
    PIPX_* UV_* POETRY_* BUNDLE_* npm_config_* NPM_CONFIG_* YARN_* PNPM_* COREPACK_* BUN_*
    DENO_* COMPOSER_* CPAN* HEX_* REBAR_* CABAL_* STACK_* NUGET_* NIMBLE_* SHARDS_*";

/// The variables of both lists whose values change what a build makes: where its tools are found, which version of them
/// a version manager chooses, and how they compile. The others say where files are kept, what is downloaded from where,
/// how much is done at a time and who the user is: they differ between jobs of a CI system whose builds are the same.
const CHANGING_BUILDS: &str = "
    PATH CC CXX CPP LD AR AS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBS CPATH C_INCLUDE_PATH
    CPLUS_INCLUDE_PATH LIBRARY_PATH MAKEFLAGS CMAKE_* MESON_* PKG_CONFIG* NIX_CFLAGS* NIX_LDFLAGS*
    RUSTC* RUSTFLAGS RUSTUP_TOOLCHAIN CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_* CARGO_PROFILE_*
    CARGO_TARGET_* CARGO_UNSTABLE_* CARGO_INCREMENTAL
    GOROOT GOTOOLCHAIN GOAMD64 GOARM64 GOFLAGS GOEXPERIMENT GO111MODULE CGO_*
    JAVA_HOME JAVA_TOOL_OPTIONS JDK_* GRAALVM_HOME SCALA_HOME KOTLIN_HOME MAVEN_ARGS MAVEN_OPTS
    GRADLE_OPTS SBT_OPTS
    NODE_ENV NODE_OPTIONS npm_config_omit npm_config_production NPM_CONFIG_OMIT
    NPM_CONFIG_PRODUCTION VIRTUAL_ENV CONDA_PREFIX PYENV_VERSION PYTHONPATH PYTHONOPTIMIZE
    RBENV_VERSION RUBYOPT BUNDLE_GEMFILE BUNDLE_WITH BUNDLE_WITHOUT ASDF_* DOTNET_ROOT MIX_ENV
    MIX_TARGET ERL_COMPILER_OPTIONS OPAMSWITCH OCAMLPARAM";

/// Parts of names that mean a secret. A name that only an asterisk covers is left out if it has one of them.
const SECRETS: [&str; 8] = ["TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "_KEY", "PWD"];

impl InheritedVariables {
    /// Those of `variables` that a command inherits, and those that `named` lists.
    pub fn select_from(
        &self,
        variables: impl Iterator<Item = (OsString, OsString)>,
        named: &[String],
    ) -> Vec<(OsString, OsString)> {
        let is_known = |name: &str| match self {
            InheritedVariables::All => true,
            InheritedVariables::Running => has(RUNNING, name),
            InheritedVariables::Making => has(RUNNING, name) || has(MAKING, name),
        };
        let is_inherited = |name: &OsStr| match name.to_str() {
            Some(name) => is_known(name) || named.iter().any(|named| named == name),
            None => *self == InheritedVariables::All,
        };
        variables.filter(|(name, _)| is_inherited(name)).collect()
    }
}

/// Of `variables`, those that a build inherits and that can change what it makes. What a variable does that `named`
/// lists is known to the user alone, so that these are among them too, but no secrets: a token is new in every CI job.
pub fn build_variables(
    variables: impl Iterator<Item = (OsString, OsString)>,
    named: &[String],
) -> BTreeMap<OsString, OsString> {
    let can_change = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        has(CHANGING_BUILDS, name) || (named.iter().any(|named| named == name) && !is_secret(name))
    };
    let inherited = InheritedVariables::Making.select_from(variables, named);
    inherited.into_iter().filter(|(name, _)| can_change(name)).collect()
}

fn has(list: &str, name: &str) -> bool {
    let is_meant = |known: &str| match known.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning) && !is_secret(name),
        None => name == known,
    };
    list.split_ascii_whitespace().any(is_meant)
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRETS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inherited(which: &InheritedVariables, named: &[&str], names: &[&str]) -> Vec<String> {
        let variables = names.iter().map(|name| ((*name).into(), "value".into()));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let names =
            which.select_from(variables, &named).into_iter().map(|(name, _)| name.into_string().unwrap());
        names.collect()
    }

    #[test]
    fn secrets_are_not_inherited() {
        let secret = [
            "PACELINE_STORE",
            "PGPASSWORD",
            "PGHOST",
            "PGUSER",
            "DATABASE_URL",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_OWN_TOKEN",
            "NODE_AUTH_TOKEN",
            "npm_config__authToken",
            "npm_config_//registry.example/:_password",
            "COMPOSER_AUTH",
            "HEX_API_KEY",
            "UV_PUBLISH_PASSWORD",
            "SSH_AUTH_SOCK",
            "MYSQL_PWD",
            "PACELINE_HOME",
            "BUNDLE_GITHUB__COM_TOKEN",
            "GOOGLE",
        ];
        for which in [InheritedVariables::Running, InheritedVariables::Making] {
            assert_eq!(inherited(&which, &[], &secret), [] as [&str; 0]);
        }
        assert_eq!(inherited(&InheritedVariables::All, &[], &secret), secret);
    }

    #[test]
    fn settings_of_tools_are_inherited() {
        let running =
            ["PATH", "HOME", "LANG", "LC_ALL", "PWD", "JAVA_HOME", "GOROOT", "PYTHONPATH", "RUSTUP_HOME"];
        let making = [
            "https_proxy",
            "NO_PROXY",
            "PIP_INDEX_URL",
            "npm_config_registry",
            "CFLAGS",
            "GOPROXY",
            "MAKEFLAGS",
        ];
        assert_eq!(inherited(&InheritedVariables::Running, &[], &running), running);
        assert_eq!(inherited(&InheritedVariables::Running, &[], &making), [] as [&str; 0]);
        let all = [&running[..], &making].concat();
        assert_eq!(inherited(&InheritedVariables::Making, &[], &all), all);
    }

    #[test]
    fn a_variable_that_is_named_is_inherited() {
        let names = ["LICENCE_KEY", "OTHER_KEY"];
        assert_eq!(inherited(&InheritedVariables::Running, &["LICENCE_KEY"], &names), ["LICENCE_KEY"]);
    }

    #[test]
    fn flags_and_tool_chains_change_builds_but_not_folders_and_tokens() {
        let names = ["RUSTFLAGS", "GOAMD64", "CC", "PATH", "HOME", "TMPDIR", "PROFILE", "A_TOKEN", "OTHER"];
        let variables = names.iter().map(|name| ((*name).into(), "value".into()));
        let named = ["PROFILE", "A_TOKEN"].map(str::to_owned);
        let changing = build_variables(variables, &named);
        let expected = ["CC", "GOAMD64", "PATH", "PROFILE", "RUSTFLAGS"];
        assert_eq!(changing.keys().map(|name| name.to_str().unwrap()).collect::<Vec<_>>(), expected);
        for known in CHANGING_BUILDS.split_ascii_whitespace() {
            let name = known.replace('*', "X");
            assert!(has(RUNNING, &name) || has(MAKING, &name), "no build inherits {known}");
        }
    }
}
