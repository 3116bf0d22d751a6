//! Checks that no modules of a crate use each other, directly or in a cycle.
//!
//! A module uses another if a path in its code leads to an item defined there, through whatever re-exports. Declaring a
//! module and re-exporting its items is no use of it. Test modules are left out.

use super::Violation;
use super::files::{self, File};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// A path, or the place of a module: the folder of the crate and the names of the modules.
type Path = Vec<String>;

/// The file of a module, what its `use` declarations name, and the paths in its code.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    /// With whether it is a re-export.
    imports: BTreeMap<String, (Path, bool)>,
    paths: Vec<Path>,
}

type Modules<'a> = BTreeMap<Path, Module<'a>>;
type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Finds sets of files of the product that use each other.
pub fn cycles() -> Vec<Violation> {
    let code = files::tracked().iter().filter(|file| file.is_rust() && !file.is_test());
    cycles_of(&uses_of(code)).iter().map(|cycle| cycle.join(" <-> ")).collect()
}

/// The files that use each other: each reaches each other of its set.
fn cycles_of<'a>(uses: &Uses<'a>) -> BTreeSet<Vec<&'a str>> {
    let (mut reached, mut before) = (uses.clone(), Uses::new());
    while reached != before {
        before = reached.clone();
        for near in reached.values_mut() {
            near.extend(near.clone().iter().flat_map(|file| &before[file]));
        }
    }
    let of = |(file, far): (&&'a str, &BTreeSet<&'a str>)| -> Vec<&'a str> {
        far.iter().filter(|other| reached[*other].contains(file)).copied().collect()
    };
    reached.iter().map(of).filter(|cycle| !cycle.is_empty()).collect()
}

/// Which files each file uses.
fn uses_of<'a>(files: impl Iterator<Item = &'a File>) -> Uses<'a> {
    let mut modules = Modules::new();
    for file in files {
        let Some((crate_, rest)) =
            file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        let names =
            rest.trim_end_matches(".rs").split('/').filter(|name| !["lib", "main", "mod"].contains(name));
        let place: Path = [crate_].into_iter().chain(names).map(str::to_owned).collect();
        // Text that is not Rust does not compile either.
        read(file.text.parse().unwrap_or_default(), &file.path, &place, &mut modules);
    }
    let mut uses = Uses::new();
    for (place, module) in &modules {
        let used = module.paths.iter().filter_map(|path| defined_in(path, place, &modules, 0));
        uses.entry(module.file).or_default().extend(used.filter(|file| *file != module.file));
    }
    uses
}

/// Adds what these tokens contain to the module at a place.
fn read<'a>(tokens: TokenStream, file: &'a str, place: &Path, modules: &mut Modules<'a>) {
    modules.entry(place.clone()).or_default().file = file;
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let text: Vec<String> = tokens.iter().map(word).collect();
    let text = |at: usize| text.get(at).map_or("", String::as_str);
    let mut at = 0;
    while at < tokens.len() {
        let module = modules.get_mut(place).expect("was added");
        match &tokens[at] {
            TokenTree::Group(group) if group.to_string().replace(' ', "") == "[cfg(test)]" => {
                at = (at..tokens.len()).find(|&at| [";", "{}"].contains(&text(at))).unwrap_or(tokens.len());
            }
            TokenTree::Group(group) => {
                let is_module = at > 1 && text(at) == "{}" && text(at - 2) == "mod";
                let name = is_module.then(|| text(at - 1).to_owned());
                read(group.stream(), file, &place.iter().cloned().chain(name).collect(), modules);
            }
            TokenTree::Ident(_) if text(at) == "use" && text(at + 1) != "<" => {
                let end = (at..tokens.len()).find(|&at| text(at) == ";").unwrap_or(tokens.len());
                let is_public = at > 0 && (text(at - 1) == "pub" || text(at - 1) == "()");
                import(&tokens[at + 1..end], &[], is_public, module);
                at = end;
            }
            TokenTree::Ident(_) if at == 0 || ![".", "mod", "fn"].contains(&text(at - 1)) => {
                let mut path = vec![text(at).to_owned()];
                while text(at + 1) == ":"
                    && text(at + 2) == ":"
                    && matches!(tokens.get(at + 3), Some(TokenTree::Ident(_)))
                {
                    at += 3;
                    path.push(text(at).to_owned());
                }
                // A single word in lower case may be a variable, unless it is called.
                if path.len() > 1 || text(at + 1) == "()" || path[0].starts_with(char::is_uppercase) {
                    module.paths.push(path);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The text of a token; of a group only its delimiters.
fn word(token: &TokenTree) -> String {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => "{}".to_owned(),
        TokenTree::Group(_) => "()".to_owned(),
        token => token.to_string(),
    }
}

/// Adds the names that a `use` declares. A re-export alone is no use of what it names.
fn import(tokens: &[TokenTree], prefix: &[String], is_public: bool, module: &mut Module) {
    for tree in tokens.split(|token| word(token) == ",") {
        let words =
            tree.iter().filter(|token| matches!(token, TokenTree::Ident(_)) || word(token) == "*").map(word);
        let mut path: Path = prefix.iter().cloned().chain(words).collect();
        if let Some(TokenTree::Group(group)) = tree.last() {
            import(&group.stream().into_iter().collect::<Vec<_>>(), &path, is_public, module);
            continue;
        }
        path.pop_if(|last| last == "self" && !prefix.is_empty());
        let Some(name) = path.last().cloned() else { continue };
        if let Some(renamed) = path.iter().position(|word| word == "as") {
            path.truncate(renamed);
        }
        if !is_public {
            module.paths.push(path.clone());
        }
        module.imports.insert(name, (path, is_public));
    }
}

/// The file with the item that a path leads to, unless it leads to a module or out of the crate.
fn defined_in<'a>(path: &[String], place: &Path, modules: &Modules<'a>, depth: usize) -> Option<&'a str> {
    let mut place = place.clone();
    for (at, name) in path.iter().enumerate() {
        let child: Path = place.iter().chain([name]).cloned().collect();
        let (is_module, is_last) = (modules.contains_key(&child), at + 1 == path.len());
        match (name.as_str(), modules[&place].imports.get(name)) {
            ("crate", _) => place.truncate(1),
            ("super", _) => drop(place.pop()),
            ("self", _) => {}
            _ if is_module && !is_last => place = child,
            (_, Some((target, is_public))) if depth < 9 => {
                let target: Path = target.iter().chain(&path[at + 1..]).cloned().collect();
                let found = defined_in(&target, &place, modules, depth + 1);
                // A function may have the name of a crate that its module imports.
                return found.or((at > 0 && !is_public).then_some(modules[&place].file));
            }
            _ if is_module || at == 0 => return None,
            _ => return Some(modules[&place].file),
        }
    }
    None
}

#[test]
fn cycles_are_found_through_re_exports() {
    let file = |path: &str, text: &str| File { path: format!("crates/x/src/{path}"), text: text.into() };
    let cycles = |files: &[File]| -> Vec<String> {
        let cycles = cycles_of(&uses_of(files.iter())).into_iter();
        cycles.map(|cycle| cycle.join(" ").replace("crates/x/src/", "")).collect()
    };
    let lib = || file("lib.rs", "mod a; mod b; mod c; pub use a::{A, made};");
    let a = "pub struct A(super::b::B); pub fn made() {}";
    // The parent re-exports and declares only, and tests may use anything.
    let of_tests = "pub struct B; #[cfg(test)] mod tests { use crate::A; }";
    assert_eq!(cycles(&[lib(), file("a.rs", a), file("b.rs", of_tests)]), [] as [&str; 0]);
    for b in ["use crate::A as Other; pub struct B;", "pub struct B; fn f() { crate::made() }"] {
        assert_eq!(cycles(&[lib(), file("a.rs", a), file("b.rs", b)]), ["a.rs b.rs"], "{b}");
    }
    let (b, c) = ("pub use crate::c; pub struct B(c::d::D);", "pub mod d { pub struct D(crate::A); }");
    assert_eq!(cycles(&[lib(), file("a.rs", a), file("b.rs", b), file("c.rs", c)]), ["a.rs b.rs c.rs"]);
    let parent = file("p/mod.rs", "mod q; const N: u8 = 1; fn f() { q::g() }");
    assert_eq!(cycles(&[parent, file("p/q.rs", "pub fn g() -> u8 { super::N }")]), ["p/mod.rs p/q.rs"]);
}
