import {
  CRASHES,
  CROWD_POINTS,
  CUTS,
  type Episode,
  EPISODES,
  LARGE,
  SIZES,
  SURE_CRASHES,
  SURE_CUT,
} from "./crash-points.ts";
import { patientProfile } from "./profile.ts";
import { PLANS } from "./rooms.ts";
import { Deck, Random } from "./random.ts";
import type { CrashPoint, DeletionTarget, Reply, RoomNumber, Size, Step, SummaryMode } from "./schedule.ts";

/** Makes the schedule of a seed: at least so many steps. */
export function makeSchedule(seed: number, length: number): Step[] {
  return new Composer(seed).compose(length);
}

class Composer {
  readonly #random: Random;
  /** Chance of its own: what else a seed does is as it was. */
  readonly #retained: Random;
  readonly #privacy: Random;
  /** The number of a configuration whose jobs wait as long as a summariser is held. */
  readonly #patient: number;
  readonly #episodes: Deck<Episode>;
  readonly #crashes: Deck<CrashPoint>;
  readonly #modes: Deck<SummaryMode>;
  readonly #deletions: Deck<DeletionTarget>;
  readonly #replies: Deck<Reply>;
  readonly #steps: Step[] = [];
  #spoken = 0;
  #crashed = 0;
  readonly #cuts: Deck<CrashPoint>;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#retained = new Random(~seed);
    this.#privacy = new Random(seed * 31 + 5);
    this.#patient = patientProfile(seed);
    const plain = ["plain", "plain", "plain", "plain", "plain", "long", "tools"] as const;
    this.#episodes = new Deck<Episode>(this.#random, EPISODES);
    this.#crashes = new Deck(this.#random, CRASHES);
    this.#cuts = new Deck(this.#random, CUTS);
    this.#modes = new Deck(this.#random, ["empty", "inflated", "refused", "cut_off", "transport", "mixed"]);
    this.#deletions = new Deck(this.#random, ["any", "raw", "covered", "job", "memory", "newest", "edited"]);
    this.#replies = new Deck(this.#random, [
      ...plain,
      ...plain,
      "skip",
      "fail",
      "hand",
      "hand_on",
      "spawn",
      "spawn_slow",
      "act",
      "remind",
    ]);
  }

  compose(length: number): Step[] {
    this.#talk(20);
    this.#steps.push({ do: "privacy", room: 0, isPrivate: true });
    this.#talk(10);
    this.#steps.push({ do: "privacy", room: 0, isPrivate: false });
    this.#talk(10);
    for (const _ of SURE_CRASHES) this.#play("crash");
    this.#steps.push({ do: "cut", point: SURE_CUT });
    this.#say({ reply: "plain", room: 0 });
    this.#dieOverOneTurn(false);
    this.#dieOverOneTurn(true);
    this.#takeBackFromSubagents();
    this.#decideTooLate();
    this.#takeBackReminders();
    this.#takeBackElsewhere();
    this.#takeBackNoted();
    this.#editWhatIsTold();
    this.#reloadUnderWork();
    for (const isForGuest of [false, true, false]) this.#steer(isForGuest);
    this.#overflow();
    this.#summariseBadly();
    this.#retainWhatIsQuoted();
    this.#crowds();
    this.#talk(8);
    this.#play("hold");
    while (this.#steps.length < length - 10) {
      this.#play(this.#episodes.deal());
      // Mostly public: else there is nothing to share.
      const isPrivate = this.#privacy.chance(0.25);
      if (this.#privacy.chance(0.4)) this.#steps.push({ do: "privacy", room: 0, isPrivate });
      if (this.#random.chance(0.35)) this.#steps.push({ do: "quiesce" });
    }
    while (this.#steps.length < length - 1) this.#talk(1);
    this.#steps.push({ do: "quiesce" });
    return this.#steps;
  }

  #play(episode: Episode): void {
    const random = this.#random;
    switch (episode) {
      case "plain":
        return this.#talk(random.int(20, 40));
      case "crash":
        return this.#dieAndRestart();
      case "hold":
        this.#summariser("held");
        this.#talk(random.int(25, 40), LARGE);
        this.#say({ room: 0, reply: "plain", isForGuest: true });
        // In a window that is small, or was nearly full before: an emergency, beside a job under way.
        this.#say({ room: 0 }, ["paste"]);
        this.#say({ room: 0 }, ["paste"]);
        this.#delete("job");
        if (random.chance(0.3)) this.#steps.push({ do: "reset", room: this.#room() });
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
        this.#retain();
        for (let left = random.int(2, 4); left > 0; left--) {
          this.#talk(random.int(2, 6));
          this.#delete();
        }
        return;
      case "slow":
        this.#say({ reply: "slow", room: 0 });
        this.#talk(random.int(4, 12));
        if (random.chance(0.4)) this.#delete("newest");
        if (random.chance(0.4))
          this.#steps.push({ do: "edit", room: 0, pick: random.next(), n: this.#number() });
        this.#steps.push({ do: "release" });
        return;
      case "odd":
        return this.#odd();
      case "together":
        return this.#together();
      case "crowd":
        return this.#crowds();
      case "allowed":
        return this.#allowed();
      case "later":
        return this.#later();
      case "beside":
        return this.#beside();
      case "reload":
        return this.#reloads();
      default:
        return this.#fail(episode);
    }
  }

  /** Something else than the summariser fails. */
  #fail(episode: "cut" | "away" | "lag" | "off"): void {
    const random = this.#random;
    switch (episode) {
      case "cut":
        return this.#cut();
      case "away":
        this.#steps.push({ do: "talker", isAway: true });
        this.#talk(random.int(4, 10));
        this.#steps.push({ do: "talker", isAway: false });
        return;
      case "lag":
        this.#steer(random.chance(0.3));
        for (let left = 2; left > 0; left--) {
          this.#steps.push({ do: "lag", calls: random.int(1, 3) });
          this.#say({ reply: "tools", room: 0 });
          this.#talk(random.int(1, 3));
        }
        return;
      case "off":
        this.#restart("off");
        this.#talk(random.int(15, 30));
        return this.#restart(random.int(0, 99));
    }
  }

  /** Another configuration, while a turn, a compaction and a subagent are under way, and nobody waits. */
  #reloadUnderWork(): void {
    this.#say({ reply: "slow", room: 0, hurry: false });
    this.#reload();
    this.#steps.push({ do: "release" });
    // Twice: a deadline of the first may be shorter than what is said here takes.
    for (let left = 2; left > 0; left--) {
      this.#summariser("held");
      for (let said = 0; said < 20; said++) this.#say({ reply: "plain", room: 0 }, LARGE);
      this.#steps.push({ do: "force", room: 0 });
      this.#reload();
      // Whoever is answered now has the new one, and waits for no compaction, also where the window is full.
      for (let pastes = 0; pastes < 2; pastes++) this.#say({ room: 0 }, ["paste"]);
      this.#say({ reply: "plain", room: 0, hurry: false });
      this.#summariser("good");
    }
    this.#say({ reply: "spawn_slow", room: 0, hurry: false });
    this.#steps.push({ do: "reload", profile: this.#patient }, { do: "release" });
  }

  /**
   * While a job is under way more is said than any window holds, and three times as much again as an omission makes room for: what
   * nobody asks about makes an emergency behind the turns, a question one within its turn.
   */
  #overflow(): void {
    this.#summariser("held");
    for (let questions = 6; questions > 0; questions--) {
      for (let pastes = 2; pastes > 0; pastes--) this.#say({ room: 0, reply: null }, ["paste"]);
      this.#say({ room: 0, reply: "plain", isForGuest: false, hurry: false }, ["paste"]);
    }
    this.#summariser("good");
  }

  /** Each kind of bad output is the first answer to a job that is sure to begin. */
  #summariseBadly(): void {
    for (const mode of ["inflated", "refused", "cut_off", "empty"] as const) {
      this.#summariser(mode);
      for (let said = 6; said > 0; said--) this.#say({ room: 0, reply: null }, LARGE);
      this.#steps.push({ do: "force", room: 0 }, { do: "pass", hours: 0 });
    }
    this.#summariser("good");
  }

  /** Configurations come in the midst of whatever there is: of turns, compactions, crashes, and of one another. */
  #reloads(): void {
    const random = this.#random;
    for (let left = random.int(2, 4); left > 0; left--) {
      const isHeld = random.chance(0.4);
      if (isHeld) this.#summariser("held");
      this.#talk(random.int(2, 8), isHeld ? LARGE : SIZES);
      if (isHeld) this.#steps.push({ do: "force", room: this.#room() });
      const isSlow = random.chance(0.4);
      if (isSlow) this.#say({ reply: "slow", room: 0, isForGuest: random.chance(0.3) });
      else this.#say({ reply: this.#replies.deal(), room: 0 });
      const roll = random.next();
      if (roll < 0.2) this.#crash();
      else if (roll < 0.3) this.#steps.push({ do: "cut", point: this.#cuts.deal() });
      this.#reload();
      if (random.chance(0.3)) this.#reload();
      if (random.chance(0.3)) this.#delete();
      this.#talk(random.int(0, 4));
      if (isSlow) this.#steps.push({ do: "release" });
      if (isHeld) this.#summariser("good");
      if (random.chance(0.2)) this.#steps.push({ do: "evict" });
    }
    if (random.chance(0.2)) {
      this.#steps.push({ do: "reload", profile: "off" });
      this.#talk(random.int(5, 15));
      this.#reload();
    }
  }

  #reload(): void {
    this.#steps.push({ do: "reload", profile: this.#random.int(0, 99) });
  }

  #restart(profile: Extract<Step, { do: "restart" }>["profile"]): void {
    this.#steps.push({ do: "restart", profile });
  }

  /** Dies at the next chance, which is given at once. */
  #crash(): void {
    const sure = SURE_CRASHES[this.#crashed];
    const dealt = this.#crashes.deal();
    // Of all statements, any one that comes.
    const most = dealt.at === "database" && dealt.statement === "" ? 25 : 2;
    const point = sure ?? { ...dealt, nth: this.#random.int(1, most) };
    this.#crashed++;
    this.#steps.push({ do: "crash", point });
    this.#provoke(point);
  }

  /** Connections are cut, and everybody lives on. */
  #cut(): void {
    for (let left = 3; left > 0; left--) {
      const point = this.#cuts.deal();
      this.#steps.push({ do: "cut", point });
      this.#provoke(point);
      this.#talk(this.#random.int(3, 8));
    }
  }

  /** One daemon after the other ends while it waits for its model, and none of them has the message to blame for that. */
  #dieOverOneTurn(isForGuest: boolean): void {
    this.#say({ reply: "slow", room: 0, isForGuest });
    for (let left = isForGuest ? 1 : 4; left > 0; left--) this.#restart("same");
    this.#steps.push({ do: "release" });
  }

  /** What subagents were told is taken back while they work. */
  #takeBackFromSubagents(): void {
    for (const isForGuest of [true, false, false]) {
      this.#say({ reply: "spawn_slow", room: 0, hurry: false, isForGuest });
      if (!isForGuest) this.#delete("newest");
    }
    this.#steps.push({ do: "release" });
  }

  /** Somebody decides when the time is over, and about what was denied; and what was asked for is taken back. */
  #decideTooLate(): void {
    this.#say({ reply: "act", room: 0, hurry: false });
    this.#steps.push({ do: "expire", room: 0, pick: 0 });
    this.#say({ reply: "act", room: 0, hurry: false });
    this.#steps.push(
      { do: "decide", room: 0, pick: 0, how: "deny" },
      { do: "decide", room: 0, pick: 0.999, how: "once" },
    );
    this.#say({ reply: "act", room: 0, hurry: false });
    this.#steps.push({ do: "delete", room: 0, target: "newest", pick: 0.999 });
  }

  /** All rooms are asked at once, several times, while connections are cut and daemons die. */
  #crowds(): void {
    const random = this.#random;
    for (let left = random.int(3, 5); left > 0; left--) {
      // Answers that come in the same moment are settled together.
      const isSlow = random.chance(0.6);
      this.#crowd(isSlow ? "slow" : "plain");
      if (random.chance(0.3)) this.#steps.push({ do: "cut", point: random.pick(CROWD_POINTS) });
      if (isSlow) this.#steps.push({ do: "release" });
      if (random.chance(0.1)) this.#delete("newest");
      this.#talk(random.int(0, 2));
    }
    this.#steps.push({ do: "crash", point: random.pick(CROWD_POINTS) });
    this.#crowd("plain");
    this.#restart("same");
  }

  #crowd(reply: "plain" | "slow"): void {
    const ns = Array.from({ length: PLANS.length }, () => this.#number());
    this.#steps.push({ do: "crowd", ns, who: this.#random.int(0, 4), reply });
  }

  /** Gives a statement its chance. */
  #provoke({ statement, at }: CrashPoint): void {
    if (statement === "settle_handing_over") this.#say({ reply: "hand", room: 0 });
    if (statement === "append_turn_entries") this.#say({ reply: "tools", room: 0 });
    if (statement === "delete_message" || statement === "transaction") this.#delete();
    if (statement === "revise_message")
      this.#steps.push({ do: "edit", room: 0, pick: this.#random.next(), n: this.#number() });
    if (statement === "turn_take_in") this.#steer();
    if (statement.startsWith("reminder")) this.#remind();
    if (statement.includes("approval") || at === "deed") this.#act();
    if (statement === "subagent_tell_call") this.#say({ reply: "spawn_once", room: 0 });
    else if (statement.startsWith("subagent") || at === "subagent") this.#say({ reply: "spawn", room: 0 });
    if (statement.startsWith("job_") || at === "summary") this.#steps.push({ do: "force", room: 0 });
  }

  #stall(): void {
    if (this.#random.chance(0.5)) this.#summariser("held");
    this.#talk(this.#random.int(6, 14));
    this.#steps.push({ do: "stall" });
    this.#summariser("good");
    this.#talk(this.#random.int(8, 16));
    if (this.#random.chance(0.5)) this.#delete();
    this.#steps.push({ do: "thaw", n: this.#number() });
    this.#talk(this.#random.int(4, 8));
  }

  #odd(): void {
    const random = this.#random;
    this.#talk(random.int(3, 8));
    this.#steps.push({ do: "force", room: this.#room() });
    this.#talk(random.int(1, 5));
    if (random.chance(0.4)) {
      // What was said before it may be edited behind it, and taken back when that is summarised.
      this.#steps.push(
        { do: "reset", room: 0 },
        { do: "edit", room: 0, pick: random.next(), n: this.#number() },
      );
      this.#talk(random.int(6, 10));
      this.#steps.push({ do: "force", room: 0 });
      this.#talk(random.int(1, 3));
      this.#delete("edited");
    }
    if (random.chance(0.7)) this.#steps.push({ do: "evict" });
    if (random.chance(0.5)) this.#steps.push({ do: "pass", hours: random.int(1, 30) });
    if (random.chance(0.5)) this.#steps.push({ do: "trouble", sends: random.int(1, 3) });
    this.#talk(random.int(3, 8));
  }

  /** People ask both agents in turn, also while one of them answers, and those hand over to each other. */
  #together(): void {
    const random = this.#random;
    for (let left = random.int(2, 4); left > 0; left--) {
      const isHeld = random.chance(0.3);
      if (isHeld) this.#say({ reply: "slow", room: 0, isForGuest: random.chance(0.5) });
      this.#say({ reply: "plain", room: 0, isForGuest: true });
      this.#say({ reply: "plain", room: 0, isForGuest: false });
      if (isHeld) this.#steps.push({ do: "release" });
      this.#say({ reply: random.chance(0.3) ? "hand_on" : "hand", room: 0, isForGuest: random.chance(0.4) });
      this.#talk(random.int(1, 4));
      // What was handed over may retell it.
      if (random.chance(0.3)) this.#delete("newest");
      if (random.chance(0.2))
        this.#steps.push({ do: "edit", room: 0, pick: random.next(), n: this.#number() });
    }
  }

  /** Subagents work within their turn, and outlive it; what they were told is taken back, and they are stopped. */
  #beside(): void {
    const random = this.#random;
    for (let left = random.int(1, 3); left > 0; left--) {
      this.#say({ reply: "spawn", room: 0 });
      this.#say({ reply: "spawn_slow", room: random.chance(0.8) ? 0 : 1 });
      this.#talk(random.int(1, 5));
      if (random.chance(0.3)) this.#delete("newest");
      if (random.chance(0.2))
        this.#steps.push({ do: "edit", room: 0, pick: random.next(), n: this.#number() });
      if (random.chance(0.3)) this.#restart("same");
      if (random.chance(0.3)) this.#steps.push({ do: "stop_agent", room: 0, pick: random.next() });
      if (random.chance(0.1)) this.#steps.push({ do: "reset", room: 0 });
      this.#steps.push({ do: "release" });
      this.#talk(random.int(1, 3));
    }
  }

  #dieAndRestart(): void {
    const random = this.#random;
    this.#crash();
    this.#talk(random.int(4, 12));
    if (random.chance(0.3)) this.#delete();
    this.#retain("may crash");
    this.#restart(random.chance(0.3) ? random.int(0, 99) : "same");
    // A turn that is held again after its crash would die with each process to come, until it is given up.
    this.#steps.push({ do: "release" });
    this.#talk(random.int(4, 10));
  }

  /** Somebody goes on talking while the agent is about to look things up, and while it does; somebody else asks between. */
  #steer(isForGuest = false): void {
    const random = this.#random;
    const who = random.int(0, 4);
    this.#say({ reply: "tools_slow", room: 0, who, isForGuest, hurry: false });
    this.#say({ reply: "tools_slow", room: 0, who, isForGuest, hurry: true });
    this.#talk(random.int(0, 2));
    if (random.chance(0.3)) this.#delete("newest");
    if (random.chance(0.3)) this.#steps.push({ do: "edit", room: 0, pick: 0.999, n: this.#number() });
    this.#steps.push({ do: "release" });
    if (random.chance(0.3)) this.#say({ reply: "plain", room: 0, who: (who + 1) % 5, hurry: true });
    this.#say({ reply: "plain", room: 0, who, isForGuest, hurry: true });
    this.#steps.push({ do: "release" });
  }

  /** A call that waits, and somebody who allows it. */
  #act(): void {
    this.#say({ reply: "act", room: 0, hurry: false });
    this.#decide("once");
  }

  #decide(how = this.#random.pick(["once", "once", "always", "deny"] as const)): void {
    this.#steps.push({ do: "decide", room: 0, pick: this.#random.next(), how });
  }

  /** A reminder that is told. */
  #remind(): void {
    this.#say({ reply: "remind", room: 0, hurry: false });
    this.#steps.push({ do: "pass", hours: 24 });
  }

  /** While they wait, and in the moment in which they are due. */
  #takeBackReminders(): void {
    const newest = { do: "delete", room: 0, target: "newest", pick: 0.999 } as const;
    this.#say({ reply: "remind", room: 0, hurry: false });
    this.#steps.push(newest);
    for (const end of [newest, { do: "cancel", room: 0, pick: 0.999 } as const]) {
      this.#say({ reply: "remind", room: 0, hurry: false });
      this.#steps.push({ do: "pass", hours: 24, hurry: true }, end);
    }
    // A daemon dies over one that is due.
    this.#steps.push({
      do: "crash",
      point: { at: "database", statement: "reminder_fire", when: "before", nth: 1 },
    });
    this.#remind();
  }

  /** Another daemon takes back what a model is being asked about, and nobody tells its own: it calls with the words, and answers. */
  #takeBackElsewhere(): void {
    // They are given steps in turns: the one that has the channel is asked, and the other one, which never had it, deletes.
    if (this.#steps.length % 2 === 1) this.#steps.push({ do: "pass", hours: 0 });
    this.#steps.push({ do: "race" });
    for (let left = 2; left > 0; left--) {
      this.#say({ reply: "act_slow", room: 0, hurry: false });
      this.#steps.push(
        { do: "delete", room: 0, target: "newest", pick: 0.999 },
        { do: "release" },
        { do: "release" },
      );
    }
    // Looked for at once: what it called with goes when it is summarised and old.
    this.#steps.push({ do: "end_race", pick: 0, how: "crash" }, { do: "quiesce" });
  }

  /** What an agent has noted of a channel is taken back while it is asked in a thread of it: here, and by another daemon that tells nobody. */
  #takeBackNoted(): void {
    for (const isElsewhere of [false, true, true]) {
      this.#say({ reply: "plain", room: 2, hurry: false }, ["short"]);
      this.#say({ reply: "note", room: 2, hurry: false }, ["short"]);
      if (isElsewhere) this.#steps.push({ do: "race" });
      this.#say({ reply: "noted_slow", room: 3, hurry: false }, ["short"]);
      // Of the three newest, what was said before the note was made.
      this.#steps.push(
        { do: "delete", room: 2, target: "newest", pick: 0.5 },
        { do: "release" },
        { do: "release" },
      );
      if (isElsewhere) this.#steps.push({ do: "end_race", pick: 0, how: "crash" });
    }
    this.#steps.push({ do: "quiesce" });
  }

  /** What a call repeats is edited again before it is summarised, and behind that what a summary tells. */
  #editWhatIsTold(): void {
    const edit = (): void => void this.#steps.push({ do: "edit", room: 0, pick: 0.999, n: this.#number() });
    // Twice: not each summary tells first what edits have brought.
    for (let left = 2; left > 0; left--) {
      this.#say({ reply: "plain", room: 0, isForGuest: false, hurry: false }, ["short"]);
      edit();
      this.#say({ reply: "quote", room: 0, isForGuest: false, hurry: false }, ["short"]);
      // With the newest message those are edited again of which something tells.
      edit();
      for (let said = 0; said < 18; said++) this.#say({ room: 0 }, LARGE);
      this.#steps.push({ do: "force", room: 0 }, { do: "pass", hours: 0 });
      edit();
    }
  }

  /** Texts are no longer kept when a tool has read them, and its result is not in the log yet: that waits for a subagent. */
  #retainWhatIsQuoted(): void {
    this.#say({ reply: "quote_slow", room: 0, isForGuest: false, hurry: true }, ["short"]);
    // By then it has read them.
    for (let said = 2; said > 0; said--) this.#say({ reply: null, room: 0, hurry: true }, ["short"]);
    this.#steps.push({ do: "retain" }, { do: "release" });
  }

  /** Reminders wait, are told, taken back, and go with the messages that they tell of; also in the moment in which they are due. */
  #later(): void {
    const random = this.#random;
    for (let left = random.int(2, 4); left > 0; left--) {
      this.#say({
        reply: "remind",
        room: random.chance(0.8) ? 0 : 1,
        hurry: false,
        isForGuest: random.chance(0.2),
      });
      this.#talk(random.int(0, 4));
      if (random.chance(0.3)) this.#say({ reply: "remind", room: 0, hurry: false });
      if (random.chance(0.2)) this.#delete("newest");
      if (random.chance(0.2)) this.#steps.push({ do: "edit", room: 0, pick: 0.99, n: this.#number() });
      if (random.chance(0.2)) this.#steps.push({ do: "cancel", room: 0, pick: random.next() });
      if (random.chance(0.2)) this.#restart("same");
      if (random.chance(0.1)) this.#steps.push({ do: "reset", room: 0 });
      const isRace = random.chance(0.2);
      if (isRace) this.#steps.push({ do: "race" });
      this.#steps.push({ do: "pass", hours: random.int(1, 30), hurry: true });
      if (random.chance(0.4)) this.#delete("newest");
      if (random.chance(0.2)) this.#steps.push({ do: "cancel", room: 0, pick: random.next() });
      this.#talk(random.int(0, 3));
      if (isRace) this.#steps.push({ do: "end_race", pick: random.int(0, 1), how: "crash" });
    }
  }

  /** Calls wait, and are allowed, denied, or nobody decides in time; what they were asked for in is changed, or taken back. */
  #allowed(): void {
    const random = this.#random;
    for (let left = random.int(2, 4); left > 0; left--) {
      this.#say({ reply: "act", room: 0, hurry: false, isForGuest: random.chance(0.3) });
      if (random.chance(0.3)) this.#say({ reply: "act", room: 0, hurry: false });
      this.#talk(random.int(0, 3));
      if (random.chance(0.2)) this.#delete("newest");
      if (random.chance(0.2)) this.#steps.push({ do: "edit", room: 0, pick: 0.99, n: this.#number() });
      if (random.chance(0.2)) this.#steps.push({ do: "expire", room: 0, pick: random.next() });
      if (random.chance(0.1)) this.#steps.push({ do: "reset", room: 0 });
      this.#decide();
      if (random.chance(0.2)) this.#restart("same");
      // What was decided once is decided.
      this.#decide();
      this.#say({ reply: "act_again", room: 0, hurry: false });
      if (random.chance(0.3)) this.#delete("newest");
    }
  }

  #summariser(mode: SummaryMode): void {
    this.#steps.push({ do: "summariser", mode });
  }

  #retain(how: "may crash" | "whole" = "whole"): void {
    const when = this.#retained.chance(0.5) ? "before" : "after";
    const point = { at: "database", statement: "retention_texts", when, nth: 1 } as const;
    if (how === "may crash" && this.#retained.chance(0.25)) this.#steps.push({ do: "crash", point });
    this.#steps.push({ do: "retain" });
    for (let left = this.#retained.int(0, 2); left > 0; left--)
      this.#steps.push({ do: "delete", room: 0, target: "expired", pick: this.#retained.next() });
  }

  #delete(target: DeletionTarget = this.#deletions.deal()): void {
    const room = target === "any" ? this.#room() : 0;
    this.#steps.push({ do: "delete", room, target, pick: this.#random.next() });
  }

  #number(): number {
    this.#spoken++;
    return this.#spoken;
  }

  #talk(count: number, sizes: readonly Size[] = SIZES): void {
    const random = this.#random;
    for (let left = count; left > 0; left--) {
      const roll = random.next();
      if (roll < 0.02) this.#steps.push({ do: "redeliver", room: this.#room(), pick: random.next() });
      else if (roll < 0.05)
        this.#steps.push({ do: "edit", room: this.#room(), pick: random.next(), n: this.#number() });
      else this.#say({}, sizes);
    }
  }

  #room(): RoomNumber {
    const roll = this.#random.next();
    if (roll < 0.76) return 0;
    return roll < 0.88 ? 1 : 2;
  }

  #say(
    wanted: {
      /** Null: it asks nobody. */
      readonly reply?: Reply | null;
      readonly room?: RoomNumber;
      readonly isForGuest?: boolean;
      readonly hurry?: boolean;
      readonly who?: number;
    },
    sizes = SIZES,
  ): void {
    const random = this.#random;
    const isAddressed = wanted.reply === undefined ? random.chance(0.18) : wanted.reply !== null;
    const room = wanted.room ?? this.#room();
    const anybody = random.int(0, 4);
    this.#steps.push({
      do: "say",
      room,
      n: this.#number(),
      who: wanted.who ?? anybody,
      size: random.chance(0.01) ? "paste" : random.pick(sizes),
      reply: isAddressed ? (wanted.reply ?? this.#replies.deal()) : null,
      hurry: wanted.hurry ?? random.chance(0.6),
      isForGuest: wanted.isForGuest ?? (isAddressed && room < 2 && random.chance(0.15)),
    });
  }
}
