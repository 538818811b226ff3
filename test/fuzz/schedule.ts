import { Deck, Random } from "./random.ts";

/** How the model answers the message that asks for it. */
export type Reply = "plain" | "long" | "tools" | "slow" | "fail" | "skip";
export type Size = "short" | "long" | "cjk" | "code" | "paste";

/** What the summariser does until it is told otherwise. `held`: it answers when released, or never. */
export type SummaryMode =
  | "good"
  | "held"
  | "empty"
  | "inflated"
  | "refused"
  | "cut_off"
  | "transport"
  | "mixed";

/** Where an incarnation dies: at the nth call of this kind from now on, before it is sent or behind its effect. */
export interface CrashPoint {
  readonly at: "database" | "turn" | "summary" | "platform";
  /** Of the statements with this name alone; "": of all. */
  readonly statement: string;
  readonly when: "before" | "after";
  readonly nth: number;
}

export type DeletionTarget = "any" | "raw" | "covered" | "job" | "memory" | "newest" | "edited";

/** One step of a schedule. Each carries all chance that it needs, so that any part of a schedule is a schedule. */
export type Step =
  | {
      readonly do: "say";
      readonly n: number;
      readonly who: number;
      readonly size: Size;
      readonly reply: Reply | null;
      /** The next step does not wait for what becomes of it. */
      readonly hurry: boolean;
    }
  | { readonly do: "redeliver"; readonly pick: number }
  | { readonly do: "edit"; readonly pick: number; readonly n: number }
  | { readonly do: "delete"; readonly target: DeletionTarget; readonly pick: number }
  | { readonly do: "release" }
  | { readonly do: "summariser"; readonly mode: SummaryMode }
  | { readonly do: "reset" }
  | { readonly do: "force" }
  | { readonly do: "evict" }
  | { readonly do: "pass"; readonly hours: number }
  | { readonly do: "trouble"; readonly sends: number }
  | { readonly do: "crash"; readonly point: CrashPoint }
  | { readonly do: "restart"; readonly profile: number | null }
  | { readonly do: "race" }
  | { readonly do: "end_race"; readonly pick: number; readonly how: "crash" | "drain" }
  | { readonly do: "stall" }
  | { readonly do: "thaw" }
  | { readonly do: "calm" };

/** Statements at which a crash is dealt: those that change something, and some that only read. */
const STATEMENTS = [
  "append_message",
  "append_turn_entries",
  "append_turn_entries",
  "append_turn_entries",
  "settle_turn",
  "turn_begin",
  "delivery_sent",
  "job_begin",
  "job_stage",
  "job_commit",
  "summaries_live",
  "channel_omit",
  "channel_read",
  "delete_message",
  "edit_message",
  "entries_read",
] as const;

const CRASHES: readonly CrashPoint[] = [
  ...STATEMENTS.flatMap((statement) =>
    (["before", "after"] as const).map((when): CrashPoint => ({ at: "database", statement, when, nth: 1 })),
  ),
  ...(["turn", "summary", "platform"] as const).flatMap((at) =>
    (["before", "after"] as const).map((when): CrashPoint => ({ at, statement: "", when, nth: 1 })),
  ),
];

/** Behind a call of the model, before anything else: the crash that every seed has. */
const BETWEEN_CALLS: CrashPoint = {
  at: "database",
  statement: "append_turn_entries",
  when: "after",
  nth: 1,
};

type Episode = "plain" | "crash" | "hold" | "bad" | "race" | "stall" | "delete" | "slow" | "odd";

/** Makes the schedule of a seed: at least so many steps. */
export function makeSchedule(seed: number, length: number): Step[] {
  return new Composer(seed).compose(length);
}

/** As often as each is dealt. */
const EPISODES: readonly Episode[] = [
  ...(["plain", "plain", "plain", "crash", "crash", "crash", "crash", "hold", "hold"] as const),
  ...(["bad", "bad", "race", "stall", "delete", "delete", "slow", "odd"] as const),
];

const SIZES: readonly Size[] = [
  ...(["short", "short", "short", "short", "short", "short"] as const),
  ...(["long", "cjk", "code"] as const),
];

class Composer {
  readonly #random: Random;
  readonly #episodes: Deck<Episode>;
  readonly #crashes: Deck<CrashPoint>;
  readonly #modes: Deck<SummaryMode>;
  readonly #deletions: Deck<DeletionTarget>;
  readonly #replies: Deck<Reply>;
  readonly #steps: Step[] = [];
  #spoken = 0;
  #hasCrashed = false;

  constructor(seed: number) {
    this.#random = new Random(seed);
    const plain = ["plain", "plain", "plain", "plain", "plain", "long", "tools", "tools"] as const;
    this.#episodes = new Deck<Episode>(this.#random, EPISODES);
    this.#crashes = new Deck(this.#random, CRASHES);
    this.#modes = new Deck(this.#random, ["empty", "inflated", "refused", "cut_off", "transport", "mixed"]);
    this.#deletions = new Deck(this.#random, ["any", "raw", "covered", "job", "memory", "newest", "edited"]);
    this.#replies = new Deck(this.#random, [...plain, ...plain, "skip", "fail"]);
  }

  compose(length: number): Step[] {
    this.#talk(40);
    this.#play("crash");
    while (this.#steps.length < length - 10) {
      this.#play(this.#episodes.deal());
      if (this.#random.chance(0.35)) this.#steps.push({ do: "calm" });
    }
    while (this.#steps.length < length - 1) this.#talk(1);
    this.#steps.push({ do: "calm" });
    return this.#steps;
  }

  #play(episode: Episode): void {
    const random = this.#random;
    switch (episode) {
      case "plain":
        return this.#talk(random.int(20, 40));
      case "crash":
        this.#crash();
        this.#talk(random.int(4, 12));
        if (random.chance(0.5)) this.#delete();
        this.#steps.push({ do: "restart", profile: random.chance(0.3) ? random.int(0, 99) : null });
        return this.#talk(random.int(4, 10));
      case "hold":
        this.#summariser("held");
        this.#talk(random.int(40, 60));
        this.#delete("job");
        if (random.chance(0.5)) this.#delete("job");
        if (random.chance(0.3)) this.#steps.push({ do: "reset" });
        if (random.chance(0.3)) this.#crash();
        this.#talk(5);
        return this.#summariser("good");
      case "bad":
        this.#summariser(this.#modes.deal());
        this.#talk(random.int(30, 50));
        return this.#summariser("good");
      case "race":
        this.#steps.push({ do: "race" });
        this.#talk(random.int(8, 20));
        this.#steps.push({
          do: "end_race",
          pick: random.int(0, 1),
          how: random.chance(0.5) ? "crash" : "drain",
        });
        return this.#talk(random.int(2, 6));
      case "stall":
        return this.#stall();
      case "delete":
        for (let left = random.int(2, 4); left > 0; left--) {
          this.#talk(random.int(2, 6));
          this.#delete();
        }
        return;
      case "slow":
        this.#say({ reply: "slow" });
        this.#talk(random.int(4, 12));
        if (random.chance(0.4)) this.#delete("newest");
        if (random.chance(0.4)) this.#steps.push({ do: "edit", pick: random.next(), n: this.#number() });
        this.#steps.push({ do: "release" });
        return;
      case "odd":
        return this.#odd();
    }
  }

  /** Dies at the next chance, which is given at once. */
  #crash(): void {
    const dealt = { ...this.#crashes.deal(), nth: this.#random.int(1, 2) };
    const point = this.#hasCrashed ? dealt : BETWEEN_CALLS;
    this.#hasCrashed = true;
    this.#steps.push({ do: "crash", point });
    if (point.statement === "append_turn_entries") this.#say({ reply: "tools" });
    if (point.statement === "delete_message") this.#delete();
    if (point.statement === "edit_message")
      this.#steps.push({ do: "edit", pick: this.#random.next(), n: this.#number() });
    if (point.statement.startsWith("job_") || point.at === "summary") this.#steps.push({ do: "force" });
  }

  #stall(): void {
    if (this.#random.chance(0.5)) this.#summariser("held");
    this.#talk(this.#random.int(6, 14));
    this.#steps.push({ do: "stall" });
    this.#summariser("good");
    this.#talk(this.#random.int(8, 16));
    if (this.#random.chance(0.5)) this.#delete();
    this.#steps.push({ do: "thaw" });
    this.#talk(this.#random.int(4, 8));
  }

  #odd(): void {
    const random = this.#random;
    this.#talk(random.int(3, 8));
    this.#steps.push({ do: "force" });
    this.#talk(random.int(1, 5));
    if (random.chance(0.4)) {
      // What was said before it may be edited behind it, and taken back when that is summarised.
      this.#steps.push({ do: "reset" }, { do: "edit", pick: random.next(), n: this.#number() });
      this.#talk(random.int(6, 10));
      this.#steps.push({ do: "force" });
      this.#talk(random.int(1, 3));
      this.#delete("edited");
    }
    if (random.chance(0.7)) this.#steps.push({ do: "evict" });
    if (random.chance(0.5)) this.#steps.push({ do: "pass", hours: random.int(1, 30) });
    if (random.chance(0.5)) this.#steps.push({ do: "trouble", sends: random.int(1, 3) });
    this.#talk(random.int(3, 8));
  }

  #summariser(mode: SummaryMode): void {
    this.#steps.push({ do: "summariser", mode });
  }

  #delete(target: DeletionTarget = this.#deletions.deal()): void {
    this.#steps.push({ do: "delete", target, pick: this.#random.next() });
  }

  #number(): number {
    this.#spoken++;
    return this.#spoken;
  }

  #talk(count: number): void {
    const random = this.#random;
    for (let left = count; left > 0; left--) {
      const roll = random.next();
      if (roll < 0.02) this.#steps.push({ do: "redeliver", pick: random.next() });
      else if (roll < 0.05) this.#steps.push({ do: "edit", pick: random.next(), n: this.#number() });
      else this.#say({});
    }
  }

  #say(wanted: { readonly reply?: Reply }): void {
    const random = this.#random;
    const isAddressed = wanted.reply !== undefined || random.chance(0.4);
    this.#steps.push({
      do: "say",
      n: this.#number(),
      who: random.int(0, 4),
      size: random.chance(0.01) ? "paste" : random.pick(SIZES),
      reply: isAddressed ? (wanted.reply ?? this.#replies.deal()) : null,
      hurry: random.chance(0.5),
    });
  }
}

/** One line for a person. */
export function tellStep(step: Step): string {
  const { do: name, ...values } = step;
  const told = Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return [name, ...told].join(" ");
}
