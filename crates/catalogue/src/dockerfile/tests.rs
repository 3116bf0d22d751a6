//! Tests of what building a Dockerfile needs.

use super::*;
use proptest::prelude::*;

#[test]
fn images_downloads_and_addresses_are_listed() {
    let text = "ARG TAG=\"1.24\"\n# a comment\nFROM --platform=x golang:${TAG} AS build\nRUN apt-get update && \\\n    \
                curl -sL https://example.com/a.tgz | tar xz\nCOPY --from=composer:latest /a /b\nFROM build as last\n\
                COPY --from=build /x /x\nADD https://example.com/b /b\nFROM scratch\nCMD [\"./app\"]";
    let needs = BuildNeeds::from_dockerfile(text, &BTreeMap::new());
    assert_eq!(needs.images, ["golang:1.24", "composer:latest"]);
    assert_eq!(needs.downloaders, ["apt-get", "curl"]);
    assert_eq!(needs.addresses, ["https://example.com/a.tgz", "https://example.com/b"]);
}

#[test]
fn a_program_is_found_by_its_path_and_in_a_substitution() {
    let text =
        "FROM a\nRUN /opt/venv/bin/pip install x && rm -r /usr/local/go && echo `npx b` $(./gradlew c)\n";
    let needs = BuildNeeds::from_dockerfile(text, &BTreeMap::new());
    assert_eq!(needs.downloaders, ["pip", "npx", "./gradlew"]);
}

#[test]
fn a_number_is_a_stage_only_where_files_are_copied_from_one() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    assert_eq!(images("FROM a\nFROM 5\nARG N=1\nCOPY --from=0 /x /x\nADD --from=$N /x /x\n"), ["a", "5"]);
    assert_eq!(images("FROM a\nFROM 0\nCOPY --from=7 /x /x\n"), ["a", "0", "7"]);
    assert_eq!(images("FROM a\nRUN --mount=type=bind,from=0,target=/x ls\n"), ["a", "0"]);
}

#[test]
fn repositories_over_ssh_are_addresses() {
    let addresses = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).addresses;
    let text = "FROM git@sha256:0a\nADD git@github.com:a/b.git#v1 /b\nADD --keep-git-dir=true me@intranet:c /c\n\
                ARG REPO=git@host:d\nRUN git clone \"deploy@git.example.com:e\" && git clone ssh://git@f:22/g\n\
                ADD git://h/i /i\nRUN npm install j@npm:k mail@example.com && curl https://l@m:8/n\n";
    let found = [
        "git@github.com:a/b.git#v1",
        "me@intranet:c",
        "git@host:d",
        "ssh://git@f:22/g",
        "deploy@git.example.com:e",
        "git://h/i",
        "https://l@m:8/n",
    ];
    assert_eq!(addresses(text), found);
}

#[test]
fn every_image_that_a_build_uses_is_listed() {
    let text = "# syntax=docker.io/evil/frontend:1\n# a=b\nARG BASE=alpine\nARG FULL=${BASE}:${TAG:-3}\nFROM $FULL\n\
                RUN --mount=type=bind,from=mounted/image,target=/x cp /x/a /a\nRUN --mount=from=$BASE,target=/y ls\n\
                FROM $BASE_IMAGE\n# syntax=later/comment\n";
    let images = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        BuildNeeds::from_dockerfile(text, &given).images
    };
    assert_eq!(
        images(&[]),
        ["docker.io/evil/frontend:1", "alpine:3", "mounted/image", "alpine", "$BASE_IMAGE"]
    );
    assert_eq!(images(&[("BASE", "other"), ("TAG", "4")])[1], "other:4");
}

#[test]
fn an_instruction_goes_on_where_a_build_continues_it() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    assert_eq!(images("FROM \\\n\n  # none\n evil/image\n"), ["evil/image"]);
    assert_eq!(images("FROM al\\\npine AS \\\n  build\nFROM build\n"), ["alpine"]);
    assert_eq!(images("# a comment\n# escape=`\nFROM a\nRUN b `date`\nFROM c\n"), ["a", "c"]);
    assert_eq!(images("# a=b\n# escape=`\nFROM a\nRUN b `\nFROM c\n"), ["a", "c"]);
    assert_eq!(images("# escape=`\nFROM `\n a\nRUN dir C:\\\nFROM c\n"), ["a", "c"]);
}

#[test]
fn the_end_of_a_line_hides_no_image() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    // After two backslashes BuildKit begins an instruction, and podman continues the one before.
    assert_eq!(images("FROM a\nRUN dir C:\\\\\nFROM evil/image\n"), ["a", "evil/image"]);
    assert_eq!(images("FROM a\nRUN dir C:\\\\\\\nFROM evil/image\n"), ["a", "evil/image"]);
    assert_eq!(images("FROM a\nCOPY \\\\\n --from=evil/image /a /b\n"), ["a", "evil/image"]);
    assert_eq!(images("FROM \\ \t\r\n a\nRUN b\\\u{a0}\nFROM evil/image\n"), ["a", "evil/image"]);
    assert_eq!(images("FROM a\nRUN b\\\r\r\nFROM evil/image\n"), ["a", "evil/image"]);
}

#[test]
fn a_byte_order_mark_hides_no_image() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    assert_eq!(images("\u{feff}FROM evil/image\r\n"), ["evil/image"]);
    assert_eq!(images("\u{feff}# syntax=evil/frontend\nFROM a\n"), ["evil/frontend", "a"]);
    assert_eq!(images("\u{feff}# escape=`\nFROM `\n a\nRUN dir C:\\\nFROM c\n"), ["a", "c"]);
}

#[test]
fn a_trigger_hides_nothing_that_it_uses() {
    let text = "FROM a AS base\nONBUILD COPY --from=evil/image /x /x\nonbuild run curl x\nONBUILD RUN <<E\npip x\nE\n\
                ONBUILD ADD me@intranet:c /c\nONBUILD\nFROM base\n";
    let needs = BuildNeeds::from_dockerfile(text, &BTreeMap::new());
    assert_eq!(needs.images, ["a", "evil/image"]);
    assert_eq!(needs.downloaders, ["curl", "pip"]);
    assert_eq!(needs.addresses, ["me@intranet:c"]);
}

#[test]
fn an_argument_of_a_trigger_hides_no_image() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    let base = "ARG A=b\nFROM a AS base\nONBUILD ARG A=evil/image\n";
    assert_eq!(images(&format!("{base}FROM base\nCOPY --from=$A /x /x\n")), ["a", "$A", "b"]);
    let mount = "FROM base\nARG C=$A\nRUN --mount=type=bind,from=$C,target=/x ls\n";
    assert!(images(&format!("{base}{mount}")).contains(&"$A".to_owned()));
    // The stage with the trigger does not run it, and a `FROM` uses global values.
    assert_eq!(images(&format!("{base}ARG A\nCOPY --from=$A /x /x\n")), ["a", "b"]);
    assert_eq!(images(&format!("{base}FROM $A\n")), ["a", "b"]);
    // A stage that sets it, and a caller that gives it, decide the value.
    assert!(images(&format!("{base}FROM base\nARG A=c\nCOPY --from=$A /x /x\n")).contains(&"c".to_owned()));
    let given = BTreeMap::from([("A".to_owned(), "given".to_owned())]);
    let text = format!("{base}FROM base\nCOPY --from=$A /x /x\n");
    assert_eq!(BuildNeeds::from_dockerfile(&text, &given).images, ["a", "given"]);
}

#[test]
fn an_argument_of_a_stage_hides_no_image() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    let text = "ARG BASE=evil/image\nFROM a AS one\nARG BASE=a\nFROM $BASE\n";
    assert_eq!(images(text), ["a", "evil/image"]);
    // What a stage has changed is the global value again in the next.
    let text = "ARG OF=evil/image\nFROM a\nARG OF=a\nFROM b\nARG OF\nCOPY --from=$OF /x /x\n";
    assert_eq!(images(text), ["a", "b", "evil/image"]);
    let text = "FROM a\nARG OF=b\nRUN --mount=type=bind,from=$OF,target=/x ls\n";
    assert_eq!(images(text), ["a", "b"]);
}

#[test]
fn a_heredoc_hides_no_image() {
    let images = |text: &str| BuildNeeds::from_dockerfile(text, &BTreeMap::new()).images;
    for name in ["EOF", "'EOF'", "-\"EOF\"", "'any text'"] {
        let end = name.trim_matches(['-', '"', '\'']);
        let text = format!("FROM a\nRUN <<{name}\nFROM x AS evil/image\n{end}\nFROM evil/image\n");
        assert_eq!(images(&text), ["a", "x", "evil/image"], "{name}");
    }
    assert_eq!(images("ARG A=b\nFROM a\nCOPY <<E /x\nARG A=a\nE\nFROM $A\n"), ["a", "b"]);
    let copied = "FROM a\nARG A=b\nCOPY <<E /x\nARG A=a\nE\nCOPY --from=$A /x /x\n";
    assert_eq!(images(copied), ["a", "$A"]);
    for word in ["'<<EOF'", "\\<<EOF", "<<<EOF", "<< EOF", "it's <<EOF", "${A^} <<EOF"] {
        let text = format!("FROM a\nRUN echo {word}\nFROM evil/image\nEOF\n");
        assert_eq!(images(&text), ["a", "evil/image"], "{word}");
    }
}

#[test]
fn heredocs_are_no_instructions() {
    let text = "FROM a AS build\nRUN 3<<-A sh <<'B'\npip install x\nFROM b\n\tA\ncurl https://c/\nB\n\
                RUN python3 <<EOF > ${D}/x\nfrom os import path\nEOF\nFROM build\n";
    let needs = BuildNeeds::from_dockerfile(text, &BTreeMap::new());
    assert_eq!(needs.images, ["a"]);
    assert_eq!(needs.downloaders, ["pip", "curl"]);
    assert_eq!(needs.addresses, ["https://c/"]);
}

#[test]
fn values_that_repeat_others_do_not_grow_without_a_limit() {
    let lines: String = (0..1000).map(|n| format!("ARG A{}=$A{n}$A{n}\n", n + 1)).collect();
    let text = format!("ARG A0=abcdefgh\n{lines}FROM $A5\nFROM $A1000\n");
    let needs = BuildNeeds::from_dockerfile(&text, &BTreeMap::new());
    assert_eq!(needs.images[0], "abcdefgh".repeat(32));
    assert!(needs.images.iter().all(|image| image.len() <= MAX_EXPANDED), "{:?}", needs.images);
}

proptest! {
    #[test]
    fn any_text_can_be_read(text in "(?s).{0,400}") {
        let needs = BuildNeeds::from_dockerfile(&text, &BTreeMap::new());
        prop_assert!(needs.images.iter().all(|image| !image.is_empty()));
    }
}
