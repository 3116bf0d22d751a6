//! Which URLs are accepted, and the errors for the others.
//!
//! Refusals are held word for word, most with what to write instead. No name is resolved: which address a URL leads to
//! is held by the binary's `target.rs`.

use paceline_http::{Scheme, Url};
use proptest::prelude::*;

#[test]
fn valid_urls_are_parsed() {
    let rows = [
        ("http://127.0.0.1:8080/", "127.0.0.1", 8080, "/", "127.0.0.1:8080"),
        ("http://localhost", "localhost", 80, "/", "localhost"),
        ("HTTP://Example.com:80/a/b?c=d&e=%20", "Example.com", 80, "/a/b?c=d&e=%20", "Example.com"),
        ("http://h?x=1", "h", 80, "/?x=1", "h"),
        ("http://h/a#part", "h", 80, "/a", "h"),
        ("http://h:/a@b:c/[d]", "h", 80, "/a@b:c/[d]", "h"),
        ("http://[::1]:8080/x", "::1", 8080, "/x", "[::1]:8080"),
        ("http://[fe80::1%25eth0]/", "fe80::1", 80, "/", "[fe80::1]"),
        ("http://[fe80::1%eth0]/", "fe80::1", 80, "/", "[fe80::1]"),
        ("http://[2001:db8::1]", "2001:db8::1", 80, "/", "[2001:db8::1]"),
        ("http://my_service-1.test.:65535/", "my_service-1.test.", 65535, "/", "my_service-1.test.:65535"),
    ];
    for (text, host, port, path, authority) in rows {
        let url = Url::parse(text).unwrap();
        let parts = (url.scheme, url.host.as_str(), url.port, url.path.as_str(), url.authority());
        assert_eq!(parts, (Scheme::Http, host, port, path, authority.to_owned()), "{text}");
        assert_eq!(Url::parse(&url.to_string()), Ok(url));
    }
    let secure = Url::parse("https://h/").unwrap();
    assert_eq!((secure.scheme, secure.port, secure.authority()), (Scheme::Https, 443, "h".to_owned()));
    assert_eq!(Url::parse("https://h:80/").unwrap().authority(), "h:80");
}

#[test]
fn invalid_urls_are_rejected() {
    let rows = [
        ("127.0.0.1:8080/x", "URL \"127.0.0.1:8080/x\" has no scheme; write \"http://127.0.0.1:8080/x\""),
        ("localhost", "URL \"localhost\" has no scheme; write \"http://localhost\""),
        ("//h/x", "URL \"//h/x\" has no scheme; write \"http://h/x\""),
        ("h/?of=http://x", "URL \"h/?of=http://x\" has no scheme; write \"http://h/?of=http://x\""),
        ("/x", "URL \"/x\" has no host; write \"http://127.0.0.1:8080/\" for a server on this machine"),
        ("http:/h/x", "URL \"http:/h/x\" lacks \"//\" after its scheme; write \"http://h/x\""),
        ("https:h", "URL \"https:h\" lacks \"//\" after its scheme; write \"https://h\""),
        ("", "URL \"\" has no host; write \"http://127.0.0.1:8080/\" for a server on this machine"),
        (
            "http://",
            "URL \"http://\" has no host; write \"http://127.0.0.1:8080/\" for a server on this machine",
        ),
        (
            "http://:80/",
            "URL \"http://:80/\" has no host; write \"http://127.0.0.1:8080/\" for a server on this machine",
        ),
        (
            "htpp://h/",
            "URL \"htpp://h/\": scheme \"htpp\" is not http, https, ws, wss, grpc or grpcs; write \"http://h/\"",
        ),
        (
            "wsp://h/x",
            "URL \"wsp://h/x\": scheme \"wsp\" is not http, https, ws, wss, grpc or grpcs; write \"http://h/x\"",
        ),
        (
            "http://me:secret@h:1/x",
            "the URL has a user name before \"@\"; write \"http://h:1/x\" and send an Authorization header",
        ),
        (
            "http://a b/",
            "URL \"http://a b/\": host \"a b\": character 2 is invalid; a host name may contain only letters, digits, \"-\", \".\" and \"_\"",
        ),
        (
            "http://b\u{fc}cher/",
            "URL \"http://b\u{fc}cher/\": host \"b\u{fc}cher\": character 2 is invalid; a host name may contain only letters, digits, \"-\", \".\" and \"_\"",
        ),
        ("http://::1/", "URL \"http://::1/\": an IPv6 address must be in brackets; write \"http://[::1]/\""),
        ("http://[::1/", "URL \"http://[::1/\": \"::1\" has no closing bracket; write \"http://[::1]/\""),
        (
            "http://[fe80::1%]/",
            "URL \"http://[fe80::1%]/\": \"fe80::1%\" is not an IPv6 address such as \"::1\" or, with a zone, \"fe80::1%25eth0\"",
        ),
        (
            "http://[h]/",
            "URL \"http://[h]/\": \"h\" is not an IPv6 address such as \"::1\" or, with a zone, \"fe80::1%25eth0\"",
        ),
        ("http://h:0/", "URL \"http://h:0/\": port \"0\" is not a number from 1 to 65535"),
        ("http://h:65536/", "URL \"http://h:65536/\": port \"65536\" is not a number from 1 to 65535"),
        ("http://h:+80/", "URL \"http://h:+80/\": port \"+80\" is not a number from 1 to 65535"),
        ("http://h:80:80/", "URL \"http://h:80:80/\": port \"80:80\" is not a number from 1 to 65535"),
        ("http://[::1]80/", "URL \"http://[::1]80/\": port \"80\" is not a number from 1 to 65535"),
        (
            "http://h/a b",
            "path \"/a b\": the character at position 3 is not allowed; percent-encode it: \"/a%20b\"",
        ),
        (
            "http://h/\n",
            "path \"/\\n\": the character at position 2 is not allowed; percent-encode it: \"/%0A\"",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(Url::parse(text).map_err(|error| error.to_string()), Err(expected.to_owned()), "{text:?}");
    }
}

proptest! {
    #[test]
    fn a_printed_url_is_parsed_again(text in "(http://)?[a-z.:\\[\\]@/?#%0-9 \u{e9}]{0,20}") {
        if let Ok(url) = Url::parse(&text) {
            prop_assert_eq!(Url::parse(&url.to_string()), Ok(url));
        }
    }
}
