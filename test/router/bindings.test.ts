import assert from "node:assert/strict";
import { test } from "node:test";

import { agentId } from "../../src/core/ids.ts";
import { findBinding } from "../../src/router/bindings.ts";

const first = { platform: "terminal", agent: agentId("a") };
const second = { platform: "loopback", agent: agentId("b") };
const later = { platform: "terminal", agent: agentId("c") };

test("the first binding of a channel's platform answers it", () => {
  assert.equal(findBinding([second, first, later], { platform: "terminal", name: "x" }), first);
});

test("nobody answers a channel that no binding names", () => {
  assert.equal(findBinding([first], { platform: "discord", name: "x" }), undefined);
  assert.equal(findBinding([], { platform: "terminal", name: "x" }), undefined);
});
