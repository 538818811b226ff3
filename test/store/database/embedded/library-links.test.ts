import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { linkLibraries } from "../../../../src/store/database/embedded/library-links.ts";
import { folderWith } from "../../../config/folder.ts";

test("links that npm's script did not make are made, once", async (t) => {
  const home = folderWith(t, {});
  // A package of another system has no list.
  await linkLibraries(home);
  mkdirSync(path.join(home, "native", "lib"), { recursive: true });
  writeFileSync(path.join(home, "native", "lib", "libpq.so.5.18"), "library");
  const target = "native/lib/libpq.so.5";
  writeFileSync(
    path.join(home, "native", "pg-symlinks.json"),
    JSON.stringify([{ source: "native/lib/libpq.so.5.18", target }]),
  );
  await linkLibraries(home);
  await linkLibraries(home);
  assert.equal(readlinkSync(path.join(home, target)), "libpq.so.5.18");
  assert.equal(readFileSync(path.join(home, target), "utf8"), "library");
});

test("where a link cannot be made, it is said how to install instead", async (t) => {
  const home = folderWith(t, {});
  mkdirSync(path.join(home, "native"));
  writeFileSync(
    path.join(home, "native", "pg-symlinks.json"),
    JSON.stringify([{ source: "native/lib/a.1", target: "native/lib/a" }]),
  );
  await assert.rejects(linkLibraries(home), /lacks a link.*--ignore-scripts=false/);
});
