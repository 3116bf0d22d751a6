// The parts of a chart: its drawing, and the same numbers as a table.

export interface Table {
  columns: string[];
  rows: (string | number)[][];
}

export interface ChartSource {
  draw: (width: number, height: number) => SVGElement;
  table: () => Table;
  note?: string;
}

/** A line to be drawn: its name, its colour, and the number of its mark where colour alone would set it apart. */
export interface Line {
  name: string;
  colour: string;
  mark?: number;
}

type Corner = [number, number];

/** Corners around the middle, from an angle in turns; every second one is as far from it as `inner` says, the others 1. */
function corners(count: number, turn: number, inner = 1): Corner[] {
  return Array.from({ length: count }, (_, at) => {
    const [far, angle] = [at % 2 === 1 ? inner : 1, 2 * Math.PI * (turn + at / count)];
    return [far * Math.cos(angle), far * Math.sin(angle)];
  });
}

// Circle, square, triangle, diamond, triangle on its tip, stars with five and with four tips, bar: at most eight lines are
// drawn.
const MARKS: Corner[][] = [
  corners(24, 0), corners(4, 1 / 8), corners(3, -1 / 4), corners(4, 0), corners(3, 1 / 4), corners(10, -1 / 4, 0.4), corners(8, 0, 0.3),
  [[-0.35, -1.1], [0.35, -1.1], [0.35, 1.1], [-0.35, 1.1]],
];

/** The corners of a line's mark, within about 1 from its middle. */
export const lineMark = (index: number): Corner[] => MARKS[index % MARKS.length]!;

/** A line's mark as a symbol of Plot. */
export const markSymbol = (index: number) => ({
  draw(context: CanvasPath, size: number) {
    const radius = Math.sqrt(size / Math.PI);
    lineMark(index).forEach(([x, y], at) => (at === 0 ? context.moveTo(x * radius, y * radius) : context.lineTo(x * radius, y * radius)));
    context.closePath();
  },
});

/** A line's mark as the points of an SVG polygon with its middle at `x` and `y`. */
export const markPoints = (index: number, x: number, y: number, radius: number): string =>
  lineMark(index).map(([dx, dy]) => `${x + radius * dx},${y + radius * dy}`).join(" ");

export function colour(index: number): string {
  return `var(--c${index % 8})`;
}

export function csv(table: Table): string {
  const cell = (value: string | number) => {
    const text = String(value);
    // A spreadsheet runs what begins like a formula.
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  return [table.columns, ...table.rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

export function markdown(table: Table): string {
  const cell = (value: string | number) => String(value).replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/\s+/g, " ");
  const line = (cells: string[]) => `| ${cells.join(" | ")} |\n`;
  const marks = table.columns.map((_, at) => (at === 0 ? "---" : "--:"));
  return line(table.columns.map(cell)) + line(marks) + table.rows.map((row) => line(row.map(cell))).join("");
}
