// proves: src/channel/approvals/approval-desk.ts, src/turn/approved-calls.ts, migrations/0043_approvals.sql
// A daemon that is killed round a decision, or round the call that it is about: the call runs at most once, and what came of it is said once.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { openStore } from "../store/open-store.ts";
import { notesIn, noting } from "../support/approvals.ts";
import { createTestDatabase } from "../support/database.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";

const RAN = /^told: Noted/;
const UNKNOWN = /^told: Nobody knows whether this has run/;

interface Kill {
  /** The statement at which it is killed. */
  readonly on: string;
  readonly when: string;
  /** How often the call has had its effect in the end. */
  readonly effects: number;
  readonly said: RegExp;
}

const KILLS: Readonly<Record<string, Kill>> = {
  "before the decision is kept": {
    on: "update on approvals",
    when: "new.state = 'allowed'",
    effects: 1,
    said: RAN,
  },
  "before the decision is told": {
    on: "insert on entries",
    when: "new.message_id = 'approval/1'",
    effects: 1,
    said: RAN,
  },
  "before it is noted that the decision is told": {
    on: "update on approvals",
    // The turn that it begins comes no further either, or it may be killed in the call.
    when: "new.told_at is not null or new.state = 'running'",
    effects: 1,
    said: RAN,
  },
  "before the call is taken up": {
    on: "update on approvals",
    when: "new.state = 'running'",
    effects: 1,
    said: RAN,
  },
  "in the call, before its effect": { on: "insert on notes", when: "true", effects: 0, said: UNKNOWN },
  "between the call's effect and its result": {
    on: "insert on entries",
    when: "new.kind = 'tool_call' and new.data->'calls'->0->>'id' = 'approval_1'",
    effects: 1,
    said: UNKNOWN,
  },
  "between the call's result and the answer": {
    on: "insert on entries",
    when: "new.kind = 'assistant'",
    effects: 1,
    said: RAN,
  },
};

for (const [where, { on, when, effects, said }] of Object.entries(KILLS)) {
  test(`killed ${where}`, async () => {
    await using model = await startModelServer();
    model.respond(noting);
    await using world = await openLoopbackWorld();
    await using database = await createTestDatabase();
    await using beside = openStore(database.connection);
    const config = `${world.config}[defaults.approvals]\ntools = { note = "always" }\n`;
    await using home = await openMainHome(config, envOf(database.connection, model.url));
    const agent = path.join(home.folder, "agents", "main");
    await mkdir(agent, { recursive: true });
    const shown = async (what: RegExp): Promise<number> =>
      (await world.bot("room")).filter((one) => what.test(one.text)).length;
    const untilShown = async (what: RegExp): Promise<void> =>
      until(String(what), async () => (await shown(what)) > 0);

    const killed = await home.start();
    await world.say("room", "ask", "note buy milk");
    await world.untilAnswered();
    await untilShown(/^#1: Weir asks/);
    await using gate = await gateRows(beside, on, when);
    await world.command("room", "approve 1");
    await gate.reached();
    await killed.kill();
    await gate.cut();
    const isLost = (await beside.sql("select from approvals where state = 'open'")).length > 0;
    assert.equal(isLost, where === "before the decision is kept");

    // Twice: what was made good is not made good again.
    for (let start = 0; start < 2; start++) {
      const next = await home.start();
      // What was not kept is not decided: Ben presses again.
      if (isLost && start === 0) await world.command("room", "approve 1");
      await untilShown(said);
      await untilShown(/^#1: Allowed/);
      next.signal("SIGTERM");
      assert.deepEqual(await next.ended, { code: 0, signal: null });
    }
    assert.equal(await shown(/^told: (?!This waits)/), 1, "its outcome is said once");
    assert.equal((await notesIn(agent)).match(/buy milk/g)?.length ?? 0, effects);
    const rows = await beside.sql(
      "select (select count(*) from entries where message_id = 'approval/1')::integer as told, state from approvals",
    );
    assert.deepEqual(rows, [{ told: 1, state: "done" }]);
  });
}
