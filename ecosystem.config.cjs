/* The daemon under pm2: `npx pm2 start ecosystem.config.cjs`, after `node scripts/setup.mjs` has run once. */
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const ownNode = join(__dirname, "node_modules", ".bin", "node");

module.exports = {
  apps: [
    {
      name: "weir",
      // Relative to cwd: pm2 takes an absolute path with a blank in it for a shell command.
      script: "src/main.ts",
      args: "start",
      cwd: __dirname,
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
