// proves: src/features/questions/question-board.ts, src/features/questions/question-desk.ts, src/features/questions/approved-calls.ts
// Wherever a daemon ends, a question is posted once, a decision is told once, and an approved call runs once or not at all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BEN, command } from "../../support/commands.ts";
import { type ApprovalScene, lookingUp, openApprovals, shownIn } from "../../support/approvals.ts";
import { coverRoom } from "../../support/covered.ts";
import { cutStatements } from "../../support/cut-statements.ts";
import { heldText, text, toolCalls } from "../../support/model-behaviours.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import type { TestWeir } from "../../support/weir.ts";

const SEARCHES = 'tools = { search_history = "always" }';

const UNKNOWN = /told: Nobody knows whether this has run/;

/** How many times a message that fits was posted as a new one. */
function posted({ platform }: ApprovalScene, what: RegExp): number {
  const ids = platform.calls.filter((call) => call.operation === "send" && what.test(call.message.text));
  return new Set(ids.map(({ messageId }) => messageId)).size;
}

/** A daemon asks for an approval, shows the question, and ends. */
async function asked(scene: ApprovalScene): Promise<void> {
  await using weir = await scene.start();
  await weir.say("note buy milk");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
  await until("the note of it", async () => (await scene.rows())[0]?.shown === "open");
}

test("a daemon that ends before it could post a question leaves it to the next", async () => {
  await using scene = await openApprovals();
  scene.platform.fail = (_, { text: words }) => {
    if (words.startsWith("#1")) throw new PlatformError("test", "unavailable", "away");
  };
  {
    await using weir = await scene.start({ config: "[daemon]\ndrain_deadline_ms = 200" });
    await weir.say("note buy milk");
    await until("the attempt", async () => (await scene.rows())[0]?.shown === "posting");
  }
  scene.platform.fail = () => undefined;
  assert.equal(posted(scene, /^#1/), 0);
  await using _ = await scene.start();
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
});

test("a question whose posting was not noted is not posted again, and shows what was decided meanwhile", async () => {
  await using scene = await openApprovals();
  await asked(scene);
  await scene.open.sql("update approvals set shown = 'posting', message_id = null");
  {
    await using _ = await scene.start();
    await until("the note of it", async () => (await scene.rows())[0]?.messageId !== null);
  }
  assert.equal(posted(scene, /^#1/), 1);
  await scene.open.sql(
    "update approvals set shown = 'posting', message_id = null, state = 'denied', decided_name = 'Ben'",
  );
  await using _ = await scene.start();
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Denied by Ben/).length === 1);
  assert.equal(posted(scene, /^#1/), 1);
});

test("a decision that no log tells yet is told by the next daemon, and run once", async () => {
  await using scene = await openApprovals();
  await asked(scene);
  await scene.open.sql("update approvals set state = 'allowed', decided_name = 'Ben', decided_at = now()");
  for (let start = 0; start < 2; start++) {
    await using _ = await scene.start();
    await scene.platform.until(() => shownIn(scene.platform, "room", /told: Noted/).length === 1);
    await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Allowed by Ben/).length === 1);
  }
  assert.equal((await scene.open.sql("select from entries where message_id = 'approval/1'")).length, 1);
  assert.equal((await scene.notes()).match(/buy milk/g)?.length, 1);
});

/** Turns do not wait for what they look up: it hangs as well. */
const SEARCHING = { approvals: SEARCHES, lookUpWithinMs: 1 };

type UseOfHanging = (scene: ApprovalScene, weir: TestWeir, release: () => Promise<void>) => Promise<void>;

/** An approved search that hangs until `release`. */
async function hanging(use: UseOfHanging): Promise<void> {
  // The database ends a search after three seconds: a busy machine may come too late.
  while (!(await hangingOnce(use)));
}

/** @returns false: it has ended before anybody has seen it hang */
async function hangingOnce(use: UseOfHanging): Promise<boolean> {
  await using scene = await openApprovals();
  scene.server.respond(lookingUp);
  await using weir = await scene.start(SEARCHING);
  // What stands in view is not searched.
  await weir.say("There is milk in the fridge.", { addressed: false });
  await coverRoom(scene.database.connection, "room");
  // Whoever indexes would wait for the table as well, and hold what the next daemon needs to take the channel.
  await scene.open.sql(
    "create or replace function index_ranges(p_channels bigint[], p_from bigint[], p_to bigint[]) returns void language sql as ''",
  );
  await weir.say("look up milk");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
  const end = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = scene.open.db.transaction(async (client) => {
    await client.query("", "lock table entry_search in access exclusive mode");
    locked.resolve();
    await end.promise;
  });
  const release = async (): Promise<void> => {
    end.resolve();
    await holding;
  };
  try {
    await locked.promise;
    await command(weir, "room", "approve 1", BEN);
    const state = async (): Promise<string> => (await scene.rows())[0]?.state ?? "";
    await until("its begin", async () => ["running", "done"].includes(await state()));
    if ((await state()) !== "running") return false;
    await use(scene, weir, release);
    return true;
  } finally {
    await release();
  }
}

test("a call that another daemon has begun is not run again: nobody knows whether it had its effect", async () => {
  await hanging(async (scene, _weir, release) => {
    const second = new TestPlatform({ serves: () => true });
    await using _ = await scene.start({ ...SEARCHING, platform: second });
    await second.until(() => shownIn(second, "room", UNKNOWN).length === 1);
    await release();
    assert.deepEqual(
      (await scene.rows()).map(({ state }) => state),
      ["done"],
    );
    const calls = "select from entries where kind = 'tool_call' and data->'calls'->0->>'id' = 'approval_1'";
    assert.equal((await scene.open.sql(calls)).length, 1);
  });
});

test("a stop while an approved call runs leaves it as one of which nobody knows", async () => {
  await hanging(async (scene, weir, release) => {
    await command(weir, "room", "stop", BEN);
    await until("its end", async () => (await scene.rows())[0]?.state === "done");
    await release();
    await weir.say("and now?");
    await scene.platform.until(() => shownIn(scene.platform, "room", /^fine$/).length === 1);
    assert.match(
      JSON.stringify(scene.server.requests.at(-1)?.body.messages),
      /Nobody knows whether this has run/,
    );
  });
});

test("a decision while the turn that asked still runs is told after it", async () => {
  await using scene = await openApprovals();
  const gate = Promise.withResolvers<void>();
  scene.server.reply(
    toolCalls([{ name: "note", arguments: { text: "buy milk" } }]),
    heldText("I have ", gate.promise, "asked."),
  );
  await using weir = await scene.start();
  await weir.say("please keep that");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
  assert.equal(await command(weir, "room", "approve 1", BEN), "Allowed: #1.");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Allowed/).length === 1);
  assert.doesNotMatch(await scene.notes(), /milk/);
  gate.resolve();
  await scene.platform.until(() => shownIn(scene.platform, "room", /told: Noted/).length === 1);
  const answers = scene.platform.texts("room").filter((one) => !one.startsWith("#1"));
  assert.deepEqual(answers, ["I have asked.", "told: Noted, for this conversation alone."]);
});

/** @returns false: it has expired before the database was away */
async function expiresWhileAway(expireMs: number): Promise<boolean> {
  await using scene = await openApprovals();
  await using weir = await scene.start({
    approvals: `tools = { note = "always" }\nexpire_ms = ${expireMs}`,
  });
  await weir.say("note buy milk");
  const hasExpired = async (): Promise<boolean> => {
    const [row] = await scene.rows();
    return row !== undefined && row.state !== "open";
  };
  await until("quiet", async () => (await scene.rows())[0]?.shown === "open" || (await hasExpired()));
  const { done } = await cutStatements(
    scene.open,
    "a.expires_at <= clock_timestamp()",
    1,
    "channels",
    hasExpired,
  );
  if (!(await done)) return false;
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Expired/).length === 1);
  await scene.platform.until(() => shownIn(scene.platform, "room", /^fine$/).length === 1);
  return true;
}

test("a database that is away when an approval expires only delays it", async () => {
  let expireMs = 1000;
  // A busy machine may come too late.
  while (!(await expiresWhileAway(expireMs))) expireMs *= 2;
});

test("a tool that is gone when its call is allowed, or an agent, is told of, and nothing runs", async () => {
  await using scene = await openApprovals();
  {
    await using weir = await scene.start();
    await weir.say("note buy milk");
    await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
    await weir.say("note more milk");
    await scene.platform.until(() => shownIn(scene.platform, "room", /^#2: main asks/).length === 1);
  }
  {
    await using weir = await scene.start({ config: "[defaults]\nnotes = false" });
    assert.equal(await command(weir, "room", "approve 1", BEN), "Allowed: #1.");
    await scene.platform.until(
      () => shownIn(scene.platform, "room", /told: Error: there is no tool "note"/).length === 1,
    );
    await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: Allowed by Ben/).length === 1);
  }
  await using weir = await scene.start({ agent: "other" });
  assert.equal(await command(weir, "room", "approve 2", BEN), "Allowed: #2.");
  await scene.platform.until(
    () => shownIn(scene.platform, "room", /told: This was not run: another agent/).length === 1,
  );
  assert.doesNotMatch(await scene.notes(), /milk/);
});

test("what an approver said goes with everything else of theirs", async () => {
  await using scene = await openApprovals();
  await using weir = await scene.start();
  await weir.say("note buy milk");
  await scene.platform.until(() => shownIn(scene.platform, "room", /^#1: main asks/).length === 1);
  await command(weir, "room", "deny 1 zxqpine", BEN);
  await scene.platform.until(() => shownIn(scene.platform, "room", /^fine$/).length === 1);
  scene.server.respond(() => text("fine"));
  assert.match(await command(weir, "room", "forget me yes", BEN), /^Forgotten: 1 message of yours/);
  const left = await scene.open.sql(
    "select (select count(*) from entries where text like '%zxqpine%')::int as texts, decided_name, decided_by, reason from approvals",
  );
  assert.deepEqual(left, [{ texts: 0, decidedName: "", decidedBy: null, reason: "" }]);
});
