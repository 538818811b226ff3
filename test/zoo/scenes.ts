/** What happens at each server of the zoo, and what must come of it. */
import assert from "node:assert/strict";
import { answerText } from "../../src/core/card.ts";
import { explainFailure } from "../../src/admin/explain-failure.ts";
import type { InboundImage } from "../../src/core/message.ts";
import { agentId } from "../../src/core/ids.ts";
import { bindPlatform } from "../../src/router/bindings.ts";
import type { WeirEvent } from "../../src/telemetry/events.ts";
import { createTestDatabase } from "../support/database.ts";
import { fullPrice } from "../support/provider-caches.ts";
import { startWeir, type TestWeir } from "../support/weir.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { promptTokens, textOf } from "./asked.ts";
import { AT_LENGTH, DONE, FACT, HELD, isOfSummariser, SUMMARY, THOUGHT } from "./mind.ts";
import type { Species } from "./species.ts";
import { type Cage, DEAD, SPARE, type Visit } from "./zoo.ts";

/** A daemon that talks to one server; its rooms have agents of their own. */
export interface Habitat extends AsyncDisposable {
  readonly species: Species;
  readonly cage: Cage;
  readonly weir: TestWeir;
  readonly open: OpenStore;
  /** Lines of the log, from `warn` on. */
  readonly log: readonly string[];
}

const KEY = "zoo-secret-key";
/** Which agent answers in which room; in all others it is the first. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  narrow: ["overflow"],
  backed: ["fallback"],
  landing: ["summary", "at-length", "landing", "merge"],
  helped: ["subagent"],
};

function configFor({ model, narrow }: Species): string {
  const agent = (id: string, lines: string, compacts = false): string => `
[[agents]]
id = "${id}"
name = "Weir"
max_output_tokens = 512
generation_reserve = 512
sees_images = true
time_zone = "UTC"
${lines}
[agents.compaction]
enabled = ${compacts}
keep_messages = 4
write_ahead = false
`;
  return `
[llm]
max_retries = 1
[models."${SPARE}"]
context_window = 8192
${agent("main", `model = "${model}"`)}
${agent("narrow", `model = "${narrow}"`)}
${agent("backed", `model = "${DEAD}"\nfallbacks = ["${SPARE}"]`)}
${agent("landing", `model = "${model}"\ncontext_window = 8192`, true)}
${agent("helped", `model = "${model}"`)}
[agents.subagents]
enabled = true
${agent("second", `model = "${model}"`).replace('name = "Weir"', 'name = "Second"')}
`;
}

/** A daemon for a server, over a database of its own. */
export async function openHabitat(cage: Cage): Promise<Habitat> {
  const { species } = cage;
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await createTestDatabase());
  const open = stack.use(openStore(connection));
  const log: string[] = [];
  const weir = stack.use(
    await startWeir({
      connection,
      modelUrl: cage.url,
      apiKey: KEY,
      config: configFor(species),
      onLog: (line) => log.push(line),
      bindingsOf: () => [
        ...Object.entries(ROOMS).map(([agent, channels]) => ({
          ...bindPlatform("test", agentId(agent)),
          channels: [...channels],
        })),
        { ...bindPlatform("test", agentId("main")), channels: ["guests"], also: [agentId("second")] },
        bindPlatform("test", agentId("main")),
      ],
    }),
  );
  const kept = stack.move();
  return { species, cage, weir, open, log, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** What came of one message. */
interface Turned {
  readonly outcome: string;
  readonly reason: string | null;
  /** What the room shows newly. */
  readonly texts: readonly string[];
  readonly visits: readonly Visit[];
}

let count = 0;

async function turn(
  { weir, cage }: Habitat,
  room: string,
  words: string,
  more: { readonly images?: readonly InboundImage[] } = {},
): Promise<Turned> {
  const from = cage.visits.length;
  const before = weir.platform.texts(room).length;
  const id = `asked-${++count}`;
  await weir.say(words, { room, id, ...more });
  const { outcome, reason } = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
  if (outcome === "answered")
    await weir.event("reply_delivered", ({ inReplyTo = [] }) => inReplyTo.includes(id));
  else await weir.platform.until(() => weir.platform.texts(room).length > before || outcome === "skipped");
  const visits = cage.visits.slice(from).filter(({ asked }) => !isOfSummariser(asked));
  return { outcome, reason, texts: weir.platform.texts(room).slice(before), visits };
}

/** Lines that nobody has to answer, of about 600 tokens each. */
async function chatter({ weir }: Habitat, room: string, lines: number, words = ""): Promise<void> {
  for (let line = 1; line <= lines; line++) {
    const author = line % 2 === 0 ? { id: "u-ben", name: "Ben", isBot: false } : undefined;
    const text = `On day ${line} ${words} ${"the river stood above the old mark by the mill. ".repeat(50)}`;
    await weir.say(text, { room, addressed: false, ...(author !== undefined && { author }) });
  }
}

async function command({ weir }: Habitat, room: string, name: string): Promise<string> {
  const channel = { platform: "test", name: room };
  const asker = { id: "u-ann", name: "Ann", roles: [] };
  return answerText(await weir.daemon.inbox.command({ channel, name, argument: "", asker }));
}

function assertAnswered(turned: Turned, text: string, calls: number): void {
  const { outcome, reason, texts, visits } = turned;
  const told = visits.map(({ refused }) => (refused === null ? "answered" : JSON.stringify(refused.body)));
  assert.deepEqual(
    { outcome, reason, texts },
    { outcome: "answered", reason: null, texts: [text] },
    told.join("\n"),
  );
  assert.ok(visits.length <= calls, `${visits.length} calls instead of ${calls}:\n${told.join("\n")}`);
}

/** Corrections that the first turn may take: each fact that a server refuses is learned by one refusal. */
const LEARNING = 3;

export const SCENES: Readonly<Record<string, (habitat: Habitat) => Promise<void>>> = {
  async "first turn"(habitat) {
    const { weir, species } = habitat;
    const { fails } = species;
    await weir.say("good morning", { room: "first", addressed: false });
    const ben = { id: "u-ben", name: "Ben", isBot: false };
    await weir.say("morning, Ann", { room: "first", addressed: false, author: ben });
    const first = await turn(habitat, "first", 'Weir, say "Good morning to you all."');
    if (fails !== undefined) {
      assert.equal(first.outcome, "failed");
      assert.match(first.texts.join("\n"), fails.person);
      assert.match(explainFailure(first.reason ?? "", undefined), fails.operator);
      assert.equal(first.visits.length, fails.calls);
      return;
    }
    assertAnswered(first, "Good morning to you all.", 1 + LEARNING);
    assertAnswered(await turn(habitat, "first", 'and say "Bye for now."'), "Bye for now.", 1);
    const other = await turn(habitat, "other", 'say "Here, too."');
    assertAnswered(other, "Here, too.", 1);
  },

  async "two parallel calls"(habitat) {
    const turned = await turn(habitat, "calls", "Weir, look up alpha and beta");
    const isWithout = habitat.species.tools === false;
    const text = isWithout ? "Looked up: nothing." : "Looked up: alpha, beta.";
    // The answer after the calls is a request of its own; a server may refuse the form of the results once.
    assertAnswered(turned, text, isWithout ? 1 + LEARNING : 2 + LEARNING);
    const called = habitat.weir.events.filter(
      (event) => event.type === "tool_called" && event.channel === "test:calls",
    );
    assert.equal(called.length, isWithout ? 0 : 2, "each call ran once");
    assertAnswered(await turn(habitat, "calls", 'now say "All is fine."'), "All is fine.", 1);
    const again = await turn(habitat, "calls", "look up gamma and delta");
    assertAnswered(again, isWithout ? "Looked up: nothing." : "Looked up: gamma, delta.", 2);
  },

  async thinking(habitat) {
    const { weir, cage, open } = habitat;
    assertAnswered(await turn(habitat, "thinking", 'say "Thought through."'), "Thought through.", 1);
    assertAnswered(await turn(habitat, "thinking", 'say "Once again."'), "Once again.", 1);
    const shown = weir.platform.calls.map(({ message }) => message.text).join("\n");
    assert.ok(!shown.includes(THOUGHT), "nobody reads thoughts");
    const said = cage.visits.flatMap(({ asked }) => asked.turns.map(textOf)).join("\n");
    assert.ok(!said.includes(THOUGHT), "no answer of before holds them");
    const [row] = await open.sql<{ n: number }>(
      "select count(*)::int as n from entries where text like '%SECRET-THOUGHT%'",
    );
    assert.equal(row?.n, 0, "they are stored nowhere");
  },

  async "a picture"(habitat) {
    const picture: InboundImage = { name: "cat.png", type: "image/png", bytes: Buffer.from("no picture") };
    const words = "what do you see\n[image cat.png, image/png, 10 bytes]";
    const turned = await turn(habitat, "picture", words, { images: [picture] });
    assertAnswered(turned, "I see 1 pictures.", 1);
    assertAnswered(await turn(habitat, "picture", 'say "Gone."'), "Gone.", 1);
  },

  async "a conversation that overflows"(habitat) {
    const { weir, species } = habitat;
    const { window, narrow } = species;
    await chatter(habitat, "overflow", 22);
    const first = await turn(habitat, "overflow", 'Weir, say "It is long."');
    // A refused size is tried at three quarters and at half, and the full one once more.
    assertAnswered(first, "It is long.", 5 + LEARNING);
    const refused = habitat.cage.visits.filter(
      (visit) => visit.asked.model === narrow && visit.refused !== null && !visit.isForm,
    );
    for (const words of ["Still.", "And again.", "At last."]) {
      await chatter(habitat, "overflow", 1);
      // What was learned lies between what was answered and what was refused: the next larger one may be refused once more.
      assertAnswered(await turn(habitat, "overflow", `say "${words}"`), words, refused.length > 0 ? 3 : 1);
    }
    const last = habitat.cage.visits.findLast(({ asked }) => asked.model === narrow);
    assert.ok(last !== undefined && promptTokens(last.asked) <= window.tokens, "it fits by now");
    const learned = weir.daemon.models.windowOf(narrow, 0);
    const most = Math.max(window.tokens * 1.3, ...refused.map(({ asked }) => promptTokens(asked)));
    assert.ok(learned <= most, `${learned} tokens are believed, ${window.tokens} are true`);
    assert.ok(learned >= window.tokens / 3, `${learned} tokens are believed, ${window.tokens} are true`);
  },

  async "a summary with memories"(habitat) {
    const { open, species } = habitat;
    await chatter(habitat, "summary", 6, FACT);
    assert.match(await command(habitat, "summary", "compact"), /^Summarised/);
    const rows = await open.sql<{ text: string }>("select text from summaries");
    assert.ok(
      rows.some(({ text }) => text === SUMMARY),
      JSON.stringify(rows),
    );
    const memories = await open.sql<{ statement: string }>("select statement from memories");
    const kept = species.tools === false ? [] : [{ statement: "Ann wears a teal badge." }];
    assert.deepEqual(memories, kept);
    const turned = await turn(habitat, "summary", 'say "I remember."');
    assertAnswered(turned, "I remember.", 1);
    assert.ok(turned.visits.at(-1)?.asked.turns.some((one) => textOf(one).includes(SUMMARY)));
  },

  async "a summary that is too long"(habitat) {
    await chatter(habitat, "at-length", 6, AT_LENGTH);
    assert.match(await command(habitat, "at-length", "compact"), /^Summarised/);
    const turned = await turn(habitat, "at-length", 'say "In short."');
    assertAnswered(turned, "In short.", 1);
    assert.ok(turned.visits.at(-1)?.asked.turns.some((one) => textOf(one).includes(SUMMARY)));
  },

  async "a fallback"(habitat) {
    const { weir } = habitat;
    const before = weir.daemon.models.windowOf(DEAD, 0);
    await chatter(habitat, "fallback", 20);
    const first = await turn(habitat, "fallback", 'Weir, say "In its place."');
    assertAnswered(first, "In its place.", 2 + LEARNING);
    assertAnswered(await turn(habitat, "fallback", 'say "Once more."'), "Once more.", 2);
    assert.equal(weir.daemon.models.windowOf(DEAD, 0), before, "the first model's window is its own");
    assert.ok(!weir.events.some(isEmergencyIn("fallback")), "nothing leaves the view for good");
  },

  async "a stop in the middle"(habitat) {
    const { weir, cage } = habitat;
    const asked = cage.visits.length;
    const id = `asked-${++count}`;
    await weir.say("Weir, hold on", { room: "stopped", id });
    const settled = weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
    const isTaken = (): boolean => cage.visits.slice(asked).some(({ refused }) => refused === null);
    const taken = async (): Promise<void> => {
      while (!isTaken()) await cage.visited(cage.visits.length + 1);
    };
    await Promise.race([taken(), settled]);
    assert.ok(isTaken(), `nothing was taken: ${JSON.stringify(weir.events.at(-1))}`);
    assert.equal(await command(habitat, "stopped", "stop"), "Stopped.");
    const { outcome } = await settled;
    assert.equal(outcome, "stopped");
    const shown = weir.platform.texts("stopped").join("\n");
    assert.ok(HELD.startsWith(shown.replace("… (stopped)", "").trim()), shown);
    assertAnswered(await turn(habitat, "stopped", 'say "On we go."'), "On we go.", 1);
  },

  async "a landing"(habitat) {
    const { weir, species } = habitat;
    const room = "landing";
    const turns: Turned[] = [];
    const isLanded = (): boolean =>
      weir.events.some(
        (event) =>
          event.type === "compaction" && event.channel === `test:${room}` && event.phase === "committed",
      );
    while (!isLanded() && turns.length < 24) {
      const filler = "the river stood above the old mark by the mill. ".repeat(45);
      const words = `${filler} Weir, say "Number ${turns.length}."`;
      const turned = await turn(habitat, room, words);
      assertAnswered(turned, `Number ${turns.length}.`, 1);
      turns.push(turned);
      // It runs beside the turns; here the next one waits for it.
      await weir.daemon.registry.compactionsIdle();
    }
    assert.ok(isLanded(), `${turns.length} turns, and no compaction`);
    for (const words of ["One.", "Two.", "Three."]) {
      const turned = await turn(habitat, room, `say "${words}"`);
      assertAnswered(turned, words, 1);
      turns.push(turned);
    }
    assert.ok(
      turns
        .at(-1)
        ?.visits.at(-1)
        ?.asked.turns.some((one) => textOf(one).includes(SUMMARY)),
    );
    const paid = turns.slice(1).flatMap(({ visits }) => visits.flatMap((visit) => visit.paid ?? []));
    const all = paid.reduce((sum, { plain, read, written }) => sum + plain + read + written, 0);
    const dear = paid.reduce((sum, one) => sum + fullPrice(one), 0) / all;
    if (species.cache !== null)
      assert.ok(dear < 0.6, `the turns cost ${dear.toFixed(2)} of their full price`);
    assertBooked(habitat);
  },

  async "calls of another model in the past"({ weir, species }) {
    if (species.tools === false) return;
    const call = {
      id: "call_AbC123def456GHI789jkl012",
      name: "search_history",
      arguments: '{"query":"mill"}',
    };
    const tool = {
      name: "search_history",
      description: "Looks.",
      parameters: { type: "object", properties: {} },
    };
    const answer = await weir.daemon.models.model.answer(
      {
        model: species.model,
        messages: [
          { role: "system", text: "You are Weir." },
          { role: "user", text: "What of the mill?" },
          { role: "assistant", text: "", calls: [call] },
          { role: "tool", callId: call.id, text: "Nothing was found." },
          { role: "assistant", text: "Nothing.", calls: [] },
          { role: "user", text: 'say "Nothing at all."' },
        ],
        tools: [tool],
        toolChoice: "auto",
        maxOutputTokens: 200,
        temperature: undefined,
      },
      { signal: AbortSignal.timeout(60_000) },
    );
    assert.equal(answer.text, "Nothing at all.");
  },
};

/** Where messages come in an unusual order: played at those who check it. */
export const STRICT_SCENES: Readonly<Record<string, (habitat: Habitat) => Promise<void>>> = {
  async "a guest"(habitat) {
    await chatter(habitat, "guests", 2);
    assertAnswered(await turn(habitat, "guests", 'say "I am the first."'), "I am the first.", 1);
    const guest = await turn(habitat, "guests", '@Second say "I am the second."');
    assertAnswered(guest, "**Second:** I am the second.", 1);
    assertAnswered(await turn(habitat, "guests", '@Second say "Still I am."'), "**Second:** Still I am.", 1);
    assertAnswered(await turn(habitat, "guests", 'say "And I."'), "And I.", 1);
  },

  async "a subagent"(habitat) {
    const turned = await turn(habitat, "subagent", "Weir, delegate it");
    assertAnswered(turned, `They say: ${DONE}`, 4);
    assertAnswered(await turn(habitat, "subagent", 'say "Thanks."'), "Thanks.", 1);
  },

  async "a merge"(habitat) {
    const { weir } = habitat;
    const isMerged = (): boolean =>
      weir.events.some(
        (event) =>
          event.type === "compaction" &&
          event.channel === "test:merge" &&
          event.kind === "merge" &&
          event.phase === "committed",
      );
    for (let round = 0; round < 12 && !isMerged(); round++) {
      // Fewer than would begin a compaction in the background, which could be there first.
      await chatter(habitat, "merge", 3);
      assert.match(await command(habitat, "merge", "compact"), /^Summarised/);
      await weir.daemon.registry.compactionsIdle();
    }
    assert.ok(isMerged(), "no summaries were merged");
    assertAnswered(await turn(habitat, "merge", 'say "It is one."'), "It is one.", 1);
    const rows = await habitat.open.sql<{ kind: string }>("select kind from summaries where level > 1");
    assert.ok(rows.length > 0 && rows.every(({ kind }) => kind === "model"), JSON.stringify(rows));
  },
};

function isEmergencyIn(room: string): (event: WeirEvent) => boolean {
  return (event) => event.type === "emergency" && event.channel === `test:${room}`;
}

/** What Weir has written down of its calls is what the server has counted. */
function assertBooked({ weir, cage, species }: Habitat): void {
  if (species.form.usage === "never") return;
  const booked = weir.events.filter((event) => event.type === "model_call" && event.outcome !== "aborted");
  const known = booked.flatMap((event) =>
    event.type !== "model_call" || event.promptTokens === null
      ? []
      : [{ tokens: event.promptTokens, read: event.cachedTokens ?? 0 }],
  );
  const answered = cage.visits.flatMap(({ paid, isAborted }) => (paid === null || isAborted ? [] : [paid]));
  const told = answered.map(({ plain, read, written }) => ({ tokens: plain + read + written, read }));
  const order = (one: { tokens: number }, other: { tokens: number }): number => one.tokens - other.tokens;
  assert.deepEqual(known.toSorted(order), told.toSorted(order));
}

/** After all scenes: a form that a model has refused is not sent to it again. */
export function assertLearned({ cage }: Habitat): void {
  const refused = cage.visits.flatMap(({ asked, refused: refusal, isForm }) =>
    refusal === null || !isForm ? [] : [`${asked.model}: ${JSON.stringify(refusal.body)}`],
  );
  const again = refused.filter((one, place) => refused.indexOf(one) < place);
  assert.deepEqual([...new Set(again)], []);
}

/** After all scenes: what must hold of everything that was said. */
export function assertDiscreet({ weir, log, species }: Habitat): void {
  const shown = weir.platform.calls.map(({ message }) => message.text).join("\n");
  assert.ok(!shown.includes(KEY) && !log.join("\n").includes(KEY), "the key stays where it is");
  assert.doesNotMatch(shown, /HTTP \d{3}|invalid_request|api_error|BadRequestError|\{"error"/, species.name);
}
