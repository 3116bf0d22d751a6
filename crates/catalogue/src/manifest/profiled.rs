//! What the runtime of a language needs at its start, so that a profiler finds names and stacks of the code it compiles.

use super::Manifest;

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
    ProfilingVariable {
        languages: &["JavaScript", "TypeScript"],
        name: "NODE_OPTIONS",
        value: "--perf-basic-prof --interpreted-frames-native-stack",
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
            for form in profiled.forms.values_mut() {
                let value = form.env.entry(variable.name.to_owned()).or_default();
                if value.is_empty() {
                    variable.value.clone_into(value);
                } else if variable.is_list && !value.contains(variable.value) {
                    *value = format!("{value} {}", variable.value);
                }
            }
        }
        profiled
    }
}
