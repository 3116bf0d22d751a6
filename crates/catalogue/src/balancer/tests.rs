//! Manifests and templates of balancers.
//!
//! An unknown placeholder must be reported with its line, and the line of an instance repeated for each. No balancer
//! runs here. The reading of counters is tested in `count.rs`, the manifests in `balancers/` in `tests/it`.

use super::*;
use crate::fixture::{BALANCER, TestTree};

#[test]
fn a_balancer_is_read_with_its_template() {
    let tree = TestTree::new();
    tree.write("balancers/plain/balancer.toml", BALANCER);
    tree.write("balancers/plain/plain.conf", "listen @HOST@:@PORT@\nto @INSTANCE@ @ADDRESS@\n");
    let balancer = Balancer::read(&tree.path("balancers/plain")).unwrap();
    assert_eq!((balancer.id.as_str(), balancer.statistics), ("plain", Statistics::None));
    assert_eq!(balancer.check_policy("roundrobin"), Ok(()));
    let wrong = balancer.check_policy("roundrobbin").unwrap_err();
    assert!(wrong.ends_with("did you mean `roundrobin`?"), "{wrong}");
    let server = balancer.as_server(Some(Path::new("/run/x/plain.conf")));
    assert_eq!(server.form(BALANCER_FORM).unwrap().env["BALANCER_FOLDER"], "/run/x");
}

#[test]
fn an_unknown_placeholder_is_reported_with_its_line() {
    let tree = TestTree::new();
    tree.write("balancers/plain/balancer.toml", BALANCER);
    for (template, expected) in [
        (
            "bind @HOST@\n to @ADRESS@\n",
            "plain.conf:2: unknown placeholder `@ADRESS@`; did you mean `@ADDRESS@`?",
        ),
        (
            "bind @HOST@\n",
            "plain.conf:1: no line contains `@ADDRESS@`: add a line that lists one server instance",
        ),
    ] {
        tree.write("balancers/plain/plain.conf", template);
        let error = Balancer::read(&tree.path("balancers/plain")).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    tree.write("balancers/plain/plain.conf", "bind @HSOT@\nserver @ADRESS@\n");
    let error = Balancer::read(&tree.path("balancers/plain")).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "all at once: {error}");
}

#[test]
fn a_template_is_filled_once_and_for_each_instance() {
    let instances = ["127.0.0.1:81", "127.0.0.1:82"].map(|address| address.parse().unwrap());
    let filling = TemplateValues {
        listen: "127.0.0.1:80".parse().unwrap(),
        statistics_port: 90,
        policy: "leastconn",
        threads: 2,
        connections: 100,
        folder: "/run/x".into(),
        instances: &instances,
    };
    let template =
        "stats ipv4@@HOST@:@STATISTICS@\nbalance @POLICY@ a@b\nserver i@INSTANCE@ @ADDRESS@ check\nend\n";
    let expected = "stats ipv4@127.0.0.1:90\nbalance leastconn a@b\nserver i0 127.0.0.1:81 check\n\
                    server i1 127.0.0.1:82 check\nend\n";
    assert_eq!(filling.fill(template), expected);
}
