// Light or dark: the system's choice, unless the visitor makes another. Prints are light.

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const KEY = "paceline-theme";

/** The visitor's choice on this page, also where the browser stores nothing. */
let here: Theme | null = null;

function stored(): Theme | null {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === "light" || theme === "dark" ? theme : null;
  } catch {
    return null; // A file opened from disk may have no storage.
  }
}

export function theme(): Theme {
  return here ?? stored() ?? (system.matches ? "dark" : "light");
}

export function apply(chosen: Theme = theme()): void {
  document.documentElement.dataset["theme"] = chosen;
}

/** Takes the other theme, and says which it is. */
export function toggle(): Theme {
  const chosen = theme() === "dark" ? "light" : "dark";
  here = chosen;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Then it lasts until the page is closed.
  }
  apply(chosen);
  return chosen;
}

system.addEventListener("change", () => apply());
addEventListener("beforeprint", () => apply("light"));
addEventListener("afterprint", () => apply());
