import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findingOf, warnOfNames } from "../../../src/cli/doctor/names.ts";
import type { ConfirmedName } from "../../../src/store/channels/names.ts";
import { configFrom } from "../../config/folder.ts";

const OURS = { id: "100000000000000001", name: "Mill" };
const THEIRS = { id: "100000000000000002", name: "mill" };
const FANS = { id: "100000000000000003", name: "Fans" };

function row(kind: ConfirmedName["kind"], name: string, ...servers: ConfirmedName["servers"]): ConfirmedName {
  return { kind, name, servers, confirmedAt: new Date("2026-11-23T10:00:00Z") };
}

describe("what a name of the configuration means", () => {
  const mill = { platform: "discord", kind: "workspace", name: "mill" } as const;
  const general = { platform: "discord", kind: "channel", name: "general" } as const;

  test("is said with id and day where it is settled", () => {
    const finding = findingOf(mill, row("workspace", "mill", OURS), [OURS, FANS]);
    assert.deepEqual([finding.state, finding.detail], ["ok", `means Mill (${OURS.id}), since 2026-11-23`]);
  });

  test("another server of that name is told, and what to do if it is ours", () => {
    const finding = findingOf(mill, row("workspace", "mill", OURS), [OURS, THEIRS]);
    assert.equal(finding.state, "unsure");
    assert.match(finding.detail, new RegExp(`; not in mill \\(${THEIRS.id}\\)$`));
    const channel = findingOf(general, row("channel", "general", OURS), [OURS, FANS]);
    assert.match(`${channel.state} ${channel.detail}`, /^unsure holds in Mill .* not in Fans /);
  });

  test("is nothing before the first start, where several servers had it, and where none had", () => {
    assert.match(findingOf(mill, undefined, [OURS, THEIRS]).detail, /^nothing yet; .*Mill \(.*mill \(/);
    const alone = findingOf(mill, undefined, []);
    assert.equal(alone.detail, "nothing yet; the bot is in no server");
    assert.match(alone.todo ?? "", /^invite the bot .* start Weir again/);
    assert.equal(findingOf(mill, row("workspace", "mill", OURS, THEIRS), []).state, "wrong");
    assert.equal(findingOf(mill, row("workspace", "mill"), []).state, "wrong");
  });
});

test("config check warns of names on Discord, and of no ids", (t) => {
  const file = (binding: string): string =>
    `[platforms.discord]\nowner_roles = ["Moderators"]\n[[bindings]]\nagent = "main"\nplatform = "discord"\n${binding}`;
  const env = { DISCORD_TOKEN: "secret" };
  const warned = warnOfNames(configFrom(t, file('workspaces = ["Mill"]\nchannels = ["#general"]'), env));
  assert.match(
    warned,
    /"mill" in workspaces, "general" in channels, "moderators" in allow_roles or owner_roles/,
  );
  assert.equal(warnOfNames(configFrom(t, file('workspaces = ["Mill"]'), {})), "");
  const ids = `[[bindings]]\nagent = "main"\nplatform = "discord"\nworkspaces = ["${OURS.id}"]`;
  assert.equal(warnOfNames(configFrom(t, ids, env)), "");
});
