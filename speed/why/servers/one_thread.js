// Slow because of one thread of many: four workers, and the path of a request, which is always the same, chooses one.
"use strict";

const { pbkdf2Sync } = require("node:crypto");
const { createServer } = require("node:http");
const { Worker, isMainThread, parentPort } = require("node:worker_threads");

function hash(text) {
  return [...text].reduce((sum, letter) => (31 * sum + letter.codePointAt(0)) >>> 0, 0);
}

function serve() {
  const waiting = new Map();
  let last = 0;
  const workers = Array.from({ length: 4 }, () => {
    const worker = new Worker(__filename);
    worker.on("message", ({ id, body }) => {
      waiting.get(id).end(body);
      waiting.delete(id);
    });
    return worker;
  });
  const server = createServer((request, response) => {
    waiting.set(++last, response);
    workers[hash(request.url) % workers.length].postMessage({ id: last, text: request.url });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

function work() {
  parentPort.on("message", ({ id, text }) => {
    parentPort.postMessage({ id, body: pbkdf2Sync(text, "salt", 2000, 32, "sha256").toString("hex") });
  });
}

isMainThread ? serve() : work();
