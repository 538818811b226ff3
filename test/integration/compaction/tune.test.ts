// proves: src/cli/tune.ts, src/tune/tally.ts, src/tune/coverage.ts, src/tune/simulated-history.ts, src/store/turns/past.ts, src/tune/format.ts
import assert from "node:assert/strict";
import { writeFile, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { connectionUrl, startWeir } from "../../support/weir.ts";
import {
  ask,
  compactionParts,
  openScene,
  quiet,
  reading,
  type Scene,
  script,
} from "../../support/compaction.ts";
import { environment } from "../../support/e2e.ts";
import { text } from "../../support/model-behaviours.ts";
import { runShared } from "../../support/command-line.ts";

const SUMMARY =
  "Ann measures the river each morning at the mill, and the readings are in the green book by the door.";
const SECRET = "the heron nests behind the third willow";

function configOf(compaction = ""): string {
  return `
[llm]
max_retries = 0
[[agents]]
id = "main"
name = "Weir"
model = "test-model"
compactor_model = "summariser"
# In this window and without these tools, no request of the channel stands so near a threshold that it matters how soon a summary is there.
context_window = 8000
max_output_tokens = 512
generation_reserve = 512
[agents.questions]
enabled = false
[agents.reminders]
enabled = false
[agents.compaction]
${compaction}
`;
}

/**
 * A daemon holds a conversation: readings that it hears, and a question behind every tenth. They are a minute apart by the platform's
 * clock, all of one day, whatever the hour: a line of another day tells its date. Each summary is there before the next one comes.
 */
async function hold(scene: Scene, room: string, config: string): Promise<void> {
  const { server, connection } = scene;
  script(server, () => text(SUMMARY));
  await using weir = await startWeir({
    connection,
    modelUrl: server.url,
    config,
    compaction: compactionParts(),
  });
  const beganAt = new Date().setUTCHours(0, 0, 0, 0);
  for (let number = 1; number <= 400; number++) {
    const at = new Date(beganAt + number * 60_000);
    await weir.say(reading(number), { room, addressed: false, at });
    await quiet(weir, room);
    if (number % 10 !== 0) continue;
    await ask(weir, server, room, `what stands in the book at ${number}?`);
    await quiet(weir, room);
  }
}

interface Home extends AsyncDisposable {
  tune(...args: readonly string[]): Promise<{ code: number | null; out: string; stderr: string }>;
}

/** A folder in which the command runs. */
async function openHome(scene: Scene, config: string): Promise<Home> {
  const folder = await mkdtempDisposable(path.join(tmpdir(), "weir-tune-"));
  const { path: cwd } = folder;
  await writeFile(path.join(cwd, "config.toml"), `[database]\nurl = "env:TUNED"\n${config}`);
  await writeFile(
    path.join(cwd, ".env"),
    `TUNED=${connectionUrl(scene.connection)}\nOPENAI_BASE_URL=${scene.server.url}\n`,
  );
  return {
    async tune(...args) {
      const ran = await runShared({ words: ["tune", ...args], cwd, env: environment() });
      assert.ok(ran !== null);
      return { code: ran.code, out: ran.out.join("\n"), stderr: ran.stderr };
    },
    [Symbol.asyncDispose]: async () => folder.remove(),
  };
}

const outcome = z.object({
  requests: z.number(),
  tokens: z.object({
    sent: z.number(),
    largest: z.number(),
    summariserRead: z.number(),
    prefixShare: z.number(),
  }),
  compactions: z.object({
    background: z.number(),
    aggressive: z.number(),
    emergency: z.number(),
    merges: z.number(),
  }),
  emergencies: z.object({ omissions: z.number() }),
});
const report = z.object({
  columns: z.array(
    z.object({ name: z.string(), window: z.number(), settings: z.record(z.string(), z.string()), outcome }),
  ),
});

interface Real {
  readonly requests: number;
  readonly sent: number;
  readonly largest: number;
  readonly committed: Record<"background" | "aggressive" | "emergency", number>;
}

async function real({ open }: Scene): Promise<Real> {
  const [calls] = await open.sql<{ requests: number; sent: number; largest: number }>(
    `select count(*) as requests, sum(estimated_tokens)::bigint as sent, max(estimated_tokens) as largest
       from model_calls where purpose = 'turn' and outcome = 'answered'`,
  );
  assert.ok(calls !== undefined);
  const jobs = await open.sql<{ tier: "background" | "aggressive" | "emergency"; count: number }>(
    "select tier, count(*) as count from jobs where state = 'committed' group by tier",
  );
  const committed = { background: 0, aggressive: 0, emergency: 0 };
  for (const { tier, count } of jobs) committed[tier] = count;
  return { ...calls, committed };
}

/** Within a twentieth, and within one of small numbers. */
function assertNear(simulated: number, counted: number, what: string, share = 0.05): void {
  assert.ok(
    Math.abs(simulated - counted) <= Math.max(1, counted * share),
    `${what}: ${simulated}, really ${counted}`,
  );
}

for (const ahead of [true, false]) {
  test(`a channel that is played again with today's settings is what it was, written ahead: ${ahead}`, async () => {
    await using scene = await openScene();
    const room = "gauges";
    const config = configOf(`write_ahead = ${ahead}`);
    await hold(scene, room, config);
    await using home = await openHome(scene, config);
    const { code, out, stderr } = await home.tune(
      `test:${room}`,
      "--json",
      "--set",
      "compaction.target=0.4,0.5",
    );
    assert.equal(code, 0, stderr);
    const { columns } = report.parse(JSON.parse(out));
    assert.deepEqual(
      columns.map(({ name, settings }) => [name, settings["compaction.target"]]),
      [
        ["now", "0.6"],
        ["changed 1", "0.4"],
        ["changed 2", "0.5"],
      ],
    );
    const now = columns[0]?.outcome;
    assert.ok(now !== undefined);
    const was = await real(scene);
    assert.equal(was.requests, 40);
    assert.equal(now.requests, was.requests);
    assertNear(now.tokens.sent, was.sent, "tokens sent");
    assertNear(now.tokens.largest, was.largest, "the largest request");
    // A merge's length is expected to be the mean, and how long the next one may be follows from it.
    for (const tier of ["background", "aggressive", "emergency"] as const)
      assertNear(now.compactions[tier], was.committed[tier], tier, 0.1);
    assert.ok(was.committed.background > 5, `there was something to compare: ${JSON.stringify(was)}`);
    assert.equal(now.emergencies.omissions, 0);
  });
}

test("it asks no model, writes nothing, and tells no text, nor what is wrong with a setting in other words than a start", async () => {
  await using scene = await openScene();
  const { open, server } = scene;
  const { id } = await open.channel("quiet");
  for (let seq = 1; seq <= 60; seq++)
    await open.say(id, seq === 7 ? SECRET : `reading ${seq}: the river stood above the mark. `.repeat(8), {
      addressed: false,
      id: `m-${seq}`,
    });
  await using home = await openHome(scene, configOf());
  const rows = async (): Promise<unknown> =>
    open.sql(`select (select jsonb_agg(to_jsonb(c)) from channels c) as channels, (select count(*) from entries) as entries,
                     (select count(*) from jobs) as jobs, (select count(*) from summaries) as summaries,
                     (select count(*) from turns) as turns, (select count(*) from model_calls) as calls`);
  const before = await rows();
  const asked = server.requests.length;
  const told = await home.tune("test:quiet", "--set", "context_window=6000", "--summariser-seconds", "0");
  assert.equal(told.code, 0, told.stderr);
  assert.match(told.out, /^test:quiet, entries 1–60: 60 entries and 0 turns, played again without a model\./);
  assert.match(told.out, /^context_window +8000 +6000$/m);
  assert.match(told.out, /takes 0\.000 s \(as asked\)/);
  assert.match(told.out, /A summary is as long as it may be/);
  assert.doesNotMatch(told.out, /heron|reading|river/);
  assert.deepEqual(await rows(), before);
  assert.equal(server.requests.length, asked);

  const cases: readonly [readonly string[], RegExp][] = [
    [
      ["--set", "compaction.tarhet=0.4"],
      /What --set says has 1 problem:.*--set compaction\.tarhet.*did you mean `target`/s,
    ],
    [
      ["--set", "compaction.target=much"],
      /--set compaction\.target.*this value cannot be used.*expected: .*found: +"much"/s,
    ],
    [["--set", "compaction.target=0.9"], /thresholds are not in order.*0 < target < background_threshold/s],
    [["--set", "context_window=1200"], /window leaves no room for a conversation/],
    [["--set", "compaction.target=0.2"], /prompt and tools take about .* raise compaction\.target/],
    [["--set", "temperature=1"], /cannot show what temperature changes\. What can be tried: context_window/],
    [["--set", "target"], /is no setting\. Expected KEY=VALUE/],
    [["--from", "61"], /The log of test:quiet ends with 60\./],
    [["--from", "9", "--to", "3"], /--from 9 comes behind --to 3/],
    [["--at", "3"], /No turn that answers entry 3 or a later one/],
    [["--at", "turn:x"], /Expected a whole number/],
    [["--summariser-seconds", "-1"], /Expected a number of seconds/],
  ];
  for (const [args, expected] of cases) {
    const { code, out, stderr } = await home.tune("test:quiet", ...args);
    assert.ok(code === 1 || code === 78, args.join(" "));
    assert.equal(out, "");
    assert.match(stderr, expected);
    assert.doesNotMatch(stderr, /^\s+at .*:\d+:\d+\)?$/m);
  }
});
