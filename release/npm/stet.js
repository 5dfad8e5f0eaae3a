#!/usr/bin/env node
// Starts the program of the package for this system, which npm has installed as an optional dependency.
"use strict";
const { spawn } = require("node:child_process");
const name = `@stet-dev/stet-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/stet${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`stet: there is no ${name}: install again without --omit=optional, or take another package for this system`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends SIGINT to both; the program decides what it means. The other signals are passed on.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`stet: ${err.message}`);
  process.exit(126);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (require("node:os").constants.signals[signal] ?? 0)));
