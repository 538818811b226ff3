// proves: src/llm/catalog/learned-models.ts, src/llm/catalog/known-windows.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LlmConfig } from "../../../src/config/config.ts";
import type { LearnedModel, LearnedModels, LearnedWindow } from "../../../src/llm/catalog/learned-models.ts";
import { openModels, type OpenModelsOptions } from "../../../src/llm/model-provider.ts";
import type { Models } from "../../../src/llm/models.ts";
import { llm, modelSaid } from "../../support/llm-config.ts";

/** Where a test keeps what is learned: in memory, by server. */
class Kept implements LearnedModels {
  readonly windows = new Map<string, LearnedWindow>();
  readonly factors = new Map<string, number>();
  fails = false;

  async load(server: string): Promise<LearnedModel[]> {
    const names = new Set([...this.windows.keys(), ...this.factors.keys()]);
    return [...names]
      .filter((name) => name.startsWith(`${server} `))
      .map((name) => ({
        model: name.slice(server.length + 1),
        window: this.windows.get(name) ?? null,
        factor: this.factors.get(name) ?? null,
      }));
  }

  async keepWindow(server: string, model: string, window: LearnedWindow): Promise<void> {
    if (this.fails) throw new Error("the disk is full");
    this.windows.set(`${server} ${model}`, window);
  }

  async keepFactor(server: string, model: string, factor: number): Promise<void> {
    if (this.fails) throw new Error("the disk is full");
    this.factors.set(`${server} ${model}`, factor);
  }
}

/** A run that knows what earlier ones have learned. */
async function nextRun(config: LlmConfig, options: OpenModelsOptions): Promise<Models> {
  const models = await openModels(config, options);
  await models.recallLearned();
  return models;
}

const REPORT = { estimated: 1000, reported: 1500 };

async function taught(learned: Kept, overrides: Partial<LlmConfig> = {}): Promise<void> {
  await using models = await nextRun(llm({ apiKey: "key", ...overrides }), { learned });
  models.learnWindow("m", 20_000);
  models.learnFactor("m", REPORT);
}

test("what was learned is known to the next run at the same server, and at no other", async () => {
  const learned = new Kept();
  await taught(learned);
  await using again = await nextRun(llm({ apiKey: "another-key" }), { learned });
  assert.equal(again.windowOf("m", 100_000), 20_000);
  assert.equal(again.factorOf("m"), 1.5);
  assert.equal(again.windowOf("n", 100_000), 100_000);
  await using elsewhere = await nextRun(llm({ apiKey: "key", baseUrl: "http://127.0.0.1:9/v1" }), {
    learned,
  });
  assert.equal(elsewhere.windowOf("m", 100_000), 100_000);
  assert.equal(elsewhere.factorOf("m"), 1);
  assert.doesNotMatch([...learned.windows.keys()].join(), /openai|key/, "an address may hold a key");
});

test("what was learned is forgotten where [models] has since been given a larger window, and holds where it said so before", async () => {
  const learned = new Kept();
  const saying = (contextWindow: number): Partial<LlmConfig> => ({
    models: [modelSaid({ name: "m", contextWindow })],
  });
  await taught(learned, saying(50_000));
  await using same = await nextRun(llm({ apiKey: "key", ...saying(50_000) }), { learned });
  assert.equal(same.windowOf("m", 0), 20_000);
  await using larger = await nextRun(llm({ apiKey: "key", ...saying(60_000) }), { learned });
  assert.equal(larger.windowOf("m", 0), 60_000);
  larger.learnWindow("m", 30_000);
  assert.equal(larger.windowOf("m", 0), 30_000, "the server's newer word");
  await using smaller = await nextRun(llm({ apiKey: "key", ...saying(10_000) }), { learned });
  assert.equal(smaller.windowOf("m", 0), 10_000);
});

test("what was learned is a window for as long as it is believed: thirty days where the server has told it, else one", async () => {
  for (const [source, days] of [
    ["told", 30],
    ["measured", 1],
    ["guessed", 1],
  ] as const) {
    const learned = new Kept();
    {
      await using models = await nextRun(llm({ apiKey: "key" }), { learned });
      models.learnWindow("m", 20_000, source);
    }
    const [first] = learned.windows;
    assert.ok(first !== undefined);
    const [key, window] = first;
    assert.equal(window.source, source);
    assert.equal(window.until.getTime() - window.at.getTime(), days * 86_400_000);
    await using young = await nextRun(llm({ apiKey: "key" }), { learned });
    assert.deepEqual(young.knownWindow("m", 100_000), { tokens: 20_000, source, until: window.until });
    learned.windows.set(key, { ...window, until: new Date(Date.now() - 1) });
    await using old = await nextRun(llm({ apiKey: "key" }), { learned });
    assert.deepEqual(old.knownWindow("m", 100_000), { tokens: 100_000, source: "configured", until: null });
    old.learnWindow("m", 90_000);
    assert.equal(old.windowOf("m", 100_000), 90_000);
  }
});

test("what was learned is no smaller the next time than a prompt that was answered since", async () => {
  const learned = new Kept();
  {
    await using models = await nextRun(llm({ apiKey: "key" }), { learned });
    models.learnWindow("m", 2000);
    models.learnFactor("m", { estimated: 6000, reported: 6000 });
  }
  await using again = await nextRun(llm({ apiKey: "key" }), { learned });
  assert.equal(again.windowOf("m", 0), 6000);
});

test("what was learned is used though it cannot be kept, which somebody is told", async () => {
  const learned = new Kept();
  learned.fails = true;
  const told: unknown[] = [];
  {
    await using models = await nextRun(llm({ apiKey: "key" }), {
      learned,
      onNotKept: (error) => told.push(error),
    });
    models.learnWindow("m", 20_000);
    models.learnFactor("m", REPORT);
    assert.equal(models.windowOf("m", 100_000), 20_000);
  }
  assert.equal(told.length, 2);
});

test("what was learned is not written for each report, but where it has changed", async () => {
  const learned = new Kept();
  let writes = 0;
  learned.keepFactor = async () => {
    writes++;
  };
  await using models = await nextRun(llm({ apiKey: "key" }), { learned });
  for (let report = 0; report < 50; report++) models.learnFactor("m", REPORT);
  await new Promise(setImmediate);
  assert.equal(writes, 1);
});

test("what was learned that nobody can have learned is brought within bounds", async () => {
  const learned = new Kept();
  await taught(learned);
  const [key = ""] = learned.factors.keys();
  learned.factors.set(key, 1e9);
  await using models = await nextRun(llm({ apiKey: "key" }), { learned });
  assert.equal(models.factorOf("m"), 4);
});
