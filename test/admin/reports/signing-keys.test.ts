import assert from "node:assert/strict";
import { test } from "node:test";
import { describeKeys, describeOwnKey } from "../../../src/admin/reports/signing-keys.ts";
import { GONE_MS } from "../../../src/store/channels/members.ts";

const FILE = "data/signing.key";
const holder = (name: string, keyId: string | null, silentMs = 0) => {
  return { name, host: `host-of-${name}`, keyId, silentMs };
};

test("a daemon has the key of the others that are there, or it is said what to copy", () => {
  const others = [holder("a", "k1"), holder("b", null), holder("gone", "k2", GONE_MS)];
  assert.equal(describeOwnKey("k1", others, FILE), null);
  assert.equal(describeOwnKey(null, [holder("b", null)], FILE), null);
  assert.match(
    describeOwnKey(null, others, FILE)?.detail ?? "",
    /^there is no data\/signing\.key, and others that are there sign with one, a \(on host-of-a\):/,
  );
  const differs = describeOwnKey("k3", others, FILE);
  assert.match(differs?.detail ?? "", /^data\/signing\.key is another key than that of a \(on host-of-a\):/);
  assert.match(differs?.todo ?? "", /start the daemon there again/);
});

test("daemons with several keys are told apart, and those that are gone do not count", () => {
  assert.deepEqual(describeKeys([holder("a", "k1"), holder("b", "k1"), holder("c", "k2", GONE_MS)]), []);
  assert.deepEqual(describeKeys([]), []);
  const [line = ""] = describeKeys([holder("a", "k1"), holder("b", "k2"), holder("c", null)]);
  assert.match(
    line,
    /: a \(on host-of-a\) has k1; b \(on host-of-b\) has k2; c \(on host-of-c\) has none\. Copy signing\.key/,
  );
});
