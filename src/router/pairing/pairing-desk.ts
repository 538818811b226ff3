import type { Logger } from "pino";
import { BoundedMap } from "../../async/bounded-map.ts";
import { steadyNow } from "../../async/clock.ts";
import { retryWrite } from "../../async/retry.ts";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, formatAddress, personKey } from "../../core/ids.ts";
import { type InboundMessage, REACTION_PREFIX } from "../../core/message.ts";
import type { Platform } from "../../platforms/platform.ts";
import { CODE_VALID_MS, type PairingRequest, type PairingStore } from "../../store/channels/pairing.ts";
import { displayableLine } from "../../text/displayable.ts";
import type { Notices } from "../notices.ts";
import type { PairedPeople } from "./paired-people.ts";
import { isPairingCode, newPairingCode } from "./pairing-code.ts";

export interface PairingDeskParts {
  readonly store: PairingStore;
  readonly paired: PairedPeople;
  readonly platforms: readonly Platform[];
  readonly notices: Pick<Notices, "tell">;
  /** Ids of the owners of a platform, by the configuration of now. */
  readonly ownersOf: (platform: string) => readonly string[];
  readonly log: Logger;
}

/** What became of a code that somebody has typed. */
export type LetIn =
  | { readonly outcome: "let_in"; readonly request: PairingRequest }
  /** `too_often`: they have typed so many wrong ones that no other is looked at for a while. */
  | { readonly outcome: "unknown" | "too_often" };

/** Wrong codes that one person may type in an hour. */
const MOST_WRONG = 5;
const HOUR_MS = 3_600_000;
/** Owners who are told of a stranger. */
const MOST_OWNERS = 10;
const REMEMBERED = 1000;

const NOBODY_FREE =
  "I answer only people whom whoever runs me has let in, and just now too many wait for that. Please write again in an hour. " +
  "What you write until then is not kept.";
/** The answer to a stranger's command. */
export const STRANGERS_COMMAND =
  "I answer only people whom whoever runs me has let in. Write me a message here, and I tell you how to be one of them.";
const WELCOME =
  "You were let in: from now on I answer you here. What you wrote before was not kept, so please say it again.";

/**
 * Lets people in whose direct messages are not answered yet. A stranger is told a code, once an hour; whoever runs Weir is shown it,
 * too, and lets them in by it. Of what a stranger writes nothing is kept.
 */
export class PairingDesk {
  readonly #parts: PairingDeskParts;
  /** When strangers without a code were told so. */
  readonly #turnedAway = new BoundedMap<number>(REMEMBERED);
  /** When each person has typed wrong codes. */
  readonly #wrong = new BoundedMap<readonly number[]>(REMEMBERED);

  constructor(parts: PairingDeskParts) {
    this.#parts = parts;
  }

  /**
   * A stranger has written a direct message.
   * @returns true: they were let in meanwhile
   * @throws WeirError if the database does not answer
   */
  async meet(message: InboundMessage): Promise<boolean> {
    const { store, paired, notices, log } = this.#parts;
    const { author, channel, id, at, isBackground = false } = message;
    if (author.isBot || isBackground || id.startsWith(REACTION_PREFIX)) return false;
    const person = { platform: channel.platform, person: author.id, name: author.name };
    const code = newPairingCode();
    const { result: state } = await retryWrite(async () =>
      store.ask(person, { channel: channel.name, id, at }, code),
    );
    if (state === "paired") {
      await retryWrite(async () => paired.refresh());
      return paired.find(channel.platform, author.id) !== null;
    }
    if (state === "asked") {
      log.info({ platform: channel.platform, person: author.id }, "stranger_asked");
      notices.tell(channel, id, strangerText(code));
      void this.#tellOwners({ ...person, code, askedAt: new Date() });
    }
    if (state === "full" && this.#mayTurnAway(personKey(channel.platform, author.id)))
      notices.tell(channel, id, NOBODY_FREE);
    return false;
  }

  /**
   * Lets the person in who was told this code.
   * @param platform null: of whatever platform
   * @param by `platform:id` of who has typed it
   * @throws WeirError if the database does not answer
   */
  async letIn(typed: string, platform: string | null, by: string): Promise<LetIn> {
    const { store, paired, log } = this.#parts;
    const wrong = (this.#wrong.get(by) ?? []).filter((at) => steadyNow() - at < HOUR_MS);
    if (wrong.length >= MOST_WRONG) return { outcome: "too_often" };
    const request = await letInByCode(store, typed, platform, by);
    if (request === null) {
      this.#wrong.set(by, [...wrong, steadyNow()]);
      return { outcome: "unknown" };
    }
    log.info({ platform: request.platform, person: request.person, by }, "stranger_let_in");
    await paired.refresh();
    return { outcome: "let_in", request };
  }

  /** Requests that are open. @param platform null: of all platforms */
  async open(platform: string | null): Promise<readonly PairingRequest[]> {
    return this.#parts.store.open(platform);
  }

  /** Tells people who were let in so, each once. Returns at once. */
  greet(): void {
    void this.#greet().catch((error: unknown) => {
      this.#parts.log.warn({ why: errorMessage(error) }, "people_not_greeted");
    });
  }

  async #greet(): Promise<void> {
    const { store, platforms, log } = this.#parts;
    for (const { platform, channel: name } of await store.toGreet(platforms.map((one) => one.name))) {
      try {
        await this.#say({ platform, name }, `paired-${name}-${Date.now()}`, WELCOME);
      } catch (error) {
        // The others are told all the same.
        log.warn({ platform, why: errorMessage(error) }, "people_not_greeted");
      }
    }
  }

  #mayTurnAway(key: string): boolean {
    const last = this.#turnedAway.get(key);
    if (last !== undefined && steadyNow() - last < HOUR_MS) return false;
    this.#turnedAway.set(key, steadyNow());
    return true;
  }

  /** Where the platform lets the bot write to them. Must not throw. */
  async #tellOwners(request: PairingRequest): Promise<void> {
    const { platforms, ownersOf, log } = this.#parts;
    const { platform: name, code, person } = request;
    const platform = platforms.find((one) => one.name === name);
    if (platform?.directChannel === undefined) return;
    const text = ownerText(request, platform);
    for (const owner of ownersOf(name).slice(0, MOST_OWNERS)) {
      try {
        const channel = await platform.directChannel(owner);
        await this.#say(channel, `pairing-${person}-${code}-${owner}`, text, code);
      } catch (error) {
        log.warn({ platform: name, owner, why: errorMessage(error) }, "owner_not_told");
      }
    }
  }

  /** @param code whoever was told it is let in at a press @throws PlatformError */
  async #say(channel: ChannelAddress, key: string, text: string, code?: string): Promise<void> {
    const platform = this.#parts.platforms.find(({ name }) => name === channel.platform);
    await platform?.send({
      channel,
      idempotencyKey: `${formatAddress(channel)}-${key}`,
      mayBeThere: false,
      text,
      ...(code !== undefined && {
        actions: [{ label: "Let in", style: "primary", command: "pair", argument: code }],
      }),
      final: true,
      inReplyTo: [],
      kind: "notice",
    });
  }
}

/** Lets in who was told this code; null: nobody waits with it. @throws WeirError if the database does not answer */
export async function letInByCode(
  store: PairingStore,
  typed: string,
  platform: string | null,
  by: string,
): Promise<PairingRequest | null> {
  // All of them are compared, also behind the one that fits.
  const found = (await store.open(platform)).filter(({ code }) => isPairingCode(typed, code));
  for (const request of found) if (await store.letIn(request, by)) return request;
  return null;
}

/** `Ann (discord:1234)`. Pure. */
export function describeStranger({
  platform,
  person,
  name,
}: Omit<PairingRequest, "code" | "askedAt">): string {
  return displayableLine(`${name} (${platform}:${person})`);
}

function strangerText(code: string): string {
  return (
    `I answer only people whom whoever runs me has let in. Your code is ${code}: tell it to them, and they can let you in. ` +
    `It is valid for ${CODE_VALID_MS / 60_000} minutes. What you write until then is not kept.`
  );
}

function ownerText(request: PairingRequest, { capabilities }: Platform): string {
  const { commandPrefix = "/", drawsActions } = capabilities;
  const typed = `${commandPrefix}pair ${request.code}`;
  const how = drawsActions === true ? `Press "Let in", or type ${typed} here` : `Type ${typed} here`;
  return (
    `${describeStranger(request)} wants to write to me in direct messages, and was told the code ${request.code}. ` +
    `${how}, within ${CODE_VALID_MS / 60_000} minutes, to let them in. Otherwise nothing happens.`
  );
}
