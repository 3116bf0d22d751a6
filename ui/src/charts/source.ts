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

/** A line to be drawn: its name, its colour. */
export interface Line {
  name: string;
  colour: string;
}

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
