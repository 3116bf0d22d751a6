// What changed in the output of a server's version command.

/** The first line in which two outputs differ: `netty-4.2.7 → 4.2.9`; empty where they are the same. */
export function versionChange(a: string, b: string): string {
  if (a === b) return "";
  const [before, after] = [a.split("\n"), b.split("\n")];
  const [gone, come] = [before.filter((line) => !after.includes(line)), after.filter((line) => !before.includes(line))];
  // The same lines in another order.
  if (gone.length + come.length === 0) return "";
  const [old = "–", now = "–"] = [gone[0], come[0]];
  // Without the words that both begin with.
  let same = 0;
  for (let at = 0; at < old.length && old[at] === now[at]; at += 1) if (/[-\s/"]/.test(old[at]!)) same = at + 1;
  return `${old} → ${now.slice(same)}`;
}

/** The last part of a version's first line: what two versions of a program differ in. */
export function shortVersion(versions: string): string {
  const first = versions.split("\n")[0]?.trim() ?? "";
  const number = /\d+(\.\d+)+[-.\w]*/.exec(first)?.[0];
  return number ?? (first.length > 24 ? `${first.slice(0, 23)}…` : first || "unknown");
}
