//! What a request file may say, and how it is told what it may not.
//!
//! The text is given and the bodies beside it are made up; only the limit of a body's length needs real files.
//! Placeholders, and whether HTTP allows a header, are not looked at: `paceline run` does that, and its tests.

use super::*;
use serde_json::json;

fn read(text: &str) -> Result<RequestFile, CatalogueError> {
    RequestFile::of(Path::new("mixes/shop.toml"), text, &mut |path| match path.to_str() {
        Some("mixes/order.json") => Ok(b"{}".to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    })
}

fn complaint(text: &str) -> String {
    read(text).expect_err("it is wrong").to_string()
}

#[test]
fn everything_a_request_can_say() {
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
    assert_eq!((home.name.as_str(), home.weight, home.method.as_str(), home.line), ("home", 9, "GET", 2));
    assert_eq!(home.path.as_deref(), Some("/{rand:1:9}"));
    let headers = [("X-B", "2"), ("Accept", "text/html"), ("X-A", "1")];
    let expected: Vec<_> =
        headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    assert_eq!(home.headers, expected, "in the order of the file");
    assert_eq!((home.expect_status, &home.expect_body), (Some(200), &Some(FileBody::Sha256([0; 32]))));
    assert_eq!((order.name.as_str(), order.weight, order.literal), ("/order", 1, true));
    assert_eq!(order.body, b"{}");
    let pointers = vec![
        ("/a".to_owned(), json!(1)),
        ("/b/0".to_owned(), json!("x")),
        ("/c".to_owned(), json!([true, 0.5, { "d": "e" }])),
    ];
    assert_eq!(order.expect_body, Some(FileBody::Json(pointers)));
    assert_eq!((plain.name.as_str(), plain.path.as_ref(), plain.line), ("/", None, 17));
    assert_eq!(plain.expect_body, Some(FileBody::Exact(b"{}".to_vec())));
    assert_eq!(file.beside("users.txt"), Path::new("mixes/users.txt"));
    let complaint = file.complain(order, "it is wrong").to_string();
    assert_eq!(complaint, "mixes/shop.toml:10: request `/order`: it is wrong");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        (
            "[[request]]\npath = '/'\nwieght = 2\n",
            "mixes/shop.toml:3: unknown key `wieght`; the nearest right one is `weight`",
        ),
        ("[[reqest]]\n", "mixes/shop.toml:1: unknown key `reqest`; the nearest right one is `request`"),
        ("request = []\n", "mixes/shop.toml: a request file has 1 to 100 `[[request]]`"),
        ("", "mixes/shop.toml:1: missing key `request`"),
        (
            "[[request]]\nweight = -3\n",
            "mixes/shop.toml:2: weight -3 is not a whole number from 1 to 1000000",
        ),
        ("[[request]]\nweight = 0\n", "mixes/shop.toml:2: weight 0 is not a whole number from 1 to 1000000"),
        (
            "[[request]]\nexpect_status = 100\n",
            "mixes/shop.toml:2: expect_status 100 is not a final status, 200 to 599",
        ),
        (
            "[[request]]\n\n[[request]]\npath = '/'\n",
            "mixes/shop.toml:3: a second request `/`: give each a `name` of its own",
        ),
        (
            "[[request]]\nbody = 'a'\nbody_file = 'b'\n",
            "mixes/shop.toml:1: a request has a `body` or a `body_file`, not both",
        ),
        (
            "[[request]]\nbody_file = 'none'\n",
            "mixes/shop.toml:2: cannot read `mixes/none`: entity not found",
        ),
        (
            "[[request]]\nexpect_sha256 = 'abc'\n",
            "mixes/shop.toml:2: `expect_sha256` is not 64 hexadecimal digits",
        ),
        (
            "[[request]]\nexpect_json = { '/d' = 2026-11-21 }\n",
            "mixes/shop.toml:2: `/d`: JSON has no dates; write it in quotes",
        ),
        ("[[request]]\nexpect_json = { '/d' = nan }\n", "mixes/shop.toml:2: `/d`: JSON has no such number"),
        (
            "[[request]]\nexpect_json = {}\n",
            "mixes/shop.toml:2: `expect_json` is empty; write { \"/pointer\" = value }",
        ),
        (
            "[[request]]\nexpect_body = 'a'\nexpect_json = { '/d' = 1 }\n",
            "mixes/shop.toml:1: one of `expect_body`, `expect_body_file`, `expect_sha256` and `expect_json` says what must come back",
        ),
    ] {
        assert_eq!(complaint(text), expected);
    }
    let many = complaint(&"[[request]]\n".repeat(101));
    assert_eq!(many, "mixes/shop.toml: a request file has 1 to 100 `[[request]]`");
    let wrong_type = complaint("[[request]]\nheaders = 'a'\n");
    assert!(wrong_type.starts_with("mixes/shop.toml:2: invalid type: string"), "{wrong_type}");
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let body = std::fs::File::create(folder.path().join("long")).unwrap();
    let mix = folder.path().join("mix.toml");
    for key in ["body_file", "expect_body_file"] {
        let text = format!("[[request]]\n{key} = 'long'\n");
        let read =
            || RequestFile::of(&mix, &text, &mut |file| RequestFile::content(std::fs::File::open(file)?));
        // A hole, which takes no room.
        body.set_len(RequestFile::BYTES_MOST + 1).unwrap();
        let told = read().expect_err("it is too long").to_string();
        assert!(told.contains("mix.toml:2: cannot read") && told.ends_with("more than 256 MiB"), "{told}");
        body.set_len(3).unwrap();
        assert!(read().is_ok());
    }
}
