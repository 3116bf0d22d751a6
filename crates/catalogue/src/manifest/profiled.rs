//! What the runtime of a language needs at its start, so that a profiler finds names and stacks of the code it compiles.

use super::Manifest;
use std::collections::BTreeMap;

/// A variable that a launch gets for a profile.
struct ProfilingVariable {
    /// Languages as manifests name them.
    languages: &'static [&'static str],
    name: &'static str,
    value: &'static str,
    /// Whether it is a list of options, to which a manifest's own belong too.
    is_list: bool,
}

/// The variables by language. Other languages compile before the start, or have no names for perf.
const VARIABLES: [ProfilingVariable; 4] = [
    // The shorter `--perf-basic-prof` also leaves a log in the server's folder.
    ProfilingVariable {
        languages: &["JavaScript", "TypeScript"],
        name: "NODE_OPTIONS",
        value: "--perf-basic-prof-only-functions --interpreted-frames-native-stack",
        is_list: true,
    },
    // The map with the names is written when the profile ends (`jcmd`).
    ProfilingVariable {
        languages: &["Java", "Scala", "Kotlin", "Clojure"],
        name: "JAVA_TOOL_OPTIONS",
        value: "-XX:+PreserveFramePointer",
        is_list: true,
    },
    // From Python 3.12 on.
    ProfilingVariable { languages: &["Python"], name: "PYTHONPERFSUPPORT", value: "1", is_list: false },
    ProfilingVariable { languages: &["C#", "F#"], name: "DOTNET_PerfMapEnabled", value: "1", is_list: false },
];

impl Manifest {
    /// The same server, whose runtime names the functions that it compiles. That costs it some CPU time.
    #[must_use]
    pub fn profiled(&self) -> Self {
        let mut profiled = self.clone();
        let is_of = |variable: &&ProfilingVariable| variable.languages.contains(&self.language.as_str());
        for variable in VARIABLES.iter().filter(is_of) {
            profiled.forms.values_mut().for_each(|form| variable.set(&mut form.env));
        }
        profiled
    }
}

/// Sets the variables of all runtimes: for a command whose language is not known. Other programs ignore them.
pub fn set_profiling_variables(env: &mut BTreeMap<String, String>) {
    VARIABLES.iter().for_each(|variable| variable.set(env));
}

impl ProfilingVariable {
    fn set(&self, env: &mut BTreeMap<String, String>) {
        let value = env.entry(self.name.to_owned()).or_default();
        if value.is_empty() {
            self.value.clone_into(value);
        } else if self.is_list && !value.contains(self.value) {
            *value = format!("{value} {}", self.value);
        }
    }
}
