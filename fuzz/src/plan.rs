//! Any text as a plan: no panic, every error names its origin, and an accepted plan is the same after writing and
//! reading.
//!
//! It does not check whether servers and workloads with these names exist.

use paceline_catalogue::Plan;

pub fn run(text: &str) {
    match Plan::parse("a plan", text) {
        Err(error) => assert!(error.to_string().starts_with("a plan"), "{error}"),
        Ok(plan) => {
            let written = plan.to_toml().expect("a plan can be written");
            let again = Plan::parse("itself", &written).expect("what was written can be read");
            assert_eq!(plan, again);
        }
    }
}
