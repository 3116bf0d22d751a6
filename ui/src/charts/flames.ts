// The drawing of a flame graph, built into the file of the drawing library: pages find it as `Plot.flames`.
import type { Profile, ProfiledCall } from "../wire";

/** Width of a letter at 11 pixels. */
const LETTER = 6.2;

interface Box {
  call: ProfiledCall;
  /** Samples to the left of it. */
  from: number;
}

/** The boxes of calls in depth-first order. */
function boxes(calls: ProfiledCall[]): Box[] {
  const next = [0];
  return calls.flatMap((call) => {
    const from = next[call.depth];
    if (from === undefined) return [];
    next.length = call.depth;
    next.push(from + call.samples, from);
    return [{ call, from }];
  });
}

const fill = ({ code, name }: ProfiledCall): string =>
  code === "thread" ? "#d5d9de" : name.startsWith("[unknown") ? "#c2c7cd" : code === "kernel" ? "#8ccdf2" : "#f0b840";

const NAMESPACE = "http://www.w3.org/2000/svg";

function element(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** Draws each call as a box above its caller, `row` pixels high and as wide as its share of the samples. */
export function flames(profile: Profile, row: number, share: (call: ProfiledCall) => string, width: number, height: number): SVGElement {
  const svg = element("svg", { class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, "font-size": 11 });
  for (const { call, from } of boxes(profile.calls)) {
    const wide = (call.samples / profile.samples) * width;
    if (wide < 0.5) continue;
    const [x, y] = [(from / profile.samples) * width, height - (call.depth + 1) * row];
    const box = element("g", {});
    box.append(element("title", {}, `${call.name}: ${share(call)}`), element("rect", { x, y, width: Math.max(0.5, wide - 0.5), height: row - 1, fill: fill(call) }));
    const letters = Math.floor((wide - 6) / LETTER);
    if (letters >= 3) {
      const name = call.name.length > letters ? `${call.name.slice(0, letters - 1)}…` : call.name;
      box.append(element("text", { x: x + 3, y: y + 12.5, fill: "#16191d" }, name));
    }
    svg.append(box);
  }
  return svg;
}
