import { listRequests, NO_SUCH_CODE } from "../../admin/commands/pair.ts";
import type { Config } from "../../config/config.ts";
import { CHAT_PLATFORMS, chatPlatform } from "../../platforms/platforms.ts";
import { OperatorError } from "../../core/errors.ts";
import { describeStranger, letInByCode } from "../../router/pairing/pairing-desk.ts";
import type { PairedPerson, PlatformPerson } from "../../store/channels/pairing.ts";
import type { Store } from "../../store/store.ts";
import { displayableLine } from "../../text/displayable.ts";
import type { TimeFormat } from "../../text/time.ts";
import { type CommonOptions, type Io, say, sayJson } from "../io.ts";
import { assertHasRun, firstTimeFormat, withStore } from "../open.ts";
import { readConfigToLook } from "../readable-config.ts";

export type PairOptions = CommonOptions & {
  /** `platform:id` of who is to be let in no longer. */
  readonly remove?: string;
  readonly json?: boolean;
};

/** People who are listed. */
const SHOWN = 40;
/** Stands in the rows for whoever has the command line. */
const OPERATOR = "operator";

/**
 * `weir pair`: lists who waits to be let in to direct messages, and who was; with a code it lets somebody in, with `--remove` it takes
 * that back. A daemon that runs heeds it within a second or two.
 * @throws OperatorError if nobody waits with the code, or nobody of that id was let in
 */
export async function pair(io: Io, code: string | undefined, options: PairOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  const { remove, json = false } = options;
  if (code !== undefined && remove !== undefined)
    throw new OperatorError("Say a code, or --remove and a person: not both.");
  await assertHasRun(config);
  if (code !== undefined) await withStore(io, config, async (store) => letIn(io, store, code), "asker");
  else if (remove !== undefined)
    await withStore(
      io,
      config,
      async (store) => takeOut(io, config, store, parsePlatformPerson(remove)),
      "asker",
    );
  else await withStore(io, config, async (store) => list(io, config, store, json));
}

async function letIn(io: Io, { pairing }: Store, code: string): Promise<void> {
  const request = await letInByCode(pairing, code, null, OPERATOR);
  if (request === null) throw new OperatorError(`${NO_SUCH_CODE} weir pair lists who waits.`);
  say(
    io,
    `${describeStranger(request)} is let in. A daemon that runs knows it within a second or two, and tells them.`,
  );
}

async function takeOut(io: Io, config: Config, { pairing }: Store, person: PlatformPerson): Promise<void> {
  const shown = displayableLine(`${person.platform}:${person.person}`);
  const isNamed = namedInConfig(config, person);
  if (!(await pairing.remove(person))) {
    const hint = isNamed ? `config.toml names them: ${WHERE_NAMED}.` : "weir pair lists who was.";
    throw new OperatorError(`${shown} was not let in by a code. ${hint}`);
  }
  say(
    io,
    `${shown} is let in no longer, and their reminders in direct messages are over. What was said stays in the log.`,
  );
  if (isNamed) say(io, `But config.toml names them still: ${WHERE_NAMED}.`);
}

const WHERE_NAMED = "allow or owners of the platform";

function namedInConfig({ platforms }: Config, { platform, person }: PlatformPerson): boolean {
  const chat = chatPlatform(platform);
  const { allow = [], owners = [] } = chat === undefined ? {} : (platforms[chat] ?? {});
  return allow.includes(person) || owners.includes(person);
}

/** `discord:1234`. Pure. @throws OperatorError */
function parsePlatformPerson(typed: string): PlatformPerson {
  const [, platform, person] = /^([a-z]+):(\S+)$/.exec(typed.trim()) ?? [];
  if (platform !== undefined && person !== undefined) return { platform, person };
  throw new OperatorError(
    "--remove takes the platform and the id of a person, as discord:1234. weir pair lists them.",
  );
}

async function list(io: Io, config: Config, { pairing }: Store, isJson: boolean): Promise<void> {
  const [requests, people] = await Promise.all([pairing.open(null), pairing.people()]);
  if (isJson) return sayJson(io, { requests, people }, 2);
  say(
    io,
    listRequests(requests, (command) => `weir ${command}`),
  );
  const time = firstTimeFormat(config);
  for (const line of describePeople(people, time)) say(io, line);
  for (const platform of CHAT_PLATFORMS) {
    const policy = config.platforms[platform]?.dm ?? "pairing";
    if (policy !== "pairing") say(io, `This counts for nothing on ${platform}: its dm is "${policy}".`);
  }
}

function describePeople(people: readonly PairedPerson[], time: TimeFormat): string[] {
  if (people.length === 0) return ["Nobody was let in by a code yet."];
  const lines = people
    .slice(0, SHOWN)
    .map(({ platform, person, since, letInBy }) =>
      displayableLine(`  ${platform}:${person}  since ${time.full(since)}, by ${letInBy}`),
    );
  const left = people.length - SHOWN;
  return ["Let in:", ...lines, ...(left > 0 ? [`  and ${left} more: --json lists all`] : [])];
}
