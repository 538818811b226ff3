import assert from "node:assert/strict";
import { z } from "zod";
import type { Random } from "../fuzz/random.ts";
import type { TestProcess } from "../support/process.ts";
import { AUTHORS, messageText } from "./texts.ts";

/** One message that a person has said. */
export interface Said {
  /** Also its mark. */
  readonly id: string;
  readonly platform: "terminal" | "loopback";
  readonly channel: string;
  readonly author: string;
  readonly text: string;
  readonly addressed: boolean;
  /** Somebody changed or took it back. */
  isChanged: boolean;
  /** What it was changed to; null: it was not, or it was taken back. */
  newText: string | null;
  /** Where Weir has said that it stands, of the terminal's. */
  seq: number | null;
  /** Processes that showed an answer to it, of the terminal's. */
  readonly answeredBy: number[];
  /** Of the terminal's: handed to the process that runs, which has neither taken nor refused it. */
  isOnItsWay: boolean;
}

const outputLine = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  seq: z.number().optional(),
  change: z.string().optional(),
  in_reply_to: z.array(z.string()).default([]),
});

export const CHANNELS = ["one", "two", "three"] as const;

/** Everybody who speaks, on both platforms, and what they have heard. */
export class People {
  readonly said = new Map<string, Said>();
  /** What they find wrong with what they see. */
  readonly complaints: string[] = [];
  readonly #random: Random;
  readonly #serviceUrl: string;
  #process: TestProcess | null = null;
  #session = 0;
  #read = 0;
  #count = 0;

  constructor(random: Random, serviceUrl: string) {
    this.#random = random;
    this.#serviceUrl = serviceUrl;
  }

  /** A new process is there: what the last one has not acknowledged is said again, and now and then more. */
  meet(process: TestProcess, session: number): void {
    this.listen();
    this.#process = process;
    this.#session = session;
    this.#read = 0;
    for (const one of this.said.values()) {
      if (one.platform !== "terminal") continue;
      one.isOnItsWay = false;
      const isRecent = Number(one.id.slice(1)) > this.#count - 40;
      if (one.seq === null || (isRecent && this.#random.chance(0.1))) this.#write(one);
    }
  }

  /** @param channel where everybody speaks; undefined: all over */
  async say(
    count: number,
    length: "short" | "middle" | "long" | "any",
    { channel, listen = 0.65 }: { readonly channel?: string | undefined; readonly listen?: number } = {},
  ): Promise<void> {
    for (let index = 0; index < count; index++) {
      const id = `g${++this.#count}`;
      const [platform, name] = (
        channel ?? `${this.#random.pick(["terminal", "loopback"])}:${this.#random.pick(CHANNELS)}`
      ).split(":");
      assert(platform === "terminal" || platform === "loopback");
      const size =
        length === "any" ? this.#random.pick(["short", "short", "middle", "long"] as const) : length;
      const one: Said = {
        id,
        platform,
        channel: name ?? "",
        author: this.#random.pick(AUTHORS),
        text: messageText(id, this.#random, size),
        addressed: !this.#random.chance(listen),
        isChanged: false,
        newText: null,
        seq: null,
        answeredBy: [],
        isOnItsWay: false,
      };
      this.said.set(id, one);
      if (platform === "terminal") this.#write(one);
      else await this.#post(one);
    }
  }

  /** Somebody edits or takes back something that nobody has to answer, said not long ago. */
  async change(): Promise<void> {
    const recent = [...this.said.values()].slice(-60).filter((one) => !one.addressed && !one.isChanged);
    if (recent.length === 0) return;
    const one = this.#random.pick(recent);
    const isEdit = this.#random.chance(0.5);
    const text = messageText(`${one.id}e`, this.#random, "short");
    one.isChanged = true;
    if (isEdit) one.newText = text;
    if (one.platform === "terminal") {
      this.#process?.write(`${JSON.stringify(isEdit ? { edit: one.id, text } : { delete: one.id })}\n`);
      return;
    }
    await fetch(`${this.#serviceUrl}/channels/${one.channel}/messages/${one.id}`, {
      method: isEdit ? "PATCH" : "DELETE",
      ...(isEdit && { headers: { "content-type": "application/json" }, body: JSON.stringify({ text }) }),
    });
  }

  /** Reads what the process has written since. A message that it could not store is said again. */
  listen(): void {
    const lines = this.#process?.out ?? [];
    for (; this.#read < lines.length; this.#read++) this.#hear(lines[this.#read] ?? "");
  }

  /** Said in the terminal, and not acknowledged yet. */
  get unacknowledged(): Said[] {
    return [...this.said.values()].filter((one) => one.platform === "terminal" && one.seq === null);
  }

  /** Says again what the process has refused to take. */
  insist(): void {
    for (const one of this.unacknowledged) if (!one.isOnItsWay) this.#write(one);
  }

  #hear(line: string): void {
    const heard = outputLine.parse(JSON.parse(line));
    const { id = "", type, seq } = heard;
    const one = this.said.get(id);
    if (type === "accepted" && one !== undefined && seq !== undefined && heard.change === undefined) {
      one.isOnItsWay = false;
      if (one.seq !== null && one.seq !== seq) this.complaints.push(`${id} was at ${one.seq}, now at ${seq}`);
      one.seq = seq;
    }
    if (type === "error" && one !== undefined) one.isOnItsWay = false;
    if (type !== "reply") return;
    for (const answered of heard.in_reply_to) {
      const to = this.said.get(answered);
      if (to === undefined) continue;
      if (to.answeredBy.includes(this.#session))
        this.complaints.push(`${answered} was answered twice in one process`);
      to.answeredBy.push(this.#session);
    }
  }

  #write({ id, author, text, channel, addressed }: Said): void {
    const one = this.said.get(id);
    if (one !== undefined) one.isOnItsWay = true;
    this.#process?.write(`${JSON.stringify({ author, text, id, channel, listen: !addressed })}\n`);
  }

  async #post({ id, author, text, channel, addressed }: Said): Promise<void> {
    const response = await fetch(`${this.#serviceUrl}/channels/${channel}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ author, id, text, listen: !addressed }),
    });
    assert.equal(response.status, 201);
  }
}
