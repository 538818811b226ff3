/*
 * The daemon under pm2: `WEIR_HOME=/srv/weir npx pm2 start ecosystem.config.cjs`, in a clone after `node scripts/setup.mjs` has run
 * once. Without WEIR_HOME the clone is the home, or of a package ~/.weir.
 */
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { join, resolve } = require("node:path");

const ownNode = join(__dirname, "node_modules", ".bin", "node");
const isClone = existsSync(join(__dirname, "scripts", "setup.mjs"));
const home = isClone ? __dirname : join(homedir(), ".weir");

module.exports = {
  apps: [
    {
      name: "weir",
      // Relative to cwd: pm2 takes an absolute path with a blank in it for a shell command.
      script: isClone ? "src/main.ts" : "src/main.js",
      args: "start",
      cwd: __dirname,
      env: { WEIR_HOME: resolve(process.env.WEIR_HOME || home) },
      // Said outright: pm2 would run a .ts with another runtime. An operator's own Node 24 serves as well.
      interpreter: existsSync(ownNode) ? ownNode : "node",
      exec_mode: "fork",
      instances: 1,
      // The daemon says "ready" once it serves. The first start makes a database; one after a crash may recover it.
      wait_ready: true,
      listen_timeout: 120_000,
      // Above the drain deadline of 20 s, or pm2 would kill a daemon that still delivers.
      kill_timeout: 25_000,
      // Only the daemon is signalled: it stops its Postgres itself, when it is done with it.
      treekill: false,
      // A configuration that is wrong is not tried again: it ends with a code of its own.
      // No delay between starts: pm2 would show one that it does not start again as "waiting restart". A daemon waits itself for what it lacks.
      stop_exit_codes: [78],
      min_uptime: 10_000,
      max_restarts: 10,
    },
  ],
};
