// proves: src/features/questions/question-desk.ts, src/features/questions/question-board.ts
// A daemon that is killed while a question waits, or round its answer: the question is shown once, one answer counts, and it is told once.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStore } from "../store/open-store.ts";
import { askFor, asking } from "../support/asking.ts";
import { createTestDatabase } from "../support/database.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";

const HEARD = /^heard: You asked: Which colour\?\n\S+ has chosen: Deep blue/;

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(asking);
const world = stack.use(await openLoopbackWorld());
const database = stack.use(await createTestDatabase());
const beside = stack.use(openStore(database.connection));
const home = stack.use(await openMainHome(world.config, envOf(database.connection, model.url)));
let daemon = await home.start();

async function shown(room: string, what: RegExp): Promise<number> {
  return (await world.bot(room)).filter(({ text }) => what.test(text)).length;
}

async function untilShown(room: string, what: RegExp): Promise<void> {
  await until(String(what), async () => (await shown(room, what)) > 0);
}

async function ask(room: string, id: number): Promise<void> {
  await world.say(room, `ask-${id}`, askFor());
  await untilShown(room, new RegExp(`^#${id}: Weir asks: Which colour`));
}

/** The answer is told once, and the question shows it once. */
async function answeredOnce(room: string, id: number): Promise<void> {
  await untilShown(room, HEARD);
  await untilShown(room, new RegExp(`^#${id}: Weir asked: Which colour\\?\\n\\S+ has chosen: Deep blue$`));
  assert.equal(await shown(room, HEARD), 1);
  assert.equal(await shown(room, new RegExp(`^#${id}: `)), 1);
  const told = await beside.sql("select from entries where message_id = $1", `approval/${id}`);
  assert.equal(told.length, 1);
}

test("killed while it waits: the next daemon takes the answer", async () => {
  await ask("room-1", 1);
  await daemon.kill();
  daemon = await home.start();
  await world.command("room-1", "answer 1 2");
  await answeredOnce("room-1", 1);
});

for (const [index, [where, on, when]] of [
  ["before the answer is kept", "update on approvals", "new.state = 'answered'"],
  ["before the answer is told", "insert on entries", "new.message_id = 'approval/3'"],
  ["before it is noted that the answer is told", "update on approvals", "new.told_at is not null"],
].entries()) {
  test(`killed ${where}`, async () => {
    const id = index + 2;
    const room = `room-${id}`;
    await ask(room, id);
    await using gate = await gateRows(beside, on ?? "", when ?? "");
    await world.command(room, `answer ${id} 2`);
    await gate.reached();
    await daemon.kill();
    await gate.cut();
    daemon = await home.start();
    // An answer that was not kept is not given: the person presses again.
    if (index === 0) await world.command(room, `answer ${id} 2`);
    await answeredOnce(room, id);
  });
}
