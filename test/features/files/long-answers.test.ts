// proves: src/core/attached-file.ts, src/channel/delivery/outbox.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { beginningOf } from "../../../src/core/attached-file.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { openMill } from "../../support/discord/mill.ts";
import { ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { text } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";

const ON = 'long_answers = "file"\n';
const PARAGRAPH = "Salt comes from the sea, and from mines. ".repeat(20).trim();
const LONG = ["In short: buy salt.", ...Array.from({ length: 10 }, () => PARAGRAPH)].join("\n\n");
const BEGINNING = "In short: buy salt.\n\n(The whole answer is in the file answer.md.)";

test("an answer of more than three messages is its beginning beside a file; the model knows it whole", async () => {
  await using mill = await openMill();
  await using _ = await startDiscordWeir({ ...mill.options, agent: ON });
  const { discord, model, ann, general, mention } = mill;
  model.reply(text(LONG), text("Short."));
  discord.world.say(ann, general, `${mention} what of salt?`);
  await until("the file is there", () => discord.sentFiles(general).length === 1);
  assert.deepEqual(discord.answers(general), [BEGINNING, ""]);
  assert.deepEqual(discord.sentFiles(general), [`answer.md: ${LONG}`]);
  discord.world.say(ann, general, `${mention} and pepper?`);
  await until("the short answer", () => discord.answers(general).length === 3);
  assert.equal(discord.answers(general).at(-1), "Short.");
  assert.ok(JSON.stringify(model.requests[1]?.body.messages).includes("from mines. Salt comes"));
});

test("a restart before the file is there sends the same file, also where the option has changed", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  model.reply(text(LONG));
  {
    const agent = `${ON}[daemon]\ndrain_deadline_ms = 500\n`;
    await using _ = await startDiscordWeir({ ...mill.options, agent });
    const fault = { kind: "status", status: 503, when: "before" } as const;
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault, skip: 1, times: 1000 });
    discord.world.say(ann, general, `${mention} what of salt?`);
    await until("the beginning is there", () => discord.answers(general)[0] === BEGINNING);
  }
  discord.faults.clear();
  await using weir = await startDiscordWeir(mill.options);
  await until("it is delivered", () => weir.events.some(({ type }) => type === "reply_delivered"));
  assert.deepEqual(discord.answers(general), [BEGINNING, ""]);
  assert.deepEqual(discord.sentFiles(general), [`answer.md: ${LONG}`]);
});

test("the beginning ends with a paragraph, outside of code, or with a word", () => {
  const note = "\n\n(The whole answer is in the file answer.md.)";
  assert.equal(beginningOf(LONG), BEGINNING);
  assert.equal(beginningOf(`a\n\n\`\`\`\nb\n\nc${"d".repeat(900)}`), `a${note}`);
  const words = beginningOf("word ".repeat(300));
  assert.match(words, /^(?:word )+…\n\n\(The whole/);
  assert.ok(words.length < 700);
});
