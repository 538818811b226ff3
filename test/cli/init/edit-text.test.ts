import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { withKey, withVariables } from "../../../src/cli/init/edit-text.ts";

test(".env: a line that sets a variable is replaced, one that shows it, too, and the rest stays", () => {
  const before = "# mine\nOTHER=1\nexport TOKEN=old\n# KEY=\n";
  assert.equal(
    withVariables(before, { TOKEN: "new", KEY: "k-1", MORE: "x" }),
    "# mine\nOTHER=1\nTOKEN=new\nKEY=k-1\nMORE=x\n",
  );
  assert.equal(withVariables("", { A: "1" }), "A=1\n");
  assert.equal(withVariables("B=2", { A: "1" }), "B=2\nA=1\n");
  // The last one is what counts.
  assert.equal(withVariables("A=1\nA=2\n", { A: "3" }), "A=1\nA=3\n");
});

test(".env: what is written is what is read; what it cannot hold is refused", () => {
  for (const value of ["plain", "with space", "a#b", "it's", 'say "x"', "$HOME", "a\\nb", "äöü"])
    assert.equal(parseEnv(withVariables("", { A: value }))["A"], value, value);
  for (const value of ["two\nlines", "'\"`"])
    assert.throws(() => withVariables("", { A: value }), OperatorError);
  assert.throws(() => withVariables('A="one\ntwo"\n', { A: "x" }), /several lines/);
});

test("config.toml: a key goes into its table, in place of its line or of the one that shows it", () => {
  assert.equal(withKey("", "a.b", "owners", '["1"]'), '[a.b]\nowners = ["1"]\n');
  assert.equal(
    withKey("[x]\nowners = []\n", "a.b", "owners", "[1]"),
    "[x]\nowners = []\n\n[a.b]\nowners = [1]\n",
  );
  assert.equal(
    withKey("[a.b]\n# why\n#owners = []\n[c]\n", "a.b", "owners", "[1]"),
    "[a.b]\n# why\nowners = [1]\n[c]\n",
  );
  assert.equal(
    withKey("[a.b] # mine\nowners = [2] # two\n", "a.b", "owners", "[1]"),
    "[a.b] # mine\nowners = [1]\n",
  );
  assert.equal(
    withKey("[a.b]\n[c]\nowners = 1\n", "a.b", "owners", "[1]"),
    "[a.b]\nowners = [1]\n[c]\nowners = 1\n",
  );
  assert.throws(() => withKey("[a.b]\nowners = [\n1]\n", "a.b", "owners", "[1]"), /several lines/);
});

test("the shipped config.toml changes in one line", () => {
  const shipped = readFileSync("config.toml", "utf8");
  const changed = withKey(shipped, "platforms.discord", "owners", '["1"]').split("\n");
  const lines = shipped.split("\n");
  assert.equal(changed.length, lines.length);
  assert.deepEqual(
    changed.filter((line, at) => line !== lines[at]),
    ['owners = ["1"]'],
  );
});
