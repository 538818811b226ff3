// proves: src/features/questions/question-desk.ts, src/features/questions/approved-calls.ts, migrations/baseline/16_approvals.sql
// A daemon that is killed round a decision, or round the call that it is about: the call runs at most once, and what came of it is said once.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { openStore } from "../store/open-store.ts";
import { noting } from "../support/approvals.ts";
import { textsBelow } from "../support/texts-below.ts";
import { createTestDatabase } from "../support/database.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";

const RAN = /^told: Noted/;
const UNKNOWN = /^told: Nobody knows whether this has run/;

interface Kill {
  /** The statement at which it is killed, and which one of these; `NUMBER` is the approval's. */
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
    when: "new.message_id = 'approval/NUMBER'",
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
    when: "new.kind = 'tool_call' and new.data->'calls'->0->>'id' = 'approval_NUMBER'",
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

// One daemon after the other over one database: who takes up what one has left is killed in the next room, and its heir makes nothing good again.
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(noting);
const world = stack.use(await openLoopbackWorld());
const database = stack.use(await createTestDatabase());
const beside = stack.use(openStore(database.connection));
const config = `${world.config}[defaults.approvals]\ntools = { note = "always" }\n`;
const home = stack.use(await openMainHome(config, envOf(database.connection, model.url)));
const agent = path.join(home.folder, "agents", "main");
await mkdir(agent, { recursive: true });
let daemon = await home.start();

async function shown(room: string, what: RegExp): Promise<number> {
  return (await world.bot(room)).filter(({ text }) => what.test(text)).length;
}

async function untilShown(room: string, what: RegExp): Promise<void> {
  await until(String(what), async () => (await shown(room, what)) > 0);
}

const KILLED = Object.entries(KILLS).map(([where, kill], index) => ({
  ...kill,
  where,
  room: `room-${index + 1}`,
  id: index + 1,
}));

for (const { where, room, id, on, when, said } of KILLED) {
  test(`killed ${where}`, async () => {
    await world.say(room, `ask-${id}`, `note buy milk for ${room}`);
    await world.untilAnswered();
    await untilShown(room, new RegExp(`^#${id}: Weir asks`));
    await using gate = await gateRows(beside, on, when.replaceAll("NUMBER", String(id)));
    await world.command(room, `approve ${id}`);
    await gate.reached();
    await daemon.kill();
    await gate.cut();
    const isLost = (await beside.sql("select from approvals where state = 'open'")).length > 0;
    assert.equal(isLost, where === "before the decision is kept");

    daemon = await home.start();
    // What was not kept is not decided: Ben presses again.
    if (isLost) await world.command(room, `approve ${id}`);
    await untilShown(room, said);
    await untilShown(room, new RegExp(`^#${id}: Allowed`));
  });
}

test("what was made good is not made good again by a daemon that ends in peace, nor by the next", async () => {
  for (let start = 0; start < 2; start++) {
    daemon.signal("SIGTERM");
    assert.deepEqual(await daemon.ended, { code: 0, signal: null });
    if (start === 0) daemon = await home.start();
  }
  const notes = (await textsBelow(agent)).join("\n");
  for (const { where, room, id, effects } of KILLED) {
    assert.equal(await shown(room, /^told: (?!This waits)/), 1, `its outcome is said once: ${where}`);
    assert.equal(notes.match(new RegExp(`buy milk for ${room}\\b`, "g"))?.length ?? 0, effects, where);
    const rows = await beside.sql(
      "select (select count(*) from entries where message_id = 'approval/' || a.id)::integer as told, state from approvals a where id = $1",
      id,
    );
    assert.deepEqual(rows, [{ told: 1, state: "done" }], where);
  }
});
