import { mount } from "svelte";
import App from "./App.svelte";
import "./theme.css";

const target = document.getElementById("app");
if (target) {
  // index.html shows the header until here.
  target.replaceChildren();
  mount(App, { target });
}
