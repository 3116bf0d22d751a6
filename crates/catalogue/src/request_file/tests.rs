//! What a request file may contain, and how errors in it are reported.

use super::*;
use paceline_job::{BodyExpectation, Content, ExpectedValue, Headers};
use serde_json::json;

fn read(text: &str) -> Result<RequestFile, CatalogueError> {
    RequestFile::from_text(Path::new("mixes/shop.toml"), text)
}

fn complaint(text: &str) -> String {
    read(text).expect_err("it is wrong").to_string()
}

#[test]
fn every_key_of_a_request_is_read() {
    let file = read(
        r#"
        [[request]]
        name = "home"
        weight = 9
        path = "/{rand:1:9}"
        headers = { X-B = "2", Accept = "text/html", "X-A" = "1" }
        expect_status = 200
        expect_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"

        [[request]]
        path = "/order"
        method = "POST"
        body_file = "order.json"
        literal = true
        expect_json = { "/a" = 1, "/b/0" = "x", "/c" = [true, 0.5, { d = "e" }] }

        [[request]]
        body = "hello"
        expect_body_file = "order.json"
        "#,
    )
    .unwrap();
    let [home, order, plain] = file.requests.as_slice() else { panic!("three requests") };
    assert_eq!((home.line, order.line, plain.line), (2, 10, 17));
    let specs = [home, order, plain].map(|request| &request.spec);
    assert_eq!(specs.map(|spec| (spec.shown_name(), spec.weight)), [("home", 9), ("/order", 1), ("/", 1)]);
    let headers = [("X-B", "2"), ("Accept", "text/html"), ("X-A", "1")];
    let expected = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    assert_eq!(specs[0].headers, Headers(expected), "in the order of the file");
    assert_eq!(specs[0].expect_status, Some(200));
    assert_eq!(specs[0].expect_body, Some(BodyExpectation::Sha256([0; 32])));
    let beside = Content::File { file: "mixes/order.json".into() };
    assert_eq!(
        (specs[1].method.as_str(), specs[1].literal, specs[1].body.as_ref()),
        ("POST", true, Some(&beside))
    );
    let values = [("/a", json!(1)), ("/b/0", json!("x")), ("/c", json!([true, 0.5, { "d": "e" }]))]
        .map(|(pointer, value)| ExpectedValue::new(pointer, value).unwrap());
    assert_eq!(specs[1].expect_body, Some(BodyExpectation::Json(values.into())));
    assert_eq!(specs[2].path, None);
    assert_eq!(specs[2].expect_body, Some(BodyExpectation::Exact(beside)));
    assert_eq!(specs[2].folder.as_deref(), Some(Path::new("mixes")));
    let complaint = file.complain(order, "it is wrong").to_string();
    assert_eq!(complaint, "mixes/shop.toml:10: request `/order`: it is wrong");
}

#[test]
fn errors_name_their_line() {
    for (text, expected) in [
        (
            "[[request]]\npath = '/'\nwieght = 2\n",
            "mixes/shop.toml:3: unknown key `wieght`; did you mean `weight`?",
        ),
        ("[[reqest]]\n", "mixes/shop.toml:1: unknown key `reqest`; did you mean `request`?"),
        ("request = []\n", "mixes/shop.toml: a request file must contain 1 to 100 `[[request]]` tables"),
        ("", "mixes/shop.toml:1: missing key `request`"),
        (
            "[[request]]\nweight = -3\n",
            "mixes/shop.toml:2: weight -3 is not a whole number from 1 to 1000000",
        ),
        ("[[request]]\nweight = 0\n", "mixes/shop.toml:2: weight 0 is not a whole number from 1 to 1000000"),
        (
            "[[request]]\nexpect_status = 100\n",
            "mixes/shop.toml:2: expect_status 100 is not a final status: use 200 to 599",
        ),
        (
            "[[request]]\n\n[[request]]\npath = '/'\n",
            "mixes/shop.toml:3: two requests are named `/`: give each a different `name`",
        ),
        (
            "[[request]]\nname = 'login'\n\nextract = { a = { regex = '(x' } }\n",
            "mixes/shop.toml:4: request `login`: extract \"a\": the regular expression \"(x\" is invalid: unclosed group",
        ),
        (
            "[[request]]\nbody = 'a'\nbody_file = 'b'\n",
            "mixes/shop.toml:1: a request can have a `body` or a `body_file`, not both",
        ),
        (
            "[[request]]\nexpect_sha256 = 'abc'\n",
            "mixes/shop.toml:2: `expect_sha256` is not 64 hexadecimal digits",
        ),
        (
            "[[request]]\nexpect_json = { '/d' = 2026-11-21 }\n",
            "mixes/shop.toml:2: `/d`: JSON has no dates; write the date in quotes",
        ),
        (
            "[[request]]\nexpect_json = { '/d' = nan }\n",
            "mixes/shop.toml:2: `/d`: JSON cannot represent this number (infinity or NaN)",
        ),
        (
            "[[request]]\nexpect_json = {}\n",
            "mixes/shop.toml:2: `expect_json` is empty; write { \"/pointer\" = value }",
        ),
        (
            "[[request]]\nexpect_body = 'a'\nexpect_json = { '/d' = 1 }\n",
            "mixes/shop.toml:1: use only one of `expect_body`, `expect_body_file`, `expect_sha256`, `expect_json` and `expect_json_form`",
        ),
        (
            "[[request]]\nexpect_json_form = '{}'\n",
            "mixes/shop.toml:2: `expect_json_form`: an object in `json_form` must have 1 to 64 fields, and names without JSON escapes",
        ),
    ] {
        assert_eq!(complaint(text), expected);
    }
    let many = complaint(&"[[request]]\n".repeat(101));
    assert_eq!(many, "mixes/shop.toml: a request file must contain 1 to 100 `[[request]]` tables");
    let wrong_type = complaint("[[request]]\nheaders = 'a'\n");
    assert!(wrong_type.starts_with("mixes/shop.toml:2: ") && wrong_type.contains(", found the text "));
}
