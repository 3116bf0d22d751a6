//! Checks the data files of this repository: its servers, workloads and plans.
//!
//! Only by reading them. No server is built or started here: `paceline lab check` tests whether one answers as its
//! workloads require.

use paceline_catalogue::{
    Catalogue, Cell, ExpectedBody, FolderFlags, Folders, MachineCapacity, Plan, STEADY_WITHIN, estimate,
    order,
};
use std::path::Path;
use std::time::Duration;

fn catalogue() -> Catalogue {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        Folders::find_from(&FolderFlags::default(), here, Path::new("/nowhere/bin/paceline")).unwrap();
    Catalogue::read(folders).unwrap()
}

#[test]
fn every_server_and_workload_is_sound() {
    let catalogue = catalogue();
    let broken = catalogue.broken_servers.iter().chain(&catalogue.broken_workloads);
    let broken = broken.chain(&catalogue.broken_balancers).chain(&catalogue.broken_databases);
    let errors: Vec<String> = broken.map(|broken| broken.error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    assert_eq!(catalogue.notes, [""; 0]);
    assert!(catalogue.balancers.len() >= 2, "{}", catalogue.balancers.len());
    assert!(catalogue.servers.len() >= 7, "{}", catalogue.servers.len());
}

/// A version command that begins with a question to dpkg prints the package of the framework first.
#[test]
fn a_framework_from_a_system_package_names_it() {
    for server in &catalogue().servers {
        let asks_dpkg = server.version.starts_with("dpkg-query");
        assert!(!asks_dpkg || server.framework_package.is_some(), "{}: no `framework_package`", server.id);
    }
}

#[test]
fn documented_paths_match_the_workloads() {
    let catalogue = catalogue();
    let table = [
        ("hello", "/hello", Some(12)),
        ("byte", "/byte", Some(1)),
        ("page", "/page", Some(2_053)),
        ("tetra", "/tetra/3", Some(2)),
        ("json", "/json", None),
        ("plaintext", "/plaintext", Some(13)),
        ("home", "/home", Some(16)),
        ("tetra-million", "/tetra-million", Some(6_000_001)),
    ];
    for (name, path, length) in table {
        let case = &catalogue.workload(name).unwrap().cases[0];
        assert_eq!((case.path.as_str(), case.expect.body.length()), (path, length), "{name}");
    }
}

/// The parts of TechEmpower's rules for its two tests without a database that can be checked here.
#[test]
fn json_and_plaintext_follow_techempower() {
    let catalogue = catalogue();
    let json = ExpectedBody::Json(serde_json::json!({ "message": "Hello, World!" }));
    let plaintext = ExpectedBody::Exact(b"Hello, World!".to_vec());
    for (name, content_type, body) in
        [("json", "application/json", json), ("plaintext", "text/plain", plaintext)]
    {
        let workload = catalogue.workload(name).unwrap();
        let [case] = &workload.cases[..] else { panic!("{name} has one case") };
        let expect = &case.expect;
        assert_eq!((case.method.as_str(), expect.status), ("GET", 200));
        assert_eq!(expect.content_type.as_deref(), Some(content_type));
        assert_eq!(expect.charset.as_deref(), Some("utf-8"));
        assert_eq!(expect.headers, ["server", "date", "content-length|transfer-encoding"]);
        assert_eq!(expect.body, body);
    }
}

#[test]
fn every_plan_has_cells_in_this_repository() {
    let catalogue = catalogue();
    let names = catalogue.plan_names().unwrap();
    assert!(names.contains(&"quick".to_owned()));
    for name in names {
        let plan = catalogue.plan(&name).unwrap();
        assert_eq!(plan.name, name);
        assert!(!plan.resolve(&catalogue).unwrap().cells.is_empty(), "{name}");
    }
}

#[test]
fn plans_that_rank_have_five_launches_or_three_within_two_hours_on_two_cores() {
    let catalogue = catalogue();
    let two_hours = Duration::from_secs(2 * 60 * 60);
    for name in ["sold-on-go", "rabbit-hole", "million", "frameworks", "tetration", "databases", "all"] {
        let plan = catalogue
            .plan(name)
            .unwrap()
            .sized(false, MachineCapacity { cores: 2, open_files: 20_000 })
            .unwrap()
            .plan;
        assert_eq!(plan.budget, Some(two_hours), "{name}");
        let cells = plan.resolve(&catalogue).unwrap().cells;
        let usual = plan.warmup.is_none().then_some(STEADY_WITHIN);
        let plan = Plan { steady_within: plan.steady_within.or(usual), ..plan };
        let warm_up = plan.launch_warm_up();
        let (fitting, launches) = plan.within_budget(|repeats| order(&cells, repeats, 7)).unwrap();
        assert!(estimate(&launches, warm_up) <= two_hours, "{name}");
        let is_short = estimate(&order(&cells, 5, 7), warm_up) <= two_hours;
        assert_eq!(fitting.plan.repeats, if is_short { 5 } else { 3 }, "{name}");
    }
}

#[test]
fn figures_of_a_source_are_shown_with_their_cell() {
    let catalogue = catalogue();
    for name in catalogue.plan_names().unwrap() {
        let plan = catalogue.plan(&name).unwrap();
        let cells = plan.resolve(&catalogue).unwrap().cells;
        for seen in &plan.observed {
            let Some(server) = &seen.server else { continue };
            let fits = |cell: &Cell| {
                cell.server.id == *server
                    && seen.workload.as_ref().is_none_or(|workload| *workload == cell.case.address)
                    && seen.load.as_ref().is_none_or(|load| *load == cell.load.name)
                    && seen.form.as_ref().is_none_or(|form| *form == cell.form)
            };
            assert!(cells.iter().any(fits), "{name}: nothing stands beside {} of {server}", seen.subject);
        }
    }
}

#[test]
fn the_quick_plan_takes_little_time() {
    let catalogue = catalogue();
    let plan = catalogue.plan("quick").unwrap();
    let cells = plan.resolve(&catalogue).unwrap().cells;
    let seconds: f64 = cells.iter().map(|cell| cell.load.length().unwrap().as_secs_f64()).sum();
    let servers = cells.len() / plan.load.len();
    // Beside warm-up and window: 0.3 s for each load, 2 s for each start and stop.
    let total = f64::from(plan.repeats) * (seconds + 0.3 * cells.len() as f64 + 2.0 * servers as f64);
    assert!(total < 180.0, "{total} s for {servers} servers");
}
