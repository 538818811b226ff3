import { BoundedMap } from "../async/bounded-map.ts";

/** How long a person's turns count, ms. */
const MINUTE_MS = 60_000;
/** Turns that bots may cause in a channel until a person speaks again. */
const BOT_TURNS = 5;
/** People and channels that are remembered. */
const MAX_KNOWN = 10_000;

/** Limits how often people and bots cause turns. In memory: lost at a restart. A message over a limit is kept as context. */
export class TurnRateLimit {
  readonly #now: () => number;
  /** When each person caused their newest turns, oldest first. */
  readonly #asked = new BoundedMap<number[]>(MAX_KNOWN);
  /** Until when a person gets no second notice. */
  readonly #told = new BoundedMap<number>(MAX_KNOWN);
  /** Turns that bots caused in a channel since a person spoke. */
  readonly #botTurns = new BoundedMap<number>(MAX_KNOWN);

  /** @param now a steady clock, ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * @param perMinute 0: no limit
   * @returns `over`: no turn; `first_over`: no turn, and the person has had no notice in this minute
   */
  ask(person: string, perMinute: number): "within" | "over" | "first_over" {
    if (perMinute === 0) return "within";
    const now = this.#now();
    const recent = this.#recent(person);
    if (recent.length < perMinute) {
      recent.push(now);
      return "within";
    }
    if ((this.#told.get(person) ?? 0) > now) return "over";
    this.#told.set(person, now + MINUTE_MS);
    return "first_over";
  }

  /** Whether a person's message may join a turn that comes anyway, which costs nothing. */
  mayJoin(person: string, perMinute: number): boolean {
    return perMinute === 0 || this.#recent(person).length <= perMinute;
  }

  /** Counts a message that was to join a turn but caused one, even over the limit, against later ones. */
  charge(person: string): void {
    this.#recent(person).push(this.#now());
  }

  #recent(person: string): number[] {
    const recent = (this.#asked.get(person) ?? []).filter((at) => at > this.#now() - MINUTE_MS);
    this.#asked.set(person, recent);
    return recent;
  }

  /** Notes a message in a channel. @returns false if only bots have talked for too long */
  heard(channel: string, isBot: boolean, causesTurn: boolean): boolean {
    if (!isBot) {
      this.#botTurns.delete(channel);
      return true;
    }
    const turns = this.#botTurns.get(channel) ?? 0;
    if (turns >= BOT_TURNS) return false;
    if (causesTurn) this.#botTurns.set(channel, turns + 1);
    return true;
  }
}
