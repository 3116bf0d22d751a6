import { defineConfig } from "vite";

// The drawing library alone, as a script: pages load it when they show a chart that it draws.
export default defineConfig({
  publicDir: false,
  build: {
    target: "es2022",
    emptyOutDir: false,
    lib: { entry: "src/charts/library.ts", formats: ["iife"], name: "PacelinePlotFile", fileName: () => "plot.js" },
  },
});
