import assert from "node:assert/strict";
import { type AgentId, agentId, type ChannelId, memoryId, turnId } from "../../src/core/ids.ts";
import type { InboundMessage } from "../../src/core/message.ts";
import { checkMemories } from "../../src/memory/gates.ts";
import type { AskingChannel } from "../../src/store/memory/memory-scope.ts";
import { ANN, authorOf } from "../support/commands.ts";
import type { OpenStore } from "./open-store.ts";

/** What a summariser wants remembered of an entry. */
export interface Wanted {
  readonly statement: string;
  readonly quote: string;
  /** Seqs. */
  readonly sources: readonly number[];
  readonly type?: string;
  readonly subject?: string;
}

/** When a stretch is summarised: right after it was said; written ahead then, and committed later; or later. */
export type When = "at once" | "written ahead" | "later";

let count = 0;

/** A channel whose privacy changes, with summaries of stretches of it, and a channel of the same workspace that asks. */
export class SpokenChannel {
  readonly address: { readonly platform: "test"; readonly name: string };
  readonly channel: ChannelId;
  readonly square: AskingChannel;
  readonly #open: OpenStore;
  #epoch = 0;
  #coveredTo = 0;
  readonly #later: { readonly to: number; readonly wanted: readonly Wanted[] }[] = [];

  private constructor(open: OpenStore, name: string, channel: ChannelId, square: AskingChannel) {
    this.#open = open;
    this.address = { platform: "test", name };
    this.channel = channel;
    this.square = square;
  }

  /** @param isPrivate null: its platform has not told */
  static async open(open: OpenStore, isPrivate: boolean | null): Promise<SpokenChannel> {
    const workspace = `w-spoken-${++count}`;
    const place = { kind: "channel", workspace, agent: agentId("main") } as const;
    const address = (name: string) => ({ platform: "test", name: `${name}-${count}` });
    const told = isPrivate === null ? {} : { isPrivate };
    const { channels } = open.store;
    const described = { address: address("spoken"), ...place, ...told, sharesMemory: true };
    const channel = await channels.open(described);
    const square = { ...place, channel: await channels.open({ address: address("square"), ...place }) };
    const spoken = new SpokenChannel(open, described.address.name, channel, square);
    spoken.#epoch = await channels.take(channel);
    return spoken;
  }

  async becomes(to: "private" | "public", at?: Date): Promise<void> {
    const told = { channel: this.address, isPrivate: to === "private", ...(at !== undefined && { at }) };
    await this.#open.store.channels.tellPrivacy("test", [told]);
  }

  async say(words: string, overrides: Partial<InboundMessage> = {}): Promise<number> {
    const id = `spoken-${++count}`;
    return this.#open.say(this.channel, words, { id, addressed: false, author: authorOf(ANN), ...overrides });
  }

  /** The agent answers a message. */
  async answer(seq: number, words: string): Promise<void> {
    const owner = { channel: this.channel, epoch: this.#epoch };
    const [turn] = await this.#open.sql<{ id: number }>(
      "insert into turns (channel_id, epoch, from_seq, to_seq) values ($1, $2, $3, $3) returning id",
      this.channel,
      this.#epoch,
      seq,
    );
    const said = { kind: "assistant", text: words, stopped: false } as const;
    await this.#open.store.log.appendTurnEntries(
      owner,
      { id: turnId(turn?.id ?? 0), after: seq },
      [said],
      new Date(),
    );
  }

  /** Summarises what is said up to an entry, as a compactor does. @param beside what the summariser reads beside it */
  async summarise(
    when: When,
    to: number,
    wanted: readonly Wanted[],
    beside: readonly string[] = [],
  ): Promise<void> {
    if (when === "later") {
      this.#later.push({ to, wanted });
      return;
    }
    const { store } = this.#open;
    const owner = { channel: this.channel, epoch: this.#epoch };
    const fromSeq = this.#coveredTo + 1;
    const range = {
      kind: "leaf",
      tier: "background",
      level: 1,
      sourceTokens: 900,
      fromSeq,
      toSeq: to,
    } as const;
    const job = await store.jobs.begin(owner, { ...range, isAhead: when === "written ahead" });
    const entries = await store.log.readCurrent(this.channel, fromSeq, to);
    const { kept, dropped } = checkMemories(
      {
        memories: wanted.map((one) => ({
          type: "fact",
          subject: "the safe",
          ...one,
          sources: one.sources.map((seq) => seq - fromSeq + 1),
        })),
      },
      {
        sources: new Map(entries.map((entry, place) => [place + 1, entry])),
        promptText: "",
        agentName: "Weir",
        dayOf: (at) => at.toISOString().slice(0, 10),
        beside,
      },
    );
    assert.deepEqual(dropped, []);
    const summary = { kind: "model", text: "They spoke.", tokens: 9, model: "small" } as const;
    assert.ok(await store.jobs.stage(job, { parts: [], memories: kept, summary }));
    if (when === "at once") assert.equal(await store.jobs.commit(job), "committed");
    this.#coveredTo = to;
  }

  /** Commits what was left for later. */
  async commitAll(): Promise<void> {
    await this.#open.sql("select commit_ahead($1, $2, 8)", this.channel, this.#epoch);
    const [last] = this.#later.slice(-1);
    if (last === undefined) return;
    // One summary of all of it, whatever was said when.
    await this.summarise(
      "at once",
      last.to,
      this.#later.flatMap(({ wanted }) => wanted),
    );
  }

  /** Everything of it that another channel of the workspace is shown, by each way that there is. */
  async elsewhere(agent: AgentId = this.square.agent): Promise<string[]> {
    const { store } = this.#open;
    const asker = { ...this.square, agent };
    await this.#open.sql("insert into memory_vectors select id, '1' from memories on conflict do nothing");
    await this.#open.sql(
      "insert into vector_progress (channel_id, model) select id, 'm' from channels on conflict do nothing",
    );
    const query = { words: "'safe'", pieces: [], times: [], limit: 100 };
    const listed = await store.memories.inScope(asker, 100);
    const found = (await store.memories.search(asker, query)).map(({ memory }) => memory);
    const nearest = { model: "m", bits: "1", most: 1, limit: 100 };
    const near = (await store.vectors.memoriesNear(asker, nearest)).map(({ memory }) => memory);
    const ids = await this.#open.sql<{ id: number }>(
      "select id from memories where channel_id = $1",
      this.channel,
    );
    const told = await store.past.statements(
      asker.channel,
      ids.map(({ id }) => memoryId(id)),
    );
    const shown = [...listed, ...found, ...near].map(
      ({ statement, assertedBy, proofs }) => `${assertedBy}: ${statement} (${proofs})`,
    );
    for (const { statement } of [...listed, ...found, ...near].filter(({ id }) => told.has(id)))
      assert.ok([...told.values()].some((one) => JSON.stringify(one).includes(statement)));
    assert.equal(told.size, new Set(listed.map(({ id }) => id)).size, "what is told later is what is shown");
    return [...new Set(shown)].toSorted();
  }

  /** Its memories go, and come back from a file as it was written before. */
  async exportAndImport(): Promise<void> {
    const { store } = this.#open;
    const written = await store.transfer.page(0, 1000, this.channel);
    for (const { id } of written) await store.people.forgetMemory(this.channel, id);
    for (const { sources, scope, ...memory } of written) {
      const limits = { scope, until: null };
      await store.transfer.take({ id: this.channel }, sources, limits, (messages) => ({
        ...memory,
        at: memory.at.toISOString(),
        sources: messages.flatMap((entry, place) =>
          entry === undefined ? [] : [{ seq: entry.seq, quote: sources[place]?.quote ?? "" }],
        ),
      }));
    }
  }
}
