// proves: src/core/message.ts
import assert from "node:assert/strict";
import { test } from "node:test";

import { agentId } from "../../src/core/ids.ts";
import type { ChannelOnPlatform } from "../../src/core/message.ts";
import { bindPlatform, findBinding } from "../../src/router/bindings.ts";

const everywhere = (): boolean => true;
const first = bindPlatform("terminal", agentId("a"));
const second = bindPlatform("loopback", agentId("b"));
const later = bindPlatform("terminal", agentId("c"));

const on = (platform: string): ChannelOnPlatform => ({
  channel: { platform, name: "x" },
  kind: "channel",
  workspace: "",
});

test("the first binding of a channel's platform answers it", () => {
  assert.equal(findBinding([second, first, later], on("terminal"), everywhere), first);
});

test("nobody answers a channel that no binding names", () => {
  assert.equal(findBinding([first], on("discord"), everywhere), undefined);
  assert.equal(findBinding([], on("terminal"), everywhere), undefined);
});
