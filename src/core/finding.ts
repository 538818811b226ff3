/** What a check of the set-up found. */
export interface Finding {
  /** What was looked at: `Discord token`. */
  readonly what: string;
  /** `off`: not set up, and not wrong. `wrong`: it does not work now, whosever fault that is. `unsure`: Weir cannot tell. */
  readonly state: "ok" | "wrong" | "unsure" | "off";
  /** What was found, in a few words; no secrets. */
  readonly detail: string;
  /** What to do about it; left out where nothing has to be done. */
  readonly todo?: string;
}
