import assert from "node:assert/strict";
import { test } from "node:test";
import { type TriedSetting, trySettings } from "../../src/config/load.ts";
import { errorOf, folderWith } from "./folder.ts";

const FILE = `
[models."big"]
context_window = 100000
[defaults.compaction]
keep_messages = 12
[[agents]]
id = "first"
[[agents]]
id = "second"
model = "big"
[agents.compaction]
background_threshold = 0.7
`;

test("an agent with other settings is what a start would make of them: defaults follow", (t) => {
  const cwd = folderWith(t, { "config.toml": FILE });
  const tried = (key: string, value: unknown) => trySettings({ cwd }, 1, [{ key, value }]);
  const { id, compaction } = tried("compaction.background_threshold", 0.6);
  assert.equal(id, "second");
  assert.deepEqual(
    [compaction.backgroundThreshold, compaction.target, compaction.keepMessages],
    [0.6, 0.4, 12],
    "nobody has set a target: it follows",
  );
  assert.equal(tried("compaction.target", 0.3).compaction.backgroundThreshold, 0.7);
  assert.equal(tried("context_window", 8192).contextWindow, 8192);
});

test("without a file the built-in agent is tried", (t) => {
  const cwd = folderWith(t, {});
  assert.equal(
    trySettings({ cwd }, 0, [{ key: "compaction.write_ahead", value: false }]).compaction.writeAhead,
    false,
  );
});

test("what cannot be is told as of the file, by the name of the setting, and without a secret", (t) => {
  const cwd = folderWith(t, { "config.toml": FILE });
  const said = (...settings: TriedSetting[]): string =>
    errorOf(() => trySettings({ cwd }, 1, settings)).message;
  assert.match(
    said({ key: "compaction.backgroud_threshold", value: 0.5 }),
    /^What --set says has 1 problem:\n\n {2}--set compaction\.backgroud_threshold\n.*did you mean `background_threshold`\?$/s,
  );
  assert.match(
    said({ key: "compaction.target", value: 0.7 }),
    /not in order.*target = 0\.7.*background_threshold = 0\.7/s,
  );
  assert.match(
    said({ key: "max_output_tokens", value: 5000 }, { key: "context_window", value: 1200 }),
    /leaves no room/,
    "what [models] says of the window does not go over what is tried",
  );
  for (const key of ["", ".", "__proto__", "constructor.name", "compaction", "compaction.__proto__.polluted"])
    assert.match(said({ key, value: "sk-live-0123456789abcdef" }), /^What --set says has \d problem/, key);
  assert.ok(!said({ key: "model", value: "" }).includes("sk-live"));
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});
