import { CallCounts } from "../../src/budget/call-counts.ts";
import { pino } from "pino";
import { Retention } from "../../src/channel/retention.ts";
import type { ChannelActor } from "../../src/channel/actor.ts";
import { ReminderClock, type ReminderClockParts } from "../../src/features/reminders/reminder-clock.ts";
import { NO_STRANGERS } from "../../src/router/strangers.ts";
import type { OpenParts } from "../../src/features/feature.ts";
import { OpenFeatures } from "../../src/features/features.ts";
import { FEATURE_ROWS } from "../../src/features/stored.ts";
import { REMINDERS } from "../../src/features/reminders/key.ts";
import type { ReminderDesk } from "../../src/features/reminders/reminder-desk.ts";
import { subagentsBy } from "../../src/features/subagents/feature.ts";
import { SUBAGENTS } from "../../src/features/subagents/key.ts";
import type { SubagentDesk } from "../../src/features/subagents/subagent-desk.ts";
import { SubagentStore } from "../../src/features/subagents/subagent-store.ts";
import { ReminderStore } from "../../src/features/reminders/reminder-store.ts";
import {
  createLiveChannels,
  type LiveChannels,
  type LiveChannelsParts,
} from "../../src/channel/live-channels.ts";
import type { QuestionDesk } from "../../src/features/questions/question-desk.ts";
import { QuestionStore } from "../../src/features/questions/question-store.ts";
import { openQuestions, questions } from "../../src/features/questions/feature.ts";
import { reminders } from "../../src/features/reminders/feature.ts";
import { DueWorkDesk } from "../../src/channel/due-work.ts";
import { ContextRecorder } from "../../src/channel/turns/context-recorder.ts";
import { Breaker } from "../../src/compactor/breaker.ts";
import type { CompactorTiming } from "../../src/compactor/target.ts";
import type { CompactionState, Decision } from "../../src/compactor/policy/policy.ts";
import { CompactionQueue } from "../../src/compactor/queue.ts";
import type { StaffedAgent } from "../../src/agents.ts";
import type { AgentId, ChannelId } from "../../src/core/ids.ts";
import { Indexer } from "../../src/memory/indexer.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import { Recall } from "../../src/memory/recall.ts";
import type { Model } from "../../src/llm/model.ts";
import type { Models } from "../../src/llm/models.ts";
import { TurnRateLimit } from "../../src/router/turn-rate-limit.ts";
import { bindPlatform } from "../../src/router/bindings.ts";
import { Notices } from "../../src/router/notices.ts";
import { ConfirmedNames } from "../../src/router/confirmed-names.ts";
import { Refusals } from "../../src/router/refusals.ts";
import { Speakers } from "../../src/router/speakers.ts";
import { Router } from "../../src/router/router.ts";
import type { Database } from "../../src/store/database/database.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { Events, type WeirEvent } from "../../src/telemetry/events.ts";
import { isAt } from "./crash-points.ts";
import { ANNEX, type Chat, ChatFront, PLATFORM } from "./chat.ts";
import { FreezableDatabase, type Ways } from "./freezable-database.ts";
import { FUZZ_SIGNER } from "./fuzz-key.ts";
import type { Mutant } from "./mutants/mutant.ts";
import type { RetryDelays } from "./retry-delays.ts";
import { actTool } from "./deeds.ts";
import { lookTool } from "./looks.ts";
import { AGENT, type Profile, restaffed, SECOND_AGENT, type Staff, staff, withTool } from "./profile.ts";
import type { ActivitySignal } from "./activity-signal.ts";
import type { CrashPoint } from "./schedule.ts";
import type { Latencies } from "./sim/latencies.ts";
import { PLATFORMS_OFF } from "../support/platforms-off.ts";

/** Looks and rests so short that real time stays small. */
const TIMING: Omit<CompactorTiming, "modelBackoff"> = {
  lookEveryMs: 0,
  databaseBackoff: { fromMs: 4, toMs: 16 },
};
/** What all registries have. */
const LIMITS = {
  mailboxSize: 100,
  restFromMs: 1,
  maxLoadedChannels: 100,
  idleEvictMs: -1,
  // The two minutes for which work in a lost channel may stand still: longer than two racing incarnations mostly need for a turn.
  takeover: { stillMs: 1000 },
};
/** Compactions at a time: no channel waits for the summariser of another one. */
const SLOTS = 3;
/** Older than that is nothing that a run has said, ms. */
const A_CENTURY_MS = 100 * 365 * 24 * 60 * 60 * 1000;
/** A clock of reminders looks so often what time it is in the run, ms. */
const CLOCK_MS = 4;
/** The breaker's half minute becomes 30 ms. */
const HASTE = 1000;

export interface IncarnationParts {
  readonly connection: Connection;
  /** The run's, for all incarnations. */
  readonly agentsDir: string;
  /** The run's connections, for all incarnations. */
  readonly shared: Database;
  readonly activity: ActivitySignal;
  readonly retryDelays: RetryDelays;
  readonly profile: Profile;
  readonly chat: Chat;
  readonly isStreaming: boolean;
  readonly now: () => Date;
  readonly mutant: Mutant | null;
  /** Told of each call of the tool whose calls somebody has to allow. */
  readonly onDeed: (incarnation: Incarnation, callId: string, what: string) => Promise<void>;
  /** Null: real time passes. */
  readonly latencies: Latencies | null;
  /** Makes the model of this incarnation. */
  readonly modelOf: (incarnation: Incarnation) => Model;
  readonly onCrash: () => void;
  readonly onCut: () => void;
  readonly onEvent: (incarnation: Incarnation, event: WeirEvent) => void;
  readonly decide: (incarnation: Incarnation, state: CompactionState) => Decision;
}

/** Where the first agent answers, the second one can be asked as well. */
const BINDINGS = [
  { ...bindPlatform(PLATFORM, AGENT, true), also: [SECOND_AGENT] },
  bindPlatform(ANNEX, SECOND_AGENT),
];
/** What of a router is not this fuzz's. */
const UNROUTED = {
  commands: {
    has: () => false,
    run: async () => "",
    commandIn: async () => null,
    keepsMessage: () => false,
    memoryIn: () => null,
    isNamedFor: () => false,
  },
  namesOf: () => [],
  seesImages: () => false,
  failureText: () => "",
  promptsOf: () => [],
};

/** As a mutant has it. */
function storeOf(mutant: Mutant | null, database: FreezableDatabase): Store {
  const plain = createStore(database, FEATURE_ROWS, { signer: FUZZ_SIGNER, writers: 1 });
  return mutant?.store?.(plain, database) ?? plain;
}

function waysOf(number: number, latencies: Latencies | null): Ways | null {
  return (
    latencies && {
      pass: async (what) => latencies.pass(number, what),
      chance: (what, share) => latencies.chance(number, what, share),
    }
  );
}

/** One life of the daemon: its own channels, its own epoch, its own way to the database, the models and the chat. */
export class Incarnation {
  readonly #log = pino({ level: "silent" });
  readonly number: number;
  /** The configuration in force. */
  profile: Profile;
  readonly database: FreezableDatabase;
  readonly store: Store;
  readonly router: Router;
  readonly channels: LiveChannels;
  readonly subagents: SubagentDesk;
  readonly models: Models;
  readonly approvals: QuestionDesk;
  readonly reminders: ReminderDesk;
  readonly #features: OpenFeatures;
  readonly #clock: ReminderClock;
  readonly #mutant: Mutant | null;
  #staff: Staff;
  readonly #indexer: Indexer;
  readonly #contexts: ContextRecorder;
  readonly #death = Promise.withResolvers<"dead">();
  readonly #onCrash: () => void;
  readonly #onCut: () => void;
  readonly #ways: Ways | null;
  #point: CrashPoint | null = null;
  #cut: CrashPoint | null = null;
  /** When its connection was cut last, by `performance.now()`. */
  cutAt = -Infinity;
  isStalled = false;
  #isClosed = false;

  constructor(number: number, parts: IncarnationParts) {
    const { connection, profile, chat, mutant, now, shared, activity } = parts;
    this.number = number;
    this.#onCrash = parts.onCrash;
    this.#onCut = parts.onCut;
    this.profile = profile;
    this.#ways = waysOf(number, parts.latencies);
    const reached = (statement: string, when: "before" | "after"): boolean => {
      this.#reached("database", when, statement);
      return this.#isCutAt(statement, when);
    };
    this.database = new FreezableDatabase(connection, shared, activity, reached, this.#ways);
    const log = this.#log;
    this.store = storeOf(mutant, this.database);
    const { store } = this;
    this.#mutant = mutant;
    this.#staff = staff({ ...parts, model: parts.modelOf(this) }, mutant ?? {}, now);
    this.models = this.#staff.models;
    const agentOf = this.#staffing(parts);
    this.#indexer = new Indexer(store.search, log);
    this.#contexts = new ContextRecorder(store.contextRecords, log, 1);
    const events = new Events(log);
    events.on((event) => parts.onEvent(this, event));
    const platforms = [PLATFORM, ANNEX].map(
      (name) => new ChatFront(name, chat, parts.isStreaming, async (when) => this.gate("platform", when)),
    );
    const platformOf: LiveChannelsParts["platformOf"] = ({ platform }) =>
      platforms.find(({ name }) => name === platform);
    const opened = openQuestions({
      questions: mutant?.approvals?.(this.database) ?? new QuestionStore(this.database),
      mayBeAsked: () => true,
      serves: () => true,
      isClustered: true,
      log,
    });
    const features = this.#openFeatures({ platforms, platformOf, now }, opened);
    this.#features = features;
    this.reminders = features.serviceOf(REMINDERS);
    this.subagents = features.serviceOf(SUBAGENTS);
    this.channels = createLiveChannels({
      store,
      callCounts: new CallCounts(),
      recall: new Recall({ search: store.search, now: Date.now }),
      memories: new RecallMemories({ memories: store.memories, search: store.search, now }),
      indexer: this.#indexer,
      contexts: this.#contexts,
      features,
      events,
      log,
      now,
      compaction: {
        queue: new CompactionQueue(SLOTS),
        breaker: new Breaker(() => performance.now() * HASTE),
        timing: { ...TIMING, modelBackoff: parts.retryDelays },
        decide: (state) => parts.decide(this, state),
      },
      ...(mutant?.createMutex === undefined ? {} : { createMutex: mutant.createMutex }),
      ...LIMITS,
      agentOf,
      streams: () => true,
      platformOf,
    });
    const dueWork = new DueWorkDesk(store, this.channels.waker);
    this.subagents.tellBy(dueWork);
    this.approvals = opened.work({ store, ...this.channels });
    this.#clock = this.#createClock({ desk: this.reminders, log, now });
    this.router = this.#createRouter(agentOf, { events, log, platformOf });
  }

  #openFeatures(
    parts: Pick<OpenParts, "platforms" | "platformOf" | "now">,
    opened: ReturnType<typeof openQuestions>,
  ): OpenFeatures {
    const subagents = subagentsBy((db) => this.#mutant?.subagents?.(db) ?? new SubagentStore(db));
    const whole = {
      ...parts,
      database: this.database,
      signer: FUZZ_SIGNER,
      isClustered: true,
      log: this.#log,
      setup: () => ({
        config: { agents: [], platforms: PLATFORMS_OFF },
        bindings: BINDINGS,
        agents: this.#staff.agents,
      }),
    };
    return new OpenFeatures(whole, [reminders, subagents, { ...questions, open: () => opened }]);
  }

  #createClock(parts: Pick<ReminderClockParts, "desk" | "log" | "now">): ReminderClock {
    return new ReminderClock({
      ...parts,
      reminders: this.#mutant?.reminders?.(this.database) ?? new ReminderStore(this.database),
      store: this.store,
      ...this.channels,
      schedules: () => [],
      platforms: [PLATFORM, ANNEX],
      serves: () => true,
      tickMs: CLOCK_MS,
      agentOf: ({ agent: id }) => {
        const { time, config } = this.#staff.agents.of(id).agent;
        return { time, graceMs: config.reminders.graceMs };
      },
    });
  }

  #createRouter(
    agentOf: (of: { agent: AgentId }) => StaffedAgent,
    parts: Pick<LiveChannelsParts, "events" | "log" | "platformOf">,
  ): Router {
    const { events, log, platformOf } = parts;
    return new Router({
      store: this.store,
      ...this.channels,
      events,
      log,
      bindings: BINDINGS,
      digesterOf: (channel) => agentOf(channel).compactorAgent.digester,
      names: new ConfirmedNames({ store: this.store.names, log, bindings: [], ownerRoles: {} }),
      speakers: new Speakers(this.store.speakers),
      teamOf: (agent, also) => this.#staff.agents.teamOf(agent, also),
      ...UNROUTED,
      limits: new TurnRateLimit(() => performance.now()),
      refusals: new Refusals(),
      notices: new Notices(platformOf, log),
      strangers: NO_STRANGERS,
    });
  }

  /** Who answers a channel, by the configuration in force: the same object for as long as it is so. */
  #staffing({ mutant, onDeed }: IncarnationParts): (of: { agent: AgentId }) => StaffedAgent {
    const act = actTool(
      async (...call) => onDeed(this, ...call),
      async (when) => this.gate("deed", when),
    );
    const look = lookTool();
    const made = new WeakMap<StaffedAgent, StaffedAgent>();
    const make = (plain: StaffedAgent): StaffedAgent => {
      const staffed = withTool(withTool(plain, act), look);
      const compactorAgent = mutant?.compactorAgent?.(staffed.compactorAgent) ?? staffed.compactorAgent;
      return { ...staffed, compactorAgent };
    };
    return ({ agent }) => {
      const also = BINDINGS.find((binding) => binding.agent === agent)?.also ?? [];
      const plain = this.#staff.agents.with(agent, also);
      const staffed = made.get(plain) ?? make(plain);
      made.set(plain, staffed);
      return staffed;
    };
  }

  get isDead(): boolean {
    return this.database.isFrozen || this.#isClosed;
  }

  /** Its time is a simulation's. */
  get isSimulated(): boolean {
    return this.#ways !== null;
  }

  /** Lives, and is not standing still. */
  get isAwake(): boolean {
    return !this.isDead && !this.isStalled;
  }

  /** Resolves when it dies. */
  get death(): Promise<"dead"> {
    return this.#death.promise;
  }

  actor(channel: ChannelId): ChannelActor | undefined {
    return this.channels.registry.loaded(channel);
  }

  /** It will die there. */
  arm(point: CrashPoint): void {
    this.#point = point;
  }

  /** Its connection will be cut there, and it lives on. */
  armCut(point: CrashPoint): void {
    this.#cut = point;
  }

  #isCutAt(statement: string, when: "before" | "after"): boolean {
    const point = this.#cut;
    if (point === null || point.when !== when || !isAt(point, statement)) return false;
    this.#cut = point.nth <= 1 ? null : { ...point, nth: point.nth - 1 };
    if (point.nth > 1) return false;
    this.cutAt = performance.now();
    this.#onCut();
    return true;
  }

  crash(): void {
    if (this.isDead) return;
    this.database.freeze();
    this.#onCrash();
    this.#death.resolve("dead");
  }

  /** For calls to a model or the chat. A dead incarnation's never come back. */
  async gate(at: CrashPoint["at"], when: "before" | "after"): Promise<void> {
    await this.#ways?.pass(`${at} ${when}`);
    if (!this.isDead) this.#reached(at, when, "");
    if (this.isDead) await new Promise<never>(() => undefined);
  }

  #reached(at: CrashPoint["at"], when: "before" | "after", statement: string): void {
    const point = this.#point;
    if (point === null || point.at !== at || point.when !== when) return;
    if (point.statement !== "" && !isAt(point, statement)) return;
    this.#point = point.nth <= 1 ? null : { ...point, nth: point.nth - 1 };
    if (point.nth <= 1) this.crash();
  }

  stall(): void {
    this.isStalled = true;
    this.database.pause();
  }

  thaw(): void {
    this.isStalled = false;
    this.database.resume();
  }

  async start(): Promise<void> {
    await this.#indexer.start();
    await this.channels.resumption.resume([PLATFORM, ANNEX], this.profile.config.compaction.maxRawMessages);
    this.approvals.start();
    this.#clock.start();
  }

  /** Puts another configuration in force, as a daemon that runs does. Resolves when it has looked at what is due by it. */
  async reload(profile: Profile): Promise<void> {
    this.profile = profile;
    this.#staff = restaffed(profile, this.#staff, this.#mutant ?? {});
    this.#clock.reconfigured();
    void this.channels.renewal.renew();
    // Where the database is away, who comes next looks.
    await this.channels.resumption
      .resume([PLATFORM, ANNEX], profile.config.compaction.maxRawMessages)
      .catch(() => undefined);
  }

  /** It was made of a configuration that is in force no more, and nobody has told it to make way. */
  isOutdated(channel: ChannelId): boolean {
    const actor = this.actor(channel);
    if (actor === undefined || actor.isLeaving) return false;
    const { config } = actor.agent;
    return this.#staff.agents.named(config.id)?.agent.config !== config;
  }

  /** Brings the search index up to the log. */
  async index(): Promise<void> {
    await this.#indexer.flush();
  }

  /** Lets all texts go that are settled and summarised, as if they were old. */
  async retain(): Promise<void> {
    const retention = new Retention(
      { store: this.store.retention, now: () => new Date(Date.now() + A_CENTURY_MS), log: this.#log },
      { textDays: 1, imageDays: 1 },
    );
    await Promise.race([retention.sweep(), this.death]);
    // What a dead one is asking will never be answered.
    if (!this.isDead) await retention[Symbol.asyncDispose]();
  }

  async drain(): Promise<void> {
    this.thaw();
    await this.#clock[Symbol.asyncDispose]();
    await this.approvals[Symbol.asyncDispose]();
    await this.#features[Symbol.asyncDispose]();
    await this.channels.drain(AbortSignal.abort());
    await this.#contexts[Symbol.asyncDispose]();
    await this.#indexer[Symbol.asyncDispose]();
    this.#isClosed = true;
    this.#death.resolve("dead");
  }

  /** Lets go of its connections, after its death. */
  async bury(): Promise<void> {
    // What it is asking will never be answered.
    void this.#clock[Symbol.asyncDispose]();
    this.database.freeze();
    this.database.resume();
    await this.database[Symbol.asyncDispose]();
  }
}
