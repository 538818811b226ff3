// proves: src/admin/reports/cluster-report.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatCluster, reportCluster } from "../../../src/admin/reports/cluster-report.ts";
import type { ShardState } from "../../../src/store/channels/gateway-shards.ts";
import { GONE_MS, type Member } from "../../../src/store/channels/members.ts";
import { createTimeFormat } from "../../../src/text/time.ts";

function member(name: string, held: readonly number[], more: Partial<Member> = {}): Member {
  const shards = [{ platform: "discord", state: "member", of: 4, held, members: 2 }];
  return {
    id: name,
    name,
    version: "1",
    host: "host",
    pid: 1,
    startedAt: new Date(0),
    silentMs: 0,
    isDrained: false,
    held: [],
    keyId: null,
    vitals: {
      name,
      state: "member",
      isResting: false,
      owned: 0,
      members: 2,
      isPublishing: true,
      wakes: { sent: 0, received: 0, dropped: 0 },
      shards,
    },
    ...more,
  };
}

function shard(number: number, owner: string): ShardState {
  return { platform: "discord", shard: number, of: 4, epoch: 1, owner, takenAt: new Date(0) };
}

const SHARDS = [shard(0, "a"), shard(1, "a"), shard(2, "a"), shard(3, "b")];

test("who has which shard is what the daemons say that are there, whoever took it last", () => {
  const gone = member("b", [3], { silentMs: GONE_MS });
  const { shards } = reportCluster([member("a", [0, 1, 3]), gone], [], SHARDS);
  assert.deepEqual(
    shards.map(({ shard: number, holders }) => [number, holders]),
    [
      [0, ["a"]],
      [1, ["a"]],
      [2, []],
      [3, ["a"]],
    ],
  );
});

test("shards that nobody has are told in words, and a daemon of another version has none that is known", () => {
  const time = createTimeFormat("UTC");
  const tell = (members: readonly Member[]): string =>
    formatCluster(reportCluster(members, [], SHARDS), time).join("\n");
  const some = tell([member("a", [0, 1, 3]), member("b", [])]);
  assert.match(some, /^a .* discord 0-1, 3 of 4 /m);
  assert.match(some, /^b .* discord none of 4 /m);
  assert.match(some, /^1 of the 4 shards of discord without a daemon: what is said there is not heard\.$/m);
  assert.match(tell([member("a", [0, 1, 2, 3])]), /^Every shard of discord is some daemon's\.$/m);
  assert.match(tell([member("a", [], { vitals: {} })]), /^4 of the 4 shards .*\n/m);
});
