// A chart as a file: SVG with its colours written out, or PNG drawn from that.

const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "font-family", "font-size", "font-weight", "text-anchor", "font-variant-numeric"];

/** The chart as a file of its own: light or dark as it is seen. */
export function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  [svg, ...svg.querySelectorAll<SVGElement>("*")].forEach((element, at) => {
    const style = getComputedStyle(element);
    const target = copies[at];
    for (const property of PROPERTIES) target?.setAttribute(property, style.getPropertyValue(property));
    target?.removeAttribute("class");
  });
  const { width, height } = size(svg);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

function size(svg: SVGSVGElement): { width: number; height: number } {
  const { width, height } = svg.getBoundingClientRect();
  return { width: Math.round(width), height: Math.round(height) };
}

/** The chart as pixels, two for each of the screen's. */
export async function png(svg: SVGSVGElement): Promise<Blob> {
  const { width, height } = size(svg);
  const url = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = width * 2;
    canvas.height = height * 2;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not draw the picture."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
