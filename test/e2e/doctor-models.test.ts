// proves: src/cli/doctor/look-at-models.ts, src/cli/doctor/model-rehearsal.ts, src/cli/doctor/needle-search.ts
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { openHome } from "../support/e2e.ts";
import { connectionUrl } from "../support/weir.ts";
import { lists, openAiError, PLAIN_FORM, type Species } from "../zoo/species.ts";
import { LOCAL } from "../zoo/species/local.ts";
import { type Cage, openCage } from "../zoo/zoo.ts";

/** Where an answer to one line of a person is all that works. */
const SULKING: Species = {
  name: "a template that takes nothing but a user's line",
  sources: ["https://github.com/vllm-project/vllm/issues/2080"],
  host: null,
  path: "/v1",
  apis: ["chat"],
  model: "house-model",
  narrow: "house-narrow",
  rules: [
    ({ turns }) =>
      turns.length > 1 ? openAiError(400, "Only one message is taken.", { type: "BadRequestError" }) : null,
  ],
  form: PLAIN_FORM,
  window: {
    tokens: 6000,
    countsOutput: false,
    over: "cuts",
    refusal: () => openAiError(400, "unreachable"),
  },
  cache: null,
  side: lists((id) => ({ id })),
};
const EASY: Species = { ...SULKING, name: "a server that takes everything", rules: [] };

interface Said {
  readonly code: number | null;
  readonly out: readonly string[];
  readonly text: string;
  readonly cage: Cage;
}

async function doctor(species: Species, model: string, ...args: string[]): Promise<Said> {
  await using database = await createTestDatabase();
  await using cage = await openCage(species);
  const config = `[[agents]]\nid = "main"\nmodel = "${model}"\n`;
  await using home = await openHome({ modelUrl: cage.url, config });
  await writeFile(path.join(home.folder, ".env"), `DATABASE_URL="${connectionUrl(database.connection)}"\n`);
  const { code, out, stderr } = await home.run("doctor", ...args);
  return { code, out, text: [...out, stderr].join("\n"), cage };
}

test("a model that refuses what a conversation sends is wrong, whatever it says to one line", async () => {
  const { code, text } = await doctor(SULKING, SULKING.model);
  assert.match(
    text,
    /^✗ model house-model: a turn as in a conversation failed: .*Only one message is taken/m,
  );
  assert.equal(code, 1, text);
});

test("a model answers, calls a tool, reads its result and writes a summary; before, it is said what that costs", async () => {
  const { code, out, text, cage } = await doctor(EASY, EASY.model);
  assert.equal(code, 0, text);
  const said = out.findIndex((line) => line.includes("models: 1 model, at most 4 calls in all"));
  const found = out.findIndex((line) => line.startsWith("✓ model house-model: "));
  assert.ok(said >= 0 && said < found, text);
  assert.match(out[found] ?? "", /answers \(\d+ ms\), calls tools, writes summaries, .*price is unknown/);
  const asked = cage.visits.map(({ asked: one }) => one.turns.map(({ role }) => role).join(" "));
  assert.equal(asked.length, 4);
  assert.match(asked[0] ?? "", /^system user.* assistant tool assistant user/, "as in a conversation");
  assert.match(asked[2] ?? "", / assistant tool$/, "with the result of a call");
  assert.ok(cage.visits.every(({ asked: one }) => one.isStreamed));
});

test("--window finds that a server cuts silently; --no-models asks nobody", async () => {
  const cut = await doctor(EASY, EASY.narrow, "--window");
  const read = Number(/it reads about ([\d,]+)/.exec(cut.text)?.[1]?.replaceAll(",", ""));
  assert.ok(read > EASY.window.tokens * 0.6 && read < EASY.window.tokens * 1.4, cut.text);
  const whole = await doctor(EASY, EASY.model, "--window");
  assert.match(whole.text, /it reads all of it/);
  const none = await doctor(EASY, EASY.model, "--no-models");
  assert.deepEqual([none.code, none.cage.visits.length], [0, 0], none.text);
});

test("doctor says of a strict template what a conversation would meet", async () => {
  for (const species of LOCAL.filter(({ name }) => /a template like|without --jinja/.test(name))) {
    const { code, text, cage } = await doctor(species, species.model);
    const isRefused = cage.visits.at(-1)?.refused !== null;
    assert.equal(code, isRefused ? 1 : 0, `${species.name}\n${text}`);
  }
});
