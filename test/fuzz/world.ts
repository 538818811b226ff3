import { createHash } from "node:crypto";
import { pino } from "pino";
import { type CompactionState, type Decision, decide } from "../../src/compactor/policy.ts";
import { type ChannelId, channelId } from "../../src/core/ids.ts";
import type { ModelRequest } from "../../src/llm/model.ts";
import { type Connection, Database } from "../../src/store/pool.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import type { WeirEvent } from "../../src/telemetry/events.ts";
import { differences } from "./checks/i9-fold.ts";
import { checkPrompt } from "./checks/prompts.ts";
import { checkRows } from "./checks/rows.ts";
import { Chat, ROOM } from "./chat.ts";
import { Incarnation } from "./incarnation.ts";
import { Ledger, type Versions } from "./ledger.ts";
import { ModelScript } from "./model-script.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { observe, type State } from "./observe.ts";
import { AGENT, makeProfile, type Profile } from "./profile.ts";
import { estimateRequest, markersIn, takeApart } from "./prompt.ts";
import { Random } from "./random.ts";
import { newTally, type Tally } from "./tally.ts";
import { askedBy } from "./talker.ts";

/** More failed attempts of one job than any way down the ladder has. */
const MAX_REFUSALS = 8;
const START = Date.UTC(2026, 10, 21, 9, 0);
const STEP_MS = 20_000;

interface Measured {
  readonly incarnation: Incarnation;
  /** At or over the background threshold. */
  readonly isFull: boolean;
  readonly decision: Decision;
}

/** All of one run: the database, the incarnations, the scripts, and what was seen of them. */
export class World implements AsyncDisposable {
  readonly ledger: Ledger;
  readonly script: ModelScript;
  readonly chat = new Chat();
  readonly tally: Tally = newTally();
  readonly incarnations: Incarnation[] = [];
  readonly probe: Database;
  readonly #probeStore: Store;
  readonly #connection: Connection;
  readonly #seed: number;
  readonly #mutant: Mutant | null;
  readonly #isStreaming: boolean;
  readonly #ends: Promise<unknown>[] = [];
  #channel: ChannelId = channelId(0);
  #time = START;
  profile: Profile;
  /** As of the last look. */
  state: State | null = null;
  /** The compactor's last look: what it measured, and decided. */
  measured: Measured | null = null;
  /** The incarnations race for the channel. */
  isRacing = false;
  /** The one that is left has not heard yet that another one had the channel meanwhile. */
  isUnaware = false;

  constructor(connection: Connection, seed: number, mutant: Mutant | null) {
    const random = new Random(seed * 7 + 1);
    this.#connection = connection;
    this.#seed = seed;
    this.#mutant = mutant;
    this.#isStreaming = random.chance(0.3);
    this.probe = new Database(connection, pino({ level: "silent" }), { maxConnections: 3 });
    this.#probeStore = createStore(this.probe);
    const ratio = random.pick([null, 1, 1.2, 0.85]);
    this.ledger = new Ledger(this.chat, ratio ?? 1);
    this.profile = makeProfile(seed, 0);
    this.ledger.profiles.add(this.profile);
    this.script = new ModelScript({
      ratio,
      replyTo: (marker) => this.ledger.byMarker.get(marker)?.reply ?? undefined,
      onRequest: async (incarnation, request, kind) =>
        kind === "turn" ? this.#turnAsked(incarnation, request) : this.#summaryAsked(incarnation, request),
      onAnswer: (request, answer, kind) => {
        if (kind === "summary" && answer.calls.length === 0)
          this.ledger.answeredTo.set(contentOf(request), answer.text);
      },
    });
  }

  get channel(): ChannelId {
    return this.#channel;
  }

  async open(): Promise<void> {
    await this.#mutant?.install?.(this.probe);
    const description = { address: ROOM, kind: "channel", workspace: "", agent: AGENT } as const;
    this.#channel = await this.#probeStore.channels.open(description);
    await this.look();
  }

  now(): Date {
    return new Date(this.#time);
  }

  pass(ms = STEP_MS): void {
    this.#time += ms;
  }

  setProfile(number: number): void {
    this.profile = makeProfile(this.#seed, number);
  }

  /** The incarnations that live and are not standing still. */
  awake(): Incarnation[] {
    return this.incarnations.filter(({ isAwake }) => isAwake);
  }

  /** Begins a new life, with a registry and an epoch of its own. */
  async start(): Promise<Incarnation> {
    const { profile, chat } = this;
    this.ledger.profiles.add(profile);
    const incarnation = new Incarnation(this.incarnations.length + 1, {
      connection: this.#connection,
      profile,
      chat,
      isStreaming: this.#isStreaming,
      now: () => this.now(),
      mutant: this.#mutant,
      onCrash: () => this.tally.crashes++,
      modelOf: (one) => {
        const model = this.script.front(one);
        return this.#mutant?.model?.(model) ?? model;
      },
      onEvent: (one, event) => this.#happened(one, event),
      decide: (one, state) => this.#decide(one, state),
    });
    this.incarnations.push(incarnation);
    await Promise.race([incarnation.start(), incarnation.death]);
    return incarnation;
  }

  /** Lets go of a dead one's connections, off the run's path. */
  bury(incarnation: Incarnation): void {
    this.#ends.push(incarnation.bury());
  }

  /** Looks at the rows, and checks them. */
  async look(): Promise<State> {
    const { ledger } = this;
    const since = {
      seq: ledger.entries.size,
      summary: ledger.lastSummary,
      memory: ledger.lastMemory,
    };
    const state = await observe(this.probe, this.#channel, since);
    checkRows(this.state, state, ledger);
    this.state = state;
    return state;
  }

  /** Folding the rows anew gives what the owner has in memory. The channel must be quiet. */
  async compareMemory(): Promise<void> {
    const [incarnation] = this.awake();
    const actor = incarnation?.actor(this.#channel);
    if (incarnation === undefined || actor === undefined || this.isRacing || this.isUnaware) return;
    const inMemory = await actor.history.snapshot();
    const { history } = await this.#probeStore.load(this.#channel);
    if (actor.history.current !== inMemory || incarnation.isDead) return;
    const shown = differences(history, inMemory);
    if (shown.length > 0)
      this.ledger.violate("I9", `memory is not the fold of the rows: ${shown.join("; ")}`);
  }

  #versions(state: State, deletions: number): Versions {
    return {
      summaries: Math.max(this.ledger.lastSummary, ...state.summaries.map(({ id }) => id)),
      coveredTo: state.channel.covered_to,
      omittedTo: state.channel.omitted_to,
      deletions,
      day: this.now().toISOString().slice(0, 10),
      profile: this.profile.number,
    };
  }

  async #turnAsked(incarnation: Incarnation, request: ModelRequest): Promise<void> {
    const { ledger } = this;
    const prompt = takeApart(request);
    for (const marker of prompt.markers) ledger.asked.add(marker);
    for (const marker of askedBy(prompt)) ledger.asked.add(marker);
    this.tally.prompts++;
    const gone = new Set(ledger.gone);
    const isSole = this.#isSole(incarnation);
    if (this.state === null) return;
    const before = this.#lookedAt ?? this.#versions(this.state, ledger.deletions);
    const state = await observe(this.probe, this.#channel, {
      seq: Number.MAX_SAFE_INTEGER,
      summary: Number.MAX_SAFE_INTEGER,
      memory: Number.MAX_SAFE_INTEGER,
    });
    const at = this.#versions(state, ledger.deletions + (ledger.leaving.size - ledger.gone.size));
    checkPrompt({ prompt, incarnation, state, before, at, isSole, gone }, ledger);
  }

  #isSole(incarnation: Incarnation): boolean {
    const [one, other] = this.awake();
    return !this.isRacing && !this.isUnaware && other === undefined && one === incarnation;
  }

  /** Versions as of the last step's end. */
  #lookedAt: Versions | null = null;

  /** What happens from now on counts as later. */
  mark(): void {
    if (this.state !== null) this.#lookedAt = this.#versions(this.state, this.ledger.deletions);
  }

  async #summaryAsked(incarnation: Incarnation, request: ModelRequest): Promise<void> {
    const { ledger } = this;
    this.tally.summaryCalls++;
    const gone = new Set(ledger.gone);
    // A summariser's tools are counted without the names that a turn's have round them.
    const tokens = estimateRequest(request) - request.tools.length * 8 + request.maxOutputTokens;
    const { summariserWindow } = incarnation.profile;
    if (tokens > summariserWindow)
      ledger.violate("I6", `a summariser's request of ${tokens} tokens in ${summariserWindow}`);
    const since = { seq: Number.MAX_SAFE_INTEGER, summary: Number.MAX_SAFE_INTEGER, memory: 0 };
    const { jobs } = await observe(this.probe, this.#channel, since);
    const job = jobs.findLast(({ state }) => state === "running" || state === "staged");
    const isSole = this.#isSole(incarnation);
    const markers = markersIn(request.messages);
    const deleted = [...markers].filter((marker) => gone.has(marker));
    if (isSole && deleted.length > 0)
      ledger.violate("I12", `a summariser's prompt shows deleted text: ${deleted.join(", ")}`);
    if (job === undefined) return;
    const shown = ledger.shownToJob.get(job.id) ?? new Set();
    for (const marker of markers) shown.add(marker);
    ledger.shownToJob.set(job.id, shown);
    if (!isSole) return;
    if (job.state === "staged") ledger.violate("I9", `job ${job.id} is staged, and its model is asked again`);
    const known = ledger.answeredTo.get(contentOf(request));
    if (known !== undefined && job.result?.parts.some(({ text }) => text === known) === true)
      ledger.violate("I9", `a finished part of job ${job.id} is asked for again`);
  }

  #decide(incarnation: Incarnation, state: CompactionState): Decision {
    const decision = (this.#mutant?.decide ?? decide)(state);
    this.ledger.note(`decided ${JSON.stringify(decision)}`);
    const isFull = state.tokens >= state.roomAt(state.rules.backgroundThreshold);
    this.measured = { incarnation, isFull, decision };
    return decision;
  }

  #happened(incarnation: Incarnation, event: WeirEvent): void {
    const { tally, ledger } = this;
    ledger.note(`${incarnation.number}: ${JSON.stringify(event)}`);
    if (event.type === "channel_loaded" && !this.isRacing) this.isUnaware = false;
    if (event.type === "emergency") tally.emergencies++;
    // What was due then is done, or is decided anew.
    if (event.type === "compaction" && event.phase !== "started") this.measured = null;
    if (event.type === "compaction" && event.phase === "committed") {
      tally.commits++;
      if (event.kind === "merge") tally.merges++;
      if (event.kind === "redo") tally.redos++;
      if (event.model === "digest") tally.digests++;
    }
    if (event.type === "compaction" && event.phase === "stale") tally.stale++;
    if (event.type === "compaction_blocked") tally.blocked++;
    if (event.type === "compaction_refused") {
      tally.refused++;
      const count = (ledger.refusals.get(event.job) ?? 0) + 1;
      ledger.refusals.set(event.job, count);
      if (count > MAX_REFUSALS) ledger.violate("I14", `job ${event.job} has failed ${count} times`);
    }
    if (event.type === "turn_settled") tally.turns++;
    if (event.type === "compaction_interrupted" && !incarnation.isDead && !this.isRacing && !this.isUnaware)
      ledger.violate("error", `a compaction was interrupted: ${event.why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const incarnation of this.incarnations) {
      incarnation.crash();
      this.bury(incarnation);
    }
    await Promise.allSettled(this.#ends);
    await this.probe[Symbol.asyncDispose]();
  }
}

function contentOf({ messages }: ModelRequest): string {
  return createHash("sha256").update(JSON.stringify(messages)).digest("base64");
}
