import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { PEOPLE, type Room } from "./rooms.ts";
import { CUES, paste, question, remark } from "./texts.ts";

/** One message that a person has said. */
export interface Said {
  /** In its text, and in the answer to it. */
  readonly mark: string;
  /** As the log names it. */
  readonly id: string;
  readonly room: Room;
  readonly asks: boolean;
  /** Its author has changed it or taken it back. */
  isChanged: boolean;
}

type Deed = "ask" | "remark" | "cue" | "paste" | "edit" | "remove" | "react" | "command";

/** How often people do what, in percent. */
const DEEDS: Readonly<Record<Deed, number>> = {
  ask: 36,
  remark: 32,
  cue: 10,
  paste: 3,
  edit: 4,
  remove: 3,
  react: 5,
  command: 7,
};
const COMMANDS = ["context", "memory", "status", "usage", "why", "reminders", "help", "agents"] as const;
/** Of the newest messages one is changed. */
const RECENT = 80;

/** Everybody who talks in a soak: a seed says who says what and where. */
export class People {
  readonly said: Said[] = [];
  readonly done: Record<Deed, number> = {
    ask: 0,
    remark: 0,
    cue: 0,
    paste: 0,
    edit: 0,
    remove: 0,
    react: 0,
    command: 0,
  };
  readonly #random: Random;
  readonly #rooms: readonly Room[];
  readonly #deck: readonly Deed[];

  constructor(random: Random, rooms: readonly Room[]) {
    this.#random = random;
    this.#rooms = rooms;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a record of deeds
    const deeds = Object.keys(DEEDS) as Deed[];
    this.#deck = deeds.flatMap((deed) => Array.from({ length: DEEDS[deed] }, () => deed));
  }

  /** They talk until the signal. @param pace deeds a second, on average */
  async talk(pace: number, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    let due = 0;
    while (!signal.aborted) {
      await this.act(this.#random.pick(this.#deck));
      // By chance, as people do; and steadily, however long a deed takes.
      due += (-Math.log(1 - this.#random.next()) * 1000) / pace;
      const waitMs = due - (performance.now() - startedAt);
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async act(deed: Deed): Promise<void> {
    const random = this.#random;
    // Some rooms are busy, and some are asleep for minutes.
    const busy = Math.floor(random.next() * random.next() * this.#rooms.length);
    const room = this.#rooms[busy];
    if (room === undefined) return;
    const person = random.int(0, PEOPLE - 1);
    this.done[deed]++;
    if (deed === "ask") await this.#say(room, person, true, (mark) => question(mark, random, null));
    if (deed === "cue")
      await this.#say(room, person, true, (mark) => question(mark, random, random.pick(CUES)));
    if (deed === "paste") await this.#say(room, person, true, (mark) => paste(mark, random, room.most));
    if (deed === "remark") await this.#say(room, person, false, (mark) => remark(mark, random));
    if (deed === "command") await room.command(person, random.pick(COMMANDS), "");
    if (deed === "edit" || deed === "remove" || deed === "react") await this.#change(deed, person);
  }

  async #say(room: Room, person: number, asks: boolean, text: (mark: string) => string): Promise<void> {
    const mark = `g${this.said.length + 1}`;
    const said = text(mark);
    const id = await room.say(person, said.slice(0, room.most), asks);
    this.said.push({ mark, id, room, asks, isChanged: false });
  }

  async #change(deed: "edit" | "remove" | "react", person: number): Promise<void> {
    const recent = this.said.slice(-RECENT).filter((one) => !one.isChanged);
    if (recent.length === 0) return;
    const one = this.#random.pick(recent);
    if (deed === "react") return one.room.react?.(person, one.id);
    one.isChanged = true;
    if (deed === "remove") return one.room.remove(one.id);
    // A model that was told of a question again would answer it again.
    await one.room.edit(one.id, remark(one.mark, this.#random));
  }
}
