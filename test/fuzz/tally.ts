/** What a run has reached. */
export interface Tally {
  steps: number;
  commits: number;
  merges: number;
  emergencies: number;
  /** … while a job was under way. */
  duringJob: number;
  crashes: number;
  /** Connections that were cut. */
  cuts: number;
  /** Configurations that were put in force in a daemon that ran. */
  reloads: number;
  prompts: number;
  turns: number;
  redos: number;
  digests: number;
  stale: number;
  refused: number;
  blocked: number;
  /** Channels of which an owner heard that they were lost. */
  lost: number;
  summaryCalls: number;
  deletions: number;
  /** Requests that the server refused for their length. */
  tooLong: number;
  fallbacks: number;
  /** Tools that failed, or took too long. */
  toolFailures: number;
  notices: number;
  quiescences: number;
  handOffs: number;
  /** Messages that running turns have taken in. */
  steered: number;
  /** Requests of subagents. */
  subagentCalls: number;
  /** Calls that somebody had allowed. */
  deeds: number;
  /** Occurrences of reminders that were told. */
  reminded: number;
  /** Entries whose texts are no longer kept. */
  expired: number;
  /** … and which were taken back later. */
  expiredDeleted: number;
}

/** What each seed has to reach, or it proves too little. */
export const NEEDED: Partial<Tally> = {
  steps: 1000,
  commits: 20,
  merges: 2,
  emergencies: 3,
  duringJob: 1,
  crashes: 3,
  cuts: 1,
  reloads: 3,
  handOffs: 2,
  steered: 2,
  subagentCalls: 5,
  deeds: 1,
  reminded: 1,
  expired: 1,
  expiredDeleted: 1,
};

export function newTally(): Tally {
  return {
    steps: 0,
    commits: 0,
    merges: 0,
    emergencies: 0,
    duringJob: 0,
    crashes: 0,
    cuts: 0,
    reloads: 0,
    prompts: 0,
    turns: 0,
    redos: 0,
    digests: 0,
    stale: 0,
    refused: 0,
    blocked: 0,
    lost: 0,
    summaryCalls: 0,
    deletions: 0,
    tooLong: 0,
    fallbacks: 0,
    toolFailures: 0,
    notices: 0,
    quiescences: 0,
    handOffs: 0,
    steered: 0,
    subagentCalls: 0,
    deeds: 0,
    reminded: 0,
    expired: 0,
    expiredDeleted: 0,
  };
}

/** @returns what it has not reached */
export function lacking(tally: Tally): string[] {
  return Object.entries(NEEDED).flatMap(([name, least]) => {
    const reached = Object.entries(tally).find(([key]) => key === name)?.[1] ?? 0;
    return reached >= least ? [] : [`${reached} ${name} of ${least}`];
  });
}

export function addTally(sum: Tally, one: Tally): void {
  for (const key of keysOf(sum)) sum[key] += one[key];
}

export function tellTally(tally: Tally): string {
  return keysOf(tally)
    .map((key) => tell(tally, key))
    .join(", ");
}

/** What there is a least of, alone. */
export function tellReached(tally: Tally): string {
  return keysOf(tally)
    .filter((key) => key in NEEDED)
    .map((key) => tell(tally, key))
    .join(", ");
}

function tell(tally: Tally, key: keyof Tally): string {
  return `${tally[key]} ${NAMES[key] ?? key}`;
}

const NAMES: Partial<Record<keyof Tally, string>> = {
  duringJob: "of them during a job",
  cuts: "cut connections",
  lost: "lost channels",
  summaryCalls: "summary calls",
  toolFailures: "failed tools",
  handOffs: "hand-offs",
  steered: "taken in by running turns",
  deeds: "allowed calls",
  reminded: "told reminders",
  expired: "texts no longer kept",
  expiredDeleted: "of them taken back",
  subagentCalls: "calls of subagents",
  tooLong: "refused as too long",
};

function keysOf(tally: Tally): (keyof Tally)[] {
  // oxlint-disable-next-line no-unsafe-type-assertion -- a tally has no other keys
  return Object.keys(tally) as (keyof Tally)[];
}
