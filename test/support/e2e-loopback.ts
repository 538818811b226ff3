import assert from "node:assert/strict";
import { z } from "zod";
import { Patience } from "./patience.ts";
import { type LoopbackServer, startLoopbackServer } from "../../src/platforms/local/loopback/server.ts";

const conversation = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      from: z.enum(["person", "bot"]),
      text: z.string(),
      texts: z.array(z.string()),
      reply: z.object({ final: z.boolean(), inReplyTo: z.array(z.string()) }).optional(),
    }),
  ),
});
const journal = z.object({
  calls: z.array(z.object({ operation: z.string(), outcome: z.string(), final: z.boolean() })),
});
export type ChatMessage = z.output<typeof conversation>["messages"][number];
export type JournalLine = z.output<typeof journal>["calls"][number];

const POLL_MS = 25;

/** The people on the platform, who outlive the daemons that serve them. */
export class LoopbackWorld implements AsyncDisposable {
  readonly #server: LoopbackServer;
  /** Ids of messages, by channel. */
  readonly said = new Map<string, string[]>();

  constructor(server: LoopbackServer) {
    this.#server = server;
  }

  get url(): string {
    return this.#server.url;
  }

  /** The config.toml that connects a daemon to it. */
  get config(): string {
    return `[platforms.loopback]\nurl = "${this.url}"\n`;
  }

  async say(channel: string, id: string, text: string): Promise<void> {
    this.said.set(channel, [...(this.said.get(channel) ?? []), id]);
    await this.#post(`/channels/${channel}/messages`, { author: "Ann", id, text });
  }

  /** A person gives a command, such as `approve 1`. */
  async command(channel: string, typed: string): Promise<void> {
    const [name, ...rest] = typed.split(" ");
    await this.#post(`/channels/${channel}/commands`, { name, argument: rest.join(" "), asker: "Ben" });
  }

  async fault(fault: object): Promise<void> {
    await this.#post("/faults", fault);
  }

  async bot(channel: string): Promise<ChatMessage[]> {
    const { messages } = conversation.parse(await this.#get(`/channels/${channel}`));
    return messages.filter(({ from }) => from === "bot");
  }

  async journal(): Promise<JournalLine[]> {
    return journal.parse(await this.#get("/journal")).calls;
  }

  /** Resolves when the bot has sent or edited a message that meets the condition. */
  async untilCall(condition: (call: JournalLine) => boolean): Promise<void> {
    await this.#until("a call of the bot's", async () => (await this.journal()).some(condition));
  }

  /** Resolves when the bot has made this many calls, or has no reason for more: one answer may serve several messages. */
  async untilCount(calls: number): Promise<void> {
    const isOver = async (): Promise<boolean> =>
      (await this.journal()).length >= calls || (await this.#isAnswered());
    await this.#until(`${calls} calls`, isOver);
  }

  /** Resolves when every message has a final answer. */
  async untilAnswered(): Promise<void> {
    await this.#until("an answer to everything", async () => this.#isAnswered());
  }

  async #isAnswered(): Promise<boolean> {
    for (const [channel, ids] of this.said) {
      const final = (await this.bot(channel)).filter(({ reply }) => reply?.final === true);
      const answered = new Set(final.flatMap(({ reply }) => reply?.inReplyTo ?? []));
      if (!ids.every((id) => answered.has(id))) return false;
    }
    return true;
  }

  /** Asserts that every message is answered by exactly one message of the bot's, and that none of these is unfinished. */
  async assertAnsweredOnce(): Promise<void> {
    for (const [channel, ids] of this.said) {
      const answers = await this.bot(channel);
      const unfinished = answers.filter(({ reply }) => reply?.final !== true);
      assert.deepEqual(unfinished, [], `nothing half written is left in ${channel}`);
      const answered = answers.flatMap(({ reply }) => reply?.inReplyTo ?? []);
      assert.deepEqual(answered.toSorted(), ids.toSorted(), `each is answered once in ${channel}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  async #until(what: string, look: () => Promise<boolean>): Promise<void> {
    let calls = 0;
    const patience = new Patience(() => calls);
    while (!(await look())) {
      const journaled = await this.journal();
      calls = journaled.length;
      const why = patience.whyOver();
      if (why !== null) {
        const tail = JSON.stringify(journaled.slice(-10), null, 1);
        throw new Error(`The loopback service saw no sign of ${what}: ${why}. The bot's last calls: ${tail}`);
      }
      // Asked like any script does, without a request that waits for the bot.
      const { promise, resolve } = Promise.withResolvers<void>();
      setTimeout(resolve, POLL_MS);
      await promise;
    }
  }

  async #post(path: string, body: object): Promise<void> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 201, await response.text());
  }

  async #get(path: string): Promise<unknown> {
    return (await fetch(`${this.url}${path}`)).json();
  }
}

export async function openLoopbackWorld(): Promise<LoopbackWorld> {
  return new LoopbackWorld(await startLoopbackServer());
}
