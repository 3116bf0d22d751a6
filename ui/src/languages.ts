// The colour and the shape of a language's mark: the same on every page and in every round.

// In the order of their marks: a new language is added at the end, so that the others keep theirs.
const KNOWN = [
  "C", "Rust", "Go", "Java", "Python", "JavaScript", "Ruby", "C++", "PHP", "Scala", "Haskell", "OCaml", "Nim", "Erlang", "Kotlin", "C#",
  "TypeScript", "Elixir", "Lua", "Perl", "Dart", "Swift", "Zig", "Clojure",
];
const COLOURS = 8;
const SHAPES = 3;

/** Where a language that is not in the list stands: always at the same place. */
function placeOf(language: string): number {
  let hash = 0;
  for (const letter of language) hash = (hash * 31 + letter.codePointAt(0)!) % 65_521;
  return hash % (COLOURS * SHAPES);
}

/** The number of the colour and of the shape. */
export function markOf(language: string): { colour: number; shape: number } {
  const known = KNOWN.indexOf(language);
  const place = known >= 0 ? known : placeOf(language);
  return { colour: place % COLOURS, shape: Math.floor(place / COLOURS) % SHAPES };
}
