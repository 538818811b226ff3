// proves: src/compactor/compactor.ts, src/compactor/breaker.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { Breaker } from "../../../src/compactor/breaker.ts";
import { rowsWith } from "../../store/rows-with.ts";
import {
  ask,
  checkFold,
  compaction,
  compactionParts,
  compactions,
  listen,
  openScene,
  quiet,
  said,
  type Scene,
  script,
  SPARE,
  SUMMARISER,
  summariserRequests,
} from "../../support/compaction.ts";
import { AGGRESSIVE, BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { resetBefore, status, text } from "../../support/model-behaviours.ts";
import type { Behaviour } from "../../support/model-server.ts";
import type { TestWeir } from "../../support/weir.ts";

/** In every bad output, so that it is found wherever it got to. */
const BAD = "zxqbad";
const GOOD = "Ann measures the river each morning; the readings are in the green book.";
const TOO_LONG = `${BAD} Ann measured the river above the mill again. `.repeat(40);
const REFUSAL = `I'm sorry, but I can't summarise that ${BAD} conversation.`;
const TALK = `Sure! I would ask for a new gauge. What do you think, ${BAD}?`;
const cutOff = text(`${BAD} Ann measures the river and`, { finish: "length" });

interface JobRow extends Record<string, unknown> {
  readonly state: string;
  readonly reason: string | null;
  readonly attempt: number;
  readonly toSeq: number;
  readonly result: unknown;
}

async function jobs({ open }: Scene): Promise<JobRow[]> {
  return open.sql<JobRow>("select state, reason, attempt, to_seq, result from jobs order by id");
}

/** The kinds of all refusals, oldest first. */
function refusals(weir: TestWeir): string[] {
  return weir.events.flatMap((event) =>
    event.type === "compaction_refused" ? [event.why.split(":")[0] ?? ""] : [],
  );
}

/** What bad models say, in the order of the ladder. The last is of the spare model: an empty answer. */
const LADDER: readonly Behaviour[] = [text(TOO_LONG), text(TOO_LONG), text(REFUSAL), cutOff, text("")];

test("a summariser that pays no heed to the length is asked for less, until its text fits", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const asked: number[] = [];
  // Asked for a shorter one, it writes as much again.
  script(server, ({ messages }) => {
    const tasks = messages.map(({ content }) => content).join("\n");
    const words = Number(/at most ([\d,]+) words/i.exec(tasks)?.[1]?.replaceAll(",", "") ?? "0");
    asked.push(words);
    return text(Array.from({ length: Math.ceil(words * 1.5) }, (_, index) => `river${index}`).join(" "));
  });
  const room = "long";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start({}, compactionParts("short"));
  await ask(weir, server, room, "are you there?");
  await compaction(weir, room, "committed");
  assert.equal(refusals(weir)[0], "over_cap");
  assert.ok((asked.at(-1) ?? 0) < (asked[0] ?? 0) / 1.5, asked.join(", "));
});

test("background: every rung is tried, then it gives up and rests; nothing bad is kept or shown", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => LADDER[index] ?? status(500));
  const room = "rungs";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start({ agent: `fallbacks = ["${SPARE}"]` });
  await ask(weir, server, room, "are you there?");
  const { tier, reason } = await compaction(weir, room, "failed");
  assert.equal(tier, "background");
  assert.match(reason ?? "", /^empty: /);
  assert.deepEqual(refusals(weir), ["over_cap", "refusal", "cut_off", "empty"]);
  const asked = summariserRequests(server);
  assert.deepEqual(
    asked.map(({ body }) => body.model),
    [SUMMARISER, SUMMARISER, SUMMARISER, SUMMARISER, SPARE],
  );
  assert.match(said(asked[1]).at(-1) ?? "", /too long[^]*Write it once more/, "it is asked to be shorter");
  const ranges = asked.map((request) => said(request).find((line) => line.startsWith("1. ["))?.length ?? 0);
  const [whole = 0, again, half = 0, quarter = 0, spare] = ranges;
  assert.equal(again, whole);
  assert.ok(half < whole * 0.6 && quarter < half * 0.6, `halved twice: ${ranges.join(", ")}`);
  assert.equal(spare, quarter);

  const [job, ...more] = await jobs(scene);
  assert.deepEqual(more, []);
  assert.deepEqual({ ...job, toSeq: 0 }, { state: "failed", reason, attempt: 4, toSeq: 0, result: null });
  assert.deepEqual(await open.sql("select from summaries"), []);
  // It rests: more messages do not make it try again.
  for (const words of ["hm", "well", "so"]) await weir.say(words, { room, addressed: false });
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, LADDER.length);
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.ok(!lines.join("\n").includes(BAD));
  assert.deepEqual(await rowsWith(open, BAD), []);
  await checkFold(weir, room);
});

test("aggressive: the same failures end in a digest", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => LADDER[index] ?? status(500));
  const room = "digested";
  await fillTo(scene, room, AGGRESSIVE);
  await using weir = await scene.start({ agent: `fallbacks = ["${SPARE}"]` });
  await ask(weir, server, room, "are you there?");
  const { tier, model } = await compaction(weir, room, "committed");
  assert.deepEqual({ tier, model }, { tier: "aggressive", model: "digest" });
  const summaries = await open.sql("select kind, model, live, needs_redo from summaries");
  assert.deepEqual(summaries[0], { kind: "digest", model: null, live: true, needsRedo: true });
  const lines = said(await ask(weir, server, room, "and now?"));
  assert.match(lines[1] ?? "", /^\[Compaction Summary\]: An extract, word for word/);
  assert.ok(!lines.join("\n").includes(BAD));
  assert.deepEqual(await rowsWith(open, BAD), []);
  await checkFold(weir, room);
});

test("a summary that is too long is committed once it is written shorter", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => text(index === 0 ? TOO_LONG : GOOD));
  const room = "shorter";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const { tokensAfter, tokensBefore } = await compaction(weir, room, "committed");
  assert.ok(tokensAfter !== null && tokensAfter < tokensBefore * 0.7);
  assert.equal(summariserRequests(server).length, 2);
  assert.deepEqual(refusals(weir), [], "it was no failed attempt");
  assert.deepEqual(await rowsWith(open, BAD), []);
});

test("an answer to the chat is asked for once more: the event says why, and nothing of it is kept", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => text(index === 0 ? TALK : GOOD));
  const room = "talk";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, server, room, "are you there?");
  const { secondTries } = await compaction(weir, room, "committed");
  assert.deepEqual(secondTries, ["talk"]);
  assert.equal(summariserRequests(server).length, 2);
  assert.deepEqual(refusals(weir), [], "it was no failed attempt");
  assert.deepEqual(await rowsWith(open, BAD), []);
});

test("a summariser that only answers the chat costs two calls an attempt", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, () => text(TALK));
  const room = "chatty";
  await fillTo(scene, room, BACKGROUND);
  await using weir = await scene.start({ agent: `fallbacks = ["${SPARE}"]` });
  await ask(weir, server, room, "are you there?");
  const { reason, secondTries } = await compaction(weir, room, "failed");
  assert.equal(reason, "talk: it speaks to somebody");
  assert.deepEqual(refusals(weir), ["talk", "talk", "talk", "talk"]);
  assert.deepEqual(secondTries, ["talk", "talk", "talk", "talk"]);
  assert.equal(summariserRequests(server).length, 2 * refusals(weir).length);
  assert.deepEqual(await rowsWith(open, BAD), []);
});

test("a summary of more than 0.7 of its source is refused, also under the cap", async () => {
  await using scene = await openScene();
  const { server } = scene;
  // About 195 tokens. The cap is 200, and 0.7 of six short messages is less.
  const inflated = `${BAD} Ann measured the river above the mill again today. `.repeat(12);
  script(server, () => text(inflated));
  const room = "inflated";
  const compactionLines = "max_raw_messages = 10\nkeep_messages = 8";
  await using weir = await scene.start({ window: 32_000, compaction: compactionLines });
  const short =
    "the river above the mill stood high, and nobody who lives there was surprised by what it did, since it had rained for many days";
  for (let number = 1; number <= 20; number++)
    await weir.say(`gauge-${number}: ${short}`, { room, addressed: false, id: `${room}-${number}` });
  const { toSeq } = await compaction(weir, room, "failed");
  assert.ok(refusals(weir).length > 0 && refusals(weir).every((kind) => kind === "inflated"));
  const whole = compactions(weir, room, "started")[0]?.toSeq ?? 0;
  assert.ok(toSeq < whole * 0.75, `of ${whole} messages it was halved to ${toSeq}`);
  assert.deepEqual(await scene.open.sql("select from summaries"), []);
  assert.deepEqual(await rowsWith(scene.open, BAD), []);
});

test("a summary that no model writes again to any use is an extract after three refused jobs, with what was edited", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => text(index === 0 ? GOOD : REFUSAL));
  const room = "hopeless";
  // An extract needs room for more than what it says of itself.
  const lines = { window: 16_384 };
  await fillTo(scene, room, BACKGROUND, lines);
  await using weir = await scene.start(lines, compactionParts("short"));
  await ask(weir, server, room, "are you there?");
  await compaction(weir, room, "committed");
  const channel = { platform: "test", name: room };
  const edit = { type: "edit", platform: "test", channel, at: new Date() } as const;
  await weir.daemon.inbox.receive({ ...edit, id: `${room}-2`, text: "the sluice is red: zxqnew, 7 m" });
  const { kind, model } = await compaction(weir, room, "committed", 2);
  assert.deepEqual([kind, model], ["redo", "digest"]);
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, 4);
  assert.deepEqual(
    (await jobs(scene)).map(({ state }) => state),
    ["committed", "failed", "failed", "committed"],
  );
  const live = await open.sql("select kind, needs_redo from summaries where live");
  assert.deepEqual(live, [{ kind: "digest", needsRedo: false }]);
  assert.ok(said(await ask(weir, server, room, "and now?"))[1]?.includes("zxqnew"));
  await checkFold(weir, room);

  // What is edited after that is tried again, as often.
  script(server, () => text("The sluice is blue."));
  await weir.daemon.inbox.receive({ ...edit, at: new Date(), id: `${room}-2`, text: "the sluice is blue" });
  assert.equal((await compaction(weir, room, "committed", 3)).model, SUMMARISER);
  await checkFold(weir, room);
});

test("background waits while the summariser is away: no digest, and the breaker ends the calls", async () => {
  await using scene = await openScene();
  const { server, open } = scene;
  script(server, (_, index) => (index % 2 === 0 ? status(503) : resetBefore()));
  const room = "away";
  let now = 0;
  const parts = compactionParts("short", new Breaker(() => now));
  await using weir = await scene.start({ window: 32_000, compaction: "max_raw_messages = 30" }, parts);
  await listen(weir, room, 1, 40);
  await compaction(weir, room, "failed", 3);
  await listen(weir, room, 41, 90);
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, 3, "the circuit is open after three failures");
  now += 31_000;
  await listen(weir, room, 91, 92);
  await compaction(weir, room, "failed", 4);
  await listen(weir, room, 93, 110);
  await quiet(weir, room);
  assert.equal(summariserRequests(server).length, 4, "one trial when its pause is over");
  assert.deepEqual(compactions(weir, room, "committed"), []);
  assert.deepEqual(
    await open.sql("select from summaries"),
    [],
    "an outage makes no digests of quiet channels",
  );

  // Where room runs out, a digest is made, and nobody is asked.
  await listen(weir, room, 111, 112);
  const full = "full";
  const id = (await open.channel(full)).id;
  const long = "The committee reports on the river and on the gate by the mill. ".repeat(400);
  for (let part = 1; part <= 5; part++) await open.say(id, long, { addressed: false, id: `${full}-${part}` });
  await ask(weir, server, full, "are you there?");
  const { model } = await compaction(weir, full, "committed");
  assert.equal(model, "digest");
  assert.equal(summariserRequests(server).length, 4);

  // Its return is noticed by the next trial.
  script(server, () => text(GOOD));
  now += 3_600_000;
  await listen(weir, room, 113, 114);
  assert.equal((await compaction(weir, room, "committed")).model, SUMMARISER);
  await checkFold(weir, room);
});

test("when the circuit's pause is over, channels are compacted in which nobody speaks any more", async () => {
  await using scene = await openScene();
  const { server } = scene;
  script(server, () => status(503));
  let now = 0;
  const parts = compactionParts("short", new Breaker(() => now));
  await using weir = await scene.start({ window: 32_000, compaction: "max_raw_messages = 30" }, parts);
  await listen(weir, "failed", 1, 40);
  await compaction(weir, "failed", "failed", 3);
  // This one has never asked: the circuit was open when it was due.
  await listen(weir, "due", 1, 40);
  await quiet(weir, "due");
  assert.deepEqual(compactions(weir, "due", "started"), []);
  script(server, () => text(GOOD));
  now += 31_000;
  for (const room of ["failed", "due"]) {
    await compaction(weir, room, "committed");
    await checkFold(weir, room);
  }
});
