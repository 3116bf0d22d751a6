import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";

const target = document.getElementById("app");
if (target) {
  // index.html shows the header until here.
  const header = [...target.childNodes];
  target.replaceChildren();
  try {
    mount(App, { target });
  } catch (error) {
    const notice = Object.assign(document.createElement("p"), { className: "error" });
    notice.setAttribute("role", "alert");
    notice.textContent = `This page cannot be drawn: ${String(error)}`;
    target.replaceChildren(...header, notice);
  }
}
