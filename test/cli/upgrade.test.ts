import assert from "node:assert/strict";
import { test } from "node:test";
import { lookAtNode, lookAtOptions } from "../../src/cli/upgrade.ts";
import { loadReadableConfig } from "../../src/config/load.ts";
import { folderWith } from "../config/folder.ts";

test("an old Node is wrong, with what to install", () => {
  assert.equal(lookAtNode("24.0.0").state, "ok");
  assert.equal(lookAtNode("26.1.0").state, "ok");
  assert.deepEqual(lookAtNode("22.9.0"), {
    what: "Node",
    state: "wrong",
    detail: "22.9.0",
    todo: "install Node 24 or newer",
  });
});

test("each option that this version does not know is named, with its place and the one that it may be", (t) => {
  const cwd = folderWith(t, { "config.toml": '[log]\nlevle = "info"\n[daemon]\nsurely_none = 1\n' });
  const { config, error } = loadReadableConfig({ cwd, env: {} });
  const found = lookAtOptions(config, error);
  assert.deepEqual(
    found.map(({ state }) => state),
    ["wrong", "wrong"],
  );
  assert.match(found[0]?.detail ?? "", /config\.toml:2:1 .*levle: unknown key/);
  assert.equal(found[0]?.todo, "now called level, perhaps");
  assert.match(found[1]?.detail ?? "", /config\.toml:4:1 .*surely_none/);
  assert.equal(lookAtOptions(config, null)[0]?.state, "ok");
});
