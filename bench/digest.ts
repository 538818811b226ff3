import { readdirSync } from "node:fs";
import path from "node:path";
import { type Digest, digestEntries } from "../src/context/digest.ts";
import { Renderer } from "../src/context/render.ts";
import type { Entry } from "../src/core/entry.ts";
import type { Slices } from "../src/async/cooperative.ts";
import { createTimeFormat } from "../src/text/time.ts";
import { terms } from "../src/text/terms.ts";
import { estimateTokens } from "../src/text/tokens.ts";
import { atOnce } from "../test/support/at-once.ts";
import { createRandom, createTalk, PEOPLE } from "./support/conversation.ts";
import { type Bench, type Figure, quantile, type Row, sum } from "./support/figure.ts";
import { readFacts, readMessages, type RecordedFact, type RecordedMessage } from "./support/recordings.ts";

/** Messages of one digest, as in a compaction. */
const RANGE = 300;
const SHARE = 0.25;
/** Length of a digest as a share of its range, for the comparison with random lines. */
const SHARES = [0.25, 0.125];
/** Share of a fact's words that must be in the digest for it to count as kept. */
const TOLD = 0.6;

const TIME = createTimeFormat("UTC");
const RENDERER = new Renderer(TIME, {
  editNote: () => "",
  absence: () => "",
  undelivered: () => "",
  deleted: () => "",
  opening: () => "",
  closing: () => "",
  resultImages: () => "",
});

/** Important facts that the deterministic digest keeps, at a quarter of the length. */
export const digest: Figure = {
  name: "digest",
  about: "names, numbers, links and identifiers that the digest keeps at a quarter of the length",
  async run(bench: Bench): Promise<Row[]> {
    // Every third sentence has a unique fact: a quarter of the length holds at most 0.62 of them.
    const rows = [measure("made-up talk", ranges(madeUp(3000)), 0.55)];
    for (const name of recordingNames(bench.recordings)) {
      const messages = readMessages(bench.recordings ?? "", name);
      const byConversation = Map.groupBy(messages, (one) => one.conversation_id);
      const conversations = [...byConversation.values()].flatMap((some) => ranges(some.map(toEntry)));
      rows.push(
        measure(name, conversations),
        ...besideRandomLines(messages, readFacts(bench.recordings ?? "", name)),
      );
    }
    const slices = slicesOf(digestOf(madeUp(4000)));
    return [
      ...rows,
      { what: "a digest of 4,000 messages", value: sum(slices), unit: "ms" },
      // Other work runs between two slices: what they add to the delay of the event loop.
      {
        what: "of which in one slice, p99",
        value: quantile(slices, 0.99),
        unit: "ms",
        bar: { atMost: 15 },
      },
      { what: "and at most", value: Math.max(...slices), unit: "ms" },
    ];
  },
};

function recordingNames(folder: string | null): string[] {
  if (folder === null) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith(".messages.jsonl"));
  return files.map((file) => path.basename(file, ".messages.jsonl")).toSorted();
}

function measure(what: string, conversations: readonly (readonly Entry[])[], atLeast = 0.8): Row {
  let kept = 0;
  let all = 0;
  for (const entries of conversations) {
    const { text } = atOnce(digestOf(entries));
    for (const fact of factsOf(entries)) {
      all++;
      kept += Number(text.includes(fact));
    }
  }
  return { what: `kept of ${what}`, value: kept / all, unit: "", bar: { atLeast } };
}

/** Facts that somebody noted of the conversations, which do not influence the digest: kept by the digest, and by random lines. */
function besideRandomLines(messages: readonly RecordedMessage[], facts: readonly RecordedFact[]): Row[] {
  if (facts.length === 0) return [];
  const parts = [...Map.groupBy(messages, (one) => one.conversation_id)].flatMap(([id, all]) => {
    const noted = facts.filter((fact) => fact.conversation_id === id);
    const names = new Set(all.flatMap(({ author }) => terms(author)));
    return ranges(all).map((some) => {
      const seqs = new Set(some.map(({ seq }) => seq));
      const within = noted.filter(
        ({ evidence }) => evidence.length > 0 && evidence.every((seq) => seqs.has(seq)),
      );
      return {
        entries: some.map(toEntry),
        facts: within.map(({ fact }) => terms(fact).filter((one) => !names.has(one))),
      };
    });
  });
  return SHARES.flatMap((share) => {
    const toldBy = (make: (entries: readonly Entry[], share: number) => string): number => {
      const told = parts.flatMap(({ entries, facts: noted }) => {
        const words = new Set(terms(make(entries, share)));
        return noted.map((fact) => fact.filter((word) => words.has(word)).length >= TOLD * fact.length);
      });
      return told.filter(Boolean).length / told.length;
    };
    const byDigest = toldBy((entries, of) => atOnce(digestOf(entries, of)).text);
    const byLot = toldBy(randomLines);
    const at = `at ${(share * 100).toFixed(1)} % of the length`;
    return [
      { what: `noted facts told by the digest ${at}`, value: byDigest, unit: "" },
      { what: `by lines drawn by lot ${at}`, value: byLot, unit: "" },
      { what: `digest over lot ${at}`, value: byDigest / byLot, unit: "×", bar: { atLeast: 1.3 } },
    ];
  });
}

/** Random whole lines, the same in every run, until the room is used up. */
function randomLines(entries: readonly Entry[], share: number): string {
  const random = createRandom(7);
  const drawn = entries.map((entry) => ({ entry, at: random() })).toSorted((a, b) => a.at - b.at);
  let room = Math.floor(tokensOf(entries) * share);
  const lines = drawn.flatMap(({ entry }) => {
    const { message, tokens } = RENDERER.render(entry);
    if (tokens > room) return [];
    room -= tokens;
    return [message?.text ?? ""];
  });
  return lines.join("\n");
}

function tokensOf(entries: readonly Entry[]): number {
  return entries.reduce((all, entry) => all + RENDERER.render(entry).tokens, 0);
}

function digestOf(entries: readonly Entry[], share = SHARE): Slices<Digest> {
  const options = { maxTokens: Math.floor(tokensOf(entries) * share), agentName: "Weir" };
  return digestEntries(entries, TIME, {
    ...options,
    frame: ({ people, lines }) => `${people.join(", ")}\n${lines}`,
  });
}

/** Duration of each slice, ms. */
function slicesOf(work: Slices<unknown>): number[] {
  const slices: number[] = [];
  for (let isDone = false; !isDone;) {
    const startedAt = performance.now();
    isDone = work.next().done === true;
    slices.push(performance.now() - startedAt);
  }
  return slices;
}

/** Links, identifiers, numbers, and the speakers' names: each once. */
function factsOf(entries: readonly Entry[]): Set<string> {
  const facts = new Set<string>();
  for (const entry of entries) {
    if (entry.kind !== "user") continue;
    facts.add(entry.author.name);
    const links = entry.text.match(/https?:\/\/[^\s<>")]+/g) ?? [];
    const rest = entry.text.replaceAll(/https?:\/\/\S+/g, " ");
    const identifiers =
      rest.match(/`[^`\s]+`|#\d+|\b[a-z]+(?:[A-Z]\w*)+|\b\w+(?:_\w+)+|(?:~?\/[\w.-]+){2,}/g) ?? [];
    const numbers = rest.match(/(?<![\w.])\d+(?:[.,:]\d+)*(?![\w])/g) ?? [];
    const names = rest.match(/(?<=[a-z,] )\p{Lu}\p{Ll}{2,}\b/gu) ?? [];
    for (const fact of [...links, ...identifiers, ...numbers, ...names]) facts.add(fact);
  }
  return facts;
}

function ranges<One>(all: readonly One[]): One[][] {
  const found: One[][] = [];
  for (let from = 0; from < all.length; from += RANGE) found.push(all.slice(from, from + RANGE));
  return found;
}

function madeUp(count: number): Entry[] {
  const talk = createTalk(21);
  return Array.from({ length: count }, (_, index) =>
    toEntry(
      { author: PEOPLE[index % PEOPLE.length] ?? "", text: talk(120), ts: "2026-11-21T10:00:00Z" },
      index,
    ),
  );
}

function toEntry({ author, text, ts }: { author: string; text: string; ts: string }, index: number): Entry {
  return {
    kind: "user",
    seq: index + 1,
    at: new Date(ts),
    deleted: false,
    tokens: estimateTokens(text),
    author: { id: author, name: author, isBot: false },
    text,
    messageId: String(index),
    replyTo: null,
    addressed: false,
  };
}
