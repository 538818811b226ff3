/** What a run has reached. */
export interface Tally {
  steps: number;
  prompts: number;
  turns: number;
  commits: number;
  merges: number;
  redos: number;
  digests: number;
  stale: number;
  refused: number;
  blocked: number;
  emergencies: number;
  crashes: number;
  summaryCalls: number;
  deletions: number;
  calms: number;
}

/** What each seed has to reach, or it proves too little. */
export const NEEDED: Partial<Tally> = { steps: 1000, commits: 20, merges: 2, emergencies: 3, crashes: 3 };

export function newTally(): Tally {
  return {
    steps: 0,
    prompts: 0,
    turns: 0,
    commits: 0,
    merges: 0,
    redos: 0,
    digests: 0,
    stale: 0,
    refused: 0,
    blocked: 0,
    emergencies: 0,
    crashes: 0,
    summaryCalls: 0,
    deletions: 0,
    calms: 0,
  };
}

/** @returns what it has not reached */
export function lacking(tally: Tally): string[] {
  return Object.entries(NEEDED).flatMap(([name, least]) => {
    const reached = Object.entries(tally).find(([key]) => key === name)?.[1] ?? 0;
    return reached >= least ? [] : [`${reached} ${name} of ${least}`];
  });
}
