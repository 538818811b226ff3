/**
 * Matches `[2026-11-21 14:05] NAME: ` and the shorter heads, which small models like to imitate. A bracketed time, or
 * empty brackets, without a name may be intended.
 */
const LINE_HEAD =
  /^\s*\\?(?:\[\d{4}-\d\d-\d\d \d\d:\d\d\]\s*(?:[^\n:]{1,80}:\s)?|\[(?:\d\d:\d\d)?\] [^\n:]{1,80}:\s|\[\+\] )/;
/** Longest beginning that may still become a line head. */
const LONGEST_HEAD = 110;
const MAYBE_HEAD = /^\\?(?:\[[\d\- :+]*(?:\][^\n:]*:?)?)?$/;

/**
 * The visible part of a model's text: without an imitated line head, trimmed.
 * @param options.isPartial more may follow: a beginning that may become a line head is held back
 */
export function visibleAnswer(text: string, options: { isPartial?: boolean } = {}): string {
  const begun = text.trimStart();
  if (options.isPartial === true && begun.length < LONGEST_HEAD && MAYBE_HEAD.test(begun)) return "";
  const visible = begun.replace(LINE_HEAD, "");
  return options.isPartial === true ? visible.trimStart() : visible.trim();
}
