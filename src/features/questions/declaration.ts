import { z } from "zod";
import type { ConfigProblem } from "../../config/config-error.ts";
import { flag, HOUR_MS, WEEK_MS, names, option, table, whole } from "../../config/schema/values.ts";
import type { KeyPath } from "../../config/value-tree.ts";
import { ASK_MODES, type AskMode } from "../../core/ask-mode.ts";
import { CHAT_PLATFORMS } from "../../platforms/platforms.ts";
import type { Declaration, OptionOrigin } from "../declaration.ts";

const MODES: readonly unknown[] = ASK_MODES;

function isModesOfTools(value: unknown): value is Readonly<Record<string, AskMode>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(([name, mode]) => /^[\w.:-]{1,128}$/.test(name) && MODES.includes(mode));
}

const options = table(
  "….approvals",
  {
    tools: option(
      z
        .custom<Readonly<Record<string, AskMode>>>(isModesOfTools)
        .describe('names of tools, each with "always", "never" or "writes", such as { note = "always" }'),
      {},
      'Tools whose calls a person has to allow: { note = "always" }. "writes": unless the tool only reads, ' +
        'as it says. "never": even if the tool asks for it.',
    ),
    approvers: option(
      names("ids of people, behind their platform"),
      [],
      'Who may allow a call: ["discord:123456789012345678", "slack:U012AB3CD"]. On a platform without one, ' +
        "its owners.",
    ),
    expire_ms: option(
      whole(1000, 4 * WEEK_MS, "milliseconds"),
      24 * HOUR_MS,
      "How long a call waits (a day). Then it is denied.",
    ),
  },
  "Which calls of tools wait until a person allows them: docs/questions.md.",
);

const asking = table(
  "….questions",
  {
    enabled: option(
      flag,
      true,
      "true: the agent can ask questions, which people see as buttons, in windows of 5,000 tokens and more.",
    ),
    expire_ms: option(
      whole(1000, 4 * WEEK_MS, "milliseconds"),
      24 * HOUR_MS,
      "How long a question waits (a day), unless the agent says.",
    ),
  },
  "Questions of the agent with two to five choices: docs/questions.md.",
);

/** The tool by which an agent asks. */
export const ASK = "ask";

/** What is checked of an agent's options. */
interface Asking {
  readonly approvals: {
    readonly tools: Readonly<Record<string, AskMode>>;
    readonly approvers: readonly string[];
  };
}

/** With these a turn ends: once it has waited for an approval there is nothing left to end. */
const ENDS_TURN: ReadonlySet<string> = new Set(["skip", "hand_off"]);

/** Tools that come from elsewhere may have any other name. */
function check({ approvals: { tools, approvers } }: Asking, origin: OptionOrigin): ConfigProblem[] {
  const mistaken = Object.entries(tools).flatMap(([name, mode]) => {
    const places: KeyPath[] = [
      ["approvals", "tools", name],
      ["approvals", "tools"],
    ];
    if (name === ASK && mode !== "never")
      return [
        origin.problem(places, {
          message: `a call of ${ASK} waits for a person as it is`,
          expected: '"never", or no line for it',
          found: JSON.stringify(mode),
        }),
      ];
    if (ENDS_TURN.has(name) && mode !== "never")
      return [
        origin.problem(places, {
          message: `a turn ends with ${name}, which can wait for no approval`,
          expected: '"never", or no line for it',
          found: JSON.stringify(mode),
        }),
      ];
    // What has a name of its server before it comes from there.
    const nearest = /__|[.:]/.test(name) ? null : origin.toolMeantBy(name);
    if (nearest === null) return [];
    const problem = { message: "no tool has this name", found: JSON.stringify(name), suggestion: nearest };
    return [origin.problem(places, problem)];
  });
  const placeless = approvers
    .filter((approver) => !CHAT_PLATFORMS.some((platform) => approver.startsWith(`${platform}:`)))
    .map((approver) => {
      const expected = "a person's id behind its platform, as discord:123456789012345678 or slack:U012AB3CD";
      const problem = { message: "this names nobody", expected, found: JSON.stringify(approver) };
      return origin.problem([["approvals", "approvers"]], problem);
    });
  return [...mistaken, ...placeless];
}

export const questions = {
  options: { approvals: options, questions: asking },
  tools: [ASK],
  verbatim: ["approvals.tools"],
  check,
} as const satisfies Declaration<Asking>;
