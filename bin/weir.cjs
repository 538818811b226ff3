#!/usr/bin/env node
/*
 * The command `weir`, of a package that npm installed and of a clone (`npx .`). It is written for any Node, so that an old one can
 * say what is missing instead of a syntax error.
 */
"use strict";

var fs = require("fs");
var path = require("path");

var isClone = fs.existsSync(path.join(__dirname, "..", "scripts", "setup.mjs"));
// A clone installs a Node of its own.
var wanted = isClone ? 20 : 24;

if (parseInt(process.versions.node, 10) >= wanted) {
  require("./run.cjs").run();
} else {
  process.stderr.write("Weir needs Node " + wanted + " or newer; this is " + process.version + ".\n");
  process.exitCode = 1;
}
