// Slow because of a sleep: an event loop that waits 20 ms before each response, as a rate limiter or a retry does.
"use strict";

const server = require("node:http").createServer((request, response) => {
  setTimeout(() => response.end("rested"), 20);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
